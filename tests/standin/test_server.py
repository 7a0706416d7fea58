import hashlib
import http.client
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from judgelake.tasks.errors import BackendError
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.standin.server import FaultPlan, parse_faults
from tests.backends.asking import rating_request, read_log
from tests.flows.harness import HANG_S, wait_until


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("standin") / "log.jsonl"


@pytest.fixture(scope="module")
def standin(log: Path) -> Iterator[StandinProcess]:
    with start_standin(log=log) as process:
        yield process


def fetch(standin: StandinProcess, method: str, path: str, body: object = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(standin.base_url).netloc, timeout=HANG_S)
    connection.request(method, path, None if body is None else json.dumps(body))
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


def chat(standin: StandinProcess, **body: object) -> tuple[int, Any]:
    prompt = rating_request().messages[0].text
    sent = {"model": "standin/rules", "messages": [{"role": "user", "content": prompt}], **body}
    return fetch(standin, "POST", "/v1/chat/completions", sent)


def test_models_are_listed(standin: StandinProcess) -> None:
    status, listed = fetch(standin, "GET", "/v1/models")
    assert (status, [model["id"] for model in listed["data"]]) == (200, ["standin/rules"])


def test_a_completion_has_its_text_model_and_usage(standin: StandinProcess) -> None:
    status, answer = chat(standin)
    assert status == 200
    assert answer["model"] == "standin/rules"
    assert answer["choices"][0]["message"]["content"].endswith("So rating=3")
    assert answer["choices"][0]["logprobs"] is None
    # 128 characters in fours, rounded up, are more than the 20 words; the reply: 14 words and
    # marks, then So, rating, = and 3
    assert answer["usage"] == {"prompt_tokens": 32, "completion_tokens": 18, "total_tokens": 50}


def test_logprobs_are_a_distribution_where_the_rating_stands_and_near_certain_elsewhere(
    standin: StandinProcess,
) -> None:
    _, answer = chat(standin, logprobs=True, top_logprobs=2)
    *others, rating = answer["choices"][0]["logprobs"]["content"]
    assert [
        (entry["token"], round(math.exp(entry["logprob"]), 9)) for entry in rating["top_logprobs"]
    ] == [
        ("3", 0.90),
        ("2", 0.06),
    ]
    assert all(
        math.exp(position["logprob"]) > 0.99 and len(position["top_logprobs"]) == 1
        for position in others
    )
    assert (
        "".join(p["token"] for p in [*others, rating]) == answer["choices"][0]["message"]["content"]
    )


def test_a_token_limit_cuts_the_reply_off(standin: StandinProcess) -> None:
    _, answer = chat(standin, max_tokens=2)
    assert (answer["choices"][0]["message"]["content"], answer["choices"][0]["finish_reason"]) == (
        "The candidate",
        "length",
    )


def test_content_parts_are_read_and_images_passed_over(standin: StandinProcess) -> None:
    text = {"type": "text", "text": rating_request().messages[0].text}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    _, answer = chat(standin, messages=[{"role": "user", "content": [image, text]}])
    assert answer["choices"][0]["message"]["content"].endswith("=3")


def test_another_model_and_a_bad_body_are_refused(standin: StandinProcess) -> None:
    status, answer = chat(standin, model="gpt-4o")
    assert (status, "gpt-4o" in answer["error"]["message"]) == (404, True)
    assert fetch(standin, "POST", "/v1/chat/completions", [1])[0] == 400
    assert fetch(standin, "POST", "/v1/chat/completions", {"model": "standin/rules"})[0] == 400


def test_each_request_is_in_the_log_before_its_answer_is_out(
    standin: StandinProcess, log: Path
) -> None:
    body = {
        "messages": [{"role": "user", "content": "unique"}],
        "model": "standin/rules",
    }  # keys in sorted order already
    fetch(standin, "POST", "/v1/chat/completions", body)
    fetch(standin, "POST", "/v1/chat/completions", dict(reversed(body.items())))
    canonical = json.dumps(body, separators=(",", ":"), sort_keys=True)
    lines = [
        line
        for line in read_log(log)
        if line["digest"] == hashlib.sha256(canonical.encode()).hexdigest()
    ]
    assert [(line["attempt"], line["status"], line["fault"]) for line in lines] == [
        (1, 200, None),
        (2, 200, None),
    ]
    assert abs(lines[0]["time_s"] - time.time()) < 60


def test_faults_come_as_often_as_planned_and_are_drawn_again_for_each_attempt() -> None:
    plan = FaultPlan({"500": 0.2, "hang": 0.1}, seed=3)
    drawn = [plan.draw(f"d{number}", 1) for number in range(4000)]
    # standard deviations: sqrt(4000 * 0.2 * 0.8) = 25, sqrt(4000 * 0.1 * 0.9) = 19; five of each
    assert abs(drawn.count("500") - 800) < 126
    assert abs(drawn.count("hang") - 400) < 95
    assert drawn == [
        FaultPlan({"500": 0.2, "hang": 0.1}, seed=3).draw(f"d{number}", 1) for number in range(4000)
    ]
    assert drawn != [plan.draw(f"d{number}", 2) for number in range(4000)]
    assert drawn != [
        FaultPlan(plan.chances, seed=0).draw(f"d{number}", 1) for number in range(4000)
    ]


@pytest.mark.parametrize(
    "entries",
    [
        ["explode:0.1"],
        ["200:0.1"],
        ["399:0.1"],
        ["600:0.1"],
        ["500"],
        ["500:x"],
        ["500:0.7", "hang:0.4"],
        ["500:-1"],
    ],
)
def test_a_fault_that_cannot_be_is_refused(entries: list[str]) -> None:
    with pytest.raises(BackendError, match=r"--fault"):
        parse_faults(entries, 0)


def test_statuses_of_errors_are_faults_and_repeated_ones_add_up() -> None:
    assert parse_faults(["400:0.25", "599:0.5", "400:0.25"], 3) == FaultPlan(
        {"400": 0.5, "599": 0.5}, 3
    )


def test_a_standin_that_cannot_start_says_why() -> None:
    with pytest.raises(BackendError, match=r"explode:0\.5.*is no fault"):
        start_standin(faults={"explode": 0.5})


def test_close_ends_the_process_and_may_be_repeated() -> None:
    standin = start_standin()
    standin.close()
    standin.close()
    assert not psutil.pid_exists(standin.pid)


@contextmanager
def parent_of_a_standin(then: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    code = (
        f"import signal, time, judgelake.tasks.standin.process as p; "
        f"print(p.start_standin().pid, flush=True); {then}"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=root, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        try:
            yield parent, pid
        finally:
            parent.kill()


def test_ctrl_c_in_the_terminal_is_left_to_its_parent_and_it_ends_with_that_even_on_kill_9() -> (
    None
):
    waits_for_it = "signal.sigwait([signal.SIGINT]); print('got it', flush=True); signal.pause()"
    blocks_it = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); print(flush=True)"
    with parent_of_a_standin(f"{blocks_it}; {waits_for_it}") as (parent, pid):
        assert parent.stdout is not None
        parent.stdout.readline()  # the signal is blocked by now, so that it waits to be taken
        os.killpg(
            parent.pid, signal.SIGINT
        )  # what a terminal does: the signal goes to the whole group
        assert parent.stdout.readline() == b"got it\n"
        time.sleep(0.5)  # the signal would have ended it by now
        assert is_alive(pid)
    assert ends(pid)


def ends(pid: int) -> bool:
    return wait_until(lambda: not is_alive(pid), pause_s=0.02)


def is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_planning_loads_no_http_client_and_the_stand_in_no_pandera() -> None:
    code = (
        "import sys, judgelake.tasks.backends.base, judgelake.tasks.standin.process; "
        "print(*{'aiohttp', 'openai', 'httpx2'} & set(sys.modules)); "
        "import judgelake.tasks.standin.server; print(*{'pandera', 'pandas'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout == "\n\n"
