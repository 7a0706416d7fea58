"""A training in two processes is the training in one: the same losses and weights, also after a kill
and with another number of processes after a stop. A process that is gone ends the others.
"""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
import torch

from judgelake.tasks.errors import BackendError, SuiteError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.training.examples import select_examples
from judgelake.tasks.training.judge_training import TrainingOrder, train_judge, write_judge
from tests.backends.tiny_models import save_decoder, save_llava
from tests.lakes import query
from tests.training.lessons import read_weights, taught, teach, train, write_suite

ALONE: tuple[dict[str, str], ...] = ()
TWO = ({"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "1"})
LEARNING = "batch_size: 3, epochs: {}, checkpoint_steps: 1, learning_rate: 0.005"
CLOSE = 1e-5
"""What the order of adding may change in float32: losses are near 3, weights below 1."""


class Lesson(NamedTuple):
    """Eleven examples in a lake, three a step: the last step of an epoch has two."""

    folder: Path
    lake: Lake
    base: Path

    def train(
        self,
        name: str,
        environments: Any,
        is_stopping: Callable[[], bool] = lambda: False,
        judge: str = "image: true",
        epochs: int = 4,
    ) -> dict[str, Any]:
        """The manifest of a judge in the folder `name`."""
        learning = LEARNING.format(epochs)
        suite = read_suite(write_suite(self.folder, self.base, judge, learning, name, 0.2))
        settings = suite.training
        assert settings is not None
        order = TrainingOrder(settings, suite.judges["student"], suite.image_root(self.lake.root))
        selection = select_examples(self.lake, suite, settings)
        manifest = train_judge(order, selection, quiet, is_stopping, environments)
        write_judge(order, manifest)
        return manifest

    def read(self, name: str) -> dict[str, torch.Tensor]:
        return read_weights(self.folder / name)

    def count_losses(self, name: str) -> int:
        """The steps that an unfinished training has on disk."""
        files = [*self.folder.glob(f"{name}.training/*.checkpoint")]
        return len(torch.load(files[0], weights_only=True)["losses"]) if files else 0


def quiet(_: str) -> None:
    return


def list_processes() -> Iterator[psutil.Process]:
    """The running processes of a training, the first one first."""
    for process in psutil.Process().children(recursive=True):
        if "judgelake.tasks.training.device_process" in process.cmdline():
            yield process


def compare(lesson: Lesson, one: str, other: str) -> float:
    """The largest difference between the weights of two judges."""
    first, second = lesson.read(one), lesson.read(other)
    assert first.keys() == second.keys()
    return max(float((first[name] - second[name]).abs().max()) for name in first)


@pytest.fixture
def lesson(tmp_path: Path) -> Lesson:
    lake = teach(tmp_path, [taught(n, 1 + n % 5, f"Words {n}.") for n in range(14)], n_items=14)
    return Lesson(tmp_path, lake, save_llava(tmp_path / "base"))


@pytest.mark.full
def test_two_processes_come_to_the_losses_and_weights_of_one(lesson: Lesson) -> None:
    one = lesson.train("one", ALONE)
    two = lesson.train("two", TWO)
    assert one["n_examples"] == 11
    assert one["loss_by_step"][-1] < one["loss_by_step"][0] - 0.1
    assert two["loss_by_step"] == pytest.approx(one["loss_by_step"], rel=CLOSE)
    assert two["held_out_loss"] == pytest.approx(one["held_out_loss"], rel=CLOSE)
    assert 0 < compare(lesson, "one", "base") > 100 * CLOSE
    assert compare(lesson, "one", "two") < CLOSE
    same = {*one} - {"devices", "seconds", "passes_a_step", "loss_by_step", "held_out_loss"}
    written = [json.loads(json.dumps(manifest)) for manifest in (one, two)]
    assert all(written[0][key] == written[1][key] for key in same)
    assert (one["devices"], two["devices"]) == (1, 2)
    card = (lesson.folder / "two" / "README.md").read_text()
    assert "| examples a step | 3 on 2 devices, in 2.0 passes on average" in card
    assert [*list_processes()] == []


@pytest.mark.full
def test_a_stopped_training_goes_on_in_another_number_of_processes(lesson: Lesson) -> None:
    lesson.train("calm", ALONE)
    with pytest.raises(KeyboardInterrupt):
        lesson.train("moved", TWO, lambda: lesson.count_losses("moved") >= 2)
    assert 2 <= lesson.count_losses("moved") < 16
    assert lesson.train("moved", ALONE)["devices"] == 1
    assert compare(lesson, "calm", "moved") < CLOSE


@pytest.mark.full
def test_a_process_that_is_gone_is_named_and_the_same_training_goes_on(lesson: Lesson) -> None:
    """kill -9 of the second one; what comes of it is to the bit what two undisturbed ones make."""

    def kill_second() -> bool:
        if lesson.count_losses("killed"):
            for process in [*list_processes()][1:]:
                process.send_signal(signal.SIGKILL)
        return False

    with pytest.raises(
        BackendError,
        match=r"^training: process 2 of 2 was killed by signal 9, and the others were ended; "
        r"expected .* run the same command to go on from the last checkpoint$",
    ):
        lesson.train("killed", TWO, kill_second, epochs=10)
    assert [*list_processes()] == []
    assert 1 <= lesson.count_losses("killed") < 40
    one, other = lesson.train("killed", TWO, epochs=10), lesson.train("calm", TWO, epochs=10)
    assert one["loss_by_step"] == other["loss_by_step"]
    assert compare(lesson, "killed", "calm") == 0


@pytest.mark.full
def test_an_error_of_a_process_is_the_training_s(lesson: Lesson) -> None:
    blind = lesson._replace(base=save_decoder(lesson.folder / "decoder"))
    with pytest.raises(BackendError, match=r"decoder: it has no projector .*; set `train: lora`"):
        blind.train("none", TWO)
    assert [*list_processes()] == []


def test_a_model_that_the_suite_places_on_one_gpu_is_not_trained_on_two(lesson: Lesson) -> None:
    with pytest.raises(
        SuiteError, match=r"judges\.student: device: cuda:0; expected none for a training on 2 dev"
    ):
        lesson.train("placed", TWO, judge='image: true, device: "cuda:0"')


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_the_command_trains_on_two_devices(lesson: Lesson) -> None:
    suite = write_suite(lesson.folder, lesson.base, training=LEARNING.format(1), name="command")
    manifest = train(suite, lesson.lake, devices=2)
    assert manifest["devices"] == 2
    (row,) = query(lesson.lake, "select losses from trainings")
    assert row["losses"] == manifest["loss_by_step"]
