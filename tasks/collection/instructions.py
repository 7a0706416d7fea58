"""Collector `collect_instructions`: instructions about an image that a rubric's criterion decides,
each with a reference answer of score 5 (Prometheus-Vision, appendix B.1, step 3, and J.1).
"""

from dataclasses import replace

from judgelake.tasks.collection.asking import TASKS, GenerationOptions, ask, sign_generation
from judgelake.tasks.collection.generations import Drafted, read_parts
from judgelake.tasks.collection.rubrics import name_rubric
from judgelake.tasks.collection.seeds import load_seeds, spell_rubric
from judgelake.tasks.digests import digest_json
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply
from judgelake.tasks.settings import SuitePath, frozen_settings
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
PROMPT = "collect_instruction"


@frozen_settings
class InstructionOptions(GenerationOptions):
    """`built_on`: judge_id and reading of the collector of rubrics. Rubrics whose ROUGE-L with one
    before them is `most_similar` or more are left out.
    """

    built_on: tuple[str, str] = ("", "")
    instructions: int = 2
    most_similar: float = 0.7
    seed_rubrics: SuitePath | None = None


def list_wants(options: InstructionOptions) -> Wants:
    """A case a rubric."""
    names = tuple(f"instruction-{number}" for number in range(1, options.instructions + 1))
    return Wants(
        TASKS,
        unit="instructions",
        criteria=(names,),
        image=True,
        seed=options.seed,
        built_on=options.built_on,
        most_similar=options.most_similar,
        examples=tuple(
            seed.rubric.criterion
            for seeds in load_seeds(options.seed_rubrics).of_kind.values()
            for seed in seeds.values()
        ),
    )


def call_signature(options: InstructionOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked of a rubric; the rubric is part of each case."""
    return {
        **sign_generation("collect_instructions", VERSION, (PROMPT,), options, models),
    }


def reading_signature(_options: InstructionOptions) -> dict[str, object]:
    """How replies are read: two parts between markers."""
    return {"reader": "problem-next-response", "version": 1}


def collect(case: Case, options: InstructionOptions, models: Models) -> Judge:
    """Ask for all instructions of a rubric at a time, each by its number."""
    if case.rubric is None:
        return [Verdict("failed", reason="the case has no rubric")]
    rubric = spell_rubric(Drafted(case.rubric))
    replies = yield [
        ask(PROMPT, {"rubric": rubric, "number": number}, case, options, models)
        for number in range(1, len(case.criteria) + 1)
    ]
    verdicts: list[Verdict] = []
    seen: set[str] = set()
    for name, reply in zip(case.criteria, replies, strict=True):
        verdicts.append(read_verdict(case, name, reply, seen))
    return verdicts


def read_verdict(case: Case, name: str, reply: Reply | Failure, seen: set[str]) -> Verdict:
    """One instruction; one that is `seen` already is no second one."""
    rubric_id = name_rubric(case.rubric) if case.rubric else None
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return replace(replied, criterion=name, made={"rubric_id": rubric_id})
    read = read_parts(replied.text, "Problem", "Response")
    if isinstance(read, str):
        return Verdict("unparsed", criterion=name, reason=read, made={"rubric_id": rubric_id})
    made: dict[str, object] = {
        "rubric_id": rubric_id,
        "instruction_id": digest_json([case.context_digest, rubric_id, *read])[:16],
        "instruction": read.first,
        "reference": read.second,
    }
    key = " ".join(read.first.lower().split())
    if key in seen:
        reason = "the instruction is the same as another one of its rubric"
        return Verdict("rejected", criterion=name, reason=reason, made=made)
    seen.add(key)
    return Verdict("ok", criterion=name, made=made)


COLLECTOR = Protocol(
    "collect_instructions",
    InstructionOptions,
    list_wants,
    call_signature,
    reading_signature,
    collect,
    kind="collector",
)
