"""Ingest of a million answers with ten references each, from JSON lines and from Parquet: `python
-m tests.bench.bench_ingest [answers]`.

Each format in a process of its own, so that the peak memory is its own. The figures are printed,
never asserted.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson
import polars as pl

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import read_suite

ANSWERS = 1_000_000
WORDS = [
    f"{head}{tail}"
    for head in "bakoriteshamulopin"
    for tail in ("tan", "ver", "los", "mi", "ship house", "yellow bus", "12")
]
SUITE = """
name: big
benchmarks:
  big:
    source: table
    file: answers.{suffix}
    columns: {{item_id: id, prompt: question, references: answers, answer: answer, model: model, category: model, cluster: image}}
"""


def main(arguments: list[str]) -> None:
    if len(arguments) == 2:
        ingest_here(Path(arguments[0]), arguments[1])
        return
    count = int(arguments[0]) if arguments else ANSWERS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_answers(folder, count)
        for suffix in ("jsonl", "parquet"):
            (folder / f"{suffix}.yaml").write_text(SUITE.format(suffix=suffix))
            subprocess.run(
                [sys.executable, "-m", "tests.bench.bench_ingest", name, suffix], check=True
            )


def ingest_here(folder: Path, suffix: str) -> None:
    began = time.perf_counter()
    suite = read_suite(folder / f"{suffix}.yaml")
    lake = open_lake(folder / f"lake_{suffix}", create=True)
    summary = ingest_benchmark(lake, suite.benchmarks["big"], folder / "images", None)
    seconds, peak = (
        time.perf_counter() - began,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    )
    print(f"ingest from {suffix:7}: {summary.n_answers:,} answers, {summary.n_quarantined} " f"rejected, {seconds:5.1f} s, {peak:4.2f} GiB  "
          "(limits for a million: 60 s, 2 GiB)")  # fmt: skip


def write_answers(folder: Path, count: int) -> None:
    draw = random.Random(7)
    with (folder / "answers.jsonl").open("wb") as file:
        for number in range(count):
            row = {
                "id": number,
                "question": f"What is in place {number}?",
                "answers": draw.choices(WORDS, k=10),
            }
            file.write(
                orjson.dumps(
                    {
                        **row,
                        "model": f"m{number % 5}",
                        "answer": draw.choice(WORDS),
                        "image": f"{number // 3}.jpg",
                    }
                )
                + b"\n"
            )
    pl.scan_ndjson(folder / "answers.jsonl").sink_parquet(folder / "answers.parquet")


if __name__ == "__main__":
    main(sys.argv[1:])
