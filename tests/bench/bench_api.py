"""Replies a second from one process, as a share of concurrency ÷ latency, beside an AsyncOpenAI
loop and a pool of threads.

`python -m tests.bench.bench_api` : 256 x 200 ms (text, 100 kB images, 20 log-probabilities) and 1,024 x 2 s. Ours begins with a quarter of the
concurrency and doubles (see `tasks.backends.openai.limits`), which is part of what is measured; its images are files, read and encoded by us, four
requests about each; those of the peers are encoded beforehand.
"""

import asyncio
import concurrent.futures
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import openai
from PIL import Image as Pillow

from judgelake.tasks.backends.image_encoding import ImageEncoder
from judgelake.tasks.backends.openai.client import OpenAIBackend
from judgelake.tasks.engine.engine import collect_less
from judgelake.tasks.types import Decoding, Image, Message, Reply, Request

_PEER_SHARE = 8
"""The peers are asked an eighth as much: their rate does not depend on it."""
_PER_IMAGE = 4
_IMAGES, _KEPT_BYTES = 512, 20_000_000
"""An image is forgotten before it is shown again."""


def main() -> None:
    """Print one line a setting and client."""
    os.environ.setdefault("OPENAI_API_KEY", "bench")
    with tempfile.TemporaryDirectory() as folder, collect_less():  # as in a shard
        encoder = ImageEncoder(Path(folder), 2048, _KEPT_BYTES)
        images = [_draw_image(Path(folder), number) for number in range(_IMAGES)]
        _compare("text", 256, 200, 25_600, encoder)
        _compare("100 kB image", 256, 200, 25_600, encoder, images=images)
        _compare("20 log-probabilities", 256, 200, 25_600, encoder, top_logprobs=20)
        _compare("text", 1024, 2000, 20_480, encoder)


def _draw_image(folder: Path, number: int) -> Image:
    """Noise, which a JPEG of this size holds in 100 kB."""
    buffer = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (404, 404, 3), np.uint8)
    Pillow.fromarray(pixels).save(buffer, "JPEG", quality=75)
    (folder / f"{number}.jpg").write_bytes(buffer.getvalue())
    return Image(f"{number}.jpg", hashlib.sha256(buffer.getvalue()).hexdigest())


def _compare(
    what: str,
    concurrency: int,
    latency_ms: int,
    count: int,
    encoder: ImageEncoder,
    images: Sequence[Image] = (),
    top_logprobs: int = 0,
) -> None:
    ideal = concurrency / (latency_ms / 1000)
    url = encoder.encode(images[0]) if images else ""
    with canned_endpoint(latency_ms, _completion(top_logprobs)) as base_url:
        rates = {
            "judgelake": asyncio.run(
                _ask(base_url, concurrency, count, encoder, images, top_logprobs)
            )
        }
        few = count // _PEER_SHARE
        rates["AsyncOpenAI"] = asyncio.run(
            _ask_async_openai(base_url, concurrency, few, url, top_logprobs)
        )
        if concurrency <= 256:
            rates["OpenAI in 32 threads"] = _ask_in_threads(base_url, few // 4, url, top_logprobs)
    reported = ", ".join(
        f"{name} {rate:,.0f}/s = {rate / ideal:.2f}" for name, rate in rates.items()
    )
    print(f"{what}, {concurrency} x {latency_ms} ms (ideal {ideal:,.0f}/s): {reported}", flush=True)


async def _ask(
    base_url: str,
    concurrency: int,
    count: int,
    encoder: ImageEncoder,
    images: Sequence[Image],
    top_logprobs: int,
) -> float:
    backend = OpenAIBackend(
        "m", base_url, concurrency=concurrency, encode_image=encoder.encode, has_image=encoder.has
    )

    def make_request(number: int) -> Request:
        shown = (images[number // _PER_IMAGE % len(images)],) if images else ()
        return Request(
            "m",
            (Message("user", f"Question {number}. " + 40 * "words ", shown),),
            Decoding(top_logprobs=top_logprobs),
        )

    requests = map(make_request, range(count))

    async def work() -> None:
        for request in requests:
            if not isinstance(await backend.reply(request), Reply):
                raise SystemExit("the server refused a request")

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(2 * concurrency)))
    seconds = time.perf_counter() - started
    await backend.close()
    return count / seconds


def _body(number: int, url: str, top_logprobs: int) -> dict[str, Any]:
    text = f"Question {number}. " + 40 * "words "
    parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": text}]
    body: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": parts if url else text}],
        "max_tokens": 512,
    }
    return body | ({"logprobs": True, "top_logprobs": top_logprobs} if top_logprobs else {})


async def _ask_async_openai(
    base_url: str, concurrency: int, count: int, url: str, top_logprobs: int
) -> float:
    client = openai.AsyncOpenAI(
        base_url=base_url,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(limits=_no_limits()),
    )
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await client.chat.completions.create(**_body(number, url, top_logprobs))

    started = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    seconds = time.perf_counter() - started
    await client.close()
    return count / seconds


def _no_limits() -> Any:
    import httpx

    return httpx.Limits(max_connections=10_000, max_keepalive_connections=10_000)


def _ask_in_threads(base_url: str, count: int, url: str, top_logprobs: int) -> float:
    client = openai.OpenAI(base_url=base_url, max_retries=0)
    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        list(
            pool.map(
                lambda number: client.chat.completions.create(**_body(number, url, top_logprobs)),
                range(count),
            )
        )
    return count / (time.perf_counter() - started)


def _completion(top_logprobs: int) -> bytes:
    tokens = ["So", " rating", "=", "3"] + ["."] * 16
    listed = [_entry(f"t{rank}", rank) for rank in range(top_logprobs)]
    logprobs = {
        "content": [{**_entry(token, 0), "top_logprobs": listed} for token in tokens],
        "refusal": None,
    }
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "".join(tokens), "refusal": None},
    }
    usage = {"prompt_tokens": 60, "completion_tokens": 20, "total_tokens": 80}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return json.dumps(
        {**whole, "choices": [{**choice, "logprobs": logprobs if top_logprobs else None}]}
    ).encode()


def _entry(token: str, rank: int) -> dict[str, Any]:
    return {"token": token, "logprob": -0.123456789 - rank, "bytes": [*token.encode()]}


@contextmanager
def canned_endpoint(latency_ms: int, answer: bytes) -> Iterator[str]:
    """The address of a server that answers everything so after that time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.json"
        file.write_bytes(answer)
        command = [sys.executable, "-m", "tests.bench.canned_server", str(latency_ms), str(file)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            port = int((server.stdout or sys.stdin.buffer).readline())
            try:
                yield f"http://127.0.0.1:{port}/v1"
            finally:
                if server.stdin:
                    server.stdin.close()


if __name__ == "__main__":
    main()
