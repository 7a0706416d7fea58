"""Files of documents: what is read, and what is refused."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics.documents import digest_documents, read_documents

DOCUMENTS = [["a cat", "one cat"], [], ["犬"]]


def test_three_formats_hold_the_same(tmp_path: Path) -> None:
    lines, table, coco = tmp_path / "a.jsonl", tmp_path / "a.parquet", tmp_path / "a.json"
    lines.write_text("\n".join(json.dumps(texts) for texts in DOCUMENTS) + "\n")
    pl.DataFrame({"references": DOCUMENTS, "other": [1, 2, 3]}).write_parquet(table)
    captions = [(7, "a cat"), (3, "犬"), (7, "one cat")]
    coco.write_text(
        json.dumps(
            {"annotations": [{"image_id": image, "caption": text} for image, text in captions]}
        )
    )
    assert read_documents(lines).to_pylist() == read_documents(table).to_pylist() == DOCUMENTS
    assert read_documents(coco).to_pylist() == [["a cat", "one cat"], ["犬"]]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '["a"]\n{"a": 1}\n', "line 2 is no list of texts"),
        ("a.jsonl", '["a", 1]\n', "line 1 is no list of texts"),
        ("a.jsonl", "[", ""),
        ("a.json", "[]", "it has no list `annotations`"),
        (
            "a.json",
            '{"annotations": [{"image_id": 1}]}',
            r"annotations\[0\] has no image_id and caption",
        ),
        ("a.parquet", "no Parquet", ""),
    ],
)
def test_other_content_is_refused_with_its_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(
        MetricError, match=rf"{name}: .*{message}.*expected COCO captions.*correct the file or `df`"
    ):
        read_documents(tmp_path / name)


def test_a_column_of_other_values_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"texts": DOCUMENTS}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(MetricError, match="expected COCO captions"):
        read_documents(tmp_path / "a.parquet")


def test_a_digest_names_the_content(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('["a"]\n')
    first = digest_documents(file)
    file.write_text('["b"]\n')
    os.utime(file, ns=(1, 1))
    assert digest_documents(file) != first
    file.write_text('["a"]\n')
    assert digest_documents(file) == first
    with pytest.raises(
        MetricError,
        match=r"gone.jsonl: cannot be read \(No such file or directory\); expected COCO",
    ):
        digest_documents(tmp_path / "gone.jsonl")
