"""Agreement of raters over all criteria, of each task, category and style, over all benchmarks, and
of a judge of likelihood: planted labels, counted in plain Python and by other packages.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.reports.page.sections import SECTIONS
from judgelake.tasks.stats.agreement import agree_raters
from judgelake.tasks.stats.resampling import draw_keyed_weights, key_clusters
from judgelake.tasks.suite.suite import ReportSettings
from tests.lakes import (
    Row,
    answer,
    ingest,
    item,
    make_lake,
    make_suite,
    preference,
    query,
    rating,
)
from tests.reports.rater_rows import agree, name_item, recorded_duel

REPORT = ReportSettings(resamples=50, seed=3)
SUITE = make_suite(benchmarks=("b", "c"), report=REPORT)
MODELS = ("m1", "m2", "m3")
PAIRS = (("m1", "m2"), ("m1", "m3"), ("m2", "m3"))
CRITERIA = {"b": ("overall", "relevance"), "c": ("overall",)}
PEOPLE = {"b": ("human:p1", "human:p2", "human:p3"), "c": ("human:q",)}
JUDGES = ("gpt", "vlm")
N_ITEMS = 20
LIKELY = np.random.default_rng(8).integers(-5, -2, (2, N_ITEMS, 3))
"""Log-probabilities of answers by benchmark, item and model; many are equal."""


class Choice(NamedTuple):
    """One pair under one criterion, and what each rater said of it."""

    benchmark: str
    number: int
    criterion: str
    models: tuple[str, str]
    task: str
    category: str
    style: str | None
    said: dict[str, str]


def task_of(benchmark: str, number: int) -> str:
    return "caption" if benchmark == "c" and number % 2 else "vqa"


def category_of(number: int) -> str | None:
    return ("dog", "cat", None)[number % 3]


def style_of(number: int, model: str) -> str:
    """Answers to every fifth item are long but for m1's: two of its pairs have no style."""
    return "long" if number % 5 == 0 and model != "m1" else "short"


def plant_choice(benchmark: str, number: int, models: tuple[str, str], criterion: str) -> Choice:
    """Raters say the truth or anything; each is silent once in ten."""
    place = ("b", "c").index(benchmark)
    rng = np.random.default_rng(
        [place, number, PAIRS.index(models), CRITERIA["b"].index(criterion)]
    )
    truth = str(rng.choice(["a", "b", "tie"]))
    said = {
        rater: truth if rng.random() < 0.6 else str(rng.choice(["a", "b", "tie"]))
        for rater in (*JUDGES, *PEOPLE[benchmark])
        if rng.random() < 0.9
    }
    a, b = (LIKELY[place, number, MODELS.index(model)] for model in models)
    if said:
        said["davinci"] = "a" if a > b else "b" if b > a else "tie"
    styles = {style_of(number, model) for model in models}
    return Choice(
        benchmark,
        number,
        criterion,
        models,
        task_of(benchmark, number),
        category_of(number) or "(none)",
        styles.pop() if len(styles) == 1 else None,
        said,
    )


CHOICES = [
    plant_choice(benchmark, number, models, criterion)
    for benchmark, criteria in CRITERIA.items()
    for number in range(N_ITEMS)
    for criterion in criteria
    for models in PAIRS
]


def score_likelihood(number: int, model: str, value: float) -> Row:
    return {
        "item_id": name_item(number),
        "answer_id": model,
        "judge": "davinci",
        "criterion": "likelihood",
        "sample": 0,
        "status": "ok",
        "rating": value,
        "scale_low": -10.0,
        "scale_high": 0.0,
        "text": None,
        "reason": None,
    }


def give_choices(lake: Lake, benchmark: str) -> None:
    of_benchmark = [one for one in CHOICES if one.benchmark == benchmark]
    numbers = range(N_ITEMS)
    items = [
        item(name_item(n), f"Q{n}", task=task_of(benchmark, n), category=category_of(n))
        for n in numbers
    ]
    answers = [
        answer(name_item(n), f"{model} on {n}", model, style=style_of(n, model))
        for n in numbers
        for model in MODELS
    ]
    preferences = [
        preference(
            name_item(one.number),
            *one.models,
            one.said[rater],
            rater.removeprefix("human:"),
            criterion=one.criterion,
        )
        for one in of_benchmark
        for rater in PEOPLE[benchmark]
        if rater in one.said
    ]
    duels = [
        recorded_duel(one.number, *one.models, one.said[rater], rater, criterion=one.criterion)
        for one in of_benchmark
        for rater in JUDGES
        if rater in one.said
    ]
    place = ("b", "c").index(benchmark)
    likelihoods = [
        score_likelihood(n, model, float(LIKELY[place, n, m]))
        for n in numbers
        for m, model in enumerate(MODELS)
    ]
    ingest(
        lake,
        items,
        answers,
        benchmark=benchmark,
        human_preferences=preferences,
        recorded_duels=duels,
        recorded_verdicts=likelihoods,
    )


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake of both benchmarks, with the tables of its report."""
    lake = make_lake(tmp_path_factory.mktemp("planted"))
    for benchmark in CRITERIA:
        give_choices(lake, benchmark)
    for table, frame in agree(lake, SUITE).items():
        append_rows(lake, table, frame)
    return lake


Part = tuple[str, str, str, str, str]
"""Benchmark, criterion, task, category, style: `*` is all."""


def list_parts() -> Iterator[tuple[Part, list[Choice]]]:
    """All parts with what is in them, by the rule: several benchmarks, criteria, values."""
    for benchmark in ("b", "c", "*"):
        of_benchmark = [one for one in CHOICES if benchmark in (one.benchmark, "*")]
        criteria = {"b": ("overall", "relevance", "*"), "c": ("overall",), "*": ("overall", "*")}
        for criterion in criteria[benchmark]:
            rows = [one for one in of_benchmark if criterion in (one.criterion, "*")]
            yield (benchmark, criterion, "*", "*", "*"), rows
            tasks = ("vqa", "caption") if benchmark != "b" else ()
            for task in tasks:
                part = [one for one in rows if one.task == task]
                yield (benchmark, criterion, task, "*", "*"), part
            for category in ("dog", "cat", "(none)"):
                part = [one for one in rows if one.category == category]
                yield (benchmark, criterion, "*", category, "*"), part
            for style in ("short", "long"):
                part = [one for one in rows if one.style == style]
                yield (benchmark, criterion, "*", "*", style), part


def pick_majority(one: Choice) -> str | None:
    votes = Counter(choice for rater, choice in one.said.items() if rater.startswith("human:"))
    return next((choice for choice, n in votes.items() if 2 * n > votes.total()), None)


def read_rater(one: Choice, rater: str) -> str | None:
    return pick_majority(one) if rater == "human:* (majority)" else one.said.get(rater)


def test_kappas_of_every_part_are_scikit_learn_s(planted: Lake) -> None:
    """rpt_kappas: raw agreement and Cohen's kappa of each criterion, all, and each cut of them."""
    found = {
        (row["benchmark"], row["criterion"], row["task"], row["category"], row["style"], pair): row
        for row in query(planted, "from rpt_kappas where kind = 'choice' and chance = 'nominal'")
        if (pair := (row["rater_a"], row["rater_b"]))
    }
    expected = {}
    for part, rows in list_parts():
        people = {rater for one in rows for rater in PEOPLE[one.benchmark]}
        pooled = ["human:* (majority)"] if len(people) > 1 else []
        # over benchmarks, people have one name only as one rater
        names = ["davinci", *JUDGES, *(sorted(people) if part[0] != "*" else ()), *pooled]
        for k, a in enumerate(names):
            for b in names[k + 1 :]:
                if b in pooled and a.startswith("human:"):
                    continue
                both = [
                    (said, other)
                    for one in rows
                    if (said := read_rater(one, a)) and (other := read_rater(one, b))
                ]
                given = np.array(both).T
                expected[(*part, (min(a, b), max(a, b)))] = (
                    len(both),
                    (given[0] == given[1]).mean(),
                    cohen_kappa_score(*given),
                )
    assert set(found) == set(expected)
    for key, (n, agreement, kappa) in expected.items():
        row = found[key]
        assert (row["n"], row["agreement"]) == (n, pytest.approx(agreement)), key
        assert row["kappa"] == pytest.approx(kappa, abs=1e-12), key


def test_agreement_by_sql_alone_is_that_of_the_report(planted: Lake) -> None:
    """rpt_agreement: the same figures of each benchmark and of all, without judges of likelihood
    and people as one rater.
    """
    same = "agreement, kappa, n, benchmark, criterion, task, category, style"
    by_sql = query(planted, f"select {same}, judge_a as a, judge_b as b from rpt_agreement")
    kept = query(
        planted,
        f"select {same}, rater_a as a, rater_b as b from rpt_kappas where "
        "kind = 'choice' and chance = 'nominal' and rater_a <> 'davinci' and "
        "rater_a not like 'human:*%' and rater_b not like 'human:*%'",
    )
    assert {key_row(row): row for row in by_sql} == {
        key_row(row): {**row, **{name: pytest.approx(row[name]) for name in ("agreement", "kappa")}}
        for row in kept
    }


def key_row(row: Row) -> tuple[str, ...]:
    names = ("a", "b", "benchmark", "criterion", "task", "category", "style")
    return tuple(str(row[name]) for name in names)


def test_likelihood_agrees_with_judges_pair_by_pair(planted: Lake) -> None:
    """CHIRP, C.2.7: how often the likelier answer is the one a judge prefers, over all matchups."""
    rows = query(
        planted,
        "from rpt_kappas where rater_a = 'davinci' and rater_b = 'gpt' and chance = 'nominal' "
        "and task = '*' and category = '*' and style = '*'",
    )
    found = {(row["benchmark"], row["criterion"]): row["agreement"] for row in rows}
    given = {name: [one for one in CHOICES if name in (one.benchmark, "*")] for name in "bc*"}

    def share(benchmark: str, criterion: str) -> float:
        alike = [
            one.said["gpt"] == one.said["davinci"]
            for one in given[benchmark]
            if criterion in (one.criterion, "*") and "gpt" in one.said
        ]
        return sum(alike) / len(alike)

    assert found == {key: pytest.approx(share(*key)) for key in found}
    assert set(found) == {
        *(("b", name) for name in ("overall", "relevance", "*")),
        ("c", "overall"),
        *(("*", name) for name in ("overall", "*")),
    }


def test_intervals_of_all_benchmarks_have_the_draws_of_each(planted: Lake) -> None:
    """Clusters are drawn by their names, so those of two benchmarks are drawn as one."""
    rows = [one for one in CHOICES if set(JUDGES) <= set(one.said)]
    keys = key_clusters([f"{one.benchmark}/{name_item(one.number)}" for one in rows])
    known, clusters = np.unique(keys, return_inverse=True)
    weights = draw_keyed_weights(known, REPORT.resamples, REPORT.seed)
    codes = {"a": 0.0, "b": 1.0, "tie": 2.0}
    a, b = (np.array([codes[one.said[judge]] for one in rows]) for judge in JUDGES)
    expected = agree_raters(a, b, clusters, weights)["kappa_nominal"]
    (row,) = query(
        planted,
        "from rpt_kappas where benchmark = '*' and criterion = '*' and rater_a = 'gpt' "
        "and rater_b = 'vlm' and chance = 'nominal' and task = '*' and category = '*' "
        "and style = '*'",
    )
    assert (row["n"], row["n_clusters"]) == (len(rows), len(known))
    assert (row["kappa_low"], row["kappa_high"]) == (
        pytest.approx(expected.low),
        pytest.approx(expected.high),
    )


def test_reliabilities_of_every_part_are_the_package_s(planted: Lake) -> None:
    """rpt_reliability: alpha of people and of judges. One of likelihood is none of the latter."""
    found = {
        (row["benchmark"], row["criterion"], row["task"], row["category"], row["style"], who): row
        for row in query(planted, "from rpt_reliability where statistic = 'alpha_nominal'")
        if (who := row["raters"]) in ("people", "judges", "people and davinci")
        and row["kind"] == "choice"
    }
    everyone = {
        "judges": JUDGES,
        "people": sum(PEOPLE.values(), ()),
        "people and davinci": (*sum(PEOPLE.values(), ()), "davinci"),
    }
    codes = {"a": 0.0, "b": 1.0, "tie": 2.0}
    expected = {}
    for part, rows in list_parts():
        for who, raters in everyone.items():
            asked = [one for one in rows if who == "judges" or {*one.said} & {*everyone["people"]}]
            labels = np.array(
                [[codes.get(one.said.get(rater, ""), np.nan) for one in asked] for rater in raters]
            )
            if ((~np.isnan(labels)).sum(axis=0) > 1).any():
                alpha = krippendorff.alpha(labels, level_of_measurement="nominal")
                expected[(*part, who)] = pytest.approx(alpha, abs=1e-12)
    assert {key: row["value"] for key, row in found.items()} == expected


Rate = Callable[[int, str], float]


def give_scores(
    lake: Lake, scales: dict[tuple[str, str], float], rate: Rate, n_clusters: int = 12
) -> None:
    """Ratings from 0 by (annotator, criterion): highest value."""
    items = [item(f"i{n:02}", image=f"{n % n_clusters}.png") for n in range(24)]
    rows = [
        rating(
            row["item_id"],
            min(rate(n, annotator + criterion), highest),
            annotator,
            criterion=criterion,
            scale_high=highest,
        )
        for n, row in enumerate(items)
        for (annotator, criterion), highest in scales.items()
    ]
    ingest(lake, items, [answer(row["item_id"], "x") for row in items], rows)


def draw_rating(n: int, name: str) -> float:
    return float(np.random.default_rng([n, *name.encode()]).integers(0, 4))


def test_scores_of_all_criteria_are_weighted_together(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    criteria = ("correctness", "fluency")
    give_scores(lake, {(who, name): 3.0 for who in ("p1", "p2") for name in criteria}, draw_rating)
    frame = agree(lake, make_suite(report=REPORT))["kappas"]
    found = {(row["criterion"], row["chance"]): row for row in frame.to_dicts()}
    assert {
        (row["kind"], row["task"], row["category"], row["style"]) for row in found.values()
    } == {("score", "*", "*", "*")}
    for chance in ("linear", "quadratic"):
        given = [
            [draw_rating(n, who + name) for name in criteria for n in range(24)]
            for who in ("p1", "p2")
        ]
        row = found["*", chance]
        assert (row["n"], row["n_clusters"]) == (48, 12)
        assert row["kappa"] == pytest.approx(cohen_kappa_score(*given, weights=chance), abs=1e-12)


def test_one_criterion_on_unlike_scales_leaves_all_of_them_without_kappa(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    scales = {("p1", "x"): 3.0, ("p2", "x"): 3.0, ("p1", "y"): 3.0, ("p2", "y"): 2.0}
    give_scores(lake, scales, draw_rating)
    frame = agree(lake, make_suite(report=REPORT))
    kappas = {(row["criterion"], row["chance"]): row for row in frame["kappas"].to_dicts()}
    assert {name for name, chance in kappas if chance == "quadratic"} == {"x"}
    assert {name for name, chance in kappas if chance == "none"} == {"y", "*"}
    assert kappas["*", "none"]["reason"].startswith("scales of unlike spans, 2 and 3")
    assert "no interval" not in kappas["*", "none"]["reason"]
    alphas = frame["reliabilities"].to_dicts()
    assert {row["statistic"] for row in alphas if row["criterion"] == "*"} == {"alpha_interval"}


def test_correlations_of_unlike_scales_say_why_they_have_no_interval(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    give_scores(lake, {("p1", "x"): 3.0, ("p2", "x"): 2.0}, draw_rating, n_clusters=4)
    (row,) = agree(lake, make_suite(report=REPORT))["kappas"].to_dicts()
    assert row["spearman"] is not None
    assert row["spearman_low"] is row["kendall_tau_b_low"] is None
    assert row["reason"].endswith(
        "; spearman has no interval: fewer than 5 clusters"
        "; kendall_tau_b has no interval: fewer than 5 clusters"
    )


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("agreement", ("judge_a", "judge_b")),
        ("kappas", ("rater_a", "rater_b", "chance")),
        ("reliability", ("raters", "statistic")),
    ],
)
def test_the_page_shows_all_criteria_first_and_no_cut(
    planted: Lake, name: str, pair: tuple[str, ...]
) -> None:
    (section,) = (one for one in SECTIONS if one.name == name)
    rows = query(planted, section.query, {"benchmarks": ["b"]})
    by_raters: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        by_raters.setdefault(tuple(row[side] for side in pair), []).append(row["criterion"])
    assert {tuple(given) for given in by_raters.values()} == {("*", "overall", "relevance")}
