"""How far all raters of a benchmark agree: people, people with a judge, judges. Two at a time is `kappas`; the statistics are `tasks.stats`."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from tasks.reports.resampled import Resamples, Row, group_rows, write_ends
from tasks.stats.agreement import landis_koch
from tasks.stats.fleiss_kappa import fleiss_kappa
from tasks.stats.krippendorff_alpha import Metric, krippendorff_alpha
from tasks.stats.preferences import Preference

PEOPLE, JUDGES = "people", "judges"
MOST_LEVELS = 25
"""Labels of more levels together are a measure, no classes: of them only alpha for intervals is told."""


def measure_reliabilities(frame: pl.DataFrame, resamples: Resamples) -> Iterator[Row]:
    """Rows of the table `reliabilities` of one benchmark's rows of `queries/rater_labels.sql`."""
    is_choice = pl.col("kind") == "choice"
    clear = frame.filter(~is_choice | (pl.col("label") != Preference.INCONSISTENT.value))
    for key, rows in group_rows(clear, ("kind", "criterion")):
        for name, labels in _group_raters(rows):
            several = labels.filter(pl.len().over("unit_code") > 1)
            if several.height:
                told = {"raters": name, "criterion": key["criterion"], "n_raters": labels["rater"].n_unique()}
                yield from ({**told, **row} for row in _measure_group(labels, key["kind"] == "choice", resamples))


def _group_raters(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """People alone, each judge with people (on what people labelled), the judges that see what they should alone; two raters at least."""
    is_human = pl.col("rater").str.starts_with("human:")
    people, judges = rows.filter(is_human), rows.filter(~is_human)
    if people["rater"].n_unique() > 1:
        yield PEOPLE, people
    if people.height:
        of_people = judges.join(people.select("unit_code").unique(), on="unit_code", how="semi", maintain_order="left")
        for key, own in group_rows(of_people, ("rater",)):
            yield f"{PEOPLE} and {key['rater']}", pl.concat([people, own])
    seeing = judges.filter(~pl.col("is_control"))
    if seeing["rater"].n_unique() > 1:
        yield JUDGES, seeing


def _measure_group(labels: pl.DataFrame, is_choice: bool, resamples: Resamples) -> Iterator[Row]:
    units, clusters, values = (labels[name].to_numpy() for name in ("unit_code", "cluster_code", "label"))
    n_levels = np.unique(values).size
    if n_levels <= MOST_LEVELS:
        per_unit = _most_frequent_size(units)
        kappa, _, left_out = fleiss_kappa(units, values, per_unit, clusters, resamples.weights)
        yield {
            "statistic": "fleiss_kappa", "per_unit": per_unit, "n": kappa.n, "n_left_out": left_out, "n_clusters": kappa.n_clusters,
            **write_ends(kappa, "value"), "strength": landis_koch(kappa.value), "n_undefined": kappa.n_undefined,
        }  # fmt: skip
    for metric in _choose_metrics(n_levels, is_choice):
        alpha, n_units, left_out = krippendorff_alpha(units, values, metric, clusters, resamples.weights)
        yield {
            "statistic": f"alpha_{metric}", "per_unit": None, "n": n_units, "n_left_out": left_out, "n_clusters": alpha.n_clusters,
            **write_ends(alpha, "value"), "strength": None, "n_undefined": alpha.n_undefined,
        }  # fmt: skip


def _choose_metrics(n_levels: int, is_choice: bool) -> tuple[Metric, ...]:
    """Of two levels all three metrics are one; choices have no order."""
    if n_levels > MOST_LEVELS:
        return ("interval",)
    return ("nominal",) if is_choice or n_levels < 3 else ("nominal", "ordinal", "interval")


def _most_frequent_size(units: np.ndarray) -> int:
    """How many labels most units have that have several; of equally frequent numbers the largest."""
    sizes = np.bincount(np.unique(units, return_counts=True)[1])
    sizes[:2] = 0
    return int(sizes.size - 1 - np.argmax(sizes[::-1]))
