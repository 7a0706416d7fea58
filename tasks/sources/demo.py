"""The demo benchmark: pictures drawn from a seed, questions about them, answers of rule-made
models, ratings by an oracle.

Here the parts become frames and files. Pictures are `demo_world` and `demo_paint`, questions the
`demo_*_questions` modules and `demo_captions`, answers `demo_models`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from judgelake.tasks.demo.captions import ask_caption, describe
from judgelake.tasks.demo.models import MODELS, RuleModel, answer_questions
from judgelake.tasks.demo.paint import paint
from judgelake.tasks.demo.questions import Question, draw_references
from judgelake.tasks.demo.reading_questions import ask_reading
from judgelake.tasks.demo.scene_questions import ask_scene
from judgelake.tasks.demo.world import Picture, Scene, draw_pictures
from judgelake.tasks.errors import SourceError
from judgelake.tasks.lake.storage import LakePath, read_file, write_whole
from judgelake.tasks.sources.frames import SourceFrames, frame_schema

CRITERION, ORACLE = "correctness", "oracle"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture and its file."""

    number: int
    picture: Picture
    uri: str
    image_sha256: str

    @property
    def origin(self) -> Row:
        """Where its rows come from."""
        return {"source_file": "demo", "locator": f"scene {self.number}"}


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question about a drawn picture, with the item's key and what the annotators answered."""

    drawn: Drawn
    item_id: str
    question: Question
    references: tuple[str, ...]


def draw_demo(
    seed: int,
    scenes: int,
    image_root: LakePath,
    *,
    only_scenes: bool = False,
    tasks: Sequence[str] = (),
    split: str = "all",
    with_foils: bool = False,
    with_feedback: bool = False,
    shuffled: bool = False,
) -> SourceFrames:
    """Draw the demo benchmark of `scenes` pictures, writing them under `image_root`/demo/`seed`
    (`only_scenes`: demo/shapes-`seed`), with the questions of `tasks` alone where it names some,
    and of a `split` alone unless it is `all`; `with_foils`: what `answer_questions` says;
    `with_feedback`: the oracle is a recorded judge too; `shuffled`: each answer has the verdict on
    another. The same seed draws the same.

    Raises SourceError for a negative seed, fewer than one scene, or a folder that cannot be
    written.
    """
    _check(seed, scenes)
    rng = np.random.default_rng(seed)
    drawn = [
        _keep(number, picture, f"shapes-{seed}" if only_scenes else str(seed), image_root)
        for number, picture in enumerate(draw_pictures(rng, scenes, only_scenes=only_scenes))
    ]
    asked = [
        each
        for scene in drawn
        for each in _ask(rng, scene)
        if (not tasks or each.question.task in tasks)
        and split in ("all", find_split(each.question.prompt))
    ]
    answers, ratings, verdicts = _answer_all(rng, asked, with_foils)
    if not with_feedback:
        verdicts = []
    if shuffled:
        order = rng.permutation(len(ratings)).tolist()
        ratings, verdicts = _reorder(ratings, order), verdicts and _reorder(verdicts, order)
    items = [_item_row(each, split) for each in asked]
    return SourceFrames(
        items=pl.DataFrame(items, schema=frame_schema("items")),
        answers=pl.DataFrame(answers, schema=frame_schema("answers")),
        human_ratings=pl.DataFrame(ratings, schema=frame_schema("human_ratings")),
        captions=pl.DataFrame(
            [_caption_row(scene) for scene in drawn], schema=frame_schema("captions")
        ),
        recorded_verdicts=pl.DataFrame(verdicts, schema=frame_schema("recorded_verdicts")),
    )


def find_split(prompt: str) -> str:
    """`test` for a quarter of all questions' texts, `train` for the others: by their digest, so
    that no text is in both whatever is drawn.
    """
    return "train" if sha256(prompt.encode()).digest()[0] % 4 else "test"


def ask_picture(rng: np.random.Generator, picture: Picture) -> list[Question]:
    """All questions about one picture: two or three about details, and a caption."""
    details = ask_scene(rng, picture) if isinstance(picture, Scene) else ask_reading(rng, picture)
    return [*details, ask_caption(rng, picture)]


def _check(seed: int, scenes: int) -> None:
    if seed < 0:
        raise SourceError(f"demo: seed is {seed}; expected 0 or more; choose another seed")
    if scenes < 1:
        raise SourceError(f"demo: scenes is {scenes}; expected at least 1; ask for more scenes")


def _keep(number: int, picture: Picture, folder: str, image_root: LakePath) -> Drawn:
    uri, png = f"demo/{folder}/scene-{number:04d}.png", paint(picture)
    try:
        _write_once(image_root / uri, png)
    except OSError as error:
        where = image_root / uri
        raise SourceError(
            f"demo: {where} cannot be written ({error}); expected a writable image root; "
            f"choose another"
        ) from error
    return Drawn(number, picture, uri, sha256(png).hexdigest())


def _write_once(path: LakePath, content: bytes) -> None:
    """Write a file unless it is there with this content, so that a second run leaves its time of
    change alone.
    """
    if isinstance(path, Path):
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    elif read_file(path) != content:
        write_whole(path, content)


def _ask(rng: np.random.Generator, drawn: Drawn) -> list[AskedQuestion]:
    return [
        AskedQuestion(
            drawn,
            f"{drawn.number:04d}-{order}-{question.task}",
            question,
            tuple(draw_references(rng, question)),
        )
        for order, question in enumerate(ask_picture(rng, drawn.picture))
    ]


def _answer_all(
    rng: np.random.Generator, asked: Sequence[AskedQuestion], with_foils: bool
) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows of answers, of the oracle's ratings and of the same as verdicts with feedback, in the
    order of models, tasks and items.
    """
    answers, ratings, verdicts = [], [], []
    for model in MODELS:
        for task in dict.fromkeys(each.question.task for each in asked):
            some = [each for each in asked if each.question.task == task]
            drawn = answer_questions(
                rng, model, [each.question for each in some], with_foils=with_foils
            )
            for each, answered in zip(some, drawn, strict=True):
                answers.append(_answer_row(each, model, answered.text))
                ratings.append(_rating_row(each, model, answered.rating))
                verdicts.append(_verdict_row(ratings[-1], _write_feedback(each, answered.meaning)))
    return answers, ratings, verdicts


def _reorder(rows: Sequence[Row], order: Sequence[int]) -> list[Row]:
    """The rows, each with what another one says of its own answer; keys stay where they are."""
    keys = ("item_id", "answer_id")
    return [
        rows[other] | {key: row[key] for key in keys}
        for row, other in zip(rows, order, strict=True)
    ]


def _item_row(asked: AskedQuestion, split: str) -> Row:
    question = asked.question
    return {
        "item_id": asked.item_id,
        "task": question.task,
        "prompt": question.prompt,
        "references": list(asked.references),
        "images": [{"uri": asked.drawn.uri, "sha256": asked.drawn.image_sha256}],
        "regions": [question.box._asdict()] if question.box else [],
        "category": question.category,
        "split": "train" if split == "train" else "test",
        "cluster": asked.drawn.uri,
        **asked.drawn.origin,
    }


def _answer_key(asked: AskedQuestion, model: RuleModel) -> Row:
    return {"item_id": asked.item_id, "answer_id": f"{model.name}/{model.style}/0"}


def _answer_row(asked: AskedQuestion, model: RuleModel, text: str) -> Row:
    return _answer_key(asked, model) | {
        "model": model.name,
        "style": model.style,
        "sample": 0,
        "text": text,
        **asked.drawn.origin,
    }


def _rating_row(asked: AskedQuestion, model: RuleModel, rating: float) -> Row:
    scale = {
        "criterion": CRITERION,
        "annotator": ORACLE,
        "rating": rating,
        "scale_low": 0.0,
        "scale_high": 1.0,
    }
    return _answer_key(asked, model) | scale | asked.drawn.origin


def _write_feedback(asked: AskedQuestion, meaning: str) -> str:
    """What the picture shows, where the question is about that, what is right, and what the answer
    means.
    """
    right = asked.question.sayings.usual[0]
    said = f"{asked.question.evidence} A right answer is {right}.".lstrip()
    if not meaning:
        return said
    return f"{said} The response says {meaning} ({right} {'yes' if meaning == right else 'no'})."


def _verdict_row(rating: Row, feedback: str) -> Row:
    """The oracle's rating on a scale from 1 to 5, after its feedback."""
    score = 1 + 4 * rating["rating"]
    kept = ("item_id", "answer_id", "criterion", "source_file", "locator")
    said = {"text": f"{feedback} [RESULT] {score:.0f}", "reason": None}
    scale = {"rating": score, "scale_low": 1.0, "scale_high": 5.0}
    given = {"judge": ORACLE, "sample": 0, "status": "ok"}
    return {name: rating[name] for name in kept} | given | scale | said


def _caption_row(drawn: Drawn) -> Row:
    return {
        "image_uri": drawn.uri,
        "captioner": "scene-truth",
        "text": describe(drawn.picture),
        **drawn.origin,
    }
