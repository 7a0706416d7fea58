"""Verdicts a second of a whole judge stage (start-up, planning, 400 requests of 200 ms at once,
verdicts durable) beside inspect_ai.

`python -m tests.bench.bench_whole_run [CASES]`. The peer is inspect_ai's `model_graded_qa` over recorded answers on the same server. It is
no dependency of ours: where INSPECT_PYTHON names no interpreter that has it, the bench makes one (`pip install inspect_ai`).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.bench_api import canned_endpoint

_CASES, _PEER_CASES = 20_000, 1_000
_LATENCY_MS, _CONCURRENCY = 200, 400
_TEXT = (
    'GRADE: C. The candidate names the same object. {"reason": "the same", "pass": true, '
    '"score": 1} So rating=3'
)
"""A reply that each of the peers reads as a verdict, too."""
PEER = """
import sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import solver

@solver
def recorded():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("recorded", state.metadata["answer"])
        return state
    return solve

count = int(sys.argv[1])
samples = [Sample(input=f"What is in photo {n}?", target="a cat", metadata={"answer": f"cat {n}"}) for n in range(count)]
started = time.perf_counter()
task = Task(dataset=MemoryDataset(samples), solver=recorded(), scorer=model_graded_qa(model="openai/gpt-bench"))
(log,) = eval(task, model="mockllm/model", display="none", max_connections=400, max_samples=400, log_dir=sys.argv[2])
assert log.status == "success", log.error
print(count / (time.perf_counter() - started))
"""


def main() -> None:
    """Print both rates and their ratio."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else _CASES
    with (
        tempfile.TemporaryDirectory() as name,
        canned_endpoint(_LATENCY_MS, completion()) as base_url,
    ):
        folder = Path(name)
        ours, theirs = _run_judgelake(folder, base_url, cases), _run_inspect(folder, base_url)
    ideal = _CONCURRENCY / _LATENCY_MS * 1000
    print(
        f"judgelake judge, {cases:,} cases: {ours:,.0f} verdicts/s ({ours / ideal:.2f} of "
        f"concurrency / latency)"
    )
    print(
        f"inspect_ai model_graded_qa, {_PEER_CASES:,} samples: {theirs:,.0f}/s; ratio "
        f"{ours / theirs:.1f}x (goal 20x)"
    )


def _run_judgelake(folder: Path, base_url: str, cases: int) -> float:
    rows = (
        {"id": f"i{n}", "q": f"What is in photo {n}?", "a": f"cat {n}", "ref": "a cat"}
        for n in range(cases)
    )
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(
        "name: bench\nbenchmarks:\n  photos:\n    source: table\n    file: answers.jsonl\n"
        "    columns: {item_id: id, prompt: q, answer: a, references: ref, model: {constant: m}}\n"
        f"judges:\n  lave: {{protocol: lave, backend: openai, model: openai/gpt-bench, "
        f"base_url: {base_url}}}\n"
        f"limits: {{concurrency: {_CONCURRENCY}}}\n"
    )
    command = [sys.executable, "-m", "judgelake.flows.cli"]
    place = [str(folder / "suite.yaml"), "--lake", str(folder / "lake")]
    subprocess.run([*command, "ingest", *place], check=True, stdout=subprocess.DEVNULL)
    started = time.perf_counter()
    subprocess.run([*command, "judge", *place], check=True, stdout=subprocess.DEVNULL)
    return cases / (time.perf_counter() - started)


def _run_inspect(folder: Path, base_url: str) -> float:
    python = find_inspect(folder / "inspect")
    script = folder / "peer.py"
    script.write_text(PEER)
    ended = subprocess.run(
        [python, str(script), str(_PEER_CASES), str(folder / "logs")],
        env={**os.environ, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "bench"},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(ended.stdout.split()[-1])


def find_inspect(folder: Path) -> str:
    """A Python that has inspect_ai: INSPECT_PYTHON, else one made in `folder`."""
    return find_python("INSPECT_PYTHON", folder, "inspect_ai==0.3.285", "openai")


def find_python(variable: str, folder: Path, *install: str) -> str:
    """The Python that `variable` names, else one made in `folder` with what `pip install` is
    given.
    """
    if named := os.environ.get(variable):
        return named
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", *install], check=True)
    return str(folder / "bin" / "python")


def completion() -> bytes:
    """An answer with a rating, as the endpoint sends it."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": _TEXT, "refusal": None},
    }
    usage = {"prompt_tokens": 60, "completion_tokens": 20, "total_tokens": 80}
    whole = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-bench",
        "usage": usage,
    }
    return json.dumps({**whole, "choices": [{**choice, "logprobs": None}]}).encode()


if __name__ == "__main__":
    main()
