"""The demo's four rule-made models: how often each answers rightly, half rightly or wrongly, and in
how many words.

What may be said is with the questions; here is only who says what. No model runs, and the names say
so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from judgelake.tasks.demo.questions import RATINGS, Pool, Question, as_sentence, finish
from judgelake.tasks.demo.words import pick

_USUAL_SHARE, _HALF = 0.6, 0.5
"""Of the answers that are right or foils: those in annotators' words; of the half right: those that
become right.
"""
LEADS = ("", "as far as I can see, ", "looking closely, ")
TAILS = ("", ", which is easy to make out", ", going by what is in the picture")


@dataclass(frozen=True, slots=True)
class RuleModel:
    """A made-up model: the share of its answers from each pool of sayings; `wordy` wraps them in
    sentences.
    """

    name: str
    shares: Mapping[Pool, float]
    wordy: bool = False

    @property
    def style(self) -> str:
        """The answers' style in the lake."""
        return "long" if self.wordy else "short"


class Answered(NamedTuple):
    """A model's answer and what the oracle, who knows the truth, gives it; `meaning` is what the
    answer says in the most common words, where it is right or a foil.
    """

    text: str
    rating: float
    meaning: str = ""


MODELS = (
    RuleModel(
        "rule-strong",
        {"usual": 0.54, "unusual": 0.24, "partly": 0.10, "alike": 0.06, "wrong": 0.06},
    ),
    RuleModel(
        "rule-verbose",
        {"usual": 0.40, "unusual": 0.24, "partly": 0.14, "alike": 0.12, "wrong": 0.10},
        wordy=True,
    ),
    RuleModel(
        "rule-terse", {"usual": 0.32, "unusual": 0.08, "partly": 0.40, "alike": 0.08, "wrong": 0.12}
    ),
    RuleModel(
        "rule-weak", {"usual": 0.12, "unusual": 0.08, "partly": 0.16, "alike": 0.28, "wrong": 0.36}
    ),
)


def answer_questions(
    rng: np.random.Generator,
    model: RuleModel,
    questions: Sequence[Question],
    *,
    with_foils: bool = False,
) -> list[Answered]:
    """Let a model answer the questions of one task. `with_foils`: no answer is half right, and a
    wrong one is a right one of another picture, in the words that it would have there.
    """
    pools = _draw_pools(rng, model, len(questions))
    answer = _answer_or_foil if with_foils else _answer
    return [
        answer(rng, model, question, pool) for question, pool in zip(questions, pools, strict=True)
    ]


def _draw_pools(rng: np.random.Generator, model: RuleModel, count: int) -> list[Pool]:
    """Spread the pools over `count` questions by systematic sampling: each pool's number is its
    share, rounded up or down.

    Independent draws would now and then leave a model faultless on a task, and its correlations
    undefined.
    """
    names, ends = tuple(model.shares), np.cumsum(list(model.shares.values()))
    points = (rng.permutation(count) + rng.random()) / max(count, 1) * ends[-1]
    places = np.searchsorted(ends[:-1], points, side="right")
    return [names[int(place)] for place in places]


def _answer(rng: np.random.Generator, model: RuleModel, question: Question, pool: Pool) -> Answered:
    saying = pick(rng, getattr(question.sayings, pool))
    text = _wrap(rng, question, saying) if model.wordy else finish(question, saying)
    return Answered(text, RATINGS[pool])


def _answer_or_foil(
    rng: np.random.Generator, model: RuleModel, question: Question, pool: Pool
) -> Answered:
    words: Pool = "usual" if rng.random() < _USUAL_SHARE else "unusual"
    is_right = pool in ("usual", "unusual") or (pool == "partly" and rng.random() < _HALF)
    said = question.sayings if is_right else pick(rng, question.foils)
    saying = pick(rng, getattr(said, words))
    text = _wrap(rng, question, saying) if model.wordy else finish(question, saying)
    return Answered(text, float(is_right), said.usual[0])


def _wrap(rng: np.random.Generator, question: Question, saying: str) -> str:
    return as_sentence(f"{pick(rng, LEADS)}{question.frame.format(saying)}{pick(rng, TAILS)}")
