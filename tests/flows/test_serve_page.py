"""Prefect's page behind `judgelake serve`, in a real Chromium: it asks for the password once."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.flows.harness import HANG_S, shell_in, wait_until, write_benchmark, write_suite

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium"),
]


class Served(NamedTuple):
    """A deployment's page, and the password made for its server."""

    address: str
    password: str


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A suite that is due once a year."""
    write_benchmark(tmp_path, 2)
    suite = write_suite(tmp_path, "http://127.0.0.1:1/v1")
    with shell_in(tmp_path) as shell:
        words = ("--lake", str(tmp_path / "lake"), "--cron", "0 0 1 1 *")
        process = shell.start("serve", str(suite), *words)
        assert wait_until(lambda: "  stop  " in shell.output.read_text(), process), (
            shell.output.read_text()
        )
        said = shell.output.read_text()
        yield Served(
            said.partition("  page  ")[2].split()[0],
            said.partition("the password ")[2].split()[0],
        )
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_S) == 0


def await_deployment(page: Page) -> None:
    """Until the page shows what only the API knows: when the suite is due."""
    expect(page.get_by_text("only in January").first).to_be_visible(timeout=HANG_S * 1000)


def test_the_page_asks_for_the_password_once(served: Served) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context()
        page = context.new_page()
        page.goto(served.address)
        asked = page.locator("input[type=password]")
        asked.fill(served.password, timeout=HANG_S * 1000)
        answers: list[tuple[int, str]] = []
        context.on("response", lambda given: answers.append((given.status, given.url)))
        asked.press("Enter")
        await_deployment(page)
        # again, and in another tab of the same browser
        page.reload()
        await_deployment(page)
        other = context.new_page()
        other.goto(served.address)
        await_deployment(other)
        for shown in (page, other):
            assert urlsplit(shown.url).path == urlsplit(served.address).path
            assert shown.locator("input[type=password]").count() == 0
        from_api = [status for status, url in answers if urlsplit(url).path.startswith("/api/")]
        assert len(from_api) > 3
        assert [answer for answer in answers if answer[0] >= 400] == []
        # another browser has not been given it
        page = browser.new_context().new_page()
        page.goto(served.address)
        expect(page.locator("input[type=password]")).to_be_visible(timeout=HANG_S * 1000)
        browser.close()
