"""A lake of many verdicts for benches, written through the contracts: ten verdicts on each answer
from four judges, beside two metrics.

`lave` gives one rating, `lave-weighted` one with probabilities of three levels, `prometheus` three
samples, `harmonic` five criteria with probabilities of five levels. Ten models answered each item,
three items share an image; five annotators rated 22,000 of the answers. Replies are left out, for
no report reads them.
"""

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import content_digest
from judgelake.tasks.lake.lake import Lake, append_records, append_rows, open_lake
from tests.lakes import Row, answer, item, judge_row, metric_row, rating

MODELS, ITEMS_AN_IMAGE, ITEMS_AT_ONCE, RATED, ANNOTATORS, MOST_WORDS = 10, 3, 10_000, 22_000, 5, 12
WORDS = np.array(
    [
        "a",
        "cat",
        "dog",
        "on",
        "under",
        "the",
        "red",
        "blue",
        "sofa",
        "by",
        "window",
        "two",
        "near",
        "water",
        "tall",
        "tree",
    ]
)
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
Floats = NDArray[np.float64]


class PlantedJudge(NamedTuple):
    """What a judge leaves for each answer: a verdict a criterion and sample on 1 to `top`, with the
    levels' probabilities or without.
    """

    alias: str
    criteria: tuple[str, ...]
    samples: int
    top: int
    is_weighted: bool

    @property
    def judge_id(self) -> str:
        """16 hex digits."""
        return hashlib.sha256(self.alias.encode()).hexdigest()[:16]


JUDGES = (
    PlantedJudge("lave", ("overall",), 1, 3, False),
    PlantedJudge("lave-weighted", ("overall",), 1, 3, True),
    PlantedJudge("prometheus", ("overall",), 3, 5, False),
    PlantedJudge(
        "harmonic", ("correctness", "completeness", "clarity", "fluency", "conciseness"), 1, 5, True
    ),
)
METRICS = {"vqa_accuracy": "1" * 16, "token_f1": "2" * 16}
VERDICTS_AN_ANSWER = sum(len(judge.criteria) * judge.samples for judge in JUDGES)


class _Answered(NamedTuple):
    """A chunk of answers: item, content and how good each is."""

    item_id: NDArray[np.str_]
    digest: NDArray[np.str_]
    quality: Floats


def plant_lake(folder: Path, n_verdicts: int, seed: int = 0) -> Lake:
    """The lake at `folder`, written now unless it is there whole."""
    whole = folder / f"planted-{n_verdicts}"
    lake = open_lake(folder, create=True)
    if whole.exists():
        return lake
    rng = np.random.default_rng(seed)
    n_items = n_verdicts // VERDICTS_AN_ANSWER // MODELS
    judges = [
        judge_row(one.alias, one.judge_id, call_signature=f"{one.alias}|model:openai/gpt-4o")
        for one in JUDGES
    ]
    append_records(
        lake,
        "judges",
        [*judges, *(metric_row(name, own, call_signature=name) for name, own in METRICS.items())],
    )
    counts = {
        "n_items": n_items,
        "n_answers": n_items * MODELS,
        "n_quarantined": 0,
        "item_limit": None,
    }
    source = {
        "ingest_id": "b-0",
        "benchmark": "b",
        "source": "given",
        "source_digest": "0",
        "ingested_at": AT,
    }
    append_records(lake, "ingests", [{**source, **counts}])
    for start in range(0, n_items, ITEMS_AT_ONCE):
        answered = _plant_answers(lake, range(start, min(start + ITEMS_AT_ONCE, n_items)), rng)
        for judge in JUDGES:
            _plant_verdicts(lake, judge, answered, rng)
        for name, metric_id in METRICS.items():
            _plant_scores(lake, name, metric_id, answered, rng)
    whole.touch()
    return lake


def _plant_answers(lake: Lake, numbers: range, rng: np.random.Generator) -> _Answered:
    items = [
        item(
            f"{n:08}",
            f"What is in picture {n}?",
            ("cat", f"{n}"),
            image=f"{n // ITEMS_AN_IMAGE:08}.png",
        )
        for n in numbers
    ]
    lengths = rng.integers(1, MOST_WORDS + 1, len(items) * MODELS)
    words = WORDS[rng.integers(WORDS.size, size=(lengths.size, MOST_WORDS))]
    texts = [
        " ".join(own[:length]) + f" {k % MODELS}"
        for k, (own, length) in enumerate(zip(words.tolist(), lengths, strict=True))
    ]
    of_item = [row for row in items for _ in range(MODELS)]
    digests = [
        content_digest(row["prompt"], row["references"], text)
        for row, text in zip(of_item, texts, strict=True)
    ]
    answers = [
        answer(row["item_id"], text, f"model-{k % MODELS}", content_digest=digest)
        for k, (row, text, digest) in enumerate(zip(of_item, texts, digests, strict=True))
    ]
    quality = rng.random(lengths.size)
    n_rated = min(max(RATED - numbers.start * MODELS, 0), quality.size)
    said = quality[:n_rated, None] + rng.normal(0, 0.2, (n_rated, ANNOTATORS)) > 0.5
    ratings = [
        rating(answers[k]["item_id"], float(said[k, p]), f"p{p}", answers[k]["answer_id"])
        for k in range(n_rated)
        for p in range(ANNOTATORS)
    ]
    own = {"benchmark": "b", "ingest_id": "b-0", "source_file": "given", "locator": "row"}
    for table, rows in {"items": items, "answers": answers, "human_ratings": ratings}.items():
        append_records(lake, table, [{**row, **own} for row in rows])
    return _Answered(np.array([row["item_id"] for row in of_item]), np.array(digests), quality)


def _plant_verdicts(
    lake: Lake, judge: PlantedJudge, answered: _Answered, rng: np.random.Generator
) -> None:
    """Cases and verdicts; one verdict in a hundred could not be parsed. Numbers that rest on
    log-probabilities are of single precision.
    """
    names = [(criterion, sample) for criterion in judge.criteria for sample in range(judge.samples)]
    n = answered.quality.size * len(names)
    levels = np.arange(1, judge.top + 1)
    ideal = 1 + (judge.top - 1) * np.repeat(answered.quality, len(names)) + rng.normal(0, 0.5, n)
    key = {
        "judge_id": judge.judge_id, "benchmark": "b", "item_id": np.repeat(answered.item_id, len(names)),
        "content_digest": np.repeat(answered.digest, len(names)), "context_digest": "",
        "criterion": np.tile([criterion for criterion, _ in names], answered.quality.size),
        "sample": np.tile([sample for _, sample in names], answered.quality.size),
    }  # fmt: skip
    _write(
        lake,
        "cases",
        n,
        {**key, "other_digest": "", "shown_first": "", "run_id": "run", "planned_at": AT},
    )
    probabilities: pl.Series | None = None
    if judge.is_weighted:
        logits = (-((ideal[:, None] - levels) ** 2)).astype(np.float32)
        shares = np.exp(
            (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))).astype(np.float64)
        )
        rated = (shares @ levels / shares.sum(axis=1)).astype(np.float32).astype(np.float64)
        probabilities = _list_levels(shares.astype(np.float32).astype(np.float64))
    else:
        rated = np.clip(np.rint(ideal), 1, judge.top)
    is_ok = rng.random(n) >= 0.01
    rating_of = np.where(is_ok, rated, np.nan)
    _write(lake, "verdicts", n, {
        **key, "reading": "r1", "status": np.where(is_ok, "ok", "unparsed"), "rating": rating_of,
        "score_0_1": ((rating_of - 1) / (judge.top - 1)).clip(0, 1),
        "probabilities": [] if probabilities is None else probabilities,
        "captured_mass": _draw_masses(n, rng) if judge.is_weighted else None,
        "rationale": None, "reason": pl.Series(np.where(is_ok, "", "no number in the reply")).replace("", None),
        "reply_digests": pl.Series(_draw_digests(n, rng)).reshape((n, 1)).arr.to_list(),
        "run_id": "run", "judged_at": AT,
    })  # fmt: skip


def _draw_masses(n: int, rng: np.random.Generator) -> Floats:
    """What the levels held together: 0.98 in the mean, and at least the 0.5 below which a verdict
    is unparsed.
    """
    return (1 - rng.exponential(0.02, n)).clip(0.5, 1).astype(np.float32).astype(np.float64)


def _draw_digests(n: int, rng: np.random.Generator) -> list[str]:
    drawn = rng.bytes(32 * n).hex()
    return [drawn[start : start + 64] for start in range(0, 64 * n, 64)]


def _list_levels(shares: Floats) -> pl.Series:
    n, top = shares.shape
    level = pa.array(np.tile([str(level) for level in range(1, top + 1)], n))
    pairs = pa.StructArray.from_arrays([level, pa.array(shares.ravel())], ["level", "probability"])
    return pl.Series(
        pa.ListArray.from_arrays(np.arange(0, n * top + 1, top, dtype=np.int32), pairs)
    )


def _plant_scores(
    lake: Lake, name: str, metric_id: str, answered: _Answered, rng: np.random.Generator
) -> None:
    score = (answered.quality + rng.normal(0, 0.3, answered.quality.size)).clip(0, 1)
    _write(lake, "metric_scores", score.size, {
        "judge_id": metric_id, "benchmark": "b", "item_id": answered.item_id, "content_digest": answered.digest, "context_digest": "",
        "score": np.round(score, 1) if name == "vqa_accuracy" else score, "statistics": None, "reason": None, "run_id": "run",
        "scored_at": AT,
    })  # fmt: skip


def _write(lake: Lake, table: str, n: int, columns: Row) -> None:
    schema = TABLES[table].polars_schema
    full = {
        name: pl.Series(value)
        if isinstance(value, np.ndarray | pl.Series)
        else pl.repeat(value, n, dtype=schema[name], eager=True)
        for name, value in columns.items()
    }
    append_rows(
        lake,
        table,
        pl.DataFrame(full).with_columns(pl.col(pl.Float64).fill_nan(None)).select(list(schema)),
    )
