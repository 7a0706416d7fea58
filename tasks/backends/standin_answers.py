"""Which rule of the stand-in answers a prompt. The rules live in `standin_rules` and its neighbours, one file a kind of prompt."""

from collections.abc import Callable

from tasks.backends.standin_chirp import judge_chirp
from tasks.backends.standin_failures import name_failures
from tasks.backends.standin_harmonic import rate_criterion, score_text
from tasks.backends.standin_llava import score_two, write_caption
from tasks.backends.standin_prometheus import grade_response, prefer_feedback
from tasks.backends.standin_rules import Answer, Asked, rate_answer, split_tokens

NO_RULE = "The stand-in has no rule for a prompt of this kind."

RULES: tuple[Callable[[Asked], Answer | None], ...] = (
    grade_response,
    prefer_feedback,
    score_two,
    write_caption,
    rate_criterion,
    score_text,
    name_failures,
    rate_answer,
    judge_chirp,
)
"""Asked in this order; the first that knows the prompt answers."""


def answer_request(asked: Asked) -> Answer:
    """What the stand-in says."""
    for rule in RULES:
        answer = rule(asked)
        if answer is not None:
            return answer
    return Answer(split_tokens(NO_RULE), {})
