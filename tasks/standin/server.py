"""The stand-in endpoint: an OpenAI-compatible server on loopback with one model, `standin/rules`,
and faults on demand.

Serves demos and tests where no model and no network are at hand;
`python -m judgelake.tasks.standin.server --help` lists its options. Routes:
`POST /v1/chat/completions`, `POST /v1/completions` (scores a text), `GET /v1/models` and
`GET /healthz`. Replies are a function of the request alone. The answers are made in
`tasks.standin.rules`; another process starts the server through `tasks.standin.process`.

A fault is drawn from the seed, the request's digest and how often that request came before, so that
a repeated run meets the same faults and a retry may pass.
"""

import argparse
import asyncio
import base64
import hashlib
import math
import os
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from judgelake.tasks.errors import BackendError
from judgelake.tasks.lake.storage import write_whole
from judgelake.tasks.standin.answers import answer_request, score_echo
from judgelake.tasks.standin.rules import Asked, TokenReply

FAULT_KINDS = ("truncate", "garbage", "reset", "hang", "slow", "html", "leak", "other")
"""Half a body, half a JSON, a connection cut, no answer, a body byte by byte, a web page, a 400
with the request's headers, another model.
"""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which faults are met how often: `chances` maps an HTTP status or one of FAULT_KINDS to a
    probability.
    """

    chances: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def draw(self, digest: str, attempt: int) -> str | None:
        """The fault that this attempt of a request meets; attempts count from 1."""
        drawn = (
            int.from_bytes(hashlib.sha256(f"{self.seed}:{digest}:{attempt}".encode()).digest()[:8])
            / 2**64
        )
        for fault, chance in self.chances.items():
            if drawn < chance:
                return fault
            drawn -= chance
        return None


def parse_faults(entries: list[str], seed: int) -> FaultPlan:
    """A plan from entries such as `500:0.1` and `hang:0.01`."""
    chances: dict[str, float] = {}
    for entry in entries:
        kind, _, chance = entry.partition(":")
        known = kind in FAULT_KINDS or (kind.isdecimal() and 400 <= int(kind) <= 599)
        if not known or not chance.replace(".", "", 1).isdecimal():
            raise BackendError(
                f"--fault: {entry!r} is no fault; expected STATUS:PROBABILITY or one of "
                f"{FAULT_KINDS} in the place of STATUS"
            )
        chances[kind] = chances.get(kind, 0.0) + float(chance)
    if sum(chances.values()) > 1 + 1e-9:
        raise BackendError(
            f"--fault: the probabilities sum to {sum(chances.values()):g}; expected at most 1; "
            f"lower some"
        )
    return FaultPlan(chances, seed)


MODEL = "standin/rules"
OTHER_MODEL = "standin/other"
"""What an answer with the fault `other` calls itself."""
# before each part of a reply with the fault `slow`
_SLOW_PAUSE_S = 0.1
_ANSWERED = {"truncate": 200, "garbage": 200, "slow": 200, "html": 200, "other": 200, "leak": 400}
_CERTAIN = math.log(0.999)
# a request may hold many images as base64
_BODY_LIMIT_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the server behaves; `retry_after_s` goes with 429 and 503, `log` is a JSONL file of the
    requests that came.
    """

    latency_ms: float = 0.0
    faults: FaultPlan = field(default_factory=FaultPlan)
    retry_after_s: float | None = None
    log: Path | None = None


class Standin:
    """The request handlers and what they remember: how often each request came, and the open
    log.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._seen: Counter[str] = Counter()
        self._log = (
            os.open(settings.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            if settings.log
            else None
        )

    def make_app(self) -> web.Application:
        """The application with its routes."""
        app = web.Application(client_max_size=_BODY_LIMIT_BYTES)
        app.router.add_post("/v1/chat/completions", self.complete)
        app.router.add_post("/v1/completions", self.complete)
        app.router.add_get("/v1/models", self.list_models)
        app.router.add_get("/healthz", self.report_health)
        return app

    async def report_health(self, _request: web.Request) -> web.Response:
        """Answers as soon as the server does."""
        return web.Response(text="ok")

    async def list_models(self, _request: web.Request) -> web.Response:
        """The one model that there is."""
        return _json(
            200,
            {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "judgelake"}]},
        )

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """One completion, or the fault that the plan has for it."""
        try:
            body = orjson.loads(await request.read())
            digest = hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()
            self._seen[digest] += 1
            fault = self._settings.faults.draw(digest, self._seen[digest])
            status, answer = (0, {}) if fault else _answer_body(body, digest)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            self._note("", None, 400)
            return _error(400, f"cannot read the request: {error}")
        self._note(digest, fault, status)
        if self._settings.latency_ms:
            await asyncio.sleep(self._settings.latency_ms / 1000)
        return await self._fail(request, fault, body, digest) if fault else _json(status, answer)

    async def _fail(
        self, request: web.Request, fault: str, body: dict[str, Any], digest: str
    ) -> web.StreamResponse:
        if fault.isdecimal():
            return _error(int(fault), "a fault of the plan", self._settings.retry_after_s)
        if fault == "garbage":
            return web.Response(body=b'{"choices": [{"mess\x00', content_type="application/json")
        if fault == "html":
            return web.Response(
                text="<html><body>Please log in to the guest network.</body></html>",
                content_type="text/html",
            )
        if fault == "leak":
            return _error(
                400,
                f"not for `{request.headers.get('Authorization')}`; the headers were "
                f"{dict(request.headers)}",
            )
        answer = _answer_body(body, digest)[1]
        if fault == "other":
            return _json(200, answer | {"model": OTHER_MODEL})
        if fault == "truncate":
            return await _send_half(request, orjson.dumps(answer))
        if fault == "slow":
            return await _send_slowly(request, orjson.dumps(answer))
        if fault == "hang":
            await asyncio.sleep(3600)
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)

    def _note(self, digest: str, fault: str | None, status: int) -> None:
        if self._log is None:
            return
        sent = int(fault) if fault and fault.isdecimal() else _ANSWERED.get(fault or "", status)
        line = {
            "time_s": time.time(),
            "digest": digest,
            "attempt": self._seen[digest],
            "status": sent,
            "fault": fault,
        }
        os.write(self._log, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def _answer_body(body: dict[str, Any], digest: str) -> tuple[int, dict[str, Any]]:
    if body["model"] != MODEL:
        return 404, _error_body(
            404, f"The model `{body['model']}` does not exist; this endpoint has only `{MODEL}`."
        )
    if "prompt" in body:
        scored = {
            "id": f"cmpl-{digest[:24]}",
            "object": "text_completion",
            "created": 0,
            "model": MODEL,
        }
        return 200, scored | {
            "choices": [score_echo(body)],
            "usage": _count_usage(body["prompt"], 0),
        }
    prompt = "\n".join(_message_text(message["content"]) for message in body["messages"])
    images = tuple(
        image for message in body["messages"] for image in _digest_images(message["content"])
    )
    answer = answer_request(Asked(prompt, images))
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or len(answer.tokens)
    tokens = answer.tokens[:limit]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "".join(tokens), "refusal": None},
        "finish_reason": "stop" if len(tokens) == len(answer.tokens) else "length",
        "logprobs": {"content": _list_logprobs(answer, len(tokens), body.get("top_logprobs") or 0)}
        if body.get("logprobs")
        else None,
    }
    completion = {
        "id": f"chatcmpl-{digest[:24]}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
    }
    return 200, completion | {"choices": [choice], "usage": _count_usage(prompt, len(tokens))}


def _count_usage(prompt: str, completion_tokens: int) -> dict[str, int]:
    prompt_tokens = max(len(prompt.split()), math.ceil(len(prompt) / 4))
    total = prompt_tokens + completion_tokens
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": total,
    }


def _message_text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part["type"] == "text")
    return content or ""


def _digest_images(content: str | list[dict[str, Any]] | None) -> list[str]:
    parts = content if isinstance(content, list) else []
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [
        hashlib.sha256(base64.b64decode(url.partition(",")[2], validate=True)).hexdigest()
        for url in urls
    ]


def _list_logprobs(answer: TokenReply, length: int, top: int) -> list[dict[str, Any]]:
    positions = []
    for position, token in enumerate(answer.tokens[:length]):
        ranked = sorted(answer.alternatives.get(position, {}).items(), key=lambda pair: -pair[1])
        alternatives = [(t, math.log(p)) for t, p in ranked if p > 0] or [(token, _CERTAIN)]
        entries = [
            {"token": t, "logprob": logprob, "bytes": list(t.encode())}
            for t, logprob in alternatives
        ]
        positions.append({**entries[0], "top_logprobs": entries[:top]})
    return positions


def _json(status: int, body: object, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        status=status, body=orjson.dumps(body), content_type="application/json", headers=headers
    )


def _error_body(status: int, message: str) -> dict[str, Any]:
    return {
        "error": {
            "message": message,
            "type": "invalid_request_error" if status < 500 else "server_error",
            "code": None,
        }
    }


def _error(status: int, message: str, retry_after_s: float | None = None) -> web.Response:
    waits = retry_after_s is not None and status in (429, 503)
    return _json(
        status,
        _error_body(status, message),
        {"Retry-After": f"{retry_after_s:g}"} if waits else None,
    )


async def _send_half(request: web.Request, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "application/json", "Content-Length": str(len(body))}
    )
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    if request.transport is not None:
        request.transport.close()
    return response


async def _send_slowly(request: web.Request, body: bytes) -> web.StreamResponse:
    """The whole answer, a byte at a time: longer than anybody waits."""
    response = web.StreamResponse(
        headers={"Content-Type": "application/json", "Content-Length": str(len(body))}
    )
    await response.prepare(request)
    for place in range(len(body)):
        await response.write(body[place : place + 1])
        await asyncio.sleep(_SLOW_PAUSE_S)
    return response


async def serve(settings: ServerSettings, port: int, port_file: Path | None) -> None:
    """Serves on loopback until it is cancelled; the port (0: a free one) is written once
    connections are taken.
    """
    runner = web.AppRunner(Standin(settings).make_app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, backlog=4096).start()
        if port_file:
            write_whole(port_file, str(runner.addresses[0][1]).encode())
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main(arguments: list[str] | None = None) -> None:
    """The command line of the stand-in."""
    parser = argparse.ArgumentParser(
        prog="python -m judgelake.tasks.standin.server",
        description="OpenAI-compatible stand-in that answers by rule",
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--port-file", type=Path, help="where the port is written once connections are taken"
    )
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="STATUS|KIND:PROBABILITY",
        help=f"kinds: {', '.join(FAULT_KINDS)}",
    )
    parser.add_argument(
        "--retry-after", type=float, metavar="SECONDS", help="sent with 429 and 503"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--log", type=Path, help="JSONL, a line for each request received")
    parser.add_argument("--parent-pipe", action="store_true", help="end when standard input closes")
    options = parser.parse_args(arguments)
    if options.parent_pipe:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65536)), hard))
    try:
        settings = ServerSettings(
            options.latency_ms,
            parse_faults(options.fault, options.seed),
            options.retry_after,
            options.log,
        )
        asyncio.run(serve(settings, options.port, options.port_file))
    except (BackendError, OSError) as error:
        sys.exit(f"stand-in: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
