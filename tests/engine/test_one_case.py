"""How many functions of our own one judged case passes, from planning to its verdict row."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.standin.process import start_standin
from judgelake.tasks.suite.suite import Scope
from tests.conftest import CHECKOUT
from tests.lakes import answer, ingest, item, lave_judge, make_lake, make_suite, query

MOST_FUNCTIONS, MOST_FILES = 40, 12
FEW, MANY = 4, 24
"""Cases of two runs: what the longer one calls 20 times more often is called for each case."""

Function = tuple[str, str]


def count_calls(work: Callable[[], None]) -> Counter[Function]:
    """How often each of the project's functions is called by `work` and the threads it starts, by
    file and name.
    """
    calls: Counter[Function] = Counter()
    ours = tuple(f"{CHECKOUT / folder}/" for folder in ("flows", "schemas", "tasks"))

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        # comprehensions and generator expressions are frames of their own in Python 3.11
        is_part = code.co_name in ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
        if event == "call" and code.co_filename.startswith(ours) and not is_part:
            calls[code.co_filename, code.co_qualname] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls


def count_run(folder: Path, n_cases: int, base_url: str) -> Counter[Function]:
    """Plan and judge so many answers with LAVE over HTTP, and count."""
    lake, suite = make_lake(folder), make_suite(lave_judge("lave"))
    numbers = [*map(str, range(n_cases))]
    ingest(
        lake,
        [item(number, prompt=f"What is {number}?") for number in numbers],
        [answer(number, f"cat {number}") for number in numbers],
    )

    def run() -> None:
        register_judges(lake, suite)
        (work,) = write_work(lake, suite, Scope(), "first")
        for shard in work.shards:
            run_judge_shard(
                ShardOrder(
                    lake,
                    "first",
                    suite.judges["lave"],
                    work.identity,
                    suite.limits,
                    shard,
                    suite.image_root(lake.root),
                    base_url,
                )
            )

    calls = count_calls(run)
    (row,) = query(lake, "select count(*) as n from stg_verdicts where status = 'ok'")
    assert row["n"] == n_cases
    return calls


def test_one_judged_case_passes_few_functions(tmp_path: Path) -> None:
    standin = start_standin()
    try:
        for name in ("warm", "few", "many"):
            (tmp_path / name).mkdir()
        count_run(tmp_path / "warm", 1, standin.base_url)  # what is made once a process
        few = count_run(tmp_path / "few", FEW, standin.base_url)
        many = count_run(tmp_path / "many", MANY, standin.base_url)
    finally:
        standin.close()
    passed = sorted(name for name in many if many[name] - few[name] >= MANY - FEW)
    listed = "\n".join(f"{file.removeprefix(f'{CHECKOUT}/')} {name}" for file, name in passed)
    assert len(passed) > 10, "the profiler saw too little"
    assert len(passed) <= MOST_FUNCTIONS, listed
    assert len({file for file, _ in passed}) <= MOST_FILES, listed
