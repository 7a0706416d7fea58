"""A judge learns from what its own suite collects, without a file in between: the rows are those of
`collected_examples`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.suite.suite import Suite, parse_suite, suite_of_collection
from judgelake.tasks.suite.training import TrainingSettings
from judgelake.tasks.training.examples import Selection, select_examples
from tests.backends.tiny_models import save_llava
from tests.collection.collecting import collect
from tests.lakes import make_lake, query
from tests.training.lessons import SHORT, read_weights, train

SUITE = """
name: own
benchmarks:
  scenes: {source: demo, scenes: 2}
collection: {benchmarks: [scenes], backend: standin, on_unreadable: go on}
judges:
  student:
    {protocol: prometheus, backend: transformers, model: FOLDER, dtype: float32, samples: 1}
training:
  {student: student, teacher: collection, base: BASE, batch_size: 8, held_out: 0.0,
   gradient_checkpointing: false}
"""


@pytest.fixture(scope="module")
def standin() -> Iterator[StandinProcess]:
    with start_standin() as process:
        yield process


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    base = save_llava(folder / "base")
    text = SUITE.replace("FOLDER", str(folder / "own")).replace("BASE", str(base))
    (folder / "own.yaml").write_text(text)
    return folder


@pytest.fixture(scope="module")
def suite(folder: Path) -> Suite:
    return parse_suite(folder / "own.yaml", (folder / "own.yaml").read_text())


@pytest.fixture(scope="module")
def lake(folder: Path, suite: Suite, standin: StandinProcess) -> Lake:
    lake = make_lake(folder)
    collect(lake, suite_of_collection(suite), "collected", standin.base_url)
    return lake


def select(lake: Lake, suite: Suite, **changed: Any) -> Selection:
    settings = suite.training
    assert isinstance(settings, TrainingSettings)
    return select_examples(lake, suite, replace(settings, **changed))


def test_each_response_is_an_example_of_its_score(lake: Lake, suite: Suite) -> None:
    examples = select(lake, suite).examples
    rows = query(
        lake,
        "select i.instruction, i.reference, r.response, r.feedback, r.score from "
        "stg_collected_responses as r join stg_collected_instructions as i "
        "using (instruction_id) where r.status = 'ok'",
    )
    assert len(examples) == len(rows) > 0
    scores = Counter(example.rating for example in examples)
    assert {*scores} == {1, 2, 3, 4, 5}
    assert len({*scores.values()}) == 1
    targets = Counter(example.target for example in examples)
    assert targets == Counter(
        f"{row['feedback'].partition('So the overall')[0].strip()} "
        f"So the overall score is {row['score']}.\n[RESULT] {row['score']}"
        for row in rows
    )
    prompts = [example.request.messages[0].text for example in examples]
    for row in rows:
        parts = (row["instruction"], row["response"], row["reference"])
        assert any(all(part in prompt for part in parts) for prompt in prompts)
    assert all(example.request.messages[0].images for example in examples)


def test_images_are_held_out_whole(lake: Lake, suite: Suite) -> None:
    examples = select(lake, suite, held_out=0.5, seed=3).examples
    of_image: dict[str, set[bool]] = {}
    for example in examples:
        (image,) = example.request.messages[0].images
        of_image.setdefault(image.uri, set()).add(example.is_held_out)
    assert {len(held) for held in of_image.values()} == {1}


def test_what_another_collection_read_is_not_learnt(lake: Lake, suite: Suite) -> None:
    assert select(lake, suite).left_out == {}
    assert suite.collection is not None
    stricter = replace(suite.collection.options, longest_ratio=1.0)
    other = replace(suite, collection=replace(suite.collection, options=stricter))
    with pytest.raises(SuiteError, match="no example to learn from"):
        select(lake, other)  # it has read nothing yet


def test_what_was_not_kept_is_left_out_with_a_reason(tmp_path: Path, suite: Suite) -> None:
    """Replies that are cut off again and again make responses that are rows, and no examples."""
    lake = make_lake(tmp_path)
    with start_standin(faults={"truncate": 0.6}) as process:
        collect(lake, suite_of_collection(suite), "collected", process.base_url)
    counts = Counter(
        row["status"]
        for row in query(
            lake,
            "select r.status from stg_collected_responses as r join stg_collected_instructions as "
            "i using (instruction_id) where i.status = 'ok'",
        )
    )
    kept = counts.pop("ok")
    assert counts
    selection = select(lake, suite)
    assert len(selection.examples) == kept
    assert selection.left_out == {
        f"the collected response is {status}": count for status, count in counts.items()
    }


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_a_model_is_trained_on_it(lake: Lake, folder: Path) -> None:
    """The template is short, for the tiny model takes 2,048 tokens of a letter each."""
    (folder / "prometheus.txt").write_text(SHORT)
    text = (folder / "own.yaml").read_text()
    (folder / "own.yaml").write_text(text.replace("samples: 1", "samples: 1, templates: ."))
    manifest = train(folder / "own.yaml", lake)
    assert manifest["n_examples"] == sum(manifest["n_by_score"].values()) > 0
    assert manifest["n_steps"] == -(-manifest["n_examples"] // 8)
    before, after = read_weights(folder / "base"), read_weights(folder / "own")
    changed = {name for name in before if not before[name].equal(after[name])}
    assert changed
    assert all("projector" in name for name in changed)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("image: true", "image: swapped", "expected `protocol: prometheus` and its own images"),
        ("benchmarks: [scenes]", "augment: [scenes]", "the suite collects no responses"),
        ("collection: {benchmarks: [scenes], backend: standin, on_unreadable: go on}\n", "",
         "has no collection"),
    ],
)  # fmt: skip
def test_a_suite_that_collects_nothing_to_learn_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = SUITE.replace("FOLDER", "own").replace("BASE", "base")
    text = text.replace("samples: 1}", "samples: 1, image: true}").replace(old, new)
    text = text.replace("held_out", "train: all, held_out")
    with pytest.raises(SuiteError, match=message):
        select(make_lake(tmp_path), parse_suite(tmp_path / "s.yaml", text))
