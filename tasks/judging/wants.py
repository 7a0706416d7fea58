"""What cases a judge wants: of which items, answers or pairs, with what beside them. Planning turns it into SQL parameters."""

from dataclasses import dataclass
from typing import Literal

ImageMode = Literal[True, "absent", "swapped"]
"""`swapped` shows a seeded other image of the benchmark: a control for how much a verdict depends on looking."""

Unit = Literal["answer", "pair", "image", "feedback"]
Matchups = Literal["all", "human", "reference"] | int


@dataclass(frozen=True)
class Wants:
    """The cases of one judge.

    `unit`: one case an answer's content, a pair of them, an image, or a pair of other judges' feedbacks (`feedback_of`) on an answer.
    `criteria`: a case for each group; its verdicts are about the criteria of the group. `captioner`: whose caption of the image is shown
    (a data set's, or the alias of a captioning judge). `rubrics`: one case for each rubric of the item. `matchups` of pairs: all, those
    that people compared, each answer against the item's reference, or a number of them an item, drawn once by `seed` and balanced over models.
    `both_orders` False: each pair in one order, by `seed`. `failures`: only answers on which people and string matching differ
    (`missed` and `reverse` in `core_failure_cases`), which are known once the metrics are there.
    """

    tasks: tuple[str, ...]
    unit: Unit = "answer"
    criteria: tuple[tuple[str, ...], ...] = (("correctness",),)
    samples: int = 1
    captioner: str = ""
    image: ImageMode = "absent"
    regions: bool = False
    rubrics: bool = False
    styles: tuple[str, ...] = ()
    matchups: Matchups = "all"
    both_orders: bool = True
    feedback_of: tuple[str, ...] = ()
    failures: bool = False
    seed: int = 0


TABLE_OF: dict[Unit, str] = {"answer": "verdicts", "pair": "duels", "feedback": "duels", "image": "generated_captions"}
"""Unit -> the lake's table of what the judge concluded."""
