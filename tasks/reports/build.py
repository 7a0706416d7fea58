"""A suite's report: correlations with people into the lake, the page beside them."""

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from schemas.tables import TABLES
from tasks.digests import digest_json
from tasks.lake import Lake, append_rows, remove_parts, write_whole
from tasks.reports.freshness import marker_path, name_inputs, page_path
from tasks.reports.page import render_report
from tasks.reports.warehouse import materialise, open_warehouse, select_file
from tasks.stats.bootstrap import correlate
from tasks.stats.resampling import draw_cluster_weights
from tasks.suite import Suite


def build_report(lake: Lake, suite: Suite) -> Path:
    """Compute correlations, write them to the lake in place of the former ones, and render the page; returns its path."""
    made_from = name_inputs(lake, suite)
    connection = open_warehouse(lake)
    materialise(connection)
    frame = _correlate_all(connection, suite)
    replaced = sorted((lake.table_folder("correlations") / f"suite={suite.name}").glob("*.parquet"))
    written = append_rows(lake, "correlations", frame)
    remove_parts(set(replaced) - set(written))
    page = page_path(lake, suite)
    page.parent.mkdir(parents=True, exist_ok=True)
    fresh = open_warehouse(lake)
    materialise(fresh)
    least = suite.report.min_coverage
    render_report(fresh, suite.name, page, suite.notice, datetime.now(UTC), list(suite.benchmarks), least)
    write_whole(marker_path(lake, suite), made_from.encode())
    return page


def _correlate_all(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Every judge against people, per model and pooled ('*'); all judges of a benchmark share the resamples of its clusters."""
    now = datetime.now(UTC)
    rows: list[dict[str, object]] = []
    for benchmark in sorted(suite.benchmarks):
        pairs = select_file(connection, "queries/scored_and_rated.sql", {"benchmark": benchmark})
        if pairs.is_empty():
            continue
        n_clusters = pairs["cluster_code"].n_unique()  # codes are dense
        rng = np.random.default_rng([suite.report.seed, int(digest_json(benchmark)[:8], 16)])  # a benchmark's draws are its own
        weights = draw_cluster_weights(n_clusters, suite.report.resamples, rng)
        rows += [{**row, "benchmark": benchmark} for row in _correlate_benchmark(pairs, weights)]
    stamp = {"suite": suite.name, "sample_rule": "mean", "against": suite.report.against, "reported_at": now}
    stamp |= {"resamples": suite.report.resamples, "seed": suite.report.seed}
    return pl.DataFrame([{**row, **stamp} for row in rows], schema=TABLES["correlations"].polars_schema)


def _correlate_benchmark(pairs: pl.DataFrame, weights: np.ndarray) -> list[dict[str, object]]:
    names = ("judge", "judge_criterion", "human_criterion", "human_rule")
    rows: list[dict[str, object]] = []
    for key, group in pairs.group_by(names, maintain_order=True):
        by_model = [("*", group), *((str(model[0]), part) for model, part in group.group_by("model", maintain_order=True))]
        for model, part in by_model:
            x, y, clusters = (part[column].to_numpy() for column in ("judge_score", "human_score", "cluster_code"))
            found = correlate(x, y, clusters, len(weights), weights)
            rows += [
                {**dict(zip(names, key, strict=True)), "model": model, "coefficient": coefficient, **_finite(value._asdict())}
                for coefficient, value in found.items()
            ]
    return rows


def _finite(values: dict[str, float | int]) -> dict[str, float | int | None]:
    return {name: None if isinstance(value, float) and np.isnan(value) else value for name, value in values.items()}
