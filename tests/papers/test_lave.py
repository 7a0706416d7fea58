"""LAVE's tables and figure from planted files: every cell is there and equals what pandas and scipy
compute from the same files.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgelake.flows.paper_command import _ask, ask_table
from judgelake.schemas.values import FAILURE_CATEGORIES
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.papers.cells import FilledTable
from judgelake.tasks.papers.drawings import draw_figure
from judgelake.tasks.papers.registry import PaperTable, list_papers
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.papers.planted import ingest_suite, record_scores, record_verdicts, write_lave

PAPER = list_papers()["lave"]
METRICS = [row.key for row in PAPER.tables[2].rows if row.group == "Baselines"]
JUDGES = [row.key for row in PAPER.tables[2].rows if row.group == "Ours"]
ABLATIONS = [row.key for row in PAPER.tables[3].rows]
MODELS = {
    "vqav2": ("blip2", "promptcap", "blip_vg"),
    "vg_qa": ("blip2", "blip_vqa"),
    "okvqa": ("blip2", "promptcap", "blip_vg", "blip_vqa"),
    "vqav2_dev": ("blip2", "blip_vg"),
    "vg_qa_dev": ("blip2", "blip_vqa"),
}

Planted = tuple[Lake, pd.DataFrame]


def plant(folder: Path, suite: str, names: list[str], rng: np.random.Generator) -> Planted:
    """The lake of a suite with its answers, and these with every judge's score as a column."""
    held = pd.concat([write_lave(folder / "data", name, MODELS[name], rng) for name in names])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGELAKE_DATA", str(folder / "data"))
        lake = ingest_suite(suite, folder)
    judges = JUDGES if suite == "lave" else ABLATIONS
    for size, key in enumerate([*(METRICS if suite == "lave" else []), *judges]):
        noisy = held.people + rng.normal(0, 0.3 + 0.05 * size, len(held))
        held[key] = np.clip((2 * noisy).round() / 2, 0, 1) if key in judges else noisy.clip(0, 1)
        if key == "vqa_accuracy":  # misses half of what is right
            held[key] = np.where(rng.random(len(held)) < 0.5, 0.3, held[key])
        for benchmark, rows in held.groupby("benchmark"):
            keyed = rows[["item_id", "answer_id"]]
            if key in judges:
                rated = keyed.assign(rating=1 + 4 * rows[key], criterion="correctness")
                record_verdicts(lake, str(benchmark), key, rated)
            else:
                record_scores(lake, str(benchmark), key, keyed.assign(score=rows[key]))
    return lake, held


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    rng = np.random.default_rng(3)
    return plant(tmp_path_factory.mktemp("lave"), "lave", ["vqav2", "vg_qa", "okvqa"], rng)


def ask(lake: Lake, table: PaperTable) -> FilledTable:
    with open_warehouse(lake, lazy=True) as connection:
        return ask_table(connection, table)


def check_correlations(filled: FilledTable, held: pd.DataFrame) -> None:
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        for column, cell in zip(filled.table.columns, cells, strict=True):
            benchmark, _, model = column.key.partition("/")
            is_all = column.key.endswith("overall")
            chosen = held if is_all else held[(held.benchmark == benchmark) & (held.model == model)]
            expected = 100 * stats.spearmanr(chosen[row.key], chosen.people).statistic
            assert cell.here == pytest.approx(expected, abs=1e-9), (row, column)
            assert cell.n == len(chosen)
    assert filled.n_filled == filled.n_cells


def test_table_2(planted: Planted) -> None:
    lake, held = planted
    check_correlations(ask(lake, PAPER.tables[2]), held)


def test_table_3(tmp_path_factory: pytest.TempPathFactory) -> None:
    names, rng = ["vqav2_dev", "vg_qa_dev"], np.random.default_rng(4)
    lake, held = plant(tmp_path_factory.mktemp("dev"), "lave_ablations", names, rng)
    check_correlations(ask(lake, PAPER.tables[3]), held)


def find_missed(held: pd.DataFrame) -> pd.DataFrame:
    return held[(held.vqa_accuracy < 0.5) & (held.votes >= 4)]


def test_table_1(planted: Planted) -> None:
    lake, held = planted
    filled, missed = ask(lake, PAPER.tables[1]), find_missed(held)
    expected = {
        category: 100 * float(np.mean([category in modes for modes in missed.modes]))
        for category in FAILURE_CATEGORIES
    }
    found = {
        row.key: cells[0].here for row, cells in zip(filled.table.rows, filled.cells, strict=True)
    }
    assert found == pytest.approx(expected)
    assert {cells[0].n for cells in filled.cells} == {len(missed)}


def test_figure_4(planted: Planted) -> None:
    lake, held = planted
    filled, missed = ask(lake, PAPER.figures[4]), find_missed(held)
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        of_mode = missed[[row.key in modes for modes in missed.modes]]
        expected = [of_mode[column.key].mean() for column in filled.table.columns]
        assert [cell.here for cell in cells] == pytest.approx(expected)
    drawn = draw_figure(filled)
    assert drawn.startswith("<svg")
    assert all(row.label in drawn for row in filled.table.rows)


def test_table_4(planted: Planted) -> None:
    lake, held = planted
    with open_warehouse(lake, lazy=True) as connection:
        found = _ask(connection, PAPER.tables[4]).fetchall()
    missed = find_missed(held)
    blip = missed[(missed.benchmark == "vqav2") & (missed.model == "blip2")]
    expected = sorted(blip[blip["lave-gpt35"] == 1].item_id)
    assert [row[0] for row in found] == expected[:20]
    assert len(found) > 0
    assert found[0][2] == ["a cat", "cat", "dog"]
