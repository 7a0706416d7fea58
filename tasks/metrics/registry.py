"""Which reference metrics there are: their options and how they are built, and the names that stand
for common choices of options.

How a metric is computed lives in its own module; a model's packages are imported only when it is
computed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from judgelake.tasks.metrics import exact_match, model_metrics, ngram_metrics, vqa_accuracy
from judgelake.tasks.metrics import exact_match as token_f1
from judgelake.tasks.metrics import vqa_accuracy as soft_vqa_accuracy
from judgelake.tasks.metrics.bart_score import BartScoreSettings
from judgelake.tasks.metrics.bert_score import BertScoreSettings
from judgelake.tasks.metrics.clip_score import ClipScoreSettings
from judgelake.tasks.metrics.metric import (
    SHORT_ANSWER_TASKS,
    BleuOptions,
    CiderOptions,
    Metric,
    NoOptions,
    RougeOptions,
    Scored,
    Scores,
    without_statistics,
)
from judgelake.tasks.metrics.rows import ScoreRows


@dataclass(frozen=True)
class Kind:
    """A family of metrics: what can be chosen, and what is built of it; the text names the
    documents that are counted in.
    """

    options: type[Any]
    build: Callable[[Any, str], Metric]


def _for_short_answers(signature: str, compute: Callable[[pa.Array, pa.ListArray], Scores]) -> Kind:
    """A metric without options whose corpus score is its mean."""

    def run(rows: ScoreRows, _counts: Path | None) -> Scored:
        return without_statistics(compute(rows.answers, rows.references))

    return Kind(
        NoOptions,
        lambda _options, _documents: Metric(
            signature.partition("|")[0], signature, SHORT_ANSWER_TASKS, run
        ),
    )


KINDS: Mapping[str, Kind] = {
    "vqa_accuracy": _for_short_answers(vqa_accuracy.SIGNATURE, vqa_accuracy.compute_vqa_accuracy),
    "vqa_accuracy_raw": _for_short_answers(
        vqa_accuracy.RAW_SIGNATURE, vqa_accuracy.compute_vqa_accuracy_raw
    ),
    "exact_match": _for_short_answers(exact_match.SIGNATURE, exact_match.compute_exact_match),
    "token_f1": _for_short_answers(token_f1.F1_SIGNATURE, token_f1.compute_token_f1),
    "soft_vqa_accuracy": _for_short_answers(
        soft_vqa_accuracy.SOFT_SIGNATURE, soft_vqa_accuracy.compute_soft_vqa_accuracy
    ),
    "bleu": Kind(BleuOptions, ngram_metrics.build_bleu),
    "rouge": Kind(RougeOptions, ngram_metrics.build_rouge),
    "cider": Kind(CiderOptions, ngram_metrics.build_cider),
    "meteor": Kind(NoOptions, ngram_metrics.build_meteor),
    "sbert_score": Kind(NoOptions, model_metrics.build_sbert_score),
    "bert_score": Kind(BertScoreSettings, model_metrics.build_bert_score),
    "bart_score": Kind(BartScoreSettings, model_metrics.build_bart_score),
    "clip_score": Kind(ClipScoreSettings, model_metrics.build_clip_score),
    "ref_clip_score": Kind(ClipScoreSettings, model_metrics.build_ref_clip_score),
}

_CHOICES: Mapping[str, tuple[str, Mapping[str, object]]] = {
    **{f"bleu_{order}": ("bleu", {"order": order}) for order in (1, 2, 3, 4)},
    "sacrebleu": ("bleu", {"style": "sacrebleu"}),
    "rouge_1": ("rouge", {"variant": 1}),
    "rouge_l": ("rouge", {"variant": "l"}),
    "cider_d": ("cider", {"variant": "d"}),
}

METRICS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    **{kind: (kind, {}) for kind in KINDS},
    **_CHOICES,
}
"""Name in a suite -> kind and the options that the name stands for."""
