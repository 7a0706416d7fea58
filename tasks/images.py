"""Item images as they lie on disk: resolved against the suite's image folder, checked and digested at ingest; what is wrong is told.

A fault never drops an item, since judges that see text only can go on. Encoding images for a request is the backends' matter.
"""

import hashlib
import io
import os
import re
import struct
import warnings
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from schemas.inputs import Image
from tasks.digests import digest_json
from tasks.validation import QUARANTINE, no_quarantine

_MB = 1_000_000
_PIXELS = 89_478_485  # Pillow's own MAX_IMAGE_PIXELS, past which it warns of a decompression bomb
_REMOTE = re.compile(r"(?i)(?!file:)[a-z][a-z0-9+.-]*:(?://|image/)")
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")  # never EPS, which Pillow hands to Ghostscript
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    IndexError,
    struct.error,
    zlib.error,
)  # Pillow's plugins raise all of these


@dataclass(frozen=True)
class ImageLimits:
    """What an image file may be: bytes of the file, and pixels by its header (checked before anything is decoded)."""

    max_bytes: int = 50 * _MB
    max_pixels: int = _PIXELS


class ImageFact(NamedTuple):
    """A good image; all three are None for a URL, which is never fetched."""

    sha256: str | None
    width: int | None
    height: int | None


class ImageFault(NamedTuple):
    """Why an image cannot be used. `missing`: there is no file at all."""

    reason: str
    remedy: str
    missing: bool = False


class CheckedImages(NamedTuple):
    """Items with the digests of their good images, and the faults as rows with the columns of QUARANTINE."""

    items: pl.DataFrame
    quarantined: pl.DataFrame


def is_remote(uri: str) -> bool:
    """Whether a URI is a URL (`https://`, `s3://`, `data:image/...`) and not a path under the image folder."""
    return _REMOTE.match(uri) is not None


def inspect_image(root: Path, uri: str, limits: ImageLimits = ImageLimits()) -> ImageFact | ImageFault:
    """Check one image under `root`: inside it, there, within the limits, of a known kind, whole; never raises for what a file holds."""
    if is_remote(uri):
        return ImageFact(None, None, None)
    try:
        file = (root / uri).resolve()
        inside = file.is_relative_to(root.resolve()) and not uri.lower().startswith("file:")
    except (OSError, ValueError, RuntimeError) as error:  # a NUL byte, a name too long, a loop of links
        return ImageFault(f"the image's path cannot be followed ({error})", "correct the path in the source")
    if not inside:
        return ImageFault("the image lies outside the image folder", f"put it under {root}, or set `images:` in the suite")
    content = _read(file, limits)
    return content if isinstance(content, ImageFault) else _decode(content, limits)


def _read(file: Path, limits: ImageLimits) -> bytes | ImageFault:
    try:
        if not file.exists():
            return ImageFault("the image is missing", f"put the file at {file}, or set `images:` in the suite", missing=True)
        if not file.is_file():
            return ImageFault("the image's path is not a file", "name an image file")
        size = file.stat().st_size
        if size > limits.max_bytes:
            reason = f"the file has {size / _MB:.1f} MB, more than the {limits.max_bytes / _MB:g} MB that an image may have"
            return ImageFault(reason, "scale the image down, or store it with more compression")
        return file.read_bytes()
    except OSError as error:
        return ImageFault(f"the image cannot be read ({error.strerror})", "check the file and who may read it")


def _decode(content: bytes, limits: ImageLimits) -> ImageFact | ImageFault:
    from PIL import Image as Pillow  # not needed by the runs that ingest nothing
    from PIL import UnidentifiedImageError

    bomb = ImageFault(f"the image has more than {limits.max_pixels:,} pixels: a decompression bomb", "scale the image down")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pixels too: ours is the check
            with Pillow.open(io.BytesIO(content), formats=_FORMATS) as image:
                width, height = image.size
                if width * height > limits.max_pixels:
                    return bomb
                image.draft("L", (1, 1))  # a JPEG is decoded at an eighth: all its bytes are read, in a fraction of the time
                image.load()
    except Pillow.DecompressionBombError:  # beyond twice Pillow's own limit it does not even read the size
        return bomb
    except UnidentifiedImageError:
        return ImageFault(f"the file is not an image ({', '.join(_FORMATS)} are read)", "fetch the file again, or convert it")
    except _BROKEN as error:
        return ImageFault(f"the image is truncated or damaged ({error})", "fetch the file again")
    return ImageFact(hashlib.sha256(content).hexdigest(), width, height)


def stamp_images(root: Path, uris: Iterable[str], limits: ImageLimits = ImageLimits()) -> str:
    """Names the state of local images cheaply: size and time of change of each file, none read; '' where there is no local image."""
    local = sorted({uri for uri in uris if not is_remote(uri)})
    if not local:
        return ""
    states = {uri: _state(root / uri) for uri in local} if root.is_dir() else {}
    return digest_json([states, list(astuple(limits))])


def _state(file: Path) -> list[int] | None:
    try:
        status = os.stat(file)  # noqa: PTH116  # half the time of Path.stat, for a million images
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns]


def check_images(items: pl.DataFrame, root: Path, limits: ImageLimits = ImageLimits()) -> CheckedImages:
    """Fill in the digests of local images, each file read once; a digest that the source gave is checked against the file's."""
    flat = items.with_row_index("row").select("row", "source_file", "locator", "images").explode("images").drop_nulls("images")
    flat = flat.unnest("images").drop_nulls("uri")
    uris = [uri for uri in flat["uri"].unique(maintain_order=True) if not is_remote(uri)]
    if not uris:
        return CheckedImages(items, no_quarantine())
    missing = ImageFault("the image is missing", f"put it under {root}, or set `images:` in the suite", missing=True)
    looked = {uri: inspect_image(root, uri, limits) for uri in uris} if root.is_dir() else dict.fromkeys(uris, missing)
    digests = {uri: fact.sha256 for uri, fact in looked.items() if isinstance(fact, ImageFact)}
    faults = {uri: fault for uri, fault in looked.items() if isinstance(fault, ImageFault)}
    found = pl.DataFrame({"uri": list(digests), "found": list(digests.values())}, {"uri": pl.String, "found": pl.String})
    seen = flat.join(found, on="uri", how="left", maintain_order="left").with_columns(local=pl.col("uri").is_in(uris))
    same = pl.col("sha256").fill_null(pl.col("found")) == pl.col("found")
    filled = seen.with_columns(sha256=pl.when(~pl.col("local")).then("sha256").when(same).then("found"))
    faulty = seen.filter(pl.col("uri").is_in(list(faults)))
    told = pl.concat([_tell_faults(faulty, faults, root, none_there=not digests), _tell_other(seen.filter(~same))])
    return CheckedImages(_put_back(items, filled), told)


def _put_back(items: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """The items with `images` (row, uri, sha256), in their order; an item without any keeps its empty list."""
    lists = images.group_by("row", maintain_order=True).agg(pl.struct("uri", "sha256").cast(Image).alias("images"))
    bare = items.drop("images").with_row_index("row").join(lists, on="row", how="left", maintain_order="left")
    return bare.with_columns(pl.col("images").fill_null([])).select(items.columns)


def _tell_faults(images: pl.DataFrame, faults: Mapping[str, ImageFault], root: Path, none_there: bool) -> pl.DataFrame:
    """One row an image, at the first item that names it; one row for all where not one is there."""
    if none_there and len(faults) > 1 and all(fault.missing for fault in faults.values()):
        what = "none of the images is there" if root.is_dir() else "the image folder is absent"
        reason = f"{what}: {len(faults):,} images are missing under {root}, from {min(faults)} to {max(faults)}"
        remedy = "put them there or set `images:` in the suite; judges that see only text go on without them"
        return _rows([(images["source_file"][0], f"{images['row'].n_unique()} items", f"{len(faults)} images", reason, remedy)])
    first = images.unique("uri", keep="first", maintain_order=True).select("source_file", "locator", "uri")
    return _rows([(file, locator, uri, faults[uri].reason, faults[uri].remedy) for file, locator, uri in first.iter_rows()])


def _tell_other(images: pl.DataFrame) -> pl.DataFrame:
    reason, remedy = (
        "the file's digest is not the one that its source records",
        "restore the file, or correct the source's sha256",
    )
    places = images.unique("uri", keep="first", maintain_order=True).select("source_file", "locator", "uri")
    return _rows([(*place, reason, remedy) for place in places.iter_rows()])


def _rows(rows: list[tuple[str, str, str, str, str]]) -> pl.DataFrame:
    told = [("images", file, locator, "images", uri[:200], reason, remedy) for file, locator, uri, reason, remedy in rows]
    return pl.DataFrame(told, dict.fromkeys(QUARANTINE, pl.String), orient="row")
