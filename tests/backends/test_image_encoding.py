import base64
import hashlib
import io
from pathlib import Path

import pytest
from PIL import Image as Pillow

from judgelake.tasks.backends.image_encoding import ImageEncoder, encode_image
from judgelake.tasks.errors import BackendError
from judgelake.tasks.types import Box, Image

GREY, RED = (90, 90, 90), (255, 0, 0)


def paint(size: tuple[int, int], kind: str = "PNG", mode: str = "RGB") -> bytes:
    buffer = io.BytesIO()
    Pillow.new(mode, size, GREY if mode == "RGB" else 90).save(buffer, kind)
    return buffer.getvalue()


def put(folder: Path, name: str, content: bytes) -> Image:
    (folder / name).write_bytes(content)
    return Image(name, hashlib.sha256(content).hexdigest())


def decode(url: str) -> tuple[str, bytes]:
    head, _, body = url.partition(";base64,")
    return head.removeprefix("data:"), base64.b64decode(body, validate=True)


def open_url(url: str) -> Pillow.Image:
    return Pillow.open(io.BytesIO(decode(url)[1]))


@pytest.mark.parametrize(
    ("kind", "mime"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("GIF", "image/gif")],
)
def test_an_image_that_needs_nothing_is_sent_as_it_is(tmp_path: Path, kind: str, mime: str) -> None:
    content = paint((40, 30), kind)
    assert decode(ImageEncoder(tmp_path, 64).encode(put(tmp_path, "a", content))) == (mime, content)


def test_a_kind_that_endpoints_do_not_take_is_sent_as_another() -> None:
    url = encode_image(paint((40, 30), "BMP"), (), 64)
    assert decode(url)[0] == "image/jpeg"
    assert open_url(url).size == (40, 30)


def test_the_longer_side_is_scaled_to_the_limit() -> None:
    assert open_url(encode_image(paint((400, 100)), (), 64)).size == (64, 16)
    assert open_url(encode_image(paint((100, 400), "JPEG"), (), 64)).size == (16, 64)
    grey = encode_image(paint((400, 100), "JPEG", "L"), (), 64)
    assert open_url(grey).size == (64, 16)


def test_a_box_is_drawn_in_red_at_its_place_in_the_original_and_nowhere_else() -> None:
    url = encode_image(paint((100, 80)), (Box(20, 10, 40, 30),), 1000)
    picture = open_url(url).convert("RGB")
    assert picture.size == (100, 80)
    on_the_line = [(20, 10), (60, 40), (40, 10), (20, 25), (60, 25), (40, 40)]
    assert {picture.getpixel(place) for place in on_the_line} == {RED}
    elsewhere = [(40, 25), (10, 5), (70, 25), (40, 50), (99, 79)]
    assert {picture.getpixel(place) for place in elsewhere} == {GREY}


def test_boxes_are_drawn_before_scaling() -> None:
    picture = open_url(encode_image(paint((400, 400)), (Box(100, 100, 200, 200),), 100)).convert(
        "RGB"
    )
    red, _, _ = picture.getpixel((25, 50))  # type: ignore[misc]
    assert red > 150
    assert picture.getpixel((50, 50)) == GREY


def test_an_image_is_encoded_once_and_boxes_make_another(tmp_path: Path) -> None:
    encoder, image = ImageEncoder(tmp_path, 64), put(tmp_path, "a.png", paint((40, 30)))
    boxed = Image(image.uri, image.sha256, (Box(1, 1, 9, 9),))
    first = [encoder.encode(one) for one in (image, boxed)]
    (tmp_path / "a.png").unlink()
    assert [encoder.encode(one) for one in (image, boxed)] == first
    assert first[0] != first[1]
    assert encoder.n_encoded == 2


def test_the_one_used_longest_ago_is_given_up_first(tmp_path: Path) -> None:
    images = [put(tmp_path, f"{number}.png", paint((40 + number, 30))) for number in range(3)]
    size = len(ImageEncoder(tmp_path, 64).encode(images[0]))
    encoder = ImageEncoder(tmp_path, 64, kept_bytes=int(2.5 * size))
    for number in (0, 1, 0, 2, 0, 1):  # 2 pushes out 1, so 1 is encoded again
        encoder.encode(images[number])
    assert encoder.n_encoded == 4


def test_a_url_stays_a_url(tmp_path: Path) -> None:
    assert (
        ImageEncoder(tmp_path, 64).encode(Image("https://example.org/a.jpg", None))
        == "https://example.org/a.jpg"
    )


def test_a_file_that_changed_or_went_is_reported(tmp_path: Path) -> None:
    image = put(tmp_path, "a.png", paint((40, 30)))
    (tmp_path / "a.png").write_bytes(paint((41, 30)))
    with pytest.raises(
        BackendError, match=r"a\.png: the image changed since it was ingested; .* ingest again"
    ):
        ImageEncoder(tmp_path, 64).encode(image)
    (tmp_path / "a.png").unlink()
    with pytest.raises(
        BackendError, match=r"a\.png: the image cannot be read \(No such file or directory\)"
    ):
        ImageEncoder(tmp_path, 64).encode(image)


def test_transparency_is_kept() -> None:
    buffer = io.BytesIO()
    Pillow.new("RGBA", (300, 200), (10, 20, 30, 128)).save(buffer, "PNG")
    picture = open_url(encode_image(buffer.getvalue(), (), 100))
    assert (picture.mode, picture.size) == ("RGBA", (100, 67))
    assert picture.getpixel((5, 5)) == pytest.approx((10, 20, 30, 128), abs=1)
