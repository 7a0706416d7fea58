"""Large JSON files in batches: the same records as orjson gives for the whole file, and damage reported
at its line and column.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.frames import SourceFrames
from judgelake.tasks.sources.readers import json_records as json_files
from judgelake.tasks.sources.readers import json_records as json_stream
from judgelake.tasks.sources.readers.json_records import (
    read_header,
    read_record_batches,
    read_records,
)
from judgelake.tasks.sources.vqa import VqaSettings, read_vqa
from tests.rows import write_json

TEXTS = st.text(st.sampled_from('ab"\\{}[],: \n\té猫🚀'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
LISTS = st.lists(VALUES, max_size=8)
MAPS = st.dictionaries(
    st.sampled_from(["annotations", "questions", "info", 'a"]\\']), LISTS | VALUES, max_size=4
)
LAYOUTS = st.sampled_from(
    [(None, ",", ":"), (None, " , ", " : "), (1, ",", ": "), ("\t\r\n", ", ", ":")]
)
KEYS = ("annotations", "questions")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_files, "STREAM_FROM", 0)
    monkeypatch.setattr(json_stream, "BLOCK", 64)


def read_streamed(data: bytes, block: int) -> tuple[list[Any], Any]:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_files, "STREAM_FROM", 0)
        patch.setattr(json_stream, "BLOCK", block)
        file = Path(folder) / "file.json"
        file.write_bytes(data)
        return [
            record for batch in read_record_batches(file, *KEYS) for record in batch
        ], read_header(file)


@settings(max_examples=40)
@given(content=LISTS | MAPS, layout=LAYOUTS, ascii_only=st.booleans(), block=st.integers(1, 70))
def test_streamed_records_are_those_of_the_whole(
    content: Any, layout: Any, ascii_only: bool, block: int
) -> None:
    indent, comma, colon = layout
    data = json.dumps(
        content, indent=indent, separators=(comma, colon), ensure_ascii=ascii_only
    ).encode()
    expected = (
        content
        if isinstance(content, list)
        else next((content[key] for key in KEYS if key in content), None)
    )
    assume(isinstance(expected, list))
    records, header = read_streamed(data, block)
    assert records == expected
    if isinstance(content, dict):
        assert {key: value for key, value in header.items() if not isinstance(value, list)} == {
            key: value for key, value in content.items() if not isinstance(value, list)
        }


@settings(max_examples=40)
@given(content=LISTS | MAPS, data=st.data(), block=st.integers(1, 70))
def test_damaged_bytes_are_refused_where_orjson_refuses_them(
    content: Any, data: st.DataObject, block: int
) -> None:
    whole = bytearray(
        json.dumps(
            content, ensure_ascii=False, indent=data.draw(st.sampled_from([None, 1]))
        ).encode()
    )
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(whole)))
        whole[place : place + data.draw(st.integers(0, 9))] = data.draw(
            st.sampled_from([b"", b'"', b",", b"]", b"}", b"[", b"\xff", b"\\"])
        )
    broken = bytes(whole)
    try:
        expected = orjson.loads(broken)
    except orjson.JSONDecodeError:
        with pytest.raises(SourceError, match=r"file\.json:\d+:\d+: is not valid JSON"):
            read_streamed(broken, block)
        return
    chosen = (
        next((expected[key] for key in KEYS if key in expected), None)
        if isinstance(expected, dict)
        else expected
    )
    if isinstance(chosen, list):
        assert read_streamed(broken, block)[0] == chosen
    else:
        with pytest.raises(SourceError, match="holds no list of records"):
            read_streamed(broken, block)


def records_of(count: int) -> list[dict[str, object]]:
    return [
        {"id": number, "text": f'é "{number}" \\', "in": [{"a": [number]}]}
        for number in range(count)
    ]


@pytest.mark.usefixtures("small_blocks")
def test_batches_are_small_and_the_first_of_the_keys_counts_wherever_it_stands(
    tmp_path: Path,
) -> None:
    file = write_json(
        tmp_path / "a.json",
        {"questions": records_of(30), "info": {"n": [1]}, "annotations": records_of(50), "z": []},
    )
    batches = list(read_record_batches(file, *KEYS))
    assert [record for batch in batches for record in batch] == records_of(50)
    assert max(map(len, batches)) <= 4  # a record has some 50 bytes, a block 64
    assert read_header(file)["info"] == {"n": [1]}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"id":20,', b'"id":20'),  # no comma between two members
        (
            b'"id":20,"text":"',
            b'"id":20,"text":',
        ),  # from here on texts and what is between them change places
        (b'{"id":20,', b'"id":20,'),
        (b'{"id":20,', b'{"id":20,]'),
        (b'{"id":20,', b'{"id":2\n0,'),
        (b'"id":20,', b'"id":nope,'),
    ],
)
@pytest.mark.parametrize("keyed", [True, False])
def test_damage_amid_a_large_file_is_reported_where_the_whole_parse_reports_it(
    tmp_path: Path, old: bytes, new: bytes, keyed: bool
) -> None:
    lines = b",\n".join(orjson.dumps(record) for record in records_of(60))
    data = (
        b'{"info": [1],\n "annotations": [' + lines + b'],\n "more": 1}'
        if keyed
        else b"[" + lines + b"]"
    )
    file = tmp_path / "file.json"
    file.write_bytes(data.replace(old, new))
    assert file.read_bytes() != data
    with pytest.raises(SourceError) as whole:
        read_records(file, *KEYS)
    with pytest.raises(SourceError) as streamed:
        list(read_record_batches(file, *KEYS))
    assert str(streamed.value).split(": ")[0] == str(whole.value).split(": ")[0]  # file:line:column


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kept", [1, 60, 700, 1500])
def test_truncated_large_file(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(orjson.dumps({"annotations": records_of(60)})[:kept])
    with pytest.raises(
        SourceError,
        match=r"file\.json:1:\d+: is not valid JSON \(.*\); expected a whole UTF-8 JSON file; fetch",
    ):
        list(read_record_batches(file, *KEYS))


@pytest.mark.usefixtures("small_blocks")
def test_long_damaged_stretch_is_reported_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "LONGEST", 1000)
    file = tmp_path / "file.json"
    file.write_bytes(orjson.dumps(records_of(200)).replace(b'"id":20,"', b'"id":20,'))
    place = (
        file.read_bytes().index(b'"id":20,') + len('"id":20,') - 20 * len("é".encode()[1:]) + 1
    )  # é: two bytes, one character
    with pytest.raises(SourceError, match=rf"file\.json:1:{place}: is not valid JSON"):
        list(read_record_batches(file, *KEYS))


def vqa_files(folder: Path) -> VqaSettings:
    """Three thousand bytes of every kind of record that VQA files may hold."""
    answers = [{"answer": "cat"}, {"answer": 3}, {"answer": 'a \\ "dog"'}]
    annotations: list[object] = [
        {"question_id": n, "image_id": n // 3, "question_type": "what", "answers": answers[n % 2 :]}
        for n in range(40)
    ]
    annotations += [
        annotations[3],
        {"question_id": 4, "answers": []},
        "none",
        {"question_id": 50, "question": "Why?", "image": "x.jpg"},
    ]
    questions: list[object] = [
        {"question_id": n, "image_id": n // 3, "question": f"é {n}?"} for n in (*range(45), 7)
    ]
    questions += [{"question_id": 50}, {"question_id": 8, "question": " "}, {"question_id": None}]
    results = [{"question_id": n, "answer": [f"a{n}", n, None][n % 3]} for n in range(45)]
    return VqaSettings(
        write_json(folder / "annotations.json", {"info": {}, "annotations": annotations}),
        write_json(folder / "m.json", results).parent / "{model}.json",
        write_json(
            folder / "q" / "q.json",
            {"questions": questions, "data_type": "mscoco", "data_subtype": "val"},
        ),
        write_json(
            folder / "q" / "c.json",
            {
                "images": [1],
                "annotations": [{"image_id": n, "caption": f"c{n}"} for n in range(20)],
            },
        ),
    )


@pytest.mark.parametrize("with_questions", [True, False])
def test_vqa_frames_of_streamed_files_are_those_of_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_questions: bool
) -> None:
    files = vqa_files(tmp_path)
    references = files.references if with_questions else files.questions
    assert references is not None
    chosen = VqaSettings(
        references,
        tmp_path / "m{model}.json",
        files.questions if with_questions else None,
        files.captions,
    )
    (tmp_path / "m.json").rename(tmp_path / "m1.json")
    whole = read_vqa(chosen)
    monkeypatch.setattr(json_files, "STREAM_FROM", 0)
    monkeypatch.setattr(json_stream, "BLOCK", 100)
    streamed = read_vqa(chosen)
    assert_same(whole, streamed)
    assert whole.items.height > 30
    assert whole.answers.height == 30  # of 45 every third answer is missing
    assert whole.rejected


def assert_same(whole: SourceFrames, streamed: SourceFrames) -> None:
    for (name, first), (_, second) in zip(whole.tables(), streamed.tables(), strict=True):
        assert first.schema == second.schema == pl.Schema(first.schema), name
        assert first.equals(second), name
    assert whole.rejected == streamed.rejected
