"""What the tests of backends share: requests in LAVE's form, a drive of many, and an endpoint that
follows a script.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from judgelake.tasks.backends.openai.client import OpenAIBackend
from judgelake.tasks.types import Decoding, Failure, Message, Pending, Reply, Request

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def rating_request(number: int = 0, top_logprobs: int = 0, model: str = "standin/rules") -> Request:
    prompt = (
        f"Give the rationale before rating.\n\nQuestion: What is in photo "
        f"{number}?\nReference answers: 'cat', 'cat'\n"
    )
    return Request(
        model,
        (Message("user", prompt + "Candidate answer: a cat\nOutput:"),),
        Decoding(top_logprobs=top_logprobs),
    )


def ask(
    backend: OpenAIBackend, requests: Sequence[Request], one_by_one: bool = False
) -> list[Reply | Failure | Pending]:
    async def drive() -> list[Reply | Failure | Pending]:
        try:
            if one_by_one:
                return [await backend.reply(request) for request in requests]
            return list(await asyncio.gather(*(backend.reply(request) for request in requests)))
        finally:
            await backend.close()

    return asyncio.run(drive())


def read_log(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@asynccontextmanager
async def scripted_endpoint(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", handler)
    app.router.add_post("/v1/completions", handler)
    app.router.add_get("/v1/batches/{id}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=512).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def completion(text: str | None = "So rating=3", **choice: object) -> dict[str, Any]:
    first = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
        **choice,
    }
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "snapshot-1",
        "choices": [first],
    }
