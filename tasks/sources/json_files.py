"""Reading JSON inputs with errors that name the file and the place. What the records mean is each source's own matter."""

from pathlib import Path
from typing import Any

import orjson

from tasks.errors import SourceError


def read_json(file: Path) -> Any:
    """Parse one JSON file; raises SourceError with line and column where it is absent, truncated or not JSON."""
    try:
        return orjson.loads(file.read_bytes())
    except OSError as error:
        raise SourceError(
            f"{file}: cannot be read ({error.strerror}); expected a JSON file; check the path in the suite"
        ) from None
    except orjson.JSONDecodeError as error:
        raise SourceError(
            f"{file}:{error.lineno}:{error.colno}: is not valid JSON ({error.msg}); expected a whole UTF-8 JSON file; fetch it again"
        ) from None


def read_records(file: Path, *keys: str) -> list[Any]:
    """The list of records in a JSON file: the file's own list, or the list under the first of `keys` it has."""
    content = read_json(file)
    if isinstance(content, dict):
        content = next((content[key] for key in keys if key in content), None)
    if not isinstance(content, list):
        wanted = " or ".join(repr(key) for key in keys)
        raise SourceError(
            f"{file}: holds no list of records; expected a list, or one under {wanted}; check that it is the right file"
        )
    return content
