"""Notes of an estimate on what a judge will not judge, and why: items of other tasks, answers that
are equal, items without what it needs, keys that are not set; and on what metrics cannot score.

`wanted_cases` and `pending` of the judge are in the connection (see `tasks.planning.cases`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import polars as pl
import pyarrow as pa

from judgelake.tasks.engine.shard import make_starter
from judgelake.tasks.judging.cases import read_cases
from judgelake.tasks.planning.rehearsal import answer_by_rule
from judgelake.tasks.planning.scores import PendingScores
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import Scope, Suite
from judgelake.tasks.types import Case, Identity, Image, Judge, Rubric, Verdict, Wants
from judgelake.tasks.warehouse.warehouse import select_file

_SHOWN = 3
"""Items that a note names of each kind."""
_THINGS = ("references", "rubric", "caption", "image", "file")
"""What an item may lack, as `queries/lacking_cases.sql` calls it."""
_NO_IMAGE = {
    "image": "the item has no image",
    "file": (
        "its image is not there or is damaged (see the quarantine), or is a URL, which metrics do "
        "not fetch"
    ),
}
"""What `queries/lacking_scores.sql` says of an image -> why a metric that looks at it gives no
score.
"""
_SHA256 = "0" * 64
_UNASKED = ("failed", "missing_image")
"""Statuses of verdicts that no reply was needed for."""


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


@dataclass
class _Lack:
    """Items without a score for one reason, by what they lack."""

    n_items: dict[str, int] = field(default_factory=dict)
    shown: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, lack: str, n_items: int, shown: Iterable[Mapping[str, str]]) -> None:
        self.n_items[lack] = n_items
        self.shown.update(tuple(item.values()) for item in shown)

    def describe(self, n_all: int) -> str:
        """How many items of all, and the first of them."""
        n_items = sum(self.n_items.values())
        named = [item for _, item in sorted(self.shown)[:_SHOWN]]
        more = ["..."] if n_items > len(named) else []
        return f"{n_items:,} of {n_all:,} items ({', '.join([*named, *more])})"


def _find_lacks(
    connection: duckdb.DuckDBPyConnection, judge: JudgeSettings, identity: Identity
) -> Iterator[str]:
    """What items lack, where the judge's own code gives no score for want of it: all, or those of
    some criteria.
    """
    start = make_starter(judge, identity)
    parameters = {"shown": _SHOWN, "by_criterion": not identity.wants.rubrics}
    lacking = select_file(connection, "queries/lacking_cases.sql", parameters)
    about: dict[str, dict[str, _Lack]] = {}
    asked: set[str] = set()
    for case, row in zip(read_cases(lacking), lacking.iter_rows(named=True), strict=True):
        if identity.wants.rubrics:  # each item has criteria of its own
            case = replace(case, criterion="", criteria=())
        asked |= set(_conclude(start, _supply(case, _THINGS)))
        for reason, criteria in _explain_case(case, row["lack"].split(), start):
            for criterion in criteria:
                found = about.setdefault(reason, {}).setdefault(criterion, _Lack())
                found.add(row["lack"], row["n_items"], row["shown_items"])
    for reason, by_criterion in about.items():
        for criteria, found in _join_equal(by_criterion):
            of = "" if asked <= set(criteria) else f" of {', '.join(criteria)}"
            yield f"no score{of}: {found.describe(lacking['n_all'][0])}: {reason}"


def _join_equal(by_criterion: Mapping[str, _Lack]) -> list[tuple[list[str], _Lack]]:
    """The criteria that the same items lack, together."""
    joined: list[tuple[list[str], _Lack]] = []
    for criterion, found in by_criterion.items():
        same = next((names for names, other in joined if other == found), None)
        if same is None:
            joined.append(([criterion], found))
        else:
            same.append(criterion)
    return joined


def _explain_case(
    case: Case, lacks: Sequence[str], start: Callable[[Case], Judge]
) -> Iterator[tuple[str, list[str]]]:
    """Each reason that the want of one thing alone gives, with the criteria that it is about."""
    known: set[str] = set()
    for lack in lacks or ("",):
        others = [thing for thing in _THINGS if thing != lack]
        verdicts = _conclude(start, _supply(case, others))
        reasons = [str(made.reason) for made in verdicts.values() if made.status in _UNASKED]
        for reason in sorted({*reasons} - known, key=len):
            # an overall score that is not there names the criterion's reason within its own
            if not any(shorter in reason for shorter in known):
                known.add(reason)
                yield reason, [of for of, made in verdicts.items() if reason in str(made.reason)]


def _supply(case: Case, things: Iterable[str]) -> Case:
    """The case with what it lacks of these."""
    if "references" in things and not case.references:
        case = replace(case, references=("reference",))
    if "rubric" in things and case.rubric is None:
        case = replace(case, rubric=Rubric("criterion", tuple("12345")))
    if "caption" in things and case.caption is None:
        case = replace(case, caption="caption")
    if "image" in things and not case.images:
        case = replace(case, images=(Image("image", _SHA256, ()),))
    if "file" in things:
        images = tuple(replace(image, sha256=image.sha256 or _SHA256) for image in case.images)
        case = replace(case, images=images)
    return case


def _conclude(start: Callable[[Case], Judge], case: Case) -> dict[str, Verdict]:
    """Criterion -> the verdict of a judge that gets the replies of the stand-in's rules; an error
    of the protocol is left to the real run, which reports it.
    """
    judge = start(case)
    try:
        requests = next(judge)
        while True:
            requests = judge.send([answer_by_rule(request) for request in requests])
    except StopIteration as end:
        verdicts: list[Verdict] = end.value or []
    except Exception:
        return {}
    every = case.criteria or (case.criterion,)
    return {
        criterion: verdict
        for verdict in verdicts
        for criterion in (every if verdict.criterion is None else (verdict.criterion,))
    }


def list_unscored(
    connection: duckdb.DuckDBPyConnection, pending: Sequence[PendingScores]
) -> list[str]:
    """The notes on items of which metrics give no score; `wanted_scores` is in the connection."""
    found: dict[bytes, pl.DataFrame] = {}
    about: dict[str, list[str]] = {}
    for metric in pending:
        key = metric.row_ids.tobytes()
        if key not in found:
            found[key] = _find_unscored(connection, metric)
        resolved = metric.settings.resolve()
        for lack, shown, n_items, n_all in found[key].iter_rows():
            is_of_image = lack in _NO_IMAGE
            if resolved.sees_image if is_of_image else resolved.reads_references:
                items = _Lack()
                items.add(lack, n_items, shown)
                reason = _NO_IMAGE[lack] if is_of_image else resolved.undefined
                about.setdefault(f"{items.describe(n_all)}: {reason}", []).append(
                    metric.settings.alias
                )
    return [f"no score of {', '.join(names)}: {what}" for what, names in about.items()]


def _find_unscored(connection: duckdb.DuckDBPyConnection, metric: PendingScores) -> pl.DataFrame:
    connection.register("chosen_rows", pa.table({"row_id": metric.row_ids}))
    found = select_file(connection, "queries/lacking_scores.sql", {"shown": _SHOWN})
    connection.unregister("chosen_rows")
    return found
