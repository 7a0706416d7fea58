"""Near-duplicates by ROUGE-L, beside the package rouge_score."""

import polars as pl
import pytest
from rouge_score.rouge_scorer import RougeScorer

from judgelake.tasks.collection.screening import WordSpeller, measure_overlap, screen_rubrics
from judgelake.tasks.collection.seeds import load_seeds

SEEDS = [
    one.rubric.criterion for kind in load_seeds(None).of_kind.values() for one in kind.values()
]


def frame(*texts: str) -> pl.DataFrame:
    rows = [
        {
            "judge_id": "j",
            "reading": "r",
            "benchmark": "b",
            "context_digest": "c",
            "criterion": f"rubric-{n}",
            "rubric_id": f"id-{n}",
            "description": text,
        }
        for n, text in enumerate(texts, 1)
    ]
    schema = dict.fromkeys(
        ["judge_id", "reading", "benchmark", "context_digest", "criterion", "rubric_id"], pl.String
    )
    return pl.DataFrame(rows, schema={**schema, "description": pl.String})


def test_overlap_is_that_of_rouge_score() -> None:
    scorer, spelt = RougeScorer(["rougeL"]), WordSpeller().spell(SEEDS)
    overlap = measure_overlap(spelt, spelt)
    for row, text in enumerate(SEEDS):
        for column, other in enumerate(SEEDS):
            expected = scorer.score(other, text)["rougeL"].fmeasure
            assert overlap[row, column] == pytest.approx(expected, abs=1e-12)


def test_a_repeated_rubric_is_left_out_in_order() -> None:
    # of 4 words 3 in common, in order: 2 * 3 / 8 = .75
    new = frame("one two three four", "nothing alike", "one two three five", "one two six seven")
    screened = screen_rubrics(new, frame(), 0.7)
    assert screened["is_kept"].to_list() == [True, True, False, True]
    assert screened["rouge_l"].to_list() == [0.0, 0.0, 0.75, 0.5]
    assert screened["nearest_id"].to_list() == [None, "id-1", "id-1", "id-1"]


def test_seeds_and_rubrics_kept_before_count() -> None:
    before = frame("one two three four")
    screened = screen_rubrics(frame("one two three five", "a b c"), before, 0.7, ["a b c d"])
    assert screened["is_kept"].to_list() == [False, False]
    assert screened["nearest_id"].to_list() == ["id-1", "seed"]


def test_a_text_without_words_has_no_overlap() -> None:
    assert screen_rubrics(frame("?", "!"), frame(), 0.7)["rouge_l"].to_list() == [0.0, 0.0]
