"""The rows behind the numbers: which are on the page, with what, and how a number leads to them."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from judgelake.tasks.errors import BackendError
from judgelake.tasks.reports.page import rows as page_rows
from judgelake.tasks.reports.page.failure_facets import link_failure
from judgelake.tasks.reports.page.render import render_report
from judgelake.tasks.reports.page.rows import PageRows, link_record, link_rows
from tests.reports.page.test_render import (
    MADE_AT,
    SCRIPT,
    add_answer,
    add_human,
    add_score,
    insert_named,
    lake,  # noqa: F401  # fixtures
    section_views,  # noqa: F401
)

PIXEL = "data:image/png;base64," + base64.b64encode(b"a picture").decode()


def unpack(packed: bytes) -> Any:
    return json.loads(gzip.decompress(packed))


def read_signs(signs: str, n_bytes: int) -> bytes:
    """The bytes behind characters of 15 bits."""
    bits = "".join(f"{ord(sign) - 0x100:015b}" for sign in signs)
    return bytes(int(bits[8 * k : 8 * k + 8], 2) for k in range(n_bytes))


def read_page(page: Path) -> tuple[Any, list[Any]]:
    """The index, and the details of all cases."""
    inside = re.findall(r'id="rows-(\w+)">([^<]*)<', page.read_text())
    packed = {name: base64.b64decode(text) for name, text in inside}
    if not packed:
        script = re.compile(r'judgelakeRows\("(\w+)", (\d+), "([\u0100-\u80ff]+)"\);\n')
        for file in (page.parent / "rows").glob("*.js"):
            match = script.fullmatch(file.read_bytes().decode("utf-16"))
            assert match
            assert match[1] == file.stem
            packed[match[1]] = read_signs(match[3], int(match[2]))
    index = unpack(packed.pop("index"))
    return index, [case for k in range(len(packed)) for case in unpack(packed[str(k)])]


def fill(connection: duckdb.DuckDBPyConnection, n: int = 3) -> None:
    for k in range(n):
        add_answer(
            connection, str(k), text=f"{SCRIPT} {k}", images=[{"uri": "a.png", "sha256": "5a" * 32}]
        )
        add_score(connection, str(k), "lave", k / max(1, n - 1), rationale=f"because {k}")
        add_human(connection, str(k), 1.0)
    add_score(connection, "0", "metric:m|v:1", None, reason="no references", reading="m")
    insert_named(
        connection,
        "stg_verdicts",
        {"judge_id": "id", "reading": "r", "benchmark": "vqa", "item_id": "i1", "sample": 0,
         "content_digest": "d1", "criterion": "correctness", "reply_digests": ["q"]},
    )  # fmt: skip
    insert_named(
        connection,
        "stg_replies",
        {"judge_id": "id", "request_digest": "q", "draw": 0, "text": f"3 {SCRIPT}", "cost_usd": 0.5,
         "resolved_model": "gpt", "finish_reason": "stop",
         "top_logprobs": [[{"token": "1", "logprob": -3.0}, {"token": "3", "logprob": -0.5}]]},
    )  # fmt: skip


def test_a_case_has_its_texts_verdicts_replies_and_probabilities(
    lake: duckdb.DuckDBPyConnection,  # noqa: F811
    tmp_path: Path,
) -> None:
    fill(lake)
    out = render_report(lake, "s", tmp_path / "report.html", None, MADE_AT, encode=lambda *_: PIXEL)
    index, details = read_page(out)
    assert index["judge"] == ["lave", "metric:m|v:1"]
    assert [case[:6] for case in index["cases"]] == [
        [0, f"i{k}", str(k), 0, None, -1] for k in range(3)
    ]
    assert index["rows"]["score"] == [0, -1, 500, 1000]
    assert index["rows"]["people"] == [1000] * 4
    assert index["cases"][1][8] == f"{SCRIPT} 1"  # short enough to be whole in the index
    assert details[1]["answer"] is None
    reply = [f"3 {SCRIPT}", index["replier"].index("gpt"), index["finish"].index("stop"), 0.5,
             [[["3", 607], ["1", 50]]], None]  # fmt: skip
    assert details[1]["verdicts"] == [[0, None, "because 1", None, [reply]]]
    assert details[0]["verdicts"][1] == [0, None, None, "no references", []]
    assert details[0]["image"] == "rows/5a5a5a5a5a5a5a5a5a5a5a5a.png"
    assert (tmp_path / details[0]["image"]).read_bytes() == b"a picture"


def test_an_image_that_cannot_be_read_or_is_elsewhere_is_left_out(
    lake: duckdb.DuckDBPyConnection,  # noqa: F811
    tmp_path: Path,
) -> None:
    def fail(uri: str, sha256: str) -> str:
        raise BackendError("gone")

    fill(lake)
    for encode in (fail, lambda *_: "https://example.org/a.png", None):
        out = render_report(lake, "s", tmp_path / "report.html", None, MADE_AT, encode=encode)
        assert read_page(out)[1][0]["image"] is None


def test_a_pair_has_both_answers_and_the_replies_of_its_order(
    lake: duckdb.DuckDBPyConnection,  # noqa: F811
    tmp_path: Path,
) -> None:
    add_answer(lake, "a1", text="left", model="m1")
    add_answer(lake, "b1", text="right", model="m2")
    lake.execute("update core_answers set item_id = 'i'")
    for shown, choice in (("a", "b"), ("b", "a")):
        pair = {"benchmark": "vqa", "item_id": "i", "criterion": "overall", "sample": 0}
        insert_named(
            lake,
            "core_duels",
            pair | {"judge": "duel", "judge_id": "id", "reading": "r", "answer_a": "a1",
                    "answer_b": "b1", "model_a": "m1", "model_b": "m2", "shown_first": shown,
                    "status": "ok", "choice": choice, "preference_b": float(choice == "b")},
        )  # fmt: skip
        # stored the other way round: the content that is b here is a there
        insert_named(
            lake,
            "stg_duels",
            pair | {"judge_id": "id", "reading": "r", "content_digest": "db1",
                    "other_digest": "da1", "shown_first": "b" if shown == "a" else "a",
                    "reply_digests": [f"q{shown}"]},
        )  # fmt: skip
        insert_named(
            lake,
            "stg_replies",
            {"judge_id": "id", "request_digest": f"q{shown}", "draw": 0, "text": f"{shown} first"},
        )
    index, details = read_page(render_report(lake, "s", tmp_path / "r.html", None, MADE_AT))
    assert index["cases"][0][:6] == [0, "i", "a1", 0, "b1", 1]
    assert index["cases"][0][8:] == ["left", "right"]
    assert index["rows"]["score"] == [1000, 0]
    assert [(rating, replies[0][0]) for _, rating, _, _, replies in details[0]["verdicts"]] == [
        ("a shown first", "a first"),
        ("b shown first", "b first"),
    ]


def test_a_recorded_duel_is_a_row_with_its_reply(
    lake: duckdb.DuckDBPyConnection,  # noqa: F811
    tmp_path: Path,
) -> None:
    """It was recorded as (b1, a1) with b1 first: of the pair (a1, b1), that is b first."""
    add_answer(lake, "a1", text="left", model="m1")
    add_answer(lake, "b1", text="right", model="m2")
    lake.execute("update core_answers set item_id = 'i'")
    pair = {"benchmark": "vqa", "item_id": "i", "criterion": "overall", "sample": 0}
    insert_named(
        lake,
        "stg_recorded_duels",
        pair | {"judge": "gpt", "answer_a": "b1", "answer_b": "a1", "shown_first": "a",
                "status": "ok", "choice": "a", "preference_b": 0.25, "text": f"[[A>B]] {SCRIPT}"},
    )  # fmt: skip
    insert_named(
        lake,
        "core_ordered_choices",
        pair | {"rater": "gpt", "answer_a": "a1", "answer_b": "b1", "model_a": "m1",
                "model_b": "m2", "shown_first": "b", "status": "ok", "choice": "b",
                "preference_b": 0.75},
    )  # fmt: skip
    out = render_report(lake, "s", tmp_path / "r.html", None, MADE_AT)
    index, details = read_page(out)
    assert index["judge"] == ["gpt"]
    assert index["cases"][0][:6] == [0, "i", "a1", 0, "b1", 1]
    assert index["rows"]["score"] == [750]
    assert details[0]["verdicts"] == [[0, "b shown first", f"[[A>B]] {SCRIPT}", None, []]]
    assert "Every verdict and score" in out.read_text()


def test_many_rows_lie_beside_the_page_and_the_furthest_from_people_are_kept(
    lake: duckdb.DuckDBPyConnection,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_rows, "INLINE_BYTES", 10)
    monkeypatch.setattr(page_rows, "CASES_PER_CHUNK", 2)
    monkeypatch.setattr(page_rows, "MOST_ROWS", 4)
    fill(lake, 6)
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "9.js").write_text("of a former report")
    out = render_report(lake, "s", tmp_path / "report.html", None, MADE_AT)
    assert {file.name for file in (tmp_path / "rows").iterdir()} == {"index.js", "0.js", "1.js"}
    index, details = read_page(out)
    assert index["rows"]["score"] == [0, -1, 200, 400]
    assert len(details) == 3
    assert "4 of 7 verdicts and scores" in out.read_text()


def test_a_number_leads_to_its_rows_where_there_are_any() -> None:
    rows = PageRows(frozenset({"lave", "m"}), 1, 1, "", (), 1)
    assert link_rows(rows, "a&b", "lave", "*", None) == "#rows?benchmark=a%26b&judge=lave"
    assert link_rows(rows, "b", "other") == link_rows(None, "b", "lave") == ""
    record = {"benchmark": "b", "metric": "metric:m|v", "model": "x", "criterion": "c d"}
    assert (
        link_record(rows, {"metric:m|v": "m"}, record)
        == "#rows?benchmark=b&judge=m&model=x&criterion=c+d"
    )
    assert link_record(rows, {}, {"benchmark": "*", "judge": "lave"}) == ""
    assert link_record(rows, {}, {"benchmark": "b", "rater": "human:p"}) == ""


def test_rows_know_the_failures_that_hold_of_their_answer(
    lake: duckdb.DuckDBPyConnection,  # noqa: F811
    tmp_path: Path,
) -> None:
    fill(lake)
    missed = {"benchmark": "vqa", "item_id": "i1", "answer_id": "1", "case_kind": "missed"}
    for by, labeller, categories in (
        ("human", None, ["synonym", "same_stem"]),
        ("judge", "why|v:1", ["synonym"]),
        (None, None, []),
    ):
        labelled = {"labelled_by": by, "labeller": labeller, "categories": categories}
        insert_named(lake, "rpt_failure_examples", missed | labelled)
    page = render_report(lake, "s", tmp_path / "report.html", None, MADE_AT)
    index, _ = read_page(page)
    (case,) = [k for k, found in enumerate(index["cases"]) if found[1] == "i1"]
    assert {k: sorted(index["failure"][n] for n in held) for k, held in index["failures"].items()} == {
        str(case): ["missed: same_stem, by human", "missed: synonym, by human", "missed: synonym, by judge why"]
    }  # fmt: skip
    bar = {"case_kind": "missed", "category": "synonym", "labelled_by": "human", "labeller": None}
    link = link_failure(bar | {"n_holds": 1}, "benchmark=vqa")
    assert link == "benchmark=vqa&failure=missed%3A+synonym%2C+by+human"
    assert link_failure(bar | {"n_holds": 0}, "benchmark=vqa") == ""
