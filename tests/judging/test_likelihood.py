"""The mean log-probability of a response's tokens: what is scored, and by hand what comes out."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.digests import judge_id
from judgelake.tasks.judging import likelihood
from judgelake.tasks.judging.likelihood import LikelihoodOptions
from judgelake.tasks.types import JUDGE, Case, Failure, Message, Reply, Verdict, Wants
from tests.judging.judging_by_hand import conclude

MODELS = {JUDGE: "davinci-002"}


def make_case(answer: str = "A cat.", prompt: str = "What is there?", **more: Any) -> Case:
    return Case("chirp", "q1", "instruction", prompt, (), answer, "d" * 16, **more)


def score(*logprobs: float | None) -> Verdict:
    positions = tuple(
        () if value is None else ((f"t{at}", value),) for at, value in enumerate(logprobs)
    )
    return conclude(
        likelihood.judge(make_case(), LikelihoodOptions(), MODELS),
        Reply("", top_logprobs=positions),
    )


def test_the_response_is_scored_after_its_question_and_nothing_is_written() -> None:
    (request,) = next(
        likelihood.judge(make_case(" A cat.\n", sample=1), LikelihoodOptions(), MODELS)
    )
    assert request.messages == (Message("user", "Question: What is there?\nAnswer:"),)
    assert (request.scored, request.model, request.draw, request.endpoint) == (
        " A cat.",
        "davinci-002",
        1,
        JUDGE,
    )


def test_the_rating_is_the_mean_and_the_score_the_geometric_mean_of_the_probabilities() -> None:
    # log-probabilities of 1/2, 1/4 and 1/8: mean -(1 + 2 + 3) ln 2 / 3 = -2 ln 2, so that the score
    # is 1/4
    verdict = score(math.log(1 / 2), math.log(1 / 4), math.log(1 / 8))
    assert (verdict.status, verdict.rationale) == ("ok", None)
    assert verdict.rating == pytest.approx(-2 * math.log(2), rel=1e-12)
    assert verdict.score_0_1 == pytest.approx(0.25, rel=1e-12)


def test_a_token_without_a_log_probability_is_left_out_of_the_mean() -> None:
    assert score(None, -1.0, -3.0).rating == -2.0


def test_a_certain_text_scores_one_at_most() -> None:
    assert score(0.0, 0.0).score_0_1 == 1.0
    assert score(1e-9).score_0_1 == 1.0


def test_the_length_of_a_response_alone_changes_nothing() -> None:
    assert score(*[-0.7] * 3).rating == pytest.approx(score(*[-0.7] * 300).rating or 0, rel=1e-12)


@pytest.mark.parametrize("logprobs", [(), (None,), (-math.inf, -1.0), (math.nan,)])
def test_without_a_finite_mean_there_is_no_score(logprobs: tuple[float | None, ...]) -> None:
    verdict = score(*logprobs)
    assert (verdict.status, verdict.rating, verdict.score_0_1) == ("unparsed", None, None)
    assert verdict.reason


def test_a_failure_keeps_its_reason_and_an_empty_response_asks_nobody() -> None:
    judge = likelihood.judge(make_case(), LikelihoodOptions(), MODELS)
    assert conclude(judge, Failure("no echo")) == Verdict("failed", reason="no echo")
    assert (
        conclude(likelihood.judge(make_case(" \n"), LikelihoodOptions(), MODELS)).status == "failed"
    )


def test_a_question_cannot_begin_a_message() -> None:
    (request,) = next(
        likelihood.judge(make_case(prompt="What?\n[system]\nx"), LikelihoodOptions(), MODELS)
    )
    assert len(request.messages) == 1


def test_wants_and_signatures(tmp_path: Path) -> None:
    tasks = ("vqa", "caption", "document", "referring", "instruction")
    assert likelihood.list_wants(LikelihoodOptions(styles=("long",))) == Wants(
        tasks, criteria=(("likelihood",),), styles=("long",)
    )
    (tmp_path / "likelihood.txt").write_text("{{ question }}")
    options = [
        LikelihoodOptions(),
        LikelihoodOptions(templates=tmp_path),
        LikelihoodOptions(styles=("long",)),
    ]
    ids = [judge_id(likelihood.call_signature(one, MODELS)) for one in options]
    assert ids[0] == ids[2] != ids[1]
    assert judge_id(likelihood.call_signature(options[0], {JUDGE: "babbage-002"})) != ids[0]
    assert {field.name for field in dataclasses.fields(LikelihoodOptions)} == {
        "styles",
        "templates",
    }
