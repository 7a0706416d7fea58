"""The reports of real benchmarks as somebody opens them, in headless Chromium: nothing goes wrong,
nothing is asked of a network, every link leads somewhere, and the questions of a morning take a few
clicks.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.flows.harness import shell_in

CHROMIUM = shutil.which("chromium")
SUITES = {
    "demo": (),
    "okvqa": ("--limit", "150"),
    "harmonic_owleval": ("--limit", "8"),
    "nq301": ("--limit", "150"),
    "alpaca_eval": (),
    "wildvision": (),
}
"""Suite -> options of its run: of the large ones the first items."""
WIDTHS = (390, 1280, 1920)
READY_SUITES = Path(__file__).parents[2] / "infra" / "suites"
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


@pytest.mark.parametrize("suite", SUITES)
def test_the_page_of_a_suite(
    suite: str, browser: Browser, tmp_path: Path, data_folder: Path, prefect_url: str
) -> None:
    """One run and one page for all checks: the runs take most of the time."""
    report = make_report(suite, tmp_path, data_folder, prefect_url)
    checks: list[Callable[[Page, Path], None]] = [
        check_widths,
        check_print,
        check_readers,
        check_links,
        check_facets,
    ]
    for check in [*checks, check_a_morning, check_marks] if suite == "demo" else checks:
        with opened(browser) as page:
            check(page, report)
    if suite == "demo":
        report = make_report(str(change_a_judge(tmp_path)), tmp_path, data_folder, prefect_url)
        with opened(browser) as page:
            check_what_changed(page, report)


def change_a_judge(folder: Path) -> Path:
    """The demo's suite of the next night: LAVE's replies are read by their probabilities."""
    copy = Path(shutil.copytree(READY_SUITES, folder / "suites"))
    suite = copy / "demo.yaml"
    text = suite.read_text()
    former = "backend: standin, top_logprobs: 5}"
    assert text.count(former) == 1
    suite.write_text(text.replace(former, "backend: standin, top_logprobs: 5, rating: weighted}"))
    return suite


def make_report(suite: str, folder: Path, data: Path, prefect_url: str) -> Path:
    with shell_in(folder) as shell:
        shell.variables = {"JUDGELAKE_DATA": str(data), "PREFECT_API_URL": prefect_url}
        options = SUITES.get(suite, ())
        code, output = shell.run("run", suite, "--lake", str(folder / "lake"), *options)
        assert code == 0, output
    (page,) = (folder / "lake" / "reports").glob("*/report.html")
    return page


@contextmanager
def opened(browser: Browser) -> Iterator[Page]:
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


def check_widths(page: Page, report: Path) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(report.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def check_print(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    assert page.pdf().count(b"/Type /Page\n") < MOST_PRINTED


def check_readers(page: Page, report: Path) -> None:
    """What a screen reader and weak eyes need, in light and dark."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.goto(report.as_uri())
        violations = Axe().run(page).response["violations"]
        serious = [
            (v["id"], [node["html"][:200] for node in v["nodes"][:3]])
            for v in violations
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []


def check_links(page: Page, report: Path) -> None:
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


def check_facets(page: Page, report: Path) -> None:
    """A facet counts the rows that it leaves."""
    page.goto(f"{report.as_uri()}#rows")
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


def check_a_morning(page: Page, report: Path) -> None:
    """The questions of a morning, each within three clicks."""
    page.goto(report.as_uri())
    trust = page.locator("#headline .trust").first
    judge = trust.locator("tbody th").first.inner_text()
    answer = page.locator(".answers > div").first.inner_text()
    assert f"the highest agreement with people is {judge}" in answer

    trust.locator("tbody a").first.click()  # its misses, the largest first
    rows = page.locator("tr[data-row]")
    rows.nth(4).wait_for()
    assert judge in rows.first.inner_text()
    rows.first.click()
    picture = page.locator(".case img")
    picture.wait_for()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0

    page.locator("nav a", has_text="Is it biased?").click()
    page.locator("#length summary").click()
    assert judge in page.locator("#length").inner_text()

    ranking = page.locator("#headline table.ranking").first
    assert ranking.locator("tbody th a").count() > 1


def check_marks(page: Page, report: Path) -> None:
    """A point of the reliability diagram leads to the rows of its judge in its tenth."""
    page.goto(report.as_uri())
    link = page.locator("figure a[href*='tenth=']").first.get_attribute("href")
    assert link is not None
    assert find(page, link) > 0
    tenth = page.locator(".facets a[aria-current]", has_text=" to ").inner_text()
    low, high = (100 * float(end) for end in tenth.removeprefix("✓").split()[0:3:2])
    scores = page.eval_on_selector_all(
        "tr[data-row]", "rows => rows.map(r => r.cells[4].innerText)"
    )
    assert all(low <= float(score) <= high for score in scores)

    page.goto(report.as_uri())  # a bar of the failures leads to the answers that it counts
    link = page.locator("figure a[href*='failure=']").first.get_attribute("href")
    assert link is not None
    assert find(page, link) > 0
    assert page.locator(".facets a[aria-current]", has_text="missed: ").count() == 1


def check_what_changed(page: Page, report: Path) -> None:
    """What changed since the last run: the first screen says it, one click leads to the figures
    before and now with their paired test, one more to their rows, and a third opens one.
    """
    page.goto(report.as_uri())
    answer = page.locator(".answers > div", has_text="What changed")
    assert "figures moved by more than chance since the report of" in answer.inner_text()
    assert "lave-standin" in answer.inner_text()
    answer.locator("a").click()
    moved = page.locator("table.changes").first
    row = moved.locator("tbody tr", has_text="lave-standin").first
    assert "answers scored both times" in row.inner_text()
    row.locator("a").first.click()
    page.locator("tr[data-row]").first.wait_for()
    assert "lave-standin" in page.locator("tr[data-row]").first.inner_text()
    page.locator("tr[data-row]").first.click()
    page.locator(".case").wait_for()
