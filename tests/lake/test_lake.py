"""The lake: part files appear whole or not at all, and what it refuses to write or to open."""

import errno
import hashlib
import json
import os
import pickle
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import FORMAT, Lake, append_records, append_rows, open_lake, retire
from judgelake.tasks.lake.storage import write_whole
from tests.rows import GOOD, make_frame


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path / "lake", create=True)


def list_files(lake: Lake) -> list[Path]:
    return sorted(path for path in lake.mirror.rglob("*") if path.is_file())


def test_part_is_named_by_the_sha256_of_its_bytes(lake: Lake) -> None:
    (part,) = append_rows(lake, "items", make_frame("items", {}))
    assert part.parent == lake.root / "items" / "benchmark=bench"
    assert part.name == hashlib.sha256(part.read_bytes()).hexdigest() + ".parquet"
    assert lake.part_files("items") == [part]


def test_equal_rows_are_one_file_in_whatever_order_they_come(lake: Lake) -> None:
    rows = [{"item_id": "2"}, {"item_id": "1"}, {"item_id": "3"}]
    assert append_rows(lake, "items", make_frame("items", *rows)) == append_rows(
        lake, "items", make_frame("items", *rows[::-1])
    )
    (part,) = lake.part_files("items")
    assert pq.read_table(part, partitioning=None)["item_id"].to_pylist() == ["1", "2", "3"]


def test_one_part_a_partition_without_the_partition_column(lake: Lake) -> None:
    frame = make_frame(
        "items",
        {"benchmark": "b"},
        {"benchmark": "a", "item_id": "1"},
        {"benchmark": "a", "item_id": "2"},
    )
    append_rows(lake, "items", frame)
    counts = {
        part.parent.name: pq.read_metadata(part).num_rows for part in lake.part_files("items")
    }
    assert counts == {"benchmark=a": 2, "benchmark=b": 1}
    assert pq.read_schema(lake.part_files("items")[0]).equals(TABLES["items"].arrow_schema)


def test_crash_before_the_rename_leaves_no_part(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", die)
        with pytest.raises(Killed):
            append_rows(lake, "items", make_frame("items", {}))
    assert lake.part_files("items") == []
    (part,) = append_rows(lake, "items", make_frame("items", {}))
    assert lake.part_files("items") == [part]


def test_crash_before_the_rename_leaves_the_former_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.html"
    write_whole(file, b"former")
    monkeypatch.setattr(Path, "replace", die)
    with pytest.raises(Killed):
        write_whole(file, b"newer")
    assert file.read_bytes() == b"former"


@pytest.mark.parametrize("step", ["open", "replace"])
def test_full_disk_is_reported_and_leaves_no_file(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = list_files(lake)
    monkeypatch.setattr(Path, step, no_space)
    with pytest.raises(LakeError) as refused:
        append_rows(lake, "items", make_frame("items", {}))
    monkeypatch.undo()
    assert str(refused.value).startswith(str(lake.root / "items" / "benchmark=bench"))
    assert (
        "cannot be written (No space left on device); expected a writable place with room; "
        "free it and run again" in str(refused.value)
    )
    assert list_files(lake) == before


def test_full_disk_at_the_sync_is_reported_and_leaves_no_file(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = list_files(lake)
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(LakeError, match="No space left on device"):
        append_rows(lake, "items", make_frame("items", {}))
    assert list_files(lake) == before


def test_place_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        LakeError,
        match=r"file/lake/lake\.json: cannot be written \(Not a directory\); "
        r"expected a writable place",
    ):
        open_lake(tmp_path / "file" / "lake", create=True)


def test_broken_contract_writes_nothing(lake: Lake) -> None:
    before = list_files(lake)
    with pytest.raises(
        LakeError,
        match=r"(?s)^items: rows break the table's contract; nothing was " r"written.*riddle",
    ):
        append_rows(lake, "items", make_frame("items", {"benchmark": "a"}, {"task": "riddle"}))
    with pytest.raises(LakeError, match=r"(?s)verdicts: rows break.*score_only_when_ok"):
        append_records(lake, "verdicts", [{**GOOD["verdicts"], "status": "failed"}])
    assert list_files(lake) == before


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "a b"])
def test_value_that_cannot_name_a_folder_writes_nothing(lake: Lake, name: str) -> None:
    before = list_files(lake)
    with pytest.raises(
        LakeError,
        match=r"cases: '.*' cannot name a partition; expected letters, digits, " r".*; rename it",
    ) as refused:
        append_rows(lake, "cases", make_frame("cases", {"judge_id": "0" * 16}, {"judge_id": name}))
    assert repr(name) in str(refused.value)
    assert list_files(lake) == before


def test_no_rows_are_no_file(lake: Lake) -> None:
    assert append_rows(lake, "items", make_frame("items")) == []
    assert lake.part_files("items") == []


def test_retired_rows_that_come_back_are_read(lake: Lake) -> None:
    parts = append_rows(lake, "items", make_frame("items", {}))
    retire(lake, parts)
    assert lake.part_files("items") == []
    again = append_rows(lake, "items", make_frame("items", {}))
    assert again != parts
    assert lake.part_files("items") == again
    (row,) = pq.read_table(again[0]).to_pylist()
    assert pq.read_table(parts[0]).to_pylist() == [row]


def test_lake_opens_again_and_travels_between_processes(lake: Lake) -> None:
    assert json.loads((lake.root / "lake.json").read_text()) == {"format": FORMAT}
    assert open_lake(lake.root) == lake == pickle.loads(pickle.dumps(lake))


def test_no_lake(tmp_path: Path) -> None:
    with pytest.raises(
        LakeError,
        match=r"nothing: no lake here; expected a folder with lake\.json; name "
        r"another with --lake or run",
    ):
        open_lake(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("other", [FORMAT + 1, FORMAT - 1])
def test_another_format_is_refused_with_the_remedy(lake: Lake, other: int) -> None:
    (lake.root / "lake.json").write_text(json.dumps({"format": other}))
    with pytest.raises(
        LakeError,
        match=rf"lake\.json: format {other}; expected 1; run the suite into a new "
        rf"lake, or use the judgelake",
    ):
        open_lake(lake.root, create=True)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"format": null}', '{"format": "one"}', "[" * 100_000]
)
def test_marker_that_says_no_format_is_refused(lake: Lake, content: str) -> None:
    (lake.root / "lake.json").write_text(content)
    with pytest.raises(
        LakeError,
        match=r"lake\.json: cannot be read as a lake\'s marker .*expected "
        r'{"format": 1}; restore it',
    ):
        open_lake(lake.root)


@pytest.mark.parametrize("table", TABLES)
def test_keys_partitions_and_order_are_columns(table: str) -> None:
    described = TABLES[table]
    assert {*described.keys, *described.partitions, *described.sort} <= set(described.polars_schema)
    assert set(described.arrow_schema.names) == set(described.polars_schema) - set(
        described.partitions
    )


class Killed(BaseException):
    """What `kill -9` is to a program: nothing of it catches this."""


def die(*_arguments: object, **_options: object) -> None:
    raise Killed


def no_space(*_arguments: object, **_options: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")
