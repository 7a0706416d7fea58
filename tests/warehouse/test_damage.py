"""`judgelake check`: each kind of damage is planted in a sound lake, and must be found in its file
and nowhere else.
"""

import argparse
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgelake.flows.check_command import run_check
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.cleanup import remove_retired
from judgelake.tasks.lake.lake import FILE, FORMAT, Lake, retire
from judgelake.tasks.lake.leases import hold_leases
from judgelake.tasks.warehouse import damage as lake_check
from judgelake.tasks.warehouse.damage import Damage, find_damage
from tests.lakes import (
    answer,
    append_records,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    rating,
    reply_row,
    verdict_row,
)

A = "a" * 16
CAT = item("i0")
DIGEST = "0" * 64


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """One item with an answer, a person's rating, a verdict on its case and the reply that it rests
    on; its parts are listed.
    """
    lake = make_lake(tmp_path)
    ingest(lake, [CAT], [answer("i0", "cat")], [rating("i0", 1.0)])
    append_records(lake, "judges", [judge_row("lave", A)])
    append_records(lake, "cases", [case_row(A, "i0", digest_of(CAT, "cat"))])
    append_records(lake, "replies", [reply_row(A, DIGEST)])
    append_records(
        lake, "verdicts", [verdict_row(A, "i0", digest_of(CAT, "cat"), 3, reply_digests=[DIGEST])]
    )
    remove_retired(lake)
    return lake


def find_part(lake: Lake, table: str = "verdicts") -> Path:
    (part,) = lake.part_files(table)
    return part


@pytest.fixture
def files_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows are not the matter: asking them takes a second."""
    monkeypatch.setattr(lake_check, "check_rows", lambda _: ())


def check(lake: Lake, *, quick: bool = False) -> list[Damage]:
    return [damage for damage in find_damage(lake, quick=quick) if not damage.note]


def name_of(lake: Lake, part: Path) -> str:
    return part.relative_to(lake.mirror).as_posix()


def write_part(folder: Path, rows: pa.Table) -> Path:
    """A part file of whatever rows, named as it should be."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, folder / "new")
    digest = hashlib.sha256((folder / "new").read_bytes()).hexdigest()
    return (folder / "new").rename(folder / f"{digest}.parquet")


def list_anew(lake: Lake) -> None:
    """Let the list of parts hold those that are there, and no other."""
    (lake.mirror / FILE).unlink()
    remove_retired(lake)


def rewrite_part(
    lake: Lake, change: Callable[[pa.Table], pa.Table], table: str = "verdicts"
) -> str:
    """Put other rows in place of a part; the list of parts knows it."""
    part = find_part(lake, table)
    written = write_part(part.parent, change(pq.read_table(part, partitioning=None)))
    part.unlink()
    list_anew(lake)
    return name_of(lake, written)


def test_nothing_is_wrong_with_a_sound_lake(lake: Lake) -> None:
    assert list(find_damage(lake)) == []


@pytest.mark.parametrize("place", [0, 10, 60, -30])
def test_flipped_bit_anywhere(lake: Lake, place: int) -> None:
    part = find_part(lake)
    data = bytearray(part.read_bytes())
    data[place] ^= 1
    part.write_bytes(data)
    (found,) = check(lake)
    assert found.file == name_of(lake, part)
    assert found.what.startswith(
        ("its bytes are not those that it was written with", "cannot be read as Parquet")
    )


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("left", [0, 3, 100, -1])
def test_truncated_file(lake: Lake, left: int, quick: bool) -> None:
    part = find_part(lake)
    part.write_bytes(part.read_bytes()[:left])
    (found,) = check(lake, quick=quick)
    assert (found.file, found.what.split(":")[0]) == (
        name_of(lake, part),
        "cannot be read as Parquet",
    )
    assert "restore it from a copy" in found.remedy


@pytest.mark.parametrize("table", ["verdicts", "replies", "items", "judges"])
def test_missing_file(lake: Lake, table: str) -> None:
    part = find_part(lake, table)
    part.unlink()
    (found,) = check(lake, quick=True)
    assert (found.file, found.what) == (
        name_of(lake, part),
        "the file is missing: it was there when a run last ended",
    )
    remove_retired(lake)  # as the next run's end does
    assert check(lake, quick=True) == [found]


@pytest.mark.usefixtures("files_only")
def test_a_replaced_file_is_not_missing(lake: Lake) -> None:
    retire(lake, [lake.root / name_of(lake, find_part(lake, "human_ratings"))])
    assert check(lake) == []
    remove_retired(lake, 0)
    assert not (lake.mirror / "human_ratings" / "benchmark=b").exists() or not list(
        (lake.mirror / "human_ratings").rglob("*.parquet")
    )
    assert check(lake) == []


@pytest.mark.parametrize("name", ["notes.txt", "copy.parquet", "ABC.parquet"])
def test_foreign_file(lake: Lake, name: str) -> None:
    part = find_part(lake)
    (part.parent / name).write_bytes(part.read_bytes())
    (found,) = check(lake)
    assert (found.file, found.what) == (
        f"verdicts/judge_id={A}/{name}",
        "a foreign file: no part file is called so",
    )


@pytest.mark.parametrize(
    "folder",
    [
        "verdicts",
        "verdicts/judge=x",
        f"verdicts/judge_id={A}/benchmark=b",
        "verdicts/judge_id=",
        "items/x",
    ],
)
def test_wrong_partition_folder(lake: Lake, folder: str) -> None:
    part = find_part(lake)
    moved = lake.mirror / folder / part.name
    moved.parent.mkdir(parents=True, exist_ok=True)
    part.rename(moved)
    list_anew(lake)
    (found,) = check(lake)
    assert found.file == name_of(lake, moved)
    assert found.what.startswith("lies in the wrong folder")


def test_a_judge_that_there_is_not(lake: Lake) -> None:
    part = find_part(lake)
    moved = lake.mirror / "verdicts" / f"judge_id={'b' * 16}" / part.name
    moved.parent.mkdir()
    part.rename(moved)
    list_anew(lake)
    assert {found.file for found in check(lake)} == {name_of(lake, moved)}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda rows: rows.drop(["judged_at"]), "the column judged_at is missing"),
        (lambda rows: rows.append_column("extra", rows["item_id"]), "the column extra is unknown"),
        (
            lambda rows: rows.set_column(6, "reading", pa.array([1])),
            "the column reading is of type int64, not string",
        ),
    ],
)
def test_wrong_schema(
    lake: Lake, change: Callable[[pa.Table], pa.Table], what: str, quick: bool
) -> None:
    name = rewrite_part(lake, change)
    (found,) = check(lake, quick=quick)
    assert found.file == name
    assert what in found.what


@pytest.mark.usefixtures("files_only")
def test_a_nullable_column_may_lack(lake: Lake) -> None:
    rewrite_part(lake, lambda rows: rows.drop(["cost_usd"]), "replies")
    assert check(lake) == []


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("score_0_1", 1.5, "score_0_1 = 1.5 breaks less_than_or_equal_to(1)"),
        ("status", "fine", "status = fine breaks isin("),
        ("run_id", None, "run_id = None breaks not_nullable"),
    ],
)
def test_value_outside_the_contract(lake: Lake, column: str, value: object, what: str) -> None:
    def change(rows: pa.Table) -> pa.Table:
        return rows.set_column(
            rows.column_names.index(column),
            column,
            pa.array([value], rows.schema.field(column).type),
        )

    name = rewrite_part(lake, change)
    (found,) = check(lake)
    assert found.file == name
    assert what in found.what


@pytest.mark.parametrize("table", ["answers", "human_ratings"])
def test_duplicated_key(lake: Lake, table: str) -> None:
    """The same row in a second file, with other words at a place that is not its key; both files
    are named.
    """
    part = find_part(lake, table)
    rows = pq.read_table(part, partitioning=None)
    second = write_part(
        part.parent,
        rows.set_column(rows.column_names.index("locator"), "locator", pa.array(["other"])),
    )
    found = [
        one for one in check(lake) if "no two current rows of a table have the same key" in one.what
    ]
    assert {one.file for one in found} == {name_of(lake, part), name_of(lake, second)}


def test_orphaned_verdict(lake: Lake) -> None:
    (part,) = append_records(lake, "verdicts", [verdict_row(A, "i9", digest_of(CAT, "dog"), 3)])
    (found,) = check(lake)
    assert found.file == f"verdicts/judge_id={A}/{part.name}"
    assert found.what.startswith(
        "1 row against: every verdict is on a case that some run wanted; see: judgelake sql 'select"
    )


def test_verdict_whose_reply_is_gone(lake: Lake) -> None:
    retire(lake, [lake.root / name_of(lake, find_part(lake, "replies"))])
    (found,) = check(lake)
    assert found.file == name_of(lake, find_part(lake))
    assert "at least one of the replies it rests on is there" in found.what


def test_answer_whose_digest_is_of_other_words(lake: Lake) -> None:
    name = rewrite_part(
        lake,
        lambda rows: rows.set_column(rows.column_names.index("text"), "text", pa.array(["dog"])),
        "answers",
    )
    assert [one.file for one in check(lake)] == [name]


def test_damaged_note_of_replaced_files(lake: Lake) -> None:
    sidecar = Path(str(retire(lake, [lake.root / "verdicts" / "x.parquet"])))
    sidecar.write_text("{")
    (found,) = check(lake)
    assert sidecar.name in found.what


@pytest.mark.usefixtures("files_only")
def test_what_killed_runs_leave_is_only_noted(lake: Lake) -> None:
    (lake.mirror / "_work" / "run-1").mkdir(parents=True)
    (lake.mirror / "_work" / "run-1" / "plan.json").touch()
    (find_part(lake).parent / ".1.tmp").touch()
    retire(
        lake,
        [lake.root / name_of(lake, find_part(lake))],
        [lake.root / "verdicts" / "never.parquet"],
    )
    notes = [damage.file for damage in find_damage(lake) if damage.note]
    assert check(lake) == []
    assert notes[:2] == [f"verdicts/judge_id={A}/.1.tmp", "_work/run-1"]
    assert notes[2].startswith("_retired/")
    with hold_leases(lake, ["judge-x"], "run-1", 0.0, print):
        assert "_work/run-1" not in [damage.file for damage in find_damage(lake)]


def run(lake: Lake, *, quick: bool = False) -> int:
    return run_check(argparse.Namespace(lake=lake.root, quick=quick))


@pytest.mark.usefixtures("files_only")
def test_the_command_ends_with_0_or_5_and_names_file_damage_and_remedy(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(lake) == 0
    assert capsys.readouterr().out == f"{lake.root}: checked every byte and row: nothing is wrong\n"
    part = find_part(lake)
    part.write_bytes(part.read_bytes()[:-1])
    assert run(lake, quick=True) == 5
    output = capsys.readouterr().out.splitlines()
    assert output[0] == f"damage: {name_of(lake, part)}"
    assert output[1].startswith("  what: cannot be read as Parquet: it was cut or overwritten (")
    assert output[2].startswith("  do:   restore it from a copy of the lake; ")
    assert (
        output[-1]
        == f"{lake.root}: checked footers and rows; the bytes were not read: 1 thing is wrong"
    )


@pytest.mark.parametrize("content", [json.dumps({"format": FORMAT + 1}), "{"])
def test_newer_format_and_damaged_marker(
    lake: Lake, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    (lake.mirror / "lake.json").write_text(content)
    assert run(lake) == 5
    output = capsys.readouterr().out
    assert output.startswith(f"damage: lake.json\n  what: {lake.root}/lake.json: ")


def test_no_lake_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no lake here"):
        run_check(argparse.Namespace(lake=tmp_path / "none", quick=False))
