"""CLIPScore and RefCLIPScore (Hessel et al. 2021): how near an answer lies to its image, and to its references, in CLIP's space.

CLIP-S = 2.5 max(cos(image, answer), 0); RefCLIP-S is its harmonic mean with the highest cosine of the answer and a reference, taken as
0 where negative (sections 3 and 3.1; the authors' code does not lift the latter to 0). Every text follows `A photo depicts `, as in
their code. How images are read and embedded is `tasks.metrics.clip_images`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.lake import Lake, LakePath
from tasks.metrics.clip_images import embed_images
from tasks.metrics.embeddings import EmbeddingStore, Vectors, digest_texts, embed_once
from tasks.metrics.local_models import (
    STRINGS_PER_CHUNK,
    ModelSettings,
    batch_by_length,
    find_token_limit,
    identify_model,
    import_torch,
    load_model,
    load_tokenizer,
    tokenise_texts,
)
from tasks.metrics.pairs import AnswerPairs, Ids, Scores, pair_answers
from tasks.metrics.scored import Scored

VERSION = 1
WEIGHT = 2.5
NO_ANSWER = "there is no answer"
NO_REFERENCES = "the item has no reference answers"


@dataclass(frozen=True)
class ClipScoreSettings(ModelSettings):
    """`prefix` stands before every answer and reference."""

    model: str = "openai/clip-vit-base-patch32"
    prefix: str = "A photo depicts "


def signature(settings: ClipScoreSettings) -> str:
    """Everything that can change CLIPScore."""
    return f"clip_score|{_describe(settings)}"


def reference_signature(settings: ClipScoreSettings) -> str:
    """Everything that can change RefCLIPScore."""
    return f"ref_clip_score|{_describe(settings)}|references:max"


def compute_clip_score(
    answers: pa.Array, images: pa.StructArray, settings: ClipScoreSettings, root: LakePath, lake: Lake | None = None
) -> Scored:
    """Score in [0, 2.5] each answer beside its image, a struct (uri, sha256) under `root`; vectors are kept in `lake`.

    A row without a score has its reason: no image, one that is missing, damaged or not the one ingested, no answer.
    """
    return _compute(answers, None, images, settings, root, lake)


def compute_ref_clip_score(
    answers: pa.Array,
    references: pa.ListArray,
    images: pa.StructArray,
    settings: ClipScoreSettings,
    root: LakePath,
    lake: Lake | None = None,
) -> Scored:
    """Score each answer beside its image and its references; as `compute_clip_score`."""
    return _compute(answers, references, images, settings, root, lake)


def embed_captions(texts: Sequence[str], settings: ClipScoreSettings, lake: Lake | None) -> Vectors:
    """Unit vectors of texts after the prefix, one row each; what CLIP cannot read of a long text is cut off."""
    store = EmbeddingStore(lake, f"clip_text|{_describe(settings)}") if lake else None
    costs = np.array([len(text) for text in texts])

    def embed(places: Ids) -> Vectors:
        return _embed_texts([settings.prefix + texts[place] for place in places], settings)

    return embed_once(digest_texts(texts), costs, embed, store, chunk=STRINGS_PER_CHUNK)


def average_harmonically(left: Scores, right: Scores) -> Scores:
    """2 l r / (l + r), 0 where both are."""
    total = left + right
    return np.divide(2 * left * right, total, out=np.zeros_like(total), where=total > 0)


def _compute(
    answers: pa.Array,
    references: pa.ListArray | None,
    images: pa.StructArray,
    settings: ClipScoreSettings,
    root: LakePath,
    lake: Lake | None,
) -> Scored:
    looked = embed_images(images, settings, root, lake)
    pairs = pair_answers(answers, pa.nulls(len(answers), pa.list_(pa.string())) if references is None else references)
    known = np.array(answers.is_valid())
    reasons = looked.reasons[looked.ids]
    reasons[~known & ~reasons.astype(bool)] = NO_ANSWER
    with_references = references is not None
    if with_references:
        reasons[(pairs.count_by_row() == 0) & ~reasons.astype(bool)] = NO_REFERENCES
    scores = np.full(len(answers), np.nan)
    rows = np.flatnonzero(~reasons.astype(bool))
    if len(rows):
        embed = partial(embed_captions, settings=settings, lake=lake)
        scores[rows] = _compare(answers, pairs, rows, looked.vectors[looked.ids[rows]], embed, with_references)
    return Scored(scores, np.empty((len(answers), 0)), [reason or None for reason in reasons])


def _compare(
    answers: pa.Array,
    pairs: AnswerPairs,
    rows: Ids,
    images: Vectors,
    embed: Callable[[list[str]], Vectors],
    with_references: bool,
) -> Scores:
    """Scores of the rows `rows`, whose image vectors are `images`; each string that they need is embedded once."""
    answer_ids = pc.index_in(answers.take(pa.array(rows)), pa.array(pairs.strings, answers.type)).to_numpy()
    wanted = np.isin(pairs.rows, rows) & with_references
    used = np.unique(np.concatenate([answer_ids, pairs.reference_ids[wanted]]))
    vectors = embed([pairs.strings[place] for place in used])
    answer_vectors = vectors[np.searchsorted(used, answer_ids)]
    scores: Scores = WEIGHT * np.maximum(_multiply(answer_vectors, images), 0)
    if not with_references:
        return scores
    of_row = np.searchsorted(rows, pairs.rows[wanted])
    nearest = np.zeros(len(rows))
    np.maximum.at(nearest, of_row, _multiply(answer_vectors[of_row], vectors[np.searchsorted(used, pairs.reference_ids[wanted])]))
    return average_harmonically(scores, nearest)


def _multiply(left: Vectors, right: Vectors) -> Scores:
    products: Scores = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    return products


def _embed_texts(texts: list[str], settings: ClipScoreSettings) -> Vectors:
    torch, tokenizer, model = import_torch(), load_tokenizer(settings), load_model(settings, "CLIPModel")
    tokenised = tokenise_texts(tokenizer, texts, find_token_limit(tokenizer, model.config.text_config))
    vectors = np.empty((len(texts), model.config.projection_dim), np.float32)
    for batch in batch_by_length(np.arange(len(texts)), tokenised.lengths, settings.batch_tokens):
        tokens, mask = (part.to(model.device) for part in tokenised.pad(batch, tokenizer.pad_token_id))
        with torch.inference_mode():
            made = model.get_text_features(input_ids=tokens, attention_mask=mask).pooler_output.float()
        vectors[batch] = torch.nn.functional.normalize(made, dim=1).cpu().numpy()
    return vectors


def _describe(settings: ClipScoreSettings) -> str:
    prefix = json.dumps(settings.prefix, ensure_ascii=False)
    return f"{identify_model(settings)}|processor:pil|prefix:{prefix}|w:{WEIGHT}|version:{VERSION}"
