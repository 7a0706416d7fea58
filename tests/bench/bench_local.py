"""`python -m tests.bench.bench_local`: judges in this process beside a plain loop of `generate`,
one prompt at a time.

A random Llama, LLaVA and T5, large enough that what a forward pass computes is most of its time.
Each loop does a part of the prompts, so that the whole takes less than two minutes; both go on one
thread, and processor time is what counts, without that of loading. The greedy texts of both are
asserted to be the same.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers

from judgelake.tasks.backends.local.prompts import open_picture
from judgelake.tasks.types import Decoding, Message, Reply, Request
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


class Place(NamedTuple):
    """Where models run. What counts on the processor is its time, on a GPU the clock's."""

    device: str = "cpu"
    dtype: str = "float32"

    def read_clock(self) -> float:
        if self.device == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()


class Counts(NamedTuple):
    """How many prompts a task has; the loop of `generate` does the last ones' number of them."""

    rating: int = 160
    rationale: int = 48
    ragged: int = 28
    images: int = 6
    plain: tuple[int, int, int] = (6, 3, 10)


class Task(NamedTuple):
    """Requests to one model; `prepare` gives what `generate` takes for one of them."""

    name: str
    goal: int
    kind: str
    folder: Path
    requests: Sequence[Request]
    prepare: Callable[[Request], Any]
    n_plain: int


def write_plainly(task: Task, place: Place) -> tuple[list[list[int]], float]:
    """The loop of everybody's first judge; its seconds."""
    prompts = [task.prepare(request) for request in task.requests[: task.n_plain]]
    model = (
        getattr(transformers, task.kind)
        .from_pretrained(task.folder, dtype=getattr(torch, place.dtype))
        .eval()
        .to(place.device)
    )
    found = []
    with torch.inference_mode():
        model.generate(**_move(prompts[0], model), max_new_tokens=1, do_sample=False)
        start = place.read_clock()
        for request, inputs in zip(task.requests, prompts, strict=False):
            n_tokens = request.decoding.max_tokens
            ids = model.generate(
                **_move(inputs, model),
                max_new_tokens=n_tokens,
                min_new_tokens=n_tokens,
                do_sample=False,
            )[0]
            found.append(ids[-n_tokens:].tolist())
    return found, place.read_clock() - start


def _move(inputs: dict[str, Any], model: Any) -> dict[str, Any]:
    return {
        name: value.to(model.device, model.dtype if value.is_floating_point() else None)
        for name, value in inputs.items()
    }


def ask_all(task: Task, place: Place, **settings: Any) -> tuple[list[str], float]:
    """Our replies, and their seconds without those of loading."""
    more: Any = {"device": place.device, "dtype": place.dtype, **settings}
    ask(task.folder, [Request("m", (Message("user", "a"),), Decoding(0.0, max_tokens=1))], **more)
    start = place.read_clock()
    found: list[Reply] = replies(ask(task.folder, task.requests, **more))
    return [reply.text for reply in found], place.read_clock() - start


def compare(task: Task) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(task.folder)
    plain, plain_s = write_plainly(task, Place())
    texts, took = ask_all(task, Place())
    for text, ids in zip(texts, plain, strict=False):
        assert text == tokenizer.decode(ids, skip_special_tokens=True), (text, ids)
    done = sum(request.decoding.max_tokens for request in task.requests)
    done_plainly = sum(request.decoding.max_tokens for request in task.requests[: task.n_plain])
    if len({request.decoding.max_tokens for request in task.requests}) == 1:
        ours, theirs, unit = len(texts) / took, len(plain) / plain_s, "/s       "
    else:
        ours, theirs, unit = done / took, done_plainly / plain_s, " tokens/s"
    print(
        f"{task.name:52} {ours:8.2f}{unit} one at a time {theirs:7.2f}/s  {ours / theirs:5.1f} "
        f"x (goal {task.goal} x)",
        flush=True,
    )


def make_decoder_tasks(model: Path, rng: np.random.Generator, counts: Counts) -> list[Task]:
    """The rating next, a rationale before it, and rationales of any length, all after the same
    demonstrations.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    ids = tokenizer(draw_text(rng, DEMOS_TOKENS), add_special_tokens=False)["input_ids"]
    demos = str(tokenizer.decode(ids[:DEMOS_TOKENS]))

    def prepare(request: Request) -> dict[str, Any]:
        return dict(
            tokenizer(request.messages[0].text, return_tensors="pt", return_token_type_ids=False)
        )

    def draw(lengths: Iterable[int]) -> list[Request]:
        decodings = [
            Decoding(0.0, max_tokens=length, top_logprobs=5 if length == 1 else 0)
            for length in lengths
        ]
        return [
            Request("m", (Message("user", demos + draw_text(rng, int(rng.integers(20, 60)))),), one)
            for one in decodings
        ]

    kind, lengths = "AutoModelForCausalLM", rng.integers(5, 121, counts.ragged).tolist()
    few, fewer, _ = counts.plain
    return [
        Task(
            "decoder, 850-token demonstrations, rating next",
            10,
            kind,
            model,
            draw([1] * counts.rating),
            prepare,
            few,
        ),
        Task(
            "decoder, 850-token demonstrations, 40 tokens",
            3,
            kind,
            model,
            draw([40] * counts.rationale),
            prepare,
            fewer,
        ),
        Task(
            "decoder, 850-token demonstrations, 5 to 120 tokens",
            3,
            kind,
            model,
            draw(lengths),
            prepare,
            fewer,
        ),
    ]


def make_criteria_tasks(
    model: Path, rng: np.random.Generator, counts: Counts, lengths: Sequence[int]
) -> list[Task]:
    """Five criteria over an image and a text, with replies of each of these lengths."""
    loading: Any = transformers.AutoProcessor
    processor = loading.from_pretrained(model)
    criteria = [draw_text(rng, 60) for _ in range(5)]
    texts = [draw_text(rng, 60) for _ in range(counts.images)]

    def prepare(request: Request) -> dict[str, Any]:
        image = open_picture(encode(request.messages[0].images[0]))
        text = f"<s><|user|>\n<image>\n{request.messages[0].text}<|assistant|>\n"
        inputs = dict(
            processor(text=[text], images=[image], return_tensors="pt", add_special_tokens=False)
        )
        return {name: value for name, value in inputs.items() if name != "token_type_ids"}

    def draw(length: int) -> list[Request]:
        return [
            Request(
                "m",
                (Message("user", text + criterion, (picture(number),)),),
                Decoding(0.0, max_tokens=length),
            )
            for number, text in enumerate(texts)
            for criterion in criteria
        ]

    kind, n_plain = "AutoModelForImageTextToText", counts.plain[2]
    return [
        Task(
            f"five criteria over one image and text, {length} tokens",
            3,
            kind,
            model,
            draw(length),
            prepare,
            n_plain,
        )
        for length in lengths
    ]


def make_t5_task(model: Path, rng: np.random.Generator) -> Task:
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)

    def prepare(request: Request) -> dict[str, Any]:
        return dict(
            tokenizer(request.messages[0].text, return_tensors="pt", return_token_type_ids=False)
        )

    texts = [draw_text(rng, int(rng.integers(30, 90))) for _ in range(200)]
    requests = [
        Request("m", (Message("user", text),), Decoding(0.0, max_tokens=1, top_logprobs=5))
        for text in texts
    ]
    return Task("T5, rating next", 2, "AutoModelForSeq2SeqLM", model, requests, prepare, 40)


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tasks = [
            *make_decoder_tasks(save_decoder(folder / "llama", **SIZE), rng, Counts()),
            *make_criteria_tasks(
                save_llava(folder / "llava", SIZE, image_size=224), rng, Counts(), [1]
            ),
            make_t5_task(save_t5(folder / "t5", **T5_SIZE), rng),
        ]
        for task in tasks:
            compare(task)


if __name__ == "__main__":
    main()
