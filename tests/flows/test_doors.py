"""What a run's own server and workers answer to others: another process without this run's
credential, a page of another site, a name that points here.
"""

import http.client
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from distributed import Client, Security

from judgelake.flows import prefect_server
from judgelake.flows.runners import local_cluster, starting_server
from tests.flows.harness import HANG_S, wait_until
from tests.flows.services import ask

NOBODY = 65534
"""Debian's user without rights."""


_MODULE = "judgelake.tasks.backends.openai.client"


def _has_loaded(client: Client) -> bool:
    """Whether the worker that asks endpoints has loaded the module by which it does, unasked."""
    answers = client.run(lambda: _MODULE in sys.modules)
    return sorted(answers.values()) == [False, True]


@pytest.mark.full
def test_workers_talk_to_their_own_run_only() -> None:
    with local_cluster(clients=[_MODULE]) as (address, security):
        with Client(address, security=security) as client:  # type: ignore[no-untyped-call]
            assert client.submit(sum, [1, 2]).result(HANG_S) == 3
            assert wait_until(lambda: _has_loaded(client))
            workers = [str(worker) for worker in client.scheduler_info()["workers"]]
        assert len(workers) == 2
        listening = {
            connection.laddr.ip
            for process in [psutil.Process(), *psutil.Process().children(recursive=True)]
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }
        assert listening == {"127.0.0.1"}
        for place in (address, *workers):
            assert place.startswith("tls://127.0.0.1:")
            with pytest.raises(OSError, match=r"(?i)certificate|verify"):
                Client(place, security=Security.temporary(), timeout=HANG_S)  # type: ignore[no-untyped-call]
            with pytest.raises(OSError, match=r"(?i)closed|reset|timed out"):
                Client(place.replace("tls://", "tcp://"), timeout=5)  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of a run's server and the password made for it."""
    with (
        pytest.MonkeyPatch.context() as patch,
        starting_server(tmp_path_factory.mktemp("prefect")) as wait,
    ):
        password = os.environ["PREFECT_API_AUTH_STRING"]
        patch.delenv("PREFECT_API_AUTH_STRING")
        yield wait(), password


def post(url: str, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str]]:
    """The status and headers of a POST without a password."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=HANG_S)
    connection.request("POST", f"{place.path}{path}", "{}", headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}


@pytest.mark.full
def test_the_server_asks_for_the_password(server: tuple[str, str]) -> None:
    url, _ = server
    assert post(url, "/deployments/filter", {"content-type": "application/json"})[0] == 401


@pytest.mark.full
def test_another_user_of_the_machine_is_refused(server: tuple[str, str]) -> None:
    """A real process of another user, which sees every command line."""
    url, password = server
    setpriv = shutil.which("setpriv")
    if setpriv is None or psutil.Process().uids().real != 0:
        pytest.skip("changing to another user needs root and util-linux's setpriv")
    code = (
        "import urllib.request, urllib.error\n"
        f"request = urllib.request.Request({url + '/deployments/filter'!r}, b'{{}}')\n"
        f"try:\n    print(urllib.request.urlopen(request, timeout={HANG_S}).status)\n"
        "except urllib.error.HTTPError as error:\n    print(error.code)\n"
    )
    words = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    ended = subprocess.run(
        [*words, "/usr/bin/python3", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert ended.stdout == "401\n"
    commands = [
        " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    ]
    assert [command for command in commands if password in command] == []


@pytest.mark.full
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80"])
def test_a_name_that_points_here_is_refused(server: tuple[str, str], host: str) -> None:
    status, _ = post(server[0], "/deployments/filter", {"host": host})
    assert status == 400


@pytest.mark.full
def test_only_the_server_s_own_page_may_read_its_answers(server: tuple[str, str]) -> None:
    url = server[0]
    own = url.removesuffix("/api")
    asked = {"access-control-request-method": "POST"}
    for origin, allowed in ((own, own), ("http://evil.example", None)):
        _, headers = post(url, "/deployments/filter", {"origin": origin, **asked})
        assert headers.get("access-control-allow-origin") == allowed


PAGE = """<!doctype html><title>waiting</title><script>
fetch("{url}/deployments/filter", {{method: "POST", body: "{{}}",
  headers: {{"content-type": "application/json"}}}})
  .then(answer => answer.text())
  .then(text => {{ document.title = "read " + text }})
  .catch(error => {{ document.title = "refused" }})
</script>"""


@pytest.mark.full
def test_a_page_of_another_site_reads_nothing(server: tuple[str, str], tmp_path: Path) -> None:
    """In a real Chromium: the page's own request to the server fails."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed; apt-get install chromium")
    page = PAGE.format(url=server[0]).encode()

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        words = [chromium, "--headless", "--no-sandbox", "--disable-gpu"]
        words += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=10000", "--dump-dom"]
        shown = subprocess.run(
            [*words, f"http://127.0.0.1:{site.server_port}/"],
            capture_output=True,
            text=True,
            check=True,
            timeout=HANG_S,
        ).stdout
        site.shutdown()
    assert "<title>refused</title>" in shown


@pytest.mark.full
def test_with_the_password_the_server_answers(server: tuple[str, str]) -> None:
    url, password = server
    assert ask(url, "/deployments/filter", password=password) == []


def test_a_server_for_other_machines_needs_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_SERVER_API_AUTH_STRING", raising=False)
    monkeypatch.setattr("sys.argv", ["prefect_server", "0.0.0.0:1"])
    with pytest.raises(SystemExit, match="set PREFECT_SERVER_API_AUTH_STRING"):
        prefect_server.main()
