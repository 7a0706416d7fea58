"""Properties of source `table`: the order, the split and the compression of a source do not show in
the lake; what is exported comes back.
"""

import csv
import io
import json
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from judgelake.flows.sql_answers import answer
from judgelake.tasks.digests import content_digest, digest_json
from judgelake.tasks.errors import SourceError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.warehouse.warehouse import open_warehouse, run_sql
from tests.sources.tables import VQA, ingest, read, rows, write_bytes, write_lines, write_suite

TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8
).filter(lambda text: text.strip())
RECORD = st.fixed_dictionaries(
    {
        "id": st.integers(0, 5) | st.sampled_from(["x", "6"]),
        "question": st.none() | TEXT,
        "answers": st.lists(TEXT, max_size=3),
        "answer": TEXT,
        "model": st.sampled_from(["m", "n"]),
        "rating": st.none() | st.integers(0, 6),
    }
)
RATING = {"rating": "rating", "annotator": {"constant": "p"}, "scale": [1, 5]}
TABLES = ("items", "answers", "human_ratings")
EVERY = (*TABLES, "quarantine")
SLOW = settings(max_examples=3, suppress_health_check=list(HealthCheck))


@contextmanager
def folders() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        yield Path(one), Path(other)


@SLOW
@given(
    st.lists(RECORD, min_size=1, max_size=20),
    st.integers(1, 3),
    st.sampled_from(["", ".gz", ".zst"]),
    st.randoms(use_true_random=False),
)
def test_shuffled_split_or_compressed_source_gives_the_same_lake(
    records: list[dict[str, Any]], parts: int, suffix: str, order: random.Random
) -> None:
    with folders() as (one, other):
        write_lines(one / "part0.jsonl", records)
        shuffled = order.sample(records, len(records))
        for number in range(parts):
            write_lines(other / f"part{number}.jsonl{suffix}", shuffled[number::parts])
        lakes = []
        for folder, file in ((one, "part*.jsonl"), (other, f"part*.jsonl{suffix}")):
            mapping = {"file": file, "columns": VQA, "human_ratings": RATING}
            lakes.append(ingest(write_suite(folder, mapping), folder))
        for table in EVERY:
            assert strip_places(rows(lakes[0], table)) == strip_places(rows(lakes[1], table))


def strip_places(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without the place of another row that a quarantined value names."""
    bare = [
        {
            name: re.sub(r" \(other row: .*\)$", "", str(value)) if name == "value" else value
            for name, value in row.items()
        }
        for row in found
    ]
    return sorted(bare, key=str)


IDS = {"item_id": "item_id"}
ITEM = {
    name: name
    for name in (
        "item_id",
        "task",
        "prompt",
        "references",
        "images",
        "regions",
        "category",
        "split",
        "cluster",
    )
}
ANSWER = {
    "item_id": "item_id",
    "answer_id": "answer_id",
    "answer": "text",
    "model": "model",
    "style": "style",
    "sample": "sample",
}


def export(lake: Lake, table: str, form: str, file: Path) -> None:
    """What `judgelake sql --format` writes: CSV as `csv-raw`, whose text is the lake's own."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", newline="")
    with redirect_stdout(out), open_warehouse(lake, lazy=True) as connection:
        run_sql(connection, f"explain from {table}", table)  # makes the view
        answer(connection, f"select * from {table}", "csv-raw" if form == "csv" else form)
    out.flush()
    file.write_bytes(raw.getvalue())


@SLOW
@example(
    [
        {
            "id": "\r6",
            "question": "a\rb",
            "answers": ["c\r"],
            "answer": "d\re",
            "model": "m",
            "rating": 5,
        }
    ],
    "csv",
)
@given(st.lists(RECORD, min_size=1, max_size=12), st.sampled_from(["parquet", "csv"]))
def test_exported_tables_come_back_as_they_were(records: list[dict[str, Any]], form: str) -> None:
    for record in records:
        record["question"] = record["question"] or "Why?"
        record["image"] = None if record["id"] == 1 else "http://a.example/b.jpg"
    with folders() as (one, other):
        write_lines(one / "a.jsonl", records)
        columns = {**VQA, "images": "image", "split": {"constant": "val"}}
        lake = ingest(
            write_suite(one, {"file": "a.jsonl", "columns": columns, "human_ratings": RATING}), one
        )
        for table in TABLES:
            export(lake, table, form, other / f"{table}.{form}")
        rating = {
            "rating": "rating",
            "criterion": {"from": "criterion"},
            "annotator": "annotator",
            "scale": [1, 5],
        }
        parts: list[dict[str, object]] = [
            {"file": f"items.{form}", "columns": ITEM},
            {"file": f"answers.{form}", "columns": ANSWER},
            {
                "file": f"human_ratings.{form}",
                "columns": {"item_id": "item_id", "answer_id": "answer_id"},
                "human_ratings": rating,
            },
        ]
        if form == "csv":
            parts[0]["json"] = ["references", "images", "regions"]
        back = ingest(write_suite(other, {"parts": parts}), other)
        for table in TABLES:
            before = [
                {name: value for name, value in row.items() if name != "n_repeats"}
                for row in rows(lake, table)
            ]
            assert [
                {name: value for name, value in row.items() if name != "n_repeats"}
                for row in rows(back, table)
            ] == before
        assert rows(back, "quarantine") == []


@settings(max_examples=20)
@given(
    st.lists(st.binary(max_size=30) | TEXT.map(str.encode), max_size=6),
    st.sampled_from(["csv", "tsv", "jsonl", "json"]),
)
def test_any_bytes_are_read_or_reported_or_refused_with_the_file(
    lines: list[bytes], form: str
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = {
            "csv": b"id,answer\n1,a",
            "tsv": b"id\tanswer\n1\ta",
            "jsonl": b'{"id": 1, "answer": "a"}',
            "json": b'[{"id": 1, "answer": "a"}]',
        }
        write_bytes(folder / f"d.{form}", b"\n".join([good[form], *lines]))
        try:
            frames = read(folder, file=f"d.{form}", columns={"item_id": "id", "answer": "answer"})
        except SourceError as error:
            refusal = str(error)
        else:
            refusal = ""
        if refusal:
            assert (form, refusal.startswith(name)) == ("json", True)
            return
        assert ("1", "a") in frames.answers.select("item_id", "text").rows()
        assert all(row.locator and row.reason and row.remedy for row in frames.rejected)


@settings(max_examples=20)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"id": st.text("ab\"'\n\r,\t ;", min_size=1).filter(str.strip), "answer": TEXT}
        ),
        min_size=1,
        max_size=5,
    )
)
def test_every_cell_that_csv_can_write_comes_back(records: list[dict[str, str]]) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(
        out, lineterminator="\n", quoting=csv.QUOTE_ALL
    )  # in 3.11 a \r alone is not quoted otherwise
    writer.writerows([["id", "answer"], *([row["id"], row["answer"]] for row in records)])
    with tempfile.TemporaryDirectory() as name:
        write_bytes(Path(name) / "d.csv", out.getvalue().encode())
        frames = read(Path(name), file="d.csv", columns={"item_id": "id", "answer": "answer"})
    assert frames.answers.select("item_id", "text").rows() == [
        (row["id"], row["answer"]) for row in records
    ]
    assert frames.rejected == ()


@settings(max_examples=20)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_numbers_keep_every_digit(numbers: list[float]) -> None:
    scale = {"scale": [-1.8e308, 1.8e308], "annotator": {"constant": "p"}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "n.jsonl").write_text(
            "".join(json.dumps({"id": n, "r": r}) + "\n" for n, r in enumerate(numbers))
        )
        pl.DataFrame({"id": range(len(numbers)), "r": numbers}).write_parquet(folder / "n.parquet")
        for form in ("jsonl", "parquet"):
            frames = read(
                folder,
                file=f"n.{form}",
                columns=IDS | {"item_id": "id"},
                human_ratings={"rating": "r", **scale},
            )
            assert frames.human_ratings["rating"].to_list() == numbers


@given(
    st.text(),
    st.lists(st.text(), max_size=4),
    st.text(st.characters(categories=["Cc", "Cs", "Lu", "Po"])),
)
def test_quick_content_digest_is_that_of_the_canonical_json(
    prompt: str, references: list[str], text: str
) -> None:
    assert (
        content_digest(prompt, references, text)
        == digest_json([prompt, sorted(references), text])[:16]
    )
