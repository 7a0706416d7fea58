"""Near-duplicate rubrics, by ROUGE-L of their descriptions. Prometheus-Vision (appendix B.2)
measures the overlap so; Self-Instruct (Wang et al. 2023) leaves out what overlaps by 0.7.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

Similarities = npt.NDArray[np.float64]
_WORD = re.compile(r"[a-z0-9]+")
_BLOCK = 1000
"""Rubrics that are compared with all others at a time: 15,000 are 15 blocks of 120 MB."""
_FIRST = 0x4E00
"""Words are spelt as characters from here on, so that sequences of them are strings."""
SCREENED = {
    "judge_id": pl.String,
    "reading": pl.String,
    "benchmark": pl.String,
    "context_digest": pl.String,
    "criterion": pl.String,
    "rubric_id": pl.String,
    "is_kept": pl.Boolean,
    "nearest_id": pl.String,
    "rouge_l": pl.Float64,
}


class WordSpeller:
    """Texts as strings of one character a word, so that their words are compared as characters."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def spell(self, texts: Iterable[str]) -> list[str]:
        """Words are runs of letters and digits in lower case, as in the package rouge_score."""
        return ["".join(map(self._number, _WORD.findall(text.lower()))) for text in texts]

    def _number(self, word: str) -> str:
        number = self._numbers.setdefault(word, len(self._numbers))
        # the surrogates are no characters
        return chr(_FIRST + number if _FIRST + number < 0xD800 else 0x800 + _FIRST + number)


def measure_overlap(spelt: Sequence[str], others: Sequence[str]) -> Similarities:
    """ROUGE-L (F1) of each text with each of the others, (texts, others), in [0, 1]."""
    common: npt.NDArray[Any] = cdist(
        spelt, others, scorer=LCSseq.similarity, dtype=np.int32, workers=-1
    )
    lengths = np.array([*map(len, spelt)])[:, None] + np.array([*map(len, others)])[None, :]
    overlap: Similarities = 2 * common / np.maximum(lengths, 1)
    return overlap


def screen_rubrics(
    new: pl.DataFrame, kept: pl.DataFrame, most_similar: float, seeds: Sequence[str] = ()
) -> pl.DataFrame:
    """Whether each new rubric is kept: its ROUGE-L with the seeds, with those `kept` before and
    with the new ones before it lies below `most_similar`. The columns are SCREENED.

    Both frames have the columns of `queries/unscreened_rubrics.sql`; the order of the new ones
    counts.
    """
    speller = WordSpeller()
    known = speller.spell([*seeds, *kept["description"]])
    names = [*("seed" for _ in seeds), *kept["rubric_id"]]
    rows: list[dict[str, Any]] = []
    for part in new.iter_slices(_BLOCK):
        spelt = speller.spell(part["description"])
        before = measure_overlap(spelt, known) if known else np.zeros((len(spelt), 0))
        among = measure_overlap(spelt, spelt)
        taken: list[int] = []
        for place, row in enumerate(part.iter_rows(named=True)):
            overlaps = np.concatenate([before[place], among[place, taken]])
            nearest = int(overlaps.argmax()) if len(overlaps) else None
            rouge_l = 0.0 if nearest is None else float(overlaps[nearest])
            ids = [*names, *(part["rubric_id"][other] for other in taken)]
            rows.append(
                {name: row.get(name) for name in SCREENED}
                | {
                    "is_kept": rouge_l < most_similar,
                    "nearest_id": None if nearest is None else ids[nearest],
                    "rouge_l": rouge_l,
                }
            )
            if rouge_l < most_similar:
                taken.append(place)
        known += [spelt[place] for place in taken]
        names += [part["rubric_id"][place] for place in taken]
    return pl.DataFrame(rows, schema=SCREENED)
