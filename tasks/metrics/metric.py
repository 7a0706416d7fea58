"""What a reference metric is to those who plan, run and report it. Which ones there are is `tasks.metrics.registry`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tasks.metrics.options import DocumentSource
from tasks.metrics.rows import ScoreRows
from tasks.metrics.scored import Scored, Scores, Statistics

ALL_TASKS = ("vqa", "caption", "document", "referring", "instruction")
SHORT_ANSWER_TASKS = ("vqa", "document")


@dataclass(frozen=True)
class Counting:
    """What a metric needs to know of all documents before it scores: `count` makes a file's content of their texts."""

    documents: DocumentSource
    count: Callable[[pa.ListArray], bytes]


@dataclass(frozen=True)
class Metric:
    """A reference metric under everything that can change its number.

    `compute` takes n rows, and the file of counts where the metric has `counting`; NaN where a row is undefined, for the reason
    `undefined`. `statistics` names the additive numbers of a row, and `corpus` turns m sums of them, (m, k), into m corpus scores;
    without them the corpus score is the mean.
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
