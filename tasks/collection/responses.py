"""Collector `collect_responses`: to an instruction a response for each score from 1 to 5, as long
as the reference answer, with feedback that ends in the fixed phrase (Prometheus-Vision, appendix
B.1, step 4, and J.1).
"""

from dataclasses import replace

from judgelake.tasks.collection.asking import TASKS, GenerationOptions, ask, sign_generation
from judgelake.tasks.collection.generations import (
    Drafted,
    count_sentences,
    count_words,
    read_feedback,
    read_parts,
)
from judgelake.tasks.collection.rubrics import name_rubric
from judgelake.tasks.collection.seeds import spell_rubric
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply
from judgelake.tasks.judging.rubrics import N_LEVELS
from judgelake.tasks.judging.templates import neutralise
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.types import (
    Case,
    Failure,
    Judge,
    Models,
    Reply,
    Verdict,
    Wants,
)

VERSION = 1
PROMPT = "collect_response"
_MARKERS = ("[NEXT]", "[END]", "overall score is")


@frozen_settings
class ResponseOptions(GenerationOptions):
    """`built_on`: judge_id and reading of the collector of instructions. A response that is more
    than `longest_ratio` times as long as its reference answer, or as short, is rejected.
    """

    built_on: tuple[str, str] = ("", "")
    longest_ratio: float = 2.0


def list_wants(options: ResponseOptions) -> Wants:
    """A case an instruction, with a generation for each score."""
    names = tuple(f"score-{score}" for score in range(1, N_LEVELS + 1))
    return Wants(
        TASKS,
        unit="responses",
        criteria=(names,),
        image=True,
        seed=options.seed,
        built_on=options.built_on,
    )


def call_signature(options: ResponseOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked of an instruction, which is part of each case."""
    return {
        **sign_generation("collect_responses", VERSION, (PROMPT,), options, models),
    }


def reading_signature(options: ResponseOptions) -> dict[str, object]:
    """How replies are read: two parts between markers, and the lengths that are taken."""
    return {
        "reader": "response-next-feedback",
        "version": 1,
        "longest_ratio": options.longest_ratio,
    }


def collect(case: Case, options: ResponseOptions, models: Models) -> Judge:
    """Ask for the responses of all five scores at a time."""
    if case.rubric is None or not case.references:
        return [Verdict("failed", reason="the case has no rubric or no reference answer")]
    reference = case.references[0]
    shared: dict[str, object] = {
        "instruction": neutralise(case.prompt, _MARKERS),
        "rubric": spell_rubric(Drafted(case.rubric)),
        "reference": neutralise(reference, _MARKERS),
        "n_sentences": count_sentences(reference),
    }
    replies = yield [
        ask(PROMPT, {**shared, "score": score}, case, options, models)
        for score in range(1, N_LEVELS + 1)
    ]
    return [
        read_verdict(case, options, name, score, reply)
        for score, (name, reply) in enumerate(zip(case.criteria, replies, strict=True), 1)
    ]


def read_verdict(
    case: Case, options: ResponseOptions, name: str, score: int, reply: Reply | Failure
) -> Verdict:
    """One response with its feedback."""
    n_reference = count_words(case.references[0])
    made: dict[str, object] = {
        "rubric_id": name_rubric(case.rubric) if case.rubric else None,
        "instruction_id": case.content_digest,
        "score": score,
        "n_reference_words": n_reference,
    }
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return replace(replied, criterion=name, made=made)
    read = read_parts(replied.text, "Response", "Feedback")
    if isinstance(read, str):
        return Verdict("unparsed", criterion=name, reason=read, made=made)
    n_words = count_words(read.first)
    made |= {"response": read.first, "feedback": read.second, "n_words": n_words}
    wrong = read_feedback(read.second, score)
    if wrong is not None:
        return Verdict("unparsed", criterion=name, reason=wrong, made=made)
    if not 1 / options.longest_ratio <= n_words / n_reference <= options.longest_ratio:
        reason = (
            f"the response has {n_words:,} words and the reference answer {n_reference:,}; "
            f"expected at most {options.longest_ratio:g} times as many, or as few"
        )
        return Verdict("rejected", criterion=name, reason=reason, made=made)
    return Verdict("ok", criterion=name, made=made)


COLLECTOR = Protocol(
    "collect_responses",
    ResponseOptions,
    list_wants,
    call_signature,
    reading_signature,
    collect,
    kind="collector",
)
