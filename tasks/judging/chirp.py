"""What CHIRP's judges have in common: the texts of their prompts, and the turns in which they ask.

`CaseAsker` holds the turns of a judge's generator; each ends with the text to be read
(`tasks.judging.chirp_reading`), or with the verdict that there is none.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from judgelake.tasks.judging import reading
from judgelake.tasks.judging.templates import neutralise
from judgelake.tasks.types import (
    JUDGE,
    Answer,
    Decoding,
    Failure,
    Message,
    Models,
    Reply,
    Request,
    Verdict,
)

Style = Literal["simple", "reasoning", "two_turn"]
EXTRACTOR = "extractor"
MARKERS = (
    "Question:",
    "Assistant 1 Response:",
    "Assistant 2 Response:",
    "Assistant Response:",
    "Correct Answer:",
    "Student's Answer:",
    "Evaluation:",
)
"""The delimiters of all of CHIRP's prompts."""


class FinalReply(NamedTuple):
    """The text that holds the verdict, and the text that explains it."""

    text: str
    rationale: str


Turns = Generator[list[Request], list[Reply | Failure], FinalReply | Verdict]


@dataclass(frozen=True)
class CaseAsker:
    """What all requests of a case share, and the turns in which they are sent."""

    models: Models
    decoding: Decoding
    draw: int
    answer: Answer

    def request(
        self, messages: tuple[Message, ...], endpoint: str = JUDGE, answer: Answer | None = None
    ) -> Request:
        """One request to the model of an endpoint; the extractor is asked at temperature 0."""
        decoding = (
            Decoding(temperature=0.0, max_tokens=self.decoding.max_tokens)
            if endpoint == EXTRACTOR
            else self.decoding
        )
        return Request(
            self.models[endpoint], messages, decoding, self.draw, endpoint, answer=answer
        )

    def ask(self, messages: tuple[Message, ...], endpoint: str = JUDGE) -> Turns:
        """One question, whose reply holds the verdict."""
        (reply,) = yield [self.request(messages, endpoint, self.answer)]
        return check_reply(reply)

    def ask_after_own_answer(
        self, question: tuple[Message, ...], messages: tuple[Message, ...], endpoint: str = JUDGE
    ) -> Turns:
        """The judge answers the question itself; its answer stands in the conversation when it is
        asked to judge.

        An own answer that is cut off at the limit of tokens is still one.
        """
        (own,) = yield [self.request(question, endpoint)]
        checked = check_reply(own)
        if isinstance(own, Failure) or (
            isinstance(checked, Verdict) and checked.status != "truncated"
        ):
            return checked
        if not own.text.strip():
            return Verdict("unparsed", reason="the judge gave no answer of its own to the question")
        return (
            yield from self.ask((*question, Message("assistant", own.text), *messages), endpoint)
        )

    def ask_and_extract(
        self,
        messages: tuple[Message, ...],
        extraction: Callable[[str], tuple[Message, ...]],
        endpoint: str = JUDGE,
    ) -> Turns:
        """The judge reasons; a second model, which sees the judge's text alone, names its
        verdict.
        """
        (replied,) = yield [self.request(messages, endpoint)]
        reasoned = check_reply(replied)
        if isinstance(reasoned, Verdict):
            return reasoned
        if not reasoned.text.strip():
            return Verdict("unparsed", reason="the judge gave no reasoning")
        (reply,) = yield [self.request(extraction(clean(reasoned.text)), EXTRACTOR, self.answer)]
        return check_reply(reply, reasoned.text)


def check_reply(reply: Reply | Failure, rationale: str | None = None) -> FinalReply | Verdict:
    """The text to be read, or the verdict that the reply cannot be read; `rationale` is a text that
    explains more than the reply does.
    """
    replied = reading.check_reply(reply)
    if isinstance(replied, Verdict):
        return replace(replied, rationale=rationale or replied.rationale)
    return FinalReply(replied.text, rationale or replied.text)


def clean(text: str) -> str:
    """Data for a field of a prompt: none of the delimiters in it."""
    return neutralise(text.strip(), MARKERS)
