"""Takes keys out of what is about to be shown or logged: a second wall. The first is that keys never come near such text."""

import os
import re

_NAMES = re.compile(r"(KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$")
_SHAPES = re.compile(r"\bsk-[A-Za-z0-9_-]{16,}|\bAKIA[A-Z0-9]{16}\b|(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}")
_SHORTEST = 8
_MARK = "[key]"


def redact(text: str) -> str:
    """`text` without what looks like a key, and without the value of any environment variable that is named like one."""
    for value in sorted(_list_secrets(), key=len, reverse=True):
        text = text.replace(value, _MARK)
    return _SHAPES.sub(_MARK, text)


def _list_secrets() -> set[str]:
    """Values shorter than eight characters are left alone: `x` or `test` would take words out of every sentence."""
    return {value for name, value in os.environ.items() if _NAMES.search(name) and len(value) >= _SHORTEST}
