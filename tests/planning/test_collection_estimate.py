"""What a collection costs before it starts: every generation that can follow is counted and priced."""

from pathlib import Path

import pytest

from judgelake.tasks.planning.collection_estimate import (
    OTHER_WORDS,
    RESPONSE_WORDS,
    TOKENS_A_WORD,
    estimate_collection,
)
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.suite import Scope, parse_suite, suite_of_collection
from tests.lakes import make_lake, query


def test_all_that_follows_from_the_images_is_priced(tmp_path: Path) -> None:
    text = """
name: priced
benchmarks:
  scenes: {source: demo, scenes: 4}
collection:
  benchmarks: [scenes]
  backend: openai
  model: openai/made-up
  base_url: "http://127.0.0.1:9/v1"
  price: {input: 2, output: 10}
"""
    suite, lake = suite_of_collection(parse_suite(tmp_path / "s.yaml", text)), make_lake(tmp_path)
    ingest_benchmark(lake, suite.benchmarks["scenes"], lake.root / "images", None)
    found = {row.judge: row for row in estimate_collection(lake, suite, Scope()).judges}
    assert [*found] == ["rubrics", "instructions, to come", "responses, to come"]
    n_rubrics = 3 * 4
    assert found["rubrics"].n_pending == 4
    assert found["instructions, to come"].n_calls == 2 * n_rubrics
    responses = found["responses, to come"]
    assert (responses.n_pending, responses.n_calls) == (2 * n_rubrics, 5 * 2 * n_rubrics)
    words = RESPONSE_WORDS + OTHER_WORDS["responses"]
    assert responses.output_tokens == round(words * TOKENS_A_WORD * responses.n_calls)
    expected = (2 * responses.input_tokens + 10 * responses.output_tokens) / 1e6
    assert responses.cost_usd == pytest.approx(expected)
    assert responses.input_tokens > RESPONSE_WORDS * responses.n_calls  # each shows a reference
    assert query(lake, "select count(*) as n from cases") == [{"n": 0}]
