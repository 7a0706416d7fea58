"""HarmonicEval's tables from planted MMHE files: every cell is there and equals what pandas and
scipy compute from the same files.
"""

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgelake.flows.paper_command import _ask, ask_table
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.papers.cells import FilledTable
from judgelake.tasks.papers.drawings import draw_figure
from judgelake.tasks.papers.registry import list_papers
from judgelake.tasks.suite.kept import record_suite
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.lakes import query
from tests.papers.planted import (
    CRITERIA,
    SUITES,
    ingest_suite,
    record_verdicts,
    write_flickr8k,
    write_mmhe,
)
from tests.sources.tables import ingest

TASKS = ("reg", "vqa", "vdu", "ic")
TABLES, FIGURES = list_papers()["harmoniceval"].tables, list_papers()["harmoniceval"].figures
KEYS = sorted({row.key for number in range(2, 8) for row in TABLES[number].rows})
HARMONIC = [key for key in KEYS if key.startswith("harmonic")]

Planted = tuple[Lake, dict[str, pd.DataFrame], dict[str, pd.DataFrame], pd.DataFrame]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return plant_mmhe(tmp_path_factory.mktemp("mmhe"))


def plant_mmhe(folder: Path) -> Planted:
    """A lake, each task's ratings and choices, and what every judge says of every text."""
    rng = np.random.default_rng(7)
    data = folder / "data"
    files = {task: write_mmhe(data, task, rng) for task in TASKS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGELAKE_DATA", str(data))
        lake = ingest_suite("mmhe", folder)
    said = []
    for task, (ratings, _) in files.items():
        people = ratings.groupby(["id", "model"])[list(CRITERIA)].mean()
        for size, key in enumerate(KEYS):
            criteria = (*CRITERIA, "overall") if key in HARMONIC else ("overall",)
            of_judge = []
            for criterion in criteria:
                truth = people.mean(axis=1) if criterion == "overall" else people[criterion]
                noisy = np.clip(truth + rng.normal(0, 0.2 + 0.1 * size, len(truth)), 1, 5)
                rows = noisy.round(0 if size % 2 else 2).rename("rating").reset_index()
                rows = rows.rename(columns={"id": "item_id", "model": "answer_id"})
                of_judge.append(rows.assign(criterion=criterion))
                said.append(of_judge[-1].assign(task=task, judge=key))
            record_verdicts(lake, f"mmhe_{task}", key, pd.concat(of_judge))
    ratings = {task: ratings for task, (ratings, _) in files.items()}
    choices = {task: choices for task, (_, choices) in files.items()}
    return lake, ratings, choices, pd.concat(said)


def ask(lake: Lake, number: int) -> FilledTable:
    with open_warehouse(lake, lazy=True) as connection:
        return ask_table(connection, TABLES[number])


def accuracy(choices: pd.DataFrame, scores: pd.Series) -> float:
    """Of winner and loser of each choice, how often the winner is scored higher; ties a half."""
    right = [
        (scores[row.id, row.best] > scores[row.id, loser])
        + 0.5 * (scores[row.id, row.best] == scores[row.id, loser])
        for row in choices.itertuples()
        for loser in row.models.split("|")
        if loser != row.best
    ]
    return float(np.mean(right))


@pytest.mark.parametrize("number", [2, 4, 5, 6])
def test_accuracies(planted: Planted, number: int) -> None:
    lake, _, choices, said = planted
    filled = ask(lake, number)
    overall = said[said.criterion == "overall"]
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        own = overall[overall.judge == row.key].set_index(["task", "item_id", "answer_id"]).rating
        expected = [100 * accuracy(choices[task], own[task]) for task in TASKS]
        expected.append(float(np.mean(expected)))
        assert [cell.here for cell in cells] == pytest.approx(expected)
        assert [cell.paper for cell in cells] == list(filled.table.numbers[row.key])
    assert filled.gaps == ()
    assert filled.n_filled == filled.n_cells


@pytest.mark.parametrize("number", [3, 7])
def test_criteria(planted: Planted, number: int) -> None:
    lake, ratings, _, said = planted
    filled = ask(lake, number)
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, cell in zip(filled.table.columns, cells, strict=True):
            task, criterion = column.key.removeprefix("mmhe_").split("/")
            people = ratings[task].groupby(["id", "model"])[criterion].mean()
            used = criterion if row.key in HARMONIC else "overall"
            chosen = (said.task == task) & (said.judge == row.key) & (said.criterion == used)
            own = said[chosen].set_index(["item_id", "answer_id"]).rating.reindex(people.index)
            expected = 100 * stats.kendalltau(own, people).statistic
            assert cell.here == pytest.approx(expected, abs=1e-9), (row, column)
    assert filled.n_filled == filled.n_cells


def test_figure_4(planted: Planted) -> None:
    lake, ratings, _, _ = planted
    with open_warehouse(lake, lazy=True) as connection:
        filled = ask_table(connection, FIGURES[4])
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, cell in zip(filled.table.columns, cells, strict=True):
            task, criterion = column.key.removeprefix("mmhe_").split("/")
            given = ratings[task][criterion]
            assert cell.here == pytest.approx(100 * (given == int(row.key)).mean())
            assert cell.n == len(given)
    assert filled.n_filled == filled.n_cells
    assert draw_figure(filled).startswith("<svg")


def test_figure_5(planted: Planted) -> None:
    """The two captions on which the overall scores of HarmonicEval and FLEUR differ most."""
    lake, ratings, _, said = planted
    with open_warehouse(lake, lazy=True) as connection:
        rows = _ask(connection, FIGURES[5]).df()
    own = said[(said.task == "ic") & (said.criterion == "overall")]
    wide = own.pivot_table(index=["item_id", "answer_id"], columns="judge", values="rating")
    gap = (wide.harmonic - wide.fleur).abs()
    assert sorted(gap[list(zip(rows.input, rows.model, strict=True))]) == pytest.approx(
        sorted(gap.nlargest(2))
    )
    people = ratings["ic"].groupby(["id", "model"])[list(CRITERIA)].mean()
    for row in rows.itertuples():
        assert row.harmoniceval == pytest.approx(wide.harmonic[row.input, row.model])
        clarity = next(line for line in row.criteria if line.startswith("clarity: "))
        mean = people.clarity[row.input, row.model]
        assert f"people {round(mean + 1e-9, 1)}" in clarity
        assert len(row.criteria) == len(CRITERIA)


VARIANTS: tuple[Literal["b", "c"], ...] = ("c", "b")
"""Of Kendall's tau, on EX and CF."""


def plant_flickr8k(folder: Path) -> tuple[Lake, pd.DataFrame]:
    """A lake, and a row a rating with what each judge says of its caption."""
    rng = np.random.default_rng(8)
    held = write_flickr8k(folder / "data", rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGELAKE_DATA", str(folder / "data"))
        suite = read_suite(SUITES / "flickr8k.yaml")
        lake = ingest(suite, folder)
    record_suite(lake, suite)
    answers = pd.DataFrame(query(lake, "select benchmark, item_id, answer_id, text from answers"))
    held = held.merge(answers, on=["benchmark", "item_id", "text"], validate="many_to_one")
    texts = held.drop_duplicates(["benchmark", "item_id", "text"]).reset_index(drop=True)
    for size, row in enumerate(TABLES[8].rows):
        said = np.clip(texts.truth + rng.normal(0, 0.05 + 0.02 * size, len(texts)), 0, 1).round(2)
        texts[row.key] = 1 + 4 * said
        for benchmark, part in texts.groupby("benchmark"):
            keyed = part[["item_id", "answer_id"]].assign(rating=part[row.key], criterion="overall")
            record_verdicts(lake, str(benchmark), row.key, keyed)
    keys = ["benchmark", "item_id", "text"]
    return lake, held.merge(texts[[*keys, *(row.key for row in TABLES[8].rows)]], on=keys)


def test_table_8(tmp_path: Path) -> None:
    """Kendall's tau with each expert's rating (tau-c) and with the crowd's share (tau-b); pairs of
    an image with its own caption are left out.
    """
    lake, held = plant_flickr8k(tmp_path)
    filled = ask(lake, 8)
    assert (held.benchmark == "flickr8k_expert").sum() == 24 * 3 * 3
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, variant, cell in zip(filled.table.columns, VARIANTS, cells, strict=True):
            own = held[held.benchmark == column.key]
            x, y = own[row.key].to_numpy(), own.rating.to_numpy()
            tau = stats.kendalltau(x, y, variant=variant).statistic
            assert cell.here == pytest.approx(100 * tau, abs=1e-9), (row, column)
    assert filled.n_filled == filled.n_cells
    assert [cell.paper for cell in filled.cells[-1]] == [53.1, 39.2]
