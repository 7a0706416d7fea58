"""What a plain table of the page is: a view, its columns, how many rows are shown. The tables themselves are `sections`."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["key", "count", "number", "percent", "code"]
ROWS_SHOWN = 400


@dataclass(frozen=True)
class Column:
    """One column: a field of the view, its heading, and how it is shown. `interval` names the fields of its interval's ends."""

    field: str
    heading: str
    kind: Kind = "key"
    interval: tuple[str, str] | None = None


@dataclass(frozen=True)
class Section:
    """One table of the page; `where` keeps some rows of the view, `nothing` is said where it has none (None: the section is left out).

    `benchmarks`: the list of those that a row of the view is about.
    """

    name: str
    title: str
    view: str
    caption: str
    columns: tuple[Column, ...]
    nothing: str | None = None
    where: str = "true"
    benchmarks: str = "[benchmark]"

    @property
    def query(self) -> str:
        """The rows of the chosen benchmarks, one more than are shown."""
        chosen = f"($benchmarks::varchar[] is null or list_has_any($benchmarks::varchar[], {self.benchmarks}))"
        fields = ", ".join(dict.fromkeys(field for column in self.columns for field in (column.field, *(column.interval or ()))))
        keys = ", ".join(column.field for column in self.columns if column.kind == "key")
        return f"select {fields} from {self.view} where {chosen} and {self.where} order by {keys} limit {ROWS_SHOWN + 1}"
