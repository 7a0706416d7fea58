"""`python -m tests.bench.bench_meteor`: METEOR and PTB tokens beside pycocoevalcap, on the same
captions in the same run.

Asserts that scores and tokens are equal; speed is printed, never asserted. Each side is run in
turn, several rounds, and its best round counts: Java needs some thousand rows to compile its code.
Both sides' programs are started before.
"""

import random
import time
from collections.abc import Callable
from functools import partial

import pyarrow as pa
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from judgelake.tasks.metrics.meteor import compute_meteor
from judgelake.tasks.metrics.ptb_tokenizer import ask_java, tokenise_ptb
from judgelake.tasks.metrics.tokenizers import tokenise_spaces
from judgelake.tasks.metrics.tokens import STRINGS_PER_CALL, Tokenise, tokenise_rows

ROWS, REFERENCES, STRINGS, ROUNDS = 1_500, 5, 100_000, 8
SUBJECTS = [
    "a man",
    "two young girls",
    "the brown dog",
    "a group of people",
    "a child in a red jacket",
    "several cyclists",
]
ACTIONS = [
    "runs across",
    "is jumping over",
    "stands near",
    "sits on",
    "plays in",
    "climbs",
    "looks at",
]
PLACES = [
    "a snowy field",
    "the beach",
    "a wooden fence",
    "a rocky mountain",
    "the street",
    "green grass",
    "a swimming pool",
]
EXTRAS = [
    "while others watch",
    "at night",
    "with a ball in its mouth",
    "next to a parked car",
    "on a sunny day",
    "",
]


def write_caption(rng: random.Random) -> str:
    return " ".join(
        rng.choice(words) for words in (SUBJECTS, ACTIONS, PLACES, EXTRAS) if rng.random() < 0.9
    ).strip()


def race(
    name: str, count: int, unit: str, ours: Callable[[], object], peer: Callable[[], object]
) -> None:
    best = {"ours": float("inf"), "pycocoevalcap": float("inf")}
    for _ in range(ROUNDS):
        for side, run in (("ours", ours), ("pycocoevalcap", peer)):
            start = time.perf_counter()
            run()
            best[side] = min(best[side], time.perf_counter() - start)
    rates = [f"{side} {count / seconds:9,.0f} {unit}" for side, seconds in best.items()]
    print(f"{name}: {', '.join(rates)}, ratio {best['pycocoevalcap'] / best['ours']:.2f}")


def compare_meteor(rng: random.Random) -> None:
    answers = [write_caption(rng) for _ in range(ROWS)]
    references = [[write_caption(rng) for _ in range(REFERENCES)] for _ in range(ROWS)]
    rows = tokenise_rows(pa.array(answers), pa.array(references), tokenise_spaces)
    gts, res = (
        dict(enumerate(references)),
        {place: [answer] for place, answer in enumerate(answers)},
    )
    meteor = Meteor()
    assert compute_meteor(rows).scores.tolist() == meteor.compute_score(gts, res)[1]
    race(
        "METEOR",
        ROWS,
        "rows/s",
        lambda: compute_meteor(rows),
        lambda: meteor.compute_score(gts, res),
    )


def tokenise_in_calls(tokenise: Tokenise, texts: list[str]) -> list[list[str]]:
    """As the metrics call it: some thousand strings at a time."""
    return [
        tokens
        for start in range(0, len(texts), STRINGS_PER_CALL)
        for tokens in tokenise(texts[start : start + STRINGS_PER_CALL])
    ]


def compare_tokens(rng: random.Random) -> None:
    texts = [f"{write_caption(rng)} {number}." for number in range(STRINGS)]
    captions = {number: [{"caption": text}] for number, text in enumerate(texts)}
    expected = [tokens[0].split() for tokens in PTBTokenizer().tokenize(captions).values()]
    for name, tokenise in (("by rule", tokenise_ptb), ("by Java", ask_java)):
        assert tokenise_in_calls(tokenise, texts) == expected
        ours = partial(tokenise_in_calls, tokenise, texts)
        race(
            f"PTB tokens, {name}",
            STRINGS,
            "strings/s",
            ours,
            lambda: PTBTokenizer().tokenize(captions),
        )


def main() -> None:
    rng = random.Random(0)
    compare_tokens(rng)
    compare_meteor(rng)


if __name__ == "__main__":
    main()
