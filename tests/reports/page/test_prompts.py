"""The prompts behind the replies on the page: exactly the messages that were sent, or a sentence
that says why there is none.
"""

import dataclasses
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from judgelake.tasks.backends.base import RoutingBackend, request_digest
from judgelake.tasks.engine import shard
from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.judging.chirp_pairs import ChirpOptions
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.judging.prometheus import PrometheusOptions
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.planning.rehearsal import answer_by_rule
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.page import prompts
from judgelake.tasks.reports.page.prompts import (
    CHANGED,
    LEFT,
    NO_ROOM,
    TOO_MANY,
    Asked,
    PromptIndex,
    Template,
    Turn,
    find_prompts,
    fit_template,
    list_texts,
    mark_case,
)
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import Scope, Suite
from judgelake.tasks.types import Case, Message, Reply, Request
from tests.conftest import CHECKOUT
from tests.lakes import STANDIN, answer, ingest, item, make_lake, make_suite
from tests.reports.page.test_rows import read_page

HOSTILE = "<script>document.title='hacked'</script> \ue001 So rating=3"
ANSWERS = (
    "a red bus",
    f"{HOSTILE} of a bus that is long enough to be known",
    "no",
    "a\n\nred  bus",
)
REFERENCES = ("red bus", "yes", "red bus", "a bus in the street", "\ue000")
RUBRICS = CHECKOUT / "infra" / "suites" / "rubrics" / "answers.yaml"
CHROMIUM = shutil.which("chromium")

JUDGES: Mapping[str, Any] = {
    "lave": LaveOptions(),
    "prometheus": PrometheusOptions(image="absent", rubric_file=RUBRICS),
    "chirp": ChirpOptions(image="absent", criteria=("overall",)),  # asks an extractor after it
}
Sent = dict[str, list[tuple[str, str]]]


class Recorder:
    """Replies as the stand-in does, and notes each request by digest, in the page's characters."""

    window = 8

    def __init__(self, sent: Sent) -> None:
        self.sent = sent

    async def reply(self, request: Request) -> Reply:
        self.sent[request_digest(request)] = [
            (message.role, message.text) for message in request.messages
        ]
        return answer_by_rule(request)

    async def close(self) -> None:
        """Nothing is held."""


def make_judged(**judges: Any) -> Suite:
    return make_suite(
        *(JudgeSettings(name, name, STANDIN, options) for name, options in judges.items())
    )


def give_answers(lake: Lake, question: str, minute: float) -> None:
    asked = item("i", question, REFERENCES)
    given = [answer("i", text, f"m{k}") for k, text in enumerate(ANSWERS)]
    ingest(lake, [asked], given, minute=minute)


def judge_all(lake: Lake, suite: Suite, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Judge all cases; returns what was sent, by digest."""
    sent: Sent = {}

    def make_backend(order: ShardOrder) -> RoutingBackend:
        return RoutingBackend(dict.fromkeys(order.judge.endpoints, Recorder(sent)))

    monkeypatch.setattr(shard, "make_backend", make_backend)
    register_judges(lake, suite)
    for work in write_work(lake, suite, Scope(), "run"):
        for file in work.shards:
            judge = suite.judges[work.identity.alias]
            given = (lake, "run", judge, work.identity, suite.limits, file, lake.root / "images")
            assert run_judge_shard(ShardOrder(*given)).n_calls > 0
    return sent


def read_prompts(page: Path) -> tuple[list[list[tuple[str, str]]], list[str]]:
    """The prompts of all replies as `rows.js` shows them, and the sentences in place of others."""
    index, details = read_page(page)
    shown, why = [], []
    for case, detail in zip(index["cases"], details, strict=True):
        texts = {
            "\ue000": case[7] if detail["prompt"] is None else detail["prompt"],
            "\ue001": case[8] if detail["answer"] is None else detail["answer"],
            "\ue002": case[9] if detail["answer_b"] is None else detail["answer_b"],
        }
        known = enumerate(sorted({*detail["references"]}), 0xE010)
        texts |= {chr(number): text for number, text in known}
        for verdict in detail["verdicts"]:
            own = texts | {chr(0xE0E0 + k): reply[0] for k, reply in enumerate(verdict[4])}
            for *_, number in verdict[4]:
                if number < 0:
                    why.append(index["unkept"][-1 - number])
                else:
                    shown.append(fill_in(index, number, own))
    return shown, why


def fill_in(index: Any, number: int, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    turns = []
    for role, n_images, pieces in index["prompts"][number]:
        assert n_images == 0
        text = "\n\n".join(index["pieces"][piece] for piece in pieces)
        turns.append(
            (role, re.sub("[\ue000-\ue0ff]", lambda slot: texts.get(slot[0], slot[0]), text))
        )
    return turns


def strip(turns: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Slots that texts hold themselves look different in some prompts, and nothing else does."""
    return tuple((role, re.sub("[\ue000-\ue0ff]", "\ufffd", text)) for role, text in turns)


@pytest.mark.parametrize(
    "name",
    ["chirp", *(pytest.param(name, marks=pytest.mark.full) for name in ("lave", "prometheus"))],
)
@pytest.mark.usefixtures("bare_reports")
def test_every_reply_has_exactly_the_prompt_that_was_sent(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, suite = make_lake(tmp_path), make_judged(**{name: JUDGES[name]})
    give_answers(lake, "What is it\nin the picture?", 0)
    sent = judge_all(lake, suite, monkeypatch)
    shown, why = read_prompts(Path(str(build_report(lake, suite))))
    assert why == []
    assert {strip(turns) for turns in shown} == {strip(turns) for turns in sent.values()}
    assert any("hacked" in text for turns in shown for _, text in turns)


@pytest.mark.usefixtures("bare_reports")
def test_a_changed_question_and_a_judge_that_left_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, suite = make_lake(tmp_path), make_judged(lave=LaveOptions())
    give_answers(lake, "What is it?", 0)
    judge_all(lake, suite, monkeypatch)
    asked_so = make_judged(lave=LaveOptions(shots=2))
    n_answers = len(ANSWERS)
    assert read_prompts(Path(str(build_report(lake, asked_so)))) == ([], [LEFT] * n_answers)
    monkeypatch.setattr(
        "judgelake.tasks.judging.lave._prepare_demonstrations",
        lambda _: {"general": [], "binary": []},
    )
    assert read_prompts(Path(str(build_report(lake, suite)))) == ([], [CHANGED] * n_answers)


def test_short_texts_of_a_case_stand_for_themselves_nowhere_else() -> None:
    """The answer `a` is a slot where the protocol puts it, and stays in every other word."""
    case = Case("b", "i", "vqa", "What?", ("cat",), "a", "d" * 16)
    (request, marked) = (
        Request("m", (Message("user", f"Say what a cat is.\n\nAnswer: {one.answer}"),))
        for one in (case, mark_case(case))
    )
    template = fit_template(request, marked, list_texts("What?", "a", "", ("cat",)))
    assert template == (Turn("user", 0, "Say what a cat is.\n\nAnswer: \ue001"),)
    own_words = dataclasses.replace(marked, messages=(Message("user", "other"),))
    plain = fit_template(request, own_words, list_texts("What?", "a", "", ("cat",)))
    assert plain == (Turn("user", 0, "Say what a cat is.\n\nAnswer: a"),)


def test_paragraphs_are_kept_once_and_no_more_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(text: str) -> Template:
        return (Turn("user", 1, text),)

    monkeypatch.setattr(prompts, "MOST_CHARACTERS", 20)
    index = PromptIndex()
    numbers = [index.number(one) for one in (make("one\n\ntwo"), make("two\n\none"), None)]
    assert numbers == [0, 1, None]
    assert index.number(make("three hundred words")) == -1
    assert index.number(make("one\n\ntwo")) == 0
    assert index.pack() == {
        "prompts": [[["user", 1, [0, 1]]], [["user", 1, [1, 0]]]],
        "pieces": ["one", "two"],
        "unkept": [NO_ROOM],
    }


def test_rows_that_matter_most_keep_their_prompts() -> None:
    scored = [(0.5, 0.5), (1.0, 0.0), (None, 0.5), (0.7, None)]
    found = [
        {
            "item_id": str(k),
            "answer_a": "a",
            "answer_b": None,
            "judge_id": "j",
            "content_digest": str(k),
            "other_digest": None,
            "score": score,
            "people": people,
        }
        for k, (score, people) in enumerate(scored)
    ]
    replies = [[{"digest": str(k), "text": "1"}] for k in range(4)]
    asked = []

    def rebuild(
        _: str, contents: Collection[tuple[str, str]], wanted: Collection[Asked]
    ) -> dict[Asked, Template | str]:
        asked.append({*contents})
        return {one: (Turn("user", 0, one.digest),) for one in wanted}

    rebuilt = find_prompts(rebuild, "b", found, replies, {}, most=2)
    assert asked == [{("1", "1"), ("2", "2")}]
    assert rebuilt == [
        [TOO_MANY],
        [(Turn("user", 0, "1"),)],
        [(Turn("user", 0, "2"),)],
        [TOO_MANY],
    ]


@pytest.mark.full
@pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium")
def test_the_fold_of_a_row_shows_the_prompt_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, suite = make_lake(tmp_path), make_judged(chirp=JUDGES["chirp"])
    give_answers(lake, "What is it?", 0)
    sent = judge_all(lake, suite, monkeypatch)
    page = Path(str(build_report(lake, suite)))
    seen = set()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        ).new_page()
        opened.goto(f"{page.as_uri()}#rows?judge=chirp")
        lines = opened.locator("tr[data-row]")
        lines.first.wait_for()
        for k in range(lines.count()):
            lines.nth(k).press("Enter")
            opened.locator(".case").wait_for()
            summary = opened.locator(".verdict[open] .prompt > summary").first
            summary.press("Enter")
            assert opened.locator(".prompt[open] pre").first.is_visible()
            for fold in opened.locator(".prompt").all():
                roles = fold.locator("h5").all_text_contents()
                texts = fold.locator("pre").all_text_contents()
                seen.add(strip([*zip(roles, texts, strict=True)]))
            lines.nth(k).press("Enter")
        assert opened.title() == "s · judgelake report"
    assert seen == {strip(turns) for turns in sent.values()}
