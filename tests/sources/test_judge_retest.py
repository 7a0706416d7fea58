"""Judge retests: rubric prompts, three samples a case."""

import json
from pathlib import Path

import pytest
from scipy import stats

from judgelake.tasks.sources.judge_retest import JudgeRetestSettings, read_judge_retest

PROMPT = """###Task Description:
Judge it.

###The instruction to evaluate:
{instruction}

###Response to evaluate:
{response}

###Reference Answer (Score 5):
Paris.

###Score Rubrics:
[Is it {quality}?]
Score 1: No.
Score 2: Hardly.
Score 3: Partly.
Score 4: Mostly.
Score 5: Yes.

###Feedback: """


def case(
    number: int,
    model: str,
    instruction: str = "Capital of France?",
    quality: str = "right",
    **more: object,
) -> dict[str, object]:
    text = PROMPT.format(instruction=instruction, response=f"{model} says", quality=quality)
    record = {"idx": number, "response_source": model, "category": "geo", "instruction": text}
    return {**record, "gpt4_score": [1, 2, 5], "gpt4_feedback": ["bad", "so so", "good"], **more}


def read(folder: Path, *records: object) -> JudgeRetestSettings:
    (folder / "cases.json").write_text(json.dumps(records))
    return JudgeRetestSettings(folder / "cases.json")


def test_a_case_is_an_answer_with_a_verdict_a_sample(tmp_path: Path) -> None:
    frames = read_judge_retest(read(tmp_path, case(1, "ann"), case(1, "bob")))
    assert frames.items.select("item_id", "prompt", "references", "category", "cluster").rows() == [
        ("1", "Capital of France?", ["Paris."], "geo", "question:1")
    ]
    assert frames.answers.select("item_id", "answer_id", "text").rows() == [
        ("1", "ann/long/0", "ann says"),
        ("1", "bob/long/0", "bob says"),
    ]
    verdicts = frames.recorded_verdicts.filter(answer_id="bob/long/0")
    columns = (
        "judge",
        "criterion",
        "sample",
        "status",
        "rating",
        "scale_low",
        "scale_high",
        "text",
        "locator",
    )
    assert verdicts.select(columns).rows() == [
        ("gpt-4", "rubric", 0, "ok", 1.0, 1.0, 5.0, "bad", "record 1"),
        ("gpt-4", "rubric", 1, "ok", 2.0, 1.0, 5.0, "so so", "record 1"),
        ("gpt-4", "rubric", 2, "ok", 5.0, 1.0, 5.0, "good", "record 1"),
    ]


def test_equal_rubrics_are_one_and_every_item_has_its_own(tmp_path: Path) -> None:
    frames = read_judge_retest(
        read(tmp_path, case(1, "ann"), case(2, "ann"), case(3, "ann", quality="short"))
    )
    assert frames.rubrics.select("criterion", "levels").rows() == [
        ("Is it right?", ["No.", "Hardly.", "Partly.", "Mostly.", "Yes."]),
        ("Is it short?", ["No.", "Hardly.", "Partly.", "Mostly.", "Yes."]),
    ]
    right, short = frames.rubrics["rubric_id"]
    assert frames.item_rubrics.select("item_id", "rubric_id").rows() == [
        ("1", right),
        ("2", right),
        ("3", short),
    ]


def test_a_question_that_models_were_asked_differently_is_an_item_each_in_one_cluster(
    tmp_path: Path,
) -> None:
    frames = read_judge_retest(
        read(tmp_path, case(1, "ann", "Hello Ann"), case(1, "bob", "Hello Bob"), case(2, "ann"))
    )
    assert frames.items.select("item_id", "prompt", "cluster").rows() == [
        ("1/ann", "Hello Ann", "question:1"), ("1/bob", "Hello Bob", "question:1"), ("2", "Capital of France?", "question:2"),
    ]  # fmt: skip


def test_scores_that_are_no_level_are_unparsed_and_broken_records_reported(tmp_path: Path) -> None:
    scores = case(1, "ann", gpt4_score=[6, None, 2.5])
    broken = [
        7,
        case(
            2,
            "",
        ),
        case(3, "ann", instruction=""),
        case(4, "ann", gpt4_score=[1]),
        {**case(5, "ann"), "idx": None},
    ]
    frames = read_judge_retest(read(tmp_path, scores, *broken))
    assert frames.recorded_verdicts.select("status", "rating", "reason").rows() == [
        ("unparsed", None, "the score is 6"), ("unparsed", None, "the score is None"), ("unparsed", None, "the score is 2.5"),
    ]  # fmt: skip
    assert [(row.table_name, row.locator, row.column_name) for row in frames.rejected] == [
        ("answers", "record 1", None), ("answers", "record 2", "response_source"), ("answers", "record 3", "instruction"),
        ("answers", "record 5", "idx"), ("recorded_verdicts", "record 4", "gpt4_score"),
    ]  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "expected"),
    [("mt_bench_eval", (0.8357, 0.8763, 0.8412)), ("vicuna_eval", (0.7992, 0.8043, 0.8221))],
)
def test_the_three_runs_correlate_as_the_data_folder_says(
    data_folder: Path, file: str, expected: tuple[float, ...]
) -> None:
    frames = read_judge_retest(JudgeRetestSettings(data_folder / "judge_retest" / f"{file}.json"))
    runs = frames.recorded_verdicts.pivot("sample", index=["item_id", "answer_id"], values="rating")
    assert (runs.height, frames.rejected) == (320, ())
    pairs = (("0", "1"), ("0", "2"), ("1", "2"))
    found = [stats.pearsonr(runs[a], runs[b]).statistic for a, b in pairs]
    assert found == pytest.approx(expected, abs=5e-5)
