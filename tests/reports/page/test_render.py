"""The HTML report: what it says, that untrusted text stays text, that it needs nothing from
outside.
"""

import contextlib
import functools
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest

from judgelake.tasks.errors import LakeError, QueryError
from judgelake.tasks.reports.page.figures import (
    Dot,
    draw_estimates,
    draw_statuses,
    shorten_label,
)
from judgelake.tasks.reports.page.parts import (
    ROWS_SHOWN,
    label_agreements,
    name_metrics,
    pivot_coverage,
    select_headline,
)
from judgelake.tasks.reports.page.render import ROWS_PER_BENCHMARK, _mark_code, render_report
from judgelake.tasks.reports.page.sections import SECTIONS
from judgelake.tasks.warehouse.warehouse import select_frame
from tests.lakes import make_lake, warehouse

MADE_AT = datetime(2026, 11, 20, 3, 4, tzinfo=UTC)
SCRIPT = "<script>alert(1)</script>"
RIGHT_TO_LEFT = "מטריה אדומה \u202egnp.exe"
TABLES = """
create table rpt_metrics (benchmark varchar, model varchar, metric varchar, n bigint, n_missing bigint, n_partly_missing bigint, mean double, low double,
    high double, signature varchar, reason varchar);
create table rpt_coverage (benchmark varchar, judge varchar, status varchar, n bigint);
create table rpt_correlation (benchmark varchar, task varchar, category varchar, style varchar, model varchar, judge varchar, judge_criterion varchar, human_criterion varchar,
    human_rule varchar, sample_rule varchar, against varchar, coefficient varchar, n bigint, n_clusters bigint, value double,
    low double, high double, reason varchar);
create table core_scores (judge varchar, alias varchar, judge_id varchar, reading varchar, benchmark varchar, item_id varchar,
    answer_id varchar, model varchar, criterion varchar, sample integer, status varchar, rating double, score_0_1 double,
    rationale varchar, reason varchar);
create table core_answers (benchmark varchar, item_id varchar, answer_id varchar, model varchar, style varchar, sample integer,
    task varchar, prompt varchar, "references" varchar[], category varchar, cluster varchar, text varchar,
    content_digest varchar, images struct(uri varchar, sha256 varchar)[]);
create table core_human (benchmark varchar, item_id varchar, answer_id varchar, criterion varchar, human_rule varchar,
    score_0_1 double, n_annotators bigint);
create table rpt_quarantine (benchmark varchar, source_file varchar, reason varchar, column_name varchar, n bigint,
    example_locator varchar, example_value varchar);
create table core_runs (run_id varchar, suite varchar, started_at timestamptz, ended_at timestamptz, outcome varchar,
    n_calls bigint, n_replies_reused bigint, prompt_tokens bigint, completion_tokens bigint, n_failed bigint);
"""
ROW_VIEWS = (
    *("core_choices", "core_duels", "core_ordered_choices"),
    *("stg_duels", "stg_recorded_duels", "stg_replies", "stg_verdicts"),
    *("rpt_failure_examples", "stg_models"),
)
FEW = "fewer than 3 clusters"
VOID = {"meta", "br", "input", "link", "img", "hr"}


@pytest.fixture(scope="module")
def section_views(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """View of a table of the page, or of its rows -> its columns as the real view has them."""
    return describe_sections(tmp_path_factory.getbasetemp())


@functools.cache
def describe_sections(folder: Path) -> dict[str, str]:
    """Once for all test files that import `section_views`."""
    real = warehouse(make_lake(folder / "sections"))
    names = dict.fromkeys((*(section.view for section in SECTIONS), *ROW_VIEWS))
    described = {name: select_frame(real, f"describe select * from {name}", name) for name in names}
    return {
        name: ", ".join(f'"{row[0]}" {row[1]}' for row in frame.iter_rows())
        for name, frame in described.items()
    }


@pytest.fixture
def lake(section_views: dict[str, str]) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_sections(section_views) as connection:
        yield connection


@contextlib.contextmanager
def open_sections(section_views: dict[str, str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Tables without rows in place of the views of a page."""
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        for name, columns in section_views.items():
            connection.execute(f"create table if not exists {name} ({columns})")
        yield connection


class Page(HTMLParser):
    """Reads a page as a browser would: tables of cell texts, tags, attributes, and the text outside
    script and style.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(html)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"{tag} closes something else"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            return
        self.words.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    def table_with(self, heading: str) -> list[list[str]]:
        tables = [
            [[" ".join(cell.split()) for cell in row] for row in table] for table in self.tables
        ]
        return next(table for table in tables if heading in table[0])


def add_answer(
    lake: duckdb.DuckDBPyConnection,
    answer_id: str,
    text: str = "a cat",
    model: str | None = "m1",
    **other: Any,
) -> None:
    values = {
        "benchmark": "vqa",
        "prompt": "What is it?",
        "references": ["cat", "cat", "kitten"],
        **other,
    }
    lake.execute(
        """insert into core_answers values ($benchmark, 'i' || $answer, $answer, $model, 'short', 0, 'vqa', $prompt, $references,
        null, 'c', $text, 'd' || $answer, $images)""",
        {"answer": answer_id, "text": text, "model": model, "images": [], **values},
    )


def add_score(
    lake: duckdb.DuckDBPyConnection, answer_id: str, judge: str, score: float | None, **other: Any
) -> None:
    values = {
        "benchmark": "vqa",
        "criterion": "correctness",
        "sample": 0,
        "reading": "r",
        "rationale": None,
        "reason": None,
        **other,
    }
    values |= {
        "answer": answer_id,
        "judge": judge,
        "score": score,
        "status": "unparsed" if score is None else "ok",
    }
    lake.execute(
        """insert into core_scores values ('sig', $judge, 'id', $reading, $benchmark, 'i' || $answer, $answer, 'm1', $criterion,
        $sample, $status, null, $score, $rationale, $reason)""",
        values,
    )


def add_human(
    lake: duckdb.DuckDBPyConnection,
    answer_id: str,
    score: float,
    criterion: str = "correctness",
    rule: str = "mean",
) -> None:
    lake.execute(
        "insert into core_human values ('vqa', 'i' || $1, $1, $3, $4, $2, 3)",
        [answer_id, score, criterion, rule],
    )


def insert_row(lake: duckdb.DuckDBPyConnection, table: str, *values: Any) -> None:
    lake.execute(f"insert into {table} values ({', '.join('?' * len(values))})", list(values))


def insert_named(lake: duckdb.DuckDBPyConnection, table: str, row: dict[str, Any]) -> None:
    places = ", ".join(f"${name}" for name in row)
    lake.execute(f"insert into {table} ({', '.join(row)}) values ({places})", row)


def correlation(judge: str, value: float | None, **other: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "benchmark": "vqa",
        "task": "*",
        "category": "*",
        "style": "*",
        "model": "*",
        "judge": judge,
        "judge_criterion": "correctness",
        "human_criterion": "correctness",
    }
    row |= {
        "human_rule": "mean",
        "sample_rule": "mean",
        "against": "human",
        "coefficient": "spearman",
        "n": 900,
        "n_clusters": 300,
    }
    interval = (
        {"low": None, "high": None}
        if value is None
        else {"low": value - 0.02, "high": value + 0.01}
    )
    return {**row, "value": value, **interval, **other}


def add_correlation(lake: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> None:
    order = (
        "benchmark task category style model judge judge_criterion human_criterion human_rule "
        "sample_rule against coefficient n n_clusters value low high reason"
    )
    insert_row(lake, "rpt_correlation", *(row.get(field) for field in order.split()))


def render(
    lake: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    notice: str | None = None,
    benchmarks: list[str] | None = None,
) -> Page:
    out = render_report(lake, "nightly", tmp_path / "report.html", notice, MADE_AT, benchmarks)
    return Page(out.read_text("utf-8"))


def test_headline_shows_means_intervals_coverage_and_agreement(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    insert_row(lake, "rpt_metrics", "vqa", "m1", "lave", 970, 30, 0, 0.84123, 0.82, 0.86, "s", None)
    insert_row(lake, "rpt_metrics", "vqa", "*", "lave", 995, 5, 120, 0.5, None, None, "s", FEW)
    add_correlation(lake, correlation("lave", 0.7124))
    page = render(lake, tmp_path)
    heads, row = page.table_with("Agreement with people")
    assert heads == ["Judge or metric", "Agreement with people", "m1", "all models"]
    # 970 of 1,000 is under 98 %, 995 of 1,000 is not and has no flag
    assert row == [
        "lave",
        "0.712 0.692 to 0.722 n = 900",
        "84.1 (82.0 to 86.0) ⚠ 97.0 %: 970 of 1,000",
        "50.00 no interval: fewer than 3 clusters 995 of 1,000 120 in part",
    ]


def test_a_mean_without_scores_is_not_a_number(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    insert_row(lake, "rpt_metrics", "vqa", "m1", "lave", 0, 10, 0, None, None, None, "s", None)
    insert_row(
        lake, "rpt_metrics", "vqa", "m2", "lave", 10, 0, 0, float("nan"), None, None, "s", None
    )
    page = render(lake, tmp_path)
    assert page.table_with("m1")[1] == ["lave", "no score ⚠ 0.0 %: 0 of 10", "no score 10 of 10"]
    assert "nan" not in page.text.lower()


def test_judges_are_ordered_by_agreement_and_one_without_means_has_a_line(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    insert_row(lake, "rpt_metrics", "vqa", "m1", "acc", 9, 0, 0, 0.5, 0.4, 0.6, "acc|v:1", None)
    insert_row(lake, "rpt_metrics", "vqa", "m1", "a_judge", 9, 0, 0, 0.5, 0.4, 0.6, "s", None)
    for row in (
        correlation("metric:acc|v:1", 0.4),
        correlation("a_judge", None),
        correlation("only_correlated", -0.25),
    ):
        add_correlation(lake, row)
    lines = render(lake, tmp_path).table_with("Agreement with people")[1:]
    assert [line[0] for line in lines] == ["acc", "only_correlated", "a_judge"]
    assert [line[1].split()[0] for line in lines] == ["0.400", "-0.250", "undefined"]
    assert lines[1][2] == "not computed"


def test_headline_prefers_people_and_matching_criteria_and_names_what_differs() -> None:
    rows = [
        correlation("j", 0.1, judge_criterion="clarity", human_criterion="clarity"),
        correlation("j", 0.2, judge_criterion="clarity", human_criterion="correctness"),
        correlation("j", 0.3),
        correlation("k", 0.4, judge_criterion="overall"),
        correlation("j", 0.5, against="gpt"),
        correlation("j", 0.6, coefficient="pearson"),
        correlation("j", 0.7, model="m1"),
    ]
    labelled = label_agreements(select_headline(rows), [])
    assert {judge: [(a.label, a.value) for a in found] for judge, found in labelled.items()} == {
        "j": [("clarity", 0.1), ("correctness", 0.3)],
        "k": [("overall, correctness", 0.4)],
    }
    assert [row["value"] for row in select_headline([rows[4]])] == [0.5]


def test_empty_lake_is_said_in_words(lake: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    page = render(lake, tmp_path)
    for words in (
        "no answers and no scores",
        "No run is recorded",
    ):
        assert words in page.text
    assert page.count("table") == 0
    assert page.count("svg") == 0


def test_answers_without_scores_and_ratings_without_correlations_are_said(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    add_answer(lake, "1")
    assert "Nothing has been scored yet." in render(lake, tmp_path).text
    add_human(lake, "1", 0.5)
    page = render(lake, tmp_path)
    assert "People rated 1 answers, but nothing has been scored yet." in page.text
    insert_row(lake, "rpt_metrics", "vqa", "m1", "lave", 1, 0, 0, 0.5, 0.4, 0.6, "s", None)
    page = render(lake, tmp_path)
    assert "People rated 1 answers, but no correlation is computed yet." in page.text


def test_a_benchmark_of_pairs_shows_who_is_placed_where_and_who_chose_as_people_did(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    add_answer(lake, "1")
    for rater, criterion, model, value, rank, places in (
        ("human", "overall", "m1", 1100.4, 1, (1, 1)),
        ("human", "overall", "m2", 899.6, 2, (2, 2)),
        ("judge", "overall", "m2", 1010.0, 1, (1, 2)),
        ("judge", "clarity", "m2", 990.0, 1, (1, 1)),
    ):
        row = {
            "benchmark": "vqa", "rater": rater, "criterion": criterion, "category": "*",
            "method": "bradley_terry", "model": model, "n": 50, "rating": value,
            "low": value - 20, "high": value + 30, "rank": rank,
            "rank_low": places[0], "rank_high": places[1],
        }  # fmt: skip
        insert_named(lake, "rpt_rankings", row)
        insert_named(lake, "rpt_rankings", row | {"method": "elo", "rating": 1.0})
    lake.execute(
        "insert into rpt_agreement values ('vqa', 'human:p1', 'judge', 'overall', '*', '*', '*', "
        "40, 0.85, 0.7, null)"
    )
    page = render(lake, tmp_path)
    assert "Nothing has been scored" not in page.text
    assert "No human ratings" not in page.text
    assert page.table_with("human") == [
        ["Model", "human", "judge overall", "judge clarity"],
        ["chose as people did", "people", "85.0 % kappa 0.70, n = 40", "no pair in common"],
        ["m1", "1100 (1080 to 1130) place 1, n = 50", "not compared", "not compared"],
        [
            "m2",
            "900 (880 to 930) place 2, n = 50",
            "1010 (990 to 1040) place 1 (1–2), n = 50",
            "990 (970 to 1020) place 1, n = 50",
        ],
    ]


def test_a_rating_leads_to_its_rows_where_the_page_has_them(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    add_answer(lake, "1")
    add_score(lake, "1", "judge", 0.5)
    for rater in ("judge", "human"):
        row = {
            "benchmark": "vqa", "rater": rater, "criterion": "overall", "category": "*",
            "method": "bradley_terry", "model": "m2", "n": 50, "rating": 900.0,
            "low": 880.0, "high": 930.0, "rank": 1, "rank_low": 1, "rank_high": 1,
        }  # fmt: skip
        insert_named(lake, "rpt_rankings", row)
    out = render_report(lake, "nightly", tmp_path / "report.html", None, MADE_AT)
    links = re.findall(r'n = <a href="([^"]+model=m2[^"]*)">50</a>', out.read_text())
    assert links == ["#rows?benchmark=vqa&amp;judge=judge&amp;model=m2"]


def test_the_first_screen_names_judges_not_to_trust_on_every_benchmark(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    rows: list[tuple[str, str, float | None, float | None]] = [
        ("nq", "good", 0.4, 0.6),
        ("nq", "few", None, None),
        ("vqa", "small", -0.5, 0.51),
        ("vqa", "against", -0.4, -0.2),
    ]
    for benchmark, judge, low, high in rows:
        add_answer(lake, "1", benchmark=benchmark)
        row = {
            "benchmark": benchmark,
            "judge": judge,
            "judge_criterion": "correctness",
            "human_criterion": "correctness",
            "human_rule": "mean",
            "against": "human",
            "coefficient": "spearman",
            "model": "*",
            "n": 40,
            "value": 0.03 if low is None or high is None else (low + high) / 2,
            "low": low,
            "high": high,
        }
        insert_named(lake, "rpt_judge_comparison", row)
    said = render(lake, tmp_path, benchmarks=["nq", "vqa"]).text
    assert (
        "On nq : the highest agreement with people is good 0.50 (0.40 to 0.60): better than chance."
        in said
    )
    assert (
        "On vqa : do not trust small 0.01 (-0.50 to 0.51) and against -0.30 (-0.40 to -0.20): "
        "their agreement may be chance, or is below 0." in said
    )
    assert "do not trust" not in render(lake, tmp_path, benchmarks=["nq"]).text


def test_metrics_are_called_by_their_short_names_where_these_are_unlike() -> None:
    rows: list[dict[str, Any]] = [
        {"metric": "exact_match", "signature": "exact_match|version:1"},
        {"metric": "exact_match", "signature": "metric:exact_match|version:1"},
        {"metric": "bleu", "signature": "bleu|n:1"},
        {"metric": "bleu", "signature": "bleu|n:4"},
        {"metric": "judge", "signature": None},
    ]
    assert name_metrics(rows) == {
        "metric:exact_match|version:1": "exact_match",
        "metric:bleu|n:1": "bleu (n:1)",
        "metric:bleu|n:4": "bleu (n:4)",
    }


def test_rows_are_the_largest_gaps_to_people(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    for answer_id, human, scores in (
        ("1", 0.0, (1.0, 0.25)),
        ("2", 0.5, (0.5, 0.5)),
        ("3", 1.0, (None, 0.25)),
        ("4", None, (0.0, 1.0)),
    ):
        add_answer(lake, answer_id)
        if human is not None:
            add_human(lake, answer_id, human)
        for judge, score in zip(("lave", "vlm"), scores, strict=True):
            add_score(
                lake,
                answer_id,
                judge,
                score,
                rationale=f"{judge} on {answer_id}" if judge == "lave" else None,
            )
    table = render(lake, tmp_path).table_with("Gap")
    assert table[0] == [
        "Answer of",
        "Question",
        "References",
        "Answer",
        "Gap",
        "People",
        "lave",
        "vlm",
        "Rationale",
    ]
    # gaps: answer 1 max(|1-0|, |.25-0|) = 1; 3 |.25-1| = .75; 2 agrees; 4 has no people, so it is
    # not compared
    assert [(row[0], *row[4:8]) for row in table[1:]] == [
        ("m1 item i1, answer 1", "100.0", "0.0", "100.0", "25.0"),
        ("m1 item i3, answer 3", "75.0", "100.0", "unparsed", "25.0"),
    ]
    assert table[1][2] == "cat ×2 · kitten"
    assert table[1][8] == "lave lave on 1"


def test_people_are_compared_on_the_same_criterion_else_on_their_mean(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    add_answer(lake, "1")
    add_human(lake, "1", 0.0, "clarity")
    add_human(
        lake, "1", 1.0, "clarity", rule="any"
    )  # the mean over annotators is preferred to other rules
    add_human(lake, "1", 0.8, "fluency")
    add_score(lake, "1", "j", 0.5, criterion="clarity", sample=0)
    add_score(lake, "1", "j", 1.0, criterion="clarity", sample=1)
    add_score(lake, "1", "j", 0.9, criterion="overall")
    rows = [
        (row[4], row[5], row[6], row[7])
        for row in render(lake, tmp_path).table_with("Criterion")[1:]
    ]
    # clarity: samples average to .75 against 0; overall: .9 against (0 + .8) / 2 = .4
    assert rows == [("clarity", "75.0", "0.0", "75.0"), ("overall", "50.0", "40.0", "90.0")]


def test_without_people_rows_are_the_gaps_between_judges(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    for k in range(ROWS_PER_BENCHMARK + 5):
        add_answer(lake, f"{k:04}", model=None)
        add_score(lake, f"{k:04}", "a", 0.0)
        add_score(lake, f"{k:04}", "b", k / 1000)
    page = render(lake, tmp_path)
    table = page.table_with("Gap")
    assert table[0] == [
        "Answer of",
        "Question",
        "References",
        "Answer",
        "Gap",
        "a",
        "b",
        "Rationale",
    ]
    assert len(table) - 1 == ROWS_PER_BENCHMARK
    # the largest k is 29: .029; the 25th largest is 5
    assert [table[1][4], table[-1][4]] == ["2.9", "0.5"]
    assert table[1][0].startswith("model not named")
    assert "no human ratings to compare with" in page.text


def test_two_readings_of_a_judge_are_two_columns(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    add_answer(lake, "1")
    add_score(lake, "1", "j", 0.25, reading="strict")
    add_score(lake, "1", "j", 1.0, reading="smooth")
    table = render(lake, tmp_path).table_with("Gap")
    assert table[0][5:7] == ["j / smooth", "j / strict"]
    assert table[1][4:7] == ["75.0", "100.0", "25.0"]


def test_untrusted_text_stays_text(lake: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    model = f"{SCRIPT}$\\frac{{$ {RIGHT_TO_LEFT}"
    add_answer(
        lake, "1", text=SCRIPT + RIGHT_TO_LEFT, model=model, prompt=SCRIPT, references=[SCRIPT]
    )
    add_score(lake, "1", "a", 0.0, rationale=f"</td></script>{SCRIPT}")
    add_score(lake, "1", "b" + SCRIPT, None, reason=f'" onmouseover="alert(1)" {SCRIPT}')
    add_human(lake, "1", 1.0)
    lake.execute(
        "insert into rpt_metrics values ('vqa', $1, $2, 1, 1, 0, 0.5, 0.4, 0.6, $2, null)",
        [model, SCRIPT],
    )
    lake.execute(
        "insert into rpt_coverage values ('vqa', $1, 'ok', 1), ('vqa', $1, 'failed', 1)", [model]
    )
    lake.execute("insert into rpt_quarantine values ('vqa', $1, $1, $1, 1, $1, $1)", [SCRIPT])
    add_correlation(lake, correlation(model, 0.5))
    page = render(lake, tmp_path, notice=SCRIPT)
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    data = [a for a in scripts if a.get("type") == "application/octet-stream"]  # never run
    scripts = [a for a in scripts if a not in data]
    assert {a["id"] for a in data} == {"rows-index", "rows-0"}
    assert len({a["nonce"] for a in scripts}) == 1
    assert "alert" not in str([name for _, attributes in page.tags for name in attributes])
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    policy = next(
        str(a["content"]) for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert f"script-src 'nonce-{scripts[0]['nonce']}'" in policy
    # said as text: banner, question, reference, answer, rationale, quarantine, and the three
    # figures
    assert page.text.count(SCRIPT) >= 9
    assert SCRIPT + RIGHT_TO_LEFT in page.text
    assert ("div", {"class": "text", "dir": "auto"}) in page.tags


def test_page_needs_nothing_from_outside(lake: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    insert_row(lake, "rpt_metrics", "vqa", "m1", "lave", 9, 1, 0, 0.5, 0.4, 0.6, "s", None)
    insert_row(lake, "rpt_metrics", "other", "m1", "lave", 9, 1, 0, 0.5, 0.4, 0.6, "s", None)
    page = render(lake, tmp_path)
    links = [
        str(value)
        for _, a in page.tags
        for name, value in a.items()
        if name.split(":")[-1] in ("src", "href", "srcset", "action", "data")
    ]
    assert links
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"@import|url\((?!#)", (tmp_path / "report.html").read_text("utf-8"))
    identifiers = [a["id"] for _, a in page.tags if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    assert {link[1:].split("?")[0] for link in links} <= set(map(str, identifiers))
    assert page.count("caption") == page.count("table")
    assert all(a.get("scope") in ("col", "row") for tag, a in page.tags if tag == "th")


def test_long_answers_are_folded_and_whole(lake: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    add_answer(lake, "1", text="word " * 2000)  # 10,000 characters
    add_answer(lake, "2", text="x" * 30_000)
    for answer_id in "12":
        add_score(lake, answer_id, "a", 0.0)
        add_score(lake, answer_id, "b", 1.0)
    page = render(lake, tmp_path)
    assert page.count("details") == 3  # two answers, in the fold of their benchmark
    assert "10,000 characters" in page.text
    assert ("word " * 2000).strip() in page.text
    assert "x" * 20_000 in page.text
    assert "x" * 20_001 not in page.text
    assert "shown up to character 20,000" in page.text


def test_notice_time_runs_and_chosen_benchmarks(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    insert_row(
        lake,
        "core_runs",
        "r9",
        "nightly",
        "2026-11-20 01:00:00+02",
        None,
        None,
        12345,
        1,
        2,
        None,
        0,
    )
    insert_row(lake, "rpt_metrics", "vqa", "m1", "lave", 9, 1, 0, 0.5, 0.4, 0.6, "s", None)
    insert_row(lake, "rpt_metrics", "hidden", "m1", "lave", 9, 1, 0, 0.5, 0.4, 0.6, "s", None)
    page = render(lake, tmp_path, "Synthetic scenes with oracle ratings", ["vqa"])
    assert "Synthetic scenes with oracle ratings" in page.text
    assert "2026-11-20 03:04 UTC" in page.text
    assert page.table_with("Run")[1] == [
        "r9",
        "nightly",
        "2026-11-19 23:00",
        "–",
        "–",
        "12,345",
        "1",
        "2",
        "–",
        "0",
    ]
    assert "hidden" not in page.text


def test_agreement_and_win_rates_are_shown_once_a_pair(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    add_answer(lake, "1", text="a")
    lake.execute(
        "insert into rpt_agreement values ('vqa', 'gpt-4', 'human:p1', 'overall', '*', '*', '*', "
        "1480, 0.847, 0.6934, null), ('vqa', 'gpt-4', 'human:p1', 'overall', 'vqa', '*', '*', 9, "
        "1, 1, null)"
    )
    lake.execute(
        "insert into rpt_win_rate values ('vqa', 'gpt-4', 'overall', 'alpaca', 'davinci', 805, "
        "205, 16, 3, 584, 0.264596, 0.2341, 0.2951, null)"
    )
    lake.execute(
        "insert into rpt_win_rate values ('vqa', 'gpt-4', 'overall', 'davinci', 'alpaca', 805, "
        "584, 16, 3, 205, 0.735404, 0.7049, 0.7659, null)"
    )
    page = render(lake, tmp_path)
    assert page.table_with("Kappa")[1] == [
        "vqa",
        "gpt-4",
        "human:p1",
        "overall",
        "1,480",
        "0.847",
        "0.693",
        "–",
    ]
    rows = page.table_with("Losses")
    assert rows[1:] == [
        [
            "vqa",
            "gpt-4",
            "overall",
            "alpaca",
            "davinci",
            "805",
            "26.46 23.41 to 29.51",
            "205",
            "16",
            "3",
            "584",
        ]
    ]


def test_a_table_without_rows_is_left_out_unless_it_has_words_for_it(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    assert "Does the judge look?" not in render(lake, tmp_path).text
    fields = "benchmark, judge_a, judge_b, image_b, criterion, n, changed, mean_change"
    lake.execute(
        f"insert into rpt_image_dependence ({fields}) values ('vqa', 'sees', 'blind', "
        f"'absent', 'overall', 1200, 0.25, 0.125)"
    )
    page = render(lake, tmp_path)
    assert page.table_with("Its image")[1] == [
        "vqa",
        "sees",
        "blind",
        "absent",
        "overall",
        "1,200",
        "25.00",
        "0.125",
        "–",
    ]


def test_a_long_table_is_cut_and_says_where_the_rest_is(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    lake.execute(
        "insert into rpt_agreement select 'vqa', 'a', 'b' || range, 'overall', '*', '*', '*', 1, "
        "0.5, 0.5, null from range($n)",
        {"n": ROWS_SHOWN + 1},
    )
    page = render(lake, tmp_path)
    assert len(page.table_with("Kappa")) == 1 + ROWS_SHOWN
    assert f"The first {ROWS_SHOWN} rows; all of them are in rpt_agreement" in page.text


@pytest.mark.parametrize(
    "made_at",
    [
        datetime(2026, 1, 2, 3, 0),
        datetime(2026, 1, 2, 8, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    ],
)
def test_time_is_shown_in_utc(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path, made_at: datetime
) -> None:
    render_report(lake, "s", tmp_path / "r.html", None, made_at)
    page = Page((tmp_path / "r.html").read_text("utf-8"))
    assert "2026-01-02 03:00 UTC" in page.text
    assert not any(a.get("class") == "banner" for _, a in page.tags)


def test_coverage_is_counted_by_status_and_flagged(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    insert_row(lake, "rpt_coverage", "vqa", "j", "ok", 97)
    insert_row(lake, "rpt_coverage", "vqa", "j", "not_asked", 3)
    insert_row(lake, "rpt_coverage", "vqa", "j", "failed", 0)
    insert_row(lake, "rpt_coverage", "vqa", "k", "ok", 98)
    insert_row(lake, "rpt_coverage", "vqa", "k", "new_status", 2)
    table = render(lake, tmp_path).table_with("Cases")
    assert table == [
        ["Benchmark", "Judge or metric", "Cases", "Coverage", "ok", "not_asked", "new_status"],
        ["vqa", "j", "100", "⚠ 97.00 %", "97", "3", "0"],
        ["vqa", "k", "100", "98.00 %", "98", "0", "2"],
    ]


def test_write_is_whole_and_replaces(lake: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report.html"
    for name in ("first", "second"):
        assert render_report(lake, name, out, None, MADE_AT) == out
    assert "second · judgelake report" in out.read_text("utf-8")
    assert sorted(path.name for path in out.parent.iterdir()) == ["report.html", "report.md"]
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(LakeError, match=r"folder\.html: the report cannot be written"):
        render_report(lake, "s", tmp_path / "folder.html", None, MADE_AT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "folder.html"]


def test_a_missing_view_shows_the_statement(
    lake: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    lake.execute("drop table rpt_coverage")
    with pytest.raises(QueryError, match=r"(?s)rpt_coverage.*select benchmark, judge, status"):
        render_report(lake, "s", tmp_path / "r.html", None, MADE_AT)
    assert not list(tmp_path.iterdir())


def test_figures_are_xml_with_text_and_marks_where_the_values_are() -> None:
    estimates = [
        Dot(SCRIPT, "x_$", 0.25, 0.2, 0.3),
        Dot("b\u202e\n c 模型", "x_$", 0.75, None, None),
        Dot(SCRIPT, "y", 0.5, 0.4, 0.6),
    ]
    root = ElementTree.fromstring(draw_estimates(estimates, "rho", "f", span=(0.0, 1.0)))
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {SCRIPT, "b c 模型", "x_$", "y", "rho"} <= set(texts)
    uses = [
        node
        for node in root.iter("{http://www.w3.org/2000/svg}use")
        if node.get("clip-path") is None
    ]
    placed = [
        float(node.get("x", "nan"))
        for node in root.iter("{http://www.w3.org/2000/svg}g")
        for node in node.findall("{http://www.w3.org/2000/svg}use")
    ]
    # of the dots .25, .75 and .5, the last lies half way between the first two
    assert placed[2] == pytest.approx((placed[0] + placed[1]) / 2, abs=0.01)
    assert len(uses) >= 2  # the legend's


def test_figures_of_one_page_do_not_depend_on_the_time() -> None:
    counts = {"j": {"ok": 3, "failed": 1}, "k": {"ok": 4}, "none": {}}
    assert draw_statuses(counts, "f") == draw_statuses(counts, "f")
    assert "currentColor" in draw_statuses(counts, "f")


def test_labels_are_short_printable_lines() -> None:
    assert shorten_label("a" * 50) == "a" * 39 + "…"
    assert shorten_label("a\x00\u202eb\n\tc") == "ab c"


def test_pivot_keeps_the_usual_order_of_statuses() -> None:
    rows = [
        {"benchmark": "b", "judge": "j", "status": status, "n": 1}
        for status in ("zebra", "failed", "ok")
    ]
    assert pivot_coverage(rows).statuses == ("ok", "failed", "zebra")


def test_names_between_backticks_are_code_and_nothing_is_markup() -> None:
    assert (
        _mark_code("`*` pools <b> `a&b`") == "<code>*</code> pools &lt;b&gt; <code>a&amp;b</code>"
    )
