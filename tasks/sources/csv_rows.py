"""CSV files with a header as rows by column name, for sources whose columns are known. Files that a suite maps are `table`'s."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tasks.errors import SourceError
from tasks.sources.delimited import read_cells
from tasks.sources.line_files import Rejects


class CsvRow(NamedTuple):
    """One row and the line it begins at."""

    place: tuple[str, str]
    cells: dict[str, str]


def read_csv_rows(file: Path, needed: tuple[str, ...], table: str, rejects: Rejects) -> Iterator[CsvRow]:
    """The rows of a comma-separated file; one that does not fit the header is told. Raises SourceError where a column is missing."""

    def tell(locator: str, column: str | None, value: str | None, reason: str, remedy: str) -> None:
        rejects.add(table, (file.name, locator), column, value, reason, remedy)

    rows = read_cells(file, ",", True, "utf-8", tell)
    header = next((row.cells for row in rows), [])
    missing = [name for name in needed if name not in header]
    if missing:
        raise SourceError(
            f"{file}:1: the header lacks {', '.join(map(repr, missing))}; it has {', '.join(map(repr, header)) or 'no columns'}; "
            f"expected {', '.join(map(repr, needed))}; check that it is the right file"
        )
    for line, cells in rows:
        place = (file.name, f"line {line}")
        if len(cells) == len(header):
            yield CsvRow(place, dict(zip(header, cells, strict=True)))
        else:
            rejects.add(table, place, None, ",".join(cells), f"the row has {len(cells)} cells, the header {len(header)} columns")
