"""A whole run against a server that others wrote: `transformers serve`, with tiny models made here,
beside the same models in a worker.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.flows.harness import Shell, shell_in, wait_until
from tests.flows.services import answers, free_port, started

pytestmark = pytest.mark.usefixtures("one_prefect")

SUITE = """
name: self-hosted
benchmarks:
  demo: {{source: demo, seed: 7, scenes: 40}}
metrics: []
judges:
  lave-served: {{protocol: lave, backend: openai, model: {llama}, base_url: "{url}/v1", max_tokens: 6, max_attempts: 1, on_unreadable: go on}}
  harmonic-served: {{protocol: harmonic, backend: openai, model: {llava}, base_url: "{url}", max_tokens: 6, max_attempts: 1, on_unreadable: go on}}
  lave-local: {{protocol: lave, backend: transformers, model: {llama}, max_tokens: 6, on_unreadable: go on}}
  harmonic-local: {{protocol: harmonic, backend: transformers, model: {llava}, max_tokens: 6, on_unreadable: go on}}
report: {{resamples: 100, seed: 7}}
"""
STATED = """
select alias, count(*) as n, count(*) filter (status in ('ok', 'unparsed', 'truncated')) as n_stated
from core_scores group by alias order by alias
"""
PAIRS = """
select
    count(*) as n_pairs, count(*) filter (served.text = local.text) as n_equal, count(distinct served.text) as n_texts,
    bool_and(served.prompt_tokens = local.prompt_tokens) as as_long
from raw_replies as served inner join raw_replies as local using (request_digest, draw)
where served.judge_id <> local.judge_id and ends_with(served.resolved_model, '@main')
"""


@contextmanager
def transformers_server(shell: Shell) -> Iterator[tuple[str, Path]]:
    """The address of `transformers serve`, which loads whatever folder a request names, and its
    log.
    """
    port, log = free_port(), shell.folder / "serve.log"
    words = [
        sys.executable,
        "-m",
        "transformers.cli.transformers",
        "serve",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    environment = shell.environment() | {"HF_HUB_OFFLINE": "1", "PATH": os.environ["PATH"]}
    with started([*words, "--device", "cpu"], log, environment):
        url = f"http://127.0.0.1:{port}"
        assert wait_until(lambda: answers(f"{url}/health")), log.read_text()
        yield url, log


@pytest.mark.full
def test_a_server_of_others_judges_the_demo(tmp_path: Path) -> None:
    from tests.backends.tiny_models import CHAT, save_decoder, save_llava

    llama, llava = (
        save_decoder(tmp_path / "llama", chat=CHAT, max_position_embeddings=8192),
        save_llava(tmp_path / "llava"),
    )
    suite, lake = tmp_path / "suite.yaml", tmp_path / "lake"
    given = (str(suite), "--lake", str(lake), "--limit", "2")
    with shell_in(tmp_path) as shell, transformers_server(shell) as (url, log):
        suite.write_text(SUITE.format(url=url, llama=llama, llava=llava))
        code, output = shell.run("run", *given)
        assert code == 3, output  # random weights are seldom read as a rating
        rows = shell.select(lake, STATED)
        assert [row["alias"] for row in rows] == [
            "harmonic-local",
            "harmonic-served",
            "lave-local",
            "lave-served",
        ]
        assert all(row["n"] == row["n_stated"] for row in rows), rows
        assert rows[0]["n"] == rows[1]["n"]
        (pairs,) = shell.select(lake, PAIRS)
        n_asked = log.read_text().count("POST /v1/chat/completions")
        assert (
            pairs["n_pairs"] == pairs["n_equal"] == n_asked
        )  # each in the words that transformers found in the worker, too
        assert pairs["as_long"]
        assert int(str(pairs["n_texts"])) > n_asked / 2
        without = (
            "select distinct alias from raw_replies inner join raw_judges using "
            "(judge_id) where adapted = 'without logprobs'"
        )
        assert shell.select(lake, without) == [
            {"alias": "harmonic-served"}
        ]  # it takes the setting and heeds it not
        assert shell.run("run", *given)[0] == 3
        assert log.read_text().count("POST /v1/chat/completions") == n_asked
