"""`judgelake view` and `judgelake open`: the lake's page in a real browser, and who is refused."""

import http.client
import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from judgelake.flows.view.questions import SqlQuestion
from judgelake.tasks.errors import QueryError
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.leases import hold_leases
from judgelake.tasks.lake.storage import write_whole
from judgelake.tasks.planning.cases import plan_file
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.runs.log import log_file
from judgelake.tasks.runs.record import record_run
from tests.bucket_server import SECRET, Bucket
from tests.flows.harness import HANG_S, Shell, shell_in, wait_until
from tests.lakes import (
    answer,
    append_records,
    digest_of,
    ingest,
    item,
    make_lake,
    make_suite,
    metric_row,
    score_row,
)

HOSTILE = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
POLL_MS = 5000
"""The page asks for news at least as often."""
CHROMIUM = shutil.which("chromium")
REPORT = """<!doctype html><html lang="en"><head><title>waiting</title></head>
<body>
<p>What lave is worth</p>
<script src="rows/1.js"></script>
<script>
fetch("/api/lake").then(() => { document.title = "asked" }, () => { document.title = "refused" });
let cookies = "none", opened = null;
try { cookies = document.cookie } catch { cookies = "out of reach" }
try { opened = window.open("/") } catch {}
document.body.dataset.seen = `${cookies}, ${opened}, chunk ${window.chunk}`;
</script></body></html>
"""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")


class Served(NamedTuple):
    """A lake that is being served: `address` holds the token."""

    lake: Lake
    address: str
    shell: Shell

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]


def fill_lake(folder: Path) -> Lake:
    lake = make_lake(folder)
    question = item("q1", prompt=HOSTILE)
    ingest(lake, [question], [answer("q1", HOSTILE), answer("q1", "two", "m2")])
    report = lake.root / "reports" / "nightly"
    (report / "rows").mkdir(parents=True)
    (report / "report.html").write_text(REPORT)
    (report / "rows" / "1.js").write_text("window.chunk = 1;")
    (report / "outside").symlink_to(folder)
    return lake


@contextmanager
def serve(folder: Path, lake: Lake) -> Iterator[Served]:
    with shell_in(folder) as shell:
        process = shell.start("view", "--lake", str(lake.root))
        assert wait_until(lambda: "Ctrl-C" in shell.output.read_text(), process), (
            shell.output.read_text()
        )
        address = shell.output.read_text().partition("page  ")[2].split()[0]
        yield Served(lake, address, shell)
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_S) == 0
        assert shell.list_left() == []


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("view")
    with serve(folder, fill_lake(folder / "lake")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    """The lake's page; nothing may go wrong in it, and no request may leave this machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(served.address)
    opened.locator("#pages a").first.wait_for()
    yield opened
    title = opened.title()
    context.close()
    assert wrong == []
    assert title.endswith("judgelake lake")
    home = urlsplit(served.address)
    places = (f"{home.scheme}://{home.netloc}/", "blob:", "about:")
    assert [url for url in asked if not url.startswith(places)] == []


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


def request(
    served: Served,
    path: str,
    question: object = None,
    headers: dict[str, str] | None = None,
    *,
    token: str | None = None,
) -> Answer:
    """One request with the token, or with another one; a question is posted as JSON."""
    place = urlsplit(served.address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=HANG_S)
    given = {"Authorization": f"Bearer {served.token if token is None else token}"}
    body = None if question is None else json.dumps(question)
    kind = {} if body is None else {"Content-Type": "application/json"}
    connection.request("POST" if body else "GET", path, body, given | kind | (headers or {}))
    answered = connection.getresponse()
    text = answered.read().decode()
    connection.close()
    return Answer(
        answered.status, {name.lower(): value for name, value in answered.getheaders()}, text
    )


def ask(served: Served, query: str, **more: object) -> Answer:
    return request(served, "/api/sql", {"query": query, **more})


@needs_chromium
def test_a_statement_is_answered_and_saved(page: Page) -> None:
    assert "token" not in page.url
    page.locator("#query").fill("select model, text from answers order by model")
    page.keyboard.press("Control+Enter")
    page.locator("#found td").first.wait_for()
    assert page.locator("#found tbody tr").count() == 2
    assert HOSTILE in page.locator("#found").inner_text()
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.suggested_filename == "rows.csv"
    assert saved.value.path().read_text().splitlines()[0] == "model,text"


@needs_chromium
def test_a_mistake_is_shown_and_a_view_is_found_by_its_name(page: Page) -> None:
    page.locator("#query").fill("select modle from answers")
    page.get_by_role("button", name="Run").click()
    page.locator("#wrong").wait_for()
    assert "modle" in page.locator("#wrong").inner_text()
    assert page.locator("#found").is_hidden()
    page.locator("#find").fill("scores_with_people")
    assert page.locator("#query").input_value() == "from scores_with_people limit 100"
    page.keyboard.press("Enter")
    page.locator("#found th").first.wait_for()
    assert page.locator("#wrong").is_hidden()


@needs_chromium
def test_a_recipe_shows_its_options(page: Page) -> None:
    page.locator("#find").fill("largest_differences")
    page.locator("#options [data-option]").first.wait_for()
    page.keyboard.press("Enter")
    page.locator("#found th").first.wait_for()


@needs_chromium
def test_a_run_in_progress_is_followed(page: Page, served: Served) -> None:
    lake = served.lake
    with (
        record_run(lake, make_suite(), "r1", ("judge",)),
        hold_leases(lake, ["judge-x"], "run r1 of s", 0, print),
    ):
        folder = plan_file(lake, "r1").parent
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plan.json").write_text('{"lave": 60, "chirp": 40}')
        (folder / "lave-0000.progress.json").write_text('{"cases": 30}')
        log = log_file(lake, "r1")
        log.parent.mkdir(exist_ok=True)
        log.write_text('{"at": "x", "run_id": "r1", "step": "ingest", "seconds": 1.5, "rows": 7}\n')
        page.clock.install()
        page.reload()
        page.get_by_text("30 of 100 cases judged").wait_for()
        assert "ingest, 1.5 s: rows 7" in page.locator(".steps").inner_text()
        (folder / "chirp-0000.progress.json").write_text('{"cases": 12}')
        page.clock.fast_forward(POLL_MS)
        page.get_by_text("42 of 100 cases judged").wait_for()
    page.clock.fast_forward(POLL_MS)
    page.get_by_text("Nothing is running.").wait_for()


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_and_can_be_read(page: Page, scheme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.get_by_role("button", name="Run").click()
    page.locator("#outcome").get_by_text("rows").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = Axe().run(page).response["violations"]
    assert [v["id"] for v in violations if v["impact"] in ("serious", "critical")] == []


@needs_chromium
def test_a_report_s_script_reaches_neither_the_lake_nor_its_page(
    browser: Browser, served: Served
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address)
    page.locator("#pages a", has_text="nightly").click()
    expect(page).not_to_have_title("waiting")
    assert page.title() == "refused"
    assert page.locator("body").get_attribute("data-seen") == "out of reach, null, chunk 1"
    assert len(context.pages) == 1
    page.get_by_text("All of this lake").click()
    page.locator("#pages a").first.wait_for()
    context.close()


@needs_chromium
def test_a_page_of_another_site_reads_nothing(browser: Browser, served: Served) -> None:
    home = served.address.partition("#")[0]
    script = f"""<!doctype html><title>waiting</title><script>
    fetch("{home}api/lake", {{credentials: "include"}}).then(answer => answer.text())
      .then(text => {{ document.title = "read " + text }}, () => {{ document.title = "refused" }})
    </script>"""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(script.encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    site = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address)  # the browser has the token
    page.goto(f"http://localhost:{site.server_port}/")
    expect(page).not_to_have_title("waiting")
    assert page.title() == "refused"
    context.close()
    site.shutdown()
    site.server_close()


@needs_chromium
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_another_port_gets_no_token(
    browser: Browser, served: Served, host: str
) -> None:
    """Cookies go to all ports of a host."""
    received: list[str] = []

    class Thief(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append(f"{self.path}\n{self.headers}")
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<script>document.title = JSON.stringify({...localStorage})</script>")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    thief = ThreadingHTTPServer(("127.0.0.1", 0), Thief)
    threading.Thread(target=thief.serve_forever, daemon=True).start()
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address.replace("127.0.0.1", host))
    page.locator("#pages a").first.wait_for()
    page.goto(f"http://{host}:{thief.server_port}/")
    expect(page).to_have_title("{}")
    page.go_back()
    page.locator("#pages a").first.wait_for()
    other = context.new_page()
    other.goto(page.url)
    other.locator("#pages a").first.wait_for()  # a new tab has it, too
    context.close()
    thief.shutdown()
    thief.server_close()
    assert received != []
    assert [text for text in received if served.token in text] == []


@needs_chromium
def test_a_browser_without_the_token_is_told_what_to_open(browser: Browser, served: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address.partition("#")[0])
    page.get_by_text("open the address that judgelake view printed").wait_for()
    assert page.locator("#lost").is_hidden()
    assert str(served.lake.root) not in page.content()
    page.goto(served.address)  # only the fragment is another
    page.locator("#pages a").first.wait_for()
    assert "token" not in page.url
    context.close()


@pytest.mark.parametrize("path", ["/", "/view.js", "/view.css"])
def test_what_everybody_gets_holds_nothing_of_the_lake(served: Served, path: str) -> None:
    answered = request(served, path, token="")
    assert answered.status == 200
    for secret in (served.token, str(served.lake.root), reports_at(served)):
        assert secret not in answered.body


@pytest.mark.parametrize("path", ["/api/lake", "/api/catalog", "/api/sql", "/reports/x/y", "/x"])
@pytest.mark.parametrize("token", ["", "wrong", "a" * 32, "\N{LATIN SMALL LETTER E WITH ACUTE}"])
def test_nobody_is_answered_without_the_token(served: Served, path: str, token: str) -> None:
    token = token.encode().decode("latin-1")  # as headers carry it
    answered = request(served, path, token=token)
    assert answered.status == 401
    assert "judgelake view" in answered.body


def test_a_token_that_is_no_text_is_a_wrong_one(served: Served) -> None:
    headers = {"Authorization": "Bearer \xe9"}
    assert request(served, "/api/lake", headers=headers, token="wrong").status == 401
    assert "Traceback" not in served.shell.output.read_text()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
def test_a_name_that_points_here_is_refused(served: Served, host: str) -> None:
    assert request(served, "/api/lake", headers={"Host": host}).status == 403


def test_no_command_line_has_the_token(served: Served) -> None:
    assert [line for line in served.shell.list_commands() if served.token in line] == []
    assert served.shell.list_commands() != []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("copy (select 1) to 'x.csv'", "sql: "),
        ("with x as (copy (select 1) to 'lake.json') select 1", "sql: "),
        ("select * from read_text('/etc/passwd')", "sql: "),
        ("select 1; select 2", "2 statements; expected one"),
        ("", "0 statements; expected one"),
    ],
)
def test_only_one_reading_statement_is_answered(served: Served, query: str, expected: str) -> None:
    answered = ask(served, query)
    assert answered.status == 400
    assert expected in json.loads(answered.body)["error"]
    assert json.loads((served.lake.root / "lake.json").read_text()) == {"format": 1}


@pytest.mark.parametrize(
    "question", [1, [], {}, {"query": 1}, {"query": "\ud800"}, {"query": "x", "options": {"a": "\ud800"}}, {"query": "x", "format": "exe"}, {"query": "x", "options": [1]}]
)  # fmt: skip
def test_a_question_of_another_form_is_explained(served: Served, question: object) -> None:
    answered = request(served, "/api/sql", question)
    assert answered.status == 400
    assert 'expected {"query": TEXT' in json.loads(answered.body)["error"]


def test_a_question_of_any_depth_is_explained() -> None:
    for body in (b"[" * 100_000, b'{"query": "x", "options": {"a": ' + b"[" * 100_000):
        with pytest.raises(QueryError, match="the question is not understood"):
            SqlQuestion.read(body)


def test_a_form_of_another_site_asks_nothing(served: Served) -> None:
    kind = {"Content-Type": "text/plain"}
    assert request(served, "/api/sql", {"query": "select 1"}, kind).status == 415


def test_a_long_question_is_not_read(served: Served) -> None:
    assert ask(served, "x" * 1_000_001).status == 413


def test_rows_are_cut_on_the_page_and_whole_in_a_file(served: Served) -> None:
    query = "select range as n from range(1500)"
    shown = json.loads(ask(served, query).body)
    assert (len(shown["rows"]), shown["is_cut"], shown["columns"]) == (1000, True, ["n"])
    saved = ask(served, query, format="csv")
    assert saved.headers["content-disposition"] == 'attachment; filename="rows.csv"'
    assert len(saved.body.splitlines()) == 1501


def reports_at(served: Served) -> str:
    address: str = json.loads(request(served, "/api/lake").body)["reports_at"]
    return address


@pytest.mark.parametrize(
    "path",
    [
        "nightly/../../lake.json",
        "nightly/%2e%2e/%2e%2e/lake.json",
        "nightly/..%2f..%2flake.json",
        "nightly/outside/lake/lake.json",
        "%2fetc/passwd",
        "nightly/none.html",
        "nightly",
    ],
)
def test_nothing_but_reports_is_shown_as_a_report(served: Served, path: str) -> None:
    answered = request(served, reports_at(served) + path)
    assert answered.status in (401, 404)
    assert "format" not in answered.body


def test_a_report_is_in_a_sandbox(served: Served) -> None:
    answered = request(served, reports_at(served) + "nightly/report.html", token="none")
    assert answered.status == 200
    assert answered.headers["content-security-policy"].startswith("sandbox allow-scripts allow-do")
    assert "All of this lake" in answered.body


def test_the_port_may_be_chosen_and_a_taken_one_is_refused(served: Served) -> None:
    port = str(urlsplit(served.address).port)
    with shell_in(served.shell.folder.parent) as shell:
        code, output = shell.run("view", "--lake", str(served.lake.root), "--port", port)
    assert code == 2
    assert f"--port {port}: cannot be listened on (Address already in use)" in output


def test_the_next_view_removes_what_a_killed_one_left(served: Served, tmp_path: Path) -> None:
    with shell_in(tmp_path) as shell:
        shell.variables["TMPDIR"] = str(tmp_path)
        words = ("view", "--lake", str(served.lake.root), "--no-browser")
        killed = shell.start(*words)
        assert wait_until(lambda: any(tmp_path.glob("judgelake-view-*/open.html")), killed)
        killed.kill()
        killed.wait(HANG_S)
        (left,) = tmp_path.glob("judgelake-view-*")
        following = shell.start(*words)
        assert wait_until(lambda: "Ctrl-C" in shell.output.read_text(), following)
        assert not left.exists()
        following.kill()
        following.wait(HANG_S)


def test_open_names_the_report_or_what_there_is(served: Served, tmp_path: Path) -> None:
    lake = str(served.lake.root)
    with shell_in(tmp_path) as shell:
        code, output = shell.run("open", "--lake", lake, "--no-browser")
        assert (code, output) == (0, f"{lake}/reports/nightly/report.html\n")
        code, output = shell.run("open", "weekly", "--lake", lake, "--no-browser")
        assert code == 1
        assert "has no report of it; expected one of nightly" in output
        code, output = shell.run("open", "--lake", str(make_lake(tmp_path / "empty").root))
        assert code == 2
        assert "has no report yet" in output


@pytest.mark.full
@needs_chromium
def test_a_lake_in_a_bucket_is_shown_as_one_on_a_disk(
    browser: Browser, bucket: Bucket, tmp_path: Path
) -> None:
    """Its report with rows, statements over it, and a run that comes while it is looked at."""
    lake = open_lake(f"{bucket.url}/a/lake", create=True)
    ingest(lake, [item("q1", prompt=HOSTILE)], [answer("q1", HOSTILE), answer("q1", "two", "m2")])
    digests = [digest_of(item("q1", prompt=HOSTILE), text) for text in (HOSTILE, "two")]
    append_records(lake, "judges", [metric_row("acc", "c" * 16)])
    scored = [score_row("c" * 16, "q1", digest, k) for k, digest in enumerate(digests)]
    append_records(lake, "metric_scores", scored)
    build_report(lake, make_suite())
    context = browser.new_context()
    with serve(tmp_path, lake) as served:
        page = context.new_page()
        page.goto(served.address)
        page.locator("#query").fill("select model, text from answers order by model")
        page.keyboard.press("Control+Enter")
        page.locator("#found td").first.wait_for()
        assert page.locator("#found tbody tr").count() == 2
        with (
            record_run(lake, make_suite(), "r1", ("judge",)),
            hold_leases(lake, ["judge-x"], "run r1 of s", 0, print),
        ):
            write_whole(plan_file(lake, "r1").with_name("plan.json"), b'{"lave": 60}')
            write_whole(plan_file(lake, "r1").with_name("a.progress.json"), b'{"cases": 30}')
            page.get_by_text("30 of 60 cases judged").wait_for()
        page.locator("#pages a").first.click()
        page.locator("#explorer").wait_for()
        page.goto(f"{page.url}#rows?model=m2")
        page.locator("tr[data-row]").first.wait_for()
        assert "m2" in page.locator("tr[data-row]").first.inner_text()
        assert SECRET not in page.content()
        context.close()


@pytest.mark.full
def test_another_user_of_the_machine_is_refused(served: Served) -> None:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("changing to another user needs root and util-linux's setpriv")
    address = served.address.partition("#")[0]
    code = (
        "import urllib.request, urllib.error\n"
        f"try:\n    print(urllib.request.urlopen({address + 'api/lake'!r}).status)\n"
        "except urllib.error.HTTPError as error:\n    print(error.code)\n"
    )
    words = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3"]
    ended = subprocess.run(
        [*words, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert ended.stdout == "401\n"
