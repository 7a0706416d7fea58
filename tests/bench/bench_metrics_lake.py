"""All n-gram metrics but Java's on a million short answers with ten references each: `python -m
tests.bench.bench_metrics_lake [answers]`.

From a lake to scores in it, as a run does it in its one metric worker: planning, shards, corpus
scores, and what a run then finds left. Each step in a process of its own, so that the peak memory
is its own. The figures are printed, never asserted.
"""

import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import content_digest
from judgelake.tasks.lake.lake import Lake, append_records, append_rows, open_lake
from judgelake.tasks.metrics.metric import BleuOptions, CiderOptions, RougeOptions
from judgelake.tasks.metrics.settings import MetricSettings, name_metric
from judgelake.tasks.metrics.shard import run_metric_shard
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.planning.scores import find_pending, write_scores
from judgelake.tasks.reports.corpus import score_corpora
from judgelake.tasks.sources.registry import BenchmarkSettings, DemoSettings
from judgelake.tasks.suite.suite import Scope, Suite
from judgelake.tasks.warehouse.warehouse import open_warehouse

ANSWERS, MODELS, REFERENCES, TEXTS = 1_000_000, 5, 10, 300_000
NAMES = (
    "vqa_accuracy",
    "vqa_accuracy_raw",
    "exact_match",
    "token_f1",
    "soft_vqa_accuracy",
    "rouge_1",
    "rouge_l",
    "cider",
)
METRICS = (
    *map(name_metric, (*NAMES, *(f"bleu_{order}" for order in (1, 2, 3, 4)))),
    MetricSettings("sacrebleu", "bleu", BleuOptions(style="sacrebleu")),
    MetricSettings("rouge_score_1", "rouge", RougeOptions(1, "rouge_score")),
    MetricSettings("rouge_score_l", "rouge", RougeOptions("l", "rouge_score")),
    MetricSettings("cider_plain", "cider", CiderOptions("plain")),
)
SUITE = Suite(
    "big",
    Path("big.yaml"),
    "digest",
    {"big": BenchmarkSettings("big", "demo", DemoSettings())},
    METRICS,
)


def main(arguments: list[str]) -> None:
    if len(arguments) == 2:
        run_step(Lake(Path(arguments[0])), arguments[1])
        return
    count = int(arguments[0]) if arguments else ANSWERS
    with tempfile.TemporaryDirectory() as name:
        lake = open_lake(Path(name) / "lake", create=True)
        fill_lake(lake, count)
        print(f"{count:,} answers x {REFERENCES} references, {len(METRICS)} metrics", flush=True)
        for step in ("score", "report", "plan again"):
            subprocess.run(
                [sys.executable, "-m", "tests.bench.bench_metrics_lake", str(lake.root), step],
                check=True,
            )


def run_step(lake: Lake, step: str) -> None:
    start = time.perf_counter()
    if step == "score":
        score(lake)
    elif step == "report":
        connection = open_warehouse(lake)
        connection.execute(
            "create temp table core_answers as select * from core_answers"
        )  # a report has it already
        assert score_corpora(connection, SUITE).height == len(METRICS) * (MODELS + 1)
    else:
        assert not any(
            len(one.row_ids) for one in find_pending(open_warehouse(lake), SUITE, Scope())
        )
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = f"{time.perf_counter() - start:.1f} s ({time.process_time():.1f} s of processors)"
    print(f"{step}: {seconds}, at most {peak_gib:.2f} GiB", flush=True)


def score(lake: Lake) -> None:
    start = time.perf_counter()
    register_judges(lake, SUITE)
    orders = write_scores(lake, SUITE, Scope(), "bench")
    print(f"  planning {time.perf_counter() - start:.1f} s", flush=True)
    for order in orders:
        result = run_metric_shard(order)
        assert not result.failures, result.failures


def fill_lake(lake: Lake, count: int) -> None:
    """`count` answers of MODELS models; texts of one to three words that a few of are common, as in
    VQA.
    """
    rng, n_items = np.random.default_rng(0), count // MODELS
    words = rng.zipf(1.3, (TEXTS, 3)) % 30_000
    texts = np.array(
        [
            " ".join(f"w{word}" for word in row[:n])
            for row, n in zip(words.tolist(), rng.integers(1, 4, TEXTS), strict=True)
        ]
    )
    references = texts[rng.zipf(1.2, (n_items, REFERENCES)) % TEXTS]
    ids = [f"{number:07}" for number in range(n_items)]
    own = {
        "benchmark": pl.lit("big"),
        "ingest_id": pl.lit("1"),
        "source_file": pl.lit("drawn"),
        "locator": pl.lit("row"),
    }
    empty = {name: pl.lit(None, pl.String) for name in ("category", "split")}
    types = TABLES["items"].polars_schema
    nothing = {
        name: pl.Series(name, [[]] * n_items, dtype=types[name]) for name in ("images", "regions")
    }
    items = pl.DataFrame(
        {
            "item_id": ids,
            "references": references.tolist(),
            "cluster": [f"{k // 3}" for k in range(n_items)],
            **nothing,
        }
    )
    items = items.with_columns(task=pl.lit("vqa"), prompt=pl.lit("What is it?"), **empty, **own)
    append_rows(lake, "items", items)
    held = items["references"].to_list()
    for model in range(MODELS):
        drawn = texts[rng.zipf(1.2, n_items) % TEXTS].tolist()
        name = f"m{model}"
        digests = [
            content_digest("What is it?", known, text)
            for known, text in zip(held, drawn, strict=True)
        ]
        answers = pl.DataFrame(
            {"item_id": ids, "text": drawn, "content_digest": digests}
        ).with_columns(
            answer_id=pl.lit(name),
            model=pl.lit(name),
            style=pl.lit("short"),
            sample=pl.lit(0),
            n_repeats=pl.lit(1),
            **own,
        )
        append_rows(lake, "answers", answers)
    record = {
        "ingest_id": "1",
        "benchmark": "big",
        "source": "drawn",
        "source_digest": "0",
        "item_limit": None,
        "n_items": n_items,
    }
    counts = {"n_answers": n_items * MODELS, "n_quarantined": 0, "ingested_at": datetime.now(UTC)}
    append_records(lake, "ingests", [{**record, **counts}])


if __name__ == "__main__":
    main(sys.argv[1:])
