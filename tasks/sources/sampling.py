"""Seeded random samples of a benchmark's items. An item's place in the draw follows from the seed
and its id alone, so the order of files and rows does not count; what was drawn once stays drawn.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import polars as pl

from judgelake.tasks.lake.snapshot import Snapshot
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame


@frozen_settings
class SampleSettings:
    """A random sample of a benchmark's items: `items` of them (all where there are fewer), drawn
    with `seed`. LAVE judges 2,450 questions a data set, CHIRP grades 100.
    """

    items: int
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("items", 1), ("seed", 0)):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{name}: {value}; expected a whole number from {least}")


class Sample(NamedTuple):
    """The ids that were drawn, in order, and of how many items."""

    items: tuple[str, ...]
    n_source: int


def draw_sample(
    items: Iterable[str], settings: SampleSettings, kept: Collection[str] = ()
) -> Sample:
    """The first `settings.items` ids by the sha256 of seed and id; those that were drawn before
    (`kept`) come before all others. A larger sample of the same seed holds the smaller one.
    """
    before, every = {*kept}, {*items}
    ordered = sorted(every, key=lambda one: (one not in before, _rank(one, settings.seed)))
    return Sample(tuple(ordered[: settings.items]), len(every))


def _rank(item_id: str, seed: int) -> bytes:
    text = f"{seed}:{item_id}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).digest()


def find_drawn(snapshot: Snapshot, benchmark: str, seed: int) -> set[str]:
    """The items of a benchmark that samples of this seed have drawn, at any time."""
    if not snapshot.list_parts("item_samples")["item_samples"]:
        return set()
    text = "select item_id from stg_item_samples where benchmark = $benchmark and seed = $seed"
    given = {"benchmark": benchmark, "seed": seed}
    connection = open_warehouse(snapshot, lazy=True)
    return {*select_frame(connection, text, "drawn items", given)["item_id"]}


def frame_drawn(
    benchmark: str, seed: int, items: Iterable[str], drawn_at: datetime
) -> pl.DataFrame:
    """Rows of the table `item_samples`."""
    return pl.DataFrame({"item_id": [*items]}, {"item_id": pl.String}).with_columns(
        benchmark=pl.lit(benchmark),
        seed=pl.lit(seed, pl.Int64),
        drawn_at=pl.lit(drawn_at, pl.Datetime("us", "UTC")),
    )


def describe_sample(benchmark: str, n_items: int, n_source: int, settings: SampleSettings) -> str:
    """A line for people on a sample that was drawn."""
    return (
        f"sample: {benchmark} has {n_items:,} of {n_source:,} items, drawn at random with the "
        f"seed {settings.seed}"
    )


def list_samples(snapshot: Snapshot, benchmarks: Mapping[str, SampleSettings | None]) -> list[str]:
    """The lines on the samples that the lake holds of these benchmarks."""
    sampled = {name: one for name, one in benchmarks.items() if one is not None}
    if not sampled:
        return []
    text = """
        select benchmark, n_items, n_source_items from stg_ingests
        where list_contains($names, benchmark) and n_source_items is not null order by benchmark
    """
    connection = open_warehouse(snapshot, lazy=True)
    rows = select_frame(connection, text, "samples", {"names": [*sampled]}).rows()
    return [describe_sample(name, n, of, sampled[name]) for name, n, of in rows]
