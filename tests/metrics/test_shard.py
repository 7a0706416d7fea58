"""A metric's shard from its file to scores in the lake; the numbers are each metric's own
tests'.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from judgelake.tasks.errors import MetricError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.metrics import registry
from judgelake.tasks.metrics.metric import (
    Counting,
    DocumentSource,
    Metric,
    MetricKind,
    NoOptions,
    Scored,
    without_statistics,
)
from judgelake.tasks.metrics.rows import ScoreRows
from judgelake.tasks.metrics.settings import MetricSettings, name_metric
from judgelake.tasks.metrics.shard import run_metric_shard
from judgelake.tasks.planning.cases import find_work, register_judges
from judgelake.tasks.planning.scores import find_pending, name_ingests, write_scores
from judgelake.tasks.suite.suite import Scope, Suite
from tests.lakes import (
    answer,
    append_records,
    at,
    digest_of,
    ingest,
    item,
    make_lake,
    make_suite,
    query,
    score_row,
    warehouse,
)

SUITE = make_suite(metrics=("exact_match",))
ITEMS = [item("i0"), item("i1", references=("dog", "puppy")), item("i2", references=())]


def score(lake: Lake, suite: Suite, run_id: str) -> int:
    register_judges(lake, suite)
    return sum(
        run_metric_shard(order).n_scores for order in write_scores(lake, suite, Scope(), run_id)
    )


def add_kind(monkeypatch: pytest.MonkeyPatch, metric: Metric) -> MetricSettings:
    """Make `metric` one of the kinds there are."""
    monkeypatch.setitem(
        registry.KINDS.own,
        metric.name,
        MetricKind(metric.name, NoOptions, lambda _options, _documents: metric),
    )
    return MetricSettings(metric.name, metric.name, NoOptions())


def test_every_answer_is_scored_once_and_a_score_that_cannot_be_has_its_reason(
    tmp_path: Path,
) -> None:
    lake = make_lake(tmp_path)
    ingest(
        lake,
        ITEMS,
        [answer("i0", "cat"), answer("i0", "dog", "m2"), answer("i1", "puppy"), answer("i2", "x")],
    )
    assert score(lake, SUITE, "run-1") == 4
    rows = query(
        lake,
        "select item_id, model, status, score_0_1, reason from core_scores order by item_id, model",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("i0", "m1", "ok", 1.0, None),
        ("i0", "m2", "ok", 0.0, None),
        ("i1", "m1", "ok", 1.0, None),
        ("i2", "m1", "undefined", None, "the item has no reference answers"),
    ]
    assert [work.n_pending for work in find_work(lake, SUITE, Scope())] == [0]
    assert score(lake, SUITE, "run-2") == 0


def test_only_an_edited_answer_is_scored_again(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer("i0", "cat"), answer("i1", "puppy")])
    score(lake, SUITE, "run-1")
    ingest(lake, ITEMS, [answer("i0", "a tree"), answer("i1", "puppy")], minute=9)
    assert score(lake, SUITE, "run-2") == 1
    rows = query(
        lake,
        "select content_digest, score, run_id from stg_metric_scores where item_id = 'i0' "
        "order by run_id",
    )
    assert [tuple(row.values()) for row in rows] == [
        (digest_of(ITEMS[0], "cat"), 1.0, "run-1"),
        (digest_of(ITEMS[0], "a tree"), 0.0, "run-2"),
    ]


def test_metrics_with_the_same_rows_left_share_a_shard(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer("i0", "cat"), answer("i1", "puppy")])
    ingest(lake, ITEMS, [answer("i1", "dog")], benchmark="c")
    suite = make_suite(metrics=("exact_match", "token_f1", "vqa_accuracy"), benchmarks=("b", "c"))
    held = name_metric("token_f1").identify(("b", "c"), {})[0].judge_id
    append_records(lake, "metric_scores", [score_row(held, "i0", digest_of(ITEMS[0], "cat"), 1.0)])
    orders = write_scores(lake, suite, Scope(), "run")
    assert [
        (order.answers_file.name, [part.settings.alias for part in order.parts]) for order in orders
    ] == [
        ("scores-b-00-0000.parquet", ["exact_match", "vqa_accuracy"]),
        ("scores-b-01-0000.parquet", ["token_f1"]),
        ("scores-c-00-0000.parquet", ["exact_match", "token_f1", "vqa_accuracy"]),
    ]
    assert [run_metric_shard(order).n_scores for order in orders] == [4, 1, 3]
    assert [one.row_ids.tolist() for one in find_pending(warehouse(lake), suite, Scope())] == [
        [],
        [],
        [],
    ]


def test_shards_are_cut_and_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgelake.tasks.planning.scores.ROWS_PER_SHARD", 2)
    lake = make_lake(tmp_path)
    items = [item(f"i{k}") for k in range(5)]
    ingest(lake, items, [answer(f"i{k}", "cat" if k % 2 else "dog") for k in range(5)])
    assert [
        run_metric_shard(order).n_scores for order in write_scores(lake, SUITE, Scope(), "run")
    ] == [2, 2, 1]
    rows = query(lake, "select item_id, score from metric_scores order by item_id")
    assert [row["score"] for row in rows] == [0.0, 1.0, 0.0, 1.0, 0.0]


def test_a_limit_takes_the_first_items_that_the_metric_is_for(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    items = [item(f"i{k}", task="caption" if k < 2 else "vqa") for k in range(5)]
    ingest(lake, items, [answer(f"i{k}", "cat") for k in range(5)])
    (found,) = find_pending(warehouse(lake), SUITE, Scope(limit=2))
    assert (found.n_wanted, found.row_ids.tolist()) == (2, [2, 3])


def test_a_metric_that_cannot_run_keeps_no_other_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_rows: ScoreRows, _counts: Path | None) -> Scored:
        raise MetricError(
            "Java is missing; expected 1.8 or newer; run apt-get install default-jre-headless"
        )

    broken = add_kind(monkeypatch, Metric("broken", "broken|version:1", ("vqa",), refuse))
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer("i0", "cat")])
    suite = make_suite(metrics=(broken, "exact_match"))
    (order,) = write_scores(lake, suite, Scope(), "run")
    result = run_metric_shard(order)
    assert result.n_scores == 1
    assert result.failures == (
        "broken: Java is missing; expected 1.8 or newer; run apt-get install default-jre-headless",
    )
    assert [len(one.row_ids) for one in find_pending(warehouse(lake), suite, Scope())] == [1, 0]


def test_statistics_are_kept_where_the_score_is_defined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(rows: ScoreRows, _counts: Path | None) -> Scored:
        lengths = np.array([float(len(text)) for text in rows.answers.to_pylist()])
        return Scored(
            np.where(lengths > 1, lengths, np.nan), np.column_stack([lengths, 2 * lengths])
        )

    metric = Metric(
        "length",
        "length|version:1",
        ("vqa",),
        compute,
        ("one", "two"),
        lambda sums: sums[:, 0],
        undefined="too short",
    )
    suite = make_suite(metrics=(add_kind(monkeypatch, metric), "exact_match"))
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer("i0", "cat"), answer("i1", "x")])
    score(lake, suite, "run")
    rows = query(
        lake,
        "select item_id, statistics, score, reason from stg_metric_scores where statistics is "
        "not null or score > 1",
    )
    assert rows == [{"item_id": "i0", "statistics": [3.0, 6.0], "score": 3.0, "reason": None}]
    rows = query(lake, "select item_id, reason from stg_metric_scores where reason is not null")
    assert rows == [{"item_id": "i1", "reason": "too short"}]


def test_a_metric_that_sees_the_image_scores_again_when_the_image_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compute(rows: ScoreRows, _counts: Path | None) -> Scored:
        assert rows.image_root == lake.root / "images"
        assert rows.images is not None
        shown = [
            image["sha256"][0] if image and image["sha256"] else "x"
            for image in rows.images.to_pylist()
        ]
        return without_statistics(
            np.array([float(digit) if digit != "x" else np.nan for digit in shown])
        )

    lake = make_lake(tmp_path)
    metric = Metric("seen", "seen|version:1", ("vqa",), compute, sees_image=True)
    suite = make_suite(metrics=(add_kind(monkeypatch, metric), "exact_match"))
    shown = [
        {**item("i0", image="a.png"), "images": [{"uri": "a.png", "sha256": sha}]}
        for sha in (None, "1" * 64, "2" * 64)
    ]
    for minute, one in enumerate((*shown, shown[1])):
        ingest(lake, [one], [answer("i0", "cat")], minute=minute)
        assert score(lake, suite, f"run-{minute}") == (2, 1, 1, 0)[minute]
        rows = query(
            lake, "select status, score_0_1 as score from core_scores where alias = 'seen'"
        )
        assert rows == [
            {"status": "ok" if minute else "undefined", "score": (None, 1.0, 2.0, 1.0)[minute]}
        ]


def test_scores_of_a_lake_from_before_contexts_and_statistics_stand(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer("i0", "cat")])
    identity = name_metric("exact_match").identify(("b",), {})[0]
    (file,) = append_records(
        lake, "metric_scores", [score_row(identity.judge_id, "i0", digest_of(ITEMS[0], "cat"), 0.5)]
    )
    old = pq.read_table(file).drop_columns(["context_digest", "statistics"])
    pq.write_table(old, file)
    assert score(lake, SUITE, "run") == 0
    assert query(lake, "select score_0_1 as score from core_scores") == [{"score": 0.5}]


# ---- metrics that count in documents first


def count_metric(documents: DocumentSource, name: str) -> Metric:
    """Scores how many documents hold the answer as one of their texts."""

    def count(found: pa.ListArray) -> bytes:
        return "\n".join("|".join(texts) for texts in found.to_pylist()).encode()

    def compute(rows: ScoreRows, counts: Path | None) -> Scored:
        assert counts is not None
        found = [line.split("|") for line in counts.read_text().splitlines()]
        return without_statistics(
            np.array(
                [float(sum(text in texts for texts in found)) for text in rows.answers.to_pylist()]
            )
        )

    return Metric(
        "counted",
        f"counted|df:{name}|version:1",
        ("vqa",),
        compute,
        counting=Counting(documents, count),
    )


def test_a_benchmarks_references_are_counted_a_document_an_answer_whatever_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = MetricKind(
        "counted", NoOptions, lambda _options, name: count_metric(DocumentSource(), name)
    )
    monkeypatch.setitem(registry.KINDS.own, "counted", kind)
    lake = make_lake(tmp_path)
    ingest(
        lake,
        ITEMS,
        [
            answer("i0", "cat"),
            answer("i0", "dog", "m2"),
            answer("i1", "dog"),
            answer("i1", "dog", "m2"),
        ],
    )
    ingest(lake, ITEMS, [answer("i1", "dog")], benchmark="c")
    suite = make_suite(
        metrics=(MetricSettings("counted", "counted", NoOptions()),),
        benchmarks=("b", "c", "never-ingested"),
    )
    orders = write_scores(lake, suite, Scope(limit=1), "run")
    register_judges(lake, suite)
    assert [run_metric_shard(order).n_scores for order in orders] == [2, 1]
    rows = query(
        lake,
        "select benchmark, item_id, answer_id, score_0_1 as score from core_scores where "
        "status = 'ok' order by all",
    )
    # i0's references (cat) are a document for each of its two answers, i1's (dog, puppy) likewise:
    # the same answer of two models counts.
    expected = [("b", "i0", "m1", 2.0), ("b", "i0", "m2", 2.0), ("c", "i1", "m1", 1.0)]
    assert [tuple(row.values()) for row in rows] == expected
    names = query(lake, "select judge, benchmarks from core_judges order by benchmarks")
    assert [row["benchmarks"] for row in names] == [["b"], ["c"]]
    assert len({row["judge"] for row in names}) == 2


def test_a_new_ingest_is_another_corpus(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer("i0", "cat")])
    before = name_ingests(warehouse(lake))
    assert name_ingests(warehouse(lake)) == before
    record = {
        "ingest_id": "b-9",
        "benchmark": "b",
        "source": "given",
        "source_digest": "1",
        "item_limit": None,
    }
    counts = {"n_items": 0, "n_answers": 0, "n_quarantined": 0, "ingested_at": at(9)}
    append_records(lake, "ingests", [{**record, **counts}])
    changed = name_ingests(warehouse(lake))
    assert changed != before
    append_records(lake, "ingests", [{**record, **counts, "item_limit": 3, "ingested_at": at(10)}])
    assert name_ingests(warehouse(lake)) not in (before, changed)
