"""Notes of an estimate on what a judge will not judge, and why: items of other tasks, answers that
are equal, items without what it needs, keys that are not set.

`wanted_cases` and `pending` of the judge are in the connection (see `tasks.planning.cases`).
"""

from collections.abc import Iterator

import duckdb

from judgelake.tasks.engine.shard import make_starter
from judgelake.tasks.judging.cases import read_cases
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import Scope, Suite
from judgelake.tasks.types import Identity, Judge, Verdict, Wants
from judgelake.tasks.warehouse.warehouse import select_file

_SHOWN = 3
"""Items that a note names of each kind."""


def list_lacks(
    connection: duckdb.DuckDBPyConnection,
    judge: JudgeSettings,
    identity: Identity,
    suite: Suite,
    scope: Scope,
) -> Iterator[str]:
    """The notes on one judge; the counts are exact."""
    wants = identity.wants
    parameters = {
        "benchmarks": [name for name in identity.benchmarks if name in suite.benchmarks],
        "tasks": [*wants.tasks],
        "styles": [*wants.styles],
        "item_limit": scope.limit,
    }
    row = select_file(connection, "queries/left_out.sql", parameters).row(0, named=True)
    if row["n_other_items"]:
        yield (
            f"cases: {row['n_other_items']:,} items are of the task {row['other_tasks']}, which "
            f"{judge.protocol} does not judge (it judges {', '.join(wants.tasks)})"
        )
    if wants.unit == "answer":
        yield from _explain_count(row, wants)
    # captions are yet to be written, and so are the verdicts that a jury combines
    if wants.captioner not in suite.judges and not wants.seats:
        yield from _find_lacks(connection, judge, identity)
    for endpoint in dict.fromkeys(judge.endpoints.values()):
        yield from (f"key: {problem}" for problem in endpoint.probe())


def _explain_count(row: dict[str, int], wants: Wants) -> Iterator[str]:
    """Why a judge of answers has fewer cases than there are answers."""
    if row["n_other_styles"]:
        yield (
            f"cases: {row['n_other_styles']:,} answers are of another style than "
            f"{', '.join(wants.styles)}, and are not judged"
        )
    if row["n_equal"]:
        yield (
            f"cases: {row['n_equal']:,} answers equal another answer to their item, and share its "
            f"verdict"
        )


def _find_lacks(
    connection: duckdb.DuckDBPyConnection, judge: JudgeSettings, identity: Identity
) -> Iterator[str]:
    """What items lack, where the judge's own code ends on such an item without a request."""
    start = make_starter(judge, identity)
    about: dict[str, list[tuple[int, str]]] = {}
    lacking = select_file(connection, "queries/lacking_cases.sql", {"shown": _SHOWN})
    for case, row in zip(read_cases(lacking), lacking.iter_rows(named=True), strict=True):
        for reason in _refuse(start(case)):
            about.setdefault(reason, []).append((row["n_items"], ", ".join(row["shown_items"])))
    for reason, parts in about.items():
        n_items = sum(n for n, _ in parts)
        named = ", ".join(items for _, items in parts) + (", ..." if n_items > _SHOWN else "")
        yield f"no score: {n_items:,} of {lacking['n_all'][0]:,} items ({named}): {reason}"


def _refuse(judge: Judge) -> list[str]:
    """Why a judge ends without a request; nothing where it asks."""
    try:
        next(judge)
    except StopIteration as end:
        verdicts: list[Verdict] = end.value or []
        return list(
            dict.fromkeys(str(verdict.reason) for verdict in verdicts if verdict.status != "ok")
        )
    except Exception:  # an error of the protocol is left to the real run, which reports it
        return []
    return []
