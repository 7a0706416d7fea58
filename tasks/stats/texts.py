"""Columns of one table as the statistics take them: numbers, or texts coded by their places."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from judgelake.tasks.stats.cluster_sums import Floats, Indices


class Texts(NamedTuple):
    """A column of texts: the distinct ones, rising, and each row's place among them, -1 where it
    has none.
    """

    names: list[str]
    codes: Indices


Column = Floats | Texts
Columns = Mapping[str, Any]
"""Numbers as float64 with NaN where one is missing, else `Texts`."""
Options = Mapping[str, Any]


def code_texts(values: Iterable[object]) -> Texts:
    """Texts, numbers or None as a column of texts."""
    places: dict[str, int] = {}
    codes = np.fromiter(
        (-1 if value is None else places.setdefault(str(value), len(places)) for value in values),
        dtype=np.int64,
    )
    return sort_texts(list(places), codes)


def sort_texts(names: Sequence[str], codes: Indices) -> Texts:
    """Texts whose names stand in any order, each once."""
    order = sorted(range(len(names)), key=names.__getitem__)
    ranks = np.full(len(names) + 1, -1, dtype=np.int64)
    ranks[order] = np.arange(len(names))
    return Texts([names[place] for place in order], ranks[codes])


def pick_texts(texts: Texts, rows: Indices) -> Texts:
    """Some rows, and the names that they have."""
    held, codes = np.unique(texts.codes[rows], return_inverse=True)
    return Texts([texts.names[place] for place in held], codes)


def place_texts(texts: Texts, names: list[str]) -> Indices:
    """Each row's place among `names`, which hold all of the column's."""
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[name] for name in texts.names], dtype=np.int64)[texts.codes]
