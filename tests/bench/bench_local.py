"""`python -m tests.bench.bench_local`: judges in this process beside a plain loop of `generate`, one prompt at a time.

A random Llama, LLaVA and T5, large enough that what a forward pass computes is most of its time. Each loop does a part of the prompts, so
that the whole takes less than two minutes; both go on one thread, and processor time is what counts, without that of loading. The greedy
texts of both are asserted to be the same.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from tasks.backends.local_prompts import open_picture
from tasks.judging.types import Decoding, Message, Reply, Request
from tests.backends.local_asking import ask, encode, picture, replies
from tests.backends.tiny_models import WORDS, save_decoder, save_llava, save_t5

SIZE: dict[str, Any] = {
    "hidden_size": 512,
    "num_hidden_layers": 8,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "intermediate_size": 1408,
    "initializer_range": 0.05,
    "eos_token_id": None,  # both write as many tokens as they may
}
T5_SIZE: dict[str, Any] = {"d_model": 256, "d_kv": 32, "d_ff": 512, "num_layers": 4, "num_heads": 8}
DEMOS_TOKENS = 850


def draw_text(rng: np.random.Generator, n_words: int) -> str:
    return "".join(f" {word}" for word in rng.choice(WORDS, n_words))


def write_plainly(kind: str, folder: Path, prompts: Sequence[dict[str, Any]], n_tokens: int) -> tuple[list[list[int]], float]:
    """The loop of everybody's first judge; its seconds."""
    model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32).eval()
    found = []
    with torch.inference_mode():
        model.generate(**prompts[0], max_new_tokens=1, do_sample=False)
        start = time.process_time()
        for inputs in prompts:
            ids = model.generate(**inputs, max_new_tokens=n_tokens, min_new_tokens=n_tokens, do_sample=False)[0]
            found.append(ids[-n_tokens:].tolist())
    return found, time.process_time() - start


def compare(
    name: str, goal: int, kind: str, folder: Path, requests: Sequence[Request], prepare: Callable[[Request], Any], n_plain: int
) -> None:
    n_tokens = requests[0].decoding.max_tokens
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    plain, plain_s = write_plainly(kind, folder, [prepare(request) for request in requests[:n_plain]], n_tokens)
    ask(folder, [Request("m", (Message("user", "a"),), Decoding(0.0, max_tokens=1))])
    start = time.process_time()
    found: list[Reply] = replies(ask(folder, requests))
    took = time.process_time() - start
    for reply, ids in zip(found, plain, strict=False):
        assert reply.text == tokenizer.decode(ids, skip_special_tokens=True), (reply, ids)
    ours, theirs = len(requests) / took, n_plain / plain_s
    print(f"{name:52} {ours:8.2f}/s  one at a time {theirs:7.2f}/s  {ours / theirs:5.1f} x (goal {goal} x)", flush=True)


def compare_decoders(folder: Path, rng: np.random.Generator) -> None:
    model = save_decoder(folder / "llama", **SIZE)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    ids = tokenizer(draw_text(rng, DEMOS_TOKENS), add_special_tokens=False)["input_ids"]
    demos = str(tokenizer.decode(ids[:DEMOS_TOKENS]))

    def prepare(request: Request) -> dict[str, Any]:
        return dict(tokenizer(request.messages[0].text, return_tensors="pt", return_token_type_ids=False))

    def draw(n: int, n_tokens: int) -> list[Request]:
        decoding = Decoding(0.0, max_tokens=n_tokens, top_logprobs=5 if n_tokens == 1 else 0)
        return [Request("m", (Message("user", demos + draw_text(rng, int(rng.integers(20, 60)))),), decoding) for _ in range(n)]

    kind = "AutoModelForCausalLM"
    compare("decoder, 850-token demonstrations, rating next", 10, kind, model, draw(160, 1), prepare, 6)
    compare("decoder, 850-token demonstrations, 40 tokens", 3, kind, model, draw(48, 40), prepare, 3)


def compare_criteria(folder: Path, rng: np.random.Generator) -> None:
    model = save_llava(folder / "llava", SIZE, image_size=224)
    loading: Any = transformers.AutoProcessor
    processor = loading.from_pretrained(model)
    criteria = [draw_text(rng, 60) for _ in range(5)]
    texts = [draw_text(rng, 60) for _ in range(6)]
    requests = [
        Request("m", (Message("user", text + criterion, (picture(number),)),), Decoding(0.0, max_tokens=1))
        for number, text in enumerate(texts)
        for criterion in criteria
    ]

    def prepare(request: Request) -> dict[str, Any]:
        image = open_picture(encode(request.messages[0].images[0]))
        text = f"<s><|user|>\n<image>\n{request.messages[0].text}<|assistant|>\n"
        inputs = dict(processor(text=[text], images=[image], return_tensors="pt", add_special_tokens=False))
        return {name: value for name, value in inputs.items() if name != "token_type_ids"}

    compare("five criteria over one image and text", 3, "AutoModelForImageTextToText", model, requests, prepare, 10)


def compare_t5(folder: Path, rng: np.random.Generator) -> None:
    model = save_t5(folder / "t5", **T5_SIZE)
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)

    def prepare(request: Request) -> dict[str, Any]:
        return dict(tokenizer(request.messages[0].text, return_tensors="pt", return_token_type_ids=False))

    texts = [draw_text(rng, int(rng.integers(30, 90))) for _ in range(200)]
    requests = [Request("m", (Message("user", text),), Decoding(0.0, max_tokens=1, top_logprobs=5)) for text in texts]
    compare("T5, rating next", 2, "AutoModelForSeq2SeqLM", model, requests, prepare, 40)


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        compare_decoders(Path(name), rng)
        compare_criteria(Path(name), rng)
        compare_t5(Path(name), rng)


if __name__ == "__main__":
    main()
