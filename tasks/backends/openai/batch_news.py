"""How a batch stands, as its provider says it. The openai package checks no type of what it reads,
so that is done here.
"""

from typing import NamedTuple

from openai.types import Batch as ProviderBatch

from judgelake.tasks.backends.base import make_reason

ODD = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What the package, or a reader here, raises over an answer of another form."""


class BatchNews(NamedTuple):
    """How a batch stands at the provider; `code` and `reason` say why it failed as a whole."""

    status: str
    output_file: str | None
    error_file: str | None
    code: str | None
    reason: str | None


def read_news(batch: ProviderBatch, key: str) -> BatchNews:
    """How the provider says that a batch stands; raises TypeError where a field is of another type.
    Errors of another form give no reason, since the batch has ended all the same.
    """
    listed = getattr(batch.errors, "data", None)
    errors = listed if isinstance(listed, list) else []
    messages, codes = (
        [said for error in errors if isinstance(said := getattr(error, name, None), str) and said]
        for name in ("message", "code")
    )
    words = "; ".join(dict.fromkeys(messages))
    output, errors_file = batch.output_file_id, batch.error_file_id
    return BatchNews(
        status=read_text(batch.status),
        output_file=None if output is None else read_text(output),
        error_file=None if errors_file is None else read_text(errors_file),
        code=codes[0] if codes else None,
        reason=make_reason(words, key) if words else None,
    )


def read_text(value: object) -> str:
    """A value of an answer that must be a text; raises TypeError."""
    if not isinstance(value, str):
        raise TypeError("expected a text")
    return value
