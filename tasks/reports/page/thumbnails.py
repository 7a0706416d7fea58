"""Images of items as thumbnails beside the page."""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path

from judgelake.tasks.errors import BackendError

Encode = Callable[[str, str], str]

FOLDER = "rows"
MOST_IMAGES = 5_000
THUMBNAIL_SIDE = 320


def write_thumbnails(
    images: Mapping[str, str], place: Path, encode: Encode | None
) -> dict[str, str]:
    """sha256 -> file beside the page; an image that cannot be read has none. `images`: sha256 ->
    URI.
    """
    written: dict[str, str] = {}
    if encode is None:
        return written
    for sha256, uri in list(images.items())[:MOST_IMAGES]:
        stem = sha256[:24]
        if known := next((place.glob(f"{stem}.*")), None):
            written[sha256] = f"{FOLDER}/{known.name}"
            continue
        try:
            url = encode(uri, sha256)
        except BackendError:
            continue
        head, _, body = url.partition(",")
        kind = head.removeprefix("data:image/").removesuffix(";base64")
        if head == url or kind not in ("png", "jpeg", "webp", "gif"):
            continue
        (place / f"{stem}.{kind}").write_bytes(base64.b64decode(body))
        written[sha256] = f"{FOLDER}/{stem}.{kind}"
    return written
