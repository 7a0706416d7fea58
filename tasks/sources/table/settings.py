"""Settings of source `table`: how files' columns become the lake's tables. What values are is
`values`, files `tasks.sources.readers.files`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Annotated, Literal

from judgelake.tasks.errors import nearest
from judgelake.tasks.settings import OneOrMany, frozen_settings
from judgelake.tasks.sources.readers.files import Names
from judgelake.tasks.sources.readers.record_paths import Kind, root_of
from judgelake.tasks.sources.table.columns import (
    Use,
    find_kinds,
    list_mapped,
    list_uses,
    refuse_ignored,
    refuse_unused,
    refuse_wrong_texts,
)
from judgelake.tasks.sources.table.judges import (
    DuelSettings,
    FailureSettings,
    LabelSettings,
    VerdictSettings,
)
from judgelake.tasks.sources.table.shaping import JoinSettings, RowSettings
from judgelake.tasks.sources.table.values import Name, Value, check_scale, need

ITEM_COLUMNS = ("task", "prompt", "references", "images", "regions", "category", "split", "cluster")
ANSWER_COLUMNS = ("answer", "answer_id", "model", "style", "sample")
MODEL_COLUMNS = (
    "model",
    "family",
    "llm_parameters_b",
    "vision_encoder_parameters_b",
    "training_loss",
)


@frozen_settings
class AnswerSettings:
    """One answer of a row. Its id is `answer_id`, else model/style/sample, else its source row."""

    text: Value | None = None
    model: Name | None = None
    answer_id: Value | None = None
    style: Name | None = None
    sample: Value | None = None


@frozen_settings
class RatingSettings:
    """People's ratings of an answer, a blank one left out: either `rating` (one column),
    `annotators` (columns, each an annotator) or `criteria` (column: criterion). `answer` names one
    of `answers` by its model.
    """

    scale: tuple[float, ...]
    rating: Value | None = None
    annotators: Names = ()
    criteria: Mapping[str, str] = field(default_factory=dict)
    criterion: Name = Name(constant="correctness")
    annotator: Value | None = None
    values: Mapping[str, str | None] | None = None
    answer: str | None = None

    def __post_init__(self) -> None:
        check_scale(self.scale)
        given = sum(map(bool, (self.rating, self.annotators, self.criteria)))
        need(
            given == 1,
            "rating",
            "expected one of `rating`, `annotators` and `criteria`; keep one of them",
        )
        named = self.annotators or self.annotator
        need(
            bool(named),
            "annotator",
            "missing; expected the column of the annotator's name, or {constant: name}; add it",
        )
        need(
            not (self.annotators and self.annotator),
            "annotator",
            "says nothing beside `annotators`, which are the annotators; remove one of both",
        )
        need(
            not self.criteria or self.criterion == Name(constant="correctness"),
            "criterion",
            "says nothing beside `criteria`, which names each column's criterion; remove it",
        )


@frozen_settings
class PreferenceSettings:
    """A person's choice between two answers: `values` maps the column's texts to a, b and tie.
    `answer_a` and `answer_b` are answer ids, by default those of the first two `answers`.
    """

    choice: Value
    annotator: Value
    values: Mapping[str, str | None] | None = None
    answer_a: Value | None = None
    answer_b: Value | None = None
    criterion: Name = Name(constant="overall")
    shown_first: Value | None = None


@frozen_settings
class ChoiceSettings:
    """A person's choice of the best of several answers to an item: `answers` are ids (a list, or by
    `split`), by default those of the row's `answers`; `chosen` is one of the ids, or a text that
    `values` maps to one. `set` names the set, where an item has several.
    """

    chosen: Value
    annotator: Value
    answers: Value | None = None
    set: Value | None = None
    criterion: Name = Name(constant="overall")
    values: Mapping[str, str | None] | None = None


@frozen_settings
class FeedbackSettings:
    """A person's choice between two authors' feedbacks on an answer: `values` maps the column's
    texts to a, b and tie. `answer` names one of `answers` by its model.
    """

    author_a: Name
    author_b: Name
    choice: Value
    annotator: Value
    values: Mapping[str, str | None] | None = None
    criterion: Name = Name(constant="overall")
    answer: str | None = None


@frozen_settings
class ScoreSettings:
    """Recorded scores of a metric that is not computed here."""

    metric: Name
    score: Value
    answer: str | None = None


@frozen_settings
class CaptionSettings:
    """Captions of images; `captioner` is who wrote them."""

    image: Value
    text: Value
    captioner: Name = Name(constant="dataset")


@frozen_settings
class RubricSettings:
    """The rubric of a row's item: its criterion and what each level means, the lowest first. Its id
    is the item's by default.
    """

    criterion: Value
    levels: Value
    rubric_id: Value | None = None


@frozen_settings
class PublishedSettings:
    """Scores of a model that somebody published: `score` on `published_benchmark`, or `scores`
    (column: benchmark).
    """

    model: Value
    score: Value | None = None
    published_benchmark: Name | None = None
    scores: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        is_single = self.score is not None and self.published_benchmark is not None
        need(
            is_single != bool(self.scores),
            "score",
            "expected `score` with `published_benchmark`, or `scores`; write one of them",
        )


@frozen_settings
class PartSettings(RowSettings):
    """One file (or glob), how its rows are shaped, and what their columns are.

    `columns`: item_id, task, prompt, references, images, regions, category, split, cluster; answer,
    answer_id, model, style, sample. A part with `prompt`, `references` or `images` gives items, one
    with `answer` or `answers` gives answers; the same row over and over is one row. `nulls`: texts
    that mean missing (else the blank). `join`: name -> another file whose columns a row gets.
    `newest: date` reads, of files whose paths differ in `{date}` alone, only the one whose date
    sorts last.
    """

    nulls: Annotated[tuple[str, ...], OneOrMany(takes_none=True)] | None = None
    newest: str | None = None
    join: Mapping[str, JoinSettings] = field(default_factory=dict)
    task: Literal["vqa", "caption", "document", "referring", "instruction"] = "vqa"
    columns: Mapping[str, Value] = field(default_factory=dict)
    answers: Annotated[tuple[AnswerSettings, ...], OneOrMany()] = ()
    human_ratings: Annotated[tuple[RatingSettings, ...], OneOrMany()] = ()
    preferences: Annotated[tuple[PreferenceSettings, ...], OneOrMany()] = ()
    choice_sets: Annotated[tuple[ChoiceSettings, ...], OneOrMany()] = ()
    feedback_preferences: Annotated[tuple[FeedbackSettings, ...], OneOrMany()] = ()
    judge_verdicts: Annotated[tuple[VerdictSettings, ...], OneOrMany()] = ()
    judge_duels: Annotated[tuple[DuelSettings, ...], OneOrMany()] = ()
    metric_scores: Annotated[tuple[ScoreSettings, ...], OneOrMany()] = ()
    failure_labels: Annotated[tuple[FailureSettings, ...], OneOrMany()] = ()
    item_labels: Annotated[tuple[LabelSettings, ...], OneOrMany()] = ()
    captions: Annotated[tuple[CaptionSettings, ...], OneOrMany()] = ()
    rubrics: Annotated[tuple[RubricSettings, ...], OneOrMany()] = ()
    models: Mapping[str, Value] = field(default_factory=dict)
    benchmark_scores: Annotated[tuple[PublishedSettings, ...], OneOrMany()] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        known = ("item_id", *ITEM_COLUMNS, *ANSWER_COLUMNS)
        for name in self.columns:
            need(name in known, "columns", f"unknown name {name!r}; {nearest(name, known)}")
        for name in self.models:
            need(
                name in MODEL_COLUMNS,
                "models",
                f"unknown name {name!r}; {nearest(name, MODEL_COLUMNS)}",
            )
        refuse_ignored(self)
        refuse_wrong_texts(self)
        placed = self.newest is None or f"{{{self.newest}}}" in str(self.file)
        need(
            placed,
            "newest",
            f"{self.newest!r} is no part of the path; expected {{{self.newest}}} in `file`; "
            f"write it where it stands",
        )
        need(
            self.task == "vqa" or "task" not in self.columns,
            "task",
            "says nothing beside the column `task`; remove one of both",
        )
        clash = self.answers and any(name in self.columns for name in ANSWER_COLUMNS)
        need(
            not clash,
            "answers",
            "stands beside columns of one answer; expected either; move them into `answers`",
        )
        about_one = (
            self.human_ratings,
            self.feedback_preferences,
            self.judge_verdicts,
            self.metric_scores,
            self.failure_labels,
        )
        for settings in (part for section in about_one for part in section):
            self.find_answer(settings.answer)
        listed = len(self.answers) > 1 or all(
            choice_set.answers is not None for choice_set in self.choice_sets
        )
        need(
            listed,
            "choice_sets",
            "name no set; expected `answers` (their ids), or two `answers` of the row or more",
        )
        for key, pairs in (("preferences", self.preferences), ("judge_duels", self.judge_duels)):
            named = all(pair.answer_a is not None and pair.answer_b is not None for pair in pairs)
            what = "name no pair; expected `answer_a` and `answer_b`; or list two `answers`"
            need(named or len(self.answers) > 1, key, what)
        if self.file is not None:
            refuse_unused(self)

    @property
    def every_answer(self) -> tuple[AnswerSettings, ...]:
        """The answers of a row; the one that `columns` describe where none are listed."""
        column = self.columns.get
        style = column("style")
        described = AnswerSettings(
            column("answer"),
            _as_name(column("model")),
            column("answer_id"),
            _as_name(style),
            column("sample"),
        )
        return self.answers or (described,)

    def find_answer(self, model: str | None) -> int:
        """The number of the answer that a section is about; raises ValueError where that is not
        said.
        """
        names = [answer.model.constant if answer.model else None for answer in self.every_answer]
        if model is None:
            need(
                len(names) == 1,
                "answers",
                "a section does not say which answer it is about; "
                "write `answer: <its model>` there",
            )
            return 0
        known = [name for name in names if name is not None]
        hint = (
            nearest(model, known)
            if known
            else "expected one with `model` as a plain name; write it, or remove `answer:`"
        )
        need(model in known, "answers", f"there is none of the model {model!r}; {hint}")
        return names.index(model)

    def wanted(self) -> dict[str, Kind]:
        """Path -> shape of every column that is read, of whatever file."""
        return find_kinds(list_uses(self))

    def mapped(self) -> dict[str, Kind]:
        """Those of `wanted` that are mapped to tables; the others only shape the rows."""
        return find_kinds(list_mapped(self))

    def wanted_of_file(self) -> dict[str, Kind]:
        """Those of `wanted` that the part's own file holds."""
        prefixes = tuple(f"{name}." for name in self.join)
        return {
            path: kind
            for path, kind in self.wanted().items()
            if path not in self.made_columns and not (prefixes and path.startswith(prefixes))
        }

    def mapped_of_join(self, name: str) -> dict[str, Kind]:
        """Column -> shape of what rows get from a joined file, and of its keys."""
        prefix = f"{name}."
        kinds = {
            path.removeprefix(prefix): kind
            for path, kind in self.wanted().items()
            if path.startswith(prefix)
        }
        return kinds | dict.fromkeys(self.join[name].keys.values(), "text")

    def wanted_of_join(self, name: str) -> dict[str, Kind]:
        """Column -> shape of what is read of a joined file."""
        settings = self.join[name]
        kinds = self.mapped_of_join(name)
        kinds |= dict.fromkeys((column for _, column in settings.shaping_columns), "text")
        return {path: kind for path, kind in kinds.items() if path not in settings.made_columns}

    def explain_columns(self, absent: Sequence[str]) -> list[str]:
        """Which keys take these for columns, and what may be meant: the text itself, or a column of
        a join.
        """
        return [
            self._explain(use)
            for use in list_uses(self)
            if use.path in absent or root_of(use.path) in absent
        ]

    def _explain(self, use: Use) -> str:
        if self.join and "." in use.path and root_of(use.path) not in self.join:
            joins = ", ".join(map(repr, self.join))
            return f"(`{use.key}` takes {use.path!r} for a column: the joins are {joins})"
        if use.is_word:
            return (
                f"(`{use.key}` takes {use.path!r} for a column: write {{constant: {use.path}}} "
                f"for the text itself)"
            )
        name, mark, _ = use.path.partition(":")
        filled = f"; write {{{name}:012}} to fill it up with zeros to 12 digits" if mark else ""
        return f"(`{use.key}` takes {use.path!r} for a column{filled})"


@frozen_settings
class TableSettings(PartSettings):
    """Any table, mapped by the suite alone: one file, or several `parts` with columns of their own,
    joined by their ids.
    """

    parts: Annotated[tuple[PartSettings, ...], OneOrMany()] = ()

    def __post_init__(self) -> None:
        need(
            (self.file is None) == bool(self.parts),
            "file",
            "expected either `file` or `parts`; write one of them",
        )
        for part in self.parts:
            need(
                part.file is not None,
                "parts",
                "one has no `file`; expected a path or a glob; add it",
            )
        for setting in fields(PartSettings) if self.parts else ():
            is_given = getattr(self, setting.name) != getattr(PartSettings(), setting.name)
            need(
                not is_given,
                setting.name,
                "says nothing beside `parts`, each of which has settings of its own; move it into "
                "the parts that it is about",
            )
        super().__post_init__()

    @property
    def every_part(self) -> tuple[PartSettings, ...]:
        """The parts, or the file itself as one."""
        return self.parts or (self,)


def _as_name(value: Value | None) -> Name | None:
    return (
        None
        if value is None
        else Name(
            value.columns, value.pattern, value.constant, value.values, value.split, value.element
        )
    )
