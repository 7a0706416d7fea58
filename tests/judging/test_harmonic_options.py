"""HarmonicEval's options, the user's templates, and what makes two judges or two readings one."""

import dataclasses
import json
from pathlib import Path
from typing import Any, get_args

import pytest

from judgelake.tasks.digests import judge_id
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging import harmonic
from judgelake.tasks.judging.harmonic import CRITERIA, GAMMAS, LOOKING, HarmonicOptions, Weighting
from judgelake.tasks.judging.protocols import PROTOCOLS, identify_judge
from judgelake.tasks.types import JUDGE, Failure, Reply, Request
from tests.judging.judging_by_hand import MODEL, MODELS, ask
from tests.judging.test_harmonic import rated, run, text_case


def test_the_user_s_template_is_asked_with(tmp_path: Path) -> None:
    fields = ["task", "image", "noun", "rated", "does", "material", "asked_by", "question", "text"]
    (tmp_path / "harmonic_correctness.txt").write_text(
        "|".join(f"{{{{ {field} }}}}" for field in fields)
    )
    (tmp_path / "harmonic_reason.txt").write_text("Why {{ criterion }}?")
    options = HarmonicOptions(criteria=("correctness", "clarity"), templates=tmp_path, reason=True)
    judge = harmonic.judge(text_case(task="vqa"), options, MODELS)
    first, second = next(judge)
    assert first.messages[0].text == (
        "vqa|1|answer|answer to the question about the image|respond to the question about the "
        "image|the image and the question|"
        "question|What is it?|A cat on a mat."
    )
    assert second.messages[0].text.startswith("[Text]\n")
    assert judge.send([rated(4), Failure("503")])[0].messages[2].text == "Why correctness?"
    (tmp_path / "harmonic_fluency.txt").write_text("x")
    with pytest.raises(
        SuiteError, match=r"harmonic_fluency\.txt: replaces no prompt of this judge"
    ):
        harmonic.call_signature(options, MODELS)


def own_id(model: str = MODEL, **options: Any) -> str:
    return judge_id(harmonic.call_signature(HarmonicOptions(**options), {JUDGE: model}))


READING = {"smoothing", "weighting", "gamma", "min_mass", "pseudo_count"}


def test_whatever_changes_the_request_changes_the_judge(tmp_path: Path) -> None:
    (tmp_path / "harmonic_clarity.txt").write_text("{{ text }}")
    variants: list[dict[str, Any]] = [
        {}, {"criteria": LOOKING}, {"criteria": ("correctness",)}, {"overall_directly": True}, {"reason": True},
        {"reason": True, "reason_max_tokens": 64}, {"sampling": 5, "temperature": 1.0}, {"sampling": 6, "temperature": 1.0},
        {"temperature": 1.0}, {"top_p": 0.9}, {"max_tokens": 1}, {"top_logprobs": 5}, {"seed": 0}, {"templates": tmp_path},
        {"model": "x"},
    ]  # fmt: skip
    assert len({own_id(**variant) for variant in variants}) == len(variants)
    fields = {field.name for field in dataclasses.fields(HarmonicOptions)}
    assert {key for variant in variants for key in variant} - {"model"} == fields - READING - {
        "samples",
        "image",
        "answer_form",
    }
    shown = [identify_judge("h", PROTOCOLS["harmonic"], HarmonicOptions(image=image), MODELS, (), 2048).judge_id for image in (
        True, "absent", "swapped",
    )]  # fmt: skip
    assert len(set(shown)) == 3


def test_readings_share_the_judge_and_its_replies() -> None:
    variants: list[dict[str, Any]] = [
        {}, {"smoothing": "none"}, {"weighting": "uniform"}, {"weighting": "inverse_variance"}, {"weighting": "selective"},
        {"gamma": 0.01}, {"min_mass": 0.9}, {"weighting": "uniform", "smoothing": "none"},
    ]  # fmt: skip
    assert {own_id(**variant) for variant in variants} == {own_id()}
    readings = {
        json.dumps(harmonic.reading_signature(HarmonicOptions(**variant))) for variant in variants
    }
    assert len(readings) == len(variants)
    drawn = HarmonicOptions(sampling=5, temperature=1.0)
    assert harmonic.reading_signature(drawn)["reader"] == "drawn-ratings"
    assert harmonic.reading_signature(drawn) != harmonic.reading_signature(
        dataclasses.replace(drawn, pseudo_count=1.0)
    )


@pytest.mark.parametrize(
    ("weighting", "gamma"),
    [("uniform", 1.0), ("inverse_variance", 0.5), ("selective", 0.0), ("harmonic", 0.75)],
)
def test_a_named_weighting_is_its_gamma(weighting: Weighting, gamma: float) -> None:
    named, plain = HarmonicOptions(weighting=weighting), HarmonicOptions(gamma=gamma)
    assert harmonic.reading_signature(named) == harmonic.reading_signature(plain)
    assert named.reading == plain.reading
    assert {*GAMMAS, "harmonic"} == set(get_args(Weighting))


def test_the_order_of_the_criteria_does_not_change_the_judge() -> None:
    assert own_id(criteria=tuple(reversed(CRITERIA))) == own_id()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criteria": ()}, "criteria: none; expected different ones of correctness, "),
        ({"criteria": ("overall",)}, "criteria: overall; expected"),
        ({"criteria": ("clarity", "clarity")}, "criteria: clarity, clarity; expected"),
        (
            {"criteria": ("clarity",), "overall_directly": True},
            "overall_directly: true; expected without `criteria`",
        ),
        (
            {"criteria": ("clarity",), "image": "swapped"},
            "image: swapped; expected with correctness or completeness",
        ),
        ({"samples": 0}, "samples: 0; expected"),
        ({"sampling": -1}, "sampling: -1; expected"),
        ({"sampling": 1, "temperature": 1.0}, "sampling: 1; expected"),
        ({"sampling": 5}, r"temperature: 0\.0; expected above 0 with `sampling`"),
        (
            {"sampling": 5, "temperature": 1.0, "reason": True},
            "reason: true; expected without `sampling`",
        ),
        (
            {"sampling": 5, "temperature": 1.0, "smoothing": "none"},
            "smoothing: none; expected without `sampling`",
        ),
        ({"pseudo_count": -1.0}, r"pseudo_count: -1\.0; expected"),
        ({"gamma": 1.5}, r"gamma: 1\.5; expected"),
        (
            {"gamma": 0.5, "weighting": "uniform"},
            r"gamma: 0\.5; expected with `weighting: harmonic`",
        ),
        ({"min_mass": -0.1}, r"min_mass: -0\.1; expected"),
        ({"top_logprobs": 0}, "top_logprobs: 0; expected 5 or more"),
        ({"top_logprobs": 0, "smoothing": "none"}, "top_logprobs: 0; expected"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HarmonicOptions(**options)


def test_no_probabilities_are_asked_for_where_none_are_needed() -> None:
    options = HarmonicOptions(top_logprobs=0, smoothing="none", weighting="uniform")
    replies: list[Reply | Failure] = [Reply("4"), Reply("2"), Reply("3"), Reply("5"), Reply("5")]
    assert [verdict.rating for verdict in run(text_case(), options, replies)] == pytest.approx(
        [4, 2, 3, 5, 5, 3.8]
    )
    requests: list[Request] = ask(harmonic.judge(text_case(), options, MODELS))
    assert {request.decoding.top_logprobs for request in requests} == {0}


# Who changes a prompt on purpose raises harmonic.VERSION or accepts that every lake judges again,
# and then writes the new id here.
def test_the_default_judge_keeps_its_id() -> None:
    assert own_id() == "dbfd2f10531f7977"
