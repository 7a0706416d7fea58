"""What the tests of training share: a lake with a teacher's feedback on five answers, and a suite
whose judge learns from it.
"""

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from PIL import Image as Pillow

from judgelake.flows.train_command import run_train
from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.suite.suite import Scope, read_suite
from judgelake.tasks.training.judge_training import MANIFEST
from tests.lakes import Row, answer, ingest, item, make_lake, query

RUBRIC = {
    "rubric_id": "r",
    "criterion": "Is it a cat?",
    "levels": ["no", "hardly", "half", "nearly", "yes"],
}
FEEDBACK = (
    "the dog is a dog",
    "what is on the cat",
    "so a cat so a dog",
    "the cat is on it",
    "a cat is the answer",
)
SUITE = """
name: lessons
images: {images}
benchmarks:
  b: {{source: demo, scenes: 5}}
judges:
  student: {{protocol: prometheus, backend: transformers, model: {folder}, samples: 1, temperature: 0.0, max_tokens: 100, {judge}}}
training: {{student: student, teacher: gpt-4v, base: {base}, held_out: {held_out}, {training}}}
"""

SHORT = (
    "{{ response }}\n{{ criterion }} Score 1: {{ levels[0] }} Score 5: {{ levels[4] "
    "}}\n###Feedback:"
)


def taught(number: int, score: float | None, text: str | None = None, **more: object) -> Row:
    """What the teacher said of an item's answer: in the form of the released collection unless
    `text` is given.
    """
    said = (
        f"{FEEDBACK[number % 5]}. So the overall score is {score}.\n[RESULT] {score}"
        if text is None
        else text
    )
    row: Row = {
        "item_id": f"i{number}",
        "answer_id": "m1",
        "judge": "gpt-4v",
        "criterion": "rubric",
        "sample": 0,
        "text": said,
    }
    row |= {
        "status": "unparsed" if score is None else "ok",
        "rating": score,
        "scale_low": 1.0,
        "scale_high": 5.0,
        "reason": None,
    }
    return {**row, **more}


def teach(folder: Path, verdicts: Sequence[Row], n_items: int = 5, **more: Any) -> Lake:
    """A lake whose items have a rubric and a picture each, and one answer."""
    lake = make_lake(folder)
    items = [
        item(
            f"i{n}",
            f"What is on {n}?",
            ("a cat",),
            task="instruction",
            images=[paint(folder, n)],
            cluster=f"{n}.png",
            **more,
        )
        for n in range(n_items)
    ]
    answers = [answer(f"i{n}", f"it is the {'cat ' * (1 + n)}on {n}") for n in range(n_items)]
    links = [{"item_id": f"i{n}", "rubric_id": "r"} for n in range(n_items)]
    ingest(lake, items, answers, rubrics=[RUBRIC], item_rubrics=links, recorded_verdicts=verdicts)
    return lake


def paint(folder: Path, number: int) -> Row:
    file = folder / f"{number}.png"
    pixels = np.random.default_rng(number).integers(0, 256, (40, 40, 3), np.uint8)
    Pillow.fromarray(pixels).save(file)
    return {"uri": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}


def write_suite(
    folder: Path,
    base: Path,
    judge: str = "image: true",
    training: str = "batch_size: 2",
    name: str = "judge",
    held_out: float = 0.0,
) -> Path:
    file = folder / f"{name}.yaml"
    filled = {
        "folder": folder / name,
        "base": base,
        "judge": judge,
        "training": training,
        "held_out": held_out,
    }
    file.write_text(SUITE.format(images=folder, **filled))
    return file


def train(suite: Path, lake: Lake, devices: int = 1) -> dict[str, Any]:
    given = {"suite": suite, "lake": str(lake.root), "wait": 0.0, "log_format": "text"}
    assert run_train(argparse.Namespace(**given, devices=devices)) == 0
    found: dict[str, Any] = json.loads((suite.with_suffix("") / MANIFEST).read_text())
    return found


def judge(file: Path, lake: Lake, limit: int | None = None) -> list[Row]:
    """The trained judge's verdicts, as a run makes them."""
    suite = read_suite(file)
    register_judges(lake, suite)
    (work,) = write_work(lake, suite, Scope(limit), "first")
    for shard in work.shards:
        images = suite.image_root(lake.root)
        run_judge_shard(
            ShardOrder(
                lake, "first", suite.judges["student"], work.identity, suite.limits, shard, images
            )
        )
    return query(
        lake, "select item_id, status, rating, rationale from stg_verdicts order by item_id"
    )


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    return safetensors.torch.load_file(folder / "model.safetensors")
