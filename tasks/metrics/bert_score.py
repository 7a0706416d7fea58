"""BERTScore (Zhang et al. 2020): each token of a text is matched with the most similar token of the
other, by contextual vectors.

Precision is the weighted mean over the answer's tokens of the highest cosine with a token of the
reference, recall the same over the reference's, F1 their harmonic mean (section 3). Numbers are
those of the package bert-score 0.3.13: special tokens can be matched and do not count, empty texts
give 0, the highest reference counts. Two differences: padding is never matched, so that a token
whose every cosine is negative does not get 0; RoBERTa's first word has its space under transformers
5 too, where the package loses it. Vectors are made and matched in `tasks.metrics.token_matching`.
"""

import csv
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics.local_models import (
    ModelSettings,
    TokenTexts,
    find_token_limit,
    identify_model,
    load_config,
    load_model,
    load_tokenizer,
    tokenise_texts,
)
from judgelake.tasks.metrics.metric import Scored, without_statistics
from judgelake.tasks.metrics.pairs import AnswerPairs, Ids, Scores, find_distinct, pair_answers
from judgelake.tasks.metrics.token_matching import TokenEncoder, match_tokens
from judgelake.tasks.settings import SuitePath, frozen_settings

VERSION = 1
VALUES = ("precision", "recall", "f1")
LAYERS = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9,
    "distilbert-base-uncased": 5,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-xlarge-mnli": 40,
    "facebook/bart-large-mnli": 11,
}
"""Layers that the paper's authors chose on WMT16 (bert-score, `model2layers`) for the models most
used.
"""
_SPACED = ("GPT2Tokenizer", "RobertaTokenizer")
"""Tokenizers that need a space before the first word to read it as they read every other
(bert-score, `sent_encode`).
"""


@frozen_settings
class BertScoreSettings(ModelSettings):
    """`layer`: the paper's where None. `idf`: weigh tokens by the references' document frequencies,
    else all alike.

    `baseline`: precision, recall and F1 that become 0, or `baseline_file`: a table of them
    (LAYER,P,R,F) as bert-score ships.
    """

    model: str = "roberta-large"
    layer: int | None = None
    idf: bool = False
    value: Literal["precision", "recall", "f1"] = "f1"
    baseline: tuple[float, ...] | None = None
    baseline_file: SuitePath | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layer is None and self.model not in LAYERS:
            raise ValueError(
                f"layer: none is given for {self.model}; expected a whole number; known "
                f"without: {', '.join(LAYERS)}"
            )
        if self.layer is not None and self.layer < 0:
            raise ValueError(f"layer: {self.layer}; expected a whole number from 0")
        if self.value not in VALUES:
            raise ValueError(f"value: {self.value!r}; expected one of {', '.join(VALUES)}")
        if self.baseline is not None and (
            len(self.baseline) != len(VALUES) or not all(x < 1 for x in self.baseline)
        ):
            raise ValueError(
                f"baseline: {self.baseline}; expected three numbers below 1: precision, recall, F1"
            )
        if self.baseline is not None and self.baseline_file is not None:
            raise ValueError("baseline_file: stands beside baseline; expected one of them")

    @property
    def used_layer(self) -> int:
        """The layer whose vectors are compared."""
        return LAYERS[self.model] if self.layer is None else self.layer


class DocumentCounts(NamedTuple):
    """In how many references each token stands: a plain value."""

    counts: Ids
    """By token id."""
    n_documents: int

    def to_bytes(self) -> bytes:
        """The content of a file that `read_documents` reads."""
        return np.concatenate([[self.n_documents], self.counts]).astype("<i8").tobytes()


def read_documents(file: Path) -> DocumentCounts:
    """Counts as `to_bytes` wrote them."""
    values = np.fromfile(file, "<i8").astype(np.int64)
    return DocumentCounts(values[1:], int(values[0]))


def signature(settings: BertScoreSettings, documents: str = "") -> str:
    """Everything that can change the number; `documents` names the references whose tokens were
    counted.

    Reads the baseline's file and, of a local model, the files.
    """
    baseline = read_baseline(settings)
    rescaled = "off" if baseline is None else ",".join(f"{number:.9g}" for number in baseline)
    weights = f"references:{documents}" if settings.idf else "off"
    parts = [
        f"bert_score|{identify_model(settings)}",
        f"layer:{settings.used_layer}",
        f"idf:{weights}",
        f"baseline:{rescaled}",
    ]
    return "|".join([*parts, f"value:{settings.value}", "references:max", f"version:{VERSION}"])


def compute_bert_score(
    answers: pa.Array,
    references: pa.ListArray,
    settings: BertScoreSettings,
    documents: DocumentCounts | None = None,
) -> Scored:
    """Score each answer's best reference, in [-1, 1] before rescaling; `documents` are needed where
    `settings.idf`.
    """
    scores = compute_bert_parts(answers, references, settings, documents)[
        VALUES.index(settings.value)
    ]
    return without_statistics(scores)


def compute_bert_parts(
    answers: pa.Array,
    references: pa.ListArray,
    settings: BertScoreSettings,
    documents: DocumentCounts | None = None,
) -> tuple[Scores, Scores, Scores]:
    """Precision, recall and F1, each the highest over the references, rescaled; 0 before rescaling
    where a text is empty.

    A distinct string is encoded once, unless the vectors that are needed again outgrow their place
    in memory.
    """
    if settings.idf and documents is None:
        raise MetricError(
            "bert_score: idf needs document frequencies; expected those of all references; "
            "count them first"
        )
    raw = pair_answers(answers, references)
    best = np.full((len(VALUES), raw.row_count), np.nan)
    if len(raw.rows):
        pairs = raw.renumber([text.strip() for text in raw.strings])
        answer_ids, reference_ids, places = find_distinct(pairs)
        matched = _match_distinct(pairs, answer_ids, reference_ids, settings, documents)
        starts = np.flatnonzero(np.diff(pairs.rows, prepend=-1))
        best[:, pairs.rows[starts]] = np.maximum.reduceat(matched.T[:, places], starts, axis=1)
    baseline = read_baseline(settings)
    if baseline is not None:
        best = (best - baseline[:, None]) / (1 - baseline[:, None])
    return best[0], best[1], best[2]


def count_documents(references: pa.ListArray, settings: BertScoreSettings) -> DocumentCounts:
    """Count, for each token, the references that hold it; every reference of every row is a
    document, repeats too.
    """
    tokenizer, counted = load_tokenizer(settings), pc.value_counts(references.flatten().drop_null())
    repeats = counted.field("counts").to_numpy()
    texts = _tokenise(
        [text.strip() for text in counted.field("values").to_pylist()], tokenizer, settings
    )
    documents, size = np.repeat(np.arange(len(repeats)), texts.lengths), _count_token_ids(settings)
    held = np.unique(documents * size + texts.tokens)
    counts = np.bincount(held % size, repeats[held // size], minlength=size)
    return DocumentCounts(counts.astype(np.int64), int(repeats.sum()))


def read_baseline(settings: BertScoreSettings) -> npt.NDArray[np.float64] | None:
    """Precision, recall and F1 of unrelated texts at the settings' layer; None where nothing is
    rescaled.
    """
    if settings.baseline_file is not None:
        return np.array(_read_baseline_file(settings.baseline_file, settings.used_layer))
    return None if settings.baseline is None else np.array(settings.baseline)


def _read_baseline_file(file: Path, layer: int) -> tuple[float, ...]:
    expected = "expected lines of LAYER,P,R,F with numbers below 1"
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            rows = {
                int(row["LAYER"]): tuple(float(row[name]) for name in "PRF")
                for row in csv.DictReader(lines)
            }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MetricError(
            f"{file}: cannot be read as baselines ({error!r}); {expected}; mend it"
        ) from None
    if layer not in rows or not all(number < 1 for number in rows[layer]):
        raise MetricError(
            f"{file}: has no baseline of layer {layer}; {expected}; choose a layer that it has"
        ) from None
    return rows[layer]


def _tokenise(texts: list[str], tokenizer: Any, settings: BertScoreSettings) -> TokenTexts:
    spaced = type(tokenizer).__name__ in _SPACED
    limit = find_token_limit(tokenizer, load_config(settings))
    return tokenise_texts(
        tokenizer, [f" {text}" if spaced and text else text for text in texts], limit
    )


def _match_distinct(
    pairs: AnswerPairs,
    answer_ids: Ids,
    reference_ids: Ids,
    settings: BertScoreSettings,
    documents: DocumentCounts | None,
) -> Scores:
    """Precision, recall and F1 of each distinct pair, (pairs, 3)."""
    tokenizer = load_tokenizer(settings)
    texts = _tokenise(pairs.strings, tokenizer, settings)
    full = texts.lengths > tokenizer.num_special_tokens_to_add()
    used = full[answer_ids] & full[reference_ids]
    encoder = TokenEncoder(
        _load_encoder(settings), tokenizer.pad_token_id or 0, settings.batch_tokens
    )
    parts = np.zeros((len(answer_ids), 2))
    weights = _weigh_tokens(settings, documents)
    parts[used] = match_tokens(encoder, texts, weights, answer_ids[used], reference_ids[used])
    precision, recall = parts.T
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * precision * recall / (precision + recall)
    return np.column_stack([precision, recall, np.where(np.isnan(f1), 0, f1)])


def _weigh_tokens(
    settings: BertScoreSettings, documents: DocumentCounts | None
) -> npt.NDArray[np.float32]:
    """Weight by token id: log((N + 1) / (n + 1)) where `idf`, else 1, but 0 for the tokens that
    begin and end a text.
    """
    if settings.idf and documents is not None:
        return np.log((documents.n_documents + 1) / (documents.counts + 1)).astype(np.float32)
    tokenizer, weights = load_tokenizer(settings), np.ones(_count_token_ids(settings), np.float32)
    weights[
        [token for token in (tokenizer.cls_token_id, tokenizer.sep_token_id) if token is not None]
    ] = 0
    return weights


def _count_token_ids(settings: BertScoreSettings) -> int:
    """Ids that there are: a model may have more than its tokenizer, and the other way round."""
    return max(len(load_tokenizer(settings)), int(load_config(settings).vocab_size))


def _load_encoder(settings: BertScoreSettings) -> Any:
    model = load_model(settings, "AutoModel", settings.used_layer)
    return model.get_encoder() if model.config.is_encoder_decoder else model
