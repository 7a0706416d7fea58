"""Formats of the lake: an old one, kept as it was written then, is brought to today's and goes on being used."""

import json
import shutil
from pathlib import Path

import pytest

from tasks import migrations
from tasks.ingestion import ingest_benchmark
from tasks.lake import FORMAT, open_lake
from tasks.manifest import read_recorded
from tasks.planning import find_work, register_judges
from tasks.suite import Scope, read_suite
from tests.flows.harness import shell_in
from tests.lakes import query

KEPT = Path(__file__).parent / "data" / "lake_format_1"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of a lake of format 1, made by the program of then: three questions, two models, two annotators, one judge."""
    return Path(shutil.copytree(KEPT / "kept_lake", tmp_path / "lake"))


def read_format(root: Path) -> object:
    return json.loads((root / "lake.json").read_text())


def list_files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*.parquet")}


def test_a_writer_brings_it_to_todays_format_and_names_its_parts(old: Path) -> None:
    before = list_files(old)
    assert read_format(old) == {"format": 1}
    open_lake(old, create=True)
    assert read_format(old) == {"format": FORMAT} == {"format": 2}
    assert list_files(old) == before
    assert read_recorded(old) == frozenset(before)


def test_a_reader_leaves_it_as_it_is(old: Path) -> None:
    """Verdicts of then, read now: robin is right on q1 and q2, wren on q2 and q3 (see the README of the kept lake)."""
    lake = open_lake(old)
    assert read_format(old) == {"format": 1}
    told = "select item_id, model, score_0_1 from core_scores where judge = 'lave' order by item_id, model"
    assert [(row["item_id"], row["model"], row["score_0_1"]) for row in query(lake, told)] == [
        ("q1", "robin", 1.0),
        ("q1", "wren", 0.0),
        ("q2", "robin", 1.0),
        ("q2", "wren", 1.0),
        ("q3", "robin", 0.0),
        ("q3", "wren", 1.0),
    ]


def test_columns_that_have_come_since_are_null(old: Path) -> None:
    lake = open_lake(old)
    (runs,) = query(lake, "select count(*) as n, count(cost_usd) as priced, any_value(n_calls) as calls from stg_runs")
    assert runs == {"n": 1, "priced": 0, "calls": 6}


def test_every_table_of_then_can_be_read(old: Path) -> None:
    lake = open_lake(old)
    counts = {
        table.name: query(lake, f"select count(*) as n from raw_{table.name}")[0]["n"]
        for table in old.iterdir()
        if table.is_dir()
    }
    assert len(counts) == 15
    assert all(counts.values()), counts


def test_the_suite_goes_on_without_a_call(old: Path, tmp_path: Path) -> None:
    """The answers are read anew, for their file lies elsewhere now; each of them has its verdict and its score all the same."""
    shutil.copytree(KEPT, tmp_path / "suite", ignore=shutil.ignore_patterns("kept_lake"))
    suite = read_suite(tmp_path / "suite" / "suite.yaml")
    lake = open_lake(old, create=True)
    done = ingest_benchmark(lake, suite.benchmarks["birds"], tmp_path, None)
    assert (done.n_items, done.n_answers, done.skipped) == (3, 6, False)
    register_judges(lake, suite)
    assert [(work.n_pending, work.n_wanted) for work in find_work(lake, suite, Scope())] == [(0, 6), (0, 6)]


def test_killed_in_the_middle_it_goes_on(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    steps: list[int] = []
    monkeypatch.setattr(migrations, "_STEPS", {1: lambda _: steps.append(1), 2: die})
    with pytest.raises(Killed):
        migrations.migrate(old, 1, 3)
    assert read_format(old) == {"format": 2}
    monkeypatch.setattr(migrations, "_STEPS", {1: die, 2: lambda _: steps.append(2)})
    migrations.migrate(old, 2, 3)
    assert (steps, read_format(old)) == ([1, 2], {"format": 3})
    with monkeypatch.context() as broken:
        (old / "lake.json").write_text('{"format": 1}')
        broken.setattr(migrations, "_STEPS", {1: lambda _: steps.append(1)})
        broken.setattr(migrations, "write_marker", die)
        with pytest.raises(Killed):
            migrations.migrate(old, 1, 2)
    assert read_format(old) == {"format": 1}  # the step is taken again


@pytest.mark.full
def test_the_command_runs_the_suite_of_then_without_a_call(old: Path, tmp_path: Path) -> None:
    shutil.copytree(KEPT, tmp_path / "suite", ignore=shutil.ignore_patterns("kept_lake"))
    with shell_in(tmp_path) as shell:
        code, output = shell.run("run", str(tmp_path / "suite" / "suite.yaml"), "--lake", str(old))
    assert code == 0, output
    assert " 0 calls, 0 replies reused, 0 verdicts" in output
