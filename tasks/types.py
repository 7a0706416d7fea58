"""The values that judges, the engine and backends exchange: cases, requests, replies, verdicts.

Values only. How a request travels lives in `tasks.backends`, how judges are driven in
`tasks.engine.engine`.
"""

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Status = Literal[
    "ok", "unparsed", "refused", "truncated", "filtered", "failed", "missing_image", "rejected"
]
"""Why a verdict has, or lacks, a score. Only `ok` has one. `rejected`: what a collector generated
can be read, and is not good enough to be kept.
"""

Choice = Literal["a", "b", "tie"]

Role = Literal["system", "user", "assistant"]

JUDGE = "judge"
"""The endpoint of a judge's own model; a protocol may name others (`extractor`, `vlm`)."""

Models = Mapping[str, str]
"""Endpoint name -> requested model, `JUDGE` always among them."""


class Box(NamedTuple):
    """A region in pixels of the original image, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Image:
    """An image as the lake names it; `boxes` are drawn in red when it is sent. `sha256` is None for
    a URL and for what is not there.
    """

    uri: str
    sha256: str | None
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; its images are encoded only when the request is sent, and stand
    before the text.
    """

    role: Role
    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a reply is drawn. `top_logprobs` 0 asks for none; `None` leaves a setting to the
    endpoint.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 512
    top_logprobs: int = 0
    seed: int | None = None


AnswerForm = Literal["free", "forced", "structured", "auto"]
"""How a judge's answer is asked for; what each does is in `tasks.judging.answer_form`."""


class Answer(NamedTuple):
    """How a reply ends: after `opening` with one of `labels`, none of which begins another one.

    `name` is the answer's field where it comes as JSON, `explained` the field of the text before
    it, '' where there is none. `marked`: the reader looks for the opening as well.
    """

    opening: str
    labels: tuple[str, ...]
    name: str
    explained: str = ""
    marked: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model. Requests with the same digest and draw have the same reply.

    `endpoint` names which of a judge's models it goes to. With `scored` nothing is generated: the
    reply holds the log-probability of each token of that text, which follows the messages.
    `answer`: what the reply ends with, of which a `free` reply is not made to take account. Of a
    `forced` one `answer.opening` is written for the model: the reply's text is the label alone,
    and its only position has the log-probability of each label. A `structured` one is JSON.
    """

    model: str
    messages: tuple[Message, ...]
    decoding: Decoding = field(default_factory=Decoding)
    draw: int = 0
    endpoint: str = JUDGE
    scored: str = ""
    answer: Answer | None = None
    form: AnswerForm = "free"

    @property
    def most_tokens(self) -> int:
        """The most tokens of its reply."""
        return 0 if self.scored or self.form == "forced" else self.decoding.max_tokens


TokenLogprobs = tuple[tuple[str, float], ...]
"""The alternatives at one position: (token, natural log-probability), the chosen one among them."""


REPEATS = "repeats"
"""The finish reason of a reply that repeated itself, and was ended for it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. `top_logprobs` has one entry a position, empty where none were given.

    `cached_tokens` are those of `prompt_tokens` that the provider took from its cache. `adapted`:
    what the request had to do without.
    """

    text: str
    finish_reason: str = "stop"
    top_logprobs: tuple[TokenLogprobs, ...] = ()
    resolved_model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float | None = None
    refusal: str | None = None
    cached_tokens: int | None = None
    adapted: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """No reply came. `reason` is one line that a person can act on; it never holds a key or a
    header.

    `is_final`: the key or the model is wrong, so that no other request would fare better.
    """

    reason: str
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Pending:
    """The reply will come in a later run (a batch at the provider)."""

    handle: str


UNASKED = Pending("unasked")
"""The request was not sent, and is not waited for."""
QUEUED = Pending("queued")
"""The request goes to the provider when the shard ends."""


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is judged, and what each level means, the lowest first."""

    criterion: str
    levels: tuple[str, ...]


class Vote(NamedTuple):
    """What a member of a jury concluded on a case: the scores (0-1) of its samples that have one;
    of a pair the shares of the win that b gets. `status` says why there is none (`not asked` where
    there is no verdict). `weight`: learnt on people's labels.
    """

    judge: str
    status: str
    scores: tuple[float, ...]
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to be judged: an answer's content (or a pair of them, or an image), one sample.

    `references` is a multiset: duplicates count. `context_digest` covers what only some judges see
    (caption, images, rubric); '' without any. `criteria` are those that the verdicts are about,
    `criterion` the first of them. Of a pair, `answer` is a and `other_answer` b, `shown_first` says
    which the judge is shown first. `feedbacks` are two judges' texts on one answer, `votes` what
    the members of a jury concluded.
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
    criteria: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    rubric: Rubric | None = None
    other_answer: str | None = None
    other_digest: str = ""
    shown_first: str = ""
    feedbacks: tuple[str, ...] = ()
    votes: tuple[Vote, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge concluded. `rating` is on the judge's own scale, `score_0_1` its linear map;
    both None unless `ok`.

    On a pair: `choice`, and `preference_b`, the share of the win that b gets (by default 0, 0.5 or
    1); `score_a`, `score_b` where the judge scores both. `text`: the caption of an image, or the
    answer to an item. `made`: further columns of the table of a collector or an answerer.
    `criterion` is the case's unless it is given.
    """

    status: Status
    rating: float | None = None
    score_0_1: float | None = None
    rationale: str | None = None
    reason: str | None = None
    probabilities: Mapping[str, float] | None = None
    captured_mass: float | None = None
    criterion: str | None = None
    choice: Choice | None = None
    preference_b: float | None = None
    score_a: float | None = None
    score_b: float | None = None
    text: str | None = None
    made: Mapping[str, object] | None = None


Judge = Generator[list[Request], list[Reply | Failure], list[Verdict]]
"""A running protocol: yields requests, is sent as many replies, returns verdicts. Does no I/O."""


ImageMode = Literal[True, "absent", "swapped"]
"""`swapped` shows a seeded other image of the benchmark: a control for how much a verdict depends
on looking.
"""

Unit = Literal[
    "answer",
    "pair",
    "item",
    "image",
    "feedback",
    "rubrics",
    "instructions",
    "responses",
    "augmentation",
]
Matchups = Literal["all", "human", "reference"] | int


class Seat(NamedTuple):
    """A member of a jury: `criteria` are those of its own that count for each of the jury's."""

    alias: str
    judge_id: str
    reading: str
    criteria: tuple[str, ...]


@dataclass(frozen=True)
class Wants:
    """The cases of one judge.

    `unit`: one case an answer's content, a pair of them, an item (which is to be answered), an
    image, or a pair of other judges' feedbacks (`feedback_of`) on an answer. `criteria`: a case for
    each group; its verdicts are about the criteria of the group. `captioner`: whose caption of the
    image is shown (a data set's, or the alias of a captioning judge). `rubrics`: one case for each
    rubric of the item. `matchups` of pairs: all, those that people compared, each answer against
    the item's reference, or a number of them an item, drawn once by `seed` and balanced over
    models. `both_orders` False: each pair in one order, by `seed`. `failures`: only answers on
    which people and string matching differ (`missed` and `reverse` in `core_failure_cases`), which
    are known once the metrics are there.
    `seats`: the members of a jury, whose cases are its own where at least `quorum` of them judge
    them; it `learns` weights for them.

    A collector of feedback makes `rubrics` of an image, `instructions` of a rubric or `responses`
    to an instruction. The last two are of what the collector `built_on` (judge_id, reading) made;
    a rubric whose ROUGE-L with another one, or with one of the `examples`, is `most_similar` or
    more makes no instructions. An `augmentation` is a rubric, and a reference answer, for an item.
    """

    tasks: tuple[str, ...]
    unit: Unit = "answer"
    criteria: tuple[tuple[str, ...], ...] = (("correctness",),)
    samples: int = 1
    captioner: str = ""
    image: ImageMode = "absent"
    regions: bool = False
    rubrics: bool = False
    styles: tuple[str, ...] = ()
    matchups: Matchups = "all"
    both_orders: bool = True
    feedback_of: tuple[str, ...] = ()
    failures: bool = False
    seed: int = 0
    seats: tuple[Seat, ...] = ()
    quorum: int = 0
    learns: bool = False
    built_on: tuple[str, str] = ("", "")
    most_similar: float = 1.0
    examples: tuple[str, ...] = ()


TABLE_OF: dict[Unit, str] = {
    "answer": "verdicts",
    "pair": "duels",
    "feedback": "duels",
    "image": "generated_captions",
    "item": "generated_answers",
    "rubrics": "collected_rubrics",
    "instructions": "collected_instructions",
    "responses": "collected_responses",
    "augmentation": "augmented_items",
}
"""Unit -> the lake's table of what the judge concluded."""

COLLECTED: tuple[Unit, ...] = ("rubrics", "instructions", "responses", "augmentation")
"""The units of collectors, in their order."""


def is_remote(uri: str) -> bool:
    """Whether a URI is a URL (`https://`, `s3://`, `data:image/...`) and not a path under the image
    folder.
    """
    return _REMOTE.match(uri) is not None


# a scheme with `//` after it, or a data URI of an image; `file:` is a local path
_REMOTE = re.compile(r"(?i)(?!file:)[a-z][a-z0-9+.-]*:(?://|image/)")


@dataclass(frozen=True)
class Identity:
    """What the lake calls a judge or metric, and what cases it wants of which benchmarks."""

    kind: str
    alias: str
    judge_id: str
    reading: str
    call_signature: str
    reading_signature: str
    benchmarks: tuple[str, ...]
    wants: Wants

    @property
    def tasks(self) -> tuple[str, ...]:
        """The item tasks it is for."""
        return self.wants.tasks
