"""CHIRP's tables and figures from planted files: every cell is there and equals what pandas and the
formulas of the paper give for the same files.
"""

import graphlib
import itertools
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from judgelake.flows.paper_command import _ask, ask_table
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.papers.cells import FilledTable
from judgelake.tasks.papers.drawings import draw_figure
from judgelake.tasks.papers.registry import PaperTable, list_papers
from judgelake.tasks.reports.live import make_figures
from judgelake.tasks.suite.kept import record_suite
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.warehouse.catalog import list_recipes
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame
from tests.conftest import CHECKOUT
from tests.papers.planted import record_duels, record_verdicts, write_csv, write_lines
from tests.sources.tables import ingest

PAPER = list_papers()["chirp"]
SUITES = CHECKOUT / "infra" / "suites"
CRITERIA = ("overall", "relevance", "understanding", "hallucinations", "details")
ROBINS = [row.key for row in PAPER.tables[5].rows]
SIZES = {"410m": 0.41, "1.4b": 1.4, "2.8b": 2.8, "6.9b": 6.9, "12b": 12.0}
ENCODERS = {"b": 0.086, "l": 0.307, "h": 0.632, "g": 1.0}
LOSSES = {
    name: 3 - 0.3 * np.log(SIZES[llm]) - 0.1 * ENCODERS[encoder]
    for name in ROBINS
    for llm, encoder in [name.removeprefix("pythia-").split("_vit-")]
}
STUDIES = {
    "llm_size": ([name for name in ROBINS if name.endswith("vit-g")], 5, CRITERIA),
    "ve_size": ([name for name in ROBINS if "-12b_" in name], 3, CRITERIA),
    "all_robin": (ROBINS, 25, ("overall",)),
}
CATEGORIES = [row.key for row in PAPER.figures[18].rows]
SCORES = [column.key for number in (5, 6) for column in PAPER.tables[number].columns]


def write_study(data: Path, name: str, rng: np.random.Generator) -> pd.DataFrame:
    """Questions, answers and the survey of one study; returns a row a participant and criterion."""
    models, n_pairs, criteria = STUDIES[name]
    folder, questions = data / "chirp", [f"c{number:02}" for number in range(16)]
    write_lines(
        folder / "questions.jsonl",
        [
            {
                "question_id": one,
                "question": f"What of {one}?",
                "image": f"{one}.png",
                "category": CATEGORIES[place % 8].title(),
            }
            for place, one in enumerate(questions)
        ],
    )
    for model in models:
        write_lines(
            folder / name / f"{model}.jsonl",
            [{"question_id": one, "response": f"{model} on {one}"} for one in questions],
        )
    pairs, rows = list(itertools.combinations(models, 2)), []
    for one in questions:
        for place in rng.choice(len(pairs), n_pairs, replace=False):
            a, b = pairs[place] if rng.random() < 0.5 else pairs[place][::-1]
            for criterion in criteria:
                likes_b = rng.random() < (0.75 if LOSSES[b] < LOSSES[a] else 0.25)
                rows.append(
                    {
                        "question_id": one,
                        "model_a": a,
                        "model_b": b,
                        "criterion": criterion,
                        "choice": 2 if likes_b else 1,
                        "participant": f"{one}-{place}",
                    }
                )
    write_csv(folder / f"survey_{name}.csv", rows)
    return pd.DataFrame(rows)


def write_models(data: Path, rng: np.random.Generator) -> pd.DataFrame:
    rows = []
    for name in ROBINS:
        llm, encoder = name.removeprefix("pythia-").split("_vit-")
        rows.append(
            {
                "model": name,
                "family": "robin",
                "llm_parameters_b": SIZES[llm],
                "vision_encoder_parameters_b": ENCODERS[encoder],
                "training_loss": LOSSES[name],
            }
        )
    write_csv(data / "chirp" / "models.csv", rows)
    scores = [
        {"model": name, **{key: round(rng.uniform(0, 60), 2) for key in SCORES}} for name in ROBINS
    ]
    write_csv(data / "chirp" / "scores.csv", scores)
    return pd.DataFrame(scores).set_index("model")


class Planted:
    """A lake with the three studies, and per study the survey's and the judges' choices."""

    def __init__(self, folder: Path) -> None:
        rng, data = np.random.default_rng(11), folder / "data"
        self.scores = write_models(data, rng)
        self.survey = {name: write_study(data, name, rng) for name in STUDIES}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JUDGELAKE_DATA", str(data))
            for name in STUDIES:
                suite = read_suite(SUITES / f"chirp_{name}.yaml")
                self.lake = ingest(suite, folder)
                record_suite(self.lake, suite)
        self.said: dict[tuple[str, str], pd.DataFrame] = {}
        for name, survey in self.survey.items():
            judges = ("gpt4v-r",) if name == "all_robin" else ("gpt4v-s", "gpt4v-r", "llava-34b")
            for size, judge in enumerate(judges):
                own = survey.copy()
                flips = rng.random(len(own)) < 0.15 + 0.15 * size
                own["choice"] = np.where(flips, 3 - own.choice, own.choice)
                rows = own.assign(choice=own.choice.map({1: "a", 2: "b"}))
                record_duels(self.lake, f"chirp_{name}", judge, rows)
                self.said[name, judge] = own
        for name, survey in self.survey.items():
            self.said[name, "human"] = survey


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return Planted(tmp_path_factory.mktemp("chirp"))


def ask(lake: Lake, table: PaperTable) -> FilledTable:
    with open_warehouse(lake, lazy=True) as connection:
        return ask_table(connection, table)


def by_key(filled: FilledTable) -> dict[tuple[str, str], float | None]:
    assert filled.n_filled == filled.n_cells, filled.gaps
    return {
        (row.key, column.key): cell.here
        for row, cells in zip(filled.table.rows, filled.cells, strict=True)
        for column, cell in zip(filled.table.columns, cells, strict=True)
    }


def prefers(rows: pd.DataFrame, model: str) -> pd.Series:
    """Whether the row's choice is the model."""
    return pd.Series(np.where(rows.choice == 1, rows.model_a, rows.model_b) == model, rows.index)


def chirp_kappa(a: pd.DataFrame, b: pd.DataFrame) -> float:
    """Appendix C.2.5: chance per matchup, weighted by the matchups' frequency."""
    matchup = [tuple(sorted(pair)) for pair in zip(a.model_a, a.model_b, strict=True)]
    expected = 0.0
    for key in set(matchup):
        inside = np.array([one == key for one in matchup])
        p, q = prefers(a[inside], key[0]).mean(), prefers(b[inside], key[0]).mean()
        expected += inside.mean() * (p * q + (1 - p) * (1 - q))
    observed = (a.choice.to_numpy() == b.choice.to_numpy()).mean()
    return float((observed - expected) / (1 - expected))


def test_table_1(planted: Planted) -> None:
    found = by_key(ask(planted.lake, PAPER.tables[1]))
    expected: dict[tuple[str, str], float] = {}
    for name in ("llm_size", "ve_size"):
        for judge in ("gpt4v-s", "gpt4v-r", "llava-34b"):
            own, people = planted.said[name, judge], planted.survey[name]
            agreed = (own.choice.to_numpy() == people.choice.to_numpy()).mean()
            expected[judge, f"chirp_{name}/agreement"] = float(agreed)
            expected[judge, f"chirp_{name}/kappa"] = chirp_kappa(own, people)
    assert found == pytest.approx(expected)


def share_preferring(rows: pd.DataFrame, better: dict[str, float]) -> float:
    """How often the chosen model is the one with more of `better`."""
    chosen = np.where(rows.choice == 1, rows.model_a, rows.model_b)
    other = np.where(rows.choice == 1, rows.model_b, rows.model_a)
    return 100 * float(np.mean([better[a] > better[b] for a, b in zip(chosen, other, strict=True)]))


def test_table_2(planted: Planted) -> None:
    found = by_key(ask(planted.lake, PAPER.tables[2]))
    llm = {name: SIZES[name.removeprefix("pythia-").split("_")[0]] for name in ROBINS}
    encoder = {name: ENCODERS[name[-1]] for name in ROBINS}
    expected = {
        (rater, f"chirp_{name}"): share_preferring(planted.said[name, rater], size)
        for name, size in (("llm_size", llm), ("ve_size", encoder))
        for rater in ("human", "llava-34b", "gpt4v-s", "gpt4v-r")
    }
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("number", [5, 6])
def test_benchmarks(planted: Planted, number: int) -> None:
    found = by_key(ask(planted.lake, PAPER.tables[number]))
    assert found == pytest.approx({(m, b): planted.scores.loc[m, b] for m, b in found})


def test_table_15(planted: Planted) -> None:
    found = by_key(ask(planted.lake, PAPER.tables[15]))
    expected = {}
    for name, (models, n_pairs, criteria) in STUDIES.items():
        survey = planted.survey[name]
        key = f"chirp_{name}"
        expected[key, "questions"] = survey.question_id.nunique()
        expected[key, "matchups"] = len(models) * (len(models) - 1) / 2
        expected[key, "sampled"] = n_pairs
        expected[key, "participants"] = survey.participant.nunique()
        expected[key, "criteria"] = len(criteria)
    assert found == pytest.approx(expected)


def test_table_16(planted: Planted) -> None:
    found = by_key(ask(planted.lake, PAPER.tables[16]))
    low = {name: -loss for name, loss in LOSSES.items()}
    expected = {(r, "agreement"): share_preferring(planted.said["all_robin", r], low) for r in ("human", "gpt4v-r")}  # fmt: skip
    assert found == pytest.approx(expected)


def mean_elo(rows: pd.DataFrame, models: list[str], rng: np.random.Generator) -> dict[str, float]:
    """Mean of 400 bootstraps: games drawn with replacement, in the order of the draw; K 4."""
    games = list(zip(rows.model_a, rows.model_b, rows.choice == 2, strict=True))
    total = dict.fromkeys(models, 0.0)
    for _ in range(400):
        rating = dict.fromkeys(models, 1000.0)
        for place in rng.integers(0, len(games), len(games)):
            a, b, won = games[place]
            chance = 1 / (1 + 10 ** ((rating[a] - rating[b]) / 400))
            rating[a] -= 4 * (won - chance)
            rating[b] += 4 * (won - chance)
        for name in models:
            total[name] += rating[name] / 400
    return total


@pytest.mark.full
def test_figure_5(planted: Planted) -> None:
    rng, found = np.random.default_rng(2), by_key(ask(planted.lake, PAPER.figures[5]))
    for study, rater in (("llm_size", "human"), ("ve_size", "gpt4v-r")):
        rows = planted.said[study, rater]
        elo = mean_elo(rows[rows.criterion == "overall"], STUDIES[study][0], rng)
        own = {m: found[f"chirp_{study}/{m}", f"{rater}/overall"] for m in elo}
        assert own == pytest.approx(elo, abs=3)


@pytest.mark.full
def test_figure_22(planted: Planted) -> None:
    """The mean is that of figure 5; of the bootstraps 2.5 % lie below and above the ends."""
    rng = np.random.default_rng(3)
    filled = ask(planted.lake, PAPER.figures[22])
    found, means = by_key(filled), by_key(ask(planted.lake, PAPER.figures[5]))
    for (row, key), value in means.items():
        low, mean, high = (found[row, f"{key}/{end}"] for end in ("low", "mean", "high"))
        assert mean == value
        assert low is not None
        assert high is not None
        assert low < value < high  # type: ignore[operator]
    rows = planted.said["llm_size", "human"]
    draws = draw_elo(rows[rows.criterion == "details"], STUDIES["llm_size"][0], rng)
    percentiles = read_percentiles(planted.lake)
    for model, drawn in draws.items():
        ends = [found[f"chirp_llm_size/{model}", f"human/details/{end}"] for end in ("low", "high")]
        assert ends == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=8)
        half = ("lower_quartile", "median", "upper_quartile")
        quartiles = [found[f"chirp_llm_size/{model}", f"human/details/{name}"] for name in half]
        assert quartiles == pytest.approx(np.quantile(drawn, [0.25, 0.5, 0.75]), abs=5)
        kept = percentiles[model]
        assert kept == sorted(kept)
        assert kept[10:91] == pytest.approx(np.percentile(drawn, range(10, 91)), abs=6)
    drawn_figure = draw_figure(filled)
    root = ElementTree.fromstring(drawn_figure)  # a panel for each rater, under its name
    names = [text.text for text in root.findall("{http://www.w3.org/2000/svg}text")]
    assert names == ["Human", "LLaVA-34B", "GPT-4V (S)", "GPT-4V (R)"]
    assert len(root.findall("{http://www.w3.org/2000/svg}svg")) == 4
    ids = re.findall(r'\bid="([^"]+)"', drawn_figure)
    assert len(ids) == len(set(ids))


def read_percentiles(lake: Lake) -> dict[str, list[float]]:
    """Those that the report keeps of the survey's Elo of each model on details."""
    statement = (
        "select model, percentiles from rpt_rankings where benchmark = 'chirp_llm_size' and "
        "rater = 'human' and criterion = 'details' and category = '*' and method = 'elo'"
    )
    with open_warehouse(lake, lazy=True) as connection:
        make_figures(connection, statement, lambda _: None)
        return dict(connection.execute(statement).fetchall())


def draw_elo(
    rows: pd.DataFrame, models: list[str], rng: np.random.Generator
) -> dict[str, list[float]]:
    """Elo of 400 bootstraps of the questions, each in an order of its own; K 4."""
    questions = {one: [*part.itertuples()] for one, part in rows.groupby("question_id")}
    drawn: dict[str, list[float]] = {model: [] for model in models}
    for _ in range(400):
        chosen = rng.choice([*questions], len(questions))
        games = [game for one in chosen for game in questions[one]]
        rating = dict.fromkeys(models, 1000.0)
        for place in rng.permutation(len(games)):
            a, b, won = games[place].model_a, games[place].model_b, games[place].choice == 2
            chance = 1 / (1 + 10 ** ((rating[a] - rating[b]) / 400))
            rating[a] -= 4 * (won - chance)
            rating[b] += 4 * (won - chance)
        for model in models:
            drawn[model].append(rating[model])
    return drawn


@pytest.mark.full
def test_figures_2_and_7(planted: Planted) -> None:
    scores = planted.scores
    scaled = ((scores - scores.min()) / (scores.max() - scores.min())).mean(axis=1)
    filled = ask(planted.lake, PAPER.figures[2])
    found = by_key(filled)
    assert {m: found[m, "scaled"] for m in ROBINS} == pytest.approx(scaled.to_dict())
    rng = np.random.default_rng(4)
    for rater in ("human", "gpt4v-r"):
        drawn = draw_elo(planted.said["all_robin", rater], ROBINS, rng)
        elo = {model: float(np.median(values)) for model, values in drawn.items()}
        assert {m: found[m, rater] for m in ROBINS} == pytest.approx(elo, abs=4)
    seventh = ask(planted.lake, PAPER.figures[7])
    found = by_key(seventh)
    assert {m: found[m, "loss"] for m in ROBINS} == pytest.approx(LOSSES)
    assert {m: found[m, "scaled"] for m in ROBINS} == pytest.approx(scaled.to_dict())
    for one in (filled, seventh):
        assert draw_figure(one).startswith("<svg")


def test_figure_8(planted: Planted) -> None:
    filled = ask(planted.lake, PAPER.figures[8])
    assert by_key(filled) == pytest.approx(
        {tuple(name.split("_")): loss for name, loss in LOSSES.items()}
    )
    assert filled.table.x == {f"pythia-{name}": size for name, size in SIZES.items()}
    drawn = draw_figure(filled)
    assert drawn.startswith("<svg")
    assert drawn.count("Pythia 6.9B") == 1


@pytest.mark.parametrize("number", [9, 10])
def test_heat_maps_of_benchmarks(planted: Planted, number: int) -> None:
    filled = ask(planted.lake, PAPER.figures[number])
    found = by_key(filled)
    assert found == pytest.approx({(m, b): planted.scores.loc[m, b] for m, b in found})
    assert draw_figure(filled).startswith("<svg")


def test_figure_24(planted: Planted) -> None:
    """Of the pairs that the survey compared, the share that prefers the model of the column."""
    filled = ask(planted.lake, PAPER.figures[24])
    rows = planted.survey["all_robin"]
    compared = 0
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, cell in zip(filled.table.columns, cells, strict=True):
            pair = {row.key, column.key}
            own = rows[[{a, b} == pair for a, b in zip(rows.model_a, rows.model_b, strict=True)]]
            assert cell.n == len(own)
            if len(own):
                assert cell.here == pytest.approx(100 * prefers(own, column.key).mean())
                compared += 1
            else:
                assert cell.here is None
    assert compared > 200
    assert draw_figure(filled).startswith("<svg")


def test_figure_23(planted: Planted) -> None:
    """Each question's arrows, and a circle where the graph has one: a walk along arrows that ends
    where it began.
    """
    with open_warehouse(planted.lake, lazy=True) as connection:
        found = _ask(connection, PAPER.figures[23]).df()
    rows = planted.survey["llm_size"]
    rows = rows[rows.criterion == "overall"]
    assert sorted(found.question_id) == sorted(rows.question_id.unique())
    assert found.circle.isna().is_monotonic_increasing
    assert 0 < found.circle.isna().sum() < len(found)
    for one in found.itertuples():
        own = rows[rows.question_id == one.question_id]
        arrows = {
            (row.model_a, row.model_b) if row.choice == 2 else (row.model_b, row.model_a)
            for row in own.itertuples()
        }
        assert {tuple(text.split(" → ")) for text in one.preferences} == arrows
        graph = graphlib.TopologicalSorter[str]()
        for worse, better in arrows:
            graph.add(better, worse)
        if isinstance(one.circle, str):
            walk = one.circle.split(" → ")
            assert {*itertools.pairwise(walk)} <= arrows
            assert walk[0] == walk[-1] == min(walk)
        assert has_cycle(graph) is isinstance(one.circle, str)


def test_best_encoder_of_each_language_model(planted: Planted) -> None:
    """The recipe `best_encoder_ratio`: the medians of figure 2 have the same best as its means."""
    elo = by_key(ask(planted.lake, PAPER.figures[2]))
    recipe = list_recipes()["best_encoder_ratio"]
    with open_warehouse(planted.lake, lazy=True) as connection:
        given = recipe.fill_options(["benchmark=chirp_all_robin"])
        make_figures(connection, recipe.text, lambda _line: None)
        rows = select_frame(connection, recipe.text, "recipe", given).to_dicts()
    people = {row["llm_parameters_b"]: row for row in rows if row["rater"] == "human"}
    assert [*people] == sorted(SIZES.values())
    for name, size in SIZES.items():
        best = max(ENCODERS, key=lambda one: elo[f"pythia-{name}_vit-{one}", "human"] or 0.0)
        assert people[size]["model"] == f"pythia-{name}_vit-{best}"
        assert people[size]["ratio"] == pytest.approx(ENCODERS[best] / size)
        assert people[size]["n_encoders"] == 4
    assert {row["rater"] for row in rows} == {"human", "gpt4v-r"}


def distance_correlation(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    """Székely et al. 2007, of the doubly centred distance matrices."""

    def centre(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        d = np.abs(values[:, None] - values[None, :])
        return np.asarray(d - d.mean(0) - d.mean(1)[:, None] + d.mean())

    a, b = centre(x), centre(y)
    return float(np.sqrt((a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean())))


def test_table_17(planted: Planted) -> None:
    """Elo over 400 orders of the games, K 4: the table's has 1,000 orders of its own."""
    found = by_key(ask(planted.lake, PAPER.tables[17]))
    rng = np.random.default_rng(1)
    for rater in ("human", "gpt4v-r"):
        rows = planted.said["all_robin", rater]
        games = list(zip(rows.model_a, rows.model_b, rows.choice == 2, strict=True))
        total = dict.fromkeys(ROBINS, 0.0)
        for _ in range(400):
            rating = dict.fromkeys(ROBINS, 1000.0)
            for place in rng.permutation(len(games)):
                a, b, won = games[place]
                chance = 1 / (1 + 10 ** ((rating[a] - rating[b]) / 400))
                rating[a] -= 4 * (won - chance)
                rating[b] += 4 * (won - chance)
            for name in ROBINS:
                total[name] += rating[name]
        elo = np.array([total[name] for name in ROBINS])
        expected = distance_correlation(elo / 400, np.array([LOSSES[name] for name in ROBINS]))
        assert found[rater, "dcor"] == pytest.approx(expected, abs=0.01)


def has_cycle(graph: "graphlib.TopologicalSorter[str]") -> bool:
    try:
        graph.prepare()
    except graphlib.CycleError:
        return True
    return False


def test_figure_6(planted: Planted) -> None:
    """A question has a contradiction where its graph of preferences has a cycle."""
    found = by_key(ask(planted.lake, PAPER.figures[6]))
    for (criterion, key), value in found.items():
        study, rater = key.removeprefix("chirp_").split("/")
        rows = planted.said[study, rater]
        circles = []
        for _, question in rows[rows.criterion == criterion].groupby("question_id"):
            graph = graphlib.TopologicalSorter[str]()
            for one in question.itertuples():
                pair = (one.model_a, one.model_b)
                graph.add(*(pair if one.choice == 2 else pair[::-1]))
            circles.append(has_cycle(graph))
        assert value == pytest.approx(100 * np.mean(circles)), (criterion, key)


def test_figure_18(planted: Planted) -> None:
    found = by_key(ask(planted.lake, PAPER.figures[18]))
    assert found == {(category, "questions"): 2 for category in CATEGORIES}


GRADERS = {
    "short": ("strings-gqa", "strings-textvqa", "llm"),
    "long": ("llm", "gpt4v", "llava-34b", "cascade"),
}


def write_grading(data: Path, rng: np.random.Generator) -> pd.DataFrame:
    """Both samples: two models' short and long answers with people's grades; a row an answer."""
    rows: list[dict[str, Any]] = []
    for name in ("gqa", "textvqa"):
        folder, ids = data / "chirp" / "grading", [f"{name}{number:02}" for number in range(30)]
        issues = {
            one: [["wrong"], ["ambiguous"], [], []][place % 4] for place, one in enumerate(ids)
        }
        write_lines(
            folder / f"{name}.jsonl",
            [
                {
                    "question_id": one,
                    "question": f"{one}?",
                    "answers": ["yes"],
                    "image": f"{one}.png",
                    "issues": issues[one],
                }
                for one in ids
            ],
        )
        for style, model in itertools.product(("short", "long"), ("llava-1.5-7b", *ROBINS)):
            graded: list[dict[str, Any]] = [
                {
                    "question_id": one,
                    "response": f"{model} {style} {one}",
                    "correct": int(rng.random() < 0.6),
                }
                for one in ids
            ]
            write_lines(folder / name / style / f"{model}.jsonl", graded)
            rows += [
                {
                    "benchmark": f"{name}_sample",
                    "style": style,
                    "model": model,
                    "item_id": row["question_id"],
                    "answer_id": f"{model}/{style}/0",
                    "people": row["correct"],
                    "issues": issues[row["question_id"]],
                }
                for row in graded
            ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def grading(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, pd.DataFrame]:
    return plant_grading(tmp_path_factory.mktemp("grading"))


def plant_grading(folder: Path) -> tuple[Lake, pd.DataFrame]:
    rng = np.random.default_rng(12)
    held = write_grading(folder / "data", rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGELAKE_DATA", str(folder / "data"))
        lake = ingest(read_suite(SUITES / "chirp_grading.yaml"), folder)
    for size, judge in enumerate(sorted({one for names in GRADERS.values() for one in names})):
        styles = [style for style, names in GRADERS.items() if judge in names]
        graded = np.where(rng.random(len(held)) < 0.1 + 0.05 * size, 1 - held.people, held.people)
        held[judge] = np.where(held["style"].isin(styles), graded, np.nan)
        for benchmark, rows in held[held[judge].notna()].groupby("benchmark"):
            keyed = rows[["item_id", "answer_id"]].assign(rating=1 + 4 * rows[judge])
            record_verdicts(lake, str(benchmark), judge, keyed.assign(criterion="correctness"))
    return lake, held


def test_table_7(grading: tuple[Lake, pd.DataFrame]) -> None:
    lake, held = grading
    found = by_key(ask(lake, PAPER.tables[7]))
    own = held[(held.benchmark == "gqa_sample") & (held.model == "llava-1.5-7b")]
    for (key, _), value in found.items():
        judge, style = key.split("/")
        rows = own[own["style"] == style]
        assert value == pytest.approx(100 * (rows[judge] == rows.people).mean()), key


@pytest.mark.parametrize("number", [3, 4, 11, 12])
def test_accuracies_of_models(grading: tuple[Lake, pd.DataFrame], number: int) -> None:
    lake, held = grading
    for (model, key), value in by_key(ask(lake, PAPER.figures[number])).items():
        benchmark, grader, style = key.split("/")
        rows = held[
            (held.benchmark == benchmark) & (held.model == model) & (held["style"] == style)
        ]
        grades = rows.people if grader == "human" else rows[grader]
        assert value == pytest.approx(100 * grades.mean()), (model, key)


def test_figure_13(grading: tuple[Lake, pd.DataFrame]) -> None:
    lake, held = grading
    filled = ask(lake, PAPER.figures[13])
    own = held[(held.benchmark == "gqa_sample") & (held.model == "llava-1.5-7b")]
    for (key, cell), value in by_key(filled).items():
        judge, style = key.split("/")
        rows = own[own["style"] == style]
        people, said = {"true_right": (1, 1), "false_wrong": (1, 0), "false_right": (0, 1), "true_wrong": (0, 0)}[cell]  # fmt: skip
        assert value == ((rows.people == people) & (rows[judge] == said)).sum(), (key, cell)
    assert draw_figure(filled).startswith("<svg")


def test_figure_14(grading: tuple[Lake, pd.DataFrame]) -> None:
    lake, held = grading
    filled = ask(lake, PAPER.figures[14])
    own = held[held.model.str.endswith("vit-g")]
    for (key, benchmark), value in by_key(filled).items():
        judge, style = key.split("/")
        name = f"strings-{benchmark.removesuffix('_sample')}" if judge == "strings" else judge
        rows = own[(own["style"] == style) & (own.benchmark == benchmark)]
        assert value == pytest.approx(100 * (rows[name] == rows.people).mean()), (key, benchmark)
    assert draw_figure(filled).startswith("<svg")


def list_rows(lake: Lake, number: int) -> pd.DataFrame:
    with open_warehouse(lake, lazy=True) as connection:
        return pd.DataFrame(_ask(connection, PAPER.tables[number]).df())


@pytest.mark.parametrize(
    ("number", "sample", "label"), [(8, "gqa", "wrong"), (9, "gqa", "ambiguous"), (10, "textvqa", "ambiguous")]
)  # fmt: skip
def test_labelled_questions(
    grading: tuple[Lake, pd.DataFrame], number: int, sample: str, label: str
) -> None:
    lake, held = grading
    own = held[held.benchmark == f"{sample}_sample"]
    expected = sorted({row.item_id for row in own.itertuples() if label in row.issues})
    assert list(list_rows(lake, number).question_id) == expected
    assert expected


def test_disagreements(grading: tuple[Lake, pd.DataFrame]) -> None:
    lake, held = grading
    gqa = held[held.benchmark == "gqa_sample"]
    llava = gqa[gqa.model == "llava-1.5-7b"]
    missed = gqa[(gqa["style"] == "short") & (gqa.people == 1) & (gqa.llm == 1) & (gqa["strings-gqa"] == 0)]  # fmt: skip
    found = list_rows(lake, 11)
    expected = sorted(zip(missed.item_id, missed.model, strict=True))[:20]
    assert list(zip(found.question_id, found.model, strict=True)) == expected
    both = gqa.pivot_table(index=["item_id", "model"], columns="style", values="people")
    found = list_rows(lake, 12)
    expected = sorted(both[both.long != both.short].index)[:20]
    assert list(zip(found.question_id, found.model, strict=True)) == expected
    strict = llava[(llava["style"] == "long") & (llava.people == 1) & (llava.gpt4v == 0)]
    assert list(list_rows(lake, 13).question_id) == sorted(strict.item_id)[:20]
    looking = llava[(llava.llm == 0) & (llava["llava-34b"] == 1)]
    assert list(list_rows(lake, 14).question_id) == sorted(looking.item_id)[:20]
    assert min(map(len, (missed, strict, looking))) > 0
