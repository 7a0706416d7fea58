"""Runs of metrics through the command: one that cannot run here, and what the others come to all
the same.
"""

from pathlib import Path

import pytest

from tests.flows.harness import shell_in, write_benchmark
from tests.metrics.programs import install_script, needs_java

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_prefect")]

SUITE = """
name: small
benchmarks:
  small: {source: vqa, questions: questions.json, references: annotations.json, answers: "results_{model}.json"}
metrics: [meteor, exact_match, cider, {metric: bleu, order: 1, style: sacrebleu, alias: bleu1_sacre}]
judges:
  lave: {protocol: lave, backend: standin}
"""


@needs_java
def test_a_metric_that_cannot_run_is_reported_and_all_else_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_benchmark(tmp_path, 20)
    (tmp_path / "suite.yaml").write_text(SUITE)
    install_script(tmp_path / "java", "echo Error: no memory >&2; exit 3")
    run, lake = (
        ("run", str(tmp_path / "suite.yaml"), "--lake", str(tmp_path / "lake")),
        tmp_path / "lake",
    )
    counts = (
        "select alias, count(*) as n from core_scores where status = 'ok' group by alias "
        "order by alias"
    )
    with shell_in(tmp_path) as shell:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
        code, output = shell.run(*run)
        reported = [line for line in output.splitlines() if "METEOR" in line]
        assert (code, len(reported)) == (1, 1), output
        assert reported[0].startswith(
            "judgelake: meteor: METEOR: Java ended with status 3: Error: no memory; expected a "
            "Java "
        )
        assert "Traceback" not in output
        done = {"bleu1_sacre": 40, "cider": 40, "exact_match": 40, "lave": 40}
        assert {row["alias"]: row["n"] for row in shell.select(lake, counts)} == done
        assert (lake / "reports" / "small" / "report.html").exists()
        assert (
            shell.select(
                lake, "select outcome, n_verdicts from core_runs order by ended_at desc limit 1"
            )[0]["outcome"]
            == "failed"
        )
        monkeypatch.delenv("JAVA_HOME")
        code, output = shell.run(*run)
        assert code == 0, output
        assert {row["alias"]: row["n"] for row in shell.select(lake, counts)} == {
            **done,
            "meteor": 40,
        }
        corpora = "select metric, n from rpt_corpus_scores where model = '*' order by metric"
        found = [tuple(row.values()) for row in shell.select(lake, corpora)]
        assert found == [("bleu1_sacre", 40), ("cider", 40), ("exact_match", 40), ("meteor", 40)]
        code, output = shell.run(*run)
        assert code == 0, output
        assert "nothing to do" in output
