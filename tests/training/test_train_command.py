"""`judgelake train` from the lake to a folder that the judge itself runs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import torch
import transformers

from judgelake.tasks.errors import BackendError, SuiteError
from judgelake.tasks.training import loop
from judgelake.tasks.training import loop as weights
from judgelake.tasks.training.judge_training import MANIFEST, _find_checkpoint
from tests.backends.tiny_models import CHAT, save_decoder, save_llava
from tests.conftest import CHECKOUT
from tests.flows.harness import wait_until
from tests.lakes import query
from tests.training.lessons import (
    FEEDBACK,
    SHORT,
    judge,
    read_weights,
    taught,
    teach,
    train,
    write_suite,
)
from tests.training.test_score_alone import LORA, PROMETHEUS
from tests.training.test_score_alone import write as write_alone

pytestmark = pytest.mark.usefixtures("one_prefect")


def list_tasks() -> set[str]:
    """The tasks of trainings that ended well, as Prefect shows them."""
    wanted = {
        "flows": {"name": {"any_": ["train-judge"]}},
        "task_runs": {"state": {"type": {"any_": ["COMPLETED"]}}},
    }
    found = httpx.post(f"{os.environ['PREFECT_API_URL']}/task_runs/filter", json=wanted)
    return {row["name"].rpartition("-")[0] for row in found.raise_for_status().json()}


def test_a_judge_that_has_learnt_its_cases_by_heart_says_what_its_teacher_said(
    tmp_path: Path,
) -> None:
    """Between training and judging nothing may differ by a token: the model knows these prompts
    alone.
    """
    lake = teach(tmp_path, [taught(n, n + 1) for n in range(5)])
    (tmp_path / "prometheus.txt").write_text(SHORT)
    base = save_decoder(
        tmp_path / "base", chat=CHAT, initializer_range=0.05, hidden_size=64, intermediate_size=128
    )
    learning = (
        "train: all, epochs: 60, batch_size: 5, learning_rate: 0.01, gradient_checkpointing: false"
    )
    suite = write_suite(tmp_path, base, f"image: absent, templates: {tmp_path}", learning)
    manifest = train(suite, lake)
    assert manifest["loss_by_step"][-1] < 0.02 < manifest["loss_by_step"][0]
    assert judge(suite, lake) == [
        {
            "item_id": f"i{n}",
            "status": "ok",
            "rating": n + 1,
            "rationale": f"{FEEDBACK[n]}. So the overall score is {n + 1}.",
        }
        for n in range(5)
    ]
    (row,) = query(lake, "select judge, losses, scores, seconds from core_trainings")
    assert (row["judge"], row["losses"]) == ("student", manifest["loss_by_step"])
    assert row["scores"] == [{"score": n + 1, "n": 1} for n in range(5)]
    assert row["seconds"] == manifest["seconds"] > 0


def test_the_folder_is_the_base_with_another_projector(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lake = teach(
        tmp_path,
        [taught(n, 1 + n % 5, f"Words {n}.") for n in range(12)] + [taught(0, None, sample=1)],
        n_items=12,
    )
    base = save_llava(tmp_path / "base")
    model = transformers.LlavaForConditionalGeneration.from_pretrained(base, dtype=torch.float16)
    model.save_pretrained(base)  # as LLaVA 1.5 is published
    judged = "image: true, dtype: float32"  # how it is trained and asked, not how it is stored
    suite = write_suite(tmp_path, base, judged, "batch_size: 4, checkpoint_steps: 1", held_out=0.2)
    manifest = train(suite, lake)
    said = capfd.readouterr().out
    # the held-out share is of clusters, drawn by digest: which of the twelve is the same on every
    # machine
    assert (manifest["n_examples"], manifest["n_held_out"], manifest["n_steps"]) == (9, 3, 3)
    assert len(manifest["loss_by_step"]) == 3
    assert len(manifest["held_out_items"]) == 3
    assert manifest["held_out_loss"] > 0
    assert manifest["left_out"] == {"the teacher's verdict is unparsed": 1}
    # a projector of two layers, 16 -> 32 -> 32, with biases: 512 + 32 + 1,024 + 32
    assert manifest["n_trained_weights"] == 1600
    assert "learnt from 9 examples (score 1: " in said
    assert "left out: 1, the teacher's verdict is unparsed" in said
    before, after = read_weights(base), read_weights(tmp_path / "judge")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert {name.rpartition("projector")[0] + "projector" for name in changed} == {
        "multi_modal_projector"
    }
    assert {one.dtype for one in after.values()} == {torch.float16}
    assert sorted(path.name for path in tmp_path.iterdir() if "judge" in path.name) == [
        "judge",
        "judge.yaml",
    ]
    assert [row["status"] for row in judge(suite, lake, limit=1)] == [
        "truncated"
    ]  # random weights seldom end a reply


@pytest.mark.full
def test_the_same_command_again_does_nothing_and_another_training_needs_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = teach(tmp_path, [taught(n, n + 1) for n in range(5)])
    suite = write_suite(tmp_path, save_llava(tmp_path / "base"))
    first = train(suite, lake)
    written = (tmp_path / "judge" / "model.safetensors").stat().st_mtime_ns
    monkeypatch.setattr(weights, "load_base", None)  # no model is loaded
    assert train(suite, lake) == first
    assert len(query(lake, "select run_id from raw_trainings")) == 1
    assert list_tasks() == {"select examples", "train judge", "write judge"}
    assert (tmp_path / "judge" / "model.safetensors").stat().st_mtime_ns == written
    suite.write_text(suite.read_text().replace("batch_size: 2", "batch_size: 3"))
    with pytest.raises(
        SuiteError,
        match=r"judge: holds a judge trained from .*base@files:.* with other settings or data; "
        r"expected",
    ):
        train(suite, lake)
    (tmp_path / "judge" / MANIFEST).unlink()
    with pytest.raises(
        SuiteError,
        match="judge: exists and is no judge that was trained here; expected a new folder",
    ):
        train(suite, lake)


@pytest.mark.full
def test_a_training_that_was_killed_while_it_wrote_goes_on_and_no_other_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = teach(tmp_path, [taught(n, n + 1) for n in range(5)])
    suite = write_suite(tmp_path, save_llava(tmp_path / "base"))

    def die(folder: Path, *_: object) -> None:
        folder.mkdir()
        (folder / "half.safetensors").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(weights, "save_judge", die)
        with pytest.raises(KeyboardInterrupt):
            train(suite, lake)
    assert not (tmp_path / "judge").exists()
    text = suite.read_text()
    suite.write_text(text.replace("batch_size: 2", "seed: 1"))
    with pytest.raises(
        SuiteError,
        match=r"judge\.training: holds an unfinished training .* from another base, other "
        r"settings or data",
    ):
        train(suite, lake)
    suite.write_text(text)
    with monkeypatch.context() as patch:
        patch.setattr(loop.Training, "_step", None)  # all steps were taken before
        manifest = train(suite, lake)
    assert len(manifest["loss_by_step"]) == 3
    (row,) = query(lake, "select losses, run_id from trainings")
    assert row["losses"] == manifest["loss_by_step"]
    assert not (tmp_path / "judge" / "half.safetensors").exists()
    assert query(lake, "select outcome from stg_runs order by started_at") == [
        {"outcome": "stopped"}, {"outcome": "failed"}, {"outcome": "done"},
    ]  # fmt: skip


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    lake = teach(tmp_path, [])
    suite = write_suite(tmp_path, tmp_path / "nowhere")
    with pytest.raises(
        SuiteError,
        match=r"training\.teacher: 'gpt-4v': .* has no such judge; expected a prometheus or "
        r"recorded",
    ):
        train(suite, lake)
    (tmp_path / "two").mkdir()
    taught_lake = teach(tmp_path / "two", [taught(n, n + 1) for n in range(5)])
    suite.write_text(
        suite.read_text().replace(f"images: {tmp_path}", f"images: {tmp_path / 'two'}")
    )
    with pytest.raises(BackendError, match="nowhere: cannot be loaded from the hub"):
        train(suite, taught_lake)
    text = suite.read_text()
    suite.write_text(text[: text.index("training:")])
    with pytest.raises(
        SuiteError, match=r"judge\.yaml: has no training; expected `training: \{student: "
    ):
        train(suite, lake)


@pytest.mark.full
def test_a_training_that_is_killed_goes_on_to_what_it_would_have_come_to(tmp_path: Path) -> None:
    """kill -9 between two checkpoints; the figures are those of a training that nobody
    disturbed.
    """
    lake = teach(tmp_path, [taught(n, n + 1) for n in range(5)])
    (tmp_path / "prometheus.txt").write_text(SHORT)
    base = save_decoder(tmp_path / "base", attention_dropout=0.1)
    learning = (
        "train: all, epochs: 30, batch_size: 2, checkpoint_steps: 5, gradient_checkpointing: false"
    )
    blind = f"image: absent, templates: {tmp_path}"
    calm, killed = (
        write_suite(tmp_path, base, blind, learning, name) for name in ("calm", "killed")
    )

    def start(suite: Path) -> "subprocess.Popen[bytes]":
        command = [
            sys.executable,
            "-m",
            "judgelake.flows.cli",
            "train",
            str(suite),
            "--lake",
            str(lake.root),
        ]
        return subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )

    def count_losses() -> int:
        files = [*tmp_path.glob("killed.training/*.checkpoint")]
        return len(torch.load(files[0], weights_only=True)["losses"]) if files else 0

    running = start(killed)
    try:
        assert wait_until(lambda: count_losses() >= 5, running, pause_s=0.05)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert not (tmp_path / "killed").exists()
    assert 5 <= count_losses() < 90
    assert start(killed).wait() == 0
    one, other = train(calm, lake), json.loads((tmp_path / "killed" / MANIFEST).read_text())
    assert len(one["loss_by_step"]) == 90  # 30 epochs of three steps
    assert one["loss_by_step"] == other["loss_by_step"]
    weights_of = [read_weights(tmp_path / name) for name in ("calm", "killed")]
    assert all(torch.equal(weights_of[0][name], weights_of[1][name]) for name in weights_of[0])


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    assert _find_checkpoint(tmp_path, "this") == tmp_path / "this.checkpoint"
    (tmp_path / "this.checkpoint").touch()
    assert _find_checkpoint(tmp_path, "this") == tmp_path / "this.checkpoint"
    (tmp_path / "other.checkpoint").touch()
    with pytest.raises(SuiteError, match=r"unfinished training \(other\.checkpoint\)"):
        _find_checkpoint(tmp_path, "this")


def test_low_rank_training_of_a_vlm_trains_its_projector_and_leaves_its_eyes(
    tmp_path: Path,
) -> None:
    lake = teach(tmp_path, [taught(n, n + 1) for n in range(5)])
    base = save_llava(tmp_path / "base")
    train(write_alone(tmp_path, PROMETHEUS, LORA, "gpt-4v"), lake)
    before, after = read_weights(base), read_weights(tmp_path / "judge")
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert {name for name in changed if "projector" in name}
    assert {name for name in changed if "q_proj" in name}
    assert not {name for name in changed if "vision" in name}
