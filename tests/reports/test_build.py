"""A suite's report from a lake: correlations equal to scipy's on planted scores, rows replaced, and
when it is no longer fresh.
"""

import dataclasses
import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy import stats

from judgelake.tasks import digests as versions
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.metrics.settings import name_metric
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.exports import is_fresh, page_path
from judgelake.tasks.suite.suite import ReportSettings, Suite
from judgelake.tasks.warehouse.database import SHARED
from judgelake.tasks.warehouse.views import load_views
from tests.conftest import copy_packages
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    caption,
    case_row,
    correlate,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    make_suite,
    metric_row,
    query,
    rating,
    score_row,
    verdict_row,
)

A, B, M = "a" * 16, "b" * 16, "c" * 16
SUITE = make_suite(report=ReportSettings(resamples=50, seed=0))
N_ITEMS, N_IMAGES, MODELS = 24, 9, ("m1", "m2")
RNG = np.random.default_rng(3)
QUALITY = RNG.random((N_ITEMS, 2))
HUMAN = np.round(QUALITY + RNG.normal(0, 0.2, QUALITY.shape)).clip(0, 1)[..., None] * np.ones(3)
HUMAN[..., 1] = (QUALITY > 0.4).astype(float)
RATING = np.digitize(QUALITY + RNG.normal(0, 0.2, QUALITY.shape), [0.3, 0.7]) + 1
SCORE = QUALITY + RNG.normal(0, 0.3, QUALITY.shape)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def plant(lake: Lake) -> None:
    """24 items on 9 images, two models, three annotators; LAVE misses i00 of m1, the metric scores
    all.
    """
    items = [item(f"i{n:02}", f"Q{n}", image=f"{n % N_IMAGES}.png") for n in range(N_ITEMS)]
    answers = [
        answer(f"i{n:02}", f"{model} on {n}", model) for n in range(N_ITEMS) for model in MODELS
    ]
    ratings = [
        rating(f"i{n:02}", HUMAN[n, m, p], f"p{p}", model)
        for n in range(N_ITEMS)
        for m, model in enumerate(MODELS)
        for p in range(3)
    ]
    ingest(lake, items, answers, ratings)
    append_records(lake, "judges", [judge_row("lave", A), metric_row("acc", M)])
    keys = [
        (n, m, digest_of(items[n], f"{model} on {n}"))
        for n in range(N_ITEMS)
        for m, model in enumerate(MODELS)
    ]
    append_records(lake, "cases", [case_row(A, f"i{n:02}", digest) for n, _, digest in keys])
    append_records(lake, "verdicts", [
        verdict_row(A, f"i{n:02}", digest, None if (n, m) == (0, 0) else int(RATING[n, m])) for n, m, digest in keys
    ])  # fmt: skip
    append_records(
        lake,
        "metric_scores",
        [score_row(M, f"i{n:02}", digest, SCORE[n, m]) for n, m, digest in keys],
    )


@functools.cache
def report_planted(folder: Path) -> Lake:
    """The planted scores with SUITE's report, made once for all test files that import `planted`."""
    lake = make_lake(folder / "planted")
    plant(lake)
    assert not is_fresh(lake, SUITE)
    build_report(lake, SUITE)
    return lake


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The planted scores with SUITE's report; for tests that only read, or copy."""
    return report_planted(tmp_path_factory.getbasetemp())


def copy_lake(lake: Lake, folder: Path) -> Lake:
    return Lake(Path(shutil.copytree(lake.mirror, folder / "copy")))


def correlations(lake: Lake, human_rule: str = "mean") -> dict[tuple[str, str, str], Row]:
    rows = query(
        lake, "select * from rpt_correlation where human_rule = $rule", {"rule": human_rule}
    )
    return {(row["judge"], row["model"], row["coefficient"]): row for row in rows}


@pytest.mark.parametrize("rule", ["mean", "each"])
def test_coefficients_equal_scipy_s_on_planted_scores(planted: Lake, rule: str) -> None:
    """`mean` takes the annotators' mean, `each` has a row for every one of the three."""
    found = correlations(planted, rule)
    calibrated = {key: found.pop(key) for key in [*found] if key[2] == "tie_calibrated_accuracy"}
    assert len(calibrated) == (
        2 if rule == "mean" else 0
    )  # of each judge, over the pairs of answers to one item
    means = {key: found.pop(key) for key in [*found] if key[1] == "(mean of models)"}
    assert len(found) == 2 * 3 * 4  # judges, models with '*', coefficients
    for (judge, _, name), row in means.items():
        assert row["value"] == pytest.approx(
            np.mean([found[judge, model, name]["value"] for model in MODELS]), abs=1e-12
        )
    human = HUMAN.mean(axis=2, keepdims=True) if rule == "mean" else HUMAN
    chosen = {
        "*": np.ones((N_ITEMS, 2), bool),
        "m1": np.array([[True, False]] * N_ITEMS),
        "m2": np.array([[False, True]] * N_ITEMS),
    }
    read = np.ones((N_ITEMS, 2), bool)
    read[0, 0] = False
    for judge, scores, known in (
        ("lave", (RATING - 1) / 2, read),
        (f"metric:call {M}", SCORE, np.ones_like(read)),
    ):
        for model, mask in chosen.items():
            y = human[mask & known].ravel()
            x = scores[mask & known].repeat(human.shape[2])
            expected = {
                "pearson": stats.pearsonr(x, y).statistic,
                "spearman": stats.spearmanr(x, y).statistic,
                "kendall_tau_b": stats.kendalltau(x, y, variant="b").statistic,
                "kendall_tau_c": stats.kendalltau(x, y, variant="c").statistic,
            }
            for name, value in expected.items():
                row = found[judge, model, name]
                assert row["value"] == pytest.approx(value, abs=1e-12), (judge, model, name)
                assert (row["n"], row["n_clusters"]) == (x.size, N_IMAGES)
                assert row["low"] < row["value"] < row["high"]


def test_a_row_names_what_it_was_computed_from(planted: Lake) -> None:
    row = correlations(planted)["lave", "*", "spearman"]
    names = (
        "benchmark",
        "judge_criterion",
        "human_criterion",
        "human_rule",
        "sample_rule",
        "against",
        "resamples",
        "seed",
    )
    assert [row[name] for name in names] == [
        "b",
        "correctness",
        "correctness",
        "mean",
        "mean",
        "human",
        50,
        0,
    ]


def test_a_report_opens_one_warehouse_of_its_own(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the database that the process's short statements share."""
    plant(lake)
    SHARED.connect().close()
    opened: list[duckdb.DuckDBPyConnection] = []

    def note(connection: duckdb.DuckDBPyConnection) -> None:
        opened.append(connection)
        load_views(connection)

    monkeypatch.setattr("judgelake.tasks.warehouse.database.load_views", note)
    build_report(lake, SUITE)
    assert len(opened) == 1


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others(planted: Lake) -> None:
    ends = []
    for seed in (0, 0, 1):
        suite = make_suite(report=ReportSettings(resamples=50, seed=seed))
        found = correlate(planted, suite)
        intervals = found.correlations.select("low", "high").rows()  # of few clusters: no draws
        ends.append((intervals, found.comparisons.select("difference_low").rows()))
    assert ends[0] == ends[1] != ends[2]


@pytest.mark.usefixtures("bare_reports")
def test_another_report_takes_the_place_of_the_former(planted: Lake, tmp_path: Path) -> None:
    lake = copy_lake(planted, tmp_path)
    append_records(
        lake, "judges", [judge_row("lave", A, suite="other"), metric_row("acc", M, suite="other")]
    )
    build_report(lake, make_suite(name="other", report=SUITE.report))
    # mean, median, majority and each: two judges, '*', two models and their mean, four
    # coefficients; an accuracy a judge for the
    # mean; the judges and the human ceiling on the targets that leave one annotator out; three
    # annotators, pooled
    n_rows = 4 * 2 * 4 * 4 + 2 + 3 * 4 + 3 * 2 * 4
    assert query(
        lake, "select suite, count(*) as n from stg_correlations group by suite order by suite"
    ) == [
        {"suite": "other", "n": n_rows},
        {"suite": "s", "n": n_rows},
    ]
    append_records(lake, "judges", [judge_row("lave", A, registered_at=at(5))])
    build_report(lake, SUITE)
    judges = query(
        lake,
        "select distinct judge from stg_correlations where suite = 's' and human_rule = 'mean'",
    )
    assert judges == [{"judge": "lave"}]
    assert len(lake.part_files("correlations")) == 2


@pytest.mark.usefixtures("bare_reports")
def test_without_ratings_there_is_a_page_and_no_correlation(planted: Lake, tmp_path: Path) -> None:
    lake = copy_lake(planted, tmp_path)
    items = [item("i00", "Q0")]
    ingest(lake, items, [answer("i00", "m1 on 0")], minute=9)
    page = build_report(lake, SUITE)
    assert page == page_path(lake, SUITE)
    assert page.stat().st_size > 1000
    assert lake.part_files("correlations") == []


def test_a_constant_judge_has_no_coefficient_but_its_count(lake: Lake) -> None:
    items = [item(f"i{n}", f"Q{n}") for n in range(4)]
    ingest(
        lake,
        items,
        [answer(f"i{n}", "x") for n in range(4)],
        [rating(f"i{n}", n % 2) for n in range(4)],
    )
    append_records(lake, "judges", [metric_row("acc", M)])
    append_records(
        lake,
        "metric_scores",
        [score_row(M, f"i{n}", digest_of(items[n], "x"), 0.5) for n in range(4)],
    )
    (row,) = (
        row
        for row in correlate(lake, SUITE).correlations.to_dicts()
        if (row["model"], row["coefficient"], row["human_rule"]) == ("*", "pearson", "mean")
    )
    assert (row["value"], row["low"], row["high"], row["n"], row["n_undefined"]) == (
        None,
        None,
        None,
        4,
        50,
    )


# ---- freshness


def change(table: str, row: Row) -> Callable[[Lake, Suite], Suite]:
    def make(lake: Lake, suite: Suite) -> Suite:
        append_records(lake, table, [row])
        return suite

    return make


def edit_an_answer(lake: Lake, suite: Suite) -> Suite:
    ingest(lake, [item("i00", "Q0")], [answer("i00", "edited")], minute=9)
    return suite


def add_a_rating(lake: Lake, suite: Suite) -> Suite:
    append_records(lake, "human_ratings", [{
        **rating("i00", 1.0, "p9"), "benchmark": "b", "ingest_id": "b-0", "source_file": "given", "locator": "row",
    }])  # fmt: skip
    return suite


def remove_the_page(lake: Lake, suite: Suite) -> Suite:
    page_path(lake, suite).unlink()
    return suite


UNREAD_CAPTION = {
    **caption("0.png", "x"),
    "benchmark": "b",
    "ingest_id": "b-0",
    "source_file": "given",
    "locator": "row",
}
CHANGES: dict[str, Callable[[Lake, Suite], Suite]] = {
    "a new verdict": change("verdicts", verdict_row(A, "i00", "d" * 16, 3)),
    "a new case": change("cases", case_row(A, "i99", "d" * 16)),
    "a new metric score": change("metric_scores", score_row(M, "i00", "d" * 16, 1.0, minute=9)),
    "another current judge": change("judges", judge_row("lave", B, registered_at=at(9))),
    "an edited answer": edit_an_answer,
    "a new human rating": add_a_rating,
    "another text of the suite": lambda _, suite: dataclasses.replace(suite, digest="another"),
    "fewer metrics of the suite": lambda _, suite: dataclasses.replace(
        suite, metrics=(name_metric("exact_match"),)
    ),
    "the page is gone": remove_the_page,
}
NO_CHANGES: dict[str, Callable[[Lake, Suite], Suite]] = {
    "nothing": lambda _, suite: suite,
    "a caption that no judge saw": change("captions", UNREAD_CAPTION),
}


@pytest.mark.parametrize("what", [*CHANGES, *NO_CHANGES])
def test_a_report_is_fresh_until_something_it_reads_changes(
    planted: Lake, tmp_path: Path, what: str
) -> None:
    lake = copy_lake(planted, tmp_path)
    assert is_fresh(lake, SUITE)
    suite = {**CHANGES, **NO_CHANGES}[what](lake, SUITE)
    assert is_fresh(lake, suite) is (what in NO_CHANGES)


@pytest.mark.parametrize(
    "file",
    [
        "sql/core/core_scores.sql",
        "tasks/reports/page/report.html",
        "tasks/reports/page/render.py",
        "tasks/stats/elo.py",
        "tasks/failures/rules.py",
    ],
)
def test_a_report_is_made_anew_by_other_code(
    planted: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    package = copy_packages(tmp_path)

    def find_copy(name: str) -> list[str]:
        package = tmp_path.joinpath(*name.split("."))
        return [str(package if package.is_dir() else package.with_suffix(".py"))]

    monkeypatch.setattr(versions, "_find_package", find_copy)
    versions.digest_packages.cache_clear()
    assert is_fresh(planted, SUITE)  # the same files elsewhere
    (package / file).write_bytes((package / file).read_bytes() + b"\n")
    assert is_fresh(planted, SUITE)  # what a process runs does not change below it
    versions.digest_packages.cache_clear()
    assert not is_fresh(planted, SUITE)
    monkeypatch.undo()
    versions.digest_packages.cache_clear()
    assert is_fresh(planted, SUITE)


def test_a_report_of_another_suite_is_not_this_one_s(planted: Lake) -> None:
    assert not is_fresh(planted, make_suite(name="other"))
