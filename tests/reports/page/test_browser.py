"""The page as somebody uses it, in headless Chromium: rows by clicks and keys, hostile texts, and
what a screen reader needs.
"""

import shutil
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from judgelake.tasks.reports.page import rows as page_rows
from judgelake.tasks.reports.page.render import render_report
from tests.reports.page.test_render import (
    MADE_AT,
    add_answer,
    add_correlation,
    add_human,
    add_score,
    correlation,
    insert_row,
    open_sections,
    section_views,  # noqa: F401  # fixture
)

HOSTILE = "<img src=x onerror=\"document.title='hacked'\"></script><script>document.title='hacked'</script>"
CHROMIUM = shutil.which("chromium")

INSIDE_FIRST = pytest.mark.parametrize(
    "report", ["inside", pytest.param("beside", marks=pytest.mark.full)], indirect=True
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test where something goes wrong in it, or leaves it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    yield opened
    assert opened.title() == "nightly · judgelake report"
    context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith(("file:", "about:", "blob:"))] == []


@pytest.fixture(scope="module", params=["inside", "beside"])
def report(
    request: pytest.FixtureRequest,
    section_views: dict[str, str],  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """The address of a report of two models and two judges, its rows inside or beside the page."""
    out = tmp_path_factory.mktemp(request.param) / "report.html"
    with pytest.MonkeyPatch.context() as patch, open_sections(section_views) as lake:
        if request.param == "beside":
            patch.setattr(page_rows, "INLINE_BYTES", 1)
        for k in range(60):
            of_answer = {"model": f"m{k % 2}", "prompt": HOSTILE}
            add_answer(lake, f"{k:02}", text=f"{HOSTILE} answer {k}", **of_answer)
            add_score(lake, f"{k:02}", "strict", k / 60, rationale=f"{HOSTILE} why {k}")
            add_score(lake, f"{k:02}", "kind", None if k == 7 else 1.0, reason=HOSTILE)
            add_human(lake, f"{k:02}", 1.0)
        lake.execute("update core_scores set model = 'm' || answer_id::int % 2")
        for name in ("strict", "kind", HOSTILE):
            insert_row(lake, "rpt_metrics", "vqa", "m1", name, 60, 0, 0, 0.5, 0.4, 0.6, "s", None)
            add_correlation(lake, correlation(name, 0.5))
        return render_report(lake, "nightly", out, HOSTILE, MADE_AT).as_uri()


def test_rows_are_found_by_clicks_words_and_keys(page: Page, report: str) -> None:
    page.goto(f"{report}#rows?judge=strict")
    rows, found = page.locator("tr[data-row]"), page.locator("#explorer output")
    rows.nth(49).wait_for()
    assert found.inner_text() == "60 of 120 rows"
    assert rows.count() == 50
    page.get_by_role("button", name="Show more").click()
    assert rows.count() == 60

    page.locator(".facets a", has_text="m1").click()
    expect(rows).to_have_count(30)
    assert "judge=strict" in page.url
    assert "model=m1" in page.url

    page.keyboard.press("/")
    page.keyboard.type("answer 59")
    expect(rows).to_have_count(1)
    rows.first.focus()
    page.keyboard.press("Enter")
    page.locator(".case").wait_for()
    assert "why 59" in page.locator(".verdict[open]").inner_text()
    assert HOSTILE in page.locator(".case").inner_text()

    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.locator(".case").wait_for()
    assert "answer 59" in page.locator(".case").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".case").count() == 0


def test_the_facet_of_a_status_leads_to_the_case_without_a_score(page: Page, report: str) -> None:
    page.goto(f"{report}#rows")
    page.locator(".facets a", has_text="unparsed").click()
    expect(page.locator("tr[data-row]")).to_have_count(1)
    page.locator("tr[data-row]").click()
    page.locator(".case").wait_for()
    assert HOSTILE in page.locator(".verdict[open]").inner_text()
    page.locator(".facets a[aria-current]").click()
    expect(page.locator("tr[data-row]")).to_have_count(50)


@INSIDE_FIRST
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(page: Page, report: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{report}#rows?status=ok")
    page.locator("tr[data-row]").first.click()
    page.locator(".case").wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    violations = Axe().run(page).response["violations"]
    serious = [
        (v["id"], [node["html"][:200] for node in v["nodes"][:3]])
        for v in violations
        if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


@INSIDE_FIRST
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_is_cut_off_or_printed_at_length(page: Page, report: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(report)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.pdf().count(b"/Type /Page\n") <= 15


def test_a_figure_and_a_table_are_saved_as_files(page: Page, report: str) -> None:
    page.goto(report)
    with page.expect_download() as saved:
        page.locator("figcaption button", has_text="SVG").first.click()
    assert saved.value.path().read_text().startswith("<svg")
    page.locator("#correlation summary").click()
    with page.expect_download() as saved:
        page.locator("#correlation button", has_text="CSV").click()
    lines = saved.value.path().read_text().splitlines()
    assert len(lines) == 4
    assert lines[0].startswith('"Benchmark","Model"')
