"""Figures on the rubrics of a collection (Prometheus-Vision, appendices B and C.1): how alike they
are, how new those of a test set are, and how clearly the scores differ.

What SQL counts (sizes, balance, lengths, keywords) is in the views `rpt_collected_*`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.collection.screening import WordSpeller, measure_overlap
from judgelake.tasks.collection.sentiment import measure_sentiment
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.types import Identity
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file

BINS = 20
_BLOCK = 1000
_Counts = npt.NDArray[np.int64]


def report_figures(lake: Lake, suite: str, collectors: Mapping[str, Identity]) -> pl.DataFrame:
    """Compute the figures of a collection, keep them in the table `collection_figures` and return
    its new rows.
    """
    connection = open_warehouse(lake, lazy=True)
    now = datetime.now(UTC)
    rows = [
        {"suite": suite, "reported_at": now, **row}
        for row in compute_figures(connection, collectors)
    ]
    frame = pl.DataFrame(rows, schema=TABLES["collection_figures"].polars_schema)
    append_rows(lake, "collection_figures", frame)
    return frame


def compute_figures(
    connection: duckdb.DuckDBPyConnection, collectors: Mapping[str, Identity]
) -> Iterator[dict[str, Any]]:
    """The rows of `collection_figures` without the suite, benchmark by benchmark."""
    rubrics = collectors["rubrics"]
    given = {"judge_id": rubrics.judge_id, "reading": rubrics.reading}
    kept = select_file(connection, "queries/described_rubrics.sql", given)
    others = kept.filter(pl.col("origin") == "ingested").partition_by("benchmark")
    for mine in kept.filter(pl.col("origin") == "collected").partition_by("benchmark"):
        name = mine["benchmark"][0]
        yield from _compare(name, name, mine["description"], None)
        for other in others:
            yield from _compare(
                name,
                other["benchmark"][0],
                mine["description"],
                other["description"],
                collectors["instructions"].wants.most_similar,
            )
        yield from _describe_levels(name, mine["levels"].to_list())


def count_overlaps(texts: Sequence[str], others: Sequence[str] | None) -> tuple[_Counts, float]:
    """Pairs a bin of ROUGE-L (BINS equal ones over [0, 1]), and the sum of ROUGE-L over all pairs:
    of each text with each of the others, or (None) of all pairs of texts.
    """
    speller, total = WordSpeller(), 0.0
    spelt = speller.spell(texts)
    compared = spelt if others is None else speller.spell(others)
    counts = np.zeros(BINS, np.int64)
    for start in range(0, len(spelt), _BLOCK):
        overlap = measure_overlap(spelt[start : start + _BLOCK], compared)
        if others is None:  # each pair once
            rows, columns = np.indices(overlap.shape)
            overlap = overlap[columns > rows + start]
        counts += np.histogram(overlap, BINS, (0, 1))[0]
        total += float(overlap.sum())
    return counts, total


def find_highest(texts: Sequence[str], others: Sequence[str]) -> npt.NDArray[np.float64]:
    """The highest ROUGE-L of each of the others with any of the texts."""
    speller = WordSpeller()
    spelt, compared = speller.spell(texts), speller.spell(others)
    highest = np.zeros(len(compared))
    for start in range(0, len(spelt), _BLOCK):
        block = measure_overlap(spelt[start : start + _BLOCK], compared)
        highest = np.maximum(highest, block.max(axis=0))
    return highest


def _compare(
    name: str,
    other: str,
    texts: pl.Series,
    others: pl.Series | None,
    most_similar: float = 1.0,
) -> Iterator[dict[str, Any]]:
    about = {"benchmark": name, "compared_with": other}
    given = None if others is None else others.to_list()
    counts, total = count_overlaps(texts.to_list(), given)
    n = int(counts.sum())
    if not n:
        return
    yield {**about, "figure": "mean_overlap", "level": None, "value": total / n, "n": n}
    for place, count in enumerate(counts.tolist()):
        bin_row = {"figure": "overlap", "level": place / BINS, "value": count / n, "n": count}
        yield {**about, **bin_row}
    if given is not None:
        unseen = float((find_highest(texts.to_list(), given) < most_similar).mean())
        yield {**about, "figure": "unseen", "level": None, "value": unseen, "n": len(given)}


def _describe_levels(name: str, levels: list[list[str]]) -> Iterator[dict[str, Any]]:
    """The mean sentiment of each score's description, and the share of rubrics whose highest score
    sounds better than their lowest.
    """
    measured = np.array([[measure_sentiment(text) for text in texts] for texts in levels])
    about = {"benchmark": name, "compared_with": None, "n": len(levels)}
    for score, mean in enumerate(measured.mean(axis=0).tolist(), 1):
        yield {**about, "figure": "sentiment", "level": float(score), "value": mean}
    share = float((measured[:, -1] > measured[:, 0]).mean())
    yield {**about, "figure": "decisive", "level": None, "value": share}


def describe_figures(figures: pl.DataFrame) -> list[str]:
    """The figures in lines for people, without the distribution of overlaps."""
    lines = []
    for row in figures.iter_rows(named=True):
        name, other, value = row["benchmark"], row["compared_with"], row["value"]
        if row["figure"] == "mean_overlap":
            lines.append(
                f"overlap: ROUGE-L {value:.2f} on average over {row['n']:,} pairs of rubrics of "
                f"{name}" + ("" if other == name else f" and {other}")
            )
        elif row["figure"] == "unseen":
            lines.append(
                f"unseen: {100 * value:.1f} % of the {row['n']:,} rubrics of {other} repeat none "
                f"of {name}"
            )
        elif row["figure"] == "decisive":
            lines.append(
                f"decisive: in {100 * value:.1f} % of {row['n']:,} rubrics score 5 sounds better "
                f"than score 1"
            )
    return lines
