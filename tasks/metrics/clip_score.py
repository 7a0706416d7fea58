"""CLIPScore and RefCLIPScore (Hessel et al. 2021): how near an answer lies to its image, and to its
references, in CLIP's space.

CLIP-S = 2.5 max(cos(image, answer), 0); RefCLIP-S is its harmonic mean with the highest cosine of
the answer and a reference, taken as 0 where negative (sections 3 and 3.1; the authors' code does
not lift the latter to 0). Every text follows `A photo depicts `, as in their code.

A file that is missing, changed or broken is a reason, never an exception. Pixels are prepared by
transformers' Pillow form of CLIP's image processor from the model's own settings: torchvision is
not everywhere, and with it the pixels would be slightly others.
"""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from judgelake.tasks.lake.images import ImageFault, check_content, inspect_image, read_image
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.metrics.embeddings import EmbeddingStore, Vectors, digest_texts, embed_once
from judgelake.tasks.metrics.local_models import (
    STRINGS_PER_CHUNK,
    ModelSettings,
    batch_by_length,
    find_token_limit,
    identify_model,
    import_torch,
    load_image_processor,
    load_model,
    load_tokenizer,
    tokenise_texts,
)
from judgelake.tasks.metrics.metric import Scored
from judgelake.tasks.metrics.pairs import AnswerPairs, Ids, Scores, pair_answers
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.types import is_remote

# images whose vectors are stored together: what a stopped run has to embed again
IMAGES_PER_CHUNK = 1_024
# images decoded at a time
_AT_ONCE = 16
MOST_UNEVEN = 200
"""Longer side by shorter side; the processor scales the shorter one to the model's, which would
make a line of pixels enormous.
"""
REMOTE = "the image is a URL, which is not fetched"

Pixels = npt.NDArray[np.float32]


class EmbeddedImages(NamedTuple):
    """Distinct images of n rows; the last stands for a row without one."""

    ids: Ids
    """(n,) image of each row."""
    vectors: Vectors
    """Unit vectors of the images."""
    reasons: npt.NDArray[np.object_]
    """Why an image has no vector; empty where it has one."""


def embed_images(
    images: pa.StructArray, settings: ModelSettings, root: LakePath, lake: Lake | None
) -> EmbeddedImages:
    """Unit vectors of the distinct images of n rows (uri, sha256), null where a row has none."""
    rows = [
        (row["uri"], row["sha256"]) if row and row["uri"] is not None else None
        for row in images.to_pylist()
    ]
    distinct = {row: place for place, row in enumerate(dict.fromkeys(row for row in rows if row))}
    ids = np.array([distinct[row] if row else len(distinct) for row in rows], np.int64)
    named = [_name_image(root, uri, recorded) for uri, recorded in distinct]
    reasons = np.array([*(reason for _, reason in named), "the item has no image"], object)
    places = np.array([place for place, (digest, _) in enumerate(named) if digest], np.int64)
    encoder = _ImageEmbedder(
        settings,
        root,
        [uri for uri, _ in distinct],
        [digest for digest, _ in named],
        places,
        reasons,
    )
    made = encoder.embed_all(lake)
    vectors = np.full((len(reasons), made.shape[1]), np.nan, np.float32)
    vectors[places] = made
    return EmbeddedImages(ids, vectors, reasons)


def _name_image(root: LakePath, uri: str, recorded: str | None) -> tuple[str, str]:
    """The digest of an image, from its file where its source recorded none, and why it has none."""
    if recorded:
        return recorded, ""
    fact = inspect_image(root, uri)
    if isinstance(fact, ImageFault):
        return "", fact.reason
    return (fact.sha256, "") if fact.sha256 else ("", REMOTE)


@dataclass(frozen=True)
class _ImageEmbedder:
    """Embeds those of the images that stand at `places`; of one that cannot be, the reason is put
    into `reasons`.
    """

    settings: ModelSettings
    root: LakePath
    uris: list[str]
    digests: list[str]
    places: Ids
    reasons: npt.NDArray[np.object_]

    def embed_all(self, lake: Lake | None) -> Vectors:
        """A vector of each image at `places`, NaN where there is a reason."""
        store = (
            EmbeddingStore(
                lake, f"clip_image|{identify_model(self.settings)}|processor:pil|version:1"
            )
            if lake
            else None
        )
        digests = [self.digests[place] for place in self.places]
        return embed_once(
            digests, np.zeros(len(digests), np.int64), self._embed, store, chunk=IMAGES_PER_CHUNK
        )

    def _embed(self, chosen: Ids) -> Vectors:
        model = load_model(self.settings, "CLIPModel")
        vision = model.config.vision_config
        count = max(
            1, self.settings.batch_tokens // ((vision.image_size // vision.patch_size) ** 2 + 1)
        )
        vectors = np.full((len(chosen), model.config.projection_dim), np.nan, np.float32)
        for start in range(0, len(chosen), count):
            prepared = self._prepare_all(
                {
                    row: int(self.places[chosen[row]])
                    for row in range(start, min(start + count, len(chosen)))
                }
            )
            good = {row: pixels for row, pixels in prepared.items() if pixels is not None}
            if good:
                vectors[list(good)] = _embed_pixels(model, np.stack(list(good.values())))
        return vectors

    def _prepare_all(self, places: Mapping[int, int]) -> dict[int, Pixels | None]:
        """Row -> its pixels; images of a bucket many at once, since each is a request."""
        with ThreadPoolExecutor(
            1 if isinstance(self.root, Path) else _AT_ONCE, thread_name_prefix="images"
        ) as threads:
            return dict(zip(places, threads.map(self._prepare, places.values()), strict=True))

    def _prepare(self, place: int) -> Pixels | None:
        """The pixels of an image as the model takes them; none, and a reason, where the file is not
        what was ingested.
        """
        made = self._read(place)
        if isinstance(made, str):
            self.reasons[place] = made
            return None
        return made

    def _read(self, place: int) -> Pixels | str:
        uri = self.uris[place]
        content = ImageFault(REMOTE, "") if is_remote(uri) else read_image(self.root, uri)
        if isinstance(content, ImageFault):
            return content.reason
        fact = check_content(content)
        if isinstance(fact, ImageFault):
            return fact.reason
        if fact.sha256 != self.digests[place]:
            return "the image's file is not the one that was ingested: its digest is another"
        width, height = fact.width or 0, fact.height or 0
        if max(width, height) > MOST_UNEVEN * min(width, height):
            return (
                f"the image has {width} x {height} pixels, one side over {MOST_UNEVEN} "
                f"times the other"
            )
        try:
            return _read_pixels(content, load_image_processor(self.settings))
        except (OSError, ValueError, SyntaxError) as error:  # the check decodes less than this
            return f"the image cannot be decoded ({error})"


def _read_pixels(content: bytes, processor: Any) -> Pixels:
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        pixels: Pixels = processor(image, return_tensors="np")["pixel_values"][0]
    return pixels


def _embed_pixels(model: Any, pixels: Pixels) -> Vectors:
    torch = import_torch()
    with torch.inference_mode():
        batch = torch.from_numpy(pixels).to(model.device, model.dtype)
        made = model.get_image_features(pixel_values=batch).pooler_output.float()
        vectors: Vectors = torch.nn.functional.normalize(made, dim=1).cpu().numpy()
    return vectors


VERSION = 1
# w of CLIPScore (Hessel et al. 2021)
WEIGHT = 2.5
NO_ANSWER = "there is no answer"
NO_REFERENCES = "the item has no reference answers"


@frozen_settings
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
    answers: pa.Array,
    images: pa.StructArray,
    settings: ClipScoreSettings,
    root: LakePath,
    lake: Lake | None = None,
) -> Scored:
    """Score in [0, 2.5] each answer beside its image, a struct (uri, sha256) under `root`; vectors
    are kept in `lake`.

    A row without a score has its reason: no image, one that is missing, damaged or not the one
    ingested, no answer.
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
    """Unit vectors of texts after the prefix, one row each; what CLIP cannot read of a long text is
    cut off.
    """
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
    pairs = pair_answers(
        answers, pa.nulls(len(answers), pa.list_(pa.string())) if references is None else references
    )
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
        scores[rows] = _compare(
            answers, pairs, rows, looked.vectors[looked.ids[rows]], embed, with_references
        )
    return Scored(scores, np.empty((len(answers), 0)), [reason or None for reason in reasons])


def _compare(
    answers: pa.Array,
    pairs: AnswerPairs,
    rows: Ids,
    images: Vectors,
    embed: Callable[[list[str]], Vectors],
    with_references: bool,
) -> Scores:
    """Scores of the rows `rows`, whose image vectors are `images`; each string that they need is
    embedded once.
    """
    answer_ids = pc.index_in(
        answers.take(pa.array(rows)), pa.array(pairs.strings, answers.type)
    ).to_numpy()
    wanted = np.isin(pairs.rows, rows) & with_references
    used = np.unique(np.concatenate([answer_ids, pairs.reference_ids[wanted]]))
    vectors = embed([pairs.strings[place] for place in used])
    answer_vectors = vectors[np.searchsorted(used, answer_ids)]
    scores: Scores = WEIGHT * np.maximum(_multiply(answer_vectors, images), 0)
    if not with_references:
        return scores
    of_row = np.searchsorted(rows, pairs.rows[wanted])
    nearest = np.zeros(len(rows))
    np.maximum.at(
        nearest,
        of_row,
        _multiply(
            answer_vectors[of_row], vectors[np.searchsorted(used, pairs.reference_ids[wanted])]
        ),
    )
    return average_harmonically(scores, nearest)


def _multiply(left: Vectors, right: Vectors) -> Scores:
    products: Scores = np.einsum("ij,ij->i", left, right, dtype=np.float64)
    return products


def _embed_texts(texts: list[str], settings: ClipScoreSettings) -> Vectors:
    torch, tokenizer, model = (
        import_torch(),
        load_tokenizer(settings),
        load_model(settings, "CLIPModel"),
    )
    tokenised = tokenise_texts(
        tokenizer, texts, find_token_limit(tokenizer, model.config.text_config)
    )
    vectors = np.empty((len(texts), model.config.projection_dim), np.float32)
    for batch in batch_by_length(np.arange(len(texts)), tokenised.lengths, settings.batch_tokens):
        tokens, mask = (
            part.to(model.device) for part in tokenised.pad(batch, tokenizer.pad_token_id)
        )
        with torch.inference_mode():
            made = model.get_text_features(
                input_ids=tokens, attention_mask=mask
            ).pooler_output.float()
        vectors[batch] = torch.nn.functional.normalize(made, dim=1).cpu().numpy()
    return vectors


def _describe(settings: ClipScoreSettings) -> str:
    prefix = json.dumps(settings.prefix, ensure_ascii=False)
    return f"{identify_model(settings)}|processor:pil|prefix:{prefix}|w:{WEIGHT}|version:{VERSION}"
