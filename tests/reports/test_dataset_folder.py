"""`judgelake export --hf`: a folder by the rules of Hugging Face `datasets`, whole or not at all
(dataset_coverage).
"""

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

from judgelake.flows.cli import make_parser
from judgelake.flows.export_command import run_export
from judgelake.tasks.errors import LakeError, SuiteError
from judgelake.tasks.lake.lake import Lake, append_records
from judgelake.tasks.reports.dataset_folder import export_dataset, read_licences
from tests.lakes import (
    answer,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    query,
    rating,
    verdict_row,
)

A = "a" * 16


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two benchmarks; a judge with one verdict of two, and a name that Markdown must not break."""
    lake, items = make_lake(tmp_path), [item("1"), item("2")]
    for benchmark in ("b", "c"):
        answers = [answer("1", "cat"), answer("2", "dog")]
        ingest(lake, items, answers, [rating("1", 1.0)], benchmark=benchmark)
    append_records(lake, "judges", [judge_row("x|y\n# z", A)])
    for given, text in zip(items, ("cat", "dog"), strict=True):
        append_records(lake, "cases", [case_row(A, given["item_id"], digest_of(given, text))])
    append_records(lake, "verdicts", [verdict_row(A, "1", digest_of(items[0], "cat"), 3)])
    return lake


def read_card(folder: Path) -> tuple[dict[str, object], str]:
    _, front, text = (folder / "README.md").read_text().split("---\n", 2)
    return yaml.safe_load(front), text


def test_each_configuration_has_the_rows_of_its_table(lake: Lake, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "hf"
    written = export_dataset(lake, folder, ["b=cc-by-4.0"])
    assert [(one.name, one.n_rows) for one in written] == [
        ("scores", 2),
        ("judges", 1),
        ("items", 4),
        ("answers", 4),
        ("human_ratings", 2),
        ("verdicts", 1),
    ]
    front, _ = read_card(folder)
    assert front["license"] == ["cc-by-4.0", "unknown"]
    configurations = front["configs"]
    assert isinstance(configurations, list)
    assert [one["config_name"] for one in configurations] == [one.name for one in written]
    assert [one["config_name"] for one in configurations if one.get("default")] == ["scores"]
    for one, table in zip(configurations, written, strict=True):
        assert pl.read_parquet(folder / one["data_files"]).height == table.n_rows
    assert sorted(pl.read_parquet(folder / "scores/*.parquet").rows(), key=str) == sorted(
        (tuple(row.values()) for row in query(lake, "from core_scores")), key=str
    )
    assert [path.name for path in folder.parent.iterdir()] == ["hf"]


def test_the_card_states_benchmarks_judges_and_coverage(lake: Lake, tmp_path: Path) -> None:
    export_dataset(lake, tmp_path / "hf", ["b=cc-by-4.0"])
    _, text = read_card(tmp_path / "hf")
    lines = set(text.splitlines())
    assert {"| b | 2 | 2 | cc-by-4.0 |", "| c | 2 | 2 | unknown |"} <= lines
    (judge,) = (line for line in lines if f"| call {A} | read |" in line)
    name = judge.split(" | judge | ")[0].removeprefix("| ")
    assert "x\\|y" in name
    assert f"| b | {name} | 2 | 1 | 1 not_asked |" in lines
    titles = re.findall("^# .*$|^## .*$", text, re.MULTILINE)
    assert titles == ["# hf", "## Tables", "## Benchmarks", "## Judges and metrics", "## Coverage"]


def test_a_folder_with_files_is_left_as_it_is(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine")
    with pytest.raises(LakeError, match="expected a new or empty folder"):
        export_dataset(lake, tmp_path / "full", [])
    (tmp_path / "empty").mkdir()
    with pytest.raises(SuiteError, match="no licence"):
        export_dataset(lake, tmp_path / "empty", ["CC BY"])
    assert list((tmp_path / "empty").iterdir()) == []
    export_dataset(lake, tmp_path / "empty", [])
    assert (tmp_path / "full" / "notes").read_text() == "mine"


def test_a_lake_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="holds no rows"):
        export_dataset(make_lake(tmp_path), tmp_path / "hf", [])
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([], {"b": "unknown", "c": "unknown"}),
        (["mit"], {"b": "mit", "c": "mit"}),
        (["mit", "c=cc-by-4.0"], {"b": "mit", "c": "cc-by-4.0"}),
    ],
)
def test_licences_are_of_all_benchmarks_or_of_one(given: list[str], read: dict[str, str]) -> None:
    assert read_licences(given, ["b", "c"]) == read


@pytest.mark.parametrize("given", ["", "d=mit", "b=", "b=CC BY 4.0", "mit\n"])
def test_a_licence_that_cannot_be_meant_is_refused(given: str) -> None:
    with pytest.raises(SuiteError, match=r"--license "):
        read_licences([given], ["b", "c"])


LOADER = """
import sys
from datasets import get_dataset_config_names, load_dataset
for name in get_dataset_config_names(sys.argv[1]):
    print(name, load_dataset(sys.argv[1], name, split="train").num_rows)
"""


@pytest.mark.full
def test_the_library_loads_it(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "hf")
    options = make_parser().parse_args(["export", "--lake", str(lake.root), "--hf", folder])
    assert run_export(options) == 0
    lines = capsys.readouterr().out.splitlines()
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "own"], check=True)
    python = tmp_path / "own" / "bin" / "python"
    if subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "datasets"], check=False
    ).returncode:
        pytest.skip("datasets cannot be installed here: no package index is reached")
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [python, "-c", LOADER, folder], capture_output=True, text=True, check=False, env=offline
    )
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [
        line.removesuffix(" rows").split() for line in lines[:-1]
    ]
