"""What a person sees of one benchmark, shaped from rows of the report views: headline lines,
drawings, counts, disagreements.

Pure: rows in, values out. Reading the lake and writing the page live in
`tasks.reports.page.render`, drawing in `tasks.reports.page.figures`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from judgelake.tasks.reports.page.chapter_figures import Drawing, Link, draw_chapters, link_statuses
from judgelake.tasks.reports.page.figures import (
    STATUS_COLOURS,
    Dot,
    draw_estimates,
    draw_statuses,
)
from judgelake.tasks.reports.page.trust import Record, Trust, weigh_judges

POOLED = "*"
PEOPLE = "human"
OVERALL = "overall"
_DUELS_SHOWN = 6
_SHOWN_BELOW = ("median", "majority", "mean_of_others")


@dataclass(frozen=True, slots=True)
class Agreement:
    """One correlation of a judge with people, pooled over models; `label` says what sets it apart
    from its neighbours.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """A line of the headline: a judge or metric, its mean for each model, its agreements with
    people.
    """

    name: str
    signature: str
    cells: tuple[Record | None, ...]
    agreements: tuple[Agreement, ...]


class Coverage(NamedTuple):
    """Counts of cases by (benchmark, judge), then by status; `statuses` are those that occur, in
    their usual order.
    """

    statuses: tuple[str, ...]
    counts: Mapping[tuple[str, str], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class RaterDuels:
    """How one rater places the models by pairs: rows of `rpt_rankings` by model, and of
    `rpt_agreement` with people.
    """

    rater: str
    criterion: str
    is_people: bool
    ratings: Mapping[str, Record]
    agreements: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkRows:
    """The rows of one benchmark as the views gave them."""

    name: str
    metrics: Sequence[Record]
    correlations: Sequence[Record]
    counts: Mapping[str, Mapping[str, int]]
    disagreements: Sequence[Record]
    n_rated: int
    ratings: Sequence[Record] = ()
    choices: Sequence[Record] = ()
    compared: Sequence[Record] = ()
    chosen: Sequence[Record] = ()
    costs: Sequence[Record] = ()
    figures: Mapping[str, Sequence[Record]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RankedModel:
    """A model with the places that the intervals of the means leave open, its mean's row of
    `rpt_metrics`, and people's mean of the same answers.
    """

    model: str | None
    first_place: int
    last_place: int
    cell: Record
    people: float | None


@dataclass(frozen=True, slots=True)
class BenchmarkPart:
    """All that the page says of one benchmark. `against` names what the agreements are with, ''
    where there are none.
    """

    name: str
    models: tuple[str, ...]
    lines: tuple[JudgeLine, ...]
    against: str
    n_rated: int
    drawings: tuple[Drawing, ...]
    judges: tuple[str, ...]
    disagreements: tuple[Record, ...]
    duels: tuple[RaterDuels, ...]
    n_more_duels: int
    rated_models: tuple[str, ...]
    trust: tuple[Trust, ...] = ()
    ranked_by: str = ""
    ranking: tuple[RankedModel, ...] = ()


def describe_benchmark(
    rows: BenchmarkRows,
    figure_prefix: str,
    link: Link,
    names: Mapping[str, str] | None = None,
    good_enough: float | None = None,
) -> BenchmarkPart:
    """Shape one benchmark for the page; `figure_prefix` keeps the identifiers of its figures apart
    from others', `link` finds the rows behind their marks, `names` are those of `name_metrics`.
    """
    names = names or {}
    trust = tuple(
        weigh_judges(rows.compared, rows.chosen, rows.counts, rows.costs, names, good_enough)
    )
    pooled = select_headline(rows.correlations)
    agreements = label_agreements(pooled, rows.metrics)
    models = sorted(
        {row["model"] for row in rows.metrics}, key=lambda model: (model == POOLED, model or "")
    )
    against = ", ".join(
        sorted({"people" if row["against"] == "human" else str(row["against"]) for row in pooled})
    )
    disagreements = tuple(_index_verdicts(row, rows.metrics) for row in rows.disagreements)
    duels = _list_duels(rows)
    first = duels[0].ratings if duels else {}
    rated = {model for duel in duels for model in duel.ratings}
    lines = tuple(_headline_lines(rows.metrics, models, agreements))
    ranked_by = _choose_ranker(trust, lines)
    known = {
        name: value for name, found in agreements.items() if (value := _best_value(found)) > -1
    }
    return BenchmarkPart(
        name=rows.name,
        models=tuple(models),
        lines=lines,
        against=against,
        n_rated=rows.n_rated,
        drawings=(
            *_draw_benchmark(rows, agreements, against, figure_prefix, link),
            *draw_chapters(rows.figures, known, names, figure_prefix, link),
        ),
        judges=tuple(sorted({judge for row in disagreements for judge in row["verdicts"]})),
        disagreements=disagreements,
        duels=tuple(duels[:_DUELS_SHOWN]),
        n_more_duels=max(0, len(duels) - _DUELS_SHOWN),
        rated_models=tuple(
            sorted(rated, key=lambda m: (first[m]["rank"] if m in first else math.inf, m))
        ),
        trust=trust,
        ranked_by=ranked_by,
        ranking=tuple(_rank_models(rows, ranked_by)),
    )


def _choose_ranker(trust: Iterable[Trust], lines: Sequence[JudgeLine]) -> str:
    """The judge closest to people of those that have means of the models, else the first line."""
    with_means = [line.name for line in lines if any(line.cells)]
    return next(
        (t.judge for t in trust if t.mark != "bad" and t.judge in with_means),
        with_means[0] if with_means else "",
    )


def _rank_models(rows: BenchmarkRows, ranked_by: str) -> list[RankedModel]:
    cells = [
        row
        for row in rows.metrics
        if row["metric"] == ranked_by
        and row["model"] != POOLED
        and keep_finite(row["mean"]) is not None
    ]
    people = {
        row["model"]: row["human_mean"]
        for row in rows.figures.get("people", ())
        if _shorten_judge(row["judge"], rows.metrics) == ranked_by
    }
    ranked = []
    for cell in sorted(cells, key=lambda row: (-row["mean"], row["model"] or "")):
        above = sum(_is_surely_above(other, cell) for other in cells)
        below = sum(_is_surely_above(cell, other) for other in cells)
        ranked.append(
            RankedModel(
                cell["model"], 1 + above, len(cells) - below, cell, people.get(cell["model"])
            )
        )
    return ranked


def _is_surely_above(row: Record, other: Record) -> bool:
    """Whether the interval of one mean lies above that of the other; never without intervals."""
    low, high = keep_finite(row["low"]), keep_finite(other["high"])
    return low is not None and high is not None and low > high


def _list_duels(rows: BenchmarkRows) -> list[RaterDuels]:
    """People first, then judges; the criterion is named where a rater has several, and of those
    `overall` comes first.
    """
    by_rater: dict[tuple[str, str], dict[str, Record]] = {}
    for row in rows.ratings:
        by_rater.setdefault((row["rater"], row["criterion"]), {})[row["model"]] = row
    several = {rater for rater, n in Counter(rater for rater, _ in by_rater).items() if n > 1}
    duels = [
        RaterDuels(
            rater,
            criterion if rater in several else "",
            rater == PEOPLE or rater.startswith(f"{PEOPLE}:"),
            ratings,
            tuple(
                row
                for row in rows.choices
                if row["judge"] == rater and row["criterion"] == criterion
            ),
        )
        for (rater, criterion), ratings in by_rater.items()
    ]
    return sorted(
        duels,
        key=lambda d: (not d.is_people, d.criterion not in ("", OVERALL), d.rater, d.criterion),
    )


def name_metrics(metrics: Iterable[Record]) -> dict[str, str]:
    """The short name of each metric by the name that views have for it (`metric:<signature>`);
    metrics of one short name are named with the parts of their signatures that differ.
    """
    signatures: dict[str, set[str]] = {}
    for row in metrics:
        if row["signature"]:
            signatures.setdefault(row["metric"], set()).add(
                f"metric:{row['signature'].removeprefix('metric:')}"
            )
    names: dict[str, str] = {}
    for name, found in signatures.items():
        shared = set.intersection(*(set(signature.split("|")) for signature in found))
        for signature in found:
            own = ", ".join(part for part in signature.split("|") if part not in shared)
            names[signature] = f"{name} ({own})" if own else name
    return names


def select_headline(correlations: Iterable[Record]) -> list[Record]:
    """Pooled Spearman rows, with people where there are any, on matching criteria where a judge has
    them.
    """
    pooled = [
        row for row in correlations if row["model"] == POOLED and row["coefficient"] == "spearman"
    ]
    pooled = [row for row in pooled if row["against"] == "human"] or pooled
    pooled = [
        row
        for row in pooled
        if row["sample_rule"] == "mean" and row["human_rule"] not in _SHOWN_BELOW
    ]
    matched = {row["judge"] for row in pooled if row["judge_criterion"] == row["human_criterion"]}
    return [
        row
        for row in pooled
        if row["judge"] not in matched or row["judge_criterion"] == row["human_criterion"]
    ]


def label_agreements(
    pooled: Sequence[Record], metrics: Sequence[Record]
) -> dict[str, list[Agreement]]:
    """Agreements by judge; a label names only the fields that differ between the rows of this
    benchmark.
    """
    fields = ("judge_criterion", "human_criterion", "human_rule", "sample_rule", "against")
    differing = [field for field in fields if len({row[field] for row in pooled}) > 1]
    agreements: dict[str, list[Agreement]] = {}
    for row in pooled:
        label = ", ".join(
            dict.fromkeys(str(row[field]) for field in differing if row[field] is not None)
        )
        value, low, high = (keep_finite(row[field]) for field in ("value", "low", "high"))
        agreements.setdefault(_shorten_judge(row["judge"], metrics), []).append(
            Agreement(label, value, low, high, row["n"], row.get("reason"))
        )
    return agreements


def pivot_coverage(rows: Iterable[Record]) -> Coverage:
    """Counts by benchmark, judge and status; a status without cases is left out."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        by_status = counts.setdefault((row["benchmark"], row["judge"]), {})
        if row["n"]:
            by_status[row["status"]] = by_status.get(row["status"], 0) + row["n"]
    seen = {status for by_status in counts.values() for status in by_status}
    known = [status for status in STATUS_COLOURS if status in seen]
    return Coverage((*known, *sorted(seen.difference(known))), counts)


def keep_finite(value: float | None) -> float | None:
    """The number, or None where it is missing or not finite."""
    return None if value is None or not math.isfinite(value) else value


def _headline_lines(
    metrics: Sequence[Record], models: Sequence[str], agreements: Mapping[str, Sequence[Agreement]]
) -> list[JudgeLine]:
    """Lines by falling agreement, then by name; a judge that has only one of means and agreements
    has its line too.
    """
    cells: dict[tuple[str, str], dict[str, Record]] = {}
    for row in metrics:
        cells.setdefault((row["metric"], row["signature"] or ""), {})[row["model"]] = row
    named = {name for name, _ in cells}
    keys = [*cells, *((judge, "") for judge in agreements if judge not in named)]
    lines = [
        JudgeLine(
            key[0],
            key[1],
            tuple(cells.get(key, {}).get(model) for model in models),
            tuple(agreements.get(key[0], ())),
        )
        for key in keys
    ]
    return sorted(
        lines, key=lambda line: (-_best_value(line.agreements), line.name, line.signature)
    )


def _best_value(agreements: Iterable[Agreement]) -> float:
    return max((a.value for a in agreements if a.value is not None), default=-math.inf)


def _shorten_judge(judge: str, metrics: Iterable[Record]) -> str:
    """`metric:<signature>` as the metric's short name, where `metrics` has it; an alias is
    unchanged.
    """
    if not judge.startswith("metric:"):
        return judge
    signature = judge.removeprefix("metric:")
    return next(
        (row["metric"] for row in metrics if row["signature"] in (signature, judge)), signature
    )


def _draw_benchmark(
    rows: BenchmarkRows,
    agreements: Mapping[str, Sequence[Agreement]],
    against: str,
    prefix: str,
    link: Link,
) -> Iterable[Drawing]:
    models_only = [row for row in rows.metrics if row["model"] != POOLED] or rows.metrics
    means = [mean for row in models_only if (mean := _mean_estimate(row, link)) is not None]
    if means:
        svg = draw_estimates(means, "mean score × 100", f"{prefix}-means")
        yield Drawing(
            "models", "Mean score of each model by judge and metric, with its interval.", svg
        )
    ranked = sorted(agreements, key=lambda judge: (-_best_value(agreements[judge]), judge))
    if dots := [
        Dot(
            judge,
            a.label,
            a.value,
            a.low,
            a.high,
            link(judge) or None,
        )
        for judge in ranked
        for a in agreements[judge]
        if a.value is not None
    ]:
        svg = draw_estimates(dots, "Spearman correlation", f"{prefix}-agreement", span=(0.0, 1.0))
        yield Drawing(
            "people",
            f"Spearman correlation with {against} over all models, with its interval.",
            svg,
        )
    counts = {_shorten_judge(judge, rows.metrics): n for judge, n in rows.counts.items()}
    if incomplete := {judge: n for judge, n in counts.items() if set(n) - {"ok"}}:
        yield Drawing(
            "complete",
            "How each judge's cases ended, where not all ended with a score.",
            draw_statuses(incomplete, f"{prefix}-status", link_statuses(incomplete, link)),
        )


def _mean_estimate(row: Record, link: Link) -> Dot | None:
    mean, low, high = (
        None if (x := keep_finite(row[field])) is None else 100 * x
        for field in ("mean", "low", "high")
    )
    model = "all models" if row["model"] == POOLED else row["model"] or "model not named"
    if mean is None:
        return None
    return Dot(model, row["metric"], mean, low, high, link(row["metric"], row["model"]) or None)


def _index_verdicts(row: Record, metrics: Sequence[Record]) -> Record:
    """A disagreement with its verdicts by judge and its references counted."""
    verdicts = {_shorten_judge(verdict["judge"], metrics): verdict for verdict in row["verdicts"]}
    return {
        **row,
        "verdicts": verdicts,
        "references": tuple(Counter(row["references"] or ()).items()),
    }


Kind = Literal["key", "count", "number", "percent", "code"]
# rows of a table on the page; the rest is left to SQL
ROWS_SHOWN = 400


@dataclass(frozen=True)
class PageColumn:
    """One column: a field of the view, its heading, and how it is shown. `interval` names the
    fields of its interval's ends, `reason` that which says why there is none.
    """

    field: str
    heading: str
    kind: Kind = "key"
    interval: tuple[str, str] | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Section:
    """One table of the page; `where` keeps some rows of the view. Without any it is left out.

    `benchmarks`: the list of those that a row of the view is about.
    """

    name: str
    title: str
    view: str
    caption: str
    columns: tuple[PageColumn, ...]
    where: str = "true"
    benchmarks: str = "[benchmark]"

    @property
    def query(self) -> str:
        """The rows of the chosen benchmarks, one more than are shown."""
        chosen = (
            f"($benchmarks::varchar[] is null or list_has_any($benchmarks::varchar[], "
            f"{self.benchmarks}))"
        )
        fields = ", ".join(
            dict.fromkeys(
                field
                for column in self.columns
                for field in (column.field, *(column.interval or ()), *_list_reason(column))
            )
        )
        keys = ", ".join(column.field for column in self.columns if column.kind == "key")
        return (
            f"select {fields} from {self.view} where {chosen} and {self.where} order by "
            f"{keys} limit {ROWS_SHOWN + 1}"
        )


def _list_reason(column: PageColumn) -> tuple[str, ...]:
    return () if column.reason is None else (column.reason,)
