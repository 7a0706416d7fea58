"""What raters labelled as a table of raters by units, and its parts: each criterion and all
together, and of these each task, category and style alone. Comparing raters is `kappas`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from judgelake.tasks.reports.scored_rows import ALL, MOST_PARTS, PARTS, WHOLE
from judgelake.tasks.stats.agreement import spread_labels
from judgelake.tasks.stats.cluster_sums import Floats, Indices
from judgelake.tasks.stats.comparisons import Preference
from judgelake.tasks.stats.human_rules import take_majority, take_mean

MAJORITY_OF_PEOPLE, MEAN_OF_PEOPLE = "human:* (majority)", "human:* (mean)"
HUMAN = "human:"
Names = NDArray[np.str_]
Scale = tuple[int, str]
"""A benchmark's number and a criterion: what raters use one scale for."""
Spans = dict[Scale, dict[str, float | None]]
"""The span of each rater's scale, None where it is not known."""
MIXED = -1.0
"""Stands for the span of people who use several scales: that of no rater."""
NAMES = ("kind", "criterion", "rater", *PARTS, "model_a", "model_b")
"""The columns of texts in `queries/rater_labels.sql`."""
_UNIT = ("benchmark_code", "criterion", *PARTS, "model_a", "model_b", "cluster_code")


class RaterLabels(NamedTuple):
    """`labels` are (raters, units), NaN where a rater has none; `people` are the labels of all
    annotators as one rater, by the rater's name; `units` says what each unit is.
    """

    raters: Names
    labels: Floats
    people: Mapping[str, Floats]
    units: pl.DataFrame
    spans: Spans

    def select(self, places: Indices) -> "RaterLabels":
        """The units at these places. People are one rater only where there are several."""
        units = self.units[places]
        spans = {scale: self.spans[scale] for scale in _list_scales(units)}
        annotators = {name for held in spans.values() for name in held if name.startswith(HUMAN)}
        people = {name: given[places] for name, given in self.people.items()}
        several = len(annotators - {MAJORITY_OF_PEOPLE, MEAN_OF_PEOPLE}) > 1
        return RaterLabels(
            self.raters, self.labels[:, places], people if several else {}, units, spans
        )

    def explain_unlike(self, rater: str, other: str) -> str | None:
        """Why two raters have no label in common, None where they do."""
        reasons = (
            explain_spans([held.get(rater), held.get(other)]) for held in self.spans.values()
        )
        return next(filter(None, reasons), None)


def explain_spans(spans: Iterable[float | None]) -> str | None:
    """Why raters of these spans have no label in common, None where they do."""
    known = sorted({span for span in spans if span is not None})
    if len(known) < 2:
        return None
    given = " and ".join("several" if span == MIXED else f"{span:g}" for span in known)
    return f"scales of unlike spans, {given}: no label in common, so no kappa of labels"


def list_parts(frame: pl.DataFrame) -> Iterator[tuple[dict[str, str], Indices]]:
    """Names and places of the rows of each part of one kind: each criterion and, where there are
    several, all; of each of them all rows and, where it has several, up to 100, each task, category
    and style.

    Rows of several benchmarks have no part that is of one benchmark alone.
    """
    of_several = frame["benchmark_code"].n_unique() > 1
    criteria = _group_places(frame["criterion"])
    if len(criteria) > 1:
        criteria[ALL] = np.arange(frame.height)
    for criterion, places in criteria.items():
        part = frame[places]
        if of_several and part["benchmark_code"].n_unique() == 1:
            continue
        names = {"criterion": criterion, **WHOLE}
        yield names, places
        for cut in PARTS:
            if 1 < part[cut].n_unique() <= MOST_PARTS:
                for value, within in _group_places(part[cut]).items():
                    yield {**names, cut: value}, places[within]


def _group_places(values: pl.Series) -> dict[str, Indices]:
    """The places of each value, the first to stand first; null is none."""
    grouped = (
        pl.DataFrame({"value": values, "place": np.arange(len(values))})
        .filter(pl.col("value").is_not_null())
        .group_by("value", maintain_order=True)
        .agg("place")
    )
    return {str(value): np.array(places) for value, places in grouped.iter_rows()}


def number_units(rows: pl.DataFrame) -> Indices:
    """One number for each unit of each kind, criterion and benchmark."""
    code: Indices = rows["benchmark_code"].to_numpy().astype(np.int64)
    for name in ("scale_code", "unit_code"):
        values = rows[name].to_numpy()
        code = code * (int(values.max(initial=0)) + 1) + values
    return code


def spread_raters(rows: pl.DataFrame, *, is_choice: bool) -> RaterLabels:
    """Lay out the rows of one kind. Of several benchmarks there are only judges, annotators of more
    than one, and people as one rater: others have nothing that is not in a benchmark of its own.
    """
    parts = [
        _spread_benchmark(part, is_choice=is_choice)
        for _, part in rows.group_by("benchmark_code", maintain_order=True)
    ]
    return parts[0] if len(parts) == 1 else _join(parts)


def _spread_benchmark(rows: pl.DataFrame, *, is_choice: bool) -> RaterLabels:
    raters = np.array(sorted(rows["rater"].unique()), dtype=np.str_)
    codes = rows["rater"].rank("dense").to_numpy().astype(np.int64) - 1
    spread = spread_labels(codes, number_units(rows), rows["label"].to_numpy(), raters.size)
    units = rows[spread.first_row].select(_UNIT)
    of_people = spread.labels[[rater.startswith(HUMAN) for rater in raters]].T
    people = _pool_people(of_people, units["criterion"], is_choice=is_choice)
    return RaterLabels(raters, spread.labels, people, units, _read_spans(rows))


def _pool_people(of_people: Floats, criteria: pl.Series, *, is_choice: bool) -> dict[str, Floats]:
    """All people as one rater: by majority, and graded scores by their mean too."""
    if not of_people.shape[1]:
        return {}
    if is_choice:
        clear = np.where(of_people == Preference.INCONSISTENT, np.nan, of_people)
        return {MAJORITY_OF_PEOPLE: take_majority(clear)}
    mean = np.full(len(of_people), np.nan)
    for places in _group_places(criteria).values():
        given = of_people[places]
        if np.unique(given[~np.isnan(given)]).size > 2:
            mean[places] = take_mean(given)
    pooled = {MAJORITY_OF_PEOPLE: take_majority(of_people)}
    return pooled if np.isnan(mean).all() else {**pooled, MEAN_OF_PEOPLE: mean}


def _read_spans(rows: pl.DataFrame) -> Spans:
    """The spans of raters' scales, and of all people's."""
    spans: Spans = {}
    names = ("benchmark_code", "criterion", "rater")
    for code, criterion, rater, span in (
        rows.select(*names, "span").unique(names, maintain_order=True).iter_rows()
    ):
        spans.setdefault((code, criterion), {})[rater] = span
    for held in spans.values():
        of_people = {span for rater, span in held.items() if rater.startswith(HUMAN)} - {None}
        people = next(iter(of_people), None) if len(of_people) < 2 else MIXED
        held |= {MAJORITY_OF_PEOPLE: people, MEAN_OF_PEOPLE: people}
    return spans


def _list_scales(units: pl.DataFrame) -> list[Scale]:
    return list(units.select("benchmark_code", "criterion").unique(maintain_order=True).iter_rows())


def _join(parts: list[RaterLabels]) -> RaterLabels:
    """The units of several benchmarks side by side."""
    named = [name for part in parts for name in part.raters.tolist()]
    raters = sorted({name for name in named if named.count(name) > 1 or not name.startswith(HUMAN)})
    blocks, people = [], []
    for part in parts:
        blocks.append(np.full((len(raters), part.units.height), np.nan))
        place = {name: at for at, name in enumerate(part.raters.tolist())}
        held = [(at, place[name]) for at, name in enumerate(raters) if name in place]
        for at, own in held:
            blocks[-1][at] = part.labels[own]
    for name in sorted({name for part in parts for name in part.people}):
        empty = [np.full(part.units.height, np.nan) for part in parts]
        given = [part.people.get(name, none) for part, none in zip(parts, empty, strict=True)]
        people.append((name, np.concatenate(given)))
    spans = {scale: held for part in parts for scale, held in part.spans.items()}
    units = pl.concat([part.units for part in parts])
    return RaterLabels(
        np.array(raters, dtype=np.str_), np.hstack(blocks), dict(people), units, spans
    )
