"""The tutorial of `infra/examples`: its own files and commands, against an endpoint that follows
rules.
"""

import re
from pathlib import Path

import pytest

from judgelake.tasks.standin.process import start_standin
from judgelake.tasks.suite.suite import read_suite
from tests.conftest import CHECKOUT
from tests.flows.harness import shell_in

EXAMPLES = CHECKOUT / "infra" / "examples"


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_own_answers_are_judged_as_the_tutorial_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CHECKOUT)
    blocks = re.findall(r"   ```\n(.*?)   ```", (EXAMPLES / "README.md").read_text(), re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    commands = [line.removeprefix("judgelake ") for line in lines if line.startswith("judgelake ")]
    assert [command.split()[0] for command in commands] == ["ingest", "plan", "run", "sql"]
    (line,) = (line for line in lines if line.startswith("{"))
    assert line.removesuffix("...}") in (EXAMPLES / "own_answers" / "answers.jsonl").read_text()
    with start_standin() as standin, shell_in(tmp_path) as shell:
        for name, value in {
            "OPENAI_BASE_URL": standin.base_url,
            "JUDGELAKE_LAKE": str(tmp_path / "lake"),
            "OPENAI_API_KEY": "none",
            "JUDGE_MODEL": "standin/rules",
        }.items():
            monkeypatch.setenv(name, value)
        for command in commands:
            words = command.split(' "')
            given = words[0].split() + [word.removesuffix('"') for word in words[1:]]
            code, output = shell.run(*given)
            assert code == 0, (command, output)
        rows = shell.select(tmp_path / "lake", "select distinct judge, n from rpt_correlation")
        assert ("lave", 8) in {(row["judge"], row["n"]) for row in rows}


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_answers_are_generated_and_then_judged(tmp_path: Path) -> None:
    """The commands at the head of answers.yaml."""
    file, lake = EXAMPLES / "answers.yaml", str(tmp_path / "lake")
    lines = re.findall(r"^#   judgelake (.+)$", file.read_text(), re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["plan", "answer", "run"]
    with shell_in(tmp_path) as shell:
        for line in lines:
            words = [str(CHECKOUT / word) if "/" in word else word for word in line.split()]
            code, output = shell.run(*words, "--lake", lake)
            assert code == 0, (line, output)
        n_items = shell.count(tmp_path / "lake", "select count(*) from items")
        rows = shell.select(
            tmp_path / "lake",
            "select model, count(*) as n from answers where source_file = 'judgelake answer' "
            "group by all",
        )
        found = {str(row["model"]): row["n"] for row in rows}
        assert found == {"rules": 2 * n_items, "rules-by-task": 3 * n_items}
        judged = "select count(*) from core_scores where status = 'ok' and model = 'rules-by-task'"
        assert shell.count(tmp_path / "lake", judged) > 0


@pytest.mark.parametrize("name", ["local_vlm", "four_judges"])
def test_the_other_suites_are_read(name: str) -> None:
    suite = read_suite(EXAMPLES / f"{name}.yaml")
    assert len(suite.judges) >= 2
