"""`python -m tests.bench.bench_ngram_metrics`: CIDEr-D, ROUGE-L and BLEU beside pycocoevalcap on
tokenised captions.

Ours starts from Arrow strings and splits them at blanks; CIDEr-D counts its document frequencies,
as the peer does. Asserts that both agree to 1e-12; speed is printed, never asserted. Then all of
them on a million short answers with ten references each.
"""

import os
import resource
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from judgelake.tasks.metrics.bleu import compute_bleu
from judgelake.tasks.metrics.cider import compute_cider, count_documents
from judgelake.tasks.metrics.metric import Scored
from judgelake.tasks.metrics.rouge import compute_rouge_1, compute_rouge_l
from judgelake.tasks.metrics.tokens import TokenRows, tokenise_rows
from tests.conftest import CHECKOUT

ROWS, REFERENCES, MOST_WORDS = 4_000, 5, 16
SHORT_ROWS, SHORT_REFERENCES, SHORT_TEXTS = 1_000_000, 10, 300_000
REPEATS = 5
DATA = Path(os.environ.get("JUDGELAKE_DATA") or CHECKOUT.parent / "shared" / "data") / "flickr8k"

Compute = Callable[[TokenRows], Scored]
Peer = Callable[[dict[int, list[str]], dict[int, list[str]]], Any]


class Captions(NamedTuple):
    answers: list[str]
    references: list[list[str]]


def compute_own_cider(rows: TokenRows) -> Scored:
    return compute_cider(rows, count_documents(rows), "cider_d")


CONTESTS: dict[str, tuple[Compute, Peer]] = {
    "CIDEr-D": (compute_own_cider, lambda gts, res: Cider().compute_score(gts, res)[1]),
    "ROUGE-L": (
        lambda rows: compute_rouge_l(rows, "coco"),
        lambda gts, res: Rouge().compute_score(gts, res)[1],
    ),
    "BLEU-4": (
        lambda rows: compute_bleu(rows, 4, "coco"),
        lambda gts, res: Bleu(4).compute_score(gts, res, verbose=0)[1][3],
    ),
}


def main() -> None:
    report_captions(
        "drawn captions, hardly a string twice", draw_captions(np.random.default_rng(0))
    )
    if DATA.is_dir():
        report_captions("Flickr8k-Expert", read_flickr8k(DATA))
    report_short_answers(np.random.default_rng(1))


def report_captions(title: str, captions: Captions) -> None:
    answers, references = pa.array(captions.answers), pa.array(captions.references)
    gts, res = (
        dict(enumerate(captions.references)),
        {i: [text] for i, text in enumerate(captions.answers)},
    )
    for name, (compute, peer) in CONTESTS.items():
        times = []
        for _ in range(REPEATS):
            start = perf_counter()
            scored = compute(tokenise_rows(answers, references, split_texts))
            times.append(perf_counter() - start)
        start = perf_counter()
        expected = peer(gts, res)
        peer_s = perf_counter() - start
        np.testing.assert_allclose(
            scored.scores, expected, rtol=0, atol=1e-12, err_msg=f"{title}: {name}"
        )
        ours, theirs = len(answers) / min(times), len(answers) / peer_s
        print(
            f"{title}: {name:8} ours {ours:9,.0f} rows/s, pycocoevalcap {theirs:7,.0f} rows/s, "
            f"ratio {ours / theirs:.1f}"
        )


def report_short_answers(generator: np.random.Generator) -> None:
    """Time of each engine on answers of one to three words, and the most memory that the process
    held.
    """
    answers, references = draw_short_answers(generator)
    start = perf_counter()
    rows = tokenise_rows(answers, references, split_texts)
    print(
        f"{SHORT_ROWS:,} short answers x {SHORT_REFERENCES} references: token ids "
        f"{perf_counter() - start:.1f} s"
    )
    frequencies = count_documents(rows)
    engines: dict[str, Compute] = {
        "BLEU-4": lambda rows: compute_bleu(rows, 4, "coco"),
        "BLEU-4 of sacrebleu": lambda rows: compute_bleu(rows, 4, "sacrebleu"),
        "ROUGE-1": lambda rows: compute_rouge_1(rows, "rouge_score"),
        "ROUGE-L": lambda rows: compute_rouge_l(rows, "rouge_score"),
        "ROUGE-L of pycocoevalcap": lambda rows: compute_rouge_l(rows, "coco"),
        "CIDEr": lambda rows: compute_cider(rows, frequencies, "cider"),
        "CIDEr-D": lambda rows: compute_cider(rows, frequencies, "cider_d"),
    }
    for name, compute in engines.items():
        begun = perf_counter()
        compute(rows)
        print(f"  {name:24} {perf_counter() - begun:5.1f} s")
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  all together {perf_counter() - start:.1f} s on one core, at most {peak_gib:.2f} GiB")


def split_texts(texts: Sequence[str]) -> list[list[str]]:
    return [text.split() for text in texts]


def draw_captions(generator: np.random.Generator) -> Captions:
    """Texts of a row are drawn from words of its own and from words that all rows share, as common
    as in a language.
    """
    common = generator.zipf(1.3, (ROWS, REFERENCES + 1, MOST_WORDS)) % 5_000
    own = generator.integers(5_000, size=(ROWS, 1, 8))
    picked = np.take_along_axis(
        own.repeat(REFERENCES + 1, axis=1), generator.integers(8, size=common.shape), axis=2
    )
    words = np.where(generator.random(common.shape) < 0.4, picked, common)
    lengths = generator.integers(8, MOST_WORDS + 1, (ROWS, REFERENCES + 1))
    table = [
        [" ".join(f"w{word}" for word in text[:n]) for text, n in zip(*row, strict=True)]
        for row in zip(words, lengths, strict=True)
    ]
    return Captions([row[0] for row in table], [row[1:] for row in table])


def draw_short_answers(generator: np.random.Generator) -> tuple[pa.Array, pa.ListArray]:
    """Texts that a few of are common, as in VQA."""
    words = generator.zipf(1.3, (SHORT_TEXTS, 3)) % 30_000
    lengths = generator.integers(1, 4, SHORT_TEXTS)
    texts = pa.array(
        [
            " ".join(f"w{word}" for word in row[:n])
            for row, n in zip(words.tolist(), lengths, strict=True)
        ]
    )
    drawn = generator.zipf(1.2, SHORT_ROWS * (SHORT_REFERENCES + 1)) % SHORT_TEXTS
    offsets = pa.array(np.arange(SHORT_ROWS + 1, dtype=np.int32) * SHORT_REFERENCES)
    references = pa.ListArray.from_arrays(offsets, texts.take(pa.array(drawn[SHORT_ROWS:])))
    return texts.take(pa.array(drawn[:SHORT_ROWS])), references


def read_flickr8k(folder: Path) -> Captions:
    """The expert pairs whose caption is of another image, in lower case and without punctuation."""
    lines = (folder / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines()
    texts = {key: clean_caption(text) for key, text in (line.split("\t") for line in lines)}
    rows = [
        line.split("\t")[:2]
        for line in (folder / "ExpertAnnotations.txt").read_text(encoding="utf-8").splitlines()
    ]
    pairs = [(image, caption) for image, caption in rows if caption.split("#")[0] != image]
    return Captions(
        [texts[caption] for _, caption in pairs],
        [[texts[f"{image}#{i}"] for i in range(5)] for image, _ in pairs],
    )


def clean_caption(text: str) -> str:
    return " ".join(
        word
        for word in text.lower().split()
        if word not in {".", ",", "!", "?", '"', "'", "-", ";"}
    )


if __name__ == "__main__":
    main()
