"""Requests by batch: cut into files, in the lake before they go up, asked once whatever crashes,
and again only where nothing came.
"""

import asyncio
import contextlib
import inspect
import io
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from aiohttp import web

from judgelake.flows.cli import make_parser
from judgelake.flows.status_command import describe_status, run_status
from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.backends.openai import batch, client
from judgelake.tasks.backends.openai.adapting import Adaptation
from judgelake.tasks.backends.openai.batch import (
    OPENAI_LIMITS,
    BatchApi,
    BatchBackend,
    BatchError,
    FileLimits,
)
from judgelake.tasks.backends.openai.batch_book import BatchBook
from judgelake.tasks.backends.openai.batch_lines import cut_lines, read_line
from judgelake.tasks.backends.openai.endpoints import find_endpoint
from judgelake.tasks.backends.openai.limits import BackOff
from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.engine.collecting import CollectOrder, collect_batches
from judgelake.tasks.engine.ledger import Ledger
from judgelake.tasks.engine.shard import ShardResult
from judgelake.tasks.errors import BackendError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.runs.status import read_status
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.types import QUEUED, Failure, Image, Message, Pending, Reply, Request
from tests.backends.asking import completion, rating_request, scripted_endpoint
from tests.backends.batch_server import BatchServer, Json, batch_server, rate, refuse
from tests.lakes import append_records, judge_row, lave_judge, make_lake, query

START = "POST /v1/batches"
MODEL = "openai/gpt-4o-mini"
REQUESTS = [rating_request(n, model=MODEL) for n in range(4)]


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with batch_server() as running:
        yield running


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "judgelake.tasks.backends.openai.batch.BackOff", lambda: BackOff(first_s=0.001)
    )
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(
            name, "http://127.0.0.1:9"
        )  # where nobody listens: loopback must not be asked for through it
    monkeypatch.setenv("no_proxy", "")


def make_judge(server: BatchServer) -> JudgeSettings:
    return lave_judge(
        endpoint=OpenAISettings(model=MODEL, base_url=server.base_url, mode="batch", max_attempts=3)
    )


def make_backend(
    lake: Lake, server: BatchServer, run_id: str, limits: FileLimits = OPENAI_LIMITS
) -> BatchBackend:
    judge_id = make_judge(server).identify(("b",)).judge_id
    return BatchBackend(
        MODEL, BatchBook(lake, judge_id, run_id), server.base_url, "OPENAI_API_KEY", "judge", 4, 10.0, 3, encode_image, limits=limits
    )  # fmt: skip


def encode_image(image: Image) -> str:
    if image.sha256 is None:
        raise FileNotFoundError(image.uri)
    return f"data:image/png;base64,{image.uri}"


def queue(
    lake: Lake,
    server: BatchServer,
    run_id: str,
    requests: Sequence[Request] = REQUESTS,
    limits: FileLimits = OPENAI_LIMITS,
) -> list[Reply | Failure | Pending]:
    """Ask for all and submit what waits, as a shard does."""

    async def drive() -> list[Reply | Failure | Pending]:
        backend = make_backend(lake, server, run_id, limits)
        try:
            outcomes = [await backend.reply(request) for request in requests]
            await backend.submit()
            return outcomes
        finally:
            await backend.close()

    return asyncio.run(drive())


def collect(lake: Lake, server: BatchServer, run_id: str) -> ShardResult:
    judge = make_judge(server)
    return collect_batches(CollectOrder(lake, run_id, judge, judge.identify(("b",))))


def left(lake: Lake) -> list[Request]:
    """Requests without a reply: what a run asks for."""
    held = {row["request_digest"] for row in query(lake, "select request_digest from stg_replies")}
    return [request for request in REQUESTS if request_digest(request) not in held]


def states(lake: Lake) -> Counter[str]:
    return Counter(row["state"] for row in query(lake, "select state from stg_batches"))


def reasons(outcomes: Sequence[object]) -> list[str]:
    return [outcome.reason for outcome in outcomes if isinstance(outcome, Failure)]


STEPS = [
    (BatchBook, "plan"), (BatchApi, "upload"), (BatchApi, "start"), (BatchBook, "submit"),
    (BatchApi, "download"), (Ledger, "flush_patiently"), (BatchBook, "end"),
]  # fmt: skip
_AT_PAYMENT = ("start", "submit", "flush_patiently")
"""Before and after a batch is paid for, and as its replies are kept; the others in `test-full`."""


@pytest.mark.parametrize(
    ("owner", "step"),
    [
        pytest.param(*at, id=at[1], marks=() if at[1] in _AT_PAYMENT else pytest.mark.full)
        for at in STEPS
    ],
)
def test_a_crash_after_any_step_neither_pays_twice_nor_forgets(
    lake: Lake, server: BatchServer, monkeypatch: pytest.MonkeyPatch, owner: type, step: str
) -> None:
    queue(lake, server, "run-0", REQUESTS[:2])
    server.finish()
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, killed_after(getattr(owner, step)))
        with pytest.raises(Killed):
            collect_and_queue(lake, server, "run-1", collects=(owner, step) not in STEPS[:4])
    for n in range(2, 5):
        collect_and_queue(lake, server, f"run-{n}")
        server.finish()
        if not left(lake):
            break
    assert set(server.requests.values()) == {1}  # each asked once, in one batch
    assert (
        server.requests.total()
        == query(lake, "select count(*) as n from raw_replies")[0]["n"]
        == len(REQUESTS)
    )
    assert set(states(lake)) <= {"collected", "abandoned"}


def collect_and_queue(lake: Lake, server: BatchServer, run_id: str, collects: bool = True) -> None:
    if collects:
        collect(lake, server, run_id)
    queue(lake, server, run_id, left(lake))


def killed_after(step: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(step):

        async def awaited(*given: Any, **named: Any) -> Any:
            await step(*given, **named)
            raise Killed

        return awaited

    def called(*given: Any, **named: Any) -> Any:
        step(*given, **named)
        raise Killed

    return called


@pytest.mark.parametrize("faults", [["cut"], ["cut", 500, "cut"], [503], ["cut", "cut", "cut"]])
def test_a_batch_whose_start_was_not_answered_is_started_once(
    lake: Lake, server: BatchServer, faults: list[int | str]
) -> None:
    server.faults[START] = faults
    queue(lake, server, "run-1")
    assert (len(server.batches), states(lake)) == (1, {"submitted": 1})


def test_a_start_of_which_nobody_knows_is_looked_for_in_the_next_run(
    lake: Lake, server: BatchServer
) -> None:
    server.faults[START] = ["cut"]
    server.faults["GET /v1/batches"] = [503, 503, 503]
    with pytest.raises(BackendError, match="cannot list batches: 503 ordered 503"):
        queue(lake, server, "run-1")
    assert states(lake) == {"planned": 1}
    collect(lake, server, "run-2")
    assert (len(server.batches), states(lake)) == (1, {"submitted": 1})
    assert [
        outcome.handle for outcome in queue(lake, server, "run-2") if isinstance(outcome, Pending)
    ] == ["batch_1"] * 4


def test_the_status_of_the_lake_shows_open_batches(lake: Lake, server: BatchServer) -> None:
    queue(lake, server, "run-1")
    (row,) = query(lake, "select judge_id, planned_at from stg_batches")
    for judge in (row["judge_id"], f"gpt, lave ({row['judge_id']})"):
        reported = f"  batch_1  4 requests of judge {judge} since {row['planned_at']:%F %T} UTC"
        assert describe_status(read_status(lake))[-2:] == ["batches at providers:", reported]
        named = [judge_row(alias, row["judge_id"], suite=alias) for alias in ("lave", "gpt")]
        append_records(lake, "judges", named)
    server.finish()
    collect(lake, server, "run-2")
    assert read_status(lake).batches == ()


@pytest.mark.full
def test_batches_and_files_are_found_on_later_pages(
    lake: Lake, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(BatchBook, "submit", killed_after(lambda *_: None))
        with pytest.raises(Killed):
            queue(lake, server, "run-1")
    for n in range(5):
        server.files[f"file-x{n}"] = ("other.jsonl", b"{}\n")
        server.created_at[f"file-x{n}"] = server.created_at["file-1"]
        server.batches[f"batch_x{n}"] = {
            **server.batches["batch_1"],
            "id": f"batch_x{n}",
            "metadata": None,
            "input_file_id": f"file-x{n}",
        }
    collect(lake, server, "run-2")
    assert query(lake, "select batch_id from stg_batches") == [{"batch_id": "batch_1"}]


def test_an_upload_that_was_cut_is_sent_again_and_a_provider_that_is_down_leaves_requests_free(
    lake: Lake, server: BatchServer
) -> None:
    server.faults["POST /v1/files"] = [500, 500, 500]
    with pytest.raises(BackendError, match="cannot upload a batch's file: 500 ordered 500"):
        queue(lake, server, "run-1")
    assert states(lake) == {"abandoned": 1}
    server.faults["POST /v1/files"] = ["cut"]
    queue(lake, server, "run-2")
    assert (states(lake), len(server.batches)) == ({"abandoned": 1, "submitted": 1}, 1)


def test_a_start_that_is_refused_frees_the_requests_and_shows_the_providers_words(
    lake: Lake, server: BatchServer
) -> None:
    server.faults[START] = [401]
    with pytest.raises(BackendError, match="cannot start a batch: 401 ordered 401"):
        queue(lake, server, "run-1")
    assert states(lake) == {"failed": 1}
    queue(lake, server, "run-2")
    assert set(server.requests.values()) == {1}


def test_what_an_expired_batch_did_not_answer_goes_round_again(
    lake: Lake, server: BatchServer, capfd: pytest.CaptureFixture[str]
) -> None:
    queue(lake, server, "run-1")
    server.answer = lambda body: (
        None if "photo 1?" in said(body) or "photo 3?" in said(body) else rate(body)
    )
    server.finish("expired")
    server.answer = rate
    assert collect(lake, server, "run-2").n_calls == 2
    assert (
        "batch_1 expired: 2 of 4 requests were not answered; they are asked again"
        in capfd.readouterr().err
    )
    assert left(lake) == [REQUESTS[1], REQUESTS[3]]
    assert queue(lake, server, "run-2", left(lake)) == [QUEUED, QUEUED]
    server.finish()
    assert collect(lake, server, "run-3").n_calls == 2
    assert sorted(server.requests.values()) == [1, 1, 2, 2]
    assert states(lake) == {"collected": 2}


def said(body: Json) -> str:
    return str(body["messages"][-1]["content"])


@pytest.mark.full
def test_a_cancelled_batch_keeps_what_was_answered(lake: Lake, server: BatchServer) -> None:
    queue(lake, server, "run-1")
    server.answer = lambda body: rate(body) if "photo 0?" in said(body) else None
    server.finish("cancelled")
    assert (collect(lake, server, "run-2").n_calls, left(lake)) == (1, REQUESTS[1:])


@pytest.mark.parametrize(
    ("code", "again"), [("token_limit_exceeded", True), ("model_not_found", False)]
)
def test_a_batch_that_failed_as_a_whole(
    lake: Lake, server: BatchServer, code: str, again: bool
) -> None:
    queue(lake, server, "run-1")
    server.finish(
        "failed",
        errors={
            "object": "list",
            "data": [{"code": code, "message": "Not this one.", "line": None}],
        },
    )
    collect(lake, server, "run-2")
    assert states(lake) == {"failed": 1}
    outcomes = queue(lake, server, "run-2")
    assert reasons(outcomes) == (
        []
        if again
        else [f"{server.base_url[7:-3]}, {MODEL}: the batch was refused: Not this one."] * 4
    )
    assert len(server.batches) == 1 + again


def test_a_provider_that_does_not_answer_leaves_the_batch_open(
    lake: Lake, server: BatchServer, capfd: pytest.CaptureFixture[str]
) -> None:
    queue(lake, server, "run-1")
    server.finish()
    server.faults["GET /v1/batches/{id}"] = [503] * 3
    assert (collect(lake, server, "run-2").n_calls, states(lake)) == (0, {"submitted": 1})
    assert "cannot ask after batch_1: 503 ordered 503; batch_1 stays open" in capfd.readouterr().err
    server.faults["GET /v1/batches/{id}"] = [401]
    with pytest.raises(BackendError, match="401"):
        collect(lake, server, "run-3")
    server.faults["GET /v1/files/{id}/content"] = ["cut"]
    assert collect(lake, server, "run-4").n_calls == 4


@pytest.mark.full
def test_a_batch_that_the_provider_has_forgotten_is_asked_again_two_days_later(
    lake: Lake, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue(lake, server, "run-1")
    server.batches.clear()
    with pytest.raises(BackendError, match="404 no such batch"):  # another account's key, maybe
        collect(lake, server, "run-2")
    monkeypatch.setattr("judgelake.tasks.engine.collecting._GONE_AFTER", timedelta(0))
    collect(lake, server, "run-3")
    assert (states(lake), queue(lake, server, "run-3")) == ({"failed": 1}, [QUEUED] * 4)


@pytest.mark.full
def test_a_batch_at_another_address_stays_there(
    lake: Lake, server: BatchServer, capfd: pytest.CaptureFixture[str]
) -> None:
    queue(lake, server, "run-1")
    with batch_server() as other:
        collect(lake, other, "run-2")
        assert queue(lake, other, "run-2") == [QUEUED] * 4
        assert f"batch_1 is at {server.base_url}" in capfd.readouterr().err
    server.finish()
    assert collect(lake, server, "run-3").n_calls == 4


@pytest.mark.parametrize(
    ("limits", "sizes"), [(FileLimits(3, 10**9), [3, 3, 1]), (FileLimits(100, 700), [2, 2, 2, 1])]
)
def test_files_are_cut_at_the_providers_limits(
    lake: Lake, server: BatchServer, limits: FileLimits, sizes: list[int]
) -> None:
    queue(lake, server, "run-1", [rating_request(n, model=MODEL) for n in range(7)], limits)
    files = [server.files[batch["input_file_id"]][1] for batch in server.batches.values()]
    assert [len(file.splitlines()) for file in files] == sizes
    assert all(len(file) <= limits.n_bytes for file in files)
    if limits.n_requests > 3:  # and no file could have taken the next one's first line
        lines = [len(file.splitlines(keepends=True)[0]) for file in files]
        assert all(
            len(file) + line > limits.n_bytes
            for file, line in zip(files[:-1], lines[1:], strict=True)
        )
    assert [
        row["n_bytes"] for row in query(lake, "select n_bytes from stg_batches order by planned_at")
    ] == list(map(len, files))


def test_the_providers_limits() -> None:
    assert OPENAI_LIMITS == (50_000, 200_000_000)


def test_equal_requests_go_once_and_what_cannot_go_fails_at_once(
    lake: Lake, server: BatchServer
) -> None:
    def look(sha256: str | None) -> Request:
        return Request(MODEL, (Message("user", "look", (Image("x" * 40, sha256),)),))

    huge = Request(MODEL, (Message("user", "x" * 2000),))
    scored = Request(MODEL, (Message("user", "say"),), scored="yes")
    outcomes = queue(
        lake,
        server,
        "run-1",
        [REQUESTS[0], REQUESTS[0], look("0" * 64), look(None), huge, scored],
        FileLimits(9, 1900),
    )
    assert outcomes[:3] == [QUEUED, Pending("queued"), QUEUED]
    said = "cannot be put into a batch"
    assert [said in reason or "mode: live" in reason for reason in reasons(outcomes)] == [True] * 3
    (batch,) = server.batches.values()
    assert len(server.lines(batch["input_file_id"])) == 2


def test_draws_of_one_request_are_lines_of_their_own(lake: Lake, server: BatchServer) -> None:
    queue(
        lake,
        server,
        "run-1",
        [Request(MODEL, REQUESTS[0].messages, draw=draw) for draw in range(3)],
    )
    server.finish()
    assert collect(lake, server, "run-2").n_calls == 3
    assert [row["draw"] for row in query(lake, "select draw from stg_replies order by draw")] == [
        0,
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        ({"status_code": 429, "body": {}}, None),
        ({"status_code": 500, "body": {}}, None),
        (None, None),
        ({"status_code": 400, "body": {"error": {"message": "no"}}}, '{"error":{"message":"no"}}'),
        ({"status_code": 200, "body": {"x": 1}}, 'the answer is no chat completion: {"x":1}'),
    ],
)
def test_what_a_line_means(response: Json | None, outcome: str | None) -> None:
    assert read_line(
        orjson.dumps({"custom_id": "request-7", "response": response, "error": None})
    ) == (7, outcome)


@pytest.mark.parametrize(
    "line",
    [
        *(b"{", b"{}", b"7", b'{"custom_id": "x"}', b'{"custom_id": "request-1", "response": 3}'),
        *(b'{"custom_id": "request--1"}', b'{"custom_id": "7"}', b'{"custom_id": "request-"}'),
    ],
)
def test_a_line_that_is_none_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError):
        read_line(line)


@pytest.fixture
def _low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (client, batch):
        monkeypatch.setattr(module, "MOST_BYTES", 2**20)


@pytest.mark.usefixtures("_low_limit")
def test_an_answer_of_any_length_is_left_at_the_limit(lake: Lake, server: BatchServer) -> None:
    """In a batch as live: the request fails in the same words, and its neighbours are read."""

    def answer(body: Json) -> tuple[int, Json]:
        is_long = body["messages"][-1]["content"] == REQUESTS[1].messages[-1].text
        return (200, completion("x" * 2**21)) if is_long else rate(body)

    queue(lake, server, "run-1")
    server.answer = answer
    server.finish()
    assert collect(lake, server, "run-2").n_calls == 3
    assert left(lake) == [REQUESTS[1]]
    (reason,) = reasons(queue(lake, server, "run-2", left(lake)))
    assert reason == f"{urlsplit(server.base_url).netloc}, {MODEL}: the answer is longer than 1 MiB"
    assert len(server.batches) == 1


@pytest.mark.usefixtures("_low_limit")
def test_a_file_longer_than_its_answers_may_be_is_left_at_the_provider(
    lake: Lake, server: BatchServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An answer takes at most 1 MiB here; four may, and one that is too long."""
    queue(lake, server, "run-1")
    server.finish()
    (batch,) = server.batches.values()
    file_id = batch["output_file_id"]
    name, content = server.files[file_id]
    server.files[file_id] = name, content + b"x" * 2**19 + b"\n" * (9 * 2**19)
    assert collect(lake, server, "run-2").n_calls == 0
    said = capfd.readouterr().err
    assert f"cannot fetch {file_id}: it is longer than 5 MiB; expected at most 1 MiB" in said
    assert said.endswith("48 hours old; batch_1 stays open, and the next run asks again\n")
    assert server.calls["GET /v1/files/{id}/content"] == 1
    api = BatchApi(find_endpoint(MODEL, server.base_url, "OPENAI_API_KEY"), 10.0, 1)
    with contextlib.closing(api), pytest.raises(BatchError):
        api.download(file_id, tmp_path / "lines", len(REQUESTS))
    assert (tmp_path / "lines").stat().st_size <= 5 * 2**20
    assert states(lake) == {"submitted": 1}
    server.files[file_id] = name, content
    assert collect(lake, server, "run-3").n_calls == len(REQUESTS)
    assert set(server.requests.values()) == {1}


@pytest.mark.full
def test_requests_of_a_deleted_file_are_asked_again_after_two_days(
    lake: Lake, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue(lake, server, "run-1")
    server.finish()
    server.faults["GET /v1/files/{id}/content"] = [404, 404]
    with pytest.raises(BackendError, match="cannot fetch"):
        collect(lake, server, "run-2")
    monkeypatch.setattr("judgelake.tasks.engine.collecting._GONE_AFTER", timedelta(0))
    collect(lake, server, "run-3")
    assert states(lake) == {"failed": 1}
    assert queue(lake, server, "run-3") == [QUEUED] * len(REQUESTS)


@pytest.mark.usefixtures("_low_limit")
def test_the_request_of_a_long_line_is_known_wherever_the_line_names_it() -> None:
    spelled = '"custom_id": "request-9"' + "x" * 2**21
    answered = {"response": {"status_code": 200, "body": completion(spelled)}}
    short = {"custom_id": "request-5", "response": None}
    lines = [
        {"custom_id": "request-3", **answered},
        {**answered, "custom_id": "request-4"},
        answered,
        short,
    ]
    file = io.BytesIO(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    said = {"error": {"message": "the answer is longer than 1 MiB"}}
    refusal = orjson.dumps(said).decode()
    assert [*map(read_line, cut_lines(file))] == [(3, refusal), (4, refusal), (5, None)]


def test_a_long_refusal_is_kept_in_its_words() -> None:
    said = {"error": {"message": "no", "input": "x" * 2**20}}
    line = {"custom_id": "request-1", "response": {"status_code": 400, "body": said}}
    assert read_line(orjson.dumps(line)) == (1, "no")


@pytest.mark.usefixtures("_low_limit")
@pytest.mark.parametrize("status", [200, 302, 500])
def test_nothing_beyond_the_limit_is_read_of_what_is_said_of_a_batch(status: int) -> None:
    sent = 0

    async def answer(asked: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(status=status, headers={"Location": "/other"})
        response.enable_compression()
        await response.prepare(asked)
        with contextlib.suppress(ConnectionError):
            for _ in range(256):
                await response.write(b"x" * 2**20)
                sent += 1
        return response

    async def ask() -> str:
        async with scripted_endpoint(answer) as base_url:
            api = BatchApi(find_endpoint(MODEL, base_url, "OPENAI_API_KEY"), 60.0, 1)
            with contextlib.closing(api), pytest.raises(BatchError) as raised:
                await asyncio.to_thread(api.ask, "batch_1")
            return raised.value.words

    words = asyncio.run(ask())
    assert ("is longer than 1 MiB" in words) == (status == 200)
    assert sent < 256


def test_a_provider_s_words_give_a_terminal_no_command(
    lake: Lake, server: BatchServer, capfd: pytest.CaptureFixture[str]
) -> None:
    queue(lake, server, "run-1")
    words = "\x1b[2Jtoo many\x9b31m\r\ngone Bearer sk-0123456789abcdef"
    failed = {"object": "list", "data": [{"code": "x", "message": words}]}
    server.finish("failed", errors=failed)
    collect(lake, server, "run-2")
    said = capfd.readouterr().err
    assert said.endswith(r" failed: \x1b[2Jtoo many\x9b31m gone Bearer ***" + "\n")
    (row,) = query(lake, "select reason from stg_batches")
    assert row["reason"] == r"\x1b[2Jtoo many\x9b31m gone Bearer ***"


def test_a_batch_s_id_gives_a_terminal_no_command(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    book = BatchBook(lake, "a" * 16, "run-1")
    planned = book.plan("judge", MODEL, "http://x/v1", [("d" * 64, 0)], 1, Adaptation())
    book.submit(planned, None, "batch_\x1b[2J\x9b31m")
    assert run_status(make_parser().parse_args(["status", "--lake", str(lake.root)])) == 0
    shown = capsys.readouterr().out
    assert r"batch_\x1b[2J\x9b31m" in shown
    assert not {"\x1b", "\x9b"} & {*shown}


def test_the_key_shows_in_no_error(
    lake: Lake, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecret-0123456789")
    server.faults["POST /v1/files"] = [401]
    with pytest.raises(BatchError) as raised:
        queue(lake, server, "run-1")
    assert "sk-verysecret" not in repr(raised.value) + str(raised.value.__cause__) + str(
        raised.value.__context__
    )
    assert pickle.loads(pickle.dumps(raised.value)).status == 401


def test_the_key_shows_in_no_reply_and_no_refusal(
    lake: Lake, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider may repeat the headers of a request."""
    key = "sk-verysecret-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    queue(lake, server, "run-1")
    server.answer = lambda _: (200, completion(f"you sent Bearer {key}"))
    server.finish()
    assert collect(lake, server, "run-2").n_calls == len(REQUESTS)
    texts = {row["text"] for row in query(lake, "select text from stg_replies")}
    assert texts == {"you sent Bearer ***"}


def test_a_key_that_json_escapes_shows_in_no_reply_and_no_refusal(
    lake: Lake, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key := "sk-very/secret-0123456789")
    queue(lake, server, "run-1")
    escaped = key.replace("/", r"\/").replace("s", r"\u0073")

    def answer(body: Json) -> tuple[int, Json]:
        is_refused = "photo 0" in body["messages"][-1]["content"]
        return refuse("you sent KEY") if is_refused else (200, completion("you sent KEY"))

    server.answer = answer
    server.finish()
    for file_id, (name, content) in list(server.files.items()):
        server.files[file_id] = name, content.replace(b"KEY", escaped.encode())
    assert collect(lake, server, "run-2").n_calls == len(REQUESTS) - 1
    texts = {row["text"] for row in query(lake, "select text from stg_replies")}
    assert texts == {"you sent ***"}
    stored = query(lake, "select * from stg_batches")
    assert "you sent ***" in str(stored)
    assert key not in str(stored)


def test_an_answer_that_is_no_json_says_where_it_came_from() -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="<html>maintenance</html>", content_type="text/html")

    async def ask() -> str:
        async with scripted_endpoint(answer) as base_url:
            api = BatchApi(find_endpoint(MODEL, base_url, "OPENAI_API_KEY"), 60.0, 1)
            with contextlib.closing(api), pytest.raises(BatchError) as raised:
                await asyncio.to_thread(api.ask, "batch_1")
            return raised.value.words

    assert "cannot ask after batch_1: the answer is not what OpenAI's is" in asyncio.run(ask())
