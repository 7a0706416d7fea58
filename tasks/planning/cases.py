"""What is left to judge: cases wanted minus verdicts present, as shard files.

Asking is `tasks.engine.shard`; what metrics have left is `tasks.planning.scores`.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import duckdb
import polars as pl

from judgelake.tasks.backends.endpoint import ONE_EACH, Slot
from judgelake.tasks.engine.shard import TRIAL_PROGRESS
from judgelake.tasks.engine.shares import mark_open
from judgelake.tasks.lake.lake import Lake, append_records, append_rows
from judgelake.tasks.lake.leases import SteadyClock
from judgelake.tasks.lake.parquet import write_frame
from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.lake.storage import LakePath, read_file, remove_file, write_whole
from judgelake.tasks.planning.collection import keep_images
from judgelake.tasks.planning.juries import keep_votes
from judgelake.tasks.planning.matchups import draw_matchups
from judgelake.tasks.planning.scores import find_pending, name_ingests
from judgelake.tasks.planning.trials import is_paused, size_trial
from judgelake.tasks.suite.suite import Scope, Suite, identify_all
from judgelake.tasks.types import COLLECTED, Identity, Unit, Wants
from judgelake.tasks.warehouse.warehouse import (
    keep_result,
    open_warehouse,
    run_sql,
    select_file,
    select_frame,
)

_QUERIES: dict[Unit, str] = {
    "answer": "wanted_answers",
    "pair": "wanted_pairs",
    "item": "wanted_items",
    "image": "wanted_images",
    "feedback": "wanted_feedbacks",
    "rubrics": "wanted_rubrics",
    "instructions": "wanted_instructions",
    "responses": "wanted_responses",
    "augmentation": "wanted_augmentations",
}
_PAIR = ("benchmark", "item_id", "answer_a", "answer_b")


def keep_wanted(
    connection: duckdb.DuckDBPyConnection,
    identity: Identity,
    suite: str,
    benchmarks: list[str],
    item_limit: int | None,
) -> pl.DataFrame:
    """Leave `wanted_cases` in the connection; returns the matchups that were drawn for it, which
    the lake does not hold yet.
    """
    wants = identity.wants
    place = {
        "suite": suite,
        "benchmarks": benchmarks,
        "item_limit": item_limit,
        "judge_id": identity.judge_id,
    }
    parameters = list_parameters(wants) | place
    keep_result(connection, "queries/wanted_contexts.sql", "wanted_contexts", parameters)
    if wants.seats:
        keep_votes(connection, wants, parameters)
        return _no_matchups()
    drawn = (
        _keep_matchups(connection, wants, parameters) if wants.unit == "pair" else _no_matchups()
    )
    if wants.unit in COLLECTED:
        keep_images(connection, wants)
    keep_result(connection, f"queries/{_QUERIES[wants.unit]}.sql", "wanted_cases", parameters)
    if wants.failures:
        keep_result(connection, "queries/wanted_failures.sql", "wanted_cases", {})
    return drawn


def list_parameters(wants: Wants) -> dict[str, object]:
    """What the queries of cases take of a judge's wants."""
    return {
        "tasks": [*wants.tasks],
        "captioner": wants.captioner,
        "image": "true" if wants.image is True else wants.image,
        "seed": str(wants.seed),
        "regions": wants.regions,
        "rubrics": wants.rubrics,
        "criteria": [[*group] for group in wants.criteria],
        "samples": wants.samples,
        "styles": [*wants.styles],
        "matchups": str(wants.matchups),
        "both_orders": wants.both_orders,
        "feedback_of": [*wants.feedback_of],
        "built_on": wants.built_on[0],
        "built_on_reading": wants.built_on[1],
    }


def name_plan(wants: Wants) -> str:
    """The name under which drawn matchups are kept: judges with the same number, seed and styles
    compare the same pairs.
    """
    styles = f"-{'+'.join(sorted(wants.styles))}" if wants.styles else ""
    return f"{wants.matchups}-of-an-item-seed-{wants.seed}{styles}"


def _keep_matchups(
    connection: duckdb.DuckDBPyConnection, wants: Wants, parameters: dict[str, object]
) -> pl.DataFrame:
    """Leave `wanted_matchups` in the connection; returns the new ones."""
    new = _no_matchups()
    if wants.matchups == "human":
        pairs = select_file(
            connection, "queries/human_matchups.sql", _used(parameters, "benchmarks")
        )
    elif wants.matchups == "reference":
        pairs = new
    else:
        pairs = select_file(
            connection, "queries/all_matchups.sql", _used(parameters, "benchmarks", "styles")
        )
        if isinstance(wants.matchups, int):
            text = (
                "select benchmark, item_id, answer_a, answer_b from stg_matchups where plan = $plan"
            )
            held = select_frame(connection, text, "drawn matchups", {"plan": name_plan(wants)})
            held = held.join(pairs, on=_PAIR, how="semi")
            new = _draw(pairs, held, wants).with_columns(plan=pl.lit(name_plan(wants)))
            pairs = pl.concat([held.select(_PAIR), new.select(_PAIR)])
    connection.register("given_matchups", pairs.select(_PAIR).to_arrow())
    connection.execute(
        "create or replace temp table wanted_matchups as select * from given_matchups"
    )
    connection.unregister("given_matchups")
    return new


def _draw(pairs: pl.DataFrame, held: pl.DataFrame, wants: Wants) -> pl.DataFrame:
    rows: list[tuple[str, str, str, str]] = []
    held_of = {str(key[0]): part for key, part in held.group_by("benchmark")}
    for key, part in pairs.sort(_PAIR).group_by("benchmark", maintain_order=True):
        benchmark = str(key[0])
        models = dict(zip(part["answer_a"], part["model_a"], strict=True)) | dict(
            zip(part["answer_b"], part["model_b"], strict=True)
        )
        before = held_of.get(benchmark, held.clear())
        drawn = draw_matchups(
            _by_item(part), _by_item(before), models, int(wants.matchups), wants.seed
        )
        rows += [(benchmark, item, a, b) for item, chosen in drawn.items() for a, b in chosen]
    return pl.DataFrame(rows, schema=dict.fromkeys(_PAIR, pl.String), orient="row")


def _by_item(pairs: pl.DataFrame) -> dict[str, list[tuple[str, str]]]:
    by_item: dict[str, list[tuple[str, str]]] = {}
    for item, a, b in pairs.select("item_id", "answer_a", "answer_b").iter_rows():
        by_item.setdefault(item, []).append((a, b))
    return by_item


def _used(parameters: dict[str, object], *names: str) -> dict[str, object]:
    return {name: parameters[name] for name in names}


def _no_matchups() -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys((*_PAIR, "plan"), pl.String))


RETRIED = ("failed", "missing_image")
"""Statuses that the next run asks again even without `--retry`."""
_ASKED = ("prompt", "answer", "other_answer", "caption", "images")
CASES_PER_SHARD, LEAST_CASES_PER_SHARD = 25_000, 500
"""The most cases of a shard, and the fewest that are worth a task of their own."""
_SHARDS_A_GPU = 4
"""A model stays loaded from shard to shard, so that further ones cost next to nothing."""


@dataclass(frozen=True)
class Work:
    """What one judge or metric has left: `shards` are files that hold the `n_pending` cases;
    empty before they are written. The judge's next `n_trial` replies show whether it can be read,
    and all others wait for that; 0 where it needs no trial. `n_paused` cases are left of a judge
    that is paused; none of them is pending.

    `matchups` are pairs drawn for it that the lake does not hold yet.
    """

    identity: Identity
    n_wanted: int
    n_pending: int
    shards: tuple[LakePath, ...] = ()
    n_trial: int = 0
    n_paused: int = 0
    matchups: pl.DataFrame | None = None

    @property
    def is_paused(self) -> bool:
        """Whether cases are left of which none is asked."""
        return self.n_paused > 0


def find_work(
    lake: Lake | Snapshot,
    suite: Suite,
    scope: Scope,
    retry: tuple[str, ...] = (),
) -> list[Work]:
    """Count what each judge and metric of `suite` (already narrowed) has left, and write
    nothing.
    """
    connection = open_warehouse(lake, lazy=True)
    scores = [
        Work(metric.identity, metric.n_wanted, len(metric.row_ids))
        for metric in find_pending(connection, suite, scope)
    ]
    return scores + [
        count_work(connection, identity, suite, scope, retry)
        for identity in _identify_judges(suite)
    ]


def write_work(
    lake: Lake,
    suite: Suite,
    scope: Scope,
    run_id: str,
    retry: tuple[str, ...] = (),
    slots: Mapping[Slot, int] = ONE_EACH,
) -> list[Work]:
    """Record the cases that judges want in this run and write what is left of them as shard files
    of about equal cost.

    `slots`: how many shards of each kind can be judged at once; a judge with enough cases gets a
    shard for each of its own kind, of several GPUs some for each, so that the quicker take more.
    """
    connection = open_warehouse(lake, lazy=True)
    works = [
        _write(connection, lake, identity, suite, scope, run_id, retry, slots)
        for identity in _identify_judges(suite)
    ]
    pending = {work.identity.alias: work.n_pending for work in works}
    file = plan_file(lake, run_id)
    before = json.loads(read_file(file) or b"{}")  # of the run's earlier stages
    write_whole(file, json.dumps(before | pending).encode())
    return works


def plan_file(lake: Lake, run_id: str) -> LakePath:
    """JSON of a run: judge alias -> cases it has to judge, for the progress line."""
    return lake.work_folder(run_id) / "plan.json"


def register_judges(lake: Lake, suite: Suite) -> bool:
    """Make the suite's judges and metrics its current ones in the lake; True where that changed
    something.
    """
    connection = open_warehouse(lake, lazy=True)
    text = (
        "select alias, judge_id, reading, benchmarks, tasks from stg_judges where suite = "
        "$suite order by alias, judge_id"
    )
    held = run_sql(connection, text, "current judges", {"suite": suite.name}).fetchall()
    wanted = sorted(
        identify_all(suite, name_ingests(connection)),
        key=lambda identity: (identity.alias, identity.judge_id),
    )
    if held == [
        (
            identity.alias,
            identity.judge_id,
            identity.reading,
            [*identity.benchmarks],
            [*identity.tasks],
        )
        for identity in wanted
    ]:
        return False
    latest = select_frame(
        connection,
        "select max(registered_at) as at from raw_judges where suite = $suite",
        "last",
        {"suite": suite.name},
    )
    now = SteadyClock(
        latest.item()
    ).now()  # those registered last are current, also after a clock was set back
    append_records(
        lake,
        "judges",
        [
            {
                "judge_id": identity.judge_id,
                "reading": identity.reading,
                "kind": identity.kind,
                "alias": identity.alias,
                "suite": suite.name,
                "call_signature": identity.call_signature,
                "reading_signature": identity.reading_signature,
                "tasks": [*identity.tasks],
                "benchmarks": [*identity.benchmarks],
                "registered_at": now,
            }
            for identity in wanted
        ],
    )
    return True


def _identify_judges(suite: Suite) -> list[Identity]:
    return [identity for identity in identify_all(suite) if identity.kind != "metric"]


def count_work(
    connection: duckdb.DuckDBPyConnection,
    identity: Identity,
    suite: Suite,
    scope: Scope,
    retry: tuple[str, ...],
) -> Work:
    """Leave the tables `wanted_cases` and `pending` of one judge in the connection, and count them.
    Of a paused judge nothing is pending.
    """
    benchmarks = [name for name in identity.benchmarks if name in suite.benchmarks]
    matchups = keep_wanted(connection, identity, suite.name, benchmarks, scope.limit)
    keep_result(
        connection,
        "queries/pending_cases.sql",
        "pending",
        {
            "judge_id": identity.judge_id,
            "reading": identity.reading,
            "retry": [*RETRIED, *retry],
            "insist": "failed" in retry,
            "run_id": None,
        },
    )
    text = (
        "select (select count(*) from wanted_cases) as n_wanted, (select count(*) from "
        "pending) as n_pending"
    )
    n_wanted, n_pending = select_frame(connection, text, "counts").row(0)
    judge = suite.judges[identity.alias]
    n_paused = n_pending if n_pending and is_paused(connection, judge, identity, retry) else 0
    if n_paused:
        connection.execute("delete from pending")
    return Work(identity, n_wanted, n_pending - n_paused, n_paused=n_paused, matchups=matchups)


def _write(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    identity: Identity,
    suite: Suite,
    scope: Scope,
    run_id: str,
    retry: tuple[str, ...],
    slots: Mapping[Slot, int],
) -> Work:
    work = count_work(connection, identity, suite, scope, retry)
    _record_cases(connection, lake, work, run_id)
    frame = select_frame(connection, "select * from pending", "pending")
    judge = suite.judges[identity.alias]
    n_trial = size_trial(connection, judge, identity, frame)
    n_shards = slots[judge.slot]
    if judge.slot == "GPU" and n_shards > 1:
        n_shards *= _SHARDS_A_GPU
    cuts = _cut(frame, size_shards(frame.height, n_shards))
    shards = tuple(_write_shards(lake.work_folder(run_id) / identity.alias, frame, cuts))
    if slots["ENDPOINT"] > 1:
        for shard in shards:
            mark_open(shard)
    return replace(work, shards=shards, n_trial=n_trial, matchups=None)


def _record_cases(
    connection: duckdb.DuckDBPyConnection, lake: Lake, work: Work, run_id: str
) -> None:
    """Keep the matchups that were drawn, then the cases that rest on them."""
    now, run = pl.lit(datetime.now(UTC)), pl.lit(run_id)
    if work.matchups is not None:
        append_rows(lake, "matchups", work.matchups.with_columns(run_id=run, drawn_at=now))
    if work.identity.wants.unit == "instructions":
        screened = select_frame(connection, "select * from newly_screened", "screened rubrics")
        append_rows(lake, "screened_rubrics", screened.with_columns(run_id=run, screened_at=now))
    judge_id = work.identity.judge_id
    new = select_file(connection, "queries/new_cases.sql", {"judge_id": judge_id})
    append_rows(
        lake, "cases", new.with_columns(judge_id=pl.lit(judge_id), run_id=run, planned_at=now)
    )


def size_shards(n_cases: int, n_shards: int) -> int:
    """Cases a shard, for so many shards where there are cases enough to be worth a task each."""
    return min(CASES_PER_SHARD, max(LEAST_CASES_PER_SHARD, -(-n_cases // n_shards)))


def _write_shards(place: LakePath, frame: pl.DataFrame, cuts: list[int]) -> Iterator[LakePath]:
    """The slices between `cuts`, in files whose names begin with that of `place`."""
    for number, (start, end) in enumerate(itertools.pairwise(cuts)):
        path = place.with_name(f"{place.name}-{number:04d}.parquet")
        write_frame(path, frame.slice(start, end - start))
        remove_file(path.with_suffix(TRIAL_PROGRESS))  # of an earlier round of the run
        yield path


def _cut(frame: pl.DataFrame, rows: int) -> list[int]:
    """Where slices begin, and the end; rows that make equal requests lie side by side and stay
    together, so each is asked once.
    """
    groups = _number_groups(frame)
    shards = -(-frame.height // rows)
    cuts = {
        int(groups.search_sorted(groups[frame.height * number // shards]))
        for number in range(shards)
    }
    return sorted({*cuts, frame.height})


def _number_groups(frame: pl.DataFrame) -> pl.Series:
    """From 0 the number of each row's group: rows that make equal requests lie side by side."""
    asked = pl.struct(
        *(name for name in _ASKED if name in frame.columns), pl.col("references").list.sort()
    )
    return frame.select(asked.rle_id()).to_series()
