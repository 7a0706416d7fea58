"""The shape of a demo question with its sorted sayings, and its simulated annotators.

The questions about a picture are made in `tasks.demo.scene_questions`,
`tasks.demo.reading_questions` and `tasks.demo.captions`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from judgelake.tasks.demo.words import pick, pick_distinct
from judgelake.tasks.demo.world import Rectangle

Pool = Literal["usual", "unusual", "partly", "alike", "wrong"]
RATINGS: Mapping[Pool, float] = {
    "usual": 1.0,
    "unusual": 1.0,
    "partly": 0.5,
    "alike": 0.0,
    "wrong": 0.0,
}
"""What the oracle gives a saying of each pool."""

REFERENCE_COUNTS = {"vqa": 10, "document": 10, "caption": 5, "referring": 3}
SLIP = 0.04  # an annotator of a short answer errs this often


@dataclass(frozen=True, slots=True)
class Sayings:
    """What can be said to a question, by truth; no saying is in two pools.

    `usual` is right in annotators' words (the most common first), `unusual` right in words that no
    annotator uses, `partly` true of other answers too or off by one detail, `alike` wrong in nearly
    the right words, `wrong` plainly wrong.
    """

    usual: tuple[str, ...]
    unusual: tuple[str, ...]
    partly: tuple[str, ...]
    alike: tuple[str, ...]
    wrong: tuple[str, ...]


class RightSayings(NamedTuple):
    """What is right where something is true of a picture: in annotators' words, and in others."""

    usual: tuple[str, ...]
    unusual: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one picture. `frame` makes a sentence of a saying; `box` marks the object
    that is asked about. `foils` are what would be right, and is wrong here, if the picture were
    another one, about as often as such pictures are drawn. `evidence` says what the picture
    shows, and what of it the question is about.
    """

    task: str
    category: str
    prompt: str
    frame: str
    sayings: Sayings
    box: Rectangle | None = None
    foils: tuple[RightSayings, ...] = ()
    evidence: str = ""


def sort_sayings(
    usual: Iterable[str],
    unusual: Iterable[str],
    partly: Iterable[str],
    alike: Iterable[str],
    wrong: Iterable[str],
) -> Sayings:
    """Keep each saying once, in the first pool that has it: a "wrong" one that happens to be right
    is right.
    """
    seen: set[str] = set()
    pools = []
    for pool in (usual, unusual, partly, alike, wrong):
        kept = [saying for saying in dict.fromkeys(pool) if saying.casefold() not in seen]
        seen.update(saying.casefold() for saying in kept)
        pools.append(tuple(kept))
    return Sayings(*pools)


def list_foils(sayings: Sayings, others: Iterable[RightSayings]) -> tuple[RightSayings, ...]:
    """Right sayings of other pictures without those that are right or half right here."""
    right = {saying.casefold() for saying in (*sayings.usual, *sayings.unusual, *sayings.partly)}
    kept = [
        RightSayings(
            tuple(saying for saying in other.usual if saying.casefold() not in right),
            tuple(saying for saying in other.unusual if saying.casefold() not in right),
        )
        for other in others
    ]
    return tuple(foil for foil in kept if foil.usual and foil.unusual)


def draw_references(rng: np.random.Generator, question: Question) -> list[str]:
    """What the simulated annotators wrote: short answers with repeats and slips, captions and
    phrases all different.
    """
    count, usual = REFERENCE_COUNTS[question.task], question.sayings.usual
    if question.task in ("caption", "referring"):
        return [finish(question, saying) for saying in pick_distinct(rng, usual, count)]
    # A draw of shares per item: how far annotators agree differs from item to item.
    shares = rng.dirichlet([4.0] + [1.2] * (len(usual) - 1))
    written = [usual[int(place)] for place in rng.choice(len(usual), size=count, p=shares)]
    return [
        pick(rng, question.sayings.wrong) if rng.random() < SLIP else saying for saying in written
    ]


def finish(question: Question, saying: str) -> str:
    """A saying as it is handed in: captions are sentences, all else stays a phrase."""
    return as_sentence(saying) if question.task == "caption" else saying


def as_sentence(clause: str) -> str:
    """Capitalise a clause and end it."""
    return f"{clause[0].upper()}{clause[1:]}."
