"""One part file by itself: whether its bytes are those its name promises, and its columns those of its table. Nothing here changes one."""

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from schemas.tables import Table

_BLOCK = 1024**2


def has_own_digest(opened: BinaryIO, digest: str) -> bool:
    """Whether a file's content has the sha256 that the file is named by."""
    opened.seek(0)
    found = hashlib.sha256()
    while block := opened.read(_BLOCK):
        found.update(block)
    return found.hexdigest() == digest


def list_schema_faults(table: Table, schema: pa.Schema) -> Iterator[str]:
    """What is wrong with a file's columns; one that the contract lets be null may lack, since columns are added over time."""
    columns, expected = table.model.to_schema().columns, table.arrow_schema
    for part in expected:
        if part.name not in schema.names:
            if not columns[part.name].nullable:
                yield f"the column {part.name} is missing"
        elif not schema.field(part.name).type.equals(part.type):
            yield f"the column {part.name} is of type {schema.field(part.name).type}, not {part.type}"
    for name in schema.names:
        if name not in expected.names:
            yield f"the column {name} is unknown"
