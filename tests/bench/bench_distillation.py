"""`python -m tests.bench.bench_distillation [FOLDER]`: does a judge of 135 million parameters that
costs nothing earn trust? SmolLM2-135M-Instruct learns people's verdicts on half of the questions of
NQ301 (`judgelake train`, LoRA), and judges the answers to the other half, beside the untuned model,
exact match, BEM and GPT-4.

JUDGELAKE_DATA names the data; FOLDER keeps everything, so that a run that was stopped goes on.
"""

import csv
import json
import random
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import judgelake
from tests.bench.bench_small_judges import DATA, MODEL, SEED
from tests.bench.bench_training import call, timed

HUMAN, BEM, GPT4 = "NQ301_human.tsv", "NQ301_BEM.tsv", "NQ301_gpt-4.tsv"
JUDGE = {
    "protocol": "lave",
    "shots": 0,
    "rationale": False,
    "answer_form": "forced",
    "rating": "weighted",
    "min_mass": 0,
    "backend": "transformers",
}
TRAINING = {
    "student": "tuned",
    "teacher": "people",
    "base": MODEL,
    "benchmarks": ["learnt"],
    "train": "lora",
    "lora_rank": 16,
    "lora_alpha": 32,
    "epochs": 1,
    "batch_size": 8,
    "learning_rate": 5e-4,
    "held_out": 0,
    "gradient_checkpointing": False,
    "checkpoint_steps": 10,
}
AGREEMENT = """
with rated as (
    select alias as judge_alias, judge as score, human, cluster from scores_with_people
    where benchmark = 'tested' and human is not null and judge is not null
),
found as (
    select judge_alias, count(*) as n, spearman_ci(score, human, cluster, resamples := 2000) as rho
    from rated group by all
)
select judge_alias, n, round(rho.value, 3) as spearman, round(rho.low, 3) as low,
    round(rho.high, 3) as high
from found order by spearman desc
"""


def write_half(folder: Path, questions: Collection[str]) -> dict[str, Any]:
    """The rows of NQ301 about these questions, as a benchmark."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (HUMAN, BEM, GPT4):
        with (DATA / "nq301" / name).open(encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream, delimiter="\t")
        place = header.index("Question")
        with (folder / name).open("w", encoding="utf-8", newline="") as stream:
            kept = [row for row in rows if row[place] in questions]
            csv.writer(stream, delimiter="\t").writerows([header, *kept])
    return {
        "source": "nq301",
        "answers": str(folder / HUMAN),
        "references": str(folder / BEM),
        "judges": {"bem": str(folder / BEM), "gpt-4": str(folder / GPT4)},
        "undecided": 0.5,
    }


def write_suite(folder: Path) -> Path:
    """Both halves, the untuned model and the one that is trained."""
    with (DATA / "nq301" / HUMAN).open(encoding="utf-8", newline="") as stream:
        questions = sorted({row["Question"] for row in csv.DictReader(stream, delimiter="\t")})
    random.Random(SEED).shuffle(questions)
    middle = len(questions) // 2
    suite = {
        "name": "distillation",
        "benchmarks": {
            "learnt": write_half(folder / "learnt", set(questions[:middle])),
            "tested": write_half(folder / "tested", set(questions[middle:])),
        },
        "metrics": ["exact_match"],
        "judges": {
            "untuned": JUDGE | {"model": MODEL, "benchmarks": ["tested"]},
            "tuned": JUDGE | {"model": str(folder / "tuned"), "benchmarks": ["tested"]},
        },
        "training": TRAINING,
    }
    file = folder / "suite.yaml"
    file.write_text(json.dumps(suite), encoding="utf-8")  # JSON is YAML
    return file


def main() -> None:
    """Train, judge, and print the agreement with people of each judge and metric."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()).resolve()
    suite, lake = write_suite(folder), folder / "lake"
    call("ingest", suite, "--lake", lake)
    with timed("training"):
        call("train", suite, "--lake", lake)
    with timed("judging"):
        call("run", suite, "--lake", lake)
    print(judgelake.open(str(lake)).sql(AGREEMENT).polars())


if __name__ == "__main__":
    main()
