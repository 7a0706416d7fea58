"""Prometheus-Vision's tables and figure from planted files: every cell is there and equals what
pandas and scipy compute from the same files.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgelake.flows.paper_command import ask_table
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.papers.drawings import draw_figure
from judgelake.tasks.papers.registry import PaperTable, list_papers
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.papers.planted import (
    ingest_suite,
    record_scores,
    record_verdicts,
    write_prometheus,
)

PAPER = list_papers()["prometheus-vision"]
JUDGES = [row.key for row in PAPER.tables[1].rows]
PEOPLE = [row.key for row in PAPER.tables[3].rows]
METRICS = ("rouge_1", "rouge_l", "spice", "meteor")
BENCHMARKS = [row.key for row in PAPER.tables[5].rows if row.key != "pv"]
SMALL = [row.key for row in PAPER.tables[4].rows if row.key != "pv15"]
COEFFICIENTS: dict[str, Callable[..., object]] = {
    "pearson": stats.pearsonr,
    "kendall": stats.kendalltau,
    "spearman": stats.spearmanr,
}

Planted = tuple[Lake, pd.DataFrame]


def values_of(lake: Lake, table: PaperTable) -> dict[tuple[str, str], float | None]:
    with open_warehouse(lake, lazy=True) as connection:
        filled = ask_table(connection, table)
    assert filled.n_filled == filled.n_cells, filled.gaps
    return {
        (row.key, column.key): cell.here
        for row, cells in zip(filled.table.rows, filled.cells, strict=True)
        for column, cell in zip(filled.table.columns, cells, strict=True)
    }


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return plant_samples(tmp_path_factory.mktemp("pv"))


def plant_samples(folder: Path) -> Planted:
    """Eight benchmarks with three samples of each judge, six of GPT-4V; a row a score."""
    rng, said = np.random.default_rng(5), []
    held = {
        name: write_prometheus(folder / "data", "benchmarks", name.removeprefix("pv_"), 6, 5 - place % 2, rng)
        for place, name in enumerate(BENCHMARKS)
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGELAKE_DATA", str(folder / "data"))
        lake = ingest_suite("prometheus_benchmarks", folder)
    for name, rows in held.items():
        for size, judge in enumerate(JUDGES):
            samples = []
            for sample in range(6 if judge == "gpt-4v" else 3):
                noise = rng.normal(0, 0.4 + 0.1 * size, len(rows))
                rating = np.clip(np.round(rows.people + noise), 1, 5)
                samples.append(rows[["item_id", "answer_id"]].assign(rating=rating, sample=sample))
                own = {"benchmark": name, "judge": judge, "n_words": rows.n_words}
                said.append(samples[-1].assign(**own))
            record_verdicts(lake, name, judge, pd.concat(samples).assign(criterion="overall"))
    return lake, pd.concat(said)


@pytest.mark.parametrize("number", [1, 6, 7])
def test_correlations_with_gpt_4v(sampled: Planted, number: int) -> None:
    lake, said = sampled
    for (judge, key), value in values_of(lake, PAPER.tables[number]).items():
        benchmark, coefficient = key.split("/")
        rows = said[said.benchmark == benchmark]
        mean = rows.assign(part=rows["sample"] // 3).pivot_table(
            index=["item_id", "answer_id"], columns=["judge", "part"], values="rating"
        )
        own = mean[judge, 1] if judge == "gpt-4v" else mean[judge, 0]
        found = COEFFICIENTS[coefficient](own.round(9), mean["gpt-4v", 0].round(9))
        assert value == pytest.approx(found.statistic, abs=1e-9), (judge, key)  # type: ignore[attr-defined]


def quartiles(rows: pd.DataFrame) -> dict[str, float]:
    low, median, high = np.quantile(rows.n_words, [0.25, 0.5, 0.75])
    return {"low": low, "median": median, "high": high}


@pytest.mark.parametrize("number", [10, 11])
def test_lengths_by_score(sampled: Planted, number: int) -> None:
    """Of GPT-4V's responses, by the scores of an evaluator's first three inferences; a score that
    nobody gave on a benchmark has no length.
    """
    lake, said = sampled
    with open_warehouse(lake, lazy=True) as connection:
        filled = ask_table(connection, PAPER.figures[number])
    own = said[(said.answer_id == "gpt-4v") & (said["sample"] < 3)]
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, cell in zip(filled.table.columns, cells, strict=True):
            benchmark, judge, end = column.key.split("/")
            rows = own[(own.judge == judge) & (own.rating == int(row.key))]
            rows = rows if benchmark == "pv" else rows[rows.benchmark == benchmark]
            assert cell.n == len(rows)
            if len(rows):
                assert cell.here == pytest.approx(quartiles(rows)[end]), (row, column)
            else:
                assert cell.here is None
    assert filled.n_filled > 0.8 * filled.n_cells
    assert draw_figure(filled).startswith("<svg")


def test_figure_12(sampled: Planted) -> None:
    lake, said = sampled
    found = values_of(lake, PAPER.figures[12])
    for (model, key), value in found.items():
        benchmark, judge = key.split("/")
        rows = said[(said.benchmark == benchmark) & (said.judge == judge) & (said["sample"] < 3)]
        assert value == pytest.approx(rows[rows.answer_id == model].rating.mean()), (model, key)
    assert len(found) == 12


def test_table_5(sampled: Planted) -> None:
    found = values_of(sampled[0], PAPER.tables[5])
    expected = {(name, "instances"): 6 for name in BENCHMARKS} | {("pv", "instances"): 48}
    expected |= {(name, "rubrics"): 5 - place % 2 for place, name in enumerate(BENCHMARKS)}
    assert found == {**expected, ("pv", "rubrics"): 36}


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return plant_people(tmp_path_factory.mktemp("pv15"))


def plant_people(folder: Path) -> Planted:
    """Three benchmarks with people; a row an answer, a column a judge."""
    rng = np.random.default_rng(6)
    held = pd.concat(
        [
            write_prometheus(folder / "data", "people", name.removeprefix("pv15_"), 15, 15, rng).assign(benchmark=name)
            for name in SMALL
        ]
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGELAKE_DATA", str(folder / "data"))
        lake = ingest_suite("prometheus_people", folder)
    for size, judge in enumerate(PEOPLE):
        noisy = np.clip(held.people + rng.normal(0, 0.5 + 0.1 * size, len(held)), 1, 5)
        held[judge] = noisy if judge in METRICS else noisy.round()
        for name, rows in held.groupby("benchmark"):
            keyed = rows[["item_id", "answer_id"]]
            if judge in METRICS:
                record_scores(lake, str(name), judge, keyed.assign(score=rows[judge] / 5))
            else:
                own = keyed.assign(rating=rows[judge], criterion="overall")
                record_verdicts(lake, str(name), judge, own)
    return lake, held


def test_people(rated: Planted) -> None:
    lake, held = rated
    expected = {(judge, "all"): stats.pearsonr(held[judge], held.people).statistic for judge in PEOPLE}  # fmt: skip
    assert values_of(lake, PAPER.tables[3]) == pytest.approx(expected)
    for (judge, name), value in values_of(lake, PAPER.figures[2]).items():
        rows = held[held.benchmark == name]
        assert value == pytest.approx(stats.pearsonr(rows[judge], rows.people).statistic)


def test_figure_2_is_drawn(rated: Planted) -> None:
    with open_warehouse(rated[0], lazy=True) as connection:
        assert draw_figure(ask_table(connection, PAPER.figures[2])).startswith("<svg")


def test_table_4(rated: Planted) -> None:
    found = values_of(rated[0], PAPER.tables[4])
    names = ("instances", "rubrics")
    expected = {(name, what): 15 for name in SMALL for what in names}
    assert found == {**expected, **{("pv15", what): 45 for what in names}}


def plant_collection(folder: Path) -> Lake:
    """Two images of three rubrics, six instructions and 30 responses each, as in the paper."""
    rows = [
        {
            "id": number,
            "image": f"{image}.png",
            "conversations": [
                {"from": "human", "value": write_prompt(image, instruction, level)},
                {"from": "gpt", "value": f"Feedback. So the overall score is {level}."},
            ],
        }
        for image in range(2)
        for instruction in range(6)
        for level in range(1, 6)
        for number in [image * 30 + instruction * 5 + level]
    ]
    file = folder / "data" / "prometheus_vision" / "train.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGELAKE_DATA", str(folder / "data"))
        return ingest_suite("perception_collection", folder)


def test_table_2(tmp_path: Path) -> None:
    lake = plant_collection(tmp_path)
    lengths = values_of(lake, PAPER.figures[5])
    for level in range(1, 6):  # "Response <level> to <instruction>." and as many words as the level
        low, median, high = (lengths[str(level), end] for end in ("low", "median", "high"))
        assert low == median == high == 4 + level
    found = values_of(lake, PAPER.tables[2])
    per_image = {"images": 1, "rubrics": 3, "instructions": 6, "reference_answers": 6, "responses": 30, "feedbacks": 30}  # fmt: skip
    assert found == {
        (what, column): n * (2 if column == "number" else 1)
        for what, n in per_image.items()
        for column in ("number", "per_image")
    }


def write_prompt(image: int, instruction: int, level: int) -> str:
    rubric = f"{image}-{instruction // 2}"
    levels = "\n".join(f"Score {n}: {n} of 5 at {rubric}" for n in range(1, 6))
    return (
        f"###The instruction to evaluate:\nDo {instruction} with {image}.\n\n"
        f"###Response to evaluate:\nResponse {level} to {instruction}.{' more' * level}\n\n"
        f"###Reference Answer (Score 5):\nThe best of {image} {instruction}.\n\n"
        f"###Score Rubrics:\n[Is it {rubric}?]\n{levels}\n\n###Feedback:"
    )
