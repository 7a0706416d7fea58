"""Rows of the table `paired_changes`: the figures of a report less those of an earlier one, tested
on the answers that were scored both times.

What was scored then is read from the lake as it was: verdicts are never written over. Where that
does not give the earlier figure (its answers were replaced since), there is no paired test, and the
view `changes` compares intervals. Ratings and kappas of choices are compared so too.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import duckdb
import numpy as np
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.reports.scored_rows import ALL, HUMAN
from judgelake.tasks.stats.bootstrap import Resampled, correlate_rows, resample_correlations
from judgelake.tasks.stats.estimates import estimate_mean
from judgelake.tasks.stats.judge_comparison import correct_pairs, find_reason
from judgelake.tasks.stats.resampling import draw_keyed_weights, key_clusters
from judgelake.tasks.suite.suite import ReportSettings, Suite
from judgelake.tasks.warehouse.warehouse import run_sql, select_file, select_frame

_COEFFICIENT = "spearman"
_SAME = 1e-6
"""The earlier figure, computed again, may differ by this much: it was kept with all digits."""
_GONE = "the answers or ratings of then are not in the lake any more"
_ANSWER = ["item_id", "answer_id"]
_DIFFERENT = """
select figure, benchmark, judge, model, criterion, base_value
from changes
where suite = $suite and base_reported_at = $base and difference <> 0
    and figure in ('agreement', 'mean') and criterion not like 'choices, %'
order by all
"""
_SCORED = """
create temp table core_scores as
select benchmark, judge, alias, criterion, item_id, answer_id, model, cluster, status, score_0_1
from core_scores
where status = 'ok' and list_contains($benchmarks::varchar[], benchmark)
"""
_TARGETS = "select * from core_human where benchmark = $benchmark and score_0_1 is not null"

Row = Mapping[str, Any]


class _Paired(NamedTuple):
    """A difference on `n` answers, with its 95 % interval or the reason why there is none."""

    n: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def is_paired(connection: duckdb.DuckDBPyConnection, base: datetime, reported_at: datetime) -> bool:
    """Whether the figures of these two reports have been compared already."""
    text = "from stg_paired_changes where base_reported_at = $base and reported_at = $at limit 1"
    asked = {"base": base, "at": reported_at}
    return not select_frame(connection, text, "stg_paired_changes", asked).is_empty()


def pair_changes(
    now: duckdb.DuckDBPyConnection,
    then: duckdb.DuckDBPyConnection,
    suite: Suite,
    base: datetime,
    reported_at: datetime,
) -> pl.DataFrame:
    """One row per correlation or mean that is not what the report of `base` said.

    `now` and `then` are connections to the suite's scores, `then` as they were at `base`
    (`tasks.warehouse.warehouse.go_back`).
    """
    figures = select_frame(now, _DIFFERENT, "changes", {"suite": suite.name, "base": base})
    if not figures.is_empty():  # views over all that was written: computed once
        run_sql(
            then, _SCORED, "core_scores", {"benchmarks": figures["benchmark"].unique().to_list()}
        )
    stamp = {"suite": suite.name, "base_reported_at": base, "reported_at": reported_at}
    rows = [
        {**stamp, **figure, **paired._asdict()}
        for (benchmark,), of_benchmark in figures.group_by("benchmark", maintain_order=True)
        for figure, paired in _pair_benchmark(now, then, str(benchmark), of_benchmark, suite.report)
    ]
    return pl.DataFrame(rows, schema=TABLES["paired_changes"].polars_schema)


def _pair_benchmark(
    now: duckdb.DuckDBPyConnection,
    then: duckdb.DuckDBPyConnection,
    benchmark: str,
    figures: pl.DataFrame,
    report: ReportSettings,
) -> Iterator[tuple[Row, _Paired]]:
    targets = select_frame(now, _TARGETS, "core_human", {"benchmark": benchmark})
    of_judge: dict[str, list[Row]] = {}
    for figure in figures.to_dicts():
        of_judge.setdefault(_name_scorer(figure), []).append(figure)
    for judge, rows in of_judge.items():
        answers = _read_both(now, then, benchmark, judge)
        for row in rows:
            if row["figure"] == "mean":
                yield row, _pair_means(answers, row)
            elif report.against == HUMAN:
                yield row, _pair_correlations(answers, targets, row, report)


def _name_scorer(figure: Row) -> str:
    """A metric's mean is named by its alias and signature, every other figure by its judge."""
    is_metric = figure["figure"] == "mean" and figure["criterion"] != ALL
    return f"metric:{figure['criterion']}" if is_metric else str(figure["judge"])


def _read_both(
    now: duckdb.DuckDBPyConnection, then: duckdb.DuckDBPyConnection, benchmark: str, judge: str
) -> pl.DataFrame:
    """One row per criterion × answer that was scored now or then, with sums and numbers of scores
    (`total`, `n`; `total_then`, `n_then`), null where it was not.
    """
    asked = {"benchmark": benchmark, "judge": judge}
    newer, older = (select_file(side, "queries/scored_answers.sql", asked) for side in (now, then))
    return newer.join(
        older, on=["criterion", *_ANSWER], how="full", suffix="_then", coalesce=True
    ).with_columns(
        pl.coalesce("model", "model_then").alias("model"),
        pl.coalesce("cluster", "cluster_then").alias("cluster"),
    )


def _pair_means(answers: pl.DataFrame, figure: Row) -> _Paired:
    """The mean of the differences, whose interval is that of a mean (`estimate_mean`)."""
    chosen = answers if figure["model"] == ALL else answers.filter(model=figure["model"])
    by_answer = chosen.group_by(_ANSWER, maintain_order=True).agg(
        pl.col("cluster").first(),
        (pl.col("total").sum() / pl.col("n").sum()).alias("score"),
        (pl.col("total_then").sum() / pl.col("n_then").sum()).alias("former"),
    )
    former = by_answer["former"].drop_nans()
    both = by_answer.filter(pl.col("score").is_not_nan() & pl.col("former").is_not_nan())
    if not _is_same(figure["base_value"], former.mean()):
        return _Paired(both.height, reason=_GONE)
    differences = (both["score"] - both["former"]).to_numpy()
    clusters = (both["cluster"].rank("dense") - 1).to_numpy().astype(np.int64)
    mean = estimate_mean(differences, clusters, "number")
    return _describe(both.height, mean.value, mean.low, mean.high, mean.reason)


def _pair_correlations(
    answers: pl.DataFrame, targets: pl.DataFrame, figure: Row, report: ReportSettings
) -> _Paired:
    """The difference of two coefficients on the same resamples of clusters."""
    rows = _hold_to_people(answers, targets, figure["criterion"])
    then = rows.drop_nulls("former")
    both = then.drop_nulls("score")
    before = correlate_rows(then["former"].to_numpy(), then["target"].to_numpy())[_COEFFICIENT]
    if not _is_same(figure["base_value"], before):
        return _Paired(both.height, reason=_GONE)
    names = both["cluster"].unique().sort()
    keys = key_clusters(f"{figure['benchmark']}/{name}" for name in names)
    weights = draw_keyed_weights(keys, report.resamples, report.seed)
    clusters = (both["cluster"].rank("dense") - 1).to_numpy().astype(np.int64)
    target = both["target"].to_numpy()
    newer, older = (
        resample_correlations(both[side].to_numpy(), target, clusters, weights)[_COEFFICIENT]
        for side in ("score", "former")
    )
    difference = Resampled(
        newer.value - older.value, newer.drawn - older.drawn, newer.n, newer.n_clusters
    )
    found = correct_pairs([difference], [find_reason(newer, older)])
    ends = float(found.low[0]), float(found.high[0])
    return _describe(both.height, difference.value, *ends, found.reasons[0])


def _hold_to_people(answers: pl.DataFrame, targets: pl.DataFrame, criterion: str) -> pl.DataFrame:
    """The answers' scores on the judge's criterion and their target, of the pair of criteria and
    the rule that the figure names.
    """
    held = answers.rename({"criterion": "judge_criterion"}).join(
        targets.rename({"criterion": "human_criterion", "score_0_1": "target"}),
        on=_ANSWER,
        maintain_order="left",
    )
    named = pl.format("{} with {}, {}", "judge_criterion", "human_criterion", "human_rule")
    return held.filter(named == criterion).select(
        "cluster",
        "target",
        (pl.col("total") / pl.col("n")).alias("score"),
        (pl.col("total_then") / pl.col("n_then")).alias("former"),
    )


def _is_same(kept: float | None, computed: object) -> bool:
    return kept is not None and isinstance(computed, int | float) and abs(kept - computed) <= _SAME


def _describe(n: int, value: float, low: float, high: float, reason: str | None) -> _Paired:
    if np.isnan(value):
        return _Paired(n, reason="undefined on the answers that were scored both times")
    if np.isnan(low) or np.isnan(high):
        return _Paired(n, float(value), reason=reason)
    return _Paired(n, float(value), float(low), float(high))
