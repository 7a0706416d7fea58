"""Values as cells of text: CSV and Markdown, the same for what `judgelake sql` prints and what a report exports."""

import json
import math
from collections.abc import Sequence


def plain_cell(value: object) -> object:
    """A cell as text a spreadsheet can hold: nothing for null, nested values as JSON."""
    if value is None:
        return ""
    return json.dumps(keep_finite(value), ensure_ascii=False, default=str) if isinstance(value, list | dict | tuple) else value


def keep_finite(value: object) -> object:
    """A value that JSON can hold: what is not a finite number is null, keys are text."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case list() | tuple():
            return [keep_finite(part) for part in value]
        case dict():
            return {str(key): keep_finite(part) for key, part in value.items()}
    return value


def markdown_line(cells: Sequence[object]) -> str:
    """One row of a Markdown table, whatever its cells hold."""
    escaped = (str(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(' '.join(cell.splitlines()) for cell in escaped)} |\n"
