"""The first screen's question "can I trust the judges?": one line a judge, with its agreement with
people and what that means in words.

Pure: rows of the report views in, values out. No word here is there without a figure behind it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Record = Mapping[str, Any]
Mark = Literal["good", "fair", "bad", ""]

_SIGNIFICANT = 0.05

COMPARED = """
select benchmark, judge, judge_criterion, human_criterion, human_rule, against, n, value, low,
    high, reason, other, n_common, difference, p_holm, is_best
from rpt_judge_comparison
where benchmark = $benchmark and coefficient = 'spearman' and model = '*'
order by judge, human_rule <> 'mean', human_rule, judge_criterion, human_criterion
"""
CHOSEN = """
select if(rater_a like 'human:%', rater_b, rater_a) as judge,
    if(rater_a like 'human:%', rater_a, rater_b) as people, criterion, n, kappa as value,
    kappa_low as low, kappa_high as high, coalesce(kappa_reason, reason) as reason
from rpt_kappas
where benchmark = $benchmark and (task, category, style) = ('*', '*', '*') and kind = 'choice'
    and chance = 'nominal' and (rater_a like 'human:%') <> (rater_b like 'human:%')
order by judge, criterion not in ('*', 'overall'), criterion, n desc, people
"""
COSTS = """
select judge, sum(cost_usd) / sum(n_verdicts) * 1000 as usd from rpt_costs
where list_contains(benchmarks, $benchmark) and cost_usd is not null
group by judge having sum(n_verdicts) > 0
"""


@dataclass(frozen=True, slots=True)
class Trust:
    """How far one judge can be trusted. `measure` names what `value` is; `verdicts`: sentences;
    `mark`: how they sum up.
    """

    judge: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    reason: str | None
    n: int
    verdicts: tuple[str, ...]
    mark: Mark
    n_scored: int | None
    n_asked: int | None
    usd_per_1000: float | None


def weigh_judges(
    compared: Sequence[Record],
    chosen: Sequence[Record],
    counts: Mapping[str, Mapping[str, int]],
    costs: Iterable[Record],
    names: Mapping[str, str],
    good_enough: float | None,
) -> list[Trust]:
    """One line a judge, the closest to people first: by Spearman correlation where it scored, by
    kappa where it chose. `counts`: judge -> status -> cases; `good_enough`: the least agreement
    that the suite asks for.
    """
    usd = {row["judge"]: row["usd"] for row in costs}
    lines = [
        *_weigh(_keep_one(compared, _is_own_criterion), "Spearman", names, good_enough),
        *_weigh(_keep_one(chosen, lambda _: True), "kappa", names, good_enough),
    ]
    weighed = [
        Trust(
            **line,
            n_scored=None if (n := counts.get(judge)) is None else _count_scored(n),
            n_asked=None if n is None else sum(n.values()),
            usd_per_1000=usd.get(judge),
        )
        for judge, line in lines
    ]
    return sorted(
        weighed,
        key=lambda t: (t.measure.startswith("kappa"), t.value is None, -(t.value or 0), t.judge),
    )


def _keep_one(rows: Iterable[Record], is_wanted: Any) -> list[Record]:
    """A row a judge: the first that is wanted, else that of the highest value."""
    by_judge: dict[str, list[Record]] = {}
    for row in rows:
        by_judge.setdefault(row["judge"], []).append(row)
    return [
        next(
            (row for row in own if is_wanted(row)),
            max(own, key=lambda r: -2.0 if r["value"] is None else r["value"]),
        )
        for own in by_judge.values()
    ]


def _is_own_criterion(row: Record) -> bool:
    return bool(row["judge_criterion"] == row["human_criterion"])


def _weigh(
    rows: Sequence[Record], statistic: str, names: Mapping[str, str], good_enough: float | None
) -> list[tuple[str, dict[str, Any]]]:
    criteria = {tuple(_name_criteria(row)) for row in rows}
    highest = max((row["value"] for row in rows if row["value"] is not None), default=None)
    weighed = []
    for row in rows:
        with_criterion = _name_criteria(row) if len(criteria) > 1 else ()
        against = row.get("against", "human")
        measure = " ".join(
            (statistic, *with_criterion, *(() if against == "human" else ("with", against)))
        )
        mark, verdicts = _put_in_words(row, row["value"] == highest, names, good_enough)
        weighed.append(
            (
                row["judge"],
                {
                    "judge": names.get(row["judge"], row["judge"]),
                    "measure": measure,
                    **{field: row[field] for field in ("value", "low", "high", "reason", "n")},
                    "verdicts": tuple(verdicts),
                    "mark": mark,
                },
            )
        )
    return weighed


def _name_criteria(row: Record) -> tuple[str, ...]:
    if "criterion" in row:
        return () if row["criterion"] in ("*", "overall") else (f"({row['criterion']})",)
    if row["judge_criterion"] in (row["human_criterion"], "overall", "*"):
        return (f"({row['human_criterion']})",)
    return (f"({row['judge_criterion']} with {row['human_criterion']})",)


def _put_in_words(
    row: Record, is_highest: bool, names: Mapping[str, str], good_enough: float | None
) -> tuple[Mark, list[str]]:
    low, high = row["low"], row["high"]
    if row["value"] is None:
        return "", ["cannot be said"]
    if low is None or high is None:
        return "", ["not known how surely"]
    if high < 0:
        return "bad", ["against people: what they like gets less"]
    if low <= 0:
        return "bad", ["may be chance: the interval holds 0"]
    mark: Mark = "fair"
    words = []
    if good_enough is not None:
        if low >= good_enough:
            mark, said = "good", f"good enough: surely at least {good_enough:g}"
        elif high < good_enough:
            mark, said = "bad", f"not good enough: surely below {good_enough:g}"
        else:
            said = f"perhaps good enough: {good_enough:g} lies in the interval"
        words.append(said)
    other = None if row.get("other") is None else names.get(row["other"], row["other"])
    if row.get("is_best"):
        words.append("surely the closest to people")
        mark = mark if good_enough is not None else "good"
    elif other is not None:
        words.append(_compare(row, is_highest, other))
    return mark, words or ["better than chance"]


def _compare(row: Record, is_highest: bool, other: str) -> str:
    """The difference is of the rows that both scored, so it may be against the order of the values,
    which are each judge's own.
    """
    difference = row["difference"] or 0.0
    is_sure = row["p_holm"] is not None and row["p_holm"] <= _SIGNIFICANT
    surely, by = "surely " if is_sure else "", f"by {abs(difference):.2f}"
    on_common = f"{other}, {by}, on the {row['n_common']} that both scored"
    if is_highest and difference < 0:
        return f"the highest on its own {row['n']} rows, but {surely}behind {on_common}"
    if is_highest and difference > 0 and is_sure:
        return f"the highest and surely above {other}, but not surely above every judge"
    if is_highest:
        return f"the highest, but not surely above {other}"
    if difference > 0:
        return f"lower on its own {row['n']} rows, but {surely}above {on_common}"
    return f"surely behind {other}, {by}" if is_sure else f"not surely behind {other}"


def _count_scored(statuses: Mapping[str, int]) -> int:
    return statuses.get("ok", 0) + statuses.get("inconsistent", 0)
