"""What holds for every reply and every case, not only for the ones we thought of."""

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from judgelake.tasks.judging.lave import LaveOptions, build_prompt, filter_references, read_verdict
from judgelake.tasks.judging.reading import read_rating_at_end, read_two_numbers, read_yes_no
from judgelake.tasks.types import Case, Reply, TokenLogprobs

LEVELS = (1, 2, 3)
PIECES = st.sampled_from(
    [
        "So ",
        "rating",
        "=",
        ": ",
        " is ",
        "1",
        "2",
        "3",
        "4",
        ".",
        "\n",
        " ",
        "*",
        "`",
        '"',
        "'",
        "”",
        "«",
        "cat",
        "２",
        "/",
        "-",
    ]
)
REPLIES = st.text() | st.lists(PIECES, max_size=12).map("".join)
TEXTS = st.text(max_size=30)
PAIR_PIECES = st.sampled_from(
    [
        "8",
        "9.5",
        "10",
        "/10",
        " ",
        ", ",
        ";",
        "(",
        ")",
        "\n",
        "Assistant 1: ",
        "Assistant 2: ",
        "Score: ",
        "scores are ",
        "*",
        "-",
        "x",
        "８",
    ]
)
REVIEWS = st.text() | st.lists(PAIR_PIECES, max_size=14).map("".join)
REFERENCES = st.lists(
    st.sampled_from(["cat", "dog", "kitten", "yes", "no"]) | TEXTS, min_size=1, max_size=12
).map(tuple)


def make_case(
    answer: str = "cat",
    references: tuple[str, ...] = ("cat",),
    prompt: str = "What?",
    caption: str | None = None,
) -> Case:
    return Case("b", "i", "vqa", prompt, references, answer, "", caption=caption)


@given(REPLIES)
def test_a_reader_never_raises_and_returns_only_a_digit_that_the_reply_holds(text: str) -> None:
    found = read_rating_at_end(text, "rating", LEVELS)
    assert found is None or (found.rating in LEVELS and str(found.rating) in text)
    assert found is None or text[found.offset] == str(found.rating)


@given(REPLIES, st.sampled_from(["stop", "length", "content_filter", ""]), st.none() | TEXTS)
def test_a_verdict_has_a_score_exactly_where_it_is_ok(
    text: str, finish_reason: str, refusal: str | None
) -> None:
    verdict = read_verdict(Reply(text, finish_reason=finish_reason, refusal=refusal), LaveOptions())
    assert (
        (verdict.status == "ok") == (verdict.score_0_1 is not None) == (verdict.rating is not None)
    )
    assert verdict.score_0_1 in (None, 0.0, 0.5, 1.0)


ALTERNATIVES = st.lists(
    st.tuples(
        st.sampled_from(["1", " 2", "▁3", "4", "", "x"]), st.floats(max_value=0) | st.floats()
    ),
    max_size=4,
).map(tuple)


@given(
    st.sampled_from(["So rating=2", "3", "1.", "cat"]),
    st.lists(ALTERNATIVES, max_size=4).map(tuple),
    st.floats(0, 1),
)
def test_a_weighted_score_is_within_its_scale_and_stands_exactly_where_it_is_ok(
    text: str, positions: tuple[TokenLogprobs, ...], min_mass: float
) -> None:
    options = LaveOptions(rating="weighted", top_logprobs=5, min_mass=min_mass)
    verdict = read_verdict(Reply(text, top_logprobs=positions), options)
    assert (
        (verdict.status == "ok") == (verdict.score_0_1 is not None) == (verdict.rating is not None)
    )
    if verdict.score_0_1 is not None:
        assert 0 <= verdict.score_0_1 <= 1
        assert min_mass <= (verdict.captured_mass or 0)


@given(
    st.text(alphabet=st.characters(exclude_characters="\"'“‘«`")),
    st.sampled_from(["''", '""', "“”", "‘’", "«»", "``"]),
)
def test_an_answer_that_holds_a_verdict_does_not_become_one_when_it_is_quoted(
    words: str, quotes: str
) -> None:
    quoted = f"{quotes[0]}{words} So rating=3{quotes[1]}"
    assert read_rating_at_end(f"The candidate answer is {quoted}", "rating", LEVELS) is None
    found = read_rating_at_end(
        f"The candidate answer {quoted} gives orders. So rating=1", "rating", LEVELS
    )
    assert found is not None
    assert found.rating == 1


@given(TEXTS, REFERENCES, TEXTS, st.none() | TEXTS)
def test_no_text_adds_a_line_to_the_prompt(
    answer: str, references: tuple[str, ...], prompt: str, caption: str | None
) -> None:
    options = LaveOptions(shots=0, caption="people")
    lines = build_prompt(make_case(answer, references, prompt, caption), options).splitlines()
    labels = [line.partition(":")[0] for line in lines[-5:]]
    assert labels == [
        "Image description",
        "Question",
        "Reference answers",
        "Candidate answer",
        "Output",
    ]
    assert lines[-6] == ""


@given(
    REFERENCES.flatmap(
        lambda references: st.tuples(st.just(references), st.permutations(references))
    )
)
def test_the_order_of_the_references_does_not_change_the_prompt(
    pair: tuple[tuple[str, ...], list[str]],
) -> None:
    given_so, shuffled = pair
    for rule in (True, False, "at_or_below"):
        options = LaveOptions(filter_refs=rule)
        assert build_prompt(make_case(references=given_so), options) == build_prompt(
            make_case(references=tuple(shuffled)), options
        )


@given(REFERENCES)
def test_the_filter_keeps_every_copy_or_none_and_never_the_most_frequent(
    references: tuple[str, ...],
) -> None:
    most = max(references.count(text) for text in references)
    for text in set(references):
        copies, share = references.count(text), references.count(text) / most
        assert filter_references(references, True).count(text) == (copies if share >= 0.25 else 0)
        assert filter_references(references, "at_or_below").count(text) == (
            copies if share > 0.25 else 0
        )
        assert filter_references(references, False).count(text) == copies


@given(REVIEWS)
def test_a_reader_of_pairs_never_raises_and_returns_only_numbers_within_the_scale_that_the_review_holds(
    text: str,
) -> None:
    found = read_two_numbers(text, 1, 10)
    held = [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", text)]
    assert found is None or (
        1 <= min(found) <= max(found) <= 10 and len(held) >= 2 and set(found) <= set(held)
    )


@given(
    st.integers(2, 20),
    st.integers(2, 20),
    st.sampled_from([" ", ", ", ",", "; ", " and "]),
    st.text().map(lambda s: "\n" + s),
)
def test_scores_on_the_first_line_count_whatever_follows(
    first: int, second: int, between: str, after: str
) -> None:
    found = read_two_numbers(f"{first / 2:g}{between}{second / 2:g}{after}", 1, 10)
    assert found == (first / 2, second / 2)


_SPELLINGS = {
    word == "yes": {
        "".join(signs) for signs in itertools.product(*zip(word, word.upper(), strict=True))
    }
    for word in ("yes", "no")
}
YES_NO_PIECES = st.sampled_from(
    [
        "yes",
        "No",
        "nO",
        "YES",
        " ",
        "\n",
        "*",
        "__",
        "/",
        "-",
        "'",
        ".",
        ",",
        "or",
        "and",
        "body",
        "ſ",
        "\u0301",
    ]
)


@given(st.text() | st.lists(YES_NO_PIECES, max_size=8).map("".join))
def test_yes_or_no_is_the_reply_s_first_word(text: str) -> None:
    says_yes = read_yes_no(text)
    opening = text.lstrip(
        " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000*_"
        + "".join(map(chr, range(0x2000, 0x200B)))
    )
    letters = "".join(itertools.takewhile(str.isalpha, opening))
    assert says_yes is None or letters in _SPELLINGS[says_yes]


@given(
    st.sampled_from(["yes", "no"]),
    st.sampled_from(["", "*", "**", "_", "__"]),
    st.sampled_from(["", ".", ", it is.", "\nBecause.", ": x", "!"]),
)
def test_plain_yes_or_no_is_read_whatever_its_emphasis(word: str, mark: str, rest: str) -> None:
    assert read_yes_no(f"{mark}{word}{mark}{rest}") is (word == "yes")
    assert read_yes_no(f"{mark}{word.upper()}{rest}{mark}") is (word == "yes")
