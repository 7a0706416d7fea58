"""`python -m tests.bench.bench_page [verdicts] [words]`: a report with that many rows behind its
numbers, opened from disk in Chromium: how large it is, when something is seen, how quickly rows are
found.

The rows are made up: five judges, rationales of 30 words (LAVE's are of 20 to 30) within replies
with the probabilities of five tokens, passages of this project's pages, and LAVE's prompts. The limits are
2 s and 15 MB for 100,000.
"""

import re
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from judgelake.tasks.judging.lave import LaveOptions, build_messages
from judgelake.tasks.reports import build
from judgelake.tasks.reports.page import render
from judgelake.tasks.reports.page import rows as page_rows
from judgelake.tasks.reports.page.prompts import (
    Asked,
    Template,
    Texts,
    fit_template,
    mark_case,
)
from judgelake.tasks.suite.suite import ReportSettings
from judgelake.tasks.types import Case, Request
from tests.bench.planted_lake import plant_lake
from tests.lakes import make_suite

JUDGES, PASSAGE = 5, 10
_RNG = np.random.default_rng(0)
_PAGES = [path.read_text("utf-8") for path in sorted(Path(__file__).parents[2].glob("*/**/*.md"))]
_WORDS = re.findall(r"[A-Za-z’',.]+", " ".join(_PAGES))


def draw_text(n_words: int, rng: np.random.Generator = _RNG) -> str:
    """Passages of ten words of this project's pages, one after another."""
    starts = rng.integers(0, len(_WORDS) - PASSAGE, -(-n_words // PASSAGE))
    words = [word for start in starts for word in _WORDS[start : start + PASSAGE]]
    return " ".join(words[:n_words])


def explain(k: int, j: int, n_words: int) -> str:
    """The rationale of a judge on an answer, the same each time."""
    return draw_text(n_words, np.random.default_rng((k, j)))


def make_up(n_rows: int, n_words: int, sql: str, chosen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows that a query of `page.rows` would give."""
    answers = range(n_rows // JUDGES)
    if sql == page_rows.N_ROWS:
        return [{"n": n_rows}]
    if sql == page_rows._SCORES:
        return list(_score(answers, n_words))
    if sql == page_rows._ANSWERS:
        return [
            {"item_id": f"i{k}", "answer_id": "m", "category": f"c{k % 9}", "image": None,
             "prompt": draw_text(12), "references": [draw_text(2)], "text": draw_text(25),
             "sha256": None}
            for k in answers
        ]  # fmt: skip
    if sql == page_rows._REPLIES:
        return [
            {"judge_id": f"j{j}", "reading": "r", "item_id": f"i{k}", "content_digest": "d",
             "other_digest": None, "shown": None, "criterion": "c", "sample": 0,
             "replies": [{"text": f"{explain(k, j, n_words)} Rating: 3", "digest": f"{k} {j}", "model": "m", "finish": "stop", "usd": 0.001,
                          "logprobs": [[{"token": str(t), "logprob": float(-_RNG.exponential())}
                                        for t in range(5)]]}]}
            for k in answers for j in range(JUDGES)
        ]  # fmt: skip
    return []


def ask_again(
    _benchmark: str, _contents: Collection[tuple[str, str]], wanted: Collection[Asked]
) -> dict[Asked, Template | str]:
    """LAVE's prompts of the cases that the rows are of."""
    return {asked: _ask_lave(asked.texts) for asked in wanted}


def _ask_lave(texts: Texts) -> Template:
    (_, question), (_, answer), (_, reference), *_ = texts
    case = Case("b", "i", "vqa", question, (reference,), answer, "d")
    request, marked = (
        Request("m", build_messages(one, LaveOptions())) for one in (case, mark_case(case))
    )
    return fit_template(request, marked, texts)


def _score(answers: range, n_words: int) -> Iterator[dict[str, Any]]:
    for k in answers:
        for j in range(JUDGES):
            score = float(_RNG.integers(0, 5)) / 4
            yield {
                "item_id": f"i{k}", "answer_a": "m", "answer_b": None, "model_a": f"m{k % 7}",
                "model_b": None, "criterion": "c", "sample": 0, "status": "ok", "score": score,
                "people": float(_RNG.random()), "rating": str(1 + 4 * score), "reason": None,
                "rationale": explain(k, j, n_words), "judge": f"judge {j}", "judge_id": f"j{j}",
                "reading": "r", "content_digest": "d", "other_digest": None, "shown": None,
            }  # fmt: skip


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    n_words = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    made_up = partial(make_up, n_rows, n_words)
    vars(render)["collect_rows"] = lambda _, names, short, folder, encode, _again: (
        page_rows.collect_rows(made_up, names, short, folder, encode, ask_again)
    )
    with tempfile.TemporaryDirectory() as folder:
        suite = make_suite(report=ReportSettings(resamples=100))
        page = Path(str(build.build_report(plant_lake(Path(folder), 20_000), suite)))
        size = sum(file.stat().st_size for file in [page, *(page.parent / "rows").iterdir()])
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            opened = browser.new_page()
            opened.goto(page.as_uri())
            opened.wait_for_timeout(500)
            painted = opened.evaluate(
                "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            )
            start = time.perf_counter()
            opened.evaluate("location.hash = '#rows?judge=judge+1'")
            opened.locator("tr[data-row]").nth(49).wait_for()
            first = time.perf_counter() - start
            start = time.perf_counter()
            opened.locator(".facets a", has_text="m3").click()
            opened.wait_for_function("location.hash.includes('model=m3')")
            opened.locator(".facets a[aria-current]", has_text="m3").wait_for()
            again = time.perf_counter() - start
            start = time.perf_counter()
            opened.locator("tr[data-row]").first.click()
            opened.locator(".case").wait_for()
            case = time.perf_counter() - start
    print(
        f"{n_rows:,} rows of {n_words} words: {size / 1e6:.1f} MB, limit 15 MB; first paint {painted / 1000:.2f} s, "
        f"limit 2 s; first rows {first:.2f} s, a further facet {again:.2f} s, a case {case:.2f} s"
    )


if __name__ == "__main__":
    main()
