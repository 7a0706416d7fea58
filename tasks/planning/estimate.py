"""The cost estimate of what a suite has left to ask: calls, tokens, money and time. No request is
sent and nothing is written.

A seeded sample of the cases is rehearsed (`tasks.planning.rehearsal`) and scaled up; prompts are
measured in `tasks.planning.prompt_lengths`. Which cases are left is `tasks.planning.cases`, how it
is shown `flows.plan_command`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import duckdb
import polars as pl

from judgelake.tasks.backends.tokens import CHARS_PER_TOKEN
from judgelake.tasks.engine.ledger import read_reply
from judgelake.tasks.engine.shard import make_starter
from judgelake.tasks.judging.cases import read_cases
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import count_work
from judgelake.tasks.planning.lacks import list_lacks, list_unscored
from judgelake.tasks.planning.prompt_lengths import (
    Counted,
    ImageSizes,
    Lengths,
    guess_tokens,
    measure_prompts,
)
from judgelake.tasks.planning.rehearsal import Exchange, Key, list_first, rehearse
from judgelake.tasks.planning.scores import find_pending
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import Scope, Suite
from judgelake.tasks.types import Identity, Judge, Reply
from judgelake.tasks.warehouse.warehouse import open_warehouse, read_sql, select_file, select_frame

SAMPLED, MEASURED, SEED = 500, 200, 0
"""Groups of equal cases that are rehearsed of each judge, and judged cases whose replies are
measured; the seed of both draws.
"""


@dataclass(frozen=True)
class JudgeEstimate:
    """What one judge has left. Calls, tokens and money are expected values, `worst` ones where
    every reply is as long as it may be.

    `cost_usd` is None where the price is not known. `input_error` is relative; `notes` say what is
    not known. `n_paused`: cases left that are not asked, for most of the judge's replies cannot be
    read. `n_groups`: pending cases that differ in what they ask, of which `n_sampled` were
    rehearsed: all of them where both are equal.
    """

    judge: str
    model: str
    n_items: int
    n_answers: int
    n_wanted: int
    n_present: int
    n_pending: int
    n_groups: int
    n_sampled: int
    n_held: int
    n_calls: int
    input_tokens: int
    input_error: float
    output_tokens: int
    output_tokens_worst: int
    cost_usd: float | None
    cost_usd_worst: float | None
    seconds: float
    notes: tuple[str, ...]
    n_paused: int = 0


@dataclass(frozen=True)
class CostEstimate:
    """A whole suite: its judges in the order in which they are asked, and the scores that metrics
    have left, which ask nobody; `unscored`: a line on the items that these cannot score for want of
    something. `n_unanswered`: answers that its answerers have still to generate,
    on which nothing is counted. `samples`: a line on each random sample that it is about.
    """

    judges: tuple[JudgeEstimate, ...]
    n_scores: int
    n_unanswered: int = 0
    samples: tuple[str, ...] = ()
    unscored: tuple[str, ...] = ()


class Past(NamedTuple):
    """Figures of earlier replies in the lake: by (judge_id, model) mean completion tokens, by model
    seconds of the median reply.
    """

    lengths: Mapping[tuple[str, str], float]
    latencies: Mapping[str, float]


@dataclass(frozen=True)
class _Left:
    """A judge's pending cases rehearsed."""

    judge: JudgeSettings
    identity: Identity
    sizes: ImageSizes
    counts: Mapping[str, int]
    scale: float
    asked: list[Exchange]
    n_held: int
    counted: Mapping[str, list[Counted]]
    lacks: tuple[str, ...]


def estimate_suite(
    lake: Lake, suite: Suite, scope: Scope, retry: tuple[str, ...] = ()
) -> CostEstimate:
    """The cost estimate of what `suite` (already narrowed) has left in `lake`."""
    connection = open_warehouse(lake, lazy=True)
    scores = find_pending(connection, suite, scope)
    unscored = tuple(list_unscored(connection, scores))
    every = tuple(suite.benchmarks)
    left = [
        _rehearse_judge(connection, lake, judge, judge.identify(every), suite, scope, retry)
        for judge in suite.judges.values()
    ]
    counted: dict[str, list[Counted]] = {}
    for rehearsed in left:
        for model, prompts in rehearsed.counted.items():
            counted.setdefault(model, []).extend(prompts)
    past = read_past(connection)
    judges = [_estimate(rehearsed, suite, counted, past) for rehearsed in left]
    pending = {estimate.judge: estimate.n_pending for estimate in judges}
    return CostEstimate(
        tuple(
            _note_waiting(replace(estimate, notes=(*part.lacks, *estimate.notes)), part, pending)
            for estimate, part in zip(judges, left, strict=True)
        ),
        sum(len(pending.row_ids) for pending in scores),
        unscored=unscored,
    )


def _rehearse_judge(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    judge: JudgeSettings,
    identity: Identity,
    suite: Suite,
    scope: Scope,
    retry: tuple[str, ...],
) -> _Left:
    work = count_work(connection, identity, suite, scope, retry)
    counts = select_frame(connection, _COUNTS, "items and answers").row(0, named=True)
    counts = {**counts, "n_wanted": work.n_wanted, "n_pending": work.n_pending}
    counts["n_paused"] = work.n_paused
    sample = select_file(connection, "queries/sampled_cases.sql", {"n": SAMPLED, "seed": SEED})
    counts["n_groups"], counts["n_sampled"] = (
        (sample["n_groups"][0], sample.height) if sample.height else (0, 0)
    )
    again = [status for status in retry if status != "failed"]
    key = {"judge_id": identity.judge_id, "reading": identity.reading, "retry": again, "run_id": ""}
    rehearsal = rehearse(
        _start(sample, judge, identity), lambda digests: _find_replies(connection, key, digests)
    )
    scale = counts["n_groups"] / max(1, counts["n_sampled"])
    sizes = ImageSizes(suite.image_root(lake.root), judge.endpoint.image_max_side)
    measured = (
        _measure_judged(connection, judge, identity, key, sizes)
        if work.n_pending < work.n_wanted
        else {}
    )
    for request, reply in rehearsal.stored:
        if reply.prompt_tokens:
            measured.setdefault(request.model, []).append(
                Counted(guess_tokens(request, sizes), reply.prompt_tokens)
            )
    return _Left(
        judge,
        identity,
        sizes,
        counts,
        scale,
        rehearsal.asked,
        len(rehearsal.stored),
        measured,
        tuple(list_lacks(connection, judge, identity, suite, scope)),
    )


_COUNTS = """
select
    (select count(distinct (benchmark, item_id)) from wanted_cases) as n_items,
    (
        select count(*) from stg_answers semi join wanted_cases using (benchmark, item_id)
    ) as n_answers
"""


def _start(cases: pl.DataFrame, judge: JudgeSettings, identity: Identity) -> Iterable[Judge]:
    return map(make_starter(judge, identity), read_cases(cases))


def _find_replies(
    connection: duckdb.DuckDBPyConnection, key: Mapping[str, object], digests: Collection[str]
) -> dict[Key, Reply]:
    text = (
        f"with held as ({read_sql('queries/stored_reply_keys.sql')}), stored as "
        f"({read_sql('queries/stored_replies.sql')}) "
    )
    text += (
        "select request_digest, draw, text, finish_reason, refusal, top_logprobs, "
        "prompt_tokens, completion_tokens, latency_ms "
    )
    text += "from stored semi join held using (request_digest, draw)"
    frame = select_frame(connection, text, "stored replies", {**key, "digests": [*digests]})
    return {
        (row.pop("request_digest"), row.pop("draw")): read_reply(row)
        for row in frame.iter_rows(named=True)
    }


def _measure_judged(
    connection: duckdb.DuckDBPyConnection,
    judge: JudgeSettings,
    identity: Identity,
    key: Mapping[str, object],
    sizes: ImageSizes,
) -> dict[str, list[Counted]]:
    """By model the prompts of cases that were judged, guessed and as the endpoint counted them."""
    cases = select_file(connection, "queries/judged_cases.sql", {"n": MEASURED, "seed": SEED})
    first = list_first(_start(cases, judge, identity))
    replies = _find_replies(connection, key, {digest for digest, _ in first})
    measured: dict[str, list[Counted]] = {}
    for place, reply in replies.items():
        if place in first and reply.prompt_tokens:
            request = first[place]
            measured.setdefault(request.model, []).append(
                Counted(guess_tokens(request, sizes), reply.prompt_tokens)
            )
    return measured


def read_past(connection: duckdb.DuckDBPyConnection) -> Past:
    """Figures of all replies in the lake."""
    rows = select_file(connection, "queries/past_replies.sql").rows()
    lengths = {(judge_id, model): mean for judge_id, model, _, mean, _ in rows if mean is not None}
    timed = sorted((n, model, median) for _, model, n, _, median in rows if median is not None)
    return Past(
        lengths, {model: median / 1000 for _, model, median in timed}
    )  # of two judges the one with more replies


def _estimate(
    left: _Left, suite: Suite, counted: Mapping[str, list[Counted]], past: Past
) -> JudgeEstimate:
    parts = [
        _estimate_endpoint(left, name, asked, counted, past)
        for name, asked in _by_endpoint(left.asked).items()
    ]
    n_calls = round(left.scale * len(left.asked))
    inputs = sum(part.prompts.tokens for part in parts)
    error = (
        sum(part.prompts.tokens * part.prompts.error for part in parts) / inputs if inputs else 0.0
    )
    costs, worst = [part.cost_usd for part in parts], [part.cost_usd_worst for part in parts]
    latencies = [_find_latency(left, exchange.request.endpoint, past) for exchange in left.asked]
    per_minute = suite.limits.requests_per_minute
    seconds = left.scale * sum(latencies) / suite.limits.concurrency
    return JudgeEstimate(
        judge=left.identity.alias,
        model=", ".join(dict.fromkeys(left.judge.models.values())),
        **{
            name: left.counts[name]
            for name in ("n_items", "n_answers", "n_wanted", "n_pending", "n_groups", "n_sampled")
        },
        n_present=left.counts["n_wanted"] - left.counts["n_pending"] - left.counts["n_paused"],
        n_paused=left.counts["n_paused"],
        n_held=round(left.scale * left.n_held),
        n_calls=n_calls,
        input_tokens=round(left.scale * inputs),
        input_error=error,
        output_tokens=round(left.scale * sum(part.outputs for part in parts)),
        output_tokens_worst=round(left.scale * sum(part.outputs_worst for part in parts)),
        cost_usd=None if None in costs else left.scale * sum(cost or 0.0 for cost in costs),
        cost_usd_worst=None if None in worst else left.scale * sum(cost or 0.0 for cost in worst),
        seconds=max(seconds, 60 * n_calls / per_minute if per_minute else 0.0),
        notes=_note_pause(left)
        + tuple(dict.fromkeys(note for part in parts for note in part.notes))
        + _note_sample(left),
    )


def _note_pause(left: _Left) -> tuple[str, ...]:
    n_paused = left.counts["n_paused"]
    if not n_paused:
        return ()
    return (
        f"{left.identity.alias}: paused, {n_paused:,} cases are left and none is asked, for most "
        f"of its replies cannot be read; change the judge, or ask again with --retry unparsed",
    )


def _note_sample(left: _Left) -> tuple[str, ...]:
    if left.counts["n_sampled"] == left.counts["n_groups"]:
        return ()
    return (
        f"calls and lengths: scaled up from {left.counts['n_sampled']:,} of "
        f"{left.counts['n_groups']:,} different cases",
    )


class _EndpointPart(NamedTuple):
    """What goes to one endpoint, of the sample alone."""

    prompts: Lengths
    outputs: float
    outputs_worst: float
    cost_usd: float | None
    cost_usd_worst: float | None
    notes: tuple[str, ...]


def _by_endpoint(asked: Iterable[Exchange]) -> dict[str, list[Exchange]]:
    grouped: dict[str, list[Exchange]] = {}
    for exchange in asked:
        grouped.setdefault(exchange.request.endpoint, []).append(exchange)
    return grouped


def _estimate_endpoint(
    left: _Left, name: str, asked: list[Exchange], counted: Mapping[str, list[Counted]], past: Past
) -> _EndpointPart:
    requests = [exchange.request for exchange in asked]
    model, price = requests[0].model, left.judge.prices[name]
    prompts = measure_prompts(requests, left.sizes, counted.get(model, ()))
    worst = float(sum(request.most_tokens for request in requests))
    mean = past.lengths.get((left.identity.judge_id, model))
    outputs = min(
        worst,
        sum(len(exchange.reply.text) for exchange in asked) / CHARS_PER_TOKEN
        if mean is None
        else mean * len(asked),
    )
    notes = [f"input tokens of {model}: {prompts.how}"]
    notes += (
        []
        if mean is not None
        else [
            f"output tokens of {model}: as in the stand-in's replies; none of the judge's own "
            f"is in the lake"
        ]
    )
    seconds = _find_latency(left, name, past)
    notes += (
        []
        if model in past.latencies
        else [f"time of {model}: at {seconds:g} s a reply; none of its is in the lake"]
    )
    notes += (
        []
        if price
        else [
            f"cost: the price of {model} is not known; add `price: {{input: …, output: …}}` to "
            f"the judge"
        ]
    )
    cost = price.cost_usd(prompts.tokens, outputs) if price else None
    most = price.cost_usd(prompts.tokens * (1 + prompts.error), worst) if price else None
    return _EndpointPart(prompts, outputs, worst, cost, most, tuple(notes))


def _find_latency(left: _Left, name: str, past: Past) -> float:
    endpoint = left.judge.endpoints[name]
    return past.latencies.get(endpoint.model, endpoint.usual_latency_s)


def _note_waiting(
    estimate: JudgeEstimate, left: _Left, pending: Mapping[str, int]
) -> JudgeEstimate:
    """Add notes on what judges of this run's earlier stages must write before this judge's cases
    are known.
    """
    wants = left.identity.wants
    notes = list(estimate.notes)
    if pending.get(wants.captioner):
        notes.append(
            f"prompts: without the captions that {wants.captioner} has still to write; they "
            f"will be longer"
        )
    members = [seat.alias for seat in wants.seats]
    if members:
        notes.append(f"calls: none; the stored verdicts of {', '.join(members)} are combined")
    waited = [alias for alias in (*wants.feedback_of, *members) if pending.get(alias)]
    if waited:
        notes.append(
            f"cases: more will come once {', '.join(waited)} have judged; how many is not "
            f"known, and they are not counted"
        )
    return replace(estimate, notes=tuple(notes))
