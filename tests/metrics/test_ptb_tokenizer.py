"""PTB tokens: by hand, as pycocoevalcap gives them, and by rule as by Java wherever the rules are
certain.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics import ptb_tokenizer as ptb_rules
from judgelake.tasks.metrics.java import _programs
from judgelake.tasks.metrics.ptb_tokenizer import ask_java, split_certain, tokenise_ptb
from tests.metrics.programs import check_end_after_kill, needs_java
from tests.metrics.questions import texts

BY_RULE = {
    "A man's dog won't sit , it ca n't .": "a man 's dog wo n't sit it ca n't",
    'He said, "They\'ll go at 10:30 p.m." (No. I cannot!)': "he said they 'll go at 10:30 p.m. -lrb- no i can not -rrb-",
    "Dr. Smith paid $1,000.50, or 5% of 20/5": "dr. smith paid $ 1,000.50 or 5 % of 20/5",
    "a well-known black/white café…": None,
    "a well-known black/white café...": "a well-known black/white café",
    "Wash. or wash. the dogs' bowls; gonna, etc.": "wash. or wash the dogs bowls gon na etc.",
    "“It’s” R&B & more": None,
    "“It’s” blues & more": "it 's blues & more",
    "no. 5": None,
    "no. They said no.": "no they said no",
    "John F. Kennedy": None,
    "ends with an F.": "ends with an f.",
    "1 1/2 or (555) 1234": None,
    "2 3 or 4": "2 3 or 4",
    " two\n lines\r\nand\u2028more  ": "two lines and more",
    "": "",
    " . ": "",
}
BY_JAVA = {
    "1 1/2 cups :)": ["1\xa01/2", "cups", ":-rrb-"],
    "No. 5, www.x.com #tag": ["no.", "5", "www.x.com", "#tag"],
    "{x} <b>I</b> 👩‍👩‍👧": ["-lcb-", "x", "-rcb-", "<b>", "i", "</b>"],
    "<a href='": ["<", "a", "href", "="],
    "'>": [">"],
    "*NL*": ["*", "nl", "*"],
    "a\ud800b": ["a", "b"],
    "?! ... --": ["?!"],
}

_PIECES = """
    a A x X I o p the The dog DOG mr Etc etc no No fig jan Ill ill wash mfg pty U.S u.s p.m Ph.D cannot Gonna wanna yahoo
    can't won't DON'T it's he'll they've I'd I'm we're dogs' James' n't 's 'll cont'd o'clock ma'am y'all ol' li'l 'tis
    1 12 123 1234 1,000 3.5 .5 1/2 1-2 10:30 1990s '90s 5th 2x4 50% $5 $1.50 555-1234 (555) 24/7 -5 5- #1 1. 2)
    x-ray pro- and/or a/b/c R&B c++ foo.txt www.x.com a@b.c café Über ñ é :) ;-) xx x-x x.x ... -- .. !! ?!
"""
PIECES = [*_PIECES.split(), *".,!?;:\"'()-/&%+=$“”’‘…—"]


def draw_text(rng: random.Random) -> str:
    """Words, numbers and marks, mostly with a space between."""
    return "".join(
        rng.choice(PIECES) + " " * rng.choice([0, 1, 1, 1, 2]) for _ in range(rng.randint(1, 7))
    )


def compare_with_java(candidates: Sequence[str]) -> int:
    """How many texts the rules are certain of; all those have Java's tokens."""
    certain = {
        text: tokens
        for text, tokens in zip(candidates, split_certain(candidates), strict=True)
        if tokens is not None
    }
    by_java = dict(zip(certain, ask_java(list(certain)), strict=True))
    assert {text: tokens for text, tokens in certain.items() if tokens != by_java[text]} == {}
    return len(certain)


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("judgelake.tasks.metrics.java._programs", {})


def test_ordinary_text_needs_no_java(no_java: None) -> None:
    certain = {text: tokens for text, tokens in BY_RULE.items() if tokens is not None}
    assert dict(zip(certain, map(" ".join, tokenise_ptb(list(certain))), strict=True)) == certain


@pytest.mark.parametrize("text", [text for text, tokens in BY_RULE.items() if tokens is None])
def test_text_in_doubt_is_reported_where_java_is_missing(text: str, no_java: None) -> None:
    with pytest.raises(
        MetricError, match=r"^PTB tokens: no `java` .*; run `apt-get install default-jre-headless`"
    ):
        tokenise_ptb(["a dog", text])


@needs_java
def test_java_by_hand() -> None:
    assert dict(zip(BY_JAVA, tokenise_ptb(list(BY_JAVA)), strict=True)) == BY_JAVA


@needs_java
def test_rules_equal_java_on_drawn_texts() -> None:
    rng = random.Random(0)
    assert compare_with_java([draw_text(rng) for _ in range(5_000)]) > 1_000


@needs_java
@pytest.mark.full
@pytest.mark.data
def test_rules_equal_java_on_captions_and_many_drawn_texts(data_folder: Path) -> None:
    lines = (data_folder / "flickr8k" / "Flickr8k.token.txt").read_text("utf-8").splitlines()
    captions = sorted({line.split("\t")[1] for line in lines})
    assert compare_with_java(captions) > 0.99 * len(captions)
    rng = random.Random(1)
    assert compare_with_java([draw_text(rng) for _ in range(200_000)]) > 40_000


@needs_java
def test_equal_to_pycocoevalcap() -> None:
    rng = random.Random(2)
    candidates = [*BY_RULE, *BY_JAVA, *(draw_text(rng) for _ in range(1_000))]
    candidates = [text for text in candidates if not {"\r", "\u2028", "\ud800"} & set(text)]
    # Between its captions it gets one that begins like no sentence and closes what a tag may have
    # left open.
    captions = {
        place: [{"caption": text}, {"caption": "x \"|'|"}] for place, text in enumerate(candidates)
    }
    expected = [tokens[0] for tokens in PTBTokenizer().tokenize(captions).values()]
    assert list(map(" ".join, tokenise_ptb(candidates))) == expected


@needs_java
@given(st.lists(texts | st.text(max_size=20), max_size=6))
@settings(max_examples=30)
def test_tokens_do_not_depend_on_neighbours(candidates: list[str]) -> None:
    together = tokenise_ptb(candidates)
    assert together == [tokenise_ptb([text])[0] for text in candidates]
    assert together == ask_java(
        [
            text.translate(dict.fromkeys(map(ord, "\n\r\x0b\x0c\u2028\u2029"), " "))
            for text in candidates
        ]
    )
    assert all(token and " " not in token for tokens in together for token in tokens)


@needs_java
def test_one_program_answers_all_calls() -> None:
    tokenise_ptb(["#1"])
    program = _programs["PTB tokens"]
    assert [tokenise_ptb([f"#{'x' * length}"]) for length in (1, 30_000)] == [
        [["#x"]],
        [["#" + "x" * 30_000]],
    ]
    assert _programs["PTB tokens"] is program
    assert program.is_running()


@needs_java
def test_java_ends_with_a_killed_python() -> None:
    check_end_after_kill(
        "from judgelake.tasks.metrics.ptb_tokenizer import ask_java; ask_java(['a'])"
    )


def test_what_is_kept_of_chunks_is_bounded(no_java: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptb_rules, "_CHUNKS_KEPT", 3)
    monkeypatch.setattr(ptb_rules, "_LETTERS_KEPT", 5)
    monkeypatch.setattr(ptb_rules, "_chunks", ptb_rules._Chunks())
    assert tokenise_ptb(["a bird sat", "a nightingale sat", "a cat sat"]) == [
        ["a", "bird", "sat"],
        ["a", "nightingale", "sat"],
        ["a", "cat", "sat"],
    ]
    assert sorted(ptb_rules._chunks) == ["a", "cat", "sat"]
