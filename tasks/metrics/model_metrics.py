"""S-BERTScore, BERTScore, BARTScore, CLIPScore and RefCLIPScore as metrics of a suite. Models are
loaded when they compute.
"""

from functools import partial
from pathlib import Path

import pyarrow as pa

from judgelake.tasks.errors import MetricError
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.metrics import bart_score, bert_score, clip_score, sbert_score
from judgelake.tasks.metrics.bart_score import BartScoreSettings
from judgelake.tasks.metrics.bert_score import BertScoreSettings
from judgelake.tasks.metrics.clip_score import ClipScoreSettings
from judgelake.tasks.metrics.metric import (
    ALL_TASKS,
    Counting,
    DocumentSource,
    Metric,
    MetricKind,
    Scored,
    without_statistics,
)
from judgelake.tasks.metrics.rows import ScoreRows
from judgelake.tasks.metrics.sbert_score import SbertScoreSettings


def build_sbert_score(options: SbertScoreSettings, _documents: str = "") -> Metric:
    """S-BERTScore by the encoder that comes as a package, or another one."""
    signature = sbert_score.read_signature(options)
    return Metric("sbert_score", signature, ALL_TASKS, partial(_score_sbert, options))


def build_bert_score(options: BertScoreSettings, documents: str = "") -> Metric:
    """BERTScore; with `idf` tokens are counted in the references of the benchmark first, which
    `documents` names.
    """
    counting = Counting(DocumentSource(), partial(_count_tokens, options)) if options.idf else None
    signature = bert_score.signature(options, documents)
    return Metric(
        "bert_score", signature, ALL_TASKS, partial(_score_bert, options), counting=counting
    )


def build_bart_score(options: BartScoreSettings, _documents: str = "") -> Metric:
    """BARTScore in one of its directions."""
    return Metric(
        "bart_score", bart_score.signature(options), ALL_TASKS, partial(_score_bart, options)
    )


def build_clip_score(options: ClipScoreSettings, _documents: str = "") -> Metric:
    """CLIPScore, of answers to items that have an image."""
    return Metric(
        "clip_score",
        clip_score.signature(options),
        ALL_TASKS,
        partial(_score_clip, options),
        sees_image=True,
        reads_references=False,
    )


def build_ref_clip_score(options: ClipScoreSettings, _documents: str = "") -> Metric:
    """RefCLIPScore, of answers to items that have an image and references."""
    signature = clip_score.reference_signature(options)
    return Metric(
        "ref_clip_score", signature, ALL_TASKS, partial(_score_ref_clip, options), sees_image=True
    )


def _score_sbert(options: SbertScoreSettings, rows: ScoreRows, _counts: Path | None) -> Scored:
    return without_statistics(
        sbert_score.compute_sbert_score(rows.answers, rows.references, rows.lake, options)
    )


def _count_tokens(options: BertScoreSettings, documents: pa.ListArray) -> bytes:
    return bert_score.count_documents(documents, options).to_bytes()


def _score_bert(options: BertScoreSettings, rows: ScoreRows, counts: Path | None) -> Scored:
    documents = bert_score.read_documents(counts) if counts else None
    return bert_score.compute_bert_score(rows.answers, rows.references, options, documents)


def _score_bart(options: BartScoreSettings, rows: ScoreRows, _counts: Path | None) -> Scored:
    return bart_score.compute_bart_score(rows.answers, rows.references, options)


def _score_clip(options: ClipScoreSettings, rows: ScoreRows, _counts: Path | None) -> Scored:
    images, root = _take_images(rows)
    return Scored(*clip_score.compute_clip_score(rows.answers, images, options, root, rows.lake))


def _score_ref_clip(options: ClipScoreSettings, rows: ScoreRows, _counts: Path | None) -> Scored:
    images, root = _take_images(rows)
    return Scored(
        *clip_score.compute_ref_clip_score(
            rows.answers, rows.references, images, options, root, rows.lake
        )
    )


def _take_images(rows: ScoreRows) -> tuple[pa.StructArray, LakePath]:
    if rows.images is None or rows.image_root is None:
        raise MetricError(
            "clip_score: the rows have no column of images; expected one and the images' "
            "folder; run it through a suite"
        )
    return rows.images, rows.image_root


METRIC_KINDS = (
    MetricKind("sbert_score", SbertScoreSettings, build_sbert_score),
    MetricKind("bert_score", BertScoreSettings, build_bert_score),
    MetricKind("bart_score", BartScoreSettings, build_bart_score),
    MetricKind("clip_score", ClipScoreSettings, build_clip_score),
    MetricKind("ref_clip_score", ClipScoreSettings, build_ref_clip_score),
)
