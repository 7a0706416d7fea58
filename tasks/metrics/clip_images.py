"""Images as CLIP sees them: each looked up by its digest in the store, else read under the image root, prepared and embedded.

A file that is missing, changed or broken is a reason, never an exception. Pixels are prepared by transformers' Pillow form of CLIP's
image processor from the model's own settings: torchvision is not everywhere, and with it the pixels would be slightly others.
"""

import io
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tasks.images import ImageFault, check_content, inspect_image, is_remote, read_image
from tasks.lake import Lake, LakePath
from tasks.metrics.embeddings import EmbeddingStore, Vectors, embed_once
from tasks.metrics.local_models import ModelSettings, identify_model, import_torch, load_image_processor, load_model
from tasks.metrics.pairs import Ids

IMAGES_PER_CHUNK = 1_024
_AT_ONCE = 16
MOST_UNEVEN = 200
"""Longer side by shorter side; the processor scales the shorter one to the model's, which would make a line of pixels enormous."""
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


def embed_images(images: pa.StructArray, settings: ModelSettings, root: LakePath, lake: Lake | None) -> EmbeddedImages:
    """Unit vectors of the distinct images of n rows (uri, sha256), null where a row has none."""
    rows = [(row["uri"], row["sha256"]) if row and row["uri"] is not None else None for row in images.to_pylist()]
    distinct = {row: place for place, row in enumerate(dict.fromkeys(row for row in rows if row))}
    ids = np.array([distinct[row] if row else len(distinct) for row in rows], np.int64)
    named = [_name_image(root, uri, recorded) for uri, recorded in distinct]
    reasons = np.array([*(reason for _, reason in named), "the item has no image"], object)
    places = np.array([place for place, (digest, _) in enumerate(named) if digest], np.int64)
    encoder = _ImageEncoder(settings, root, [uri for uri, _ in distinct], [digest for digest, _ in named], places, reasons)
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
class _ImageEncoder:
    """Embeds those of the images that stand at `places`; of one that cannot be, the reason is put into `reasons`."""

    settings: ModelSettings
    root: LakePath
    uris: list[str]
    digests: list[str]
    places: Ids
    reasons: npt.NDArray[np.object_]

    def embed_all(self, lake: Lake | None) -> Vectors:
        """A vector of each image at `places`, NaN where there is a reason."""
        store = EmbeddingStore(lake, f"clip_image|{identify_model(self.settings)}|processor:pil|version:1") if lake else None
        digests = [self.digests[place] for place in self.places]
        return embed_once(digests, np.zeros(len(digests), np.int64), self._embed, store, chunk=IMAGES_PER_CHUNK)

    def _embed(self, chosen: Ids) -> Vectors:
        model = load_model(self.settings, "CLIPModel")
        vision = model.config.vision_config
        count = max(1, self.settings.batch_tokens // ((vision.image_size // vision.patch_size) ** 2 + 1))
        vectors = np.full((len(chosen), model.config.projection_dim), np.nan, np.float32)
        for start in range(0, len(chosen), count):
            prepared = self._prepare_all(
                {row: int(self.places[chosen[row]]) for row in range(start, min(start + count, len(chosen)))}
            )
            good = {row: pixels for row, pixels in prepared.items() if pixels is not None}
            if good:
                vectors[list(good)] = _embed_pixels(model, np.stack(list(good.values())))
        return vectors

    def _prepare_all(self, places: Mapping[int, int]) -> dict[int, Pixels | None]:
        """Row -> its pixels; images of a bucket many at once, since each is a request."""
        with ThreadPoolExecutor(1 if isinstance(self.root, Path) else _AT_ONCE, thread_name_prefix="images") as threads:
            return dict(zip(places, threads.map(self._prepare, places.values()), strict=True))

    def _prepare(self, place: int) -> Pixels | None:
        """The pixels of an image as the model takes them; none, and a reason, where the file is not what was ingested."""
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
            return f"the image has {width} x {height} pixels, one side over {MOST_UNEVEN} times the other"
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
