"""The views for people (`sql/views`), and tables of LAVE and CHIRP made of them by one query each:
scores_with_people, duels_with_people, labels, verdicts.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from judgelake.tasks.lake.lake import Lake, append_records
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import (
    Row,
    answer,
    case_row,
    correlate,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    make_suite,
    preference,
    query,
    rating,
    verdict_row,
)
from tests.reports.test_correlating import recorded
from tests.sql.test_bias import duel

BENCHMARKS, MODELS, JUDGES = ("vqav2", "okvqa"), ("m1", "m2", "m3"), ("lave", "exact")
RNG = np.random.default_rng(11)
N = 30


def plant(benchmark: str) -> tuple[dict[str, Any], pl.DataFrame, pl.DataFrame]:
    """Rows of one benchmark, and what was planted: its scores and its choices."""
    items = [
        item(f"i{k}", f"Q{k}", image=f"{k // 2}.png", category="how" if k % 3 else "why")
        for k in range(N)
    ]
    answers, ratings, verdicts, duels, preferences = [], [], [], [], []
    scores, choices = [], []
    for k in range(N):
        for model in MODELS:
            style = "long" if model == "m3" else "short"
            answers.append(answer(f"i{k}", f"{model} says {k}", model, style=style))
            truth = int(RNG.integers(0, 2))
            people = [float(truth if RNG.random() < 0.8 else 1 - truth) for _ in range(3)]
            ratings += [rating(f"i{k}", value, f"p{a}", model) for a, value in enumerate(people)]
            for judge in JUDGES:
                given = float(truth if RNG.random() < 0.7 else 1 - truth)
                score = None if (k, judge) == (0, "lave") else given
                verdicts.append(recorded(judge, f"i{k}", model, 0, score))
                scores.append((judge, model, style, items[k]["category"], score, np.mean(people)))
        for first, second in (("m1", "m2"), ("m2", "m3")):
            chosen = [str(RNG.choice([first, second, "tie"])) for _ in range(3)]
            names = {first: "a", second: "b"}
            preferences += [
                preference(f"i{k}", first, second, names.get(choice, choice), f"p{a}")
                for a, choice in enumerate(chosen)
            ]
            of_judge = str(RNG.choice([first, second]))
            duels.append(duel(f"i{k}", first, second, of_judge, "gpt-4"))
            most = next((c for c in chosen if chosen.count(c) > 1), None)
            choices.append((first, second, of_judge, most))
    tables = {
        "items": items,
        "answers": answers,
        "ratings": ratings,
        "recorded_verdicts": verdicts,
        "recorded_duels": duels,
        "human_preferences": preferences,
    }
    columns = ["judge_name", "model", "style", "category", "judge", "human"]
    own = pl.DataFrame(scores, schema=columns, orient="row")
    drawn = pl.DataFrame(choices, schema=["model_a", "model_b", "judge", "human"], orient="row")
    return tables, own, drawn


PLANTED = {benchmark: plant(benchmark) for benchmark in BENCHMARKS}
SCORES = pl.concat(
    [own.with_columns(benchmark=pl.lit(name)) for name, (_, own, _) in PLANTED.items()]
)
CHOICES = pl.concat(
    [own.with_columns(benchmark=pl.lit(name)) for name, (_, _, own) in PLANTED.items()]
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = make_lake(tmp_path_factory.mktemp("views"))
    for benchmark, (tables, _, _) in PLANTED.items():
        models = [
            {"model": model, "family": "f", "llm_parameters_b": float(k), "training_loss": None}
            | {"vision_encoder_parameters_b": None}
            for k, model in enumerate(MODELS, 1)
        ]
        ingest(lake, benchmark=benchmark, models=models, **tables)
    return lake


def test_scores_stand_beside_people_s(lake: Lake) -> None:
    rows = query(lake, "select * from scores_with_people")
    assert len(rows) == SCORES.height
    first = next(row for row in rows if row["judge_name"] == "exact" and row["item_id"] == "i4")
    assert first["cluster"] == f"{first['benchmark']}/2.png"
    assert (first["n_annotators"], first["family"], first["answer_words"]) == (3, "f", 3)
    missing = [row for row in rows if row["judge"] is None]
    assert {(row["item_id"], row["judge_name"], row["missing_because"]) for row in missing} == {
        ("i0", "lave", "unparsed")
    }
    of_rows = (
        pl.DataFrame(rows, infer_schema_length=None)
        .group_by("judge_name")
        .agg(pl.col("judge", "human").sum())
    )
    planted = SCORES.group_by("judge_name").agg(pl.col("judge", "human").sum())
    for one, other in zip(
        of_rows.sort("judge_name").rows(), planted.sort("judge_name").rows(), strict=True
    ):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:])


def test_lave_table_2_by_one_pivot(lake: Lake) -> None:
    """Spearman's correlation with people: metrics down, models of data sets across, all together
    last.
    """
    rows = query(
        lake,
        """
        pivot (
            select judge_name, coalesce(benchmark || ' ' || model, 'Overall') as answers,
                   round(100 * spearman(judge, human), 2) as rho
            from scores_with_people
            group by grouping sets ((judge_name, benchmark, model), (judge_name))
        )
        on answers using first(rho) group by judge_name order by judge_name
        """,
    )
    assert [row["judge_name"] for row in rows] == ["exact", "lave"]
    assert len(rows[0]) == 1 + len(BENCHMARKS) * len(MODELS) + 1
    for row in rows:
        for name, value in row.items():
            if name == "judge_name":
                continue
            part = SCORES.filter(pl.col("judge_name") == row["judge_name"]).drop_nulls("judge")
            if name != "Overall":
                benchmark, model = name.split()
                part = part.filter(pl.col("benchmark") == benchmark, pl.col("model") == model)
            expected = 100 * stats.spearmanr(part["judge"], part["human"]).statistic
            assert value == pytest.approx(expected, abs=0.0051)


def test_chirp_table_7_by_one_pivot(lake: Lake) -> None:
    """Accuracy of graders: methods down, models and styles across."""
    rows = query(
        lake,
        """
        pivot (
            select judge_name, model || ' ' || style as answers,
                   agreement(judge, human_majority) as accuracy
            from scores_with_people group by all
        )
        on answers using first(accuracy) group by judge_name order by judge_name
        """,
    )
    assert set(rows[0]) == {"judge_name", "m1 short", "m2 short", "m3 long"}
    for row in rows:
        for model, style in (("m1", "short"), ("m2", "short"), ("m3", "long")):
            part = SCORES.filter(
                pl.col("judge_name") == row["judge_name"], pl.col("model") == model
            ).drop_nulls("judge")
            right = (part["judge"] == part["human"].round()).mean()
            assert row[f"{model} {style}"] == pytest.approx(right, abs=1e-12)


def test_chirp_table_1_by_one_pivot(lake: Lake) -> None:
    """Agreement and kappa of a judge with people: raters down, studies across."""
    rows = query(
        lake,
        """
        pivot (
            select rater, benchmark, agreement(choice, human_choice) as agreement,
                   cohen_kappa(choice, human_choice) as kappa,
                   matchup_kappa(choice, human_choice, model_a, model_b) as by_matchup
            from duels_with_people where rater <> 'human' group by all
        )
        on benchmark using first(agreement) as agreement, first(kappa) as kappa
        group by rater
        """,
    )
    assert [row["rater"] for row in rows] == ["gpt-4"]
    for benchmark in BENCHMARKS:
        part = CHOICES.filter(pl.col("benchmark") == benchmark).drop_nulls("human")
        letters = [
            [
                "a" if chosen == row["model_a"] else "b" if chosen == row["model_b"] else "tie"
                for row in part.iter_rows(named=True)
                for chosen in [row[side]]
            ]
            for side in ("judge", "human")
        ]
        agreed = np.mean([one == other for one, other in zip(*letters, strict=True)])
        assert rows[0][f"{benchmark}_agreement"] == pytest.approx(agreed)
        assert rows[0][f"{benchmark}_kappa"] == pytest.approx(cohen_kappa_score(*letters))


def test_chirp_table_2_by_one_pivot(lake: Lake) -> None:
    """How often each method prefers the model with more parameters."""
    rows = query(
        lake,
        """
        pivot (
            select duels.rater, duels.benchmark, win_rate(
                case when b.llm_parameters_b > a.llm_parameters_b then preference_b
                     else 1 - preference_b end) as larger
            from duels_with_people as duels
            join models as a on duels.benchmark = a.benchmark and duels.model_a = a.model
            join models as b on duels.benchmark = b.benchmark and duels.model_b = b.model
            group by all
        )
        on benchmark using first(larger) group by rater order by rater
        """,
    )
    assert [row["rater"] for row in rows] == ["gpt-4", "human"]
    for benchmark in BENCHMARKS:
        part = CHOICES.filter(pl.col("benchmark") == benchmark)
        assert rows[0][benchmark] == pytest.approx((part["judge"] == part["model_b"]).mean())


def test_people_together_are_a_rater(lake: Lake) -> None:
    rows = query(lake, "select * from duels_with_people where benchmark = 'okvqa'")
    people = [row for row in rows if row["rater"] == "human"]
    assert len(people) == CHOICES.height // 2
    assert all(row["choice"] == row["human_choice"] for row in people)
    assert all(row["preference_b"] == row["human_preference_b"] for row in people)
    most = CHOICES.filter(pl.col("benchmark") == "okvqa")["human"].null_count()
    assert sum(row["human_choice"] is None for row in people) == most


def test_labels_of_all_raters(lake: Lake) -> None:
    rows = query(
        lake,
        "select criterion, count(*) as n, count(distinct rater) as raters, "
        "krippendorff_alpha(unit, label) as alpha from labels where rater like 'human:%' "
        "group by all order by criterion",
    )
    assert [(row["criterion"], row["n"], row["raters"]) for row in rows] == [
        ("correctness", 3 * SCORES.height // 2, 3),
        ("overall", 3 * CHOICES.height, 3),
    ]
    assert rows[0]["alpha"] > rows[1]["alpha"]  # choices were drawn by chance


def test_verdicts_have_names(tmp_path: Any) -> None:
    lake, given = make_lake(tmp_path), item("i0", "Q?", category="how")
    ingest(lake, [given], [answer("i0", "cat", "m1"), answer("i0", "cat", "m2")])
    digest = digest_of(given, "cat")
    append_records(lake, "judges", [judge_row("lave", "a" * 16)])
    append_records(lake, "cases", [case_row("a" * 16, "i0", digest)])
    append_records(
        lake,
        "verdicts",
        [verdict_row("a" * 16, "i0", digest, 3), verdict_row("f" * 16, "gone", "0" * 16, 1)],
    )
    text = "select alias, item_id, model, prompt, answer, category from verdicts order by item_id"
    rows: list[Row] = query(lake, text)
    assert [tuple(row.values()) for row in rows] == [
        (None, "gone", None, None, None, None),
        ("lave", "i0", "m1, m2", "Q?", "cat", "how"),
    ]


def test_a_report_has_the_figures_of_sql(lake: Lake) -> None:
    """Value and ends, to the last digit: clusters are drawn by name."""
    suite = make_suite(benchmarks=BENCHMARKS, report=ReportSettings(resamples=200, seed=3))
    reported = correlate(lake, suite).correlations.filter(
        pl.col("human_rule") == "mean",
        pl.col("sample_rule") == "mean",
        pl.all_horizontal(pl.col("task", "category", "style") == "*"),
    )
    for coefficient in ("pearson", "spearman", "kendall_tau_b", "kendall_tau_c"):
        live = pl.DataFrame(
            query(
                lake,
                f"""
                select benchmark, judge_name as judge, coalesce(model, '*') as model, found.*
                from (
                    select benchmark, judge_name, model, {coefficient}_ci(
                        judge, human, cluster, resamples := 200, seed := 3) as found
                    from scores_with_people
                    group by grouping sets ((benchmark, judge_name, model), (benchmark, judge_name))
                )
                """,
            )
        )
        both = reported.filter(pl.col("coefficient") == coefficient).join(
            live, on=["benchmark", "judge", "model"], suffix="_live"
        )
        assert both.height == len(BENCHMARKS) * len(JUDGES) * (len(MODELS) + 1)
        for name in ("value", "low", "high", "n", "n_clusters"):
            assert both[name].to_list() == both[f"{name}_live"].to_list()
