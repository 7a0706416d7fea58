import asyncio
import dataclasses

from judgelake.tasks.backends.base import Backend, make_reason, request_digest
from judgelake.tasks.backends.replay import ReplayBackend
from judgelake.tasks.types import Failure, Message, Reply, Request

REQUEST = Request("m", (Message("user", "Hi"),), draw=1)


def test_a_stored_reply_comes_back_for_its_draw_only() -> None:
    backend: Backend = ReplayBackend({(request_digest(REQUEST), 1): Reply("")})
    assert asyncio.run(backend.reply(REQUEST)) == Reply("")
    other = asyncio.run(backend.reply(dataclasses.replace(REQUEST, draw=0)))
    assert isinstance(other, Failure)
    assert "draw 0" in other.reason
    assert "not recorded" in other.reason


def test_a_reason_is_one_short_line_without_the_key() -> None:
    reason = make_reason(
        "bad\n key sk-12345678,\tAuthorization: bearer abc.def " + "x" * 500, "sk-12345678"
    )
    assert reason.startswith("bad key ***, Authorization: Bearer *** xxx")
    assert len(reason) == 300


def test_a_key_is_masked_before_the_line_is_cut() -> None:
    assert "sk-1" not in make_reason("x" * 295 + "sk-12345678", "sk-12345678")
