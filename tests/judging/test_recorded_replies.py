"""Real judges' recorded replies through the live readers: how many are read, and none other than a
person reads it.

What a person reads is `tests.judging.hand_labels`, 50 replies of each file. Coverage is of the
whole file.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.judging.reading import read_result_marker, read_two_numbers, read_yes_no
from judgelake.tasks.judging.token_reading import read_choice_probability
from judgelake.tasks.types import TokenLogprobs
from tests.judging import hand_labels

pytestmark = pytest.mark.data
LEVELS = range(1, 6)


def test_every_sample_has_50_replies() -> None:
    retest = [
        *hand_labels.JUDGE_RETEST_MARKED,
        *hand_labels.JUDGE_RETEST_WORDED,
        *hand_labels.JUDGE_RETEST_SILENT,
    ]
    sizes = (
        len(hand_labels.NQ301),
        len(hand_labels.VICUNA_PAIRS),
        len(hand_labels.ALPACA_EVAL),
        len(set(retest)),
    )
    assert sizes == (50, 50, 50, 50)


def test_nq301_yes_or_no(data_folder: Path) -> None:
    lines = (
        (data_folder / "nq301" / "NQ301_gpt-4.tsv")
        .read_text(encoding="utf-8")
        .rstrip("\n")
        .split("\n")[1:]
    )
    found = [read_yes_no(line.split("\t")[-1]) for line in lines]
    assert {row: found[row] for row in hand_labels.NQ301} == hand_labels.NQ301
    # coverage 1,480 of 1,490 = 99.3 %; the other ten are those of the sample that open with neither
    assert (len(found), len(found) - found.count(None)) == (1490, 1480)
    assert {row for row, says_yes in enumerate(found) if says_yes is None} == {
        row for row, label in hand_labels.NQ301.items() if label is None
    }


def test_vicuna_pairs_two_numbers(data_folder: Path) -> None:
    found = {}
    for model in ("alpaca-13b", "bard", "gpt35", "llama-13b"):
        for line in (
            (data_folder / "vicuna_pairs" / f"review_{model}_vicuna-13b.jsonl")
            .read_text(encoding="utf-8")
            .splitlines()
        ):
            review = json.loads(line)
            found[model, review["question_id"]] = read_two_numbers(review["text"], 0, 10)
    assert {key: found[key] for key in hand_labels.VICUNA_PAIRS} == hand_labels.VICUNA_PAIRS
    assert (len(found), sum(scores is not None for scores in found.values())) == (
        320,
        320,
    )  # coverage 100 %


def read_records(data_folder: Path, model: str) -> list[dict[str, Any]]:
    file = data_folder / "alpaca_eval" / f"{model}__weighted_alpaca_eval_gpt4_turbo.json"
    records: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return records


def first_position(record: dict[str, Any]) -> TokenLogprobs:
    reply = record["raw_completion"]
    return (
        tuple(
            (one["token"], one["logprob"])
            for one in reply["logprobs"]["content"][0]["top_logprobs"]
        )
        if reply
        else ()
    )


def test_alpaca_eval_the_likelier_token(data_folder: Path) -> None:
    records = {
        model: read_records(data_folder, model) for model in ("alpaca-7b", "gpt-3.5-turbo-0301")
    }
    for (model, row), label in hand_labels.ALPACA_EVAL.items():
        record = records[model][row]
        read = read_choice_probability(first_position(record), "m", "M")
        assert (
            None
            if read is None
            else (record["raw_completion"]["text"], "M" if read.share_second > 0.5 else "m")
        ) == label
    every = [
        read_choice_probability(first_position(record), "m", "M")
        for part in records.values()
        for record in part
    ]
    held = [read.captured_mass for read in every if read is not None]
    assert (len(every), len(held)) == (1610, 1606)  # coverage 99.8 %: four records have no reply
    assert sum(mass < 0.9 for mass in held) == 3  # those that nearly, or really, said Neither


def test_alpaca_eval_the_weighted_preference_comes_out(data_folder: Path) -> None:
    """preference = 1 + P(second) / (P(first) + P(second)), m or M the second: the order of the two
    answers was drawn.
    """
    differing = []
    for model in ("alpaca-7b", "gpt-3.5-turbo-0301"):
        for record in read_records(data_folder, model):
            reads = [
                read_choice_probability(first_position(record), *tokens)
                for tokens in (("m", "M"), ("M", "m"))
            ]
            gaps = [
                abs(1 + read.share_second - record["preference"])
                for read in reads
                if read is not None
            ]
            if min(gaps, default=1.0) > 5e-11:
                differing.append(record)
    assert len(differing) == 4
    assert all(
        record["raw_completion"] is None and record["preference"] == 1.5 for record in differing
    )


def test_judge_retest_result_marker(data_folder: Path) -> None:
    texts: dict[tuple[str, int, int], str] = {}
    scores: dict[tuple[str, int, int], int] = {}
    for name in ("mt_bench_eval", "vicuna_eval"):
        for case, record in enumerate(
            json.loads((data_folder / "judge_retest" / f"{name}.json").read_text(encoding="utf-8"))
        ):
            texts |= {(name, case, run): text for run, text in enumerate(record["gpt4_feedback"])}
            scores |= {(name, case, run): score for run, score in enumerate(record["gpt4_score"])}
    found = {
        key: read.rating
        for key, text in texts.items()
        if (read := read_result_marker(text, LEVELS))
    }
    # Of 1,920 feedbacks the publisher left one its marker: that one is read, and no score is made
    # up of the words of the others.
    assert (len(texts), found) == (1920, hand_labels.JUDGE_RETEST_MARKED)
    reported = hand_labels.JUDGE_RETEST_MARKED | hand_labels.JUDGE_RETEST_WORDED
    assert [key for key, score in reported.items() if scores[key] != score] == [
        ("mt_bench_eval", 185, 1)
    ]  # its words say 3, its score is 4
    # With the marker that the prompt asked for all are read, whatever their words are, and the
    # feedback is what stands before it.
    for key, text in texts.items():
        whole = read_result_marker(f"{text} [RESULT] {scores[key]}", LEVELS)
        assert whole is not None
        assert (whole.rating, whole.rationale) == (scores[key], text.strip())


def test_prometheus_vision_both_markers(data_folder: Path) -> None:
    file = data_folder / "prometheus_vision" / "sample_train_data.json"
    reported = [
        turn["value"]
        for row in json.loads(file.read_text(encoding="utf-8"))
        for turn in row["conversations"]
        if turn["from"] == "gpt"
    ]
    assert [
        read.rating if (read := read_result_marker(text, LEVELS)) else None for text in reported
    ] == [1, 2, 3]
