"""What the first screen says of each judge, in which words, and what it calls wrong."""

from typing import Any

import pytest

from judgelake.tasks.reports.page.chapters import CHAPTERS
from judgelake.tasks.reports.page.concerns import list_concerns
from judgelake.tasks.reports.page.parts import pivot_coverage
from judgelake.tasks.reports.page.sections import SECTIONS
from judgelake.tasks.reports.page.trust import weigh_judges


def compared(judge: str, value: float | None, **other: Any) -> dict[str, Any]:
    ends = (None, None) if value is None else (value - 0.1, value + 0.1)
    return {
        "benchmark": "vqa",
        "judge": judge,
        "judge_criterion": "correctness",
        "human_criterion": "correctness",
        "human_rule": "mean",
        "against": "human",
        "n": 300,
        "value": value,
        "low": ends[0],
        "high": ends[1],
        "reason": None,
        "other": "best",
        "n_common": 100,
        "difference": -0.25,
        "p_holm": 0.2,
        "is_best": False,
        **other,
    }


def ahead(judge: str, value: float, **other: Any) -> dict[str, Any]:
    return compared(judge, value, difference=0.25, **other)


@pytest.mark.parametrize(
    ("row", "good_enough", "mark", "words"),
    [
        (compared("j", 0.5, is_best=True), None, "good", "surely the closest to people"),
        (ahead("j", 0.5), None, "fair", "the highest, but not surely above best"),
        (ahead("j", 0.5, p_holm=0.01), None, "fair", "the highest and surely above best, but not"),
        (compared("j", 0.05), None, "bad", "may be chance: the interval holds 0"),
        (compared("j", -0.5), None, "bad", "against people: what they like gets less"),
        (compared("j", None), None, "", "cannot be said"),
        (compared("j", 0.5, low=None), None, "", "not known how surely"),
        (compared("j", 0.5, is_best=True), 0.4, "good", "good enough: surely at least 0.4; surely"),
        (
            ahead("j", 0.5),
            0.5,
            "fair",
            "perhaps good enough: 0.5 lies in the interval; the highest",
        ),
        (ahead("j", 0.5), 0.7, "bad", "not good enough: surely below 0.7; the highest"),
    ],
)
def test_an_agreement_is_put_in_words(
    row: dict[str, Any], good_enough: float | None, mark: str, words: str
) -> None:
    (line,) = weigh_judges([row], [], {}, [], {}, good_enough)
    assert line.mark == mark
    assert "; ".join(line.verdicts).startswith(words)


def test_judges_stand_by_their_agreement_and_are_held_to_the_highest() -> None:
    rows = [
        compared("low", 0.3, p_holm=0.001),
        ahead("metric:x|v:1", 0.6, other="near", judge_criterion="overall"),
        compared("near", 0.55, other="metric:x|v:1"),
        compared("near", 0.9, judge_criterion="clarity"),
    ]
    lines = weigh_judges(
        rows,
        [],
        {"low": {"ok": 90, "unparsed": 10}},
        [{"judge": "low", "usd": 1.5}],
        {"metric:x|v:1": "x"},
        None,
    )
    assert [(line.judge, line.verdicts) for line in lines] == [
        ("x", ("the highest, but not surely above near",)),
        ("near", ("not surely behind x",)),
        ("low", ("surely behind best, by 0.25",)),
    ]
    assert {line.measure for line in lines} == {"Spearman"}
    assert (lines[2].n_scored, lines[2].n_asked, lines[2].usd_per_1000) == (90, 100, 1.5)


@pytest.mark.parametrize(("p", "surely"), [(0.01, "surely "), (0.4, "")])
def test_a_judge_that_scored_the_easy_answers_only_is_not_called_better(
    p: float, surely: str
) -> None:
    rows = [
        compared("easy", 0.94, n=100, other="whole", difference=-0.05, p_holm=p),
        compared("whole", 0.35, n=300, other="easy", difference=0.05, p_holm=p),
    ]
    easy, whole = weigh_judges(rows, [], {}, [], {}, None)
    assert easy.verdicts == (
        f"the highest on its own 100 rows, but {surely}behind whole, by 0.05, on the 100 that both "
        "scored",
    )
    assert whole.verdicts == (
        f"lower on its own 300 rows, but {surely}above easy, by 0.05, on the 100 that both scored",
    )
    assert {easy.mark, whole.mark} == {"fair"}


def test_judges_of_pairs_are_held_to_peoples_choices_by_kappa() -> None:
    rows = [
        {"judge": judge, "people": "human:p", "criterion": criterion, "n": 40, "value": value,
         "low": value - 0.1, "high": value + 0.1, "reason": None}
        for judge, criterion, value in (
            ("duel", "*", 0.4), ("duel", "clarity", 0.9), ("other", "*", 0.02)
        )
    ]  # fmt: skip
    lines = weigh_judges([], rows, {}, [], {}, None)
    assert [(line.judge, line.measure, line.value, line.mark) for line in lines] == [
        ("duel", "kappa", 0.4, "fair"),
        ("other", "kappa", 0.02, "bad"),
    ]


def test_concerns_are_what_is_short_put_aside_or_broken_off() -> None:
    coverage = pivot_coverage(
        {"benchmark": "vqa", "judge": judge, "status": status, "n": n}
        for judge, status, n in (
            ("whole", "ok", 99), ("whole", "failed", 1), ("metric:m|v", "ok", 50),
            ("metric:m|v", "unparsed", 50), ("pairs", "inconsistent", 60), ("pairs", "ok", 40),
        )
    )  # fmt: skip
    quarantine = [{"benchmark": "vqa", "n": 2}, {"benchmark": "vqa", "n": 1}]
    runs = [{"run_id": "r2", "outcome": "stopped"}, {"run_id": "r1", "outcome": "failed"}]
    reordered = [{"benchmark": "duels", "rater": rater} for rater in ("human:p", "chirp@1/2")]
    names = {"metric:m|v": "m", "chirp@1/2": "chirp"}
    said = list_concerns(coverage, quarantine, runs, names, 0.98, reordered)
    assert said == [
        "The last run, `r2`, ended as `stopped`: figures may rest on a part of the cases.",
        "`m` on `vqa` scored 50.0 % of 100 cases: 50 `unparsed`.",
        "3 input rows of `vqa` did not pass and are in no number; “Quarantine” has the reasons.",
        "Bradley-Terry and Elo order the models of `duels` differently by the choices of `human:p`, "
        "`chirp`; the ranking to read is Bradley-Terry's.",
    ]
    assert list_concerns(pivot_coverage([]), [], [{"run_id": "r", "outcome": "done"}], {}, 1) == []


def test_each_table_stands_in_one_chapter() -> None:
    named = [name for chapter in CHAPTERS for name in chapter.tables]
    own = {"means", "coverage", "correlation", "quarantine", "runs"}
    assert len(named) == len(set(named))
    assert set(named) == {section.name for section in SECTIONS} | own
