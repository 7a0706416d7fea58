"""Judges whose model runs in a worker, in a whole run, beside one behind an endpoint."""

from pathlib import Path

import pytest

from tests.flows.harness import shell_in

pytestmark = pytest.mark.usefixtures("one_prefect")

SUITE = """
name: local
benchmarks:
  demo: {{source: demo, seed: 7, scenes: 40}}
metrics: []
judges:
  lave-standin: {{protocol: lave, backend: standin}}
  lave-llama: {{protocol: lave, backend: transformers, model: {llama}, max_tokens: 4, top_logprobs: 3}}
  likely-t5: {{protocol: likelihood, backend: transformers, model: {t5}}}
  harmonic-llava: {{protocol: harmonic, backend: transformers, model: {llava}, dtype: float32, min_mass: 0}}
report: {{resamples: 100, seed: 7}}
"""


@pytest.mark.full
def test_models_in_a_worker_judge_the_demo(tmp_path: Path) -> None:
    from tests.backends.tiny_models import save_decoder, save_llava, save_t5

    models = {
        "llama": save_decoder(tmp_path / "llama", max_position_embeddings=8192),
        "t5": save_t5(tmp_path / "t5"),
        "llava": save_llava(tmp_path / "llava"),
    }
    suite, lake = tmp_path / "suite.yaml", tmp_path / "lake"
    suite.write_text(SUITE.format(**models))
    with shell_in(tmp_path) as shell:
        given = (str(suite), "--lake", str(lake), "--limit", "3")
        assert shell.run("ingest", *given)[0] == 0
        code, output = shell.run("judge", *given)
        assert code in (0, 3), output  # random weights are seldom read as a rating
        assert shell.list_left() == []
        rows = shell.select(
            lake,
            "select alias, count(*) as n, count(*) filter (status = 'failed') as failed from "
            "core_scores group by alias order by alias",
        )
        assert [row["alias"] for row in rows] == [
            "harmonic-llava",
            "lave-llama",
            "lave-standin",
            "likely-t5",
        ]
        assert all(row["failed"] == 0 and row["n"] for row in rows), rows
        ok = shell.select(
            lake,
            "select count(*) as n from core_scores where status = 'ok' and score_0_1 between 0 "
            "and 1",
        )
        assert int(str(ok[0]["n"])) > 0
        models_seen = shell.select(
            lake, "select distinct split_part(resolved_model, '@files:', 1) as model from replies"
        )
        assert {str(row["model"]) for row in models_seen} >= {str(path) for path in models.values()}
        before = shell.select(lake, "select count(*) as n from replies")
        assert shell.run("judge", *given)[0] in (0, 3)
        assert shell.select(lake, "select count(*) as n from replies") == before
