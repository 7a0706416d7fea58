"""From selected examples to the folder of a judge that `backend: transformers` can run: what is
there already, what is continued, what is written.

Unfinished work lies in `<folder>.training`; the folder itself appears whole, with
`judgelake_training.json`, which says how it was made.
"""

import dataclasses
import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelake.tasks.backends.image_encoding import ImageEncoder
from judgelake.tasks.backends.local.endpoint import LocalSettings
from judgelake.tasks.backends.local.loading import import_torch
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.digests import describe_code, digest_json
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.storage import LakePath, move_folder, write_whole
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.training import TrainingSettings
from judgelake.tasks.training.card import write_card
from judgelake.tasks.training.examples import Selection, count_scores
from judgelake.tasks.training.launcher import run_processes

if TYPE_CHECKING:
    from judgelake.tasks.training.devices import Devices  # imports torch

MANIFEST = "judgelake_training.json"
Manifest = dict[str, Any]
ReportLine = Callable[[str], None]
_PACE = ("checkpoint_steps", "gradient_checkpointing")
"""Settings that change no weight but by rounding: another run may go on with others."""
_LATER = {"loss": "reply"}
"""Settings that came later, and the value for what there was before: it leaves the names of earlier
trainings as they are.
"""


@dataclasses.dataclass(frozen=True)
class TrainingOrder:
    """What is trained from what: `judge` is the suite's judge whose `model` is the folder to be
    written.
    """

    settings: TrainingSettings
    judge: JudgeSettings
    image_root: LakePath

    @property
    def folder(self) -> Path:
        """Where the judge will be."""
        return Path(self.judge.endpoint.model).expanduser()

    @property
    def _student(self) -> LocalSettings:
        endpoint = self.judge.endpoint
        if not isinstance(endpoint, LocalSettings):  # the suite's reader has refused it
            raise TypeError(f"{self.judge.alias} runs no model in this process")
        return endpoint

    @property
    def base(self) -> LocalModel:
        """The model to begin with; where and in what precision it runs is as the student's settings
        say.
        """
        return dataclasses.replace(
            self._student.local, model=self.settings.base, revision=self.settings.revision
        )

    def name(self, selection: Selection) -> str:
        """16 hex digits of all that the trained weights depend on."""
        settings = {
            name: value
            for name, value in dataclasses.asdict(self.settings).items()
            if name not in _PACE and _LATER.get(name) != value
        }
        endpoint = self._student
        shown = [endpoint.image_max_side, endpoint.dtype, self.judge.options.max_tokens]
        return digest_json([settings, self.base.snapshot, shown, selection.digest])[:16]


def train_judge(
    order: TrainingOrder,
    selection: Selection,
    report_line: ReportLine,
    is_stopping: Callable[[], bool] = lambda: False,
    environments: Sequence[Mapping[str, str]] = (),
) -> Manifest:
    """Train, or go on with a training, or find it finished; returns the manifest that
    `judgelake_training.json` holds. The trained weights lie in the work folder until
    `write_judge`. Once `is_stopping`, a checkpoint is written after the step under way, and
    KeyboardInterrupt is raised. With two `environments` or more, as many processes train together,
    each with the variables of one.

    Raises SuiteError where the folder holds something else or the student's settings place it on
    one device, BackendError where the base cannot be trained here.
    """
    name, folder = order.name(selection), order.folder
    done = _read_manifest(folder, name)
    if done is not None:
        report_line(f"{folder} is this training's judge already; nothing to do")
        return done
    checkpoint = _find_checkpoint(_name_work(folder), name)
    if len(environments) > 1:
        _refuse_placed(order, len(environments))
        job = (order, selection, checkpoint)
        return {"name": name, **run_processes(job, environments, report_line, is_stopping)}
    return {"name": name, **train_part(order, selection, checkpoint, report_line, is_stopping)}


def write_judge(order: TrainingOrder, manifest: Manifest) -> str:
    """Give the trained weights their card and manifest, and move them to the judge's folder, unless
    it is there already; returns the digest of its files, as the judge's signature has it.
    """
    folder = order.folder
    work = _name_work(folder)
    if _read_manifest(folder, manifest["name"]) is None:
        write_card(work / "judge", manifest)
        _write_manifest(work / "judge", manifest)
        move_folder(work / "judge", folder)
    shutil.rmtree(work, ignore_errors=True)
    return LocalModel(str(folder)).snapshot


def _name_work(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.training")


def _refuse_placed(order: TrainingOrder, count: int) -> None:
    """Raise SuiteError where the student's settings say which GPU the model is on."""
    base = order.base
    if base.device_map or base.device.startswith("cuda:"):
        key, value = ("device_map", base.device_map) if base.device_map else ("device", base.device)
        raise SuiteError(
            f"judges.{order.judge.alias}: {key}: {value}; expected none for a training on {count} "
            f"devices, each of which holds the whole model; remove it, or train on one device"
        )


def train_part(
    order: TrainingOrder,
    selection: Selection,
    checkpoint: Path,
    report_line: ReportLine,
    is_stopping: Callable[[], bool],
    devices: "Devices | None" = None,
) -> Manifest:
    """Train in this process, with those of the other `devices`; the first of them writes the
    trained weights beside the checkpoint. Returns the manifest without the training's name.
    """
    import_torch()
    from judgelake.tasks.training.devices import Devices
    from judgelake.tasks.training.loop import Training, load_base, plan_steps, save_judge
    from judgelake.tasks.training.rows import TrainingRowMaker

    settings, examples = order.settings, selection.examples
    loaded = load_base(order.base)
    maker = TrainingRowMaker(
        loaded, ImageEncoder(order.image_root, order.judge.endpoint.image_max_side).encode
    )
    devices = devices or Devices()
    training = Training(loaded, settings, maker, checkpoint, devices)
    survey = training.look_through(examples, report_line)
    fitting = [examples[number] for number in survey.fits]
    learnt = [example for example in fitting if not example.is_held_out]
    held_out = [example for example in fitting if example.is_held_out]
    training.run(learnt, report_line, is_stopping)
    manifest = {
        "student": order.judge.alias,
        "settings": dataclasses.asdict(settings),
        "base": f"{settings.base}@{loaded.snapshot.rpartition('@')[2]}",
        "data_digest": selection.digest,
        "n_examples": len(learnt),
        "n_by_score": {
            str(score): count for score, count in count_scores(learnt, order.judge.protocol).items()
        },
        "n_held_out": len(held_out),
        "left_out": dict(Counter(selection.left_out) + Counter(survey.left_out)),
        "n_steps": len(plan_steps(len(learnt), settings)),
        "n_trained_weights": sum(weight.numel() for weight in training.weights.values()),
        "devices": devices.count,
        "passes_a_step": training.n_passes / len(training.losses),
        "loss_by_step": training.losses,
        "held_out_loss": training.measure(held_out),
        "seconds": training.seconds,
        "held_out_items": sorted({(example.benchmark, example.item_id) for example in held_out}),
        "versions": {
            "judgelake": describe_code()["judgelake"],
            **{name: version(name) for name in ("torch", "transformers")},
        },
    }
    if devices.is_first:
        judge = checkpoint.parent / "judge"
        shutil.rmtree(judge, ignore_errors=True)  # of a run that was killed while it wrote
        save_judge(judge, order.base, training.weights, settings)
    return manifest


def _read_manifest(folder: Path, name: str) -> Manifest | None:
    """What a folder says of its training, if it is this one; None where nothing is there. Raises
    SuiteError for anything else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        manifest: Manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SuiteError(
            f"{folder}: exists and is no judge that was trained here; expected a new folder; "
            f"name another as the student's `model`"
        ) from None
    if manifest.get("name") != name:
        raise SuiteError(
            f"{folder}: holds a judge trained from {manifest.get('base')} with other settings or "
            f"data; expected a new folder or the same "
            "training; name another as the student's `model`, or delete it"
        )
    return manifest


def _find_checkpoint(work: Path, name: str) -> Path:
    """The checkpoint of this training, there or not; raises SuiteError where the folder has
    another's.
    """
    others = [file.name for file in work.glob("*.checkpoint") if file.stem != name]
    if others:
        raise SuiteError(
            f"{work}: holds an unfinished training ({others[0]}) from another base, other "
            f"settings or data; expected {name}.checkpoint "
            "or none; run that one to its end, or delete the folder"
        )
    return work / f"{name}.checkpoint"


def _write_manifest(folder: Path, manifest: Manifest) -> None:
    write_whole(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False).encode())
