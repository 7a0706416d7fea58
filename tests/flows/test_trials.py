"""A judge whose replies cannot be read, through the command: what it may cost, how a run ends, and
how the judge is asked again.
"""

import itertools
import json
import re
from pathlib import Path

import pytest

from tests.backends.asking import completion
from tests.backends.batch_server import BatchServer, Json, batch_server, rate
from tests.flows.harness import Shell, shell_in, write_benchmark, write_suite

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_prefect")]
ITEMS = 30
CASES = 2 * ITEMS
LIVE = "POST /v1/chat/completions"


def mumble(_body: Json) -> tuple[int, Json]:
    return 200, completion("I would rather\n\x1b[31mnot say.")


def run(shell: Shell, folder: Path, *words: str) -> tuple[int, str]:
    return shell.run("run", str(folder / "suite.yaml"), "--lake", str(folder / "lake"), *words)


def write_two_judges(folder: Path, server: BatchServer) -> None:
    """Both ask the same server: `lave`, which it answers in riddles, and `twin`, whose model has
    another name.
    """
    write_benchmark(folder, ITEMS)
    file = write_suite(folder, server.base_url)
    text = file.read_text()
    judge = next(line for line in text.splitlines() if line.startswith("  lave:"))
    twin = judge.replace("lave:", "twin:", 1).replace("standin/rules", "standin/twin")
    file.write_text(text.replace(judge, f"{judge}\n{twin}"))


def test_twenty_replies_pause_one_judge_and_the_other_goes_on(tmp_path: Path) -> None:
    """Then a night that asks nothing, and a retry after the model has been mended."""
    lake = tmp_path / "lake"
    with batch_server() as server, shell_in(tmp_path) as shell:
        write_two_judges(tmp_path, server)
        server.live = lambda body: (mumble if body["model"] == "standin/rules" else rate)(body)
        code, said = run(shell, tmp_path)
        assert code == 3, said
        assert (
            "judge lave: paused, 20 of its 20 replies cannot be read (the reply does not end"
            in said
        )
        assert r'a reply of lave: "I would rather\n\x1b[31mnot say."' in said
        assert "ask again with --retry unparsed" in said
        n_paid = server.calls[LIVE]
        by_judge = "select requested_model, count(*) as n from replies group by all order by all"
        assert shell.select(lake, by_judge) == [
            {"requested_model": "standin/rules", "n": 20},
            {"requested_model": "standin/twin", "n": n_paid - 20},
        ]
        in_full = "select count(*) from verdicts semi join judges using (judge_id) where status = "
        assert shell.count(lake, in_full + "'ok'") == CASES
        code, said = run(shell, tmp_path)
        assert (code, server.calls[LIVE]) == (3, n_paid), said
        assert "; 0 calls, " in said
        assert "judge lave: paused, 20 of its 20 replies" in said
        server.live = rate
        code, said = run(shell, tmp_path, "--retry", "unparsed")
        assert code == 0, said
        assert "paused" not in said
        assert shell.count(lake, in_full + "'ok'") == 2 * CASES
        assert server.calls[LIVE] == 2 * (n_paid - 20) + 20


def test_a_first_item_without_references_leaves_the_trial_to_the_next(tmp_path: Path) -> None:
    with batch_server() as server, shell_in(tmp_path) as shell:
        server.live = mumble
        write_suite_without_metrics(tmp_path, server)
        file = tmp_path / "annotations.json"
        given = json.loads(file.read_text())
        given["annotations"][0]["answers"] = []
        file.write_text(json.dumps(given))
        code, said = run(shell, tmp_path)
        assert (code, server.calls[LIVE]) == (3, 20), said
        assert "judge lave: paused, 20 of its 20 replies cannot be read" in said


def test_failures_are_made_up_for_before_a_judge_goes_on(tmp_path: Path) -> None:
    """Three of five requests fail, and nothing else can be read."""
    numbers = itertools.count()

    def mostly_fail(body: Json) -> tuple[int, Json]:
        number = next(numbers)
        broken = 500, {"error": {"message": f"no {number}"}}
        return mumble(body) if number % 5 < 2 else broken

    with batch_server() as server, shell_in(tmp_path) as shell:
        server.live = mostly_fail
        write_suite_without_metrics(tmp_path, server)
        code, said = run(shell, tmp_path)
        assert code == 3, said
        assert "judge lave: paused, 20 of its 20 replies cannot be read" in said
        assert 46 <= server.calls[LIVE] <= 50


def write_suite_without_metrics(folder: Path, server: BatchServer) -> None:
    """Each request of its judge is sent once."""
    write_benchmark(folder, ITEMS)
    file = write_suite(folder, server.base_url)
    text = file.read_text().replace("max_attempts: 3", "max_attempts: 1")
    file.write_text(re.sub("^metrics: .*\n", "", text, flags=re.M))


def test_by_batch_twenty_are_asked_live_first(tmp_path: Path) -> None:
    with batch_server() as server, shell_in(tmp_path) as shell:
        server.live = rate
        write_benchmark(tmp_path, ITEMS)
        file = write_suite(tmp_path, server.base_url)
        file.write_text(file.read_text().replace("max_attempts: 3", "mode: batch"))
        code, said = run(shell, tmp_path)
        assert code == 7, said
        assert server.calls[LIVE] == 20
        n = server.requests.total()
        assert set(server.requests.values()) == {1}
        server.finish()
        code, said = run(shell, tmp_path)
        assert code == 0, said
        assert (server.calls[LIVE], len(server.batches)) == (20, 1)
        ok = "select count(*) from verdicts where status = 'ok'"
        assert shell.count(tmp_path / "lake", ok) == CASES
        assert shell.count(tmp_path / "lake", "select count(*) from replies") == n + 20
