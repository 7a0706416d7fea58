"""The reason for a rating, asked for once the rating has been given, so that the request of the rating is the same with and without it."""

from collections.abc import Generator, Sequence
from dataclasses import replace

from tasks.judging.types import Failure, Message, Reply, Request, Verdict


def ask_reasons(
    asked: Sequence[Request],
    replies: Sequence[Reply | Failure],
    verdicts: Sequence[Verdict],
    question: Sequence[tuple[Message, ...]],
    max_tokens: int,
) -> Generator[list[Request], list[Reply | Failure], list[Verdict]]:
    """The verdicts, those that have a score with the reason that their judge gives for it in a second turn.

    The score does not hang on the reason: where none comes, the verdict's `reason` says so.
    """
    wanted = [place for place, verdict in enumerate(verdicts) if verdict.status == "ok"]
    if not wanted:
        return list(verdicts)
    told = yield [_follow_up(asked[place], replies[place], question[place], max_tokens) for place in wanted]
    explained = dict(zip(wanted, told, strict=True))
    return [
        _explain(verdict, explained[place]) if place in explained else verdict
        for place, verdict in enumerate(verdicts)
    ]  # fmt: skip


def _follow_up(asked: Request, reply: Reply | Failure, question: tuple[Message, ...], max_tokens: int) -> Request:
    said = reply.text if isinstance(reply, Reply) else ""
    messages = (*asked.messages, Message("assistant", said), *question)
    return replace(asked, messages=messages, decoding=replace(asked.decoding, max_tokens=max_tokens, top_logprobs=0))


def _explain(verdict: Verdict, told: Reply | Failure) -> Verdict:
    if isinstance(told, Failure):
        return replace(verdict, reason=f"scored, but no reason came: {told.reason}")
    if told.refusal or not told.text.strip():
        return replace(verdict, reason=f"scored, but no reason came: {told.refusal or 'the reply is empty'}")
    return replace(verdict, rationale=told.text.strip())
