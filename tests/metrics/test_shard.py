"""A metric's shard from its file to scores in the lake; the numbers are each metric's own tests'."""

from pathlib import Path

from tasks.lake import Lake
from tasks.metrics.shard import ScoreOrder, run_metric_shard
from tasks.planning import find_work, register_judges, write_work
from tasks.suite import Scope, Suite
from tests.lakes import answer, digest_of, ingest, item, make_lake, make_suite, query

SUITE = make_suite(metrics=("exact_match",))
ITEMS = [item("i0"), item("i1", references=("dog", "puppy")), item("i2", references=())]


def score(lake: Lake, suite: Suite, run_id: str) -> int:
    register_judges(lake, suite)
    works = write_work(lake, suite, Scope(), run_id)
    return sum(run_metric_shard(ScoreOrder(lake, run_id, work.identity, file)) for work in works for file in work.shards)


def test_every_answer_is_scored_once_and_a_score_that_cannot_be_has_its_reason(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer("i0", "cat"), answer("i0", "dog", "m2"), answer("i1", "puppy"), answer("i2", "x")])
    assert score(lake, SUITE, "run-1") == 4
    rows = query(lake, "select item_id, model, status, score_0_1, reason from core_scores order by item_id, model")
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
    rows = query(lake, "select content_digest, score, run_id from stg_metric_scores where item_id = 'i0' order by run_id")
    assert [tuple(row.values()) for row in rows] == [
        (digest_of(ITEMS[0], "cat"), 1.0, "run-1"),
        (digest_of(ITEMS[0], "a tree"), 0.0, "run-2"),
    ]
