"""What a reference metric offers to planning, runs and reports. The list of metrics is in
`tasks.metrics.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import model_validator
from pydantic_core import ArgsKwargs, PydanticCustomError

from judgelake.tasks.metrics.rows import ScoreRows
from judgelake.tasks.settings import SuitePath, frozen_settings


@frozen_settings
class NoOptions:
    """A metric in one form only."""


@frozen_settings
class DocumentSource:
    """Where a metric counts before it scores: in the references of the benchmark, or of `file`
    (`tasks.metrics.documents`).
    """

    file: SuitePath | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        """`references`, or the path of a file, relative to the suite file."""
        if isinstance(value, ArgsKwargs):
            return value
        if not isinstance(value, str):
            raise PydanticCustomError("string_type", "expected text")
        return {} if value == "references" else {"file": value}

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: Any, _handler: Any) -> dict[str, Any]:
        """As a suite writes it."""
        return {"type": "string", "default": "references", "description": cls.__doc__}


@frozen_settings
class BleuOptions:
    """BLEU-`order` as pycocoevalcap (`coco`) or sacrebleu computes it; their own tokenizers are
    `ptb` and `13a`.
    """

    order: Literal[1, 2, 3, 4] = 4
    style: Literal["coco", "sacrebleu"] = "coco"
    tokenizer: Literal["ptb", "13a", "intl", "char", "none"] | None = None

    @property
    def used_tokenizer(self) -> str:
        """The tokenizer chosen, else the style's own."""
        return self.tokenizer or {"coco": "ptb", "sacrebleu": "13a"}[self.style]


@frozen_settings
class RougeOptions:
    """ROUGE-`variant` as pycocoevalcap (`coco`) or rouge_score computes it; `stemmer` is
    rouge_score's.
    """

    variant: Literal[1, "l"] = "l"
    style: Literal["coco", "rouge_score"] = "coco"
    stemmer: bool = False

    def __post_init__(self) -> None:
        if self.stemmer and self.style != "rouge_score":
            raise ValueError(
                f"stemmer: true; expected with `style: rouge_score` only, {self.style} has "
                f"none; remove it"
            )

    @property
    def used_tokenizer(self) -> str:
        """The style's own tokenizer."""
        return {"coco": "ptb", "rouge_score": "rouge_stem" if self.stemmer else "rouge"}[self.style]


@frozen_settings
class CiderOptions:
    """CIDEr-D (`d`), which is what pycocoevalcap and the papers that use it call CIDEr, or CIDEr
    without its clipping and penalty.

    Document frequencies are those of `df`: in `references`, a document is the references of one
    answer of the benchmark, so that an item counts as often as it is answered, as when
    pycocoevalcap is run over all answers at once.
    """

    variant: Literal["d", "plain"] = "d"
    df: DocumentSource = DocumentSource()
    tokenizer: Literal["ptb", "13a", "none"] = "ptb"


Scores = npt.NDArray[np.float64]
Statistics = npt.NDArray[np.float64]
"""(n, k): row i's additive numbers, whose names the metric lists."""


class Scored(NamedTuple):
    """Scores of n rows, NaN where undefined (no answer, no references), and their statistics."""

    scores: Scores
    statistics: Statistics
    """k may be 0: then the corpus score is the mean of the scores. A row without a score adds
    nothing, whatever stands in it.
    """
    reasons: Sequence[str | None] = ()
    """Why a row has no score, row by row; empty for a metric that has only one reason."""


def without_statistics(scores: Scores) -> Scored:
    """Scores of a metric whose corpus score is their mean."""
    return Scored(scores, np.empty((len(scores), 0)))


ALL_TASKS = ("vqa", "caption", "document", "referring", "instruction")
SHORT_ANSWER_TASKS = ("vqa", "document")


@dataclass(frozen=True)
class Counting:
    """What a metric needs to know of all documents before it scores: `count` makes a file's content
    of their texts.
    """

    documents: DocumentSource
    count: Callable[[pa.ListArray], bytes]


@dataclass(frozen=True)
class Metric:
    """A reference metric under everything that can change its number.

    `compute` takes n rows, and the file of counts where the metric has `counting`; NaN where a row
    is undefined, for the reason `undefined`. `statistics` names the additive numbers of a row, and
    `corpus` turns m sums of them, (m, k), into m corpus scores; without them the corpus score is
    the mean.
    """

    name: str
    signature: str
    tasks: tuple[str, ...]
    compute: Callable[[ScoreRows, Path | None], Scored]
    statistics: tuple[str, ...] = ()
    corpus: Callable[[Statistics], Scores] | None = None
    counting: Counting | None = None
    undefined: str = "the item has no reference answers"
    sees_image: bool = False
    reads_references: bool = True


@dataclass(frozen=True)
class MetricKind:
    """A family of metrics, by its name in a suite: what can be chosen, and what is built of it; the
    text names the documents that are counted in.

    `choices`: further names in a suite, each with the options that it stands for.
    """

    name: str
    options: type[Any]
    build: Callable[[Any, str], Metric]
    choices: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


def for_short_answers(
    signature: str, compute: Callable[[pa.Array, pa.ListArray], Scores]
) -> MetricKind:
    """A metric without options whose corpus score is its mean; its signature begins with its
    name.
    """
    name = signature.partition("|")[0]

    def run(rows: ScoreRows, _counts: Path | None) -> Scored:
        return without_statistics(compute(rows.answers, rows.references))

    return MetricKind(
        name,
        NoOptions,
        lambda _options, _documents: Metric(name, signature, SHORT_ANSWER_TASKS, run),
    )
