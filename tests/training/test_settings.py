from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.suite import read_suite
from tests.training.lessons import write_suite


def refuse(folder: Path, old: str, new: str) -> str:
    file = write_suite(folder, folder / "base")
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(SuiteError) as refused:
        read_suite(file)
    return str(refused.value).removeprefix(f"{folder}/")


def test_the_papers_settings_are_the_defaults(tmp_path: Path) -> None:
    """Appendix E.2: the projector alone, one epoch, 32 a device, 1e-3, warm-up over 3 % of the
    steps.
    """
    training = read_suite(write_suite(tmp_path, tmp_path / "base", training="seed: 0")).training
    assert training is not None
    assert (training.train, training.epochs, training.batch_size) == ("projector", 1, 32)
    assert (training.learning_rate, training.warmup, training.seed) == (1e-3, 0.03, 0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("student: student", "student: other", "judge.yaml:8: student: the suite has no judge 'other'; expected a " "judge with"),
        ("backend: transformers, model: ", "backend: openai, model: ", "is a judge of `protocol: prometheus` with `backend: openai`"),
        ("image: true", "image: absent", "has `image: absent`, and a projector is trained with images; " "expected `image: true`"),
        ("image: true", "quantization: 4bit", "has a revision or a quantization; expected neither"),
        ("batch_size: 2", "batch_size: 0", "judge.yaml:8: batch_size: 0; expected a whole number from 1"),
        ("batch_size: 2", "benchmarks: [c]", "judge.yaml:8: benchmarks: the suite has no 'c'"),
        ("batch_size: 2", "batchsize: 2", "unknown key 'batchsize'; did you mean 'batch_size'?"),
        ("held_out: 0.0", "held_out: 1.0", "judge.yaml:8: held_out: 1.0; expected a share from 0, below 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert message in refuse(tmp_path, old, new)


def test_the_base_is_not_written_over(tmp_path: Path) -> None:
    assert "would be written over the base" in refuse(
        tmp_path, f"base: {tmp_path}/base", f"base: {tmp_path}/judge"
    )
