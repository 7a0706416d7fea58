"""The server of `judgelake view`: the lake's page, what runs now, SQL, and the reports. It only
reads, and gives nothing of the lake to anybody without the token.

The page itself is the same for every lake. It takes the token from the fragment of its address,
which no browser sends, keeps it for its origin, and sends it as a header: a cookie would go to the
servers of other users on other ports, too. A page of another site can neither read nor ask, as it
has no token; requests name this machine as their host, and questions come as JSON. Reports
lie under an address that cannot be guessed and are shown in a sandbox: a browser gives them an
origin of their own, which cannot reach this page, and forbids them to ask anything.
"""

import asyncio
import dataclasses
import hmac
import mimetypes
import re
import secrets
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from judgelake.flows.view.questions import SqlQuestion, answer_file, answer_rows, list_catalog
from judgelake.tasks.errors import JudgelakeError, redact
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import has_file, list_folders, read_file
from judgelake.tasks.reports.kept_pages import list_pages
from judgelake.tasks.runs.log import read_steps
from judgelake.tasks.runs.status import read_status
from judgelake.tasks.warehouse.catalog import show_json

_HOSTS = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
_MOST_BYTES = 1_000_000
"""Of a question."""
_CHUNK_BYTES = 1 << 20
_STEPS_SHOWN = 8
_LAKE = web.AppKey("lake", Lake)
_REPORTS = web.AppKey("reports", str)
"""The address below which reports are shown. It serves as their password: whoever follows a link
sends no header.
"""
_PARTS = {
    "/report.css": ("judgelake.tasks.reports.page", "text/css"),
    "/view.css": ("judgelake.flows.view", "text/css"),
    "/view.js": ("judgelake.flows.view", "text/javascript"),
}
"""Path -> the package that has the file, and what it is."""
_OPEN = {"/", "/favicon.ico", *_PARTS}
"""What is the same for every lake."""
_PAGE = "report.html"
_PART = re.compile(r"[0-9A-Za-z_\-][0-9A-Za-z_\-.]*")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
}
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'self' 'unsafe-inline'; img-src 'self'; connect-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_WAY_BACK = b'<body>\n<p class="lake"><a href="/">All of this lake</a></p>'
_Found = TypeVar("_Found")


def make_app(lake: Lake, token: str) -> web.Application:
    """The application for one lake."""
    reports = f"/reports/{secrets.token_urlsafe(24)}/"
    app = web.Application(middlewares=[_guard(token, reports)], client_max_size=_MOST_BYTES)
    app[_LAKE], app[_REPORTS] = lake, reports
    app.router.add_get("/", _show_page)
    for path in _PARTS:
        app.router.add_get(path, _show_part)
    app.router.add_get("/api/lake", _show_lake)
    app.router.add_get("/api/catalog", _show_catalog)
    app.router.add_post("/api/sql", _ask)
    app.router.add_get(reports + "{path:.+}", _show_report)
    app.router.add_get("/favicon.ico", _show_nothing)
    return app


def _guard(token: str, reports: str) -> Middleware:
    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not _HOSTS.fullmatch(request.headers.get("Host", "")):
            raise web.HTTPForbidden(text="this server answers to 127.0.0.1 and localhost alone\n")
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        is_open = request.path in _OPEN or _is_same(request.path[: len(reports)], reports)
        if not is_open and not _is_same(bearer, token):
            raise web.HTTPUnauthorized(
                text="The token is missing or wrong: open the address that `judgelake view` "
                "printed.\n"
            )
        try:
            answer = await handler(request)
        except JudgelakeError as error:
            answer = _as_json({"error": redact(str(error))}, 400)
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        return answer

    return guarded


def _is_same(given: str, token: str) -> bool:
    # Headers that are no UTF-8 arrive with surrogates: they are a wrong token like any other.
    return hmac.compare_digest(given.encode(errors="surrogatepass"), token.encode())


def _as_json(value: object, status: int = 200) -> web.Response:
    return web.Response(text=show_json(value), content_type="application/json", status=status)


async def _show_page(_: web.Request) -> web.Response:
    return _send_part("judgelake.flows.view", "view.html", "text/html")


async def _show_nothing(_: web.Request) -> web.Response:
    return web.Response(status=204)


async def _show_part(request: web.Request) -> web.Response:
    package, kind = _PARTS[request.path]
    return _send_part(package, request.path[1:], kind)


def _send_part(package: str, name: str, kind: str) -> web.Response:
    body = files(package).joinpath(name).read_bytes()
    return web.Response(body=body, content_type=kind, charset="utf-8")


async def _show_lake(request: web.Request) -> web.Response:
    described = await asyncio.to_thread(_describe, request.app[_LAKE])
    return _as_json(described | {"reports_at": request.app[_REPORTS]})


def _describe(lake: Lake) -> dict[str, Any]:
    """What runs, how the last runs ended, and which reports there are."""
    reports = lake.root / "reports"
    status = dataclasses.asdict(read_status(lake))
    for run in status["under_way"]:
        run["steps"] = read_steps(lake, run["run_id"])[-_STEPS_SHOWN:]
    pages = [name for name in list_folders(reports) if has_file(reports / name / _PAGE)]
    return {
        "lake": str(lake.root),
        **status,
        "reports": [
            {"suite": name, "earlier": list_pages(reports / name / _PAGE)} for name in pages
        ],
    }


async def _show_catalog(_: web.Request) -> web.Response:
    return _as_json(list_catalog())


async def _ask(request: web.Request) -> web.StreamResponse:
    """Rows of a statement as JSON, or, where a format is named, a file of all of them."""
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="expected a question as application/json\n")
    question = SqlQuestion.read(await request.read())
    lake = request.app[_LAKE]
    if question.format is None:
        return _as_json(await _interruptible(answer_rows, lake, question))
    with await _interruptible(answer_file, lake, question) as file:
        name = f"rows.{question.format}"
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        named = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Type": kind}
        answer = web.StreamResponse(headers=_HEADERS | named)
        await answer.prepare(request)
        while chunk := file.read(_CHUNK_BYTES):
            await answer.write(chunk)
        return answer


async def _interruptible(
    answer: Callable[[Lake, SqlQuestion], _Found], lake: Lake, question: SqlQuestion
) -> _Found:
    """Answer in a thread; where nobody waits any more, the statement ends too."""
    try:
        return await asyncio.to_thread(answer, lake, question)
    except asyncio.CancelledError:
        question.stop()
        raise


async def _show_report(request: web.Request) -> web.Response:
    """A file of the lake's reports."""
    parts = request.match_info["path"].split("/")
    reports = request.app[_LAKE].root / "reports"
    body = await asyncio.to_thread(_read_report, reports, parts)
    if body is None:
        raise web.HTTPNotFound(text="this lake has no such report\n")
    kind = mimetypes.guess_type(parts[-1])[0] or "application/octet-stream"
    if kind == "text/html":
        body = body.replace(b"<body>", _WAY_BACK, 1)
    return web.Response(
        body=body,
        content_type=kind,
        charset="utf-8" if kind == "text/html" else None,
        headers={
            "Content-Security-Policy": _REPORT_POLICY,
            "Cross-Origin-Resource-Policy": "cross-origin",  # a sandbox shares no origin
        },
    )


def _read_report(reports: Any, parts: list[str]) -> bytes | None:
    """The file; None where there is none, or it lies elsewhere."""
    if not all(_PART.fullmatch(part) for part in parts):
        return None
    path = reports.joinpath(*parts)
    if not isinstance(path, Path):
        return read_file(path)
    if not path.is_file() or not path.resolve().is_relative_to(reports.resolve()):
        return None
    return path.read_bytes()
