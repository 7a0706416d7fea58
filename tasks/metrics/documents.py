"""Files of documents that metrics count in before they score (CIDEr its n-grams). What is counted
is each metric's own file.

A document is a list of texts, the references of one thing. Formats: COCO's captions
(`{"annotations": [{"image_id", "caption"}]}`, a document an image), JSON Lines of lists of texts,
or Parquet with a column `references` of lists of texts.
"""

import functools
from collections.abc import Iterator
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from judgelake.tasks.digests import file_digest
from judgelake.tasks.errors import MetricError

_EXPECTED = (
    "expected COCO captions (.json), lists of texts (.jsonl) or a column `references` "
    "of such lists (.parquet)"
)
_DOCUMENTS = pa.list_(pa.string())


def digest_documents(file: Path) -> str:
    """Sha256 (hex) of the file; raises MetricError where it cannot be read."""
    try:
        state = file.stat()
        return _digest(file, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise MetricError(
            f"{file}: cannot be read ({error.strerror}); {_EXPECTED}; correct `df`"
        ) from None


def read_documents(file: Path) -> pa.ListArray:
    """The texts of each document; raises MetricError with the place of any other content."""
    try:
        if file.suffix == ".parquet":
            return (
                pq.read_table(file, columns=["references"])["references"]
                .combine_chunks()
                .cast(_DOCUMENTS)
            )
        documents = list(_read_lines(file) if file.suffix == ".jsonl" else _read_coco(file))
    except (OSError, ValueError) as error:  # JSON's and Arrow's errors are ValueErrors
        raise MetricError(f"{file}: {error}; {_EXPECTED}; correct the file or `df`") from None
    return pa.array(documents, _DOCUMENTS)


@functools.cache
def _digest(file: Path, _modified_ns: int, _size: int) -> str:
    return file_digest(file)


def _read_lines(file: Path) -> Iterator[list[str]]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            texts = orjson.loads(line)
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"line {number} is no list of texts")
            yield texts


def _read_coco(file: Path) -> Iterator[list[str]]:
    captions: dict[object, list[str]] = {}
    content = orjson.loads(file.read_bytes())
    rows = content.get("annotations") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise ValueError("it has no list `annotations`")
    for number, row in enumerate(rows):
        if (
            not isinstance(row, dict)
            or "image_id" not in row
            or not isinstance(row.get("caption"), str)
        ):
            raise ValueError(f"annotations[{number}] has no image_id and caption")
        captions.setdefault(row["image_id"], []).append(row["caption"])
    yield from captions.values()
