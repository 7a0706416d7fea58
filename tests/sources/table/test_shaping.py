"""Rows of source `table` that are numbered, taken apart, joined, filtered and grouped before they
are mapped; what does not fit is reported with place and reason, and nothing in a suite is ignored.
"""

from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.errors import SourceError, SuiteError
from judgelake.tasks.sources.registry import source_digest
from tests.sources.tables import list_rejected, read, write_bytes, write_lines, write_suite

ITEM = {"item_id": "id", "prompt": "q"}


def write(folder: Path, name: str, text: str) -> str:
    write_bytes(folder / name, text.encode())
    return name


def reasons(frames: Any) -> list[tuple[str, str, str | None, str | None, str]]:
    return [
        (row.source_file, row.locator, row.column_name, row.value, row.reason)
        for row in frames.rejected
    ]


def test_long_rows_become_lists(tmp_path: Path) -> None:
    rows = "id,q,ref\n1,A?,x\n2,B?,z\n1,A?,y\n1,A?,\n"
    file = write(tmp_path, "long.csv", rows)
    frames = read(tmp_path, file=file, group="id", columns={**ITEM, "references": "ref"})
    assert frames.items.select("item_id", "prompt", "references", "locator").rows() == [
        ("1", "A?", ["x", "y"], "line 2"),
        ("2", "B?", ["z"], "line 3"),
    ]
    assert frames.rejected == ()


def test_groups_go_over_files_and_lists_are_joined(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"id": 1, "q": "A?", "refs": ["x", "y"]}])
    write_lines(tmp_path / "b.jsonl", [{"id": 1, "q": "A?", "refs": "z"}])
    columns = {**ITEM, "references": "refs"}
    frames = read(tmp_path, file="*.jsonl", group=["id"], columns=columns)
    assert frames.items["references"].to_list() == [["x", "y", "z"]]


def test_a_group_whose_single_values_differ_is_reported_row_by_row(tmp_path: Path) -> None:
    file = write(tmp_path, "long.csv", "id,q,ref\n1,A?,x\n1,B?,y\n2,C?,z\n")
    frames = read(tmp_path, file=file, group="id", columns={**ITEM, "references": "ref"})
    assert frames.items["item_id"].to_list() == ["2"]
    reason = "rows that are grouped by id differ in this column"
    assert reasons(frames) == [
        ("long.csv", "line 2", "q", "A?", reason),
        ("long.csv", "line 3", "q", "B?", reason),
    ]


JOINED = {
    "file": "answers.csv",
    "columns": {"item_id": "id", "prompt": "own.q", "references": "own.ref", "answer": "a"},
}


def test_another_file_is_joined_by_a_key(tmp_path: Path) -> None:
    """Flickr8k's captions: the key is a part of a text, and an image has several rows."""
    write(tmp_path, "answers.csv", "id,a\n1,x\n2,y\n9,z\n")
    write(tmp_path, "items.tsv", "1.jpg#0\tA?\tr\n1.jpg#1\tA?\ts\n2.jpg#0\tB?\tt\n3.jpg#0\tC?\tu\n")
    own = {
        "file": "items.tsv",
        "names": ["place", "q", "ref"],
        "parse": {"place": "{image}.jpg#{number}"},
        "group": "image",
        "keys": {"id": "image"},
    }
    frames = read(tmp_path, **JOINED, join={"own": own})
    assert frames.items.select("item_id", "prompt", "references").rows() == [
        ("1", "A?", ["r", "s"]),
        ("2", "B?", ["t"]),
    ]
    assert frames.answers["text"].to_list() == ["x", "y"]
    assert reasons(frames) == [
        ("answers.csv", "line 4", "id", "9", "no row of items.tsv has this key")
    ]


def test_a_key_that_stands_in_several_rows_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "answers.csv", "id,a\n1,x\n2,y\n,z\n")
    write(tmp_path, "items.csv", "k,q,ref\n1,A?,r\n1,A?,s\n2,B?,t\n")
    frames = read(tmp_path, **JOINED, join={"own": {"file": "items.csv", "keys": {"id": "k"}}})
    assert frames.items["item_id"].to_list() == ["2"]
    assert reasons(frames) == [
        ("answers.csv", "line 4", "id", "", "no row of items.csv has this key"),
        ("answers.csv", "line 2", "id", "1", "several rows of items.csv have this key"),
    ]


def test_a_joined_file_is_part_of_the_source(tmp_path: Path) -> None:
    write(tmp_path, "answers.csv", "id,a\n1,x\n")
    write(tmp_path, "items.csv", "k,q,ref\n1,A?,r\n")
    mapping = {**JOINED, "join": {"own": {"file": "items.csv", "keys": {"id": "k"}}}}
    settings = write_suite(tmp_path, mapping).benchmarks["b"].settings
    before = source_digest(settings)
    write(tmp_path, "items.csv", "k,q,ref\n1,A?,another\n")
    assert source_digest(settings) != before
    write(tmp_path, "items.csv", "k,question,ref\n1,A?,r\n")
    with pytest.raises(SourceError) as error:
        read(tmp_path, **mapping)
    assert "items.csv:1: has no 'q'" in str(error.value)
    assert str(error.value).endswith("(`columns.prompt` takes 'own.q' for a column)")


def test_a_part_that_may_be_empty(tmp_path: Path) -> None:
    lines = [{"both": both, "q": "?"} for both in ("5:x", "6:", ":y")]
    write_lines(tmp_path / "a.jsonl", lines)
    columns = {"item_id": "id", "prompt": "q", "answer": "text"}
    frames = read(tmp_path, file="a.jsonl", parse={"both": "{id}:{text?}"}, columns=columns)
    assert frames.answers.select("item_id", "text").rows() == [("5", "x"), ("6", "")]
    reason = "the text is not of the form {id}:{text?}"
    assert reasons(frames) == [("a.jsonl", "line 3", "both", ":y", reason)]


def test_named_parts_of_a_text_are_columns(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "key,q,a\n5_17,A?,x\n5_18_b,B?,y\nno,C?,z\n,D?,v\n")
    columns = {"item_id": "item", "prompt": "q", "answer": "a", "answer_id": "{item}-{number}"}
    frames = read(tmp_path, file=file, parse={"key": "{item}_{number}"}, columns=columns)
    assert frames.answers.select("item_id", "answer_id").rows() == [
        ("5", "5-17"),
        ("5", "5-18_b"),
        (None, None),  # nothing to take apart: ingestion reports that the id is missing
    ]
    reason = "the text is not of the form {item}_{number}"
    assert reasons(frames) == [("a.csv", "line 4", "key", "no", reason)]


def test_parts_and_compared_columns_can_be_elements_of_lists(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "key,q,ref\n1_x,A?,r\n1_y,A?,s\n1_z,A?,no\n2_x,B?,r\n")
    shape = {"parse": {"key": "{id}_{part}"}, "where": {"ref": {"!=": "no"}}, "group": "id"}
    for column, found in (("part", [["x", "y"], ["x"]]), ("ref", [["r", "s"], ["r"]])):
        frames = read(tmp_path, file=file, columns={**ITEM, "references": column}, **shape)
        assert frames.items["references"].to_list() == found
        assert frames.rejected == ()


def test_one_element_of_a_split(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "key,q\nx | y|z,A?\none,B?\n")
    columns = {
        "item_id": {"from": "key", "split": "|", "element": -1},
        "prompt": "q",
        "category": {"from": "key", "split": "|", "element": 1, "values": {"y": "why"}},
    }
    frames = read(tmp_path, file=file, columns=columns)
    assert frames.items.select("item_id", "category").rows() == [("z", "why"), ("one", None)]


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ({"s": "val"}, "ac"),
        ({"s": ["val", "dev"]}, "abc"),
        ({"s": {"in": ["dev", ""]}}, "bd"),
        ({"s": {"not in": ["dev", ""]}}, "ac"),
        ({"s": {"!=": "val"}}, "bd"),
        ({"n": {"<": 10}}, "a"),
        ({"n": {">=": 2, "<=": "10"}}, "ab"),
        ({"n": {">": {"column": "m"}}}, "bc"),
        ({"s": {"=": {"column": "t"}}}, "ad"),
        ({"s": {"!=": {"column": "t"}}}, "bc"),
        ({"row": {"<": 3}}, "ab"),
        ({"part": {"!=": "y"}}, "acd"),
    ],
)
def test_conditions_keep_rows(tmp_path: Path, where: dict[str, Any], kept: str) -> None:
    rows = "id,q,s,t,n,m,k\na,A?,val,val,2,3,x-1\nb,B?,dev,val,10,9,y-1\nc,C?,val,,30,3,z-1\nd,D?,,,,3,x-2\n"
    shape = {"row_number": "row", "parse": {"k": "{part}-{rest}"}}
    file = write(tmp_path, "a.csv", rows)
    frames = read(tmp_path, file=file, where=where, columns=ITEM, **shape)
    assert "".join(frames.items["item_id"]) == kept
    assert frames.rejected == ()


def test_a_word_that_is_compared_as_a_number_is_reported(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "id,q,n\n1,A?,many\n2,B?,3\n3,C?,\n")
    frames = read(tmp_path, file=file, where={"n": {"<": 5}}, columns=ITEM)
    assert frames.items["item_id"].to_list() == ["2"]
    reason = "the value is not a number, and `where` compares it by '<'"
    assert reasons(frames) == [("a.csv", "line 2", "n", "many", reason)]


def test_blanks_around_a_number_do_not_count_in_a_comparison(tmp_path: Path) -> None:
    file = write(tmp_path, "a.csv", "id,q,n,m\n1,A?, 0.7,0.5 \n2,B?,0.4, 0.5\n3,C?,nan,0.5\n")
    for bound in ("0.5", {"column": "m"}):
        frames = read(tmp_path, file=file, where={"n": {">": bound}}, columns=ITEM)
        assert frames.items["item_id"].to_list() == ["1"]
        assert list_rejected(frames) == [("line 4", "n")]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_rows_are_numbered_in_each_file(tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        records = [{"q": f"{name}{number}?", "keep": number} for number in range(3)]
        if suffix == "jsonl":
            write_lines(tmp_path / f"{name}.jsonl", records)
        else:
            lines = "".join(f"{row['q']},{row['keep']}\n" for row in records)
            write(tmp_path, f"{name}.csv", f"q,keep\n{lines}")
    columns = {"item_id": "{file}:{n:02}", "prompt": "q"}
    shape = {"row_number": "n", "where": {"keep": {"!=": 1}}}
    frames = read(tmp_path, file=f"{{file}}.{suffix}", columns=columns, **shape)
    assert frames.items["item_id"].to_list() == ["a:01", "a:03", "b:01", "b:03"]


@pytest.mark.parametrize(
    ("name", "text", "shape", "numbers"),
    [
        ("a.csv", b"id,q\na,A?\nshort\nc,C?\n\nd,D?\n", {}, [1, 3, 4]),
        ("a.csv", b'id,q\na,A?\nb,"B" or?\nc,C?\nd,D?\n', {}, [1, 3, 4]),
        ("a.csv", b"id,q\na,A?\nb,\xff\nc,C?\nd,D?\n", {}, [1, 3, 4]),
        ("a.csv", b'id,q\na,A?\nb,"\n\xff\n"B\nc,C?\nd,D?\n', {}, [1, 5, 6]),
        ("a.csv", b'id,q\na,"A\n\xff\n?"\nb\nc,C?\nd,D?\n', {}, [1, 3, 4]),
        ("a.csv", b"# exported\na,A?\nc,C?\nd,D?\n", {"names": ["id", "q"]}, [2, 3, 4]),
        ("a.jsonl", b'{"id": "a", "q": "A?"}\n{"id"\n\n{"id": "c", "q": "C?"}\n{"id": "d", "q": 1}\n', {}, [1, 3, 4]),
        ("a.jsonl", b'{"id": "a", "q": "A?"}\n[1]\n{"id": "c", "q": "C?"}\n{"id": "d", "q": 1}\n', {}, [1, 3, 4]),
        ("a.json", b'[{"id": "a", "q": "A?"}, 5, {"id": "c", "q": "C?"}, {"id": "d", "q": 1}]', {}, [1, 3, 4]),
        ("a.jsonl", b'{"id": "a", "q": "A?"}\n{"id": "b", "q": [1]}\n{"id": "c", "q": "C?"}\n{"id": "d", "q": 1}\n', {}, [1, 3, 4]),
        ("a.csv", b"id: a\nq: A?\n\n\xff\n\nid: c\n\xff\nq: C?\n\nid: d\nq: D?", {"format": "blocks"}, [1, 3, 4]),
        ("a.json", b'[{"of": [{"id": "a", "q": 1}]}, {"of": 3}, {"of": []}, {"of": [{"id": "c", "q": 1}, {"id": "d", "q": 1}]}]', {"explode": "of"}, [1, 3, 4]),
        ("a.csv", b"id,q,n\na,1,1\nb,1,{\nc,1,1\nd,1,1\n", {"json": "n"}, [1, 3, 4]),
    ],
)  # fmt: skip
def test_rejected_records_are_counted_in_row_numbers(
    tmp_path: Path, name: str, text: bytes, shape: dict[str, Any], numbers: list[int]
) -> None:
    write_bytes(tmp_path / name, text)
    columns = {"item_id": "id", "prompt": "q", "category": "row"}
    frames = read(tmp_path, file=name, row_number="row", columns=columns, **shape)
    assert frames.rejected
    found = dict(frames.items.select("item_id", "category").iter_rows())
    assert found == dict(zip("acd", map(str, numbers), strict=True))


def test_files_joined_by_row_number_stay_in_step_after_a_rejected_row(tmp_path: Path) -> None:
    write(tmp_path, "items.csv", "q,a\nq1,a1\nshort\nq3,a3\n")
    write(tmp_path, "verdicts.csv", "v\n1\n0\n1\n")
    about = {"item_id": "row", "model": {"constant": "m"}}
    parts = [
        {"file": "items.csv", "row_number": "row", "columns": {**about, "prompt": "q", "answer": "a"}},
        {"file": "verdicts.csv", "row_number": "row", "columns": about,
         "judge_verdicts": {"judge": "j", "rating": "v", "scale": [0, 1]}},
    ]  # fmt: skip
    frames = read(tmp_path, parts=parts)
    assert frames.items.select("item_id", "prompt").rows() == [("1", "q1"), ("3", "q3")]
    verdicts = frames.recorded_verdicts.select("item_id", "rating").rows()
    assert verdicts == [("1", 1.0), ("2", 0.0), ("3", 1.0)]


def test_keys_of_a_map_are_a_list(tmp_path: Path) -> None:
    records = [
        {"id": 1, "q": "A?", "votes": {"cat": 3, "dog": 1}, "all": [{"in": {"x": 1}}, {"in": {"y": 1}}]},
        {"id": 2, "q": "B?", "votes": {}, "keys": "own"},
    ]  # fmt: skip
    write_lines(tmp_path / "a.jsonl", records)
    for path, found in (
        ("votes[keys]", [["cat", "dog"], []]),
        ("all[*].in[keys]", [["x", "y"], []]),
    ):
        frames = read(tmp_path, file="a.jsonl", columns={**ITEM, "references": path})
        assert frames.items["references"].to_list() == found
    frames = read(tmp_path, file="a.jsonl", columns={**ITEM, "category": "keys"})
    assert frames.items["category"].to_list() == [None, "own"]


def test_blocks_of_keys_and_values(tmp_path: Path) -> None:
    text = "image file : a/1.jpg\nq : What: now?\n\n\nq: B?\nimage file: 2.jpg\nodd\nq: again\n"
    file = write(tmp_path, "scores.txt", text)
    columns = {"item_id": "image file", "prompt": "q"}
    frames = read(tmp_path, file=file, format="blocks", columns=columns)
    assert frames.items.select("item_id", "prompt", "locator").rows() == [
        ("a/1.jpg", "What: now?", "line 1"),
        ("2.jpg", "B?", "line 5"),
    ]
    assert list_rejected(frames) == [("line 7", None), ("line 8", None)]
    assert [row.reason for row in frames.rejected] == [
        "the line is not `key : value`",
        "the key stands twice in its block",
    ]


@pytest.mark.parametrize(
    ("mapping", "line", "message"),
    [
        ({"columns": {"item_id": {"from": "id", "split": ","}}}, 6, "item_id: holds one text, and"),
        ({"columns": {"item_id": {"from": "id", "element": 1}}}, 6, "`element` is a piece of a"),
        ({"columns": {"references": {"from": "r", "values": {"a": "b"}}}}, 6, "references: holds a"),
        ({"columns": {"item_id": "id"}, "records": "a"}, 8, "records: says nothing about a file of"),
        ({"columns": {"item_id": {"from": "id", "values": {"a": "{b}"}}}}, 6, "'{b}' is a pattern"),
        ({"where": {"a": {"<": "x"}}}, 6, "'<' compares numbers; correct 'x'"),
        ({"where": {"a": {"~": "x"}}}, 6, "unknown comparison '~'"),
        ({"where": {"a": {"=": ["x", "y"]}}}, 6, "'=' takes one text; write `in` for several"),
        ({"parse": {"a": "x"}}, 6, "'x'; expected parts such as {id}"),
        ({"parse": {"a": "{x}{y}"}}, 6, "has parts side by side"),
        ({"parse": {"a": "{x}-{x}"}}, 6, "two columns are named 'x'"),
        ({"join": {"own": {"file": "b.csv"}}}, 6, "keys: missing; expected {column here: column"),
        ({"join": {"own": {"keys": {"a": "b"}}}}, 6, "file: missing; expected the path of the other"),
        ({"separator": ";;"}, 6, "separator: ';;' cannot separate cells; expected one character"),
        ({"separator": ""}, 6, "separator: '' cannot separate cells; expected one character"),
        ({"separator": "", "format": "blocks"}, 6, "separator: '' cannot separate a key"),
        ({"separator": "\n"}, 6, "separator: '\\n' cannot separate cells; expected one"),
        ({"task": "caption", "columns": {"task": "t"}}, 6, "task: says nothing beside the column"),
        ({"human_ratings": {"annotators": ["x"], "annotator": "y", "scale": [1, 5]}}, 6, "annotator: says nothing"),
        ({"human_ratings": {"criteria": {"x": "a"}, "criterion": "b", "annotator": "y", "scale": [1, 5]}}, 6, "criterion: says nothing"),
    ],
)  # fmt: skip
def test_what_would_be_ignored_is_refused_with_its_line(
    tmp_path: Path, mapping: dict[str, object], line: int, message: str
) -> None:
    with pytest.raises(SuiteError) as error:
        write_suite(tmp_path, {"file": "a.csv", **mapping})
    assert message in str(error.value)
    place = str(error.value).removeprefix(f"{tmp_path / 'suite.yaml'}:").partition(":")[0]
    assert int(place) in range(line, line + 4)


def test_a_pattern_among_the_values_of_a_choice_is_refused(tmp_path: Path) -> None:
    choice = {"chosen": "best", "annotator": "who", "values": {"1": "{model}/short/0"}}
    answers = [{"model": "m", "text": "a"}, {"model": "n", "text": "b"}]
    with pytest.raises(SuiteError, match=r"\{model\}/short/0' is a pattern; expected a text"):
        write_suite(tmp_path, {"file": "a.csv", "answers": answers, "choice_sets": choice})


@pytest.mark.parametrize(
    "beside",
    [
        {"where": {"a": "b"}},
        {"columns": {"item_id": "id"}},
        {"nulls": ["NA"]},
        {"task": "caption"},
        {"encoding": "latin-1"},
    ],
)
def test_settings_beside_parts_are_refused(tmp_path: Path, beside: dict[str, object]) -> None:
    parts = [{"file": "a.csv", "columns": {"item_id": "id", "prompt": "q"}}]
    write_suite(tmp_path, {"parts": parts})
    with pytest.raises(SuiteError, match=rf"{next(iter(beside))}: says nothing beside `parts`"):
        write_suite(tmp_path, {"parts": parts, **beside})
