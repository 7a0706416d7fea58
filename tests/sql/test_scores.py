"""The queries that plan and sum metric scores, as given and expected rows."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.stats.resampling import key_clusters
from judgelake.tasks.warehouse.warehouse import keep_result, select_file, select_frame
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    digest_of,
    ingest,
    item,
    make_lake,
    metric_row,
    query,
    score_row,
    warehouse,
)

B, M = "b" * 16, "c" * 16
WANTED = {
    "benchmarks": ["b"],
    "tasks": ["vqa"],
    "item_limit": None,
    "sees_image": False,
    "judge_id": M,
}
PICTURE = "5" * 64


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def number_rows(lake: Lake, *benchmarks: str) -> pl.DataFrame:
    """Fill `wanted_scores` of the lake's warehouse."""
    keep_result(
        warehouse(lake),
        "queries/wanted_scores.sql",
        "wanted_scores",
        {"benchmarks": list(benchmarks)},
    )
    return select_frame(warehouse(lake), "select * from wanted_scores order by row_id", "test")


def pending(lake: Lake, **more: object) -> list[tuple[Any, ...]]:
    """Item and whether its score is to be computed, of each wanted score."""
    rows = number_rows(lake, "b")
    found = select_file(warehouse(lake), "queries/pending_scores.sql", {**WANTED, **more})
    return rows.join(found, on="row_id").sort("row_id").select("item_id", "is_pending").rows()


# ---- wanted_scores, pending_scores


def test_wanted_scores_are_contents_in_order(lake: Lake) -> None:
    one, two = item("i1", image="1.png"), item("i0", task="caption")
    shown = {
        **one,
        "images": [{"uri": "1.png", "sha256": PICTURE}, {"uri": "2.png", "sha256": "6" * 64}],
    }
    ingest(
        lake,
        [shown, two],
        [answer("i1", "x"), answer("i1", "x", "m2"), answer("i1", "y", "m3"), answer("i0", "x")],
    )
    ingest(lake, [item("i9")], [answer("i9", "x")], benchmark="a")
    ingest(lake, [item("i9")], [answer("i9", "x")], benchmark="c")
    rows = (
        number_rows(lake, "b", "a")
        .select("benchmark", "item_id", "task", "content_digest", "image_digest")
        .rows()
    )
    digests = sorted(digest_of(shown, text) for text in "xy")
    assert rows == [
        ("a", "i9", "vqa", digest_of(item("i9"), "x"), "none"),
        ("b", "i0", "caption", digest_of(two, "x"), "none"),
        ("b", "i1", "vqa", digests[0], PICTURE[:16]),
        ("b", "i1", "vqa", digests[1], PICTURE[:16]),
    ]


def test_a_score_is_pending_where_the_metric_has_none_for_the_content(lake: Lake) -> None:
    items = [item(f"i{number}") for number in range(4)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in reversed(range(4))])
    digest = digest_of(items[0], "x")  # the four items are alike but for their ids
    append_records(lake, "metric_scores", [
        score_row(M, "i0", digest, 1.0), score_row(M, "i1", digest, None), score_row(B, "i2", digest, 1.0),
        score_row(M, "i3", digest_of(items[3], "an old answer"), 1.0),
    ])  # fmt: skip
    assert pending(lake) == [("i0", False), ("i1", False), ("i2", True), ("i3", True)]
    assert pending(lake, item_limit=3) == [("i0", False), ("i1", False), ("i2", True)]
    assert pending(lake, tasks=["caption"]) == []


def test_a_metric_that_sees_the_image_needs_a_score_of_that_image(lake: Lake) -> None:
    items = [
        {**item(f"i{n}"), "images": [{"uri": "1.png", "sha256": sha}]}
        for n, sha in enumerate((PICTURE, PICTURE, None))
    ]
    ingest(lake, items, [answer(f"i{n}", "x") for n in range(3)])
    digest = digest_of(items[0], "x")
    contexts = {"i0": PICTURE[:16], "i1": "6" * 16, "i2": "none"}
    append_records(
        lake,
        "metric_scores",
        [score_row(M, key, digest, 1.0, context_digest=sha) for key, sha in contexts.items()],
    )
    assert pending(lake, sees_image=True) == [("i0", False), ("i1", True), ("i2", False)]
    assert pending(lake) == [("i0", True), ("i1", True), ("i2", True)]


# ---- score_rows, reference_documents


def test_score_rows_hold_what_metrics_read(lake: Lake) -> None:
    shown = {
        **item("i1", references=("cat", "cat")),
        "images": [{"uri": "1.png", "sha256": PICTURE}],
    }
    ingest(
        lake, [item("i0"), shown], [answer("i0", "x"), answer("i1", "y"), answer("i1", "y", "m2")]
    )
    number_rows(lake, "b")
    warehouse(lake).register("chosen_rows", pa.table({"row_id": [1]}))
    rows = select_file(warehouse(lake), "queries/score_rows.sql").to_dicts()
    warehouse(lake).unregister("chosen_rows")
    assert rows == [
        {
            "benchmark": "b", "item_id": "i1", "content_digest": digest_of(shown, "y"), "image_digest": PICTURE[:16], "answer": "y",
            "references": ["cat", "cat"], "image": {"uri": "1.png", "sha256": PICTURE},
        }
    ]  # fmt: skip


def test_reference_documents_are_one_an_answer(lake: Lake) -> None:
    items = [
        item("i0"),
        item("i1", references=("dog", "puppy")),
        item("i2", task="caption"),
        item("i3"),
    ]
    answers = [answer("i0", "x"), answer("i0", "x", "m2"), answer("i1", "y"), answer("i2", "z")]
    ingest(lake, items, answers)
    found = select_file(
        warehouse(lake), "queries/reference_documents.sql", {"benchmark": "b", "tasks": ["vqa"]}
    )
    assert sorted(found["references"].to_list()) == [["cat"], ["cat"], ["dog", "puppy"]]


# ---- corpus_sums, rpt_corpus_scores


def corpus_sums(lake: Lake) -> list[tuple[Any, ...]]:
    parameters = {"benchmark": "b", "tasks": ["vqa"], "judge_id": M}
    return select_file(warehouse(lake), "queries/corpus_sums.sql", parameters).rows()


def test_statistics_are_summed_by_model_and_cluster(lake: Lake) -> None:
    append_records(lake, "judges", [metric_row("m", M)])
    items = [item(f"i{n}", image=f"{n // 2}.png") for n in range(4)]
    ingest(
        lake,
        items,
        [
            answer(f"i{n}", "x", model)
            for n in range(4)
            for model in ("m1", "m2")
            if (n, model) != (3, "m2")
        ],
    )
    digest = digest_of(items[0], "x")
    numbers: dict[str, list[float] | None] = {"i0": [1.0, 10.0], "i1": [2.0, 20.0], "i2": None}
    scores: list[Row] = [
        score_row(M, key, digest, 0.5 if found else None, statistics=found)
        for key, found in numbers.items()
    ]
    append_records(lake, "metric_scores", scores)
    # model, cluster, position, n, n_missing, total; i2 is undefined, i3 not scored yet
    assert corpus_sums(lake) == [
        ("m1", 0, 1, 2, 0, 3.0), ("m1", 0, 2, 2, 0, 30.0), ("m1", 1, 1, 0, 2, 0.0),
        ("m2", 0, 1, 2, 0, 3.0), ("m2", 0, 2, 2, 0, 30.0), ("m2", 1, 1, 0, 1, 0.0),
    ]  # fmt: skip


def test_a_metric_without_statistics_sums_its_scores(lake: Lake) -> None:
    items = [item("i0"), item("i1"), item("i2", task="caption")]
    ingest(lake, items, [answer(f"i{n}", "x") for n in range(3)])
    append_records(
        lake,
        "metric_scores",
        [score_row(M, f"i{n}", digest_of(items[0], "x"), 0.25 * (n + 1)) for n in range(3)],
    )
    # clusters are numbered by their keys
    first, second = np.argsort(key_clusters(["b/i0", "b/i1", "b/i2"]).argsort())[:2].tolist()
    expected = [("m1", first, 1, 1, 0, 0.25), ("m1", second, 1, 1, 0, 0.5)]
    assert corpus_sums(lake) == sorted(expected)


def corpus_row(suite: str, model: str, value: float, minute: float) -> Row:
    row: Row = {
        "suite": suite,
        "benchmark": "b",
        "judge": "metric:x",
        "metric": "x",
        "model": model,
        "n": 1,
        "n_missing": 0,
    }
    row |= {
        "n_clusters": 1,
        "value": value,
        "low": None,
        "high": None,
        "n_undefined": 0,
        "resamples": 9,
        "seed": 0,
    }
    return {**row, "reported_at": at(minute)}


def test_the_last_report_of_any_suite_counts(lake: Lake) -> None:
    rows = [
        corpus_row("s", "*", 0.1, 1),
        corpus_row("s", "m1", 0.2, 1),
        corpus_row("s", "*", 0.3, 2),
        corpus_row("t", "*", 0.4, 3),
    ]
    append_records(lake, "corpus_scores", rows)
    found = query(lake, "select suite, model, value from stg_corpus_scores order by suite")
    assert [tuple(row.values()) for row in found] == [("s", "*", 0.3), ("t", "*", 0.4)]
    assert [row["value"] for row in query(lake, "select * from rpt_corpus_scores")] == [0.4]
