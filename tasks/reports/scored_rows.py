"""One benchmark's scores and targets as arrays over its answers, read from the warehouse. Computing
with them is the other modules' matter.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SuiteError, nearest
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.stats.cluster_sums import AnyWeights
from judgelake.tasks.stats.combining import split_samples
from judgelake.tasks.stats.estimates import Estimate
from judgelake.tasks.stats.human_rules import tabulate_scores, take_mean
from judgelake.tasks.stats.resampling import (
    Keys,
    Weights,
    draw_cluster_weights,
    draw_keyed_weights,
    key_clusters,
)
from judgelake.tasks.suite.suite import ReportSettings, Suite
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_file, select_frame

HUMAN = "human"


def check_against(lake: Lake, suite: Suite) -> None:
    """Raise SuiteError where the lake knows no rater of the name that `report.against` gives:
    neither a judge nor a recorded one.

    Recorded judges are known once their benchmark is ingested, the suite's own once they are
    registered: check then, before a call is paid.
    """
    if suite.report.against != HUMAN:
        check_rater(open_warehouse(lake, lazy=True), suite.report.against)


def check_rater(connection: duckdb.DuckDBPyConnection, against: str) -> None:
    """The same of an open lake."""
    known = {
        HUMAN,
        *select_frame(
            connection, "select unnest([alias, judge]) as name from core_judges", "raters"
        )["name"],
    }
    if against not in known:
        raise SuiteError(
            f"report: against: {against!r} is no rater of this lake; "
            f"{nearest(against, known)}; name `human` or a judge's alias"
        )


def name_target(suite: Suite) -> str:
    """The column `against` of report tables: the rater, with the numbers of its samples where the
    suite chooses them.
    """
    chosen = "+".join(map(str, suite.report.against_samples))
    return f"{suite.report.against}:{chosen}" if chosen else suite.report.against


Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

EACH, ANNOTATOR = "each", "annotator:"
_MOST_ANNOTATORS = 20
"""With more annotators than this (a crowd) none of them is a target of its own."""
_LEAST_RATED = 30
"""Answers that an annotator must have rated to be a target alone."""
_ANSWER = ["item_id", "answer_id"]
ALL = "*"
"""Stands for all benchmarks, criteria, models, tasks, categories or styles together."""
PARTS = ("task", "category", "style")
"""By what figures are cut, besides models."""
MOST_PARTS = 100
"""A benchmark with more categories than this has no rows of each; `spearman_ci` gives them."""
WHOLE: Mapping[str, str] = dict.fromkeys(PARTS, ALL)
"""A figure of all parts."""


class Series(NamedTuple):
    """A judge's scores on one criterion: (answers, samples), NaN where there is none; `wanted` are
    the answers it was to score.

    The reference judge's own row, its self-consistency, does not compete with the others'.
    """

    judge: str
    alias: str
    kind: str
    criterion: str
    samples: Floats
    wanted: Flags
    numbers: tuple[int, ...] = (0,)
    competes: bool = True

    @property
    def mean(self) -> Floats:
        """The mean of each answer's samples."""
        return take_mean(self.samples)


class Target(NamedTuple):
    """What judges are held to, one row each: its answer and its value; `samples` where it is a
    judge's, (rows, samples).
    """

    criterion: str
    rule: str
    answers: Indices
    values: Floats
    samples: Floats


class ScoredAnswers(NamedTuple):
    """A benchmark's answers, as codes of their model (-1: not named), item and cluster (its place
    among the `keys` that resamples are drawn by), with all that scored them.

    `parts`: task, category, style -> its values and each answer's place among them, where there are
    several, up to 100. `ratings` are people's, by criterion: (answers, annotators), NaN where
    blank; of a crowd (over 20) the columns are no persons but an answer's first, second, third
    annotator by name.
    """

    models: list[str]
    model: Indices
    item: Indices
    cluster: Indices
    keys: Keys
    series: list[Series]
    targets: list[Target]
    ratings: dict[str, Floats]
    parts: "Parts"


Parts = dict[str, tuple[list[str], Indices]]


def read_scored(
    connection: duckdb.DuckDBPyConnection,
    benchmark: str,
    against: str,
    against_samples: tuple[int, ...] = (),
) -> ScoredAnswers:
    """The scores of a benchmark's judges, and as targets people's ratings or the samples of the
    judge called `against`.

    The judge's samples numbered `against_samples` are the target, of an even number without them
    the first half; the others are its own row, its self-consistency. Of an odd number without them
    all are the target, and it has no row.
    """
    samples = select_file(
        connection, "queries/judge_samples.sql", {"benchmark": benchmark, "against": against}
    )
    limits = {"most_annotators": _MOST_ANNOTATORS, "least_rated": _LEAST_RATED}
    people = select_file(
        connection, "queries/human_targets.sql", {"benchmark": benchmark, **limits}
    )
    answers = samples.select(*_ANSWER, "model", "cluster").unique(_ANSWER).sort(_ANSWER)
    if against != HUMAN:
        rated = samples.filter(
            ((pl.col("alias") == against) | (pl.col("judge") == against))
            & pl.col("score").is_not_null()
        )
        answers = answers.join(rated, on=_ANSWER, how="semi", maintain_order="left")
    answers = answers.with_row_index("row")
    series = list(_read_series(_locate(samples, answers), answers.height))
    located = _locate(people, answers)
    in_parts = select_file(connection, "queries/answer_parts.sql", {"benchmark": benchmark})
    models = answers["model"].drop_nulls().unique().sort().to_list()
    codes = {model: code for code, model in enumerate(models)}
    keys, cluster = _key_clusters(benchmark, answers["cluster"])
    scored = ScoredAnswers(
        models,
        np.array([codes.get(model, -1) for model in answers["model"]], dtype=np.int64),
        _code(answers["item_id"]),
        cluster,
        keys,
        series,
        [],
        {},
        dict(_read_parts(answers.join(in_parts, on=_ANSWER, how="left", maintain_order="left"))),
    )
    if against == HUMAN:
        return scored._replace(
            targets=list(_read_targets(located)),
            ratings=dict(_read_ratings(located, answers.height)),
        )
    parts = [
        _split_reference(entry, against_samples)
        for entry in series
        if against in (entry.alias, entry.judge)
    ]
    others = [entry for entry in series if against not in (entry.alias, entry.judge)]
    held = [rest for _, rest in parts if rest.samples.size]
    return scored._replace(
        series=[*others, *held], targets=[_hold_to(reference) for reference, _ in parts]
    )


def _locate(frame: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    return frame.join(
        answers.select(*_ANSWER, "row"), on=_ANSWER, how="inner", maintain_order="left"
    )


def _code(column: pl.Series) -> Indices:
    return (column.rank("dense") - 1).to_numpy().astype(np.int64)


def _read_parts(answers: pl.DataFrame) -> Iterator[tuple[str, tuple[list[str], Indices]]]:
    for name in PARTS:
        values = answers[name].unique().sort().to_list()
        if 1 < len(values) <= MOST_PARTS:
            yield name, (values, _code(answers[name]))


def _key_clusters(benchmark: str, names: pl.Series) -> tuple[Keys, Indices]:
    """The keys of clusters in rising order, and each name's place among them."""
    distinct = names.unique()
    keys = pl.Series("key", key_clusters(f"{benchmark}/{name}" for name in distinct))
    order = keys.arg_sort()
    places = pl.Series(np.arange(len(order)))
    coded = names.replace_strict(distinct[order], places, return_dtype=pl.Int64)
    return keys[order].to_numpy(), coded.to_numpy()


def _rows(frame: pl.DataFrame) -> Indices:
    return frame["row"].to_numpy().astype(np.int64)


def _read_series(samples: pl.DataFrame, n_answers: int) -> Iterator[Series]:
    for key, part in samples.group_by("judge", "alias", "kind", "criterion", maintain_order=True):
        rows, columns = _rows(part), _code(part["sample"])
        values = part["score"].fill_null(np.nan).to_numpy()
        wanted = np.zeros(n_answers, dtype=np.bool_)
        wanted[rows] = True
        judge, alias, kind, criterion = map(str, key)
        scores = tabulate_scores(values, rows, columns, (n_answers, int(columns.max()) + 1))
        numbers = tuple(part["sample"].unique().sort().to_list())
        yield Series(judge, alias, kind, criterion, scores, wanted, numbers)


def _read_targets(people: pl.DataFrame) -> Iterator[Target]:
    for key, part in people.group_by("criterion", "human_rule", maintain_order=True):
        values = part["score_0_1"].to_numpy().astype(np.float64)
        yield Target(str(key[0]), str(key[1]), _rows(part), values, values[:, None])


def _read_ratings(people: pl.DataFrame, n_answers: int) -> Iterator[tuple[str, Floats]]:
    for key, part in people.filter(pl.col("human_rule") == EACH).group_by(
        "criterion", maintain_order=True
    ):
        is_crowd = part["annotator"].n_unique() > _MOST_ANNOTATORS
        place = pl.col("annotator").rank("ordinal").over("row") if is_crowd else pl.col("annotator")
        columns = _code(part.select(place).to_series())
        yield (
            str(key[0]),
            tabulate_scores(
                part["score_0_1"].to_numpy(),
                _rows(part),
                columns,
                (n_answers, int(columns.max()) + 1),
            ),
        )


def _split_reference(series: Series, chosen: tuple[int, ...]) -> tuple[Series, Series]:
    """The samples that are the target, and the others."""
    absent = sorted({*chosen} - {*series.numbers})
    if absent:
        raise SuiteError(
            f"report: against_samples: {', '.join(map(str, absent))} is no sample of "
            f"{series.judge} ({series.criterion}); "
            f"expected some of {', '.join(map(str, series.numbers))}; name those, or none to "
            f"take the first half"
        )
    places = [series.numbers.index(number) for number in chosen]
    if len(series.numbers) % 2:
        places = places or [*range(len(series.numbers))]
    target, rest = split_samples(series.samples, places)
    return series._replace(samples=target), series._replace(samples=rest, competes=False)


def _hold_to(series: Series) -> Target:
    values = series.mean
    rows = np.flatnonzero(~np.isnan(values))
    return Target(series.criterion, "mean", rows, values[rows], series.samples[rows])


class Draws(NamedTuple):
    """Resamples of the clusters and of the models; `seed` is for what draws by itself, the same for
    each judge.
    """

    clusters: AnyWeights
    models: AnyWeights
    seed: list[int]


def draw_resamples(benchmark: str, keys: Keys, n_models: int, report: ReportSettings) -> Draws:
    """Draw the clusters of a benchmark, and apart from them its models."""
    seed = [report.seed, _hash_name(benchmark)]
    models = draw_cluster_weights(n_models, report.resamples, np.random.default_rng(seed))
    return Draws(draw_keyed_weights(keys, report.resamples, report.seed), models, seed)


Row = dict[str, object]


class Resamples(NamedTuple):
    """A benchmark's resamples of its clusters, (resamples, clusters), which all raters share, and
    what seeds other draws.
    """

    weights: Weights
    seeds: tuple[int, ...]

    def seed_rng(self, *names: str) -> np.random.Generator:
        """A generator that depends on the suite's seed, the benchmark and these names alone."""
        return np.random.default_rng([*self.seeds, *map(_hash_name, names)])


Describe = Callable[[pl.DataFrame, Resamples], Iterable[Row]]


def build_rows(
    connection: duckdb.DuckDBPyConnection,
    suite: Suite,
    table: str,
    query: tuple[str, Mapping[str, object]],
    describe: Describe,
) -> pl.DataFrame:
    """Rows of a report table: what `describe` makes of each benchmark's rows of `query`, a file and
    its parameters.
    """
    return build_tables(connection, suite, query, {table: describe})[table]


def build_tables(
    connection: duckdb.DuckDBPyConnection,
    suite: Suite,
    query: tuple[str, Mapping[str, object]],
    describe: Mapping[str, Describe],
    *,
    pools_benchmarks: bool = False,
    categories: tuple[str, ...] = (),
) -> dict[str, pl.DataFrame]:
    """`build_rows` of several tables made of the same rows, which are read, and their resamples
    drawn, once. Pooled, several benchmarks have rows of all together too, of benchmark `*`; their
    `benchmark_code` distinguishes them. `categories`: text columns of few values, which are held as
    such, in a quarter of the memory.
    """
    stamp: Row = {
        "suite": suite.name,
        "resamples": suite.report.resamples,
        "seed": suite.report.seed,
        "reported_at": datetime.now(UTC),
    }
    rows: dict[str, list[Row]] = {table: [] for table in describe}
    for benchmark, frame, resamples in _read_benchmarks(
        connection, suite, query, categories, pools=pools_benchmarks
    ):
        for table, own in rows.items():
            own += [
                _drop_open({**stamp, "benchmark": benchmark, **row})
                for row in describe[table](frame, resamples)
            ]
    return {
        table: pl.DataFrame(own, schema=TABLES[table].polars_schema) for table, own in rows.items()
    }


def _read_benchmarks(
    connection: duckdb.DuckDBPyConnection,
    suite: Suite,
    query: tuple[str, Mapping[str, object]],
    categories: tuple[str, ...],
    *,
    pools: bool,
) -> Iterator[tuple[str, pl.DataFrame, Resamples]]:
    """Each benchmark that has rows, and with `pools` all of several together."""
    seed, held = suite.report.seed, []
    for number, benchmark in enumerate(sorted(suite.benchmarks)):
        frame = select_file(connection, query[0], {"benchmark": benchmark, **query[1]})
        if frame.height:
            keys = frame["cluster_key"].unique().sort()
            codes = pl.col("cluster_key").rank("dense").cast(pl.Int64) - 1
            frame = frame.select(
                pl.exclude("cluster_key", *categories),
                pl.col(categories).cast(pl.Categorical),
                codes.alias("cluster_code"),
                pl.lit(number).alias("benchmark_code"),
            )
            weights = draw_keyed_weights(keys.to_numpy(), suite.report.resamples, seed)
            if pools:
                held.append((frame, weights))
            yield benchmark, frame, Resamples(weights, (seed, _hash_name(benchmark)))
    if len(held) > 1:
        yield "*", *_join_benchmarks(held, (seed, _hash_name("*")))


def _join_benchmarks(
    held: list[tuple[pl.DataFrame, Weights]], seeds: tuple[int, ...]
) -> tuple[pl.DataFrame, Resamples]:
    """Rows of several benchmarks, whose clusters are drawn as in each alone."""
    starts = np.cumsum([0, *(weights.shape[1] for _, weights in held)])
    frames = [
        frame.with_columns(pl.col("cluster_code") + int(start))
        for (frame, _), start in zip(held, starts, strict=False)
    ]
    drawn = np.concatenate([weights.T for _, weights in held]).T
    return pl.concat(frames), Resamples(drawn, seeds)


def group_rows(
    frame: pl.DataFrame, names: tuple[str, ...]
) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """Rows that have the same values of these text columns, and the values, in the order in which
    they first stand.
    """
    for key, group in frame.group_by(names, maintain_order=True):
        yield dict(zip(names, map(str, key), strict=True)), group


def write_ends(estimate: Estimate, value: str, prefix: str = "") -> Row:
    """An estimate's value and ends as columns `value`, `<prefix>low`, `<prefix>high`, and as
    `<prefix>reason` why it has no ends.
    """
    ends = {f"{prefix}low": estimate.low, f"{prefix}high": estimate.high}
    return {value: estimate.value, **ends, f"{prefix}reason": estimate.reason}


def _drop_open(row: Row) -> Row:
    """A number that is not finite is null: there is none, or it lies beyond all."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def _hash_name(name: str) -> int:
    return int(digest_json(name)[:8], 16)
