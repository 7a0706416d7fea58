"""Columns for the metric tests: from Python lists, and drawn by hypothesis."""

from collections.abc import Callable, Sequence

import pyarrow as pa
from hypothesis import strategies as st

from judgelake.tasks.metrics.metric import Metric, Scored
from judgelake.tasks.metrics.pairs import Scores
from judgelake.tasks.metrics.rows import ScoreRows

Question = tuple[str, list[str]]

CROOKED_PIECES = (
    *";/[]\"{}()=+\\_-><@`,?!.'",
    *(" ", "  ", "\n", "\t", "\r", "\u00a0", "\u2028", "\x00", "\x1c"),
    *(
        "a",
        "an",
        "the",
        "The",
        "none",
        "Ten",
        "one",
        "dont",
        "DONT",
        "yall'd've",
        "somebody'd",
        "let's",
        "Im",
        "x",
    ),
    *("1,000", "٣,٤", "3.5", ".5", "5.", "..." * 12, "²"),
    *("Σ", "ΑΣ", "İ", "ß", "é", "e\u0301", "👩‍👩‍👧", "שלום", "مرحبا", "犬", "\u037e", "\u200f"),
)
"""What the official rules stumble over: marks, white space, numbers, letters whose lower case
depends on their place.
"""

crooked_texts = st.lists(st.sampled_from(CROOKED_PIECES), max_size=8).map("".join)
unicode_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
texts = crooked_texts | unicode_texts | st.sampled_from(["", "cat", "dog"])


@st.composite
def draw_question(draw: st.DrawFn) -> Question:
    """A question whose references often repeat, and often hold the answer."""
    answer = draw(texts)
    vocabulary = [answer, *draw(st.lists(texts, max_size=3))]
    return answer, draw(st.lists(st.sampled_from(vocabulary), max_size=12))


question_lists = st.lists(draw_question(), max_size=8)


def make_rows(questions: Sequence[Question]) -> ScoreRows:
    """Columns made of (answer, references) rows."""
    answers = pa.array([answer for answer, _ in questions], pa.string())
    return ScoreRows(
        answers, pa.array([references for _, references in questions], pa.list_(pa.string()))
    )


def score(
    compute: Callable[[pa.Array, pa.ListArray], Scores], questions: Sequence[Question]
) -> Scores:
    """Compute on columns made of (answer, references) rows."""
    rows = make_rows(questions)
    return compute(rows.answers, rows.references)


def run_metric(metric: Metric, questions: Sequence[Question]) -> Scored:
    """What a metric that counts nothing beforehand gives for (answer, references) rows."""
    return metric.compute(make_rows(questions), None)
