"""Ingest of 2 GB of annotations as VQAv2 has them, with questions and one model's answers: `python
-m tests.bench.bench_vqa_json [GB]`.

The ingest has a process of its own, so that the peak memory is its own. The figures are printed,
never asserted.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import read_suite
from tests.bench.bench_ingest import WORDS

GB = 10**9
SUITE = """
name: big
benchmarks:
  big:
    source: vqa
    questions: questions.json
    references: annotations.json
    answers: "results_{model}.json"
"""
_HEADER = '{"info": {"version": "2.0"}, "data_type": "mscoco", "data_subtype": "val2014", '
_BLOCK = 10_000


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["ingest"]:
        ingest_here(Path(arguments[1]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, float(arguments[0]) if arguments else 2.0)
        (folder / "suite.yaml").write_text(SUITE)
        subprocess.run(
            [sys.executable, "-m", "tests.bench.bench_vqa_json", "ingest", name], check=True
        )


def ingest_here(folder: Path) -> None:
    began = time.perf_counter()
    suite = read_suite(folder / "suite.yaml")
    lake = open_lake(folder / "lake", create=True)
    summary = ingest_benchmark(lake, suite.benchmarks["big"], folder / "images", None)
    seconds, peak = (
        time.perf_counter() - began,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    )
    size = (folder / "annotations.json").stat().st_size / GB
    print(f"ingest of {size:.2f} GB of annotations: {summary.n_items:,} items, " f"{summary.n_answers:,} answers, "
          f"{summary.n_quarantined} rejected, {seconds:5.1f} s, {peak:4.2f} GiB  (limit for 2 GB: " f"4 GiB)")  # fmt: skip


def write_files(folder: Path, gigabytes: float) -> None:
    """Annotations of so many gigabytes, ten answers each, three questions an image; their lists
    stand last in the files.
    """
    draw = random.Random(7)
    answers = [
        ", ".join(
            f'{{"answer": "{draw.choice(WORDS)}", "answer_confidence": "yes", "answer_id": {n}}}'
            for n in range(1, 11)
        )
        for _ in range(_BLOCK)
    ]
    names, keys = (
        ("annotations", "questions", "results_m"),
        (_HEADER + '"annotations": [', _HEADER + '"questions": [', "["),
    )
    annotations, questions, results = files = [
        (folder / f"{name}.json").open("w") for name in names
    ]
    for file, key in zip(files, keys, strict=True):
        file.write(key)
    start = 0
    while annotations.tell() < gigabytes * GB:
        ids, comma = range(start, start + _BLOCK), ", " if start else ""
        head, tail = (
            '{"question_type": "what is", "multiple_choice_answer": "yes", "answers": [',
            '"answer_type": "other"',
        )
        annotations.write(comma + ", ".join(
            f'{head}{answers[n % _BLOCK]}], "image_id": {n // 3}, {tail}, "question_id": {n}}}' for n in ids
        ))  # fmt: skip
        questions.write(
            comma
            + ", ".join(
                f'{{"image_id": {n // 3}, "question": "What is in place {n}?", "question_id": {n}}}'
                for n in ids
            )
        )
        results.write(
            comma
            + ", ".join(f'{{"question_id": {n}, "answer": "{WORDS[n % len(WORDS)]}"}}' for n in ids)
        )
        start += _BLOCK
    for file, end in zip(files, ("]}", "]}", "]"), strict=True):
        file.write(end)
        file.close()


if __name__ == "__main__":
    main(sys.argv[1:])
