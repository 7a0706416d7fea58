"""Replies a second from one process, as a share of concurrency ÷ latency, beside an AsyncOpenAI loop and a pool of threads.

`python -m tests.bench.bench_api` : 256 x 200 ms (text, 100 kB images, 20 log-probabilities) and 1,024 x 2 s.
"""

import asyncio
import base64
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai

from tasks.backends.openai_api import OpenAIBackend
from tasks.judging.types import Decoding, Image, Message, Reply, Request

_PEER_SHARE = 4
"""The peers are asked a quarter as much: their rate does not depend on it."""


def main() -> None:
    """Print one line a setting and client."""
    os.environ.setdefault("OPENAI_API_KEY", "bench")
    _compare("text", 256, 200, 12_800)
    _compare("100 kB image", 256, 200, 6_400, image_bytes=100_000)
    _compare("20 log-probabilities", 256, 200, 6_400, top_logprobs=20)
    _compare("text", 1024, 2000, 20_480)


def _compare(what: str, concurrency: int, latency_ms: int, count: int, image_bytes: int = 0, top_logprobs: int = 0) -> None:
    ideal = concurrency / (latency_ms / 1000)
    url = "data:image/jpeg;base64," + base64.b64encode(random.Random(0).randbytes(image_bytes)).decode()
    images = (Image("x.jpg", "0" * 64),) if image_bytes else ()
    with canned_endpoint(latency_ms, _completion(top_logprobs)) as base_url:
        rates = {"judgelake": asyncio.run(_ask(base_url, concurrency, count, images, url, top_logprobs))}
        few = count // _PEER_SHARE
        rates["AsyncOpenAI"] = asyncio.run(_ask_async_openai(base_url, concurrency, few, url if images else "", top_logprobs))
        if concurrency <= 256:
            rates["OpenAI in 32 threads"] = _ask_in_threads(base_url, few // 4, url if images else "", top_logprobs)
    told = ", ".join(f"{name} {rate:,.0f}/s = {rate / ideal:.2f}" for name, rate in rates.items())
    print(f"{what}, {concurrency} x {latency_ms} ms (ideal {ideal:,.0f}/s): {told}")


async def _ask(base_url: str, concurrency: int, count: int, images: tuple[Image, ...], url: str, top_logprobs: int) -> float:
    backend = OpenAIBackend("m", base_url, concurrency=concurrency, encode_image=lambda _: url)
    requests = iter(
        Request("m", (Message("user", f"Question {number}. " + 40 * "words ", images),), Decoding(top_logprobs=top_logprobs))
        for number in range(count)
    )

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
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": parts if url else text}], "max_tokens": 512}
    return body | ({"logprobs": True, "top_logprobs": top_logprobs} if top_logprobs else {})


async def _ask_async_openai(base_url: str, concurrency: int, count: int, url: str, top_logprobs: int) -> float:
    client = openai.AsyncOpenAI(base_url=base_url, max_retries=0, http_client=openai.DefaultAsyncHttpxClient(limits=_no_limits()))
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
        list(pool.map(lambda number: client.chat.completions.create(**_body(number, url, top_logprobs)), range(count)))
    return count / (time.perf_counter() - started)


def _completion(top_logprobs: int) -> bytes:
    tokens = ["So", " rating", "=", "3"] + ["."] * 16
    entry = {"bytes": None, "logprob": -0.1}
    listed = [{"token": f"t{rank}", **entry} for rank in range(top_logprobs)]
    logprobs = {"content": [{"token": token, "top_logprobs": listed, **entry} for token in tokens], "refusal": None}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "".join(tokens), "refusal": None}}
    usage = {"prompt_tokens": 60, "completion_tokens": 20, "total_tokens": 80}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return json.dumps({**whole, "choices": [{**choice, "logprobs": logprobs if top_logprobs else None}]}).encode()


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
