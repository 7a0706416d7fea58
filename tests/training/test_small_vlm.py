"""A VLM of two million random weights learns what the oracle says of drawn scenes: the whole way
from the demo's pictures to the loss, in a few steps.
"""

from pathlib import Path

import pytest

from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import read_suite
from tests.bench.small_vlm import save_small_vlm
from tests.lakes import make_lake, query
from tests.training.lessons import train

SUITE = """
name: scenes
images: {folder}/images
benchmarks:
  learnt: {{source: demo, seed: 101, scenes: 8, pictures: shapes, tasks: [vqa]}}
judges:
  small: {{protocol: prometheus, backend: transformers, model: {folder}/judge, templates: {folder}, rubric_file: {folder}/rubric.yaml, samples: 1, temperature: 0.0, answer_form: forced, feedback: false}}
training: {{student: small, teacher: people, base: {folder}/base, train: all, epochs: 12, batch_size: 16, learning_rate: 2.0e-3, held_out: 0.0, gradient_checkpointing: false}}
"""
RUBRIC = """
- id: correctness
  criterion: Is the answer true of the picture?
  levels: [wrong, nearly wrong, half right, nearly right, right]
"""


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_the_loss_falls_below_that_of_a_level_drawn_at_random(tmp_path: Path) -> None:
    """Three of the five levels occur (the oracle gives 0, 0.5 and 1); ln 5 = 1.61 is the loss of a
    guess among five.
    """
    (tmp_path / "prometheus.txt").write_text("{{ instruction }} {{ response }}")
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    file = tmp_path / "judge.yaml"
    file.write_text(SUITE.format(folder=tmp_path))
    suite, lake = read_suite(file), make_lake(tmp_path)
    ingest_benchmark(lake, suite.benchmarks["learnt"], suite.image_root(lake.root), None)
    said = query(lake, "select prompt, text from core_answers")
    save_small_vlm(tmp_path / "base", [f"{row['prompt']} {row['text']}" for row in said])
    manifest = train(file, lake)
    assert manifest["n_by_score"]["2"] == manifest["n_by_score"]["4"] == 0
    assert manifest["n_trained_weights"] > 1_000_000
    assert manifest["loss_by_step"][-1] < 1.61 < manifest["loss_by_step"][0]
