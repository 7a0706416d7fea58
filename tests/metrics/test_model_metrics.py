"""Model-based metrics through a lake, as a suite runs them, with tiny models; the numbers are each
metric's own tests'.
"""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.metrics.bart_score import BartScoreSettings, compute_bart_score
from judgelake.tasks.metrics.bert_score import (
    BertScoreSettings,
    compute_bert_score,
    count_documents,
)
from judgelake.tasks.metrics.clip_score import ClipScoreSettings, compute_clip_score
from judgelake.tasks.metrics.settings import MetricSettings
from judgelake.tasks.metrics.shard import run_metric_shard
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.planning.scores import write_scores
from judgelake.tasks.suite.suite import Scope
from tests.lakes import Row, answer, ingest, item, make_lake, make_suite, query
from tests.metrics.models import save_bart, save_bert, save_clip

IMAGE = pa.struct([("uri", pa.string()), ("sha256", pa.string())])


def run(lake: Lake, *metrics: MetricSettings) -> dict[str, list[Row]]:
    """Scores by metric in the order of answers."""
    suite = make_suite(metrics=metrics)
    register_judges(lake, suite)
    for order in write_scores(lake, suite, Scope(), "run"):
        assert run_metric_shard(order).failures == ()
    rows = query(
        lake,
        "select alias, status, score_0_1 as score, reason from core_scores order by alias, "
        "item_id, model",
    )
    return {
        metric.alias: [row for row in rows if row["alias"] == metric.alias] for metric in metrics
    }


def test_bert_score_counts_the_references_of_every_answer(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    references = {"i0": ["the cat sat on the mat", "a cat"], "i1": ["a red dog runs"], "i2": []}
    given = [
        ("i0", "a cat sits", "m1"),
        ("i0", "the dog", "m2"),
        ("i1", "a dog", "m1"),
        ("i2", "two", "m1"),
    ]
    ingest(
        lake,
        [item(key, references=texts) for key, texts in references.items()],
        [answer(*one) for one in given],
    )
    options = BertScoreSettings(str(save_bert(tmp_path / "bert")), layer=2, idf=True)
    bart = BartScoreSettings(str(save_bart(tmp_path / "bart")))
    found = run(
        lake,
        MetricSettings("bert", "bert_score", options),
        MetricSettings("bart", "bart_score", bart),
    )
    texts, lists = (
        pa.array([text for _, text, _ in given]),
        pa.array([references[key] for key, _, _ in given]),
    )
    expected = compute_bert_score(texts, lists, options, count_documents(lists, options)).scores
    plain = compute_bert_score(texts, lists, BertScoreSettings(options.model, layer=2)).scores
    assert [row["score"] for row in found["bert"][:3]] == pytest.approx(
        expected[:3].tolist(), abs=2e-6
    )
    assert np.abs(expected[:3] - plain[:3]).min() > 1e-4  # counting weighs tokens otherwise
    assert [row["score"] for row in found["bart"][:3]] == pytest.approx(
        compute_bart_score(texts, lists, bart).scores[:3].tolist(), abs=2e-6
    )
    assert {(found[name][3]["status"], found[name][3]["reason"]) for name in found} == {
        ("undefined", "the item has no reference answers")
    }


def test_clip_scores_give_the_reason_for_an_absent_score_and_keep_what_they_embed(
    tmp_path: Path,
) -> None:
    lake = make_lake(tmp_path)
    file = lake.mirror / "images" / "a.png"
    file.parent.mkdir()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 30, 3), np.uint8)).save(file)
    shown: Row = {"uri": "a.png", "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    items = [
        {**item(key), "images": images}
        for key, images in (("i0", [shown]), ("i1", []), ("i2", [{"uri": "b.png", "sha256": None}]))
    ]
    items.append({**item("i3", references=()), "images": [shown]})
    ingest(lake, items, [answer(f"i{k}", "a cat") for k in range(4)])
    options = ClipScoreSettings(str(save_clip(tmp_path / "clip")))
    found = run(
        lake,
        MetricSettings("clip", "clip_score", options),
        MetricSettings("ref", "ref_clip_score", options),
    )
    expected = compute_clip_score(
        pa.array(["a cat"]), pa.array([shown], IMAGE), options, file.parent
    ).scores[0]
    assert [row["score"] for row in found["clip"]] == [
        pytest.approx(expected, abs=1e-6),
        None,
        None,
        pytest.approx(expected, abs=1e-6),
    ]
    reasons = [row["reason"] for row in found["ref"]]
    assert reasons == [
        None,
        "the item has no image",
        "the image is missing",
        "the item has no reference answers",
    ]
    assert query(lake, "select count(distinct encoder) as encoders from embeddings") == [
        {"encoders": 2}
    ]
