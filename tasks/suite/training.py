"""The block `training` of a suite: which judge is trained, on the verdicts of which other judge,
and how. The training itself is `tasks.training`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from judgelake.tasks.backends.endpoint import expect
from judgelake.tasks.backends.local.endpoint import LocalSettings
from judgelake.tasks.errors import nearest
from judgelake.tasks.settings import Place, build, entries, frozen_settings
from judgelake.tasks.suite.judges import JudgeSettings

STUDENT = (
    "expected a judge with `protocol: prometheus` or `protocol: lave` and `backend: transformers`, "
    "whose `model` is the folder to be written"
)
PEOPLE = "people"
"""The teacher that stands for the people's ratings of the lake."""
COLLECTION = "collection"
"""The teacher that stands for the responses and the feedback that the suite itself collects."""


@frozen_settings
class TrainingSettings:
    """The defaults are those of Prometheus-Vision (appendix E.2), its 32 examples a device on one.

    `student`: the suite's judge that is trained; its options make the prompts, its `model` is the
    folder that is written. `teacher`: a judge of the lake by its alias, `prometheus` or recorded,
    whose feedback and scores are learnt, or `people`: the mean of the people's ratings, as the
    nearest level, or `collection`: what the suite's block `collection` has collected. A student
    that gives its score alone (`answer_form: forced`) learns the score alone, from any judge.
    `base`: the model to begin with, a hub id or a folder. `train: projector` leaves the language
    model and the vision encoder as they are; `lora` adds low-rank matrices of rank `lora_rank` to
    the language model's layers (scaled by `lora_alpha` / `lora_rank`), trains them and the
    projector, and merges them into the weights that are written. `held_out`: share of the images
    (or of the items without an image) whose examples are not trained on. A step learns from
    `batch_size` examples, on all devices together, in parts of the student's `batch_tokens`;
    `checkpoint_steps`: a checkpoint is written after so many steps, the most that a killed training
    has to repeat. `loss: whole` learns the prompt's text too, an ablation: the paper learns the
    `reply` alone.
    """

    student: str
    teacher: str
    base: str
    revision: str | None = None
    benchmarks: tuple[str, ...] = ()
    train: Literal["projector", "lora", "all"] = "projector"
    lora_rank: int = 128
    lora_alpha: int = 256
    epochs: int = 1
    batch_size: int = 32
    learning_rate: float = 1e-3
    warmup: float = 0.03
    held_out: float = 0.05
    gradient_checkpointing: bool = True
    checkpoint_steps: int = 50
    seed: int = 7
    loss: Literal["reply", "whole"] = "reply"

    def __post_init__(self) -> None:
        for key in ("epochs", "batch_size", "checkpoint_steps", "lora_rank", "lora_alpha"):
            expect(getattr(self, key) >= 1, key, getattr(self, key), "a whole number from 1")
        expect(
            0 < self.learning_rate < 1,
            "learning_rate",
            self.learning_rate,
            "a number above 0 and below 1",
        )
        expect(0 <= self.warmup < 1, "warmup", self.warmup, "a share of the steps from 0, below 1")
        expect(0 <= self.held_out < 1, "held_out", self.held_out, "a share from 0, below 1")
        expect(self.seed >= 0, "seed", self.seed, "a whole number from 0")
        has_folder = Path(self.base).expanduser().is_dir()
        expect(
            self.revision is None or not has_folder,
            "revision",
            self.revision,
            "none for a local folder",
        )


def read_training(
    place: Place, judges: Mapping[str, JudgeSettings], benchmarks: Mapping[str, object]
) -> TrainingSettings:
    """Read a suite's `training`; raises SuiteError naming the line."""
    settings, places = build(TrainingSettings, place), entries(place)
    for name in settings.benchmarks:
        if name not in benchmarks:
            raise places["benchmarks"].fail(
                f"benchmarks: the suite has no {name!r}; {nearest(name, benchmarks)}"
            )
    if settings.student not in judges:
        raise places["student"].fail(
            f"student: the suite has no judge {settings.student!r}; {STUDENT}; add or correct it"
        )
    wrong = find_wrong_student(judges[settings.student], settings)
    if wrong:
        raise places["student"].fail(f"student: {settings.student!r} {wrong}; correct it")
    wrong = find_wrong_teacher(judges[settings.student], settings)
    if wrong:
        raise places["teacher"].fail(f"teacher: {wrong}; correct it")
    return settings


def gives_score_alone(judge: JudgeSettings) -> bool:
    """Whether a judge is held to its score, without feedback or a rationale before it."""
    explains = judge.options.rationale if judge.protocol == "lave" else judge.options.feedback
    return not explains and {*judge.forms.values()} == {"forced"}


def find_wrong_teacher(judge: JudgeSettings, settings: TrainingSettings) -> str | None:
    """Why a student cannot learn from its teacher; None where it can."""
    if settings.teacher == COLLECTION:
        return _find_wrong_reader(judge, settings)
    if settings.teacher != PEOPLE or gives_score_alone(judge):
        return None
    return (
        f"{PEOPLE!r} give no feedback, and the student {settings.student!r} writes some; expected "
        f"`answer_form: forced, feedback: false` of the student, or a judge of the lake"
    )


def _find_wrong_reader(judge: JudgeSettings, settings: TrainingSettings) -> str | None:
    """Why a student cannot learn from collected responses; None where it can."""
    image = getattr(judge.options, "image", "absent")
    if judge.protocol == "prometheus" and image != "swapped":
        return None
    return (
        f"{COLLECTION!r} has rubrics with scores from 1 to 5 on images, and the student "
        f"{settings.student!r} is of `protocol: {judge.protocol}` with `image: {image}`; expected "
        f"`protocol: prometheus` and its own images"
    )


def find_wrong_student(judge: JudgeSettings, settings: TrainingSettings) -> str | None:
    """Why a judge cannot be trained, and what is expected of it; None where it can."""
    endpoint = judge.endpoint
    if judge.protocol not in ("prometheus", "lave") or not isinstance(endpoint, LocalSettings):
        return (
            f"is a judge of `protocol: {judge.protocol}` with `backend: "
            f"{endpoint.backend}`; {STUDENT}"
        )
    if endpoint.revision is not None or endpoint.quantization is not None:
        return (
            "has a revision or a quantization; expected neither, for its weights come from "
            "the training"
        )
    if judge.protocol == "lave" and not gives_score_alone(judge):
        return (
            "writes a rationale, which no teacher has in LAVE's form; expected "
            "`rationale: false, answer_form: forced`"
        )
    image = getattr(judge.options, "image", "absent")
    if settings.train == "projector" and image is not True:
        return (
            f"has `image: {image}`, and a projector is trained with images; "
            f"expected `image: true`, or `train: lora` or `train: all`"
        )
    if Path(endpoint.model).expanduser().absolute() == Path(settings.base).expanduser().absolute():
        return f"would be written over the base {settings.base}; expected another folder"
    return None
