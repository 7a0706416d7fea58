"""The words that judges, the engine and backends speak: cases, requests, replies, verdicts.

Values only. How a request travels lives in `tasks.backends`, how judges are driven in `tasks.judging.engine`.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["ok", "unparsed", "refused", "truncated", "filtered", "failed", "missing_image"]
"""Why a verdict has, or lacks, a score. Only `ok` has one."""

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; `images` are URIs, encoded only when the request is sent."""

    role: Role
    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a reply is drawn. `top_logprobs` 0 asks for none; `None` leaves a setting to the endpoint."""

    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 512
    top_logprobs: int = 0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model. Requests with the same digest and draw have the same reply."""

    model: str
    messages: tuple[Message, ...]
    decoding: Decoding = field(default_factory=Decoding)
    draw: int = 0


TokenLogprobs = tuple[tuple[str, float], ...]
"""The alternatives at one position: (token, natural log-probability), the chosen one among them."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. `top_logprobs` has one entry a position, empty where none were given."""

    text: str
    finish_reason: str = "stop"
    top_logprobs: tuple[TokenLogprobs, ...] = ()
    resolved_model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """No reply came. `reason` is one line that a person can act on; it never holds a key or a header."""

    reason: str


@dataclass(frozen=True, slots=True)
class Pending:
    """The reply will come in a later run (a batch at the provider)."""

    handle: str


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to be judged: an answer's content under one criterion, one sample.

    `references` is a multiset: duplicates count. `context_digest` covers what only some judges see (a caption); '' without any.
    """

    benchmark: str
    item_id: str
    task: str
    prompt: str
    references: tuple[str, ...]
    answer: str
    content_digest: str
    context_digest: str = ""
    criterion: str = "correctness"
    sample: int = 0
    caption: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge concluded. `rating` is on the judge's own scale, `score_0_1` its linear map; both None unless `ok`."""

    status: Status
    rating: float | None = None
    score_0_1: float | None = None
    rationale: str | None = None
    reason: str | None = None
    probabilities: Mapping[str, float] | None = None
    captured_mass: float | None = None


Judge = Generator[list[Request], list[Reply | Failure], list[Verdict]]
"""A running protocol: yields requests, is sent as many replies, returns verdicts. Does no I/O."""
