"""What the tests of training share: a lake with a teacher's feedback on five answers, and a suite
whose judge learns from it.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from judgelake.tasks.lake.lake import Lake
from tests.lakes import Row, answer, ingest, item, make_lake

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
