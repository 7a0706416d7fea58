"""The ways in which CHIRP's judges are asked: at once, after an answer of their own, or reasoning that a second model reads.

Each is part of a judge's generator and ends with what is to be read, or with the verdict where nothing is. What is asked of which
material is the protocols', how it is read `tasks.judging.chirp_reading`'s matter.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tasks.judging.reading import reply_status
from tasks.judging.templates import neutralise
from tasks.judging.types import JUDGE, Decoding, Failure, Message, Models, Reply, Request, Verdict

Style = Literal["simple", "reasoning", "two_turn"]
EXTRACTOR = "extractor"
MARKERS = (
    "Question:", "Assistant 1 Response:", "Assistant 2 Response:", "Assistant Response:", "Correct Answer:", "Student's Answer:",
    "Evaluation:",
)  # fmt: skip
"""The delimiters of all of CHIRP's prompts."""


class Told(NamedTuple):
    """The text that holds the verdict, and the text that explains it."""

    text: str
    rationale: str


Turns = Generator[list[Request], list[Reply | Failure], Told | Verdict]


@dataclass(frozen=True)
class Asker:
    """What all requests of a case share."""

    models: Models
    decoding: Decoding
    draw: int

    def request(self, messages: tuple[Message, ...], endpoint: str = JUDGE) -> Request:
        """One request to the model of an endpoint; who only extracts is asked at temperature 0."""
        decoding = Decoding(temperature=0.0, max_tokens=self.decoding.max_tokens) if endpoint == EXTRACTOR else self.decoding
        return Request(self.models[endpoint], messages, decoding, self.draw, endpoint)

    def ask(self, messages: tuple[Message, ...], endpoint: str = JUDGE) -> Turns:
        """One question, whose reply holds the verdict."""
        (reply,) = yield [self.request(messages, endpoint)]
        return check_reply(reply)

    def ask_after_own_answer(self, question: tuple[Message, ...], messages: tuple[Message, ...], endpoint: str = JUDGE) -> Turns:
        """The judge answers the question itself; its answer stands in the conversation when it is asked to judge.

        An own answer that is cut off at the limit of tokens is still one.
        """
        (own,) = yield [self.request(question, endpoint)]
        told = check_reply(own)
        if isinstance(own, Failure) or (isinstance(told, Verdict) and told.status != "truncated"):
            return told
        if not own.text.strip():
            return Verdict("unparsed", reason="the judge gave no answer of its own to the question")
        return (yield from self.ask((*question, Message("assistant", own.text), *messages), endpoint))

    def ask_and_extract(
        self, messages: tuple[Message, ...], extraction: Callable[[str], tuple[Message, ...]], endpoint: str = JUDGE
    ) -> Turns:
        """The judge reasons; a second model, which sees the judge's text alone, tells the verdict of it."""
        reasoned = yield from self.ask(messages, endpoint)
        if isinstance(reasoned, Verdict):
            return reasoned
        if not reasoned.text.strip():
            return Verdict("unparsed", reason="the judge gave no reasoning")
        (reply,) = yield [self.request(extraction(clean(reasoned.text)), EXTRACTOR)]
        return check_reply(reply, reasoned.text)


def check_reply(reply: Reply | Failure, rationale: str | None = None) -> Told | Verdict:
    """What a reply tells, or the verdict that it cannot be read; `rationale` is a text that explains more than the reply does."""
    if isinstance(reply, Failure):
        return Verdict("failed", rationale=rationale, reason=reply.reason)
    status = reply_status(reply)
    if status is not None:
        return Verdict(status, rationale=rationale or reply.text or None, reason=reply.refusal)
    return Told(reply.text, rationale or reply.text)


def clean(text: str) -> str:
    """Data for a field of a prompt: none of the delimiters in it."""
    return neutralise(text.strip(), MARKERS)
