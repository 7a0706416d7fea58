"""Readings and replays that ask nobody: stored replies read another way, and a whole run answered
from another run's lake.
"""

from pathlib import Path

import pytest

from judgelake.tasks.standin.process import start_standin
from tests.flows.harness import Shell, read_requests, shell_in, write_benchmark, write_suite

pytestmark = pytest.mark.usefixtures("one_prefect")

SUITE = """
name: replayed
images: {folder}/first/images
benchmarks: {{demo: {{source: demo, seed: 7, scenes: 4}}}}
judges:
  lave: {{protocol: lave, {backend}, shots: 2}}
  harmonic: {{protocol: harmonic, {backend}}}
  halves: {{protocol: harmonic, {backend}, gamma: 0.5}}
  sampled: {{protocol: harmonic, {backend}, sampling: 2, temperature: 1.0, seed: 7}}
  reasoning: {{protocol: chirp, {backend}, style: reasoning, extractor: {{{backend}}}}}
  graded: {{protocol: chirp_grading, {backend}, method: cascade}}
report: {{resamples: 100, min_coverage: 0.0}}
"""
NO_KEY = "https://judge.example.invalid/v1"
"""Nobody answers there, no key is set, and no DNS knows the name."""
RESULTS = (
    "select judge_id, reading, item_id, content_digest, criterion, sample, status, rating, "
    "score_0_1, rationale from verdicts order by all",
    "select judge_id, item_id, content_digest, other_digest, criterion, sample, status, "
    "choice, score_a from duels order by all",
)


def reword(suite: Path, *changes: tuple[str, str]) -> None:
    text = suite.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    suite.write_text(text)


def ratings(shell: Shell, lake: Path, judge: str) -> list[dict[str, object]]:
    return shell.select(
        lake,
        f"select item_id, answer_id, status, rating from core_scores where alias = '{judge}' "
        f"order by all",
    )


@pytest.mark.full
def test_a_changed_reading_of_stored_replies_asks_nobody(tmp_path: Path) -> None:
    """LAVE's rating as the expectation over its probabilities, from replies that a judge who sees
    them gave; then one answer is new.
    """
    write_benchmark(tmp_path, 10)
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with shell_in(tmp_path) as shell:
        with start_standin(log=log) as standin:
            suite = write_suite(tmp_path, standin.base_url)
            reword(suite, ("max_attempts: 3", "max_attempts: 3, rating: weighted, top_logprobs: 5"))
            code, output = shell.run("run", str(suite), "--lake", str(lake))
            assert code == 0, output
            weighted = ratings(shell, lake, "lave")
            reword(suite, (standin.base_url, NO_KEY), ("rating: weighted", "rating: last"))
        asked = len(read_requests(log))
        code, output = shell.run("reread", str(suite), "--lake", str(lake))
        assert code == 0, output
        assert "reread: lave 20 of 20 cases from stored replies" in output
        assert "0 calls, 20 replies reused, 20 verdicts" in output
        last = ratings(shell, lake, "lave")
        assert len(last) == 20
        assert last != weighted  # 3, 2 or 1 in the place of expectations such as 2.86
        assert {row["rating"] for row in last} <= {1.0, 2.0, 3.0}
        assert len(shell.select(lake, "select distinct reading, judge_id from verdicts")) == 2
        assert len(shell.select(lake, "select distinct judge_id from verdicts")) == 1
        code, output = shell.run("reread", str(suite), "--lake", str(lake))
        assert (code, "reread: lave 0 of 0 cases" in output) == (0, True), output

        (tmp_path / "results_m3.json").write_text(
            (tmp_path / "results_m1.json").read_text().replace("a dog", "a hyena")
        )
        assert shell.run("ingest", str(suite), "--lake", str(lake))[0] == 0
        code, output = shell.run("reread", str(suite), "--lake", str(lake), "--judge", "lave")
        assert code == 3, output
        assert (
            "left: lave 2 cases whose replies are not in the lake" in output
        )  # the other eight repeat the first model's
        assert shell.count(lake, "select count(*) from verdicts where status <> 'ok'") == 0
        assert len(read_requests(log)) == asked
        assert [
            row["stage"] for row in shell.select(lake, "select stage from runs order by started_at")
        ][-1] == "reread+report"


@pytest.mark.full
def test_any_run_is_replayed_from_its_lake(tmp_path: Path) -> None:
    """Log-probabilities, several criteria, readings, draws, pairs in both orders, two models, a
    cascade: all as they were, none asked.
    """
    first, second, suite = tmp_path / "first", tmp_path / "second", tmp_path / "suite.yaml"
    with shell_in(tmp_path) as shell:
        suite.write_text(SUITE.format(folder=tmp_path, backend="backend: standin"))
        code, output = shell.run("run", str(suite), "--lake", str(first))
        assert code == 0, output
        cassette = f"backend: replay, model: standin/rules, cassette: {first}"
        suite.write_text(SUITE.format(folder=tmp_path, backend=cassette))
        code, output = shell.run("run", str(suite), "--lake", str(second))
        assert code == 0, output
        for query in RESULTS:
            assert shell.select(first, query) == shell.select(second, query) != []
        assert {
            str(row["status"])
            for row in shell.select(second, "select distinct status from verdicts")
        } == {"ok"}
        counts = "select count(*) from replies"
        assert shell.count(second, counts) == shell.count(first, counts)
