"""The three answers of the first screen, from what the page knows of each benchmark."""

from dataclasses import replace
from datetime import UTC, datetime

from judgelake.tasks.reports.page.concerns import Changes, name_come_and_gone
from judgelake.tasks.reports.page.first_answers import answer_questions
from judgelake.tasks.reports.page.parts import BenchmarkPart, RankedModel, RaterDuels
from judgelake.tasks.reports.page.trust import Trust

DAY = datetime(2026, 11, 20, 3, 4, tzinfo=UTC)
EMPTY = BenchmarkPart("vqa", (), (), "people", 0, (), (), (), (), 0, ())


def judge(name: str, value: float | None, low: float | None, high: float | None) -> Trust:
    return Trust(name, "Spearman", value, low, high, None, 9, ("fair",), "fair", None, None, None)


def ranked(model: str, first: int, last: int) -> RankedModel:
    return RankedModel(model, first, last, {}, None)


def say(*parts: BenchmarkPart, concerns: tuple[str, ...] = (), changes: Changes | None = None) -> dict[str, tuple[str, ...]]:  # fmt: skip
    return {one.place: one.sentences for one in answer_questions(parts, concerns, changes)}


def test_the_closest_judge_is_one_whose_interval_lies_above_0() -> None:
    lines = (
        judge("wide", 0.45, -0.01, 0.76),
        judge("sure", 0.40, 0.20, 0.57),
        judge("against`", -0.3, -0.5, -0.1),
        judge("open", 0.2, None, None),
    )
    (first, second) = say(replace(EMPTY, trust=lines))["trust"]
    assert first == "Of those surely better than chance, closest is `sure` 0.40 (0.20 to 0.57)."
    assert second == (
        "Do not trust `wide` 0.45 (-0.01 to 0.76) and `against'` -0.30 (-0.50 to -0.10): their "
        "agreement may be chance, or is below 0."
    )

    assert say(replace(EMPTY, trust=lines[1:2]))["trust"] == (
        "The highest agreement with people is `sure` 0.40 (0.20 to 0.57): fair.",
    )
    second_to_none = replace(lines[1], verdicts=("the highest, but not surely above x",))
    assert say(replace(EMPTY, trust=(second_to_none,)))["trust"] == (
        "The highest agreement with people is `sure` 0.40 (0.20 to 0.57): not surely above x.",
    )


def test_the_best_model_is_one_that_alone_may_be_first() -> None:
    part = replace(EMPTY, ranked_by="lave", ranking=(ranked("a", 1, 2), ranked("b", 1, 2), ranked("c", 3, 3)))  # fmt: skip
    expected = "By the mean of `lave`, no model is surely the best of 3: it may be `a` or `b`."
    assert say(part)["ranking"] == (expected,)
    alone = replace(part, ranking=(ranked("a", 1, 1), ranked("b", 2, 2)))
    two = say(alone, replace(alone, name="nq"))["ranking"]
    assert two[1] == "On `nq`, by the mean of `lave`, `a` is surely the best of 2 models."
    assert "ranking" not in say(replace(part, ranking=(ranked("a", 1, 1),)))


def test_a_judge_that_prefers_itself_is_called_so() -> None:
    ratings = {
        model: {"model": model, "rank": rank, "rank_low": rank, "rank_high": rank}
        for rank, model in enumerate(("gpt", "other"), start=1)
    }
    part = replace(EMPTY, duels=(RaterDuels("gpt", "", False, ratings, ()),))
    assert say(part)["ranking"] == (
        "By the choices of `gpt`, `gpt` is surely the best of 2 models; it is the judge itself.",
    )
    assert say(part)[""] == (
        "Only judges compared these pairs: nothing says how far to trust them.",
    )


def test_changes_and_concerns_are_cut_to_a_few() -> None:
    row = {"figure": "rating", "judge": "j", "benchmark": "b", "model": "m", "has_moved": True,
           "base_value": 1000.0, "value": 1100.0, "difference": 100.0, "tested": "intervals"}  # fmt: skip
    gone = name_come_and_gone(
        [{"kind": "model", "benchmark": "b", "name": name, "is_new": False} for name in ("x", "y")], {}
    )  # fmt: skip
    changes = Changes(DAY, "run1", [row] * 4 + [row | {"has_moved": False}], gone)
    said = say(EMPTY, changes=changes, concerns=("`j` lacks scores.", "more", "most"))["changed"]
    assert said == (
        "4 of 5 figures moved by more than chance since the report of 2026-11-20 03:04 UTC "
        "(run `run1`).",
        *["Rating of `j` on `b`, `m`: 1000 → 1100."] * 3,
        "Gone on `b`: models `x`, `y`.",
        "`j` lacks scores.",
        "And 2 more below.",
    )
    elsewhere = Changes(datetime(1970, 1, 1, tzinfo=UTC), "the lake x", [row | {"has_moved": False}])  # fmt: skip
    assert say(EMPTY, changes=elsewhere)["changed"] == (
        "None of 1 figures moved by more than chance since the lake x.",
    )
    assert "changed" not in say(EMPTY)
