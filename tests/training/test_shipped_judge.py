"""The trained judge that the package ships: whole, small, and right about scenes that it has not
seen.
"""

from hashlib import sha256
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.suite.examples import read_example
from judgelake.tasks.suite.suite import Scope, read_suite
from tests.conftest import CHECKOUT
from tests.lakes import make_lake, query

FOLDER = CHECKOUT / "tasks" / "demo" / "judge"
SCENES, UNSEEN = "seed: 9, scenes: 20,", "seed: 404, scenes: 24,"
VERDICTS = """
select core_scores.score_0_1 as score, stg_human_ratings.rating as oracle
from core_scores inner join stg_human_ratings using (benchmark, item_id, answer_id)
where core_scores.alias = 'small-vlm' and core_scores.status = 'ok'
"""


def test_its_card_has_the_digest_of_its_weights() -> None:
    card = (FOLDER / "README.md").read_text()
    assert sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest() in card
    assert "/tmp" not in card
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 8_000_000


def test_it_agrees_with_the_oracle_on_unseen_scenes_and_questions(tmp_path: Path) -> None:
    file, text = tmp_path / "demo.yaml", read_example("demo")
    assert SCENES in text
    file.write_text(text.replace(SCENES, UNSEEN))
    suite, lake = read_suite(file), make_lake(tmp_path)
    benchmark = suite.benchmarks["demo-scenes"]
    images = suite.image_root(lake.root)
    ingest_benchmark(lake, benchmark, images, None)
    register_judges(lake, suite)
    (work,) = (
        work
        for work in write_work(lake, suite, Scope(), "run")
        if work.identity.alias == "small-vlm"
    )
    for shard in work.shards:
        judge = suite.judges["small-vlm"]
        run_judge_shard(ShardOrder(lake, "run", judge, work.identity, suite.limits, shard, images))
    rows = query(lake, VERDICTS)
    scores, oracle = (np.array([row[name] for row in rows]) for name in ("score", "oracle"))
    assert len(rows) >= 40
    assert spearmanr(scores, oracle).statistic >= 0.8
