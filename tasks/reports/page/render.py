"""The report as one HTML file: reads the report views, shapes what a person sees, renders
`report.html` and writes it whole.

No statistics here: every number was computed in SQL or in `tasks.stats` and is only shown. Shaping
lives in `tasks.reports.page.parts`, drawing in `tasks.reports.page.figures`, wording and layout in
`report.html` and `report.css`. The page loads nothing from anywhere and reads well without its
script.
"""

import re
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import jinja2
from markupsafe import Markup, escape

from judgelake.tasks.errors import LakeError, QueryError
from judgelake.tasks.lake.storage import replacement
from judgelake.tasks.reports.kept_pages import PLACE_OF_RUN
from judgelake.tasks.reports.page.chapter_figures import Drawing
from judgelake.tasks.reports.page.chapters import CHAPTERS
from judgelake.tasks.reports.page.concerns import Changes, list_concerns
from judgelake.tasks.reports.page.environment import make_environment
from judgelake.tasks.reports.page.figure_queries import FIGURE_QUERIES
from judgelake.tasks.reports.page.first_answers import answer_questions
from judgelake.tasks.reports.page.parts import (
    ROWS_SHOWN,
    BenchmarkPart,
    BenchmarkRows,
    Coverage,
    describe_benchmark,
    keep_finite,
    name_metrics,
    pivot_coverage,
)
from judgelake.tasks.reports.page.prompts import Rebuild
from judgelake.tasks.reports.page.rows import (
    collect_rows,
    link_mark,
    link_record,
    link_rows,
)
from judgelake.tasks.reports.page.sections import SECTIONS
from judgelake.tasks.reports.page.summary import write_summary
from judgelake.tasks.reports.page.thumbnails import Encode
from judgelake.tasks.reports.page.training_section import draw_trainings
from judgelake.tasks.reports.page.trust import CHOSEN, COMPARED, COSTS, Record

MIN_COVERAGE = 0.98
ROWS_PER_BENCHMARK = 25
_HEADLINE_LINES = 6
_FOLD_CHARACTERS = 280
_RUNS_SHOWN = 20
_CHANGES_SHOWN = 12

_METRICS = """
select * from rpt_metrics
where $benchmarks::varchar[] is null or list_contains($benchmarks::varchar[], benchmark)
order by benchmark, metric, signature, model
"""
_COVERAGE = """
select benchmark, judge, status, n::bigint as n from rpt_coverage
where $benchmarks::varchar[] is null or list_contains($benchmarks::varchar[], benchmark)
order by benchmark, judge, status
"""
_CORRELATION = """
select * exclude (task, category, style) from rpt_correlation
where ($benchmarks::varchar[] is null or list_contains($benchmarks::varchar[], benchmark))
    and (task, category, style) = ('*', '*', '*')
order by
    benchmark, model, judge, judge_criterion, human_criterion, human_rule, sample_rule, against,
    coefficient
"""
_QUARANTINE = """
select * from rpt_quarantine
where $benchmarks::varchar[] is null or list_contains($benchmarks::varchar[], benchmark)
order by benchmark, n desc, source_file, reason, column_name
"""
_REORDERED = """
select distinct benchmark, rater from rpt_rankings
where orders_differ and category = '*'
    and ($benchmarks::varchar[] is null or list_contains($benchmarks::varchar[], benchmark))
order by benchmark, rater
"""
_RUNS = """
select run_id, suite, epoch_us(started_at) as started_us, epoch_us(ended_at) as ended_us,
    outcome, n_calls, n_replies_reused, prompt_tokens, completion_tokens, n_failed
from core_runs order by started_at desc limit $n
"""
_BENCHMARKS = """
select distinct benchmark from core_answers
where $benchmarks::varchar[] is null or list_contains($benchmarks::varchar[], benchmark)
"""
_N_RATED = (
    "select count(distinct (item_id, answer_id)) as n from core_human where benchmark = "
    "$benchmark and score_0_1 is not null"
)
_RATINGS = """
select rater, criterion, model, n, rating, low, high, rank, rank_low, rank_high, reason
from rpt_rankings
where benchmark = $benchmark and category = '*' and method = 'bradley_terry'
order by rater, criterion, rank, model
"""
_CHOICES = """
select
    if(judge_a like 'human:%', judge_b, judge_a) as judge, criterion, n, agreement, kappa, reason
from rpt_agreement
where benchmark = $benchmark and (task, category, style) = ('*', '*', '*')
    and (judge_a like 'human:%') <> (judge_b like 'human:%')
order by judge, criterion, n desc
"""
# Grain of `judged`: answer, criterion, judge and reading, samples averaged. People are compared on
# the same criterion, and where
# they rated others only, by their mean over those. Where people rated nothing that was judged, the
# gap is the one between the judges.
# Only the answers that can be among the largest are read, and texts only of those that are:
# millions of others have scores too.
_DISAGREEMENTS = """
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
    where benchmark = $benchmark and status = 'ok' and score_0_1 is not null
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
scores as not materialized (
    select item_id, answer_id, criterion, sample, status, score_0_1, rationale, reason,
        case
            when n_readings > 1 then readings.alias || ' / ' || reading else readings.alias
        end as judge
    from core_scores semi join wanted using (item_id, answer_id)
    inner join readings on coalesce(core_scores.alias, core_scores.judge) = readings.alias
    where benchmark = $benchmark
),
judged as (
    select item_id, answer_id, criterion, judge,
        round(avg(score_0_1) filter (status = 'ok'), 12) as score
    from scores group by all
),
compared as (
    select judged.*, coalesce(people.score, people_overall.score) as human
    from judged
    left join people using (item_id, answer_id, criterion)
    left join people_overall using (item_id, answer_id)
),
gaps as (
    select item_id, answer_id, criterion, any_value(human) as human,
        round(case
            when any_value(human) is null then max(score) - min(score)
            else max(abs(score - human))
        end, 12) as gap,
        round(avg(abs(score - human)), 12) as mean_gap
    from compared group by all
),
largest as (
    select * from gaps where gap > 0
    order by gap desc, mean_gap desc nulls last, item_id, answer_id, criterion limit $n
),
shown as (
    select item_id, answer_id, criterion, judge,
        avg(score_0_1) filter (status = 'ok') as score,
        arg_min(status, sample) filter (status <> 'ok') as status,
        arg_min(left(rationale, 4000), sample) filter (rationale is not null) as rationale,
        arg_min(left(reason, 1000), sample) filter (reason is not null) as reason
    from scores semi join largest using (item_id, answer_id, criterion) group by all
),
verdicts as (
    select item_id, answer_id, criterion,
        list({judge: judge, score: score, status: status, rationale: rationale, reason: reason}
            order by judge) as verdicts
    from shown group by all
)
select largest.*, verdicts, model, task, "references", category,
        left(prompt, 20000) as prompt, left(text, 20000) as answer,
    length(prompt) as n_prompt, length(text) as n_answer
from largest
inner join verdicts using (item_id, answer_id, criterion)
inner join core_answers as answers on answers.benchmark = $benchmark
    and answers.item_id = largest.item_id and answers.answer_id = largest.answer_id
order by gap desc, mean_gap desc nulls last, item_id, answer_id, criterion
"""


def render_report(
    connection: duckdb.DuckDBPyConnection,
    suite_name: str,
    out: Path,
    notice: str | None,
    made_at: datetime,
    benchmarks: Sequence[str] | None = None,
    min_coverage: float = MIN_COVERAGE,
    exports: Sequence[str] = (),
    good_enough: float | None = None,
    encode: Encode | None = None,
    changes: Changes | None = None,
    earlier: Sequence[tuple[str, str]] = (),
    rebuild: Rebuild | None = None,
) -> Path:
    """Write the report of `benchmarks` (all that the lake has, if None) as one self-contained HTML
    file at `out`, with a summary in Markdown beside it, and in `rows/` images and, where they are
    many, the rows behind it. `exports`: views beside it; `good_enough`: the least agreement with
    people that is asked of a judge; `encode`: an image's URI and sha256 -> its thumbnail as a data
    URL; `changes`: since an earlier report; `earlier`: runs
    whose pages are kept in `runs/`, each with its date; `rebuild`: finds the prompts of replies.
    """
    chosen = {"benchmarks": None if benchmarks is None else list(benchmarks)}
    metrics = _select(connection, _METRICS, chosen)
    correlations = _select(connection, _CORRELATION, chosen)
    coverage = pivot_coverage(_select(connection, _COVERAGE, chosen))
    answered = [row["benchmark"] for row in _select(connection, _BENCHMARKS, chosen)]
    known = sorted(
        {
            *answered,
            *(row["benchmark"] for row in metrics),
            *(benchmark for benchmark, _ in coverage.counts),
        }
    )
    names = known if benchmarks is None else list(dict.fromkeys(benchmarks))
    rows = [_read_benchmark(connection, name, metrics, correlations, coverage) for name in names]
    sections = {
        section.name: (section, found)
        for section in SECTIONS
        if (found := _select(connection, section.query, chosen))
    }
    short = name_metrics(metrics)
    page_rows = collect_rows(
        partial(_select, connection), names, short, out.parent, encode, rebuild
    )
    parts = [
        describe_benchmark(
            part, f"f{k}", partial(link_mark, page_rows, part.name), short, good_enough
        )
        for k, part in enumerate(rows)
    ]
    trained = list(draw_trainings(lambda query: _select(connection, query, chosen)))
    quarantine = _select(connection, _QUARANTINE, chosen)
    runs = _select(connection, _RUNS, {"n": _RUNS_SHOWN})
    filled = {
        *sections,
        *(("means",) if metrics else ()),
        *(("coverage",) if coverage.counts else ()),
        *(("correlation",) if correlations else ()),
        *(("quarantine",) if quarantine else ()),
        *(("runs",) if runs else ()),
    }
    reordered = _select(connection, _REORDERED, chosen)
    concerns = list_concerns(coverage, quarantine, runs, short, min_coverage, reordered)
    made_at = made_at.replace(tzinfo=UTC) if made_at.tzinfo is None else made_at.astimezone(UTC)
    summary = write_summary(suite_name, made_at, notice, parts, concerns, changes)
    page = _template(short).render(
        suite_name=suite_name,
        made_at=made_at,
        notice=notice,
        parts=parts,
        chapters=list(_fill_chapters(parts, trained, filled)),
        answers=answer_questions(parts, concerns, changes),
        concerns=concerns,
        changes=changes,
        earlier=earlier,
        metrics=metrics,
        correlations=correlations,
        coverage=coverage,
        quarantine=quarantine,
        sections=sections,
        runs=runs,
        min_coverage=min_coverage,
        exports=exports,
        page_rows=page_rows,
        link_rows=partial(link_rows, page_rows),
        link_record=partial(link_record, page_rows, short),
        nonce=secrets.token_urlsafe(16),
    )
    _write_whole(out, page)
    _write_whole(out.with_suffix(".md"), summary)
    return out


def _read_benchmark(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    metrics: Sequence[Record],
    correlations: Sequence[Record],
    coverage: Coverage,
) -> BenchmarkRows:
    return BenchmarkRows(
        name=name,
        metrics=[row for row in metrics if row["benchmark"] == name],
        correlations=[row for row in correlations if row["benchmark"] == name],
        counts={judge: n for (benchmark, judge), n in coverage.counts.items() if benchmark == name},
        disagreements=_select(
            connection, _DISAGREEMENTS, {"benchmark": name, "n": ROWS_PER_BENCHMARK}
        ),
        n_rated=_select(connection, _N_RATED, {"benchmark": name})[0]["n"],
        ratings=_select(connection, _RATINGS, {"benchmark": name}),
        choices=_select(connection, _CHOICES, {"benchmark": name}),
        compared=_select(connection, COMPARED, {"benchmark": name}),
        chosen=_select(connection, CHOSEN, {"benchmark": name}),
        costs=_select(connection, COSTS, {"benchmark": name}),
        figures={
            figure: _select(connection, query, {"benchmark": name})
            for figure, query in FIGURE_QUERIES.items()
        },
    )


class _FilledChapter(NamedTuple):
    """A chapter with what it has here: figures with their benchmarks or trained judges, names of
    tables.
    """

    name: str
    question: str
    how_to_read: str
    figures: list[tuple[str, Drawing]]
    tables: list[str]


def _fill_chapters(
    parts: Sequence[BenchmarkPart], trained: Sequence[tuple[str, Drawing]], filled: Collection[str]
) -> Iterator[_FilledChapter]:
    drawn = [*((part.name, drawing) for part in parts for drawing in part.drawings), *trained]
    for chapter in CHAPTERS:
        figures = [(name, drawing) for name, drawing in drawn if drawing.chapter == chapter.name]
        tables = [name for name in chapter.tables if name in filled]
        if figures or tables:
            yield _FilledChapter(
                chapter.name, chapter.question, chapter.how_to_read, figures, tables
            )


def _format_number(value: float | None, factor: float = 1.0, decimals: int = 3) -> str:
    return "–" if (finite := keep_finite(value)) is None else f"{factor * finite:.{decimals}f}"


def _format_interval(
    value: float | None,
    low: float | None,
    high: float | None,
    factor: float = 1.0,
    decimals: int = 3,
    reason: str | None = None,
) -> str:
    """The ends of an interval: `0.39 to 0.59`; without one the reason, where there is one."""
    value, low, high = map(keep_finite, (value, low, high))
    if low is None or value is None or high is None:
        return f"no interval: {reason}" if reason and value is not None else ""
    return f"{factor * low:.{decimals}f} to {factor * high:.{decimals}f}"


def _round_to_interval(value: float | None, low: float | None, high: float | None) -> str:
    """A number with the decimals that its interval allows: two digits of the half width, from 2
    to 3 decimals; 2 without an interval.
    """
    value, low, high = map(keep_finite, (value, low, high))
    if value is None:
        return "undefined"
    is_fine = low is not None and high is not None and high - low < 0.02
    return f"{value:.{3 if is_fine else 2}f}"


def _format_points(
    value: float | None, low: float | None, high: float | None, reason: str | None = None
) -> Markup:
    """A score in points of 100 with its interval, two digits of the interval's half width shown:
    `62.0 (53.9 to 69.5)`.
    """
    ends = keep_finite(low), keep_finite(high)
    if ends[0] is None or ends[1] is None:
        said = _format_interval(value, low, high, reason=reason)
        small = Markup(" <small>{}</small>").format(said) if said else ""
        return Markup("{}{}").format(_format_number(value, 100, 2), small)
    half = 50 * (ends[1] - ends[0])
    decimals = 1 if half >= 1 else 2
    shown = _format_interval(value, low, high, 100, decimals)
    faint = Markup(' <span class="faint">({})</span>').format(shown)
    return Markup("{}{}").format(_format_number(value, 100, decimals), faint)


def _format_signed(value: float | None, decimals: int = 3) -> str:
    return "–" if (finite := keep_finite(value)) is None else f"{finite:+.{decimals}f}"


def _mark_code(text: str) -> Markup:
    """Names between backticks as code."""
    parts = str(escape(text)).split("`")
    return Markup(  # noqa: S704  # escaped
        "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))
    )


def _format_time(microseconds: int | None) -> str:
    return (
        "–"
        if microseconds is None
        else datetime.fromtimestamp(microseconds / 1e6, UTC).strftime("%Y-%m-%d %H:%M")
    )


def _template(names: Mapping[str, str]) -> jinja2.Template:
    environment = make_environment(_read_part)
    environment.filters |= {
        "number": _format_number,
        "interval": _format_interval,
        "time": _format_time,
        "finite": keep_finite,
        "rounded": _round_to_interval,
        "signed": _format_signed,
        "points": _format_points,
    }
    environment.filters["coded"] = _mark_code
    environment.globals |= {
        "css": _read_part("report.css"),
        "script": _read_part("report.js"),
        "rows_script": _read_part("rows.js"),
        "place_of_run": Markup(PLACE_OF_RUN),  # noqa: S704  # a constant
        "n_rows": ROWS_PER_BENCHMARK,
        "rows_shown": ROWS_SHOWN,
        "shown_changes": _CHANGES_SHOWN,
        "fold": _FOLD_CHARACTERS,
        "max_agreements": _HEADLINE_LINES,
        "names": names,
    }
    return environment.get_template("report.html")


def _read_part(name: str) -> str:
    return files("judgelake.tasks.reports.page").joinpath(name).read_text("utf-8")


def _select(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any]
) -> list[dict[str, Any]]:
    try:
        cursor = connection.execute(sql, dict(parameters))
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    except duckdb.Error as error:
        first = re.sub(r"\s+", " ", str(error))[:300]
        raise QueryError(
            f"tasks/reports/page/report.html: {first}; expected the views of sql/reports; the "
            f"statement was:\n{sql.strip()}"
        ) from error


def _write_whole(out: Path, text: str) -> None:
    """A reader of `out` sees the old page or the new one."""
    try:
        with replacement(out) as beside:
            beside.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise LakeError(
            f"{out}: the report cannot be written ({error.strerror}); expected a writable "
            f"folder; name another file"
        ) from error
