"""Item images as they lie on disk or in a bucket: resolved against the image folder, checked and
digested at ingest; faults go to the quarantine.

A fault never drops an item, since judges that see text only can go on. Encoding images for a
request is the backends' matter.
"""

import hashlib
import io
import os
import posixpath
import struct
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from judgelake.schemas.values import Image
from judgelake.tasks.digests import digest_json
from judgelake.tasks.lake.buckets import stamp_keys
from judgelake.tasks.lake.storage import LakePath, read_file
from judgelake.tasks.lake.validation import QUARANTINE, no_quarantine
from judgelake.tasks.types import is_remote

_MB = 1_000_000
# images of a bucket read at a time; each is a request
_AT_ONCE = 32
_PIXELS = 89_478_485  # Pillow's own MAX_IMAGE_PIXELS, past which it warns of a decompression bomb
_FORMATS = (
    "PNG",
    "JPEG",
    "GIF",
    "WEBP",
    "BMP",
    "TIFF",
)  # never EPS, which Pillow hands to Ghostscript
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
    """What an image file may be: bytes of the file, and pixels by its header (checked before
    anything is decoded).
    """

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
    """Items with the digests of their good images, and the faults as rows with the columns of
    QUARANTINE.
    """

    items: pl.DataFrame
    quarantined: pl.DataFrame


def inspect_image(
    root: LakePath, uri: str, limits: ImageLimits = ImageLimits()
) -> ImageFact | ImageFault:
    """Check one image under `root`: inside it, there, within the limits, of a known kind, whole;
    never raises for what a file holds.
    """
    if is_remote(uri):
        return ImageFact(None, None, None)
    content = read_image(root, uri, limits)
    return content if isinstance(content, ImageFault) else check_content(content, limits)


def read_image(root: LakePath, uri: str, limits: ImageLimits = ImageLimits()) -> bytes | ImageFault:
    """The bytes of an image under `root`, not more than the limits let it have; raises LakeError
    where a bucket refuses.
    """
    try:
        file, inside = _place(root, uri)
    except (
        OSError,
        ValueError,
        RuntimeError,
    ) as error:  # a NUL byte, a name too long, a loop of links
        return ImageFault(
            f"the image's path cannot be followed ({error})", "correct the path in the source"
        )
    if not inside or uri.lower().startswith("file:"):
        return ImageFault(
            "the image lies outside the image folder",
            f"put it under {root}, or set `images:` in the suite",
        )
    return _read(file, limits) if isinstance(file, Path) else _get(file, limits)


def _place(root: LakePath, uri: str) -> tuple[LakePath, bool]:
    """Where a URI leads, and whether that is inside the root."""
    if isinstance(root, Path):
        file = (root / uri).resolve()
        return file, file.is_relative_to(root.resolve())
    if "\0" in uri:
        raise ValueError("embedded null byte")
    plain = posixpath.normpath(uri)
    return root / plain.lstrip("/"), not plain.startswith(("/", "../")) and plain != ".."


def _read(file: Path, limits: ImageLimits) -> bytes | ImageFault:
    try:
        if not file.exists():
            return _explain_missing(file)
        if not file.is_file():
            return ImageFault("the image's path is not a file", "name an image file")
        size = file.stat().st_size
        return (
            _explain_size(f"{size / _MB:.1f} MB", limits)
            if size > limits.max_bytes
            else file.read_bytes()
        )
    except OSError as error:
        return ImageFault(
            f"the image cannot be read ({error.strerror})", "check the file and who may read it"
        )


def _get(file: LakePath, limits: ImageLimits) -> bytes | ImageFault:
    content = read_file(file, most_bytes=limits.max_bytes + 1)
    if content is None:
        return _explain_missing(file)
    return (
        _explain_size("more bytes than may be", limits)
        if len(content) > limits.max_bytes
        else content
    )


def _explain_missing(file: LakePath) -> ImageFault:
    return ImageFault(
        "the image is missing",
        f"put the file at {file}, or set `images:` in the suite",
        missing=True,
    )


def _explain_size(size: str, limits: ImageLimits) -> ImageFault:
    reason = (
        f"the file has {size}, more than the {limits.max_bytes / _MB:g} MB that an image may have"
    )
    return ImageFault(reason, "scale the image down, or store it with more compression")


def check_content(content: bytes, limits: ImageLimits = ImageLimits()) -> ImageFact | ImageFault:
    """Whether bytes are an image that is whole and within the limits."""
    from PIL import Image as Pillow  # not needed by the runs that ingest nothing
    from PIL import UnidentifiedImageError

    bomb = ImageFault(
        f"the image has more than {limits.max_pixels:,} pixels: a decompression bomb",
        "scale the image down",
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # also of too many pixels, which are checked below
            with Pillow.open(io.BytesIO(content), formats=_FORMATS) as image:
                width, height = image.size
                if width * height > limits.max_pixels:
                    return bomb
                # a JPEG is decoded at an eighth: all its bytes are read, in a fraction of the time
                image.draft("L", (1, 1))
                image.load()
    except (
        Pillow.DecompressionBombError
    ):  # beyond twice Pillow's own limit it does not even read the size
        return bomb
    except UnidentifiedImageError:
        return ImageFault(
            f"the file is not an image ({', '.join(_FORMATS)} are read)",
            "fetch the file again, or convert it",
        )
    except _BROKEN as error:
        return ImageFault(f"the image is truncated or damaged ({error})", "fetch the file again")
    return ImageFact(hashlib.sha256(content).hexdigest(), width, height)


def stamp_images(root: LakePath, uris: Iterable[str], limits: ImageLimits = ImageLimits()) -> str:
    """A cheap digest of the state of images that are not URLs: size and time of change of each file
    (in a bucket: size and ETag), none read.

    '' where there is no such image.
    """
    local = sorted({uri for uri in uris if not is_remote(uri)})
    if not local:
        return ""
    if isinstance(root, Path):
        states: Mapping[str, object] = (
            {uri: _state(root / uri) for uri in local} if root.is_dir() else {}
        )
    else:
        stamps = stamp_keys(root, [uri for uri in local if _place(root, uri)[1]])
        states = {uri: stamps.get(uri) for uri in local}
    return digest_json([states, list(astuple(limits))])


def _state(file: Path) -> list[int] | None:
    try:
        status = os.stat(file)  # noqa: PTH116  # half the time of Path.stat, for a million images
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns]


def check_images(
    items: pl.DataFrame, root: LakePath, limits: ImageLimits = ImageLimits()
) -> CheckedImages:
    """Fill in the digests of local images, each file read once; a digest that the source gave is
    checked against the file's.
    """
    flat = (
        items.with_row_index("row")
        .select("row", "source_file", "locator", "images")
        .explode("images")
        .drop_nulls("images")
    )
    flat = flat.unnest("images").drop_nulls("uri")
    uris = [uri for uri in flat["uri"].unique(maintain_order=True) if not is_remote(uri)]
    if not uris:
        return CheckedImages(items, no_quarantine())
    missing = ImageFault(
        "the image is missing", f"put it under {root}, or set `images:` in the suite", missing=True
    )
    looked = _inspect_all(root, uris, limits) if _may_hold(root) else dict.fromkeys(uris, missing)
    digests = {uri: fact.sha256 for uri, fact in looked.items() if isinstance(fact, ImageFact)}
    faults = {uri: fault for uri, fault in looked.items() if isinstance(fault, ImageFault)}
    frame = pl.DataFrame(
        {"uri": list(digests), "found": list(digests.values())},
        {"uri": pl.String, "found": pl.String},
    )
    seen = flat.join(frame, on="uri", how="left", maintain_order="left").with_columns(
        local=pl.col("uri").is_in(uris)
    )
    same = pl.col("sha256").fill_null(pl.col("found")) == pl.col("found")
    filled = seen.with_columns(
        sha256=pl.when(~pl.col("local")).then("sha256").when(same).then("found")
    )
    faulty = seen.filter(pl.col("uri").is_in(list(faults)))
    quarantined = pl.concat(
        [
            _list_faults(faulty, faults, root, none_there=not digests),
            _list_changed(seen.filter(~same)),
        ]
    )
    return CheckedImages(_put_back(items, filled), quarantined)


def _may_hold(root: LakePath) -> bool:
    """Whether it is worth looking for images there; a bucket has no folders."""
    return not isinstance(root, Path) or root.is_dir()


def _inspect_all(
    root: LakePath, uris: Sequence[str], limits: ImageLimits
) -> dict[str, ImageFact | ImageFault]:
    """Each image by its URI; those of a bucket many at once, since each is a request."""
    if isinstance(root, Path):
        return {uri: inspect_image(root, uri, limits) for uri in uris}
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="images") as threads:
        return dict(
            zip(uris, threads.map(lambda uri: inspect_image(root, uri, limits), uris), strict=True)
        )


def _put_back(items: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """The items with `images` (row, uri, sha256), in their order; an item without any keeps its
    empty list.
    """
    lists = images.group_by("row", maintain_order=True).agg(
        pl.struct("uri", "sha256").cast(Image).alias("images")
    )
    bare = (
        items.drop("images")
        .with_row_index("row")
        .join(lists, on="row", how="left", maintain_order="left")
    )
    return bare.with_columns(pl.col("images").fill_null([])).select(items.columns)


def _list_faults(
    images: pl.DataFrame, faults: Mapping[str, ImageFault], root: LakePath, none_there: bool
) -> pl.DataFrame:
    """One row an image, at the first item that names it; one row for all where not one is there."""
    if none_there and len(faults) > 1 and all(fault.missing for fault in faults.values()):
        what = "none of the images is there" if _may_hold(root) else "the image folder is absent"
        reason = (
            f"{what}: {len(faults):,} images are missing under {root}, from {min(faults)} "
            f"to {max(faults)}"
        )
        remedy = (
            "put them there or set `images:` in the suite; judges that see only text go "
            "on without them"
        )
        return _rows(
            [
                (
                    images["source_file"][0],
                    f"{images['row'].n_unique()} items",
                    f"{len(faults)} images",
                    reason,
                    remedy,
                )
            ]
        )
    first = images.unique("uri", keep="first", maintain_order=True).select(
        "source_file", "locator", "uri"
    )
    return _rows(
        [
            (file, locator, uri, faults[uri].reason, faults[uri].remedy)
            for file, locator, uri in first.iter_rows()
        ]
    )


def _list_changed(images: pl.DataFrame) -> pl.DataFrame:
    reason, remedy = (
        "the file's digest is not the one that its source records",
        "restore the file, or correct the source's sha256",
    )
    places = images.unique("uri", keep="first", maintain_order=True).select(
        "source_file", "locator", "uri"
    )
    return _rows([(*place, reason, remedy) for place in places.iter_rows()])


def _rows(rows: list[tuple[str, str, str, str, str]]) -> pl.DataFrame:
    places = [
        ("images", file, locator, "images", uri[:200], reason, remedy)
        for file, locator, uri, reason, remedy in rows
    ]
    return pl.DataFrame(places, dict.fromkeys(QUARANTINE, pl.String), orient="row")
