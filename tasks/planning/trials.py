"""The trial of a judge: its first 20 replies show whether it can be read, before more is asked of
it. Where most of them cannot, the judge is paused.

The lake keeps the pause as the verdicts that it rests on: it ends where the judge or its reading
changes, or where the verdicts do. Asking few at a time is `tasks.engine.trial`.
"""

from typing import NamedTuple

import duckdb
import polars as pl

from judgelake.tasks.backends.openai.batch_book import count_open
from judgelake.tasks.engine.shard import make_starter
from judgelake.tasks.engine.trial import TRIAL_REPLIES, UNREADABLE, asks_something
from judgelake.tasks.errors import show_controls
from judgelake.tasks.judging.cases import read_cases
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.types import Identity
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file

_SAMPLED, _SEED = 500, 0
"""Cases that show whether a judge asks anything at all."""
_SHOWN_CHARS = 600
"""Of the reply that a message shows: its end, where most protocols want the verdict."""


class TrialCounts(NamedTuple):
    """How many replies of a judge could be read, and how many could not."""

    n_read: int
    n_unread: int

    @property
    def is_known(self) -> bool:
        """Whether there are as many as a trial asks for."""
        return self.n_read + self.n_unread >= TRIAL_REPLIES

    @property
    def is_bad(self) -> bool:
        """Whether most cannot be read; fewer than half a trial show nothing."""
        return self.n_unread > self.n_read and 2 * self.n_unread >= TRIAL_REPLIES


def count_readable(
    connection: duckdb.DuckDBPyConnection, identity: Identity, run_id: str | None = None
) -> TrialCounts:
    """How a judge's replies could be read under its present reading; with `run_id` only those whose
    verdicts are of that run.
    """
    given = {**_name_judge(identity), "unreadable": [*UNREADABLE], "run_id": run_id}
    return TrialCounts(*select_file(connection, "queries/readable_replies.sql", given).row(0))


def is_retried(retry: tuple[str, ...]) -> bool:
    """Whether somebody wants unreadable replies asked for again, which ends a pause for a trial."""
    return not {*retry}.isdisjoint(UNREADABLE)


def is_paused(
    connection: duckdb.DuckDBPyConnection,
    judge: JudgeSettings,
    identity: Identity,
    retry: tuple[str, ...] = (),
) -> bool:
    """Whether nothing may be asked of a judge, for most of its replies could not be read."""
    return (
        judge.endpoint.on_unreadable == "stop"
        and not is_retried(retry)
        and count_readable(connection, identity).is_bad
    )


def size_trial(
    connection: duckdb.DuckDBPyConnection,
    judge: JudgeSettings,
    identity: Identity,
    pending: pl.DataFrame,
) -> int:
    """How many replies a judge is tried on before the rest is asked: those that are missing of 20;
    0 where it needs no trial, or asks nothing about 500 of the `pending` cases.

    A paused judge that is asked again is tried anew.
    """
    if judge.endpoint.on_unreadable == "go on" or pending.is_empty():
        return 0
    counts = count_readable(connection, identity)
    # replies that an open batch will bring must not be paid for twice
    if (counts.is_known and not counts.is_bad) or count_open(
        connection, [identity.judge_id]
    ).height:
        return 0
    start = make_starter(judge, identity)
    sample = pending.sample(min(_SAMPLED, pending.height), shuffle=True, seed=_SEED)
    if not any(asks_something(start(case)) for case in read_cases(sample)):
        return 0
    return TRIAL_REPLIES if counts.is_bad else TRIAL_REPLIES - sum(counts)


def passes_trial(lake: Lake, identity: Identity, run_id: str, retry: tuple[str, ...]) -> bool:
    """Whether a judge goes on after a part of its trial in this run. Where unreadable replies were
    asked for again, earlier ones do not count.
    """
    connection = open_warehouse(lake, lazy=True)
    return not count_readable(connection, identity, run_id if is_retried(retry) else None).is_bad


def describe_pause(connection: duckdb.DuckDBPyConnection, identity: Identity) -> list[str]:
    """Two lines on a paused judge: what is wrong and what to do; the latest reply that could not be
    read.
    """
    counts = count_readable(connection, identity)
    given = {**_name_judge(identity), "unreadable": [*UNREADABLE]}
    status, reason, text = select_file(connection, "queries/unread_reply.sql", given).row(0)
    why = reason or ("the reply was cut off" if status == "truncated" else status)
    shown = text if len(text) <= _SHOWN_CHARS else f"…{text[1 - _SHOWN_CHARS :]}"
    return [
        f"judge {identity.alias}: paused, {counts.n_unread:,} of its {sum(counts):,} replies "
        f"cannot be read ({why}); expected most to be readable; change the judge, or ask again "
        f"with --retry {status}; `on_unreadable: go on` asks in any case",
        f"a reply of {identity.alias}: {_show(shown)}",
    ]


def _show(text: str) -> str:
    """A text on one line, control characters as escapes."""
    for control, shown in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(control, shown)
    return f'"{show_controls(text)}"'


def _name_judge(identity: Identity) -> dict[str, object]:
    return {"judge_id": identity.judge_id, "reading": identity.reading}
