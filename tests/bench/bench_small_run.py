"""Wall time and processor time of a run over four answers, whole processes: the first run, one after
an answer was edited, also with a Prefect server that is there and in a command that watches, and one
with nothing to do; inspect_ai and promptfoo beside them.

`python -m tests.bench.bench_small_run`. The peers judge the same answers on the same server.
All are installed as a user installs them: the packages of the tests are not there, of which
pandera imports pandas and hypothesis where it finds them. JUDGELAKE_PYTHON and INSPECT_PYTHON name
a Python that has the one or the other, and PROMPTFOO the program; without them the bench installs
it, promptfoo where npm is there (1.4 GB).
"""

import json
import math
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from judgelake.flows.runners import starting_server
from tests.bench.bench_api import canned_endpoint
from tests.bench.bench_whole_run import PEER, completion, find_inspect, find_python

_RUNS, _ANSWERS = 3, 4
_ROOT = Path(__file__).parents[2]
_PROMPTFOO = "promptfoo@0.121.20"
"""Its last version for Node.js 20."""
_WITHOUT_CALLS_HOME = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}


def main() -> None:
    """Print medians in seconds."""
    with tempfile.TemporaryDirectory() as name, canned_endpoint(0, completion()) as base_url:
        folder = Path(name)
        locked = ["--constraint", str(_ROOT / "infra" / "requirements.lock")]
        python = find_python("JUDGELAKE_PYTHON", folder / "installed", *locked, str(_ROOT))
        kinds = ("first", "edited", "edited, with a server", "edited, watched", "nothing to do")
        judgelake: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
        for number in range(_RUNS):
            place = folder / str(number)
            place.mkdir()
            run = write_suite(place, base_url, python)
            judgelake["first"].append(time_process(run))
            write_answers(place, "an edited cat")
            judgelake["edited"].append(time_process(run))
            judgelake["nothing to do"].append(time_process(run))
            with serving(place / "prefect") as there:
                for answer in ("a cat", "a dog"):  # the server's first answers take longer
                    write_answers(place, answer)
                    took = time_process(run, there)
                judgelake["edited, with a server"].append(took)
            judgelake["edited, watched"].append(time_watched(place, run))
        script = folder / "peer.py"
        script.write_text(PEER)
        peer = [find_inspect(folder / "inspect"), str(script), str(_ANSWERS), str(folder / "logs")]
        keys = {"OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "bench"}
        peers = {"inspect_ai": [time_process(peer, keys) for _ in range(_RUNS)]}
        if program := find_promptfoo(folder / "promptfoo"):
            command = write_promptfoo(folder, base_url, program)
            alone = _WITHOUT_CALLS_HOME | {"PROMPTFOO_CONFIG_DIR": str(folder / "home")}
            peers["promptfoo"] = [time_process(command, alone) for _ in range(_RUNS)]
    for what, times in {
        **{f"judgelake run, {kind}": times for kind, times in judgelake.items()},
        **peers,
    }.items():
        wall, cpu = (median(column) for column in zip(*times, strict=True))
        of_cpu = "" if math.isnan(cpu) else f", {cpu:6.2f} s of processor time"
        print(f"{what:36} {wall:6.2f} s wall{of_cpu}")
    print("goals: 6 s wall and 9 s of processor time for the first run, 4 s wall for an edited one")


def find_promptfoo(folder: Path) -> str | None:
    """The program that PROMPTFOO names, else one that npm installs into `folder`; None without
    npm.
    """
    if named := os.environ.get("PROMPTFOO"):
        return named
    if not (npm := shutil.which("npm")):
        print("promptfoo is not timed: npm, which would install it, is not there")
        return None
    folder.mkdir()
    install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), _PROMPTFOO]
    subprocess.run(install, check=True, capture_output=True)
    return str(folder / "node_modules" / ".bin" / "promptfoo")


def write_promptfoo(folder: Path, base_url: str, program: str) -> list[str]:
    """The command that judges the same answers in promptfoo, by its general grader."""
    grader = {
        "type": "llm-rubric",
        "value": "{{answer}} says the same as {{reference}}, asked: {{question}}",
        "provider": {
            "id": "openai:chat:gpt-bench",
            "config": {"apiBaseUrl": base_url, "apiKey": "bench"},
        },
    }
    answers = [
        {"question": f"What is in photo {n}?", "answer": f"cat {n}", "reference": "a cat"}
        for n in range(_ANSWERS)
    ]
    suite = {
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "defaultTest": {"assert": [grader]},
        "tests": [{"vars": answer} for answer in answers],
    }
    (folder / "promptfoo.json").write_text(json.dumps(suite))
    place = ["-c", str(folder / "promptfoo.json"), "-o", str(folder / "promptfoo_report.json")]
    return [program, "eval", *place, "--no-cache", "--no-progress-bar", "--no-share"]


@contextmanager
def serving(home: Path) -> Iterator[dict[str, str]]:
    """The variables that name a Prefect server, as a user has them."""
    home.mkdir()
    with starting_server(home, settings={}) as wait:
        password = os.environ["PREFECT_API_AUTH_STRING"]
        there = {"PREFECT_API_URL": wait(), "PREFECT_API_AUTH_STRING": password}
        for name in [name for name in os.environ if "PREFECT" in name]:
            del os.environ[name]
        yield there


def time_watched(place: Path, run: Sequence[str]) -> tuple[float, float]:
    """Wall time from an answer's edit to the end of its run, in a command that runs already; its
    processor time is not known (NaN).
    """
    command = [*run, "--watch"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as watching:
        lines = iter(watching.stderr or ())
        for answer in ("a bird", "a fish"):  # the first run imports
            began = time.perf_counter()
            write_answers(place, answer)
            next(line for line in lines if b"Ctrl-C ends" in line)
            took = time.perf_counter() - began
        watching.send_signal(signal.SIGINT)
    return took, math.nan


def write_suite(folder: Path, base_url: str, python: str) -> list[str]:
    """The command that runs the suite written into `folder`."""
    write_answers(folder, "cat 0")
    (folder / "suite.yaml").write_text(
        "name: small\nbenchmarks:\n  photos:\n    source: table\n    file: answers.jsonl\n"
        "    columns: {item_id: id, prompt: q, answer: a, references: ref, model: {constant: m}}\n"
        "judges:\n  lave: {protocol: lave, backend: openai, model: openai/gpt-bench, "
        f"base_url: {base_url}}}\nmetrics: [exact_match, vqa_accuracy]\n"
    )
    place = [str(folder / "suite.yaml"), "--lake", str(folder / "lake")]
    return [python, "-P", "-m", "judgelake.flows.cli", "run", *place]


def write_answers(folder: Path, first: str) -> None:
    """Four answers, the first of them given."""
    rows = [
        {
            "id": f"i{n}",
            "q": f"What is in photo {n}?",
            "a": f"cat {n}" if n else first,
            "ref": ["a cat"] * 10,
        }
        for n in range(_ANSWERS)
    ]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def time_process(
    command: Sequence[str],
    more: Mapping[str, str] = {},  # read only
    *,
    exit_codes: Collection[int] = (0,),
) -> tuple[float, float]:
    """Wall time and processor time of a process and its children, in seconds; raises
    CalledProcessError where it ends with none of `exit_codes`.
    """
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=os.environ | more, check=False, capture_output=True)
    if done.returncode not in exit_codes:
        done.check_returncode()
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
