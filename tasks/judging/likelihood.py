"""How likely a language model finds each response, without looking at the image (CHIRP, C.2.7): the
mean log-probability of its tokens.

Compared with judges' choices it shows whether they only prefer likely strings; SQL makes that
comparison.
"""

import math

from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.templates import digest_prompts, render_prompt
from judgelake.tasks.judging.token_reading import are_probabilities
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Case,
    Decoding,
    Failure,
    Judge,
    Models,
    Reply,
    Request,
    Verdict,
    Wants,
)

VERSION = 1
TASKS = ("vqa", "caption", "document", "referring", "instruction")
CRITERION = "likelihood"
PROMPT = "likelihood"
_DECODING = Decoding(temperature=0.0, max_tokens=1)


@frozen_settings
class LikelihoodOptions:
    """`styles`: the styles of answers that are scored, by default all."""

    styles: tuple[str, ...] = ()
    templates: SuitePath | None = None


def list_wants(options: LikelihoodOptions) -> Wants:
    """One case an answer."""
    return Wants(TASKS, criteria=((CRITERION,),), styles=options.styles)


def call_signature(options: LikelihoodOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked."""
    prompt = digest_prompts((PROMPT,), options.templates)
    return {"protocol": "likelihood", "version": VERSION, "model": models[JUDGE], "prompt": prompt}


def reading_signature(_options: LikelihoodOptions) -> dict[str, object]:
    """How replies are read: natural log-probabilities, their mean, and its exponential as the
    score.
    """
    return {"reader": "mean-token-logprob", "version": 1, "score": "exp"}


def judge(case: Case, options: LikelihoodOptions, models: Models) -> Judge:
    """Have the response scored after its question."""
    if not case.answer.strip():
        return [Verdict("failed", reason="the response is empty; it has no tokens to be scored")]
    messages = render_prompt(PROMPT, options.templates, {"question": case.prompt.strip()})
    request = Request(
        models[JUDGE], messages, _DECODING, case.sample, scored=f" {case.answer.strip()}"
    )
    (reply,) = yield [request]
    return [read_verdict(reply)]


def read_verdict(reply: Reply | Failure) -> Verdict:
    """The mean log-probability of a response's tokens, and its exponential: the geometric mean of
    their probabilities.
    """
    if isinstance(reply, Failure):
        return Verdict("failed", reason=reply.reason)
    logprobs = [alternatives[0][1] for alternatives in reply.top_logprobs if alternatives]
    if not logprobs:
        return Verdict(
            "unparsed", reason="the endpoint gave no log-probability of any token of the response"
        )
    if not all(map(are_probabilities, reply.top_logprobs)):
        return Verdict(
            "unparsed", reason="a log-probability of the response is above 0, which is none"
        )
    mean = math.fsum(logprobs) / len(logprobs)
    if not math.isfinite(mean):
        return Verdict(
            "unparsed", reason=f"the mean log-probability of the response's tokens is {mean}"
        )
    return Verdict("ok", rating=mean, score_0_1=min(1.0, math.exp(mean)))


PROTOCOL = Protocol(
    "likelihood", LikelihoodOptions, list_wants, call_signature, reading_signature, judge
)
