"""BLEU, ROUGE, CIDEr and METEOR as metrics of a suite: options into signatures, engines and corpus
scores.
"""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics import bleu, cider, meteor, rouge
from judgelake.tasks.metrics.metric import (
    ALL_TASKS,
    BleuOptions,
    CiderOptions,
    Counting,
    Metric,
    MetricKind,
    NoOptions,
    RougeOptions,
    Scored,
    Scores,
    Statistics,
)
from judgelake.tasks.metrics.rows import ScoreRows

BLEU_VERSION, ROUGE_VERSION, CIDER_VERSION, METEOR_VERSION = 1, 1, 1, 1
SACREBLEU_SCALE = 100.0
"""sacrebleu counts to 100, the lake to 1."""
_SMOOTHING = {"coco": "tiny", "sacrebleu": "exp|effective-order:sentences|scale:0-1"}
_ROUGE_RULES = {"coco": "best-precision-and-recall|beta:1.2", "rouge_score": "max|beta:1"}


def build_bleu(options: BleuOptions, _documents: str = "") -> Metric:
    """BLEU of sentences; the corpus score is made of the summed counts."""
    name = f"bleu|order:{options.order}|style:{options.style}|tokenizer:{options.used_tokenizer}"
    return Metric(
        "bleu",
        f"{name}|smoothing:{_SMOOTHING[options.style]}|references:closest-length|version:{BLEU_VERSION}",
        ALL_TASKS,
        partial(_score_bleu, options),
        statistics=bleu.STATISTICS[: 2 + 2 * options.order],
        corpus=partial(_score_bleu_corpora, options),
    )


def build_rouge(options: RougeOptions, _documents: str = "") -> Metric:
    """ROUGE-1 or ROUGE-L."""
    tokens = f"tokenizer:{options.used_tokenizer}"
    rules = f"references:{_ROUGE_RULES[options.style]}|version:{ROUGE_VERSION}"
    return Metric(
        "rouge",
        f"rouge|variant:{options.variant}|style:{options.style}|{tokens}|{rules}",
        ALL_TASKS,
        partial(_score_rouge, options),
    )


def build_cider(options: CiderOptions, documents: str = "") -> Metric:
    """CIDEr; `documents` names those that n-grams are counted in."""
    source = "file" if options.df.file else "references"
    rules = (
        f"order:4|sigma:{cider.SIGMA:g}|references:mean"
        if options.variant == "d"
        else "order:4|references:mean"
    )
    chosen = f"variant:{options.variant}|tokenizer:{options.tokenizer}"
    signature = f"cider|{chosen}|df:{source}@{documents[:16]}|{rules}"
    return Metric(
        "cider",
        f"{signature}|version:{CIDER_VERSION}",
        ALL_TASKS,
        partial(_score_cider, options),
        counting=Counting(options.df, partial(_count_documents, options)),
    )


def build_meteor(_options: NoOptions, _documents: str = "") -> Metric:
    """METEOR 1.5; the corpus score is made of the scorer's counts."""
    return Metric(
        "meteor",
        f"meteor|scorer:{meteor.VERSION}|language:en|parameters:rank|norm:true|tokenizer:ptb|references:max|version:{METEOR_VERSION}",
        ALL_TASKS,
        lambda rows, _counts: meteor.compute_meteor(rows.tokenise("ptb")),
        statistics=meteor.STATISTICS,
        corpus=meteor.corpus_meteor,
    )


def _score_bleu(options: BleuOptions, rows: ScoreRows, _counts: Path | None) -> Scored:
    scored = bleu.compute_bleu(
        rows.tokenise(options.used_tokenizer, split=True), options.order, options.style
    )
    return scored._replace(scores=scored.scores / _scale(options))


def _score_bleu_corpora(options: BleuOptions, sums: Statistics) -> Scores:
    return bleu.compute_corpus_bleu(sums, options.order, options.style) / _scale(options)


def _scale(options: BleuOptions) -> float:
    return SACREBLEU_SCALE if options.style == "sacrebleu" else 1.0


def _score_rouge(options: RougeOptions, rows: ScoreRows, _counts: Path | None) -> Scored:
    compute = rouge.compute_rouge_1 if options.variant == 1 else rouge.compute_rouge_l
    return compute(rows.tokenise(options.used_tokenizer), options.style)


def _score_cider(options: CiderOptions, rows: ScoreRows, counts: Path | None) -> Scored:
    if counts is None:
        raise MetricError(
            "cider: no document frequencies; expected the file of counts; run it through a suite"
        )
    with np.load(counts, allow_pickle=False) as held:
        frequencies = cider.DocumentFrequencies(
            held["digests"], held["counts"], int(held["documents"])
        )
    variant: cider.Variant = "cider_d" if options.variant == "d" else "cider"
    return cider.compute_cider(rows.tokenise(options.tokenizer, split=True), frequencies, variant)


def _count_documents(options: CiderOptions, documents: pa.ListArray) -> bytes:
    rows = ScoreRows(pa.nulls(len(documents), pa.string()), documents)
    frequencies = cider.count_documents(rows.tokenise(options.tokenizer, split=True))
    buffer = io.BytesIO()
    np.savez(
        buffer,
        digests=frequencies.digests,
        counts=frequencies.counts,
        documents=frequencies.documents,
    )
    return buffer.getvalue()


METRIC_KINDS = (
    MetricKind(
        "bleu",
        BleuOptions,
        build_bleu,
        {
            **{f"bleu_{order}": {"order": order} for order in (1, 2, 3, 4)},
            "sacrebleu": {"style": "sacrebleu"},
        },
    ),
    MetricKind(
        "rouge", RougeOptions, build_rouge, {"rouge_1": {"variant": 1}, "rouge_l": {"variant": "l"}}
    ),
    MetricKind("cider", CiderOptions, build_cider, {"cider_d": {"variant": "d"}}),
    MetricKind("meteor", NoOptions, build_meteor),
)
