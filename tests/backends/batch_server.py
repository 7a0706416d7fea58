"""A provider's files and batches over HTTP: batches advance when a test says so, answers come of
its rules, and calls fail as it orders.
"""

import asyncio
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from tests.backends.asking import completion

Json = dict[str, Any]
Answer = Callable[[Json], tuple[int, Json] | None]
"""From a line's body to status and body; None: not answered before the batch expired."""
MOST_BYTES = 250_000_000


def rate(body: Json) -> tuple[int, Json]:
    """The usual answer: the highest rating, 100 tokens for 10."""
    return 200, {
        **completion("So rating=3"),
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def refuse(message: str, param: str | None = None, code: str | None = None) -> tuple[int, Json]:
    return 400, {
        "error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    }


class BatchServer:
    """What the provider holds. `faults`: for `POST /v1/batches` and the like what its next calls
    meet.

    `live`: what it answers to those who ask without a batch; each is refused where it is None.
    `cut`: the call is done and the connection closed without a word; a number: it is refused with
    that status. `ends_at_look`: the how manieth question after a batch ends all of them.
    """

    def __init__(self, answer: Answer = rate) -> None:
        self.answer = answer
        self.live: Answer | None = None
        self.files: dict[str, tuple[str, bytes]] = {}
        self.batches: dict[str, Json] = {}
        self.created_at: dict[str, int] = {}
        self.faults: dict[str, list[int | str]] = defaultdict(list)
        self.calls: Counter[str] = Counter()
        self.base_url = ""
        self.ends_at_look: int | None = None

    @property
    def requests(self) -> Counter[str]:
        """The texts that were asked in batches that the provider runs or has run, each with how
        many times.
        """
        return Counter(
            line["body"]["messages"][-1]["content"]
            for batch in self.batches.values()
            for line in self.lines(batch["input_file_id"])
        )

    def lines(self, file_id: str) -> list[Json]:
        return [json.loads(line) for line in self.files[file_id][1].splitlines()]

    def finish(self, status: str = "completed", **more: object) -> None:
        """End all batches that still run: answers into their output files, refusals and what was
        not answered into error files.
        """
        for batch in [batch for batch in self.batches.values() if batch["status"] == "in_progress"]:
            said = [
                (line["custom_id"], self.answer(line["body"]))
                for line in self.lines(batch["input_file_id"])
            ]
            good = [
                _answered(name, *got) for name, got in said if got is not None and got[0] == 200
            ]
            bad = [
                _answered(name, *got) if got else _unanswered(name)
                for name, got in said
                if got is None or got[0] != 200
            ]
            batch.update(status=status, **more)
            if status != "failed":
                batch["output_file_id"] = self._write(good) if good else None
                batch["error_file_id"] = self._write(bad) if bad else None

    def _write(self, lines: list[Json]) -> str:
        return self._keep(
            "answers.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        )

    def _keep(self, name: str, content: bytes) -> str:
        file_id = f"file-{len(self.files) + 1}"
        self.files[file_id], self.created_at[file_id] = (name, content), int(time.time())
        return file_id

    def _describe_file(self, file_id: str) -> Json:
        name, content = self.files[file_id]
        reported = {
            "id": file_id,
            "object": "file",
            "bytes": len(content),
            "created_at": self.created_at[file_id],
            "filename": name,
        }
        return {**reported, "purpose": "batch", "status": "processed"}

    async def upload(self, request: web.Request) -> web.Response:
        posted = await request.post()
        sent = posted["file"]
        assert isinstance(sent, web.FileField)
        return web.json_response(self._describe_file(self._keep(sent.filename, sent.file.read())))

    async def list_files(self, request: web.Request) -> web.Response:
        return _page(request, [self._describe_file(file_id) for file_id in reversed(self.files)])

    async def send_file(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["id"]][1])

    async def create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        batch_id = f"batch_{len(self.batches) + 1}"
        assert asked["input_file_id"] in self.files
        reported = {
            "id": batch_id,
            "object": "batch",
            "created_at": int(time.time()),
            "status": "in_progress",
        }
        self.batches[batch_id] = {
            **asked,
            **reported,
            "output_file_id": None,
            "error_file_id": None,
        }
        return web.json_response(self.batches[batch_id])

    async def list_batches(self, request: web.Request) -> web.Response:
        return _page(request, list(reversed(self.batches.values())))

    async def send_batch(self, request: web.Request) -> web.Response:
        if self.calls["GET /v1/batches/{id}"] == self.ends_at_look:
            self.finish()
        found = self.batches.get(request.match_info["id"])
        return web.json_response(found or refuse("no such batch")[1], status=200 if found else 404)

    async def chat(self, request: web.Request) -> web.Response:
        answered = self.live(await request.json()) if self.live else None
        status, body = answered or refuse("asked live")
        return web.json_response(body, status=status)

    @web.middleware
    async def meddle(
        self, request: web.Request, handler: Callable[[web.Request], Any]
    ) -> web.StreamResponse:
        """Count the call and let it fail as ordered."""
        route = request.match_info.route.resource
        name = f"{request.method} {route.canonical if route else request.path}"
        self.calls[name] += 1
        fault = self.faults[name].pop(0) if self.faults[name] else None
        if isinstance(fault, int):
            return web.json_response(refuse(f"ordered {fault}")[1], status=fault)
        done: web.StreamResponse = await handler(request)
        if fault == "cut" and request.transport is not None:
            request.transport.abort()
        return done


def _answered(name: str, status: int, body: Json) -> Json:
    return {
        "id": f"r-{name}",
        "custom_id": name,
        "response": {"status_code": status, "request_id": "x", "body": body},
        "error": None,
    }


def _unanswered(name: str) -> Json:
    error = {
        "code": "batch_expired",
        "message": "This request could not be executed before the completion window expired.",
    }
    return {"id": f"r-{name}", "custom_id": name, "response": None, "error": error}


def _page(request: web.Request, found: list[Json]) -> web.Response:
    """At most two an answer, so that looking something up has to turn pages."""
    after = request.query.get("after")
    begin = [one["id"] for one in found].index(after) + 1 if after else 0
    data = found[begin : begin + 2]
    return web.json_response({"object": "list", "data": data, "has_more": begin + 2 < len(found)})


@contextmanager
def batch_server(answer: Answer = rate) -> Iterator[BatchServer]:
    """A server in a thread of its own."""
    server, loop = BatchServer(answer), asyncio.new_event_loop()

    async def serve() -> web.AppRunner:
        app = web.Application(middlewares=[server.meddle], client_max_size=MOST_BYTES)
        app.add_routes([
            web.post("/v1/files", server.upload), web.get("/v1/files", server.list_files),
            web.get("/v1/files/{id}/content", server.send_file), web.post("/v1/batches", server.create),
            web.get("/v1/batches", server.list_batches), web.get("/v1/batches/{id}", server.send_batch),
            web.post("/v1/chat/completions", server.chat),
        ])  # fmt: skip
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner

    runner = loop.run_until_complete(serve())
    server.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(runner.cleanup())
        loop.close()
