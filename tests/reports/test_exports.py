"""The report views as files: the rows of the suite's benchmarks, the same in Parquet, CSV and
Markdown, whole or not at all.
"""

import contextlib
import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from judgelake.tasks.errors import LakeError, QueryError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports import exports
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.exports import MARKDOWN_ROWS, drop_former, report_views, write_tables
from tests.lakes import (
    answer,
    append_records,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    make_lake,
    make_suite,
    preference,
    query,
    rating,
    verdict_row,
)

EXPORTED = {
    "rpt_a": "-- grain: one row per benchmark x name\nselect",
    "rpt_b": "-- grain: one row per x\nselect",
    "core_c": "",
}


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    """Two report views of odd values, one of them without a benchmark; a view of another layer is
    not exported.
    """
    monkeypatch.setattr(exports, "view_texts", lambda: EXPORTED)
    with duckdb.connect(config={"preserve_insertion_order": False}) as connection:
        connection.execute("set time zone 'UTC'")
        odd = (
            "'b' as benchmark, 'x|\\y' || chr(10) || ', \"z\"' as name, 1/3::double as "
            "value, null::double as nothing"
        )
        at = (
            "timestamptz '2026-03-01 13:00:00+01:00' as at, [1.5, null] as given, {'k': 'é'} "
            "as reported, true as holds"
        )
        connection.execute(
            f"create view rpt_a as select {odd}, {at} union all by name select 'c' as "
            f"benchmark, 'a' as name"
        )
        connection.execute(
            "create view rpt_b as select (2500 - i)::int as x, 'w' || i as word from "
            "range(2500) as t(i)"
        )
        yield connection


def export_tables(
    connection: duckdb.DuckDBPyConnection, folder: Path, benchmarks: Sequence[str]
) -> None:
    """As a report does."""
    with contextlib.ExitStack() as whole:
        write_tables(connection, folder, benchmarks, whole)
    drop_former(folder)


def read_csv(file: Path) -> list[list[str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def test_each_view_is_three_files_of_the_chosen_benchmarks(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    export_tables(connection, tmp_path, ["b"])
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        f"{view}.{form}" for view in ("rpt_a", "rpt_b") for form in ("csv", "md", "parquet")
    ]
    (row,) = pq.read_table(tmp_path / "rpt_a.parquet").to_pylist()
    assert (row["benchmark"], row["value"], row["given"], row["reported"]) == (
        "b",
        1 / 3,
        [1.5, None],
        {"k": "é"},
    )
    assert pq.read_table(tmp_path / "rpt_b.parquet").num_rows == 2500


def test_csv_has_all_digits_iso_times_and_nested_values_as_json(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    export_tables(connection, tmp_path, ["b"])
    header, row = read_csv(tmp_path / "rpt_a.csv")
    cells = dict(zip(header, row, strict=True))
    assert (cells["name"], float(cells["value"]), cells["nothing"]) == ('x|\\y\n, "z"', 1 / 3, "")
    assert cells["at"] == "2026-03-01T12:00:00.000000Z"
    assert (json.loads(cells["given"]), json.loads(cells["reported"]), cells["holds"]) == (
        [1.5, None],
        {"k": "é"},
        "true",
    )


def test_csv_gives_a_spreadsheet_no_formula(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    connection.execute(
        "create or replace view rpt_b as "
        "select 'b' as benchmark, -1 as x, '=HYPERLINK(1)' as link, '-1' as text, 'a=b' as sum"
    )
    export_tables(connection, tmp_path, ["b"])
    header, row = read_csv(tmp_path / "rpt_b.csv")
    assert dict(zip(header, row, strict=True)) == {
        "benchmark": "b",
        "x": "-1",
        "link": "'=HYPERLINK(1)",
        "text": "'-1",
        "sum": "a=b",
    }


def test_no_file_gives_a_terminal_a_command(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    escape = "'=é' || chr(27) || '[2Jgone' || chr(155) || chr(127) || chr(13) || chr(10)"
    connection.execute(
        f"create or replace view rpt_b as select {escape} as text, [{escape}] as texts"
    )
    export_tables(connection, tmp_path, ["b"])
    _, row = read_csv(tmp_path / "rpt_b.csv")
    assert row[0] == "'=é\\x1b[2Jgone\\x9b\\x7f\r\n"
    assert json.loads(row[1]) == ["=é\x1b[2Jgone\x9b\x7f\r\n"]
    for form in ("csv", "md"):
        text = (tmp_path / f"rpt_b.{form}").read_text(encoding="utf-8")
        assert "gone" in text
        assert not {"\x1b", "\x9b", "\x7f"} & {*text}


def test_rows_are_sorted_by_their_columns(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    export_tables(connection, tmp_path, ["c", "b"])
    assert [row[0] for row in read_csv(tmp_path / "rpt_b.csv")[1:]] == [
        str(x) for x in range(1, 2501)
    ]
    assert [row[0] for row in read_csv(tmp_path / "rpt_a.csv")] == ["benchmark", "b", "c"]


def test_markdown_escapes_and_says_what_it_leaves_out(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    export_tables(connection, tmp_path, ["b"])
    lines = (tmp_path / "rpt_a.md").read_text(encoding="utf-8").splitlines()
    assert lines[:3] == ["# rpt_a", "", "one row per benchmark x name"]
    assert lines[-1].startswith(
        '| b | x\\|\\\\y , "z" | 0.333333 |  | 2026-03-01T12:00:00.000000Z | [1.5,null] |'
    )
    lines = (tmp_path / "rpt_b.md").read_text(encoding="utf-8").splitlines()
    assert (
        lines[4]
        == "The first 1,000 of 2,500 rows; all of them are in `rpt_b.csv` and `rpt_b.parquet`."
    )
    assert (len(lines) - 8, lines[8], lines[-1]) == (
        MARKDOWN_ROWS,
        "| 1 | w2499 |",
        "| 1000 | w1500 |",
    )


def test_files_of_former_views_go(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "rpt_former.csv").write_text("x")
    (tmp_path / "rpt_a.csv").write_text("former")
    export_tables(connection, tmp_path, ["b"])
    assert not (tmp_path / "rpt_former.csv").exists()
    assert read_csv(tmp_path / "rpt_a.csv")[0][0] == "benchmark"


def test_a_view_that_fails_leaves_the_former_file(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    export_tables(connection, tmp_path, ["b"])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    connection.execute(
        "create or replace view rpt_a as select 'b' as benchmark, error('no more') as name"
    )
    with pytest.raises(QueryError, match=r"rpt_a: cannot be exported: .*no more"):
        export_tables(connection, tmp_path, ["b"])
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_written_is_refused(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    (tmp_path / "tables").write_text("a file")
    with pytest.raises(LakeError, match="cannot be written"):
        export_tables(connection, tmp_path / "tables", ["b"])


# ---- the files of a report


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, Path]:
    """A lake of two benchmarks with the report of a suite of one of them."""
    lake = make_lake(tmp_path_factory.mktemp("built"))
    items, answers = [item("i0")], [answer("i0", "cat"), answer("i0", "dog", "m2")]
    for benchmark in ("b", "c"):
        people = [preference("i0", "m1", "m2", "a")]
        ingest(
            lake, items, answers, [rating("i0", 1.0)], benchmark=benchmark, human_preferences=people
        )
    append_records(lake, "quarantine", [{
        "benchmark": "b", "ingest_id": "b-0", "table_name": "answers", "source_file": "a|b.csv", "locator": "line 7",
        "column_name": None, "value": None, "reason": "bad", "remedy": "mend it",
    }])  # fmt: skip
    return lake, Path(str(build_report(lake, make_suite())))


def test_a_report_has_every_report_view_beside_it(built: tuple[Lake, Path]) -> None:
    lake, page = built
    names = {f"{view}.{form}" for view in report_views() for form in ("parquet", "csv", "md")}
    assert {file.name for file in (page.parent / "tables").iterdir()} == names
    assert {"rpt_metrics.csv", "rpt_win_rate.md"} <= names
    expected = query(
        lake, "select model_a, win_rate from rpt_win_rate where benchmark = 'b' order by all"
    )
    found = pq.read_table(page.parent / "tables" / "rpt_win_rate.parquet").to_pylist()
    assert (
        [{name: row[name] for name in ("model_a", "win_rate")} for row in found] == expected != []
    )
    assert {row["benchmark"] for row in found} == {"b"}
    assert "| b | a\\|b.csv | bad |" in (page.parent / "tables" / "rpt_quarantine.md").read_text()


def test_a_page_that_fails_leaves_the_former_files(
    built: tuple[Lake, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, page = built
    before = {file: file.read_bytes() for file in (page.parent / "tables").iterdir()}
    monkeypatch.setattr("judgelake.tasks.reports.build.render_report", raise_full)
    with pytest.raises(LakeError, match="no room"):
        build_report(lake, make_suite())
    assert {file: file.read_bytes() for file in (page.parent / "tables").iterdir()} == before


def raise_full(*_: object) -> None:
    raise LakeError("no room")


def test_the_page_links_to_the_files(built: tuple[Lake, Path]) -> None:
    _, page = built
    text = page.read_text(encoding="utf-8")
    links = [
        f'href="tables/{view}.{form}"'
        for view in report_views()
        for form in ("parquet", "csv", "md")
    ]
    assert [link for link in links if link not in text] == []


def test_a_report_shows_its_suite_s_own_judges_and_recorded_ones(tmp_path: Path) -> None:
    """Another suite's judge of the same name is not in it, and does not change the name."""
    lake = make_lake(tmp_path)
    row = item("i0")
    recorded = {
        "item_id": "i0",
        "answer_id": "m1",
        "judge": "gpt",
        "criterion": "correctness",
        "sample": 0,
        "status": "ok",
    }
    recorded |= {"rating": 1.0, "scale_low": 0.0, "scale_high": 1.0, "text": None, "reason": None}
    ingest(lake, [row], [answer("i0", "cat")], [rating("i0", 1.0)], recorded_verdicts=[recorded])
    own, other = "a" * 16, "b" * 16
    append_records(
        lake,
        "judges",
        [
            judge_row("lave", own),
            judge_row("lave", other, suite="t"),
            judge_row("x", "c" * 16, suite="t"),
        ],
    )
    for judge_id in (own, other, "c" * 16):
        append_records(lake, "cases", [case_row(judge_id, "i0", digest_of(row, "cat"))])
        append_records(lake, "verdicts", [verdict_row(judge_id, "i0", digest_of(row, "cat"), 3)])
    page = build_report(lake, make_suite()).read_text(encoding="utf-8")
    tables = lake.root / "reports" / "s" / "tables"
    assert pq.read_table(tables / "rpt_judges.parquet").select(
        ["judge", "alias", "signature"]
    ).to_pylist() == [
        {"judge": "gpt", "alias": "gpt", "signature": "recorded:gpt"},
        {"judge": "lave", "alias": "lave", "signature": f"call {own}"},
    ]
    assert {
        line["judge"] for line in pq.read_table(tables / "rpt_coverage.parquet").to_pylist()
    } == {"gpt", "lave"}
    kappas = pq.read_table(tables / "rpt_kappas.parquet").to_pylist()
    assert {line[side] for line in kappas for side in ("rater_a", "rater_b")} == {
        "gpt",
        "lave",
        "human:p1",
    }
    assert f"call {own}" in page
    assert f"call {other}" not in page
