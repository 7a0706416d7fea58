"""`python -m tests.bench.bench_gpu`: judges on a GPU beside a loop of `generate`, transformers'
pipeline and its continuous batching.

A random Llama and LLaVA of one to three billion parameters in bfloat16, as the memory takes (their
vocabulary is small and so is the encoder of images: neither costs much). Beside each rate of ours,
shares of what this GPU was measured to do in the same run: of a product's operations while prompts
are read, of a copy's bytes (weights, keys and values) while tokens are written. Without a GPU that
torch can use nothing is measured; `--tiny` runs every line of it on the processor, with figures
that mean nothing.
"""

import argparse
import gc
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers

from judgelake.tasks.backends.local.loading import give_back, measure_free, take_model
from judgelake.tasks.backends.local.prompts import open_picture
from judgelake.tasks.backends.local.settings import DEFAULT_BATCH_TOKENS, LocalModel
from tests.backends.local_asking import encode
from tests.backends.tiny_models import save_decoder, save_llava
from tests.bench.bench_local import (
    SIZE,
    Counts,
    Place,
    Task,
    ask_all,
    make_criteria_tasks,
    make_decoder_tasks,
    write_plainly,
)

SHAPES: dict[float, dict[str, Any]] = {
    24e9: {
        "hidden_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 24,
        "intermediate_size": 8192,
    },
    8e9: {
        "hidden_size": 2048,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "intermediate_size": 8192,
    },
    0: {
        "hidden_size": 1024,
        "num_hidden_layers": 16,
        "num_attention_heads": 16,
        "intermediate_size": 2816,
    },
}
"""Of models with 2.8, 1.0 and 0.2 billion weights, by the bytes of memory that must be free."""


class Scale(NamedTuple):
    """What is run where. `budgets`: `batch_tokens` of our judges; `rows`: prompts of a batch of the
    pipeline's.
    """

    place: Place
    size: dict[str, Any]
    image_size: int
    counts: Counts
    budgets: Sequence[int]
    rows: int
    matrix: int
    copied: int
    paged: dict[str, Any]


class Limits(NamedTuple):
    """Operations and bytes a second."""

    flops: float
    bandwidth: float


class Work(NamedTuple):
    """What forward passes did: those that read prompts, and those that write a token a row."""

    read_flops: float = 0.0
    read_s: float = 0.0
    moved_bytes: float = 0.0
    write_s: float = 0.0
    n_steps: int = 0


def choose_scale(tiny: bool) -> Scale:
    if tiny:
        size = {**SIZE, "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128}
        paged = {"page_size": 32, "num_blocks": 512, "max_batch_tokens": 512}
        return Scale(
            Place(),
            size,
            32,
            Counts(16, 6, 6, 2, (2, 2, 2)),
            [DEFAULT_BATCH_TOKENS, 65_536],
            4,
            256,
            1 << 22,
            paged,
        )
    free = measure_free("cuda", spread=False)
    shape = next(shape for least, shape in SHAPES.items() if free >= least)
    size = {
        **SIZE,
        "num_key_value_heads": 8,
        "initializer_range": 0.02,
        "max_position_embeddings": 4096,
        **shape,
    }
    place = Place("cuda", "bfloat16")
    return Scale(
        place,
        size,
        224,
        Counts(1024, 256, 256, 48, (16, 8, 10)),
        [DEFAULT_BATCH_TOKENS, 131_072],
        16,
        8192,
        1 << 31,
        {},
    )


def measure_limits(scale: Scale) -> Limits:
    """The best of ten products of square matrices and of ten copies (each byte read and
    written).
    """
    place = scale.place
    options: Any = {"device": place.device, "dtype": getattr(torch, place.dtype)}
    one, other = (
        torch.randn(scale.matrix, scale.matrix, **options),
        torch.randn(scale.matrix, scale.matrix, **options),
    )
    source = torch.zeros(scale.copied, dtype=torch.uint8, device=place.device)
    target = torch.empty_like(source)
    product_s, copy_s = (
        _time_best(place, lambda: one @ other),
        _time_best(place, lambda: target.copy_(source)),
    )
    return Limits(2 * scale.matrix**3 / product_s, 2 * scale.copied / copy_s)


def _time_best(place: Place, run: Callable[[], object]) -> float:
    took = []
    for _ in range(12):
        start = _tick(place)
        run()
        took.append(_tick(place) - start)
    return max(min(took[2:]), 1e-9)


def _tick(place: Place) -> float:
    if place.device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter()


class Watch:
    """Counts what a model's forward passes do, and how long each takes; to wait for each costs a
    little of what it measures.
    """

    def __init__(self, model: Any, place: Place) -> None:
        self.work, self._place, self._start = Work(), place, 0.0
        config = model.config.get_text_config()
        self._weights = sum(
            one.numel()
            for name, one in model.named_parameters()
            if "layers" in name and "vision" not in name
        )
        self._width = model.dtype.itemsize
        head = config.hidden_size // config.num_attention_heads
        self._kept = 2 * config.num_hidden_layers * config.num_key_value_heads * head * self._width
        self._mixed = 4 * config.num_hidden_layers * config.hidden_size
        self._hooks = [
            model.register_forward_pre_hook(self._begin, with_kwargs=True), model.register_forward_hook(self._end, with_kwargs=True)
        ]  # fmt: skip

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _begin(self, *_: Any) -> None:
        self._start = _tick(self._place)

    def _end(self, _model: Any, _given: Any, named: dict[str, Any], _found: Any) -> None:
        took, (rows, columns), width = (
            _tick(self._place) - self._start,
            named["input_ids"].shape,
            named["attention_mask"].shape[1],
        )
        work = self.work
        if columns == 1:
            moved = self._weights * self._width + rows * width * self._kept
            self.work = work._replace(
                moved_bytes=work.moved_bytes + moved,
                write_s=work.write_s + took,
                n_steps=work.n_steps + 1,
            )
            return
        # each token's weights, and its products with the tokens before it
        flops = rows * columns * (2 * self._weights + self._mixed * (width - columns / 2))
        self.work = work._replace(read_flops=work.read_flops + flops, read_s=work.read_s + took)


def measure_ours(task: Task, scale: Scale, limits: Limits, budget: int) -> list[str]:
    """Print the rate without the watch, then the shares with it."""
    place = scale.place
    more: Any = {"device": place.device, "dtype": place.dtype, "batch_tokens": budget}
    texts, took = ask_all(task, place, **more)
    loaded = take_model(LocalModel(str(task.folder), **more))
    watch = Watch(loaded.model, place)
    with ExitStack() as stack:
        stack.callback(give_back, loaded)
        stack.callback(watch.close)
        ask_all(task, place, **more)
    work = watch.work
    shares = (
        f"{work.read_flops / max(work.read_s, 1e-9) / limits.flops:6.1%} of the product's "
        f"operations"
    )
    if work.n_steps:
        shares += (
            f", {work.moved_bytes / work.write_s / limits.bandwidth:6.1%} of the copy's "
            f"bytes in {work.n_steps:,} steps"
        )
    _tell(f"judgelake, batch_tokens {budget:,}", len(texts) / took, shares)
    return texts


def measure_plain(task: Task, scale: Scale) -> list[str]:
    plain, took = write_plainly(task, scale.place)
    _tell("generate, one at a time", len(plain) / took)
    return _decode(task, plain)


def measure_pipeline(task: Task, scale: Scale) -> list[str]:
    """transformers' own pipeline; a batch of it goes on until its longest reply is written, so that
    all have that length.
    """
    place, looks = scale.place, task.kind == "AutoModelForImageTextToText"
    making: Any = transformers.pipeline
    pipe = making(
        "image-text-to-text" if looks else "text-generation",
        model=str(task.folder),
        dtype=getattr(torch, place.dtype),
        device=place.device,
    )
    pipe.tokenizer.padding_side = "left"
    requests = task.requests[: 4 * scale.rows]
    n_tokens = max(request.decoding.max_tokens for request in requests)
    texts = [request.messages[0].text for request in requests]
    given: dict[str, Any] = {"text_inputs": texts}
    if looks:
        images = [open_picture(encode(request.messages[0].images[0])) for request in requests]
        given = {
            "images": images,
            "text": [f"<|user|>\n<image>\n{text}<|assistant|>\n" for text in texts],
        }
    start = place.read_clock()
    found = pipe(
        **given,
        batch_size=scale.rows,
        max_new_tokens=n_tokens,
        do_sample=False,
        return_full_text=False,
    )
    _tell(f"pipeline, batch_size={scale.rows}", len(requests) / (place.read_clock() - start))
    if any(request.decoding.max_tokens < n_tokens for request in requests):
        return []
    return [str((one[0] if isinstance(one, list) else one)["generated_text"]) for one in found]


def measure_continuous(task: Task, scale: Scale) -> list[str]:
    """transformers' continuous batching, warmed up, with its own choice of everything on a GPU."""
    place = scale.place
    loading: Any = transformers.AutoModelForCausalLM
    model = (
        loading.from_pretrained(task.folder, dtype=getattr(torch, place.dtype))
        .eval()
        .to(place.device)
    )
    ids = [task.prepare(request)["input_ids"][0].tolist() for request in task.requests]
    most = max(request.decoding.max_tokens for request in task.requests)
    plain: Any = transformers.GenerationConfig
    configuring: Any = transformers.ContinuousBatchingConfig
    own = plain(do_sample=False, eos_token_id=-1, max_new_tokens=most)
    found: dict[str, list[int]] = {}
    with model.continuous_batching_context_manager(
        own, continuous_batching_config=configuring(**scale.paged)
    ) as manager:
        start = place.read_clock()
        for number in sorted(range(len(ids)), key=lambda number: ids[number]):
            n_tokens = task.requests[number].decoding.max_tokens
            manager.add_request(
                ids[number], request_id=str(number), max_new_tokens=n_tokens, eos_token_id=-1
            )
        while len(found) < len(ids):
            result = manager.get_result(timeout=1)
            if result is not None and result.is_finished():
                found[result.request_id] = result.generated_tokens
            elif result is None and not manager.is_running():
                raise RuntimeError(str(manager.background_thread_status.fatal_error))
        _tell("transformers' continuous batching", len(ids) / (place.read_clock() - start))
    return _decode(task, [found[str(number)] for number in range(len(ids))])


def _decode(task: Task, written: Sequence[Sequence[int]]) -> list[str]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(task.folder)
    return [str(tokenizer.decode(list(ids), skip_special_tokens=True)) for ids in written]


def _tell(who: str, rate: float, more: str = "") -> None:
    print(f"  {who:36} {rate:9.2f} verdicts/s  {more}", flush=True)


def measure(task: Task, scale: Scale, limits: Limits) -> None:
    print(task.name, flush=True)
    texts: list[str] = []
    for budget in scale.budgets:
        texts = measure_ours(task, scale, limits, budget)
    peers = [measure_plain, measure_pipeline]
    if task.kind == "AutoModelForCausalLM" and task.requests[0].decoding.max_tokens > 1:
        peers.append(measure_continuous)
    for peer in peers:
        _compare_texts(peer, task, scale, texts)


def _compare_texts(
    peer: Callable[[Task, Scale], list[str]], task: Task, scale: Scale, texts: Sequence[str]
) -> None:
    """Half precision rounds by the shape of a batch, so that some greedy replies part after a
    while; a peer that fails says why.
    """
    try:
        others = peer(task, scale)
    except (RuntimeError, ValueError, ImportError) as error:
        print(f"  {peer.__name__}: {type(error).__name__}: {error}", flush=True)
        others = []
    n_same = sum(one == other for one, other in zip(texts, others, strict=False))
    if others:
        print(f"    {n_same} of its {min(len(texts), len(others))} texts are ours", flush=True)
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def save_models(scale: Scale, folder: Path) -> tuple[Path, Path]:
    """Made on the device and in the dtype that they run in: three billion weights take minutes on a
    processor.
    """
    usual = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, scale.place.dtype))
    try:
        with torch.device(scale.place.device):
            return save_decoder(folder / "llama", **scale.size), save_llava(
                folder / "llava", scale.size, scale.image_size
            )
    finally:
        torch.set_default_dtype(usual)


def main() -> None:
    parser = argparse.ArgumentParser(description="Judges on a GPU beside transformers' own ways.")
    parser.add_argument(
        "--tiny", action="store_true", help="every line of it on the processor, in a minute"
    )
    tiny = parser.parse_args().tiny
    if not tiny and not torch.cuda.is_available():
        print("bench_gpu: skipped, no GPU that torch can use is here")
        return
    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    scale, rng = choose_scale(tiny), np.random.default_rng(0)
    limits = measure_limits(scale)
    name = "the processor, tiny" if tiny else torch.cuda.get_device_name()
    print(
        f"{name}; torch {torch.__version__}, transformers {transformers.__version__}, "
        f"{scale.place.dtype}"
    )
    print(
        f"measured limits: {limits.flops / 1e12:.2f} TFLOP/s in a product, "
        f"{limits.bandwidth / 1e9:.0f} GB/s in a copy"
    )
    with tempfile.TemporaryDirectory() as folder:
        llama, llava = save_models(scale, Path(folder))
        for task in make_decoder_tasks(llama, rng, scale.counts):
            measure(task, scale, limits)
        for task in make_criteria_tasks(llava, rng, scale.counts, [1, 40]):
            measure(task, scale, limits)


if __name__ == "__main__":
    main()
