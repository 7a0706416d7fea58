"""Images as data URLs: read under the image folder, checked against the lake's digest, boxes drawn,
scaled down to the endpoint's limit.

An image that needs nothing done is sent as its file is, byte for byte.
"""

import base64
import hashlib
import io
import math
import threading
from collections import OrderedDict
from pathlib import Path

from judgelake.tasks.errors import BackendError, LakeError
from judgelake.tasks.lake.storage import LakePath, read_file
from judgelake.tasks.types import Box, Image, is_remote

# so many bytes of encoded images stay in memory for the next requests
_KEPT_BYTES = 256_000_000
_BOX_WIDTH = 0.006
"""Of the longer side: a line that is seen in a small picture and hides little of a large one."""

_SENT_AS_IS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


class ImageEncoder:
    """Encodes each image once, in any thread: the encoded ones are kept, those used longest ago
    given up first beyond `kept_bytes`.
    """

    def __init__(self, root: LakePath, max_side: int, kept_bytes: int = _KEPT_BYTES) -> None:
        self._root, self._max_side, self._limit = root, max_side, kept_bytes
        self._kept: OrderedDict[Image, str] = OrderedDict()
        self._size = 0
        self._guard = threading.Lock()
        self.n_encoded = 0

    def encode(self, image: Image) -> str:
        """The data URL of an image, or its own URL where it has one; raises BackendError for a file
        that is not the one ingested.
        """
        if is_remote(image.uri):
            return image.uri
        with self._guard:
            url = self._kept.pop(image, None)
            if url is not None:
                self._kept[image] = url
                return url
        url = encode_image(self._read(image), image.boxes, self._max_side)
        with self._guard:
            self.n_encoded += 1
            self._size += len(url) - len(
                self._kept.pop(image, "")
            )  # another thread may have been as quick
            self._kept[image] = url
            while self._size > self._limit and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1])
        return url

    def has(self, image: Image) -> bool:
        """Whether `encode` has nothing to read or to draw."""
        return image in self._kept or is_remote(image.uri)

    def _read(self, image: Image) -> bytes:
        file = self._root / image.uri
        try:
            content = file.read_bytes() if isinstance(file, Path) else read_file(file)
        except OSError as error:
            raise _explain_unreadable(file, str(error.strerror)) from None
        except LakeError as error:
            raise BackendError(str(error)) from None
        if content is None:
            raise _explain_unreadable(file, "No such key")
        if hashlib.sha256(content).hexdigest() != image.sha256:
            raise BackendError(
                f"{file}: the image changed since it was ingested; expected sha256 "
                f"{image.sha256}; ingest again"
            )
        return content


def _explain_unreadable(file: LakePath, why: str) -> BackendError:
    reason = f"{file}: the image cannot be read ({why}); expected the file that was ingested"
    return BackendError(f"{reason}; restore it, or ingest again")


def encode_image(content: bytes, boxes: tuple[Box, ...], max_side: int) -> str:
    """An image file as a data URL, its longer side at most `max_side` pixels, `boxes` (in original
    pixels) drawn in red.
    """
    from PIL import Image as Pillow  # judges of text need none
    from PIL import ImageDraw, ImageOps

    with Pillow.open(io.BytesIO(content)) as image:
        mime = _SENT_AS_IS.get(image.format or "")
        if mime and not boxes and max(image.size) <= max_side:
            return _make_url(mime, content)
        upright = (
            ImageOps.exif_transpose(image) if not boxes else image
        )  # boxes are in the pixels that the file stores
        drawn = upright.convert(
            "RGBA"
            if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info
            else "RGB"
        )
    pen = ImageDraw.Draw(drawn)
    width = max(2, math.ceil(_BOX_WIDTH * max(drawn.size)))
    for box in boxes:
        (left, right), (top, bottom) = (
            sorted((box.x, box.x + box.width)),
            sorted((box.y, box.y + box.height)),
        )
        pen.rectangle((left, top, right, bottom), outline=(255, 0, 0), width=width)
    drawn.thumbnail((max_side, max_side), Pillow.Resampling.LANCZOS)
    buffer = io.BytesIO()
    if drawn.mode == "RGBA" or mime == "image/png":
        drawn.save(buffer, "PNG")
        return _make_url("image/png", buffer.getvalue())
    drawn.save(buffer, "JPEG", quality=92)
    return _make_url("image/jpeg", buffer.getvalue())


def _make_url(mime: str, content: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(content).decode()}"
