"""The stand-in as HarmonicEval's and FLEUR's judge: its rule by hand, and the project's own prompts
from question to overall score.
"""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging import fleur, harmonic
from judgelake.tasks.judging.fleur import FleurOptions
from judgelake.tasks.judging.harmonic import CRITERIA, LOOKING, HarmonicOptions
from judgelake.tasks.judging.task_wording import TASKS
from judgelake.tasks.standin.answers import answer_request
from judgelake.tasks.standin.harmonic import _spread_digit, rate_criterion, score_text
from judgelake.tasks.standin.rules import Asked, TokenReply
from judgelake.tasks.types import JUDGE, Box, Case, Image, Judge, Reply, Request, Verdict

IMAGE = Image("a.png", "a" * 64, (Box(0, 0, 2, 2),))


def make_case(
    answer: str = "A big cat sits on a mat.", task: str = "vqa", sha256: str = "a" * 64
) -> Case:
    image = Image("a.png", sha256, (Box(0, 0, 2, 2),) if task == "referring" else ())
    return Case(
        "b", "i", task, "What sits on the mat?", ("a cat",), answer, "d" * 16, images=(image,)
    )


def answer(request: Request) -> TokenReply:
    text = "\n".join(message.text for message in request.messages)
    return answer_request(
        Asked(
            text,
            tuple(image.sha256 or "" for message in request.messages for image in message.images),
        )
    )


def drive(judge: Judge) -> tuple[list[Verdict], int]:
    """What a judge concludes from the stand-in's replies, and how many it asked for."""
    n_asked, requests = 0, next(judge)
    while True:
        n_asked += len(requests)
        try:
            requests = judge.send([make_reply(answer(request)) for request in requests])
        except StopIteration as end:
            return end.value, n_asked


def make_reply(expected: TokenReply) -> Reply:
    positions = [
        expected.alternatives.get(place, {token: 0.999})
        for place, token in enumerate(expected.tokens)
    ]
    top_logprobs = tuple(
        tuple((token, math.log(share)) for token, share in one.items() if share > 0)
        for one in positions
    )
    return Reply("".join(expected.tokens), top_logprobs=top_logprobs)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("text", ["A big cat sits on a mat.", "or", "", "cat cat cat"])
def test_every_prompt_of_harmoniceval_is_understood(task: str, text: str) -> None:
    verdicts, n_asked = drive(
        harmonic.judge(make_case(text, task), HarmonicOptions(), {JUDGE: "m"})
    )
    assert n_asked == 5
    assert [verdict.criterion for verdict in verdicts] == [*CRITERIA, "overall"]
    assert all(verdict.status == "ok" and verdict.reason is None for verdict in verdicts)
    assert all(verdict.captured_mass == pytest.approx(0.98) for verdict in verdicts[:-1])


@pytest.mark.parametrize(
    ("options", "n_asked"),
    [
        ({"overall_directly": True}, 1), ({"reason": True}, 10), ({"sampling": 3, "temperature": 1.0}, 15), ({"smoothing": "none"}, 5),
        ({"weighting": "uniform"}, 5), ({"gamma": 0.01}, 5), ({"weighting": "selective"}, 5), ({"criteria": LOOKING}, 2),
    ],
)  # fmt: skip
def test_every_option_works(options: dict[str, Any], n_asked: int) -> None:
    verdicts, asked = drive(harmonic.judge(make_case(), HarmonicOptions(**options), {JUDGE: "m"}))
    assert asked == n_asked
    assert all(verdict.status == "ok" for verdict in verdicts)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("references", [True, False])
def test_every_prompt_of_fleur_is_understood(task: str, references: bool) -> None:
    options = FleurOptions(references=references, reason=True)
    (verdict,), n_asked = drive(fleur.judge(make_case(task=task), options, {JUDGE: "m"}))
    assert (verdict.status, n_asked) == ("ok", 2)
    assert str(verdict.rationale).endswith("borne out.")


def test_the_verdict_depends_on_the_image() -> None:
    def judged(sha256: str) -> dict[str | None, float | None]:
        verdicts, _ = drive(
            harmonic.judge(make_case(sha256=sha256), HarmonicOptions(), {JUDGE: "m"})
        )
        (score,), _ = drive(fleur.judge(make_case(sha256=sha256), FleurOptions(), {JUDGE: "m"}))
        return {verdict.criterion: verdict.rating for verdict in verdicts} | {"fleur": score.rating}

    found = [judged(f"{number:064x}") for number in range(6)]
    for criterion in ("correctness", "completeness", "overall", "fleur"):
        assert len({one[criterion] for one in found}) > 1
    for criterion in ("clarity", "fluency", "conciseness"):
        assert len({one[criterion] for one in found}) == 1


def rate(criterion: str, text: str) -> dict[str, float]:
    """The probabilities of the ratings of a text without question and image."""
    answer = rate_criterion(
        Asked(
            f"[Caption]\n{text}\n[End of caption]\n\nEvaluation criterion:\n- {criterion}: "
            f"x\n\nRating scale:\n- 1 x"
        )
    )
    assert answer is not None
    return dict(answer.alternatives[0])


@pytest.mark.parametrize(
    ("criterion", "text", "mean"),
    [
        ("Correctness", "A cat.", 3),  # half borne out without an image: 1 + 4 x 1/2
        ("Clarity", "A cat or a dog, maybe.", 2.6),  # two vague words: 1 + 4 x 0.4
        ("Fluency", "the the cat", 2),  # no capital, no full stop, a word twice: 1 + 4 x 0.25
        ("Conciseness", "A cat sits.", 5),
        (
            "Conciseness",
            "cat " * 16 + "dog dog dog dog dog dog dog dog",
            1.1667,
        ),  # 2 of 24 words x 12 / 24: 1 + 4 / 24
    ],
)
def test_a_rating_by_hand(criterion: str, text: str, mean: float) -> None:
    found = rate(criterion, text)
    assert sum(found.values()) == pytest.approx(0.98)
    assert max(found, key=lambda rating: found[rating]) == str(math.floor(mean + 0.5))


def test_a_score_by_hand() -> None:
    prompt = (
        "Rate it on a scale of 0.0 to 1.0 by the grading criteria.\n\n[References]\n- a "
        "cat\n- a dog\n[End of references]\n\n"
    )
    answer = score_text(
        Asked(f"{prompt}[Caption]\nA cat.\n[End of caption]\n\nScore (from 0.0 to 1.0):")
    )
    # a half is borne out without an image and counts twice, and the caption holds one of two words:
    # (0.5 + 0.5 + 0.5) / 3
    assert answer == TokenReply(
        ("0", ".", "5", "0"), {2: {"5": 0.74, "4": 0.12, "6": 0.12}, 3: {"0": 0.86, "1": 0.12}}
    )


@given(st.text())
def test_other_prompts_are_left_to_others(text: str) -> None:
    assert rate_criterion(Asked(text)) is None
    assert score_text(Asked(text)) is None
    assert (
        rate_criterion(Asked(f"Evaluation criterion:\n- Clarity: x\n\nRating scale:\n- 1 {text}"))
        is None
    )


@pytest.mark.parametrize(
    ("digit", "beside"), [(0, {"1"}), (1, {"0", "2"}), (8, {"7", "9"}), (9, {"8"})]
)
def test_a_digit_s_neighbours_are_the_digits_beside_it(digit: int, beside: set[str]) -> None:
    spread = _spread_digit(digit)
    assert spread.keys() - {str(digit)} == beside
    assert sum(spread.values()) == pytest.approx(0.98)
