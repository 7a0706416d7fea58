"""What a suite says to source `table` in vain is refused with its key, or noted where only the data
show it; and messages name what is there.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgelake.tasks.errors import SourceError, SuiteError
from tests.sources.tables import list_rejected, read, write_bytes, write_lines, write_suite

ITEM: dict[str, Any] = {"item_id": "id", "prompt": "q"}
RATING: dict[str, Any] = {"rating": "r", "annotator": {"constant": "p"}, "scale": [1, 5]}
CHOICE: dict[str, Any] = {"from": "c", "values": {"A": "a"}}
PAIR: dict[str, Any] = {"answer_a": "x", "answer_b": "y", "annotator": "who"}


@pytest.mark.parametrize(
    ("mapping", "key", "message"),
    [
        ({"columns": {**ITEM, "category": {"constant": "a|b", "split": "|", "element": 0}}},
         "category", "nothing beside `constant`, which is the text itself, but `split` and `element`"),
        ({"columns": {**ITEM, "category": {"constant": "a", "values": {"a": "b"}}}},
         "category", "nothing beside `constant`, which is the text itself, but `values`; remove it"),
        *(
            ({"columns": {"item_id": "id", "answer": "a", name: "c"}}, "columns",
             f"{name}: describes an item, and this part gives none")
            for name in ("category", "split", "task", "cluster", "regions")
        ),
        ({"columns": {"item_id": "id", "answer": "a"}, "task": "caption"}, "task", "describes items"),
        *(
            ({"columns": {**ITEM, name: "m"}}, "columns", f"{name}: describes an answer, of which")
            for name in ("model", "style", "sample", "answer_id")
        ),
        ({"columns": ITEM, "answers": [{"model": "m"}]}, "answers", "have no `text`, and no section"),
        ({"columns": {"answer_id": "i", "model": "m"}, "human_ratings": RATING}, "columns",
         "model: says nothing about an answer without text of which `answer_id` is given"),
        ({"columns": {"style": "s"}, "human_ratings": RATING}, "columns",
         "style: says nothing about an answer without text of which it has no `model`"),
        ({"preferences": {**PAIR, "choice": CHOICE, "values": {"B": "b"}}}, "preferences",
         "choice: has `values` within it and beside it"),
        ({"human_ratings": {**RATING, "rating": CHOICE, "values": {"B": "2"}}}, "human_ratings",
         "rating: has `values` within it and beside it"),
        ({"columns": ITEM, "where": {"id": {}}}, "id", "holds no condition"),
        ({"columns": ITEM, "where": {"id": {"not in": []}}}, "id", "holds no text"),
        ({}, "columns", "give no row of any table"),
        ({"columns": {"item_id": "id"}}, "columns", "give no row of any table"),
        ({"columns": {"item_id": "id"}, "captions": {"image": "i", "text": "t"}}, "columns",
         "item_id: names an item, and nothing in this part is about items"),
        ({"models": {"family": "f"}}, "models", "have no `model`"),
        ({"columns": {**ITEM, "reference": {"from": "r", "split": "|"}}}, "columns",
         "unknown name 'reference'; did you mean 'references'?"),
        ({"columns": {"answer": "a", "item_id": "id"}, "human_ratings": {**RATING, "answer": "m"}}, "answers",
         "there is none of the model 'm'; expected one with `model` as a plain name; write it, or"),
        ({"columns": {**ITEM, "prompt": ""}}, "prompt", "names no column; expected the name of one"),
        ({"columns": {**ITEM, "prompt": ["q", ""]}}, "prompt", "names no column; expected the name"),
        ({"columns": {**ITEM, "prompt": "{q"}}, "prompt", "'{q': a brace has no partner; expected {column}"),
        ({"human_ratings": {**RATING, "values": {"yes": True, "no": False}}}, "human_ratings",
         "values: 'true' is no number; expected one; write 1"),
        ({"human_ratings": {**RATING, "rating": {"from": "r", "values": {"yes": "x"}}}}, "human_ratings",
         "rating: values: 'x' is no number; expected one; write one, such as 1"),
        ({"preferences": {**PAIR, "choice": "c", "values": {"A": "answer1"}}}, "preferences",
         "values: 'answer1'; expected one of a, b, tie; correct it"),
        ({"preferences": {**PAIR, "choice": {"from": "c", "values": {"A": "x"}}}}, "preferences",
         "choice: values: 'x'; expected one of a, b, tie; correct it"),
        ({"preferences": {**PAIR, "choice": "c", "shown_first": {"constant": "first"}}}, "preferences",
         "shown_first: 'first'; expected one of a, b; correct it"),
        ({"columns": {**ITEM, "answer": "a", "model": "m", "sample": {"constant": "one"}}}, "columns",
         "sample: 'one' is no number; expected one"),
        ({"columns": ITEM, "answers": [{"text": "a", "model": "m", "style": "medium"}]}, "answers",
         "style: 'medium'; expected one of short, long; correct it"),
    ],
)  # fmt: skip
def test_a_setting_without_effect_is_refused_with_its_key(
    tmp_path: Path, mapping: dict[str, Any], key: str, message: str
) -> None:
    with pytest.raises(SuiteError) as error:
        write_suite(tmp_path, {"file": "a.csv", **mapping})
    assert str(error.value).startswith(f"{tmp_path / 'suite.yaml'}:")
    assert f"{key}: " in str(error.value)
    assert message in str(error.value)
    with pytest.raises(SuiteError):
        write_suite(tmp_path, {"parts": [{"file": "a.csv", **mapping}]})


@pytest.mark.parametrize(
    "mapping",
    [
        {"columns": {"model": "m", "style": "s"}, "human_ratings": RATING},
        {"answers": [{"model": "m"}, {"model": "n"}], "preferences": {"choice": CHOICE, "annotator": "w"}},
        {"answers": [{"model": "m", "answer_id": "i"}], "human_ratings": RATING | {"answer": "m"}},
        {"captions": {"image": "i", "text": "t"}},
        {"models": {"model": "m"}},
    ],
)  # fmt: skip
def test_settings_with_an_effect_are_taken(tmp_path: Path, mapping: dict[str, Any]) -> None:
    write_suite(tmp_path, {"file": "a.csv", **mapping})


EXPLODED = {"columns": {"item_id": "id", "prompt": "q"}, "explode": "qas"}


def test_a_path_to_explode_that_no_record_has(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"id": 1, "qs": [{"q": "A?"}]}])
    with pytest.raises(SourceError) as error:
        read(tmp_path, file="a.jsonl", **EXPLODED)
    assert str(error.value) == (
        f"{tmp_path / 'a.jsonl'}: no record has 'qas', which `explode` names, but 'id', 'qs'; "
        "expected one of these; did you mean 'qs'?"
    )


def test_what_is_exploded_and_no_list_is_rejected_with_its_place(tmp_path: Path) -> None:
    """A list that is empty, null or not there gives no record."""
    lines: list[dict[str, Any]] = [{"id": 1, "qas": [{"q": "A?"}]}, {"id": 2, "qas": "B?"}]
    lines += [{"id": 3, "qas": []}, {"id": 4, "qas": None}, {"id": 5}]
    write_lines(tmp_path / "a.jsonl", lines)
    frames = read(tmp_path, file="a.jsonl", **EXPLODED)
    assert frames.items["item_id"].to_list() == ["1"]
    assert list_rejected(frames) == [("line 2", "qas")]
    assert frames.rejected[0].reason == "`explode` names it, and it is neither a list nor a map"


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_column_of_json_that_no_record_has(tmp_path: Path, suffix: str) -> None:
    file = write_rows(tmp_path, suffix)
    with pytest.raises(
        SourceError, match=r"no record has 'zzz', which `json` names, but 'id', 'q'"
    ):
        read(tmp_path, file=file, columns=ITEM, json=["zzz"])


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("shape", "key"),
    [({"row_number": "id"}, "row_number"), ({"parse": {"q": "{id}?"}}, "parse")],
)
def test_a_new_column_does_not_take_the_name_of_one_of_the_file(
    tmp_path: Path, suffix: str, shape: dict[str, Any], key: str
) -> None:
    file = write_rows(tmp_path, suffix)
    with pytest.raises(SourceError, match=f"`{key}` names a new column 'id', and the file has one"):
        read(tmp_path, file=file, columns=ITEM, **shape)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_part_of_the_path_is_no_column_of_the_file(tmp_path: Path, suffix: str) -> None:
    """`{id}` hid the column `id`: every row was the item `a`."""
    write_rows(tmp_path, suffix)
    with pytest.raises(SourceError) as error:
        read(tmp_path, file=f"{{id}}.{suffix}", columns=ITEM)
    assert str(error.value) == (
        f"{tmp_path / 'a'}.{suffix}: has a column 'id', and its path a part {{id}} ('a') by `file: "
        f"{tmp_path}/{{id}}.{suffix}`; expected one of the two; rename the part, such as "
        "{path_id}: then 'id' is the column, and 'path_id' the part"
    )
    named = read(tmp_path, file=f"{{path_id}}.{suffix}", columns={**ITEM, "category": "path_id"})
    assert named.items["item_id"].to_list() == ["1", "2"]
    assert named.items["category"].to_list() == ["a", "a"]
    unread = read(tmp_path, file=f"{{id}}.{suffix}", columns={"item_id": "q", "prompt": "q"})
    assert unread.items["item_id"].to_list() == ["A?", "B?"]


@pytest.mark.parametrize("late", [False, True])
def test_a_column_of_some_records_alone_is_seen(tmp_path: Path, late: bool) -> None:
    """Beside a part of the path, in the last of 200 records; or in an element of a list."""
    lines: list[dict[str, Any]] = [{"k": n, "qs": [{"q": "A?"}]} for n in range(200)]
    if late:
        lines[-1]["id"] = 7
    else:
        lines[0]["qs"] = [{"q": "A?"}, {"q": "B?", "id": 7}]
    write_lines(tmp_path / "a.jsonl", lines)
    pl.DataFrame(lines, infer_schema_length=None).write_parquet(tmp_path / "a.parquet")
    for suffix in ("jsonl", "parquet"):
        with pytest.raises(SourceError, match="has a column 'id', and its path a part"):
            read(tmp_path, file=f"{{id}}.{suffix}", explode="qs", columns=ITEM)


def write_rows(folder: Path, suffix: str) -> str:
    if suffix == "csv":
        write_bytes(folder / "a.csv", b"id,q\n1,A?\n2,B?\n")
    elif suffix == "jsonl":
        write_lines(folder / "a.jsonl", [{"id": 1, "q": "A?"}, {"id": 2, "q": "B?"}])
    else:
        pl.DataFrame({"id": ["1", "2"], "q": ["A?", "B?"]}).write_parquet(folder / "a.parquet")
    return f"a.{suffix}"


def test_a_condition_that_keeps_no_row_is_noted(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a.csv", b"id,q,s\n1,A?,val\n2,B?,val\n")
    where: dict[str, Any] = {"id": ["1", "2"], "s": "dev"}
    frames = read(tmp_path, file="a.csv", columns=ITEM, where=where)
    assert frames.items.is_empty()
    assert frames.notes == (f"{tmp_path / 'a.csv'}: the condition `where: s` kept none of 2 rows",)
    assert read(tmp_path, file="a.csv", columns=ITEM, where={"id": "1"}).notes == ()
    # rows that cannot be compared are in the quarantine, which says why
    assert read(tmp_path, file="a.csv", columns=ITEM, where={"q": {"<": 1}}).notes == ()


@pytest.mark.parametrize("orders", ["none", "one", "draws"])
def test_two_samples_that_may_be_two_orders_are_noted(tmp_path: Path, orders: str) -> None:
    """Not where an order is given, nor where a pair has three samples."""
    write_bytes(tmp_path / "a.csv", b"id,q,x,y,one,two\n1,A?,s,t,a,b\n2,B?,s,t,a,a\n")
    duels = [
        {"judge": "j", "choice": column, "sample": {"constant": str(sample)}}
        for sample, column in enumerate(("one", "two", "two")[: 3 if orders == "draws" else 2])
    ]
    if orders == "one":
        duels[0]["shown_first"] = {"constant": "a"}
    answers = [{"model": "m", "text": "x"}, {"model": "n", "text": "y"}]
    notes = read(tmp_path, file="a.csv", columns=ITEM, answers=answers, judge_duels=duels).notes
    assert notes == () if orders != "none" else "`shown_first: {constant: a}`" in notes[0]


@pytest.mark.parametrize("name", ["images", "references"])
def test_one_piece_of_a_split_as_a_list(tmp_path: Path, name: str) -> None:
    write_bytes(tmp_path / "a.csv", b"id,q,k,l\n1,A?,x.jpg#0,z#1\n2,B?,y.jpg#,\n3,C?,#1,\n")
    value = {"split": "#", "element": 0}
    for source, found in (
        ("k", [["x.jpg"], ["y.jpg"], []]),
        (["k", "l"], [["x.jpg", "z"], ["y.jpg"], []]),
        ("{id}#{k}", [["1"], ["2"], ["3"]]),
    ):
        frames = read(tmp_path, file="a.csv", columns={**ITEM, name: {"from": source, **value}})
        cells = frames.items[name].to_list()
        if name == "images":
            cells = [[image["uri"] for image in images] for images in cells]
        assert cells == found


def test_pieces_of_lists_and_of_grouped_rows(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a.csv", b"id,q,k\n1,A?,x#0\n1,A?,y#1\n")
    references = {"from": "k", "split": "#", "element": 0}
    columns = {**ITEM, "references": references}
    frames = read(tmp_path, file="a.csv", group="id", columns=columns)
    assert frames.items["references"].to_list() == [["x", "y"]]
    write_lines(tmp_path / "a.jsonl", [{"id": 1, "q": "A?", "k": ["x#0", "y#1"]}])
    assert read(tmp_path, file="a.jsonl", columns=columns).items["references"].to_list() == [
        ["x", "y"]
    ]
    labels = {"labeller": {"constant": "ann"}, "labels": references}
    frames = read(tmp_path, file="a.csv", columns={"item_id": "id"}, item_labels=labels)
    assert frames.item_labels["label"].to_list() == ["x", "y"]


def test_one_of_the_keys_of_a_map(tmp_path: Path) -> None:
    votes = [{"cat": 3, "dog": 1}, {}]
    records = [{"id": n, "q": "?", "votes": of, "all": [{"in": of}]} for n, of in enumerate(votes)]
    write_lines(tmp_path / "a.jsonl", records)
    columns = {**ITEM, "category": "votes[keys][0]", "references": "all[*].in[keys][1]"}
    frames = read(tmp_path, file="a.jsonl", columns=columns)
    assert frames.items["category"].to_list() == ["cat", None]
    assert frames.items["references"].to_list() == [["dog"], []]
    assert frames.rejected == ()


def test_a_list_that_is_null_within_a_list(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"id": 1, "q": "?", "all": [{"in": None}, {"in": ["x"]}]}])
    frames = read(tmp_path, file="a.jsonl", columns={**ITEM, "references": "all[*].in[*]"})
    assert frames.items["references"].to_list() == [["x"]]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_names_that_are_there_are_listed_and_no_others(tmp_path: Path, suffix: str) -> None:
    file = write_rows(tmp_path, suffix)
    with pytest.raises(SourceError) as error:
        read(tmp_path, file=file, columns={"item_id": "idd", "prompt": "q"})
    assert str(error.value).endswith(
        "'id', 'q'; expected one of these; did you mean 'id'? "
        "(`columns.item_id` takes 'idd' for a column)"
    )


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_mistyped_join_is_answered_with_the_joins(tmp_path: Path, suffix: str) -> None:
    file = write_rows(tmp_path, suffix)
    write_bytes(tmp_path / "more.csv", b"k,c\n1,x\n2,y\n")
    join = {"own": {"file": "more.csv", "keys": {"id": "k"}}}
    with pytest.raises(SourceError) as error:
        read(tmp_path, file=file, columns={**ITEM, "category": "onw.c"}, join=join)
    assert str(error.value).endswith(
        "(`columns.category` takes 'onw.c' for a column: the joins are 'own')"
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_name_that_is_a_column_too_is_noted(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"id": ["1"], "q": ["A?"], "m": ["x"], "rater": ["ann"], "gpt": ["2"]})
    file = f"a.{suffix}"
    frame.write_csv(tmp_path / file) if suffix == "csv" else frame.write_parquet(tmp_path / file)
    verdicts = {"rating": "gpt", "scale": [1, 5], "answer": "m"}
    answers = [{"model": "m", "text": "m"}]  # a column for each model
    note = (
        f"{tmp_path / file}: `judge_verdicts.judge` is the name 'rater' itself, and the file has a "
        f"column of that name: write {{from: rater}} for what the column holds, or {{constant: rater}}"
    )
    for judge, notes in (
        ("rater", (note,)),
        ("gpt", ()),
        ("other", ()),
        ({"constant": "rater"}, ()),
    ):
        judged = {**verdicts, "judge": judge}
        frames = read(tmp_path, file=file, columns=ITEM, answers=answers, judge_verdicts=judged)
        assert frames.notes == notes


def test_a_name_that_is_a_path_of_the_records_is_noted(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"id": 1, "q": "A?", "one": {"name": "m", "text": "x"}}])
    answers = [{"model": "one.name", "text": "one.text"}]
    frames = read(tmp_path, file="a.jsonl", columns=ITEM, answers=answers)
    assert "`answers.model` is the name 'one.name' itself" in frames.notes[0]


def test_a_part_of_the_path_that_nothing_reads_is_noted(tmp_path: Path) -> None:
    write_bytes(tmp_path / "run_m.csv", b"id,q\n1,A?\n")
    frames = read(tmp_path, file="run_{modl}.csv", columns=ITEM)
    assert "nothing reads the part {modl} of the path; write * for it" in frames.notes[0]
    for more in ({"newest": "modl"}, {"where": {"modl": "m"}}):
        assert read(tmp_path, file="run_{modl}.csv", columns=ITEM, **more).notes == ()


@pytest.mark.parametrize("key", ["references", "category"])
def test_an_element_that_no_text_has_is_noted(tmp_path: Path, key: str) -> None:
    write_bytes(tmp_path / "a.csv", b"id,q,r\n1,A?,x|y\n2,B?,z\n3,C?,\n")
    for element, notes in ((1, 0), (7, 1), (-3, 1)):
        value = {"from": "r", "split": "|", "element": element}
        frames = read(tmp_path, file="a.csv", columns={**ITEM, key: value})
        assert len(frames.notes) == notes
        if notes:
            says = f"`columns.{key}`: `element: {element}` finds a piece in none of 2 texts"
            assert frames.notes[0].startswith(says)


@pytest.mark.parametrize("key", ["parts", "human_ratings", "names", "explode", "group", "answers"])
def test_an_empty_list_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(SuiteError, match=rf"yaml:\d+: {key}: an empty list says nothing"):
        write_suite(tmp_path, {"file": "a.csv", "columns": ITEM, key: []})
    write_suite(tmp_path, {"file": "a.csv", "columns": ITEM, "nulls": []})


def test_names_beside_a_header_of_the_same_names_are_refused(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a.csv", b"id, q\n1,A?\n")
    with pytest.raises(
        SourceError, match=r"a\.csv:1: holds the names themselves; .* remove `names:`"
    ):
        read(tmp_path, file="a.csv", names=["id", "q"], columns=ITEM)


def test_a_wrong_filling_of_a_pattern_is_named(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a.csv", b"id,q\n1,A?\n")
    with pytest.raises(SourceError, match=r"'q:xx' for a column; write \{q:012\} to fill it up"):
        read(tmp_path, file="a.csv", columns={**ITEM, "prompt": "{q:xx}"})
