"""Source `table` on damaged files: each damage is reported with its place, and the good rows go on."""

import gzip
import json
from pathlib import Path

import polars as pl
import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.frames import SourceFrames
from tests.rows import write_json
from tests.sources.tables import (
    VQA,
    ingest,
    list_rejected,
    read,
    rows,
    write_bytes,
    write_lines,
    write_suite,
)

RECORDS = [
    {"id": n, "question": f"Q{n}?", "answers": ["a"], "answer": f"A{n}", "model": "m"}
    for n in range(2000)
]
CSV = {"item_id": "id", "answer": "answer", "model": {"constant": "m"}}


def read_csv(folder: Path, data: bytes, **more: object) -> SourceFrames:
    write_bytes(folder / "d.csv", data)
    return read(folder, file="d.csv", columns=CSV, **more)


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_truncated_compressed_lines_keep_the_rows_before_the_damage(
    tmp_path: Path, suffix: str
) -> None:
    file = write_lines(
        tmp_path / f"a.jsonl.{suffix}",
        [{**row, "answer": f"{hash(n)}{n * 7919}"} for n, row in enumerate(RECORDS * 20)],
    )
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 3 // 4])
    frames = read(tmp_path, file=file.name, columns=VQA)
    assert 100 < frames.answers.height < 40_000
    last = frames.rejected[-1]
    assert last.locator == f"line {frames.answers.height + len(frames.rejected)}"
    assert last.reason.startswith("the compressed file breaks off or is damaged here")
    assert last.remedy == "fetch the file again"


def test_truncated_json_lines_keep_the_rows_before_the_damage(tmp_path: Path) -> None:
    whole = "".join(json.dumps(row) + "\n" for row in RECORDS[:3])
    write_bytes(tmp_path / "a.jsonl", whole[:-20].encode())
    frames = read(tmp_path, file="a.jsonl", columns=VQA)
    assert frames.answers["text"].to_list() == ["A0", "A1"]
    assert list_rejected(frames) == [("line 3", None)]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_truncated_json_document_is_refused(tmp_path: Path, name: str) -> None:
    data = json.dumps(RECORDS).encode()
    file = tmp_path / name
    file.write_bytes(gzip.compress(data)[:-40] if name.endswith("gz") else data[:-40])
    with pytest.raises(SourceError) as error:
        read(tmp_path, file=name, columns=VQA)
    assert str(error.value).startswith(str(file))
    assert "expected a whole" in str(error.value)


def test_wrong_encoding_is_reported_by_line_and_read_where_it_is_named(tmp_path: Path) -> None:
    data = "id,answer\n1,caf\u00e9\n2,tea\n".encode("latin-1")
    frames = read_csv(tmp_path, data)
    assert frames.answers["text"].to_list() == ["tea"]
    (row,) = frames.rejected
    # the line is `1,caf` and then the byte 0xe9: place 6
    assert (row.locator, row.reason) == ("line 2", "the line is not utf-8: byte 0xe9 at place 6")
    assert "encoding:" in row.remedy
    assert read_csv(tmp_path, data, encoding="latin-1").answers["text"].to_list() == [
        "caf\u00e9",
        "tea",
    ]
    assert read_csv(tmp_path, data.decode("latin-1").encode("utf-16"), encoding="utf-16").answers[
        "text"
    ].to_list() == [
        "caf\u00e9",
        "tea",
    ]
    with pytest.raises(SourceError, match=r"is UTF-16, not utf-8; .* write `encoding: utf-16`"):
        read_csv(tmp_path, data.decode("latin-1").encode("utf-16"))


def test_block_of_binary_in_text_is_reported_and_the_lines_around_it_are_read(
    tmp_path: Path,
) -> None:
    frames = read_csv(tmp_path, b"id,answer\n1,a\n\x00\x01\x02\xff\xfe\x00\n\x89PNG,\xf0\n2,b\n")
    assert frames.answers["text"].to_list() == ["a", "b"]
    assert list_rejected(frames) == [("line 3", None), ("line 4", None)]
    assert "NUL bytes" in frames.rejected[0].reason


def test_ragged_rows_are_reported_one_by_one(tmp_path: Path) -> None:
    frames = read_csv(tmp_path, b"id,answer\n1,a\n2\n3,b,c\n\n4,d\n")
    assert frames.answers["item_id"].to_list() == ["1", "4"]
    assert [(row.locator, row.value, row.reason) for row in frames.rejected] == [
        ("line 3", "2", "the row has 1 cells, the header 2"),
        ("line 4", "3,b,c", "the row has 3 cells, the header 2"),
    ]


def test_quote_that_never_closes_costs_one_row(tmp_path: Path) -> None:
    frames = read_csv(
        tmp_path, b'id,answer\n1,"two\nlines, one cell"\n2,"open\n3,c\n4,"say ""d"""\n'
    )
    assert frames.answers.select("item_id", "text").rows() == [
        ("1", "two\nlines, one cell"),
        ("3", "c"),
        ("4", 'say "d"'),
    ]
    assert list_rejected(frames) == [("line 4", None)]
    assert frames.rejected[0].remedy.endswith("write `quotes: false` in the suite")
    plain = read_csv(tmp_path, b'id,answer\n1,"open\n2,b\n', quotes=False)
    assert plain.answers["text"].to_list() == ['"open', "b"]


def test_ids_of_both_kinds_are_texts_and_nested_values_are_reported(tmp_path: Path) -> None:
    records = [
        {"id": 1, "answer": "a"},
        {"id": "2", "answer": 3.5},
        {"id": True, "answer": ["x"]},
        {"id": {}, "answer": "c"},
        5,
    ]
    write_json(tmp_path / "a.json", records)
    frames = read(tmp_path, file="a.json", columns=CSV)
    assert frames.answers.select("item_id", "text").rows() == [("1", "a"), ("2", "3.5")]
    assert sorted(list_rejected(frames), key=str) == [
        ("record 2", "answer"),
        ("record 3", "id"),
        ("record 4", None),
    ]
    assert {row.reason for row in frames.rejected} == {
        "a list stands where one value is expected",
        "a nested record stands where one value is expected",
        "it is no record ({...})",
    }


def test_ratings_that_are_no_number_nan_infinite_or_off_the_scale(tmp_path: Path) -> None:
    lines = [
        f'{{"id": {n}, "answer": "a", "r": {r}}}'
        for n, r in enumerate(["NaN", "Infinity", "6", '"five"', "5", "null"])
    ]
    write_bytes(tmp_path / "a.jsonl", "\n".join(lines).encode())
    rating = {"rating": "r", "annotator": {"constant": "p"}, "scale": [1, 5]}
    columns = {**CSV, "prompt": {"constant": "?"}}
    lake = ingest(
        write_suite(tmp_path, {"file": "a.jsonl", "columns": columns, "human_ratings": rating}),
        tmp_path,
    )
    assert [(row["item_id"], row["rating"]) for row in rows(lake, "human_ratings")] == [("4", 5.0)]
    quoted = sorted((row["column_name"], row["value"]) for row in rows(lake, "quarantine"))
    assert quoted == [("r", "five"), ("rating", "6.0"), ("rating", "NaN"), ("rating", "inf")]


def test_cell_of_ten_megabytes_is_reported_with_its_beginning(tmp_path: Path) -> None:
    frames = read_csv(tmp_path, b"id,answer\n1,a\n2," + b"x" * 10_000_000 + b"\n3,c\n")
    assert frames.answers["item_id"].to_list() == ["1", "3"]
    (row,) = frames.rejected
    assert (row.locator, row.column_name, row.value) == ("line 3", "answer", "x" * 200)
    assert row.reason == "the cell is larger than 1,048,576 bytes"


def test_not_a_parquet_file_and_no_file_at_all(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a.parquet", b"PAR1 is not enough")
    with pytest.raises(SourceError, match=r"a\.parquet: cannot be read as Parquet"):
        read(tmp_path, file="a.parquet", columns=CSV)
    with pytest.raises(SourceError, match=r"b\.csv: there is no such file"):
        read(tmp_path, file="b.csv", columns=CSV)
    with pytest.raises(SourceError, match=r"no file matches"):
        read(tmp_path, file="x/{model}.csv", columns=CSV)
    write_bytes(tmp_path / "c.xlsx", b"")
    with pytest.raises(SourceError, match=r"its suffix names no format"):
        read(tmp_path, file="c.xlsx", columns=CSV)


def test_strict_stops_before_anything_is_written(tmp_path: Path) -> None:
    write_bytes(tmp_path / "d.csv", b"id,answer\n1,a\n2\n")
    mapping = {"file": "d.csv", "columns": {**CSV, "prompt": {"constant": "?"}}}
    lake = ingest(write_suite(tmp_path, mapping), tmp_path)
    before = lake.part_files("items")
    with pytest.raises(SourceError) as error:
        ingest(write_suite(tmp_path, {**mapping, "strict": True}), tmp_path)
    assert str(error.value).startswith(
        "d.csv:line 3: b is strict and 1 rows would be quarantined; the first: the row has 1 cells"
    )
    assert "nothing was written" in str(error.value)
    assert lake.part_files("items") == before
    write_bytes(tmp_path / "d.csv", b"id,answer\n1,a\n2,b\n")
    lake = ingest(write_suite(tmp_path, {**mapping, "strict": True}), tmp_path)
    assert len(rows(lake, "answers")) == 2


def test_missing_references_are_reported_and_the_item_goes_on(tmp_path: Path) -> None:
    lists: list[list[str | None] | None] = [["a", None, "b", None], None, [None]]
    records = [{**row, "answers": answers} for row, answers in zip(RECORDS, lists, strict=False)]
    write_lines(tmp_path / "a.jsonl", records)
    nested = [[{"x": gold} for gold in answers or ()] for answers in lists]
    write_lines(
        tmp_path / "n.jsonl",
        [{**row, "answers": golds} for row, golds in zip(records, nested, strict=True)],
    )
    frame = pl.DataFrame(records).with_columns(pl.Series("answers", lists, pl.List(pl.String)))
    frame.write_parquet(tmp_path / "a.parquet")
    cases = {
        "a.jsonl": ("answers", "line 1", "line 3"),
        "n.jsonl": ("answers[*].x", "line 1", "line 3"),
        "a.parquet": ("answers", "record 0", "record 2"),
    }
    for file, (path, first, last) in cases.items():
        frames = read(tmp_path, file=file, columns={**VQA, "references": path})
        assert frames.items["references"].to_list() == [["a", "b"], [], []]
        assert [
            (row.table_name, row.locator, row.column_name, row.reason) for row in frames.rejected
        ] == [
            (
                "items",
                first,
                path,
                "2 of the references are missing; the item goes on without them",
            ),
            ("items", last, path, "1 of the references are missing; the item goes on without them"),
        ]


def test_blank_reference_columns_and_null_markers_are_no_damage(tmp_path: Path) -> None:
    write_bytes(tmp_path / "d.csv", b"id,g1,g2,answer\n1,a,,x\n2,,NA,y\n")
    frames = read(
        tmp_path, file="d.csv", nulls=["", "NA"], columns={**CSV, "references": ["g1", "g2"]}
    )
    assert frames.items["references"].to_list() == [["a"], []]
    assert frames.rejected == ()
