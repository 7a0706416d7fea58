"""Rebuilds the requests whose replies a page shows, from the cases of today's suite, as `reread`
does. Nothing is asked and nothing is written.

A request counts as the one that was sent where its digest is that of the stored reply.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import duckdb

from judgelake.tasks.backends.base import request_digest
from judgelake.tasks.engine.ledger import read_reply
from judgelake.tasks.engine.shard import make_starter
from judgelake.tasks.judging.cases import read_cases
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.planning.cases import keep_wanted
from judgelake.tasks.reports.page.prompts import (
    CHANGED,
    LEFT,
    Asked,
    Template,
    Texts,
    fit_template,
    mark_case,
)
from judgelake.tasks.suite.suite import Suite
from judgelake.tasks.types import Case, Identity, Judge, Reply, Request
from judgelake.tasks.warehouse.warehouse import open_warehouse, run_sql, select_file, select_frame

_SLICE = 1_000
"""Cases that are driven at a time."""
_MARKED = 10_000
"""Marked cases whose requests are kept for the next case that is the same."""
_SHOWN = {
    "stg_items": "item_id in (select unnest($items::varchar[]))",
    "stg_answers": "(item_id, content_digest) in "
    "(select unnest(list_zip($items::varchar[], $contents::varchar[])))",
}
Start = Callable[[Case], Judge]
Fetch = Callable[[Collection[str]], Mapping[tuple[str, int], Reply]]
Found = tuple[str, Request, Request | None]
"""A request's digest, the request, and what is asked of the marked case in its place."""


class _Turn(NamedTuple):
    """A protocol that runs on a case and on the marked case, and what both ask next."""

    judge: Judge
    marked: Judge
    requests: list[Request]
    likely: list[Request]


def rebuild_prompts(
    snapshot: Snapshot,
    suite: Suite,
    benchmark: str,
    contents: Collection[tuple[str, str]],
    wanted: Collection[Asked],
) -> dict[Asked, Template | str]:
    """The template of each wanted request of a benchmark, or the sentence that says why there is
    none. `contents`: the (item, content digest) of the answers that the page shows.
    """
    texts: dict[str, dict[str, list[Texts]]] = {}
    for judge_id, digest, known in wanted:
        texts.setdefault(judge_id, {}).setdefault(digest, []).append(known)
    rebuilt: dict[Asked, Template | str] = {}
    for alias, judge in suite.judges.items():
        identity = judge.identify((benchmark,))
        open_digests = texts.pop(identity.judge_id, None)
        if open_digests is None:
            continue
        with open_warehouse(snapshot, lazy=True) as connection:
            _keep_shown(connection, identity, suite.name, benchmark, contents)
            start = make_starter(suite.judges[alias], identity)
            rebuilt.update(_rebuild_judge(connection, identity, start, open_digests))
    return {asked: LEFT if asked.judge_id in texts else CHANGED for asked in wanted} | rebuilt


def _keep_shown(
    connection: duckdb.DuckDBPyConnection,
    identity: Identity,
    suite: str,
    benchmark: str,
    contents: Collection[tuple[str, str]],
) -> None:
    """Leave `wanted_cases` of the shown answers in the connection. A judge that sees swapped images
    needs all items: each image is followed by another one of the benchmark.
    """
    given = {
        "benchmark": benchmark,
        "items": [item for item, _ in contents],
        "contents": [digest for _, digest in contents],
    }
    for name, chosen in _SHOWN.items():
        if name == "stg_items" and identity.wants.image == "swapped":
            continue
        text = (
            f"create temp table {name} as select * from {name} "
            f"where benchmark = $benchmark and {chosen}"
        )
        used = {key: value for key, value in given.items() if f"${key}" in text}
        run_sql(connection, text, name, used)
    keep_wanted(connection, identity, suite, [benchmark], None)


def _rebuild_judge(
    connection: duckdb.DuckDBPyConnection,
    identity: Identity,
    start: Start,
    open_digests: dict[str, list[Texts]],
) -> Iterator[tuple[Asked, Template]]:
    """What the judge asks first, and then, where requests are missing still, what it asks after
    the stored replies. Those that are found are taken out of `open_digests`.
    """
    held = frozenset(open_digests)

    def fetch(digests: Collection[str]) -> dict[tuple[str, int], Reply]:
        given = {"judge_id": identity.judge_id, "digests": [*held.intersection(digests)]}
        rows = select_file(connection, "queries/stored_replies.sql", given)
        return {
            (row.pop("request_digest"), row.pop("draw")): read_reply(row)
            for row in rows.iter_rows(named=True)
        }

    @lru_cache(_MARKED)
    def ask_marked(marked: Case) -> list[Request]:
        return _ask(start(marked), None)

    frame = select_frame(connection, "select * from wanted_cases", "wanted cases")
    find_first = partial(_list_first, start=start, ask_marked=ask_marked)
    for find in (find_first, partial(_list_all, start=start, fetch=fetch)):
        for part in frame.iter_slices(_SLICE) if open_digests else ():
            for digest, request, likely in find([*read_cases(part)]):
                for texts in open_digests.pop(digest, ()):
                    template = fit_template(request, likely, texts)
                    yield Asked(identity.judge_id, digest, texts), template


def _list_first(
    cases: Sequence[Case], start: Start, ask_marked: Callable[[Case], list[Request]]
) -> Iterator[Found]:
    """What is asked of each case first."""
    for case in cases:
        requests = _ask(start(case), None)
        for request, likely in _pair(requests, ask_marked(mark_case(case))):
            yield request_digest(request), request, likely


def _list_all(cases: Sequence[Case], start: Start, fetch: Fetch) -> Iterator[Found]:
    """What is asked of each case, as far as the lake has the replies to what is asked before."""
    turns = [_advance(start(case), start(mark_case(case)), None) for case in cases]
    while turns := [turn for turn in turns if turn.requests]:
        digests = [[request_digest(request) for request in turn.requests] for turn in turns]
        for own, turn in zip(digests, turns, strict=True):
            for digest, pair in zip(own, _pair(turn.requests, turn.likely), strict=True):
                yield digest, *pair
        replies = fetch({digest for own in digests for digest in own})
        keys = [_list_keys(own, turn.requests) for own, turn in zip(digests, turns, strict=True)]
        turns = [
            _advance(turn.judge, turn.marked, [replies[key] for key in own])
            for own, turn in zip(keys, turns, strict=True)
            if replies.keys() >= {*own}
        ]


def _list_keys(digests: Sequence[str], requests: Sequence[Request]) -> list[tuple[str, int]]:
    return [(digest, one.draw) for digest, one in zip(digests, requests, strict=True)]


def _advance(judge: Judge, marked: Judge, replies: list[Reply] | None) -> _Turn:
    return _Turn(judge, marked, _ask(judge, replies), _ask(marked, replies))


def _pair(
    requests: Sequence[Request], marked: Sequence[Request]
) -> Iterator[tuple[Request, Request | None]]:
    """Each request beside what is asked of the marked case in its place."""
    fits = len(requests) == len(marked)
    yield from zip(requests, marked if fits else [None] * len(requests), strict=True)


def _ask(judge: Judge, replies: list[Reply] | None) -> list[Request]:
    """The next requests; none where the judge has concluded, or raises: the real run reports it."""
    try:
        return next(judge) if replies is None else judge.send([*replies])
    except Exception:  # StopIteration among them
        return []
