"""The rows behind the numbers, for the page's own search: every verdict with its question, answers,
people's scores, replies and token probabilities.

An index of all rows (names, scores, the first characters of texts) is read when somebody looks for
rows, and the rest by chunks of cases, when a case is opened. Both are gzipped JSON: in base64
inside the page where they are small, else in scripts beside it, since a page opened from disk may
load scripts but may not fetch. The scripts are UTF-16 and hold 15 bits a character, a fifth less
than base64. Texts of models and data are only ever data here: `rows.js` shows them as text.
"""

import base64
import gzip
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from judgelake.tasks.lake.storage import replacement
from judgelake.tasks.reports.page.failure_facets import Record, Select, list_failures
from judgelake.tasks.reports.page.prompts import (
    MOST_REPLIES,
    PromptIndex,
    Rebuild,
    Template,
    find_prompts,
)
from judgelake.tasks.reports.page.thumbnails import FOLDER, Encode, write_thumbnails

MOST_ROWS = 100_000
INLINE_BYTES = 3_000_000
"""Characters of base64 up to which all rows stand inside the page."""
CASES_PER_CHUNK = 100
_PREVIEW = 160
_POSITIONS_SHOWN, _TOKENS_SHOWN = 16, 6

# The rows on which a judge is furthest from people come first, then those without a score. Where
# people rated something, other answers are left out: there are millions of them in some lakes.
_SCORES = """
with people as (
    select item_id, answer_id, criterion, score_0_1 as score from core_human
    where benchmark = $benchmark and score_0_1 is not null
    qualify row_number() over (
        partition by item_id, answer_id, criterion order by human_rule <> 'mean', human_rule
    ) = 1
),
people_overall as (
    select item_id, answer_id, round(avg(score), 12) as score from people group by all
),
compares as (
    select count(*) > 0 as with_people
    from core_scores semi join people_overall using (item_id, answer_id)
    where benchmark = $benchmark
),
wanted as (
    select item_id, answer_id from people_overall where (select with_people from compares)
    union all
    select item_id, answer_id from core_answers
    where benchmark = $benchmark and not (select with_people from compares)
),
readings as (
    select coalesce(alias, judge) as alias, count(distinct reading) as n_readings
    from core_scores where benchmark = $benchmark group by all
),
found as (
    select scores.*,
        coalesce(people.score, people_overall.score) as people,
        readings.alias as alias_of, readings.n_readings
    from core_scores as scores semi join wanted using (item_id, answer_id)
    inner join readings on coalesce(scores.alias, scores.judge) = readings.alias
    left join people using (item_id, answer_id, criterion)
    left join people_overall using (item_id, answer_id)
    where scores.benchmark = $benchmark
    order by
        round(abs(scores.score_0_1 - coalesce(people.score, people_overall.score)), 12)
            desc nulls first,
        item_id, answer_id, criterion
    limit $n
)
select found.item_id, found.answer_id as answer_a, null as answer_b,
    found.model as model_a, null as model_b, found.criterion, found.sample, found.status,
    case when found.status = 'ok' then found.score_0_1 end as score, found.people,
    found.rating::varchar as rating, left(found.rationale, 4000) as rationale,
    left(found.reason, 1000) as reason,
    case when n_readings > 1 then alias_of || ' / ' || found.reading else alias_of end as judge,
    found.judge_id, found.reading, answers.content_digest, null as other_digest, null as shown
from found
left join core_answers as answers
    on answers.benchmark = $benchmark and answers.item_id = found.item_id
    and answers.answer_id = found.answer_id
order by found.item_id, answer_a, judge, criterion, found.sample
"""
_DUELS = """
with people as (
    select item_id, answer_a, answer_b, criterion, avg(preference_b) as preference_b
    from core_choices
    where benchmark = $benchmark and rater like 'human:%' and preference_b is not null
    group by all
),
replies as (
    select judge, item_id, criterion, sample, text, reason,
        least(answer_a, answer_b) as answer_a, greatest(answer_a, answer_b) as answer_b,
        case when answer_a < answer_b or shown_first is null then shown_first
            when shown_first = 'a' then 'b' else 'a' end as shown_first
    from stg_recorded_duels where benchmark = $benchmark
),
recorded as (
    select choices.* exclude (rater, cluster, choice), choices.rater as judge, null as judge_id,
        null as reading, left(replies.text, 20000) as rationale, replies.reason
    from core_ordered_choices as choices
    inner join replies
        on choices.rater = replies.judge and choices.item_id = replies.item_id
        and choices.answer_a = replies.answer_a and choices.answer_b = replies.answer_b
        and choices.criterion = replies.criterion and choices.sample = replies.sample
        and choices.shown_first is not distinct from replies.shown_first
    where choices.benchmark = $benchmark
),
duels as (
    select * from core_duels where benchmark = $benchmark
    union all by name
    select * from recorded
),
found as (
    select duels.*, people.preference_b as people
    from duels
    left join people using (item_id, answer_a, answer_b, criterion)
    order by abs(duels.preference_b - people.preference_b) desc nulls first, item_id, answer_a,
        answer_b, criterion
    limit $n
)
select found.item_id, answer_a, answer_b, model_a, model_b, criterion, found.sample, status,
    case when status = 'ok' then preference_b end as score, people,
    shown_first || ' shown first' as rating, left(rationale, 4000) as rationale,
    left(reason, 1000) as reason, judge, judge_id, reading,
    a.content_digest, b.content_digest as other_digest,
    if(shown_first = 'b', b.content_digest, a.content_digest) as shown
from found
left join core_answers as a on a.benchmark = $benchmark and a.item_id = found.item_id
    and a.answer_id = found.answer_a
left join core_answers as b on b.benchmark = $benchmark and b.item_id = found.item_id
    and b.answer_id = found.answer_b
order by found.item_id, answer_a, answer_b, judge, criterion, found.sample, shown_first
"""
_ANSWERS = """
select item_id, answer_id, category, left(prompt, 20000) as prompt, "references",
    left(text, 20000) as text, images[1].uri as image, images[1].sha256 as sha256
from core_answers where benchmark = $benchmark
    and item_id in (select unnest($items::varchar[]))
"""
_REPLIES = """
with used as (
    select judge_id, reading, item_id, content_digest, null as other_digest, null as shown,
        criterion, sample, reply_digests
    from stg_verdicts where benchmark = $benchmark
    union all
    select judge_id, reading, item_id, content_digest, other_digest,
        if(shown_first = 'b', other_digest, content_digest) as shown, criterion, sample,
        reply_digests
    from stg_duels where benchmark = $benchmark
),
asked as (
    select used.* exclude (reply_digests), unnest(reply_digests) as request_digest,
        generate_subscripts(reply_digests, 1) as place
    from used where item_id in (select unnest($items::varchar[]))
)
select asked.judge_id, reading, item_id, content_digest, other_digest, shown, criterion, sample,
    list({
        text: left(replies.text, 6000), logprobs: replies.top_logprobs[:16],
        usd: replies.cost_usd, model: replies.resolved_model, finish: replies.finish_reason,
        digest: asked.request_digest
    } order by place) as replies
from asked
inner join stg_replies as replies
    on asked.judge_id = replies.judge_id and asked.request_digest = replies.request_digest
    and replies.draw = asked.sample
group by all
"""
N_ROWS = """
select (select count(*) from core_scores where benchmark = $benchmark)
    + (select count(*) from core_duels where benchmark = $benchmark)
    + (select count(*) from stg_recorded_duels where benchmark = $benchmark) as n
"""


@dataclass(frozen=True, slots=True)
class PageRows:
    """What the page holds of the rows: `index` and `chunks` are gzipped JSON in base64, and empty
    where they lie beside the page, as `rows/index.js` and `rows/<number>.js`. `judges`: whose
    rows there are.
    """

    judges: frozenset[str]
    n_rows: int
    n_all: int
    index: str
    chunks: tuple[str, ...]
    n_chunks: int


@dataclass(slots=True)
class _Names:
    """Names by number, in the order in which they are met."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, name: str | None) -> int:
        return -1 if name is None else self.numbers.setdefault(name, len(self.numbers))


@dataclass(slots=True)
class _Collected:
    """The index and the details of all cases, being filled benchmark by benchmark."""

    names: dict[str, _Names] = field(
        default_factory=lambda: {
            kind: _Names()
            for kind in (
                *("benchmark", "model", "judge", "criterion", "category", "status"),
                *("replier", "finish", "failure"),
            )
        }
    )
    cases: list[list[Any]] = field(default_factory=list)
    rows: dict[str, list[int]] = field(
        default_factory=lambda: {
            kind: [] for kind in ("case", "judge", "criterion", "status", "score", "people")
        }
    )
    details: list[dict[str, Any]] = field(default_factory=list)
    failures: dict[int, list[int]] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    prompts: PromptIndex = field(default_factory=PromptIndex)


def collect_rows(
    select: Select,
    benchmarks: Sequence[str],
    short: Mapping[str, str],
    folder: Path,
    encode: Encode | None = None,
    rebuild: Rebuild | None = None,
) -> PageRows | None:
    """The rows of `benchmarks`, at most `MOST_ROWS`, with thumbnails and, where they are many,
    chunks written into `folder`/rows; None where there are none. `encode`: an image's URI and
    sha256 -> its data URL; `short`: names of metrics; `rebuild`: finds the prompts of replies.
    """
    collected = _Collected()
    n_all = 0
    for benchmark in benchmarks:
        chosen = {"benchmark": benchmark, "n": MOST_ROWS // len(benchmarks)}
        n_all += select(N_ROWS, {"benchmark": benchmark})[0]["n"]
        rows = [*select(_SCORES, chosen), *select(_DUELS, chosen)]
        if rows:
            wanted = {"benchmark": benchmark, "items": sorted({row["item_id"] for row in rows})}
            answers = {(r["item_id"], r["answer_id"]): r for r in select(_ANSWERS, wanted)}
            stored = {_reply_key(r): r["replies"] for r in select(_REPLIES, wanted)}
            replies = [stored.get(_reply_key(row), ()) for row in rows]
            prompts = find_prompts(
                rebuild, benchmark, rows, replies, answers, MOST_REPLIES // len(benchmarks)
            )
            start = len(collected.cases)
            _add_benchmark(collected, benchmark, rows, answers, replies, prompts, short)
            _add_failures(collected, start, list_failures(select, benchmark))
    if not collected.cases:
        return None
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    thumbnails = write_thumbnails(collected.images, place, encode)
    for detail in collected.details:
        detail["image"] = thumbnails.get(detail.pop("sha256"))
    return _pack(collected, n_all, place)


def link_rows(
    page_rows: PageRows | None,
    benchmark: str,
    judge: str | None,
    model: str | None = None,
    criterion: str | None = None,
) -> str:
    """The address within the page of the rows behind a number, '' where it has none of them; `*`
    and None are all.
    """
    if page_rows is None or (judge is not None and judge not in page_rows.judges):
        return ""
    chosen = {"benchmark": benchmark, "judge": judge, "model": model, "criterion": criterion}
    kept = {name: value for name, value in chosen.items() if value not in (None, "*")}
    return f"#rows?{urlencode(kept)}"


def link_mark(
    page_rows: PageRows | None,
    benchmark: str,
    judge: str | None,
    model: str | None = None,
    criterion: str | None = None,
) -> str:
    """`link_rows` as a figure takes it: the filter alone."""
    return link_rows(page_rows, benchmark, judge, model, criterion).removeprefix("#rows?")


def link_record(page_rows: PageRows | None, short: Mapping[str, str], record: Record) -> str:
    """`link_rows` of a row of a report view: by its benchmark, judge, model and criterion."""
    fields = ("judge", "metric", "judge_a", "rater")
    judge = next((record[name] for name in fields if record.get(name)), None)
    benchmark = record.get("benchmark")
    if judge is None or benchmark in (None, "*"):
        return ""
    criterion = record.get("criterion") or record.get("judge_criterion")
    return link_rows(
        page_rows, str(benchmark), short.get(judge, judge), record.get("model"), criterion
    )


def _add_benchmark(
    collected: _Collected,
    benchmark: str,
    found: Iterable[Record],
    answers: Mapping[tuple[str, str], Record],
    replies: Sequence[Sequence[Record]],
    prompts: Sequence[Sequence[Template | str | None]],
    short: Mapping[str, str],
) -> None:
    names = {kind: known.number for kind, known in collected.names.items()}
    key: tuple[Any, ...] | None = None
    for row, asked, sent in zip(found, replies, prompts, strict=True):
        if (row["item_id"], row["answer_a"], row["answer_b"]) != key:
            key = (row["item_id"], row["answer_a"], row["answer_b"])
            _add_case(collected, benchmark, row, answers)
        judge = short.get(row["judge"], row["judge"])
        rows = collected.rows
        rows["case"].append(len(collected.cases) - 1)
        rows["judge"].append(names["judge"](judge))
        rows["criterion"].append(names["criterion"](row["criterion"]))
        rows["status"].append(names["status"](row["status"]))
        rows["score"].append(_per_mille(row["score"]))
        rows["people"].append(_per_mille(row["people"]))
        said = any(row["rationale"] in (reply["text"] or "") for reply in asked if row["rationale"])
        collected.details[-1]["verdicts"].append(
            [
                row["sample"],
                row["rating"],
                None if said else row["rationale"],
                row["reason"],
                [
                    [*_shorten_reply(reply, names), collected.prompts.number(prompt)]
                    for reply, prompt in zip(asked, sent, strict=True)
                ],
            ]
        )


def _add_failures(
    collected: _Collected, start: int, failures: Mapping[tuple[str, str], Sequence[str]]
) -> None:
    """Note what holds of the cases from `start` on that are no pairs."""
    for k, case in enumerate(collected.cases[start:], start):
        if case[4] is None and (held := failures.get((case[1], case[2]))):
            collected.failures[k] = [collected.names["failure"].number(name) for name in held]


def _add_case(
    collected: _Collected,
    benchmark: str,
    row: Record,
    answers: Mapping[tuple[str, str], Record],
) -> None:
    names = {kind: known.number for kind, known in collected.names.items()}
    first = answers.get((row["item_id"], row["answer_a"]), {})
    other = answers.get((row["item_id"], row["answer_b"]), {})
    collected.cases.append(
        [
            names["benchmark"](benchmark),
            row["item_id"],
            row["answer_a"],
            names["model"](row["model_a"]),
            row["answer_b"],
            names["model"](row["model_b"]),
            names["category"](first.get("category")),
            _preview(first.get("prompt")),
            _preview(first.get("text")),
            _preview(other.get("text")),
        ]
    )
    sha256, uri = first.get("sha256"), first.get("image")
    if sha256 and uri:
        collected.images.setdefault(sha256, uri)
    collected.details.append(
        {
            "prompt": _leave_out_preview(first.get("prompt")),
            "references": first.get("references") or [],
            "answer": _leave_out_preview(first.get("text")),
            "answer_b": _leave_out_preview(other.get("text")),
            "uri": uri,
            "sha256": sha256,
            "verdicts": [],
        }
    )


def _reply_key(row: Record) -> tuple[Any, ...]:
    """What names a case among those of a benchmark: of a pair, whichever answer is its a."""
    fields = ("judge_id", "reading", "item_id", "criterion", "sample", "shown")
    contents = frozenset((row["content_digest"], row["other_digest"]))
    return (*(row[name] for name in fields), contents)


def _shorten_reply(reply: Record, names: Mapping[str, Callable[[str | None], int]]) -> list[Any]:
    """A reply's text, model, end, price and, for each position, its likeliest tokens with their
    probabilities in thousandths, falling.
    """
    positions = [
        sorted(
            (
                [token["token"], round(1000 * math.exp(token["logprob"]))]
                for token in position
                if token["logprob"] is not None
            ),
            key=lambda pair: -pair[1],
        )[:_TOKENS_SHOWN]
        for position in (reply["logprobs"] or ())[:_POSITIONS_SHOWN]
    ]
    return [
        reply["text"],
        names["replier"](reply["model"]),
        names["finish"](reply["finish"]),
        reply["usd"] or 0,
        positions if any(positions) else [],
    ]


def _leave_out_preview(text: str | None) -> str | None:
    """None where the index has the whole text already."""
    return None if text is None or text == _preview(text) else text


def _preview(text: str | None) -> str:
    return " ".join((text or "")[: 2 * _PREVIEW].split())[:_PREVIEW]


def _per_mille(value: float | None) -> int:
    return -1 if value is None or not math.isfinite(value) else round(1000 * value)


def _pack(collected: _Collected, n_all: int, place: Path) -> PageRows:
    index = _squeeze(
        {
            **{kind: list(known.numbers) for kind, known in collected.names.items()},
            "cases": collected.cases,
            "failures": collected.failures,
            "rows": collected.rows,
            "per_chunk": CASES_PER_CHUNK,
            **collected.prompts.pack(),
        }
    )
    starts = range(0, len(collected.details), CASES_PER_CHUNK)
    chunks = [_squeeze(collected.details[k : k + CASES_PER_CHUNK]) for k in starts]
    for old in place.glob("*.js"):
        old.unlink()
    n_rows = len(collected.rows["case"])
    judges = frozenset(collected.names["judge"].numbers)
    if (len(index) + sum(map(len, chunks))) * 4 / 3 <= INLINE_BYTES:
        texts = [base64.b64encode(chunk).decode() for chunk in chunks]
        inside = base64.b64encode(index).decode()
        return PageRows(judges, n_rows, n_all, inside, tuple(texts), len(chunks))
    for number, chunk in enumerate((index, *chunks), -1):
        name = "index" if number < 0 else str(number)
        with replacement(place / f"{name}.js") as beside:
            beside.write_bytes(_write_script(name, chunk))
    return PageRows(judges, n_rows, n_all, "", (), len(chunks))


def _squeeze(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)


def _write_script(name: str, packed: bytes) -> bytes:
    """A script in UTF-16 that hands over `packed`: 15 bits a character, from U+0100 on, where no
    quote, backslash, end of line or half of a surrogate pair is.
    """
    bits = np.unpackbits(np.frombuffer(packed, np.uint8))
    groups = np.pad(bits, (0, -len(bits) % 15)).reshape(-1, 15)
    signs = (groups @ (1 << np.arange(14, -1, -1)) + 0x100).astype("<u2").tobytes()
    head, tail = f'\ufeffjudgelakeRows("{name}", {len(packed)}, "', '");\n'
    return head.encode("utf-16-le") + signs + tail.encode("utf-16-le")
