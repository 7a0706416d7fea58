"""Correlations and comparisons of a report: planted truth, judges as targets, samples, systems, the
ceiling, golden self-consistency (core_self_consistency).
"""

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.reports.comparisons import SYSTEMS, average_bounds
from judgelake.tasks.reports.correlations import CEILING, correlate_judges
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.stats.missing_bounds import MissingBounds
from judgelake.tasks.suite.suite import ReportSettings, read_suite
from judgelake.tasks.warehouse.warehouse import select_file
from tests.lakes import (
    Row,
    answer,
    correlate,
    ingest,
    item,
    make_lake,
    make_suite,
    query,
    rating,
    warehouse,
)

N_ITEMS, MODELS = 60, ("m1", "m2", "m3", "m4")
RNG = np.random.default_rng(11)
QUALITY = np.clip(RNG.random((N_ITEMS, 4)) * 0.6 + np.array([0.0, 0.1, 0.2, 0.4]), 0, 1)
PEOPLE = np.clip(QUALITY[..., None] + RNG.normal(0, 0.1, (N_ITEMS, 4, 3)), 0, 1)
SAMPLES = {  # (items, models, samples): a close judge, a noisy one, and one of four samples
    "close": np.clip(QUALITY + RNG.normal(0, 0.05, QUALITY.shape), 0, 1)[..., None],
    "noisy": np.clip(QUALITY + RNG.normal(0, 0.6, QUALITY.shape), 0, 1)[..., None],
    "four": np.clip(QUALITY[..., None] + RNG.normal(0, 0.2, (N_ITEMS, 4, 4)), 0, 1),
}
UNREAD = (
    "noisy",
    5,
)  # this judge's verdicts on the answers to the first five items could not be read


def plant(lake: Lake) -> None:
    keys = [(n, m, model) for n in range(N_ITEMS) for m, model in enumerate(MODELS)]
    ratings = [
        rating(f"i{n:02}", PEOPLE[n, m, p], f"p{p}", model)
        for n, m, model in keys
        for p in range(3)
    ]
    verdicts = [
        recorded(
            judge,
            f"i{n:02}",
            model,
            sample,
            None if judge == UNREAD[0] and n < UNREAD[1] else scores[n, m, sample],
        )
        for judge, scores in SAMPLES.items()
        for n, m, model in keys
        for sample in range(scores.shape[2])
    ]
    answers = [answer(f"i{n:02}", f"{model} on {n}", model) for n, _, model in keys]
    ingest(
        lake,
        [item(f"i{n:02}", f"Q{n}") for n in range(N_ITEMS)],
        answers,
        ratings,
        recorded_verdicts=verdicts,
    )


def recorded(judge: str, item_id: str, answer_id: str, sample: int, score: float | None) -> Row:
    row: Row = {
        "item_id": item_id,
        "answer_id": answer_id,
        "judge": judge,
        "criterion": "correctness",
        "sample": sample,
    }
    row |= {
        "status": "unparsed" if score is None else "ok",
        "rating": score,
        "scale_low": 0.0,
        "scale_high": 1.0,
    }
    return {**row, "text": None, "reason": None}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Held to people and, in another suite, to the judge of four samples."""
    lake = make_lake(tmp_path_factory.mktemp("planted"))
    plant(lake)
    for name, against in (("s", "human"), ("judges", "four")):
        settings = ReportSettings(against=against, resamples=200, seed=0)
        found = correlate(lake, make_suite(name=name, report=settings))
        append_rows(lake, "correlations", found.correlations)
        append_rows(lake, "judge_comparisons", found.comparisons)
        append_rows(lake, "difference_tests", found.tests)
    return lake


def select_correlations(lake: Lake, where: str) -> dict[tuple[str, str], Row]:
    """The rows that `where` leaves, one a judge and coefficient."""
    rows = query(lake, f"select * from rpt_correlation where {where}")
    found = {(row["judge"], row["coefficient"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def flatten(scores: np.ndarray) -> np.ndarray:
    return scores.reshape(-1)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_judges_are_held_to_every_human_rule(planted: Lake, rule: str) -> None:
    found = select_correlations(
        planted,
        f"human_rule = '{rule}' and sample_rule = 'mean' and model = '*' and against = 'human'",
    )
    y = flatten(getattr(np, rule)(PEOPLE, axis=2))
    assert found["four", "pearson"]["value"] == pytest.approx(
        stats.pearsonr(flatten(SAMPLES["four"].mean(axis=2)), y).statistic, abs=1e-12
    )


def test_samples_are_combined_by_named_rules(planted: Lake) -> None:
    y = flatten(PEOPLE.mean(axis=2))
    each = [stats.pearsonr(flatten(SAMPLES["four"][..., k]), y).statistic for k in range(4)]
    stacked = stats.pearsonr(flatten(SAMPLES["four"]), np.repeat(y, 4)).statistic
    for rule, value in (("correlate_then_mean", np.mean(each)), ("pooled", stacked)):
        found = select_correlations(
            planted, f"human_rule = 'mean' and sample_rule = '{rule}' and against = 'human'"
        )
        assert {judge for judge, _ in found} == {"four"}  # the others have one sample
        assert found["four", "pearson"]["value"] == pytest.approx(value, abs=1e-12)


def test_systems_are_the_models_means(planted: Lake) -> None:
    found = select_correlations(
        planted, f"human_rule = 'mean' and model = '{SYSTEMS}' and against = 'human'"
    )
    x, y = SAMPLES["close"].mean(axis=(0, 2)), PEOPLE.mean(axis=(0, 2))
    row = found["close", "pearson"]
    assert (row["value"], row["n"]) == (pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12), 4)
    soft = {
        judge: row["value"]
        for (judge, name), row in found.items()
        if name == "soft_pairwise_accuracy"
    }
    assert 0.5 < soft["noisy"] < soft["close"] <= 1
    assert found["close", "soft_pairwise_accuracy"]["low"] is None


def test_tie_calibrated_accuracy_is_over_pairs_of_answers_to_one_item(planted: Lake) -> None:
    found = select_correlations(
        planted,
        "human_rule = 'mean' and model = '*' and sample_rule = 'mean' and against = 'human'",
    )
    x, y = SAMPLES["close"][..., 0], PEOPLE.mean(axis=2)
    pairs = [(a, b) for a in range(4) for b in range(a)]
    # People never tie exactly, and only 0 and 1 are repeated scores: then epsilon 0 is best, and
    # accuracy the share ranked alike.
    alike = [(x[:, a] - x[:, b]) * (y[:, a] - y[:, b]) > 0 for a, b in pairs]
    tied = [(x[:, a] == x[:, b]) & (y[:, a] == y[:, b]) for a, b in pairs]
    assert found["close", "tie_calibrated_accuracy"]["value"] == pytest.approx(
        np.mean(np.add(alike, tied)), abs=1e-12
    )


def test_the_ceiling_stands_beside_judges_on_the_same_targets(planted: Lake) -> None:
    found = select_correlations(planted, "human_rule = 'mean_of_others'")
    others = [np.delete(PEOPLE, p, axis=2).mean(axis=2) for p in range(3)]
    human = np.mean(
        [stats.pearsonr(flatten(PEOPLE[..., p]), flatten(others[p])).statistic for p in range(3)]
    )
    close = np.mean(
        [stats.pearsonr(flatten(SAMPLES["close"]), flatten(other)).statistic for other in others]
    )
    assert found[CEILING, "pearson"]["value"] == pytest.approx(human, abs=1e-12)
    assert found["close", "pearson"]["value"] == pytest.approx(close, abs=1e-12)
    assert found["close", "pearson"]["n"] == found[CEILING, "pearson"]["n"] == 3 * 4 * N_ITEMS


def test_against_a_judge_half_its_samples_are_the_target_and_half_its_own_row(
    planted: Lake,
) -> None:
    found = select_correlations(
        planted, "against = 'four' and sample_rule = 'mean' and model = '*'"
    )
    four = SAMPLES["four"]
    y = flatten(four[..., :2].mean(axis=2))
    for judge, x in (
        ("four", flatten(four[..., 2:].mean(axis=2))),
        ("close", flatten(SAMPLES["close"])),
    ):
        assert found[judge, "pearson"]["value"] == pytest.approx(
            stats.pearsonr(x, y).statistic, abs=1e-12
        )
    compared = query(
        planted,
        "select distinct judge from rpt_judge_comparison where against = 'four' order by judge",
    )
    assert compared == [
        {"judge": "close"},
        {"judge": "noisy"},
    ]  # its self-consistency stands beside them, and does not compete
    assert query(
        planted, "select distinct against from stg_correlations where suite = 'judges'"
    ) == [{"against": "four"}]


def test_a_target_that_nobody_knows_is_refused(planted: Lake) -> None:
    with pytest.raises(
        SuiteError, match=r"against: 'fuor' is no rater of this lake; did you mean 'four'\?"
    ):
        correlate_judges(warehouse(planted), make_suite(report=ReportSettings(against="fuor")))


def test_samples_of_the_target_are_chosen_and_named(planted: Lake) -> None:
    report = ReportSettings(against="four", against_samples=(3, 0, 1), resamples=20, seed=0)
    found = correlate_judges(warehouse(planted), make_suite(report=report)).correlations
    rows = found.filter(model="*", coefficient="pearson", against="four:3+0+1")
    y, own = SAMPLES["four"][..., [0, 1, 3]], flatten(SAMPLES["four"][..., 2])
    each = [stats.pearsonr(own, flatten(y[..., k])).statistic for k in range(3)]
    expected = {
        "mean": stats.pearsonr(own, flatten(y.mean(axis=2))).statistic,
        "correlate_then_mean": np.mean(each),
    }
    reported = dict(rows.filter(judge="four").select("sample_rule", "value").iter_rows())
    assert {rule: reported[rule] for rule in expected} == pytest.approx(expected, abs=1e-12)
    with pytest.raises(
        SuiteError,
        match=r"against_samples: 7 is no sample of four \(correctness\); expected some of 0, "
        r"1, 2, 3",
    ):
        correlate_judges(
            warehouse(planted),
            make_suite(report=ReportSettings(against="four", against_samples=(7,))),
        )


def test_every_annotator_of_a_few_is_a_rule(planted: Lake) -> None:
    found = select_correlations(planted, "human_rule = 'annotator:p1' and against = 'human'")
    assert {name for _, name in found} == {"pearson", "spearman", "kendall_tau_b", "kendall_tau_c"}
    close = stats.kendalltau(flatten(SAMPLES["close"]), flatten(PEOPLE[..., 1])).statistic
    assert found["close", "kendall_tau_b"]["value"] == pytest.approx(close, abs=1e-12)
    assert (
        query(planted, "select 1 from rpt_judge_comparison where human_rule like 'annotator:%'")
        == []
    )


def test_crowds_and_rare_annotators_are_no_rules(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    items, answers = (
        [item(f"i{n}") for n in range(40)],
        [answer(f"i{n}", f"x{n}") for n in range(40)],
    )
    few = [
        rating(f"i{n}", n / 40, f"p{p}")
        for p, rated in (("a", 40), ("b", 30), ("c", 29))
        for n in range(rated)
    ]
    crowd = [
        rating(f"i{n}", n / 40, f"w{p}", criterion="crowd") for p in range(21) for n in range(40)
    ]
    alone = [rating(f"i{n}", n / 40, "one", criterion="alone") for n in range(40)]
    ingest(lake, items, answers, [*few, *crowd, *alone])
    people = select_file(
        warehouse(lake),
        "queries/human_targets.sql",
        {"benchmark": "b", "most_annotators": 20, "least_rated": 30},
    )
    rules = people.filter(pl.col("human_rule").str.starts_with("annotator:"))
    assert rules.group_by("criterion", "human_rule").len().sort("human_rule").rows() == [
        ("correctness", "annotator:pa", 40), ("correctness", "annotator:pb", 30),
    ]  # fmt: skip


LEVELS = {"*": slice(None), "m1": slice(0, 1), "m4": slice(3, 4)}


def test_judges_are_compared_inside_models_and_as_rankings_of_them(planted: Lake) -> None:
    rows = query(
        planted,
        "select * from rpt_judge_comparison where human_rule = 'mean' and against = 'human' "
        "and coefficient = 'pearson'",
    )
    found = {(row["model"], row["judge"]): row for row in rows}
    assert {model for model, _ in found} == {"*", *MODELS, "(mean of models)", SYSTEMS}
    y = PEOPLE.mean(axis=2)

    def common(judge: str, models: slice) -> float:  # `noisy` scored all but the first items
        return float(
            stats.pearsonr(
                flatten(SAMPLES[judge].mean(axis=2)[5:, models]), flatten(y[5:, models])
            ).statistic
        )

    for model, part in LEVELS.items():
        row = found[model, "noisy"]
        assert (row["common_value"], row["other_value"]) == pytest.approx(
            (common("noisy", part), common("close", part)), abs=1e-12
        )
        assert (row["n"], row["n_missing"], row["n_common"]) == (
            55 * row["n_missing"] // 5,
            row["n_missing"],
            row["n"],
        )
        assert row["least"] < row["value"] < row["most"]
    inside = found["(mean of models)", "noisy"]
    means = [
        np.mean([common(judge, slice(k, k + 1)) for k in range(4)]) for judge in ("noisy", "close")
    ]
    assert (inside["common_value"], inside["other_value"]) == pytest.approx(means, abs=1e-12)
    assert inside["least"] == pytest.approx(
        np.mean([found[model, "noisy"]["least"] for model in MODELS])
    )
    systems = found[SYSTEMS, "noisy"]
    whole, common_rows = (
        stats.pearsonr(SAMPLES["noisy"][start:].mean(axis=(0, 2)), y[start:].mean(axis=0)).statistic
        for start in (0, 5)
    )
    assert (systems["n"], systems["n_common"], systems["common_value"]) == (
        4,
        4,
        pytest.approx(common_rows, abs=1e-12),
    )
    assert systems["least"] < whole < systems["most"]


def test_judges_are_compared_on_common_rows_with_bounds_for_what_is_missing(planted: Lake) -> None:
    rows = query(
        planted,
        "select * from rpt_judge_comparison where human_rule = 'mean' and against = 'human' "
        "and model = '*'",
    )
    found = {row["judge"]: row for row in rows if row["coefficient"] == "pearson"}
    assert {
        judge: (row["n"], row["n_missing"], row["n_common"]) for judge, row in found.items()
    } == {
        "close": (240, 0, 240),  # beside the runner-up, `four`
        "noisy": (220, 20, 220),
        "four": (240, 0, 240),
    }
    y = PEOPLE.mean(axis=2)
    on_common = [
        stats.pearsonr(flatten(SAMPLES[judge][5:, :, 0]), flatten(y[5:])).statistic
        for judge in ("noisy", "close")
    ]
    noisy = found["noisy"]
    assert (noisy["common_value"], noisy["other_value"]) == pytest.approx(on_common, abs=1e-12)
    assert noisy["difference"] == pytest.approx(on_common[0] - on_common[1], abs=1e-12)
    assert noisy["difference_low"] < noisy["difference"] < noisy["difference_high"] < 0
    whole = stats.pearsonr(
        flatten(SAMPLES["noisy"]), flatten(y)
    ).statistic  # what the missing scores would have made of it
    assert noisy["least"] < whole < noisy["most"]
    assert (found["close"]["least"], found["close"]["most"]) == (None, None)
    assert {judge: (row["is_best"], row["mark"], row["other"]) for judge, row in found.items()} == {
        "close": (True, "best", "four"),
        "noisy": (False, "", "close"),
        "four": (False, "", "close"),
    }


def test_nobody_is_best_among_equals(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    rng = np.random.default_rng(2)
    truth = rng.random(40)
    verdicts = [
        recorded(judge, f"i{n}", "m1", 0, float(rng.random() + truth[n]) / 2)
        for judge in ("a", "b")
        for n in range(40)
    ]
    ratings = [rating(f"i{n}", truth[n]) for n in range(40)]
    ingest(
        lake,
        [item(f"i{n}") for n in range(40)],
        [answer(f"i{n}", "x") for n in range(40)],
        ratings,
        recorded_verdicts=verdicts,
    )
    rows = correlate_judges(
        warehouse(lake), make_suite(report=ReportSettings(resamples=200, seed=0))
    ).comparisons.to_dicts()
    assert len(rows) == 2 * 4  # judges, coefficients; one annotator: the mean only
    assert not any(row["is_best"] for row in rows)


# ---- rpt_self_consistency


def test_samples_of_a_judge_are_paired(planted: Lake) -> None:
    rows = query(planted, "select * from rpt_self_consistency")
    assert [(row["judge"], row["sample_a"], row["sample_b"]) for row in rows] == [
        ("four", a, b) for a in range(4) for b in range(a + 1, 4)
    ]
    four = SAMPLES["four"].reshape(-1, 4)
    assert rows[1]["pearson"] == pytest.approx(
        stats.pearsonr(four[:, 0], four[:, 2]).statistic, abs=1e-12
    )
    assert (rows[1]["n"], rows[1]["same_score"]) == (
        240,
        pytest.approx(np.mean(four[:, 0] == four[:, 2])),
    )


@pytest.mark.data
def test_the_retest_s_first_run_as_the_target(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """shared/data/README.md, judge retest: the mean of the pairs of runs 0 and 1, 0 and 2."""
    monkeypatch.setenv("JUDGELAKE_DATA", str(data_folder))
    suite = read_suite(Path(__file__).parents[2] / "infra" / "suites" / "judge_retest.yaml")
    lake = make_lake(tmp_path)
    for benchmark in suite.benchmarks.values():
        ingest_benchmark(lake, benchmark, tmp_path, None)
    report = ReportSettings(against="gpt-4", against_samples=(0,), resamples=20, seed=0)
    rows = correlate_judges(warehouse(lake), dataclasses.replace(suite, report=report)).correlations
    found = (
        rows.filter(model="*", coefficient="pearson", sample_rule="correlate_then_mean")
        .select("benchmark", "value")
        .rows()
    )
    assert dict(found) == pytest.approx(
        {"mt_bench_eval": (0.8357 + 0.8763) / 2, "vicuna_eval": (0.7992 + 0.8043) / 2}, abs=5e-5
    )


@pytest.mark.data
def test_the_retest_s_golden_coefficients(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """shared/data/README.md, judge retest: Pearson of three pairs of runs."""
    monkeypatch.setenv("JUDGELAKE_DATA", str(data_folder))
    suite = read_suite(Path(__file__).parents[2] / "infra" / "suites" / "judge_retest.yaml")
    lake = make_lake(tmp_path)
    for benchmark in suite.benchmarks.values():
        ingest_benchmark(lake, benchmark, tmp_path, None)
    rows = query(lake, "select benchmark, round(pearson, 4) as pearson from rpt_self_consistency")
    assert [tuple(row.values()) for row in rows] == [
        ("mt_bench_eval", 0.8357), ("mt_bench_eval", 0.8763), ("mt_bench_eval", 0.8412),
        ("vicuna_eval", 0.7992), ("vicuna_eval", 0.8043), ("vicuna_eval", 0.8221),
    ]  # fmt: skip


def test_the_bounds_of_a_mean_of_models_leave_in_or_out_who_has_no_coefficient_today() -> None:
    """A judge that is constant on a model has one there only if a missing score differs."""
    one, other = MissingBounds(0.98, 0.98, 0, True), MissingBounds(-1.0, 1.0, 1, True)
    found = average_bounds([one, other], [True, False])
    assert (found.low, found.high) == pytest.approx((-0.01, 0.99))
    low = MissingBounds(0.0, 0.1, 1, True)
    # without the second: .98; with it: .49 to .54
    found = average_bounds([one, low], [True, False])
    assert (found.low, found.high) == pytest.approx((0.49, 0.98))
    found = average_bounds([one, low], [True, True])
    assert (found.low, found.high) == pytest.approx((0.49, 0.54))
