"""What a terminal of 80 columns shows of each recipe of `sql/adhoc`, over a lake in which each has
rows for a table: two benchmarks, four models, two judges at two readings, a judge of pairs, a
metric, four annotators. Which rows a recipe finds is tested in test_adhoc.
"""

import io
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import numpy as np
import pytest

from judgelake.flows.sql_answers import answer_recipe
from judgelake.flows.sql_table import measure
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse.catalog import find_recipe, list_recipes
from judgelake.tasks.warehouse.warehouse import materialise, open_warehouse
from tests.flows.test_sql_table import heads
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    judge_row,
    make_lake,
    metric_row,
    preference,
    rating,
    reply_row,
    score_row,
    verdict_row,
)
from tests.sql.test_adhoc import CORRELATION

BENCHMARKS = ("okvqa", "vqav2")
MODELS = ("instructblip-7b", "llava-1.5-13b", "llava-1.5-7b", "qwen-vl-chat")
PAIRS = tuple(itertools.combinations(MODELS, 2))
PEOPLE = ("ann-1", "ann-2", "ann-3", "ann-4")
LAVE, PROMETHEUS, CHIRP, MATCH, GONE = (letter * 16 for letter in "abcde")
JUDGED = ((LAVE, "r1"), (LAVE, "r2"), (PROMETHEUS, "r1"), (PROMETHEUS, "r2"))
ALIASES = ("lave-gpt-4o-mini", "lave-weighted", "prometheus-vision-13b", "prometheus-weighted")
REASONS = ("the reply holds no `So rating=`", "I cannot judge what people in pictures feel")
ITEMS = [
    item(
        f"26214800{n}",
        f"What is the person in front of picture {n} holding in the hand?",
        ("a red umbrella", "umbrella", "parasol")[: 2 + n % 2],
        image=f"COCO_val2014_{n:012}.jpg",
    )
    for n in range(4)
]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    lake = make_lake(tmp_path_factory.mktemp("filled"))
    rng = np.random.default_rng(5)
    every = {"benchmarks": [*BENCHMARKS]}
    rows = [
        judge_row(alias, judge_id, reading=reading, **every)
        for alias, (judge_id, reading) in zip(ALIASES, JUDGED, strict=True)
    ]
    rows += [judge_row("chirp-gpt-4v", CHIRP, **every)]
    signature = {"call_signature": "exact_match|normalizer:official"}
    rows += [metric_row("exact_match", MATCH, **signature, **every)]
    append_records(lake, "judges", rows)
    # the model behind LAVE's alias was another one before
    append_records(lake, "judges", [judge_row(ALIASES[0], GONE, registered_at=at(0), **every)])
    for benchmark in BENCHMARKS:
        put_benchmark(lake, benchmark, rng)
    put_replies(lake)
    with open_warehouse(lake, lazy=True) as connection:
        materialise(connection)
        yield connection


def put_benchmark(lake: Lake, benchmark: str, rng: np.random.Generator) -> None:
    texts = {
        (row["item_id"], model): f"{model} sees a red umbrella, {n}"
        for n, row in enumerate(ITEMS)
        for model in MODELS
    }
    put_answers(lake, benchmark, texts, rng)
    by_id = {row["item_id"]: row for row in ITEMS}
    digests = {key: digest_of(by_id[key[0]], text) for key, text in texts.items()}
    put_verdicts(lake, benchmark, digests, rng)
    put_duels(lake, benchmark, digests, rng)
    figures = [
        {**CORRELATION, "benchmark": benchmark, "judge": alias, "value": value}
        | {"judge_criterion": own, "human_criterion": of}
        for alias in ALIASES
        for own, of, value in (
            ("correctness", "correctness", 0.5123),
            ("correctness", "fluency", -0.2),
        )
    ]
    append_records(lake, "correlations", figures)


def put_answers(
    lake: Lake, benchmark: str, texts: Mapping[tuple[str, str], str], rng: np.random.Generator
) -> None:
    """Answers, and what people say of them; LAVE's categories of failures among it."""
    ids = [row["item_id"] for row in ITEMS]
    answers = [answer(item_id, text, model) for (item_id, model), text in texts.items()]
    # of the first two items people call all right, of the others about half
    ratings = [
        rating(item_id, 1.0 if item_id in ids[:2] else float(rng.integers(0, 2)), who, model)
        for item_id, model in texts
        for who in PEOPLE
    ]
    labels: list[Row] = [
        {"item_id": item_id, "answer_id": model, "labeller": "ann-1"}
        | {"category": category, "holds": bool(rng.integers(0, 2))}
        for item_id, model in texts
        for category in ("synonym", "specificity_or_verbosity")
    ]
    chosen = [
        {"item_id": item_id, "choice_set": "1", "criterion": "overall", "annotator": who}
        | {"answers": [*MODELS], "chosen": MODELS[int(rng.integers(0, 4))]}
        for item_id in ids
        for who in PEOPLE
    ]
    preferences = [
        preference(item_id, a, b, str(rng.choice(["a", "b", "tie"])), who)
        for item_id in ids
        for a, b in PAIRS
        for who in PEOPLE
    ]
    sizes = ((7.0, 1.3), (13.0, 0.3), (7.0, 0.3), (13.0, 1.9))
    models = [
        {"model": model, "family": "f", "training_loss": None}
        | {"llm_parameters_b": llm, "vision_encoder_parameters_b": encoder}
        for model, (llm, encoder) in zip(MODELS, sizes, strict=True)
    ]
    ingest(
        lake,
        ITEMS,
        answers,
        ratings,
        benchmark=benchmark,
        failure_labels=labels,
        choice_sets=chosen,
        human_preferences=preferences,
        models=models,
    )


def put_verdicts(
    lake: Lake,
    benchmark: str,
    digests: Mapping[tuple[str, str], str],
    rng: np.random.Generator,
) -> None:
    """Every judge gives answers to the first item the lowest rating; some verdicts came again, and
    some are of answers that were edited since.
    """
    of: dict[str, Any] = {"benchmark": benchmark}
    cases, verdicts, scores = [], [], []
    for (item_id, model), digest in digests.items():
        cases += [case_row(judge, item_id, digest, **of) for judge in (LAVE, PROMETHEUS)]
        for judge, reading in JUDGED:
            low = item_id == ITEMS[0]["item_id"]
            given = 1 if low else int(rng.integers(1, 4))
            more = of | {"reading": reading, "captured_mass": float(rng.uniform(0.5, 1))}
            key = (judge, item_id, digest)
            if model == MODELS[0] and not low:
                more["reason"] = REASONS[int(judge == LAVE)]
                verdicts += [verdict_row(*key, None, **more)]
                continue
            verdicts += [verdict_row(*key, given, **more, run_id="20260301-0200-7f3a")]
            if model == MODELS[1]:
                edited = (judge, item_id, "f" * 16)
                again = {**more, "run_id": "20260302-0200-91bc"}
                verdicts += [verdict_row(*edited, given, **more)]
                verdicts += [verdict_row(*key, 1 + given % 3, 5, **again)]
        scores += [score_row(MATCH, item_id, digest, float(low), **of)]
    append_records(lake, "cases", cases)
    append_records(lake, "verdicts", verdicts)
    append_records(lake, "metric_scores", scores)


def put_duels(
    lake: Lake,
    benchmark: str,
    digests: Mapping[tuple[str, str], str],
    rng: np.random.Generator,
) -> None:
    """CHIRP's choices, and the ratings that a report made of them."""
    cases, duels = [], []
    for row in ITEMS:
        for pair in PAIRS:
            a, b = sorted(digests[row["item_id"], model] for model in pair)
            more: dict[str, Any] = {"benchmark": benchmark, "criterion": "overall"}
            shown = {"other_digest": b, "shown_first": "a"}
            cases.append(case_row(CHIRP, row["item_id"], a, **shown, **more))
            choice = str(rng.choice(["a", "b"]))
            duels.append(duel_row(CHIRP, row["item_id"], a, b, "a", choice, **more))
    append_records(lake, "cases", cases)
    append_records(lake, "duels", duels)
    ranked: Row = {"suite": "s", "benchmark": benchmark, "criterion": "overall", "category": "*"}
    ranked |= {"method": "elo", "n": 24, "n_missing": 0, "n_clusters": 4, "n_undefined": 0}
    ranked |= {"initial": 1000.0, "scale": 400.0, "resamples": 20, "seed": 0, "reported_at": at(9)}
    rankings = [
        ranked | {"rater": rater, "model": model, "mean": 1000 + float(rng.normal(0, 30))}
        for rater in ("chirp-gpt-4v", "human")
        for model in MODELS
    ]
    append_records(lake, "rankings", rankings)


def put_replies(lake: Lake) -> None:
    """Two runs, in each of which both judges were asked by two snapshots, each request twice."""
    replies, runs = [], []
    for number, run in enumerate(("20260301-0200-7f3a", "20260302-0200-91bc")):
        runs.append(
            {"suite": "nightly", "suite_digest": "d", "stage": "judge", "outcome": "done"}
            | {"n_calls": 8, "n_replies_reused": 0, "n_verdicts": 8, "n_failed": 0, "seed": 0}
            | {"prompt_tokens": 0, "completion_tokens": 0, "versions": "{}", "run_id": run}
            | {"started_at": at(number), "ended_at": at(9)}
        )
        for judge, model in ((LAVE, "gpt-4o-mini"), (PROMETHEUS, "prometheus-vision-13b")):
            for request, draw in itertools.product(range(4), range(2)):
                snapshot = {"requested_model": model, "resolved_model": f"{model}-{request % 2}"}
                said: Row = {"text": f"So rating={draw + request % 2}", "draw": draw, **snapshot}
                cost: Row = {
                    "cost_usd": 0.0123 * (request + 1),
                    "latency_ms": 100.0 * (request + draw),
                }
                digest = f"{number}{request}{'ab'[judge == LAVE]}"
                replies.append(reply_row(judge, digest, run_id=run, **said, **cost))
    append_records(lake, "runs", runs)
    append_records(lake, "replies", replies)


@pytest.mark.parametrize("name", list_recipes())
def test_80_columns_show_what_a_recipe_is_about(
    filled: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A table, since few rows become records, which have every column."""
    monkeypatch.setenv("COLUMNS", "80")
    out = io.StringIO()
    answer_recipe(filled, name, [], "table", out)
    shown = out.getvalue()
    assert shown.startswith("┌"), shown
    assert max(map(measure, shown.splitlines())) <= 80
    assert {*find_recipe(name).about} <= {*heads(shown)}, shown
    assert list_cut(shown) == [], shown


def list_cut(shown: str) -> list[str]:
    """Cells of a table of which nothing, or next to nothing, is left."""
    lines = [line for line in shown.splitlines() if line.startswith("│")]
    cells = [cell.strip() for line in lines for cell in line.split("│")[1:-1]]
    return [cell for cell in cells if cell.endswith("…") and len(cell) < 12]
