"""The reports of real benchmarks as somebody opens them, in headless Chromium: nothing goes wrong,
nothing is asked of a network, every link leads somewhere, and the questions of a morning take a few
clicks.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.flows.harness import shell_in

CHROMIUM = shutil.which("chromium")
SUITES = ("demo", "alpaca_eval", "wildvision")
WIDTHS = (390, 1280, 1920)
MOST_PRINTED = 15
MOST_LINKS = 25

pytestmark = [
    pytest.mark.data,
    pytest.mark.full,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture(scope="module", params=SUITES)
def report(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    data_folder: Path,
    prefect_url: str,
) -> Path:
    """The page of a suite's only run."""
    return make_report(
        request.param, tmp_path_factory.mktemp(request.param), data_folder, prefect_url
    )


def make_report(suite: str, folder: Path, data: Path, prefect_url: str) -> Path:
    with shell_in(folder) as shell:
        shell.variables = {"JUDGELAKE_DATA": str(data), "PREFECT_API_URL": prefect_url}
        code, output = shell.run("run", suite, "--lake", str(folder / "lake"))
        assert code == 0, output
    return folder / "lake" / "reports" / suite / "report.html"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test where something goes wrong in it, or leaves the disk."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    yield opened
    context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "about:", "blob:", "data:"))] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_the_window(page: Page, report: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints_on_few_pages(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    assert page.pdf().count(b"/Type /Page\n") < MOST_PRINTED


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Page, report: Path, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(report.as_uri())
    violations = Axe().run(page).response["violations"]
    serious = [
        (v["id"], [node["html"][:200] for node in v["nodes"][:3]])
        for v in violations
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_links_lead_to_sections_files_and_rows(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    links = page.eval_on_selector_all("a[href]", "all => all.map(a => a.getAttribute('href'))")
    places = {link for link in links if link.startswith("#") and not link.startswith("#rows?")}
    assert places
    assert [link for link in places if page.locator(f"[id='{link[1:]}']").count() != 1] == []
    beside = {link for link in links if not link.startswith("#")}
    assert [link for link in beside if not (report.parent / link).is_file()] == []

    to_rows = sorted({link for link in links if link.startswith("#rows?")})
    assert bool(to_rows) == (page.locator("#explorer").count() == 1)
    empty = [link for link in to_rows[:: len(to_rows) // MOST_LINKS + 1] if not find(page, link)]
    assert empty == []


def find(page: Page, link: str) -> int:
    """How many rows a link of the page shows."""
    page.evaluate(
        "link => { document.querySelector('#explorer output').textContent = ''; "
        "location.hash = link; }",
        link,
    )
    page.locator("#explorer output", has_text="rows").wait_for()
    return page.locator("tr[data-row]").count()


def test_a_facet_counts_the_rows_that_it_leaves(page: Page, report: Path) -> None:
    page.goto(f"{report.as_uri()}#rows")
    if page.locator("#explorer").count() == 0:
        pytest.skip("this suite's page holds no verdicts")
    page.locator("tr[data-row]").first.wait_for()
    facet = page.locator(".facets a").first
    facet.click()
    page.locator(".facets a[aria-current]").first.wait_for()
    output = page.locator("#explorer output").inner_text()
    shown = int(output.split(" of ")[0].replace(",", ""))
    assert 0 < shown <= int(output.split(" of ")[1].split()[0].replace(",", ""))
    page.locator("tr[data-row]").first.click()
    page.locator(".case").wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".case").count() == 0
