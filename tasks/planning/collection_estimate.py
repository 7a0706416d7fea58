"""The cost estimate of a collection: what its collectors have left now, and what will follow from
that once it has been generated.

Rubrics that are not there yet have instructions to come, these have responses to come. Their number
is the most that there can be, as if everything were kept. Their prompts are made with seed rubrics
and texts of the lengths that Prometheus-Vision reports.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import duckdb

from judgelake.tasks.collection.rubrics import N_RUBRICS
from judgelake.tasks.collection.seeds import load_seeds
from judgelake.tasks.engine.shard import make_starter
from judgelake.tasks.judging.cases import read_cases
from judgelake.tasks.judging.rubrics import N_LEVELS
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import keep_wanted
from judgelake.tasks.planning.estimate import (
    CostEstimate,
    JudgeEstimate,
    Past,
    estimate_suite,
    read_past,
)
from judgelake.tasks.planning.prompt_lengths import ImageSizes, measure_prompts
from judgelake.tasks.planning.rehearsal import list_first
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import Scope, Suite
from judgelake.tasks.types import Case, Rubric
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame

RESPONSE_WORDS = 417
"""Words of a response in the Perception Collection, on average (appendix B.4)."""
OTHER_WORDS = {"instructions": 60, "responses": 90}
"""Words of an instruction, and of feedback, about as in the paper's figures 13 to 16."""
TOKENS_A_WORD = 4 / 3
_SAMPLED = 50
"""Images whose prompts are made to be measured."""


class _Coming(NamedTuple):
    """How many cases of a collector will follow, and how many calls each takes."""

    name: str
    n_cases: int
    n_calls: int


def estimate_collection(
    lake: Lake, suite: Suite, scope: Scope, retry: tuple[str, ...] = ()
) -> CostEstimate:
    """The estimate of `suite`, one of `suite_of_collection`, narrowed to `scope`."""
    now = estimate_suite(lake, suite, scope, retry)
    pending = {judge.judge: judge.n_pending for judge in now.judges}
    connection = open_warehouse(lake, lazy=True)
    past, cases = read_past(connection), _sample_images(connection, suite, scope)
    n_rubrics = N_RUBRICS * pending.get("rubrics", 0)
    rows: list[JudgeEstimate] = []
    for estimate in now.judges:
        rows.append(estimate)
        judge = suite.judges[estimate.judge]
        if estimate.judge == "instructions":
            coming = _Coming("instructions", n_rubrics, judge.options.instructions)
        elif estimate.judge == "responses" and "instructions" in suite.judges:
            each = suite.judges["instructions"].options.instructions
            n_cases = each * (pending["instructions"] + n_rubrics)
            coming = _Coming("responses", n_cases, N_LEVELS)
        else:
            continue
        if coming.n_cases and cases:
            sizes = ImageSizes(suite.image_root(lake.root), judge.endpoint.image_max_side)
            if not estimate.n_wanted:
                rows.remove(estimate)
            rows.append(_estimate_coming(coming, judge, suite, cases, sizes, past, estimate))
    return CostEstimate(tuple(rows), now.n_scores)


def _sample_images(connection: duckdb.DuckDBPyConnection, suite: Suite, scope: Scope) -> list[Case]:
    """The first images that rubrics are wanted for, as cases of a collector of rubrics."""
    if "rubrics" not in suite.judges:
        return []
    identity = suite.judges["rubrics"].identify(tuple(suite.benchmarks))
    benchmarks = [name for name in identity.benchmarks if name in suite.benchmarks]
    keep_wanted(connection, identity, suite.name, benchmarks, scope.limit)
    text = f"select * from wanted_cases order by context_digest limit {_SAMPLED}"
    return [*read_cases(select_frame(connection, text, "sampled images"))]


def _estimate_coming(
    coming: _Coming,
    judge: JudgeSettings,
    suite: Suite,
    cases: Sequence[Case],
    sizes: ImageSizes,
    past: Past,
    now: JudgeEstimate,
) -> JudgeEstimate:
    identity, endpoint = judge.identify(tuple(suite.benchmarks)), judge.endpoint
    start = make_starter(judge, identity)
    imagined = [
        _imagine(case, rubric, identity.wants.criteria[0])
        for case, rubric in zip(cases, _repeat_seeds(judge, len(cases)), strict=True)
    ]
    requests = [*list_first(map(start, imagined)).values()]
    prompts = measure_prompts(requests, sizes, ())
    n_calls = coming.n_cases * coming.n_calls
    inputs = round(prompts.tokens / max(1, len(requests)) * n_calls)
    words = RESPONSE_WORDS + OTHER_WORDS[coming.name]
    known = past.lengths.get((identity.judge_id, endpoint.model))
    most = n_calls * judge.options.max_tokens
    outputs = min(most, round((known or words * TOKENS_A_WORD) * n_calls))
    price, per_minute = endpoint.known_price, suite.limits.requests_per_minute
    latency_s = past.latencies.get(endpoint.model, endpoint.usual_latency_s)
    seconds = n_calls * latency_s / suite.limits.concurrency
    notes = (
        f"to come: at most {coming.n_cases:,} cases follow from what is not generated yet",
        *(
            ()
            if known
            else (
                f"output tokens to come: {words} words a reply, as in the paper "
                f"({TOKENS_A_WORD:.2f} tokens a word)",
            )
        ),
    )
    return replace(
        now,
        judge=f"{coming.name}, to come",
        n_wanted=coming.n_cases,
        n_present=0,
        n_pending=coming.n_cases,
        n_groups=coming.n_cases,
        n_sampled=len(imagined),
        n_held=0,
        n_calls=n_calls,
        input_tokens=inputs,
        input_error=prompts.error,
        output_tokens=outputs,
        output_tokens_worst=most,
        cost_usd=price.cost_usd(inputs, outputs) if price else None,
        cost_usd_worst=price.cost_usd(inputs * (1 + prompts.error), most) if price else None,
        seconds=max(seconds, 60 * n_calls / per_minute if per_minute else 0.0),
        notes=notes,
    )


def _repeat_seeds(judge: JudgeSettings, n: int) -> list[Rubric]:
    seeds = load_seeds(getattr(judge.options, "seed_rubrics", None))
    rubrics = [seed.rubric for kind in seeds.of_kind.values() for seed in kind.values()]
    return [rubrics[number % len(rubrics)] for number in range(n)]


def _imagine(case: Case, rubric: Rubric, criteria: tuple[str, ...]) -> Case:
    """A case with a rubric, an instruction and a reference answer that are not there yet."""
    return replace(
        case,
        prompt=_write_words(OTHER_WORDS["instructions"]),
        references=(_write_words(RESPONSE_WORDS),),
        rubric=rubric,
        criteria=criteria,
        criterion=criteria[0],
    )


def _write_words(n: int) -> str:
    return " ".join(["words"] * n)
