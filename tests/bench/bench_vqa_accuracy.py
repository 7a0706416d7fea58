"""Speed of VQA accuracy beside the official way, and of soft VQA accuracy: `python -m
tests.bench.bench_vqa_accuracy`.

Asserts that both give the same for every question; the figures are printed, never asserted.
"""

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from judgelake.tasks.metrics.vqa_accuracy import compute_soft_vqa_accuracy, compute_vqa_accuracy
from tests.oracle.official_vqa_eval import evaluate_question

QUESTIONS = 20_000
REFERENCES = 10
SOFT_QUESTIONS = 100_000
REPEATS = 3

SYLLABLES = [
    "ba",
    "ko",
    "ri",
    "ten",
    "sha",
    "mu",
    "lo",
    "pin",
    "gra",
    "ve",
    "sto",
    "ny",
    "dee",
    "quil",
    "far",
    "ho",
]
SHAPES = (
    ["{w}"] * 12
    + ["{w} {x}"] * 4
    + [
        "a {w}",
        "the {w}",
        "two {w}",
        "{w}.",
        "{w}-{x}",
        "{w}, {x}",
        "{W}",
        "dont {w}",
        "{n}",
        "{w}'s",
    ]
)


class Questions(NamedTuple):
    answers: list[str]
    references: list[list[str]]


def main() -> None:
    generator = np.random.default_rng(7)
    report_accuracy("few distinct strings", draw_questions(generator, QUESTIONS, distinct=2_000))
    report_accuracy("40 % distinct strings", draw_questions(generator, QUESTIONS, distinct=96_000))
    soft = draw_questions(generator, SOFT_QUESTIONS, distinct=400_000)
    seconds, _ = measure(
        lambda: compute_soft_vqa_accuracy(pa.array(soft.answers), pa.array(soft.references)),
        repeats=1,
    )
    print(
        f"soft_vqa_accuracy: {SOFT_QUESTIONS * REFERENCES:,} pairs in {seconds:.2f} s (Arrow "
        f"conversion included)"
    )


def report_accuracy(title: str, questions: Questions) -> None:
    answers, references = pa.array(questions.answers), pa.array(questions.references)
    plain_s, expected = measure(
        lambda: np.array(list(map(evaluate_question, *questions))), repeats=1
    )
    ours_s, scores = measure(lambda: compute_vqa_accuracy(answers, references), repeats=REPEATS)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    share = len(
        {*questions.answers, *(text for texts in questions.references for text in texts)}
    ) / (len(scores) * (REFERENCES + 1))
    print(
        f"vqa_accuracy, {title} ({share:.0%}): official way {len(scores) / plain_s:,.0f} rows/s, "
        f"ours {len(scores) / ours_s:,.0f} rows/s, ratio {plain_s / ours_s:.1f}, every "
        f"question equal"
    )


def measure(work: Callable[[], np.ndarray], repeats: int) -> tuple[float, np.ndarray]:
    """Best wall time of several runs, and the result."""
    best = np.inf
    for _ in range(repeats):
        start = perf_counter()
        result = work()
        best = min(best, perf_counter() - start)
    return best, result


def draw_questions(generator: np.random.Generator, count: int, distinct: int) -> Questions:
    """Every text is dealt once, the other cells repeat some; then a tenth of the references takes
    over the answer.
    """
    texts = np.array([spell_text(generator, number) for number in range(distinct)], dtype=object)
    cells = count * (REFERENCES + 1)
    drawn = np.concatenate(
        [np.arange(distinct), generator.integers(distinct, size=cells - distinct)]
    )
    generator.shuffle(drawn)
    table = drawn.reshape(count, REFERENCES + 1)
    agreeing = generator.random(table.shape) < 0.1
    table = texts[np.where(agreeing, table[:, :1], table)].tolist()
    return Questions([row[0] for row in table], [row[1:] for row in table])


def spell_text(generator: np.random.Generator, number: int) -> str:
    syllables = generator.choice(SYLLABLES, size=8)
    word, other = "".join(syllables[:5]), "".join(syllables[5:])
    return str(generator.choice(SHAPES)).format(w=word, W=word.capitalize(), x=other, n=number)


if __name__ == "__main__":
    main()
