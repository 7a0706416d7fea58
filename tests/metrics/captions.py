"""Captions for the tests of the n-gram metrics: written by hand, drawn by hypothesis; and their
columns as token rows.
"""

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from judgelake.tasks.metrics.tokens import TokenRows, tokenise_rows

Caption = tuple[str, list[str]]

CAPTIONS: list[Caption] = [
    (
        "a man rides a brown horse on the beach",
        ["a man riding a horse along the beach", "a rider on a brown horse near the sea"],
    ),
    (
        "a man rides a brown horse on the beach",
        ["two dogs run after a ball", "a dog chases a ball in the park", "dogs at play"],
    ),
    (
        "two dogs play with a red ball in the snow",
        ["two dogs play with a red ball in the snow", "dogs in the snow", "a red ball"],
    ),
    ("the the the the cat", ["the cat is on the mat", "there is a cat on the mat"]),
    (
        "a group of people sit around a table and eat",
        ["people eat dinner at a long table", "a family sits around the table"],
    ),
    (
        "a bus",
        ["a red double decker bus drives down a busy street in the rain", "a bus on a street"],
    ),
    (
        "a child in a blue jacket jumps off a swing while another child in a blue jacket watches",
        ["a child jumps off a swing"],
    ),
    ("犬 が 雪 の 中 を 走る 👩‍👩‍👧", ["犬 が 雪 の 中 で 遊ぶ", "白い 犬 👩‍👩‍👧"]),
    ("كلب يجري في الثلج", ["كلب أسود يجري في الثلج", "الكلب في الثلج", "רץ בשלג"]),
    ("zebra", ["zebra"]),
    ("", ["a cat", ""]),
    ("a cat", ["", ""]),
    ("", [""]),
]

words = st.sampled_from(
    ["a", "b", "c", "the", "cat", "👩‍👩‍👧", "שלום", "مرحبا", "犬", "é", "e\u0301", "."]
)
texts = st.lists(words, max_size=9).map(" ".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
)


@st.composite
def draw_caption(draw: st.DrawFn) -> Caption:
    """An answer and one reference or more, which often repeat or equal it."""
    answer = draw(texts)
    pool = [answer, *draw(st.lists(texts, min_size=1, max_size=4))]
    return answer, draw(st.lists(st.sampled_from(pool), min_size=1, max_size=5))


caption_lists = st.lists(draw_caption(), min_size=1, max_size=6)
few_examples = settings(max_examples=15)
"""Each example goes through another implementation, too."""


def split_texts(texts: Sequence[str]) -> list[list[str]]:
    return [text.split() for text in texts]


def tokenise(captions: Sequence[tuple[str | None, Sequence[str | None] | None]]) -> TokenRows:
    answers = pa.array([answer for answer, _ in captions], pa.string())
    return tokenise_rows(
        answers,
        pa.array([references for _, references in captions], pa.list_(pa.string())),
        split_texts,
    )


def join_tokens(captions: Sequence[Caption]) -> list[Caption]:
    """Tokens with one blank between, as pycocoevalcap's scorers want them."""
    return [
        (" ".join(answer.split()), [" ".join(text.split()) for text in references])
        for answer, references in captions
    ]


def to_coco(captions: Sequence[Caption]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """References and answers as pycocoevalcap's scorers take them."""
    joined = join_tokens(captions)
    return {i: row[1] for i, row in enumerate(joined)}, {
        i: [row[0]] for i, row in enumerate(joined)
    }
