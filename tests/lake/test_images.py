"""Item images at ingest: every way in which one can be wrong is reported, and the digests are those of
the files.
"""

import hashlib
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake import images as images_module
from judgelake.tasks.lake.images import (
    ImageFact,
    ImageFault,
    ImageLimits,
    check_images,
    inspect_image,
    stamp_images,
)
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.sources import ingestion
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.ingestion import IngestSummary, find_current, ingest_benchmark
from judgelake.tasks.sources.registry import BenchmarkSettings
from judgelake.tasks.suite.suite import LimitSettings, read_suite
from judgelake.tasks.types import is_remote
from tests.conftest import CHECKOUT
from tests.lakes import query
from tests.rows import write_benchmark


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    return folder


def draw(file: Path, size: tuple[int, int] = (40, 30)) -> Path:
    """A noisy picture, so that half of its file is not all of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.effect_noise(size, 90).save(file)
    return file


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def make_items(*images: Sequence[str | tuple[str, str | None]]) -> pl.DataFrame:
    """One item for each list of images; an image is its URI, or URI and recorded digest."""
    rows: list[tuple[object, ...]] = []
    for number, uris in enumerate(images):
        pairs = [(uri, None) if isinstance(uri, str) else uri for uri in uris]
        listed = [{"uri": uri, "sha256": digest} for uri, digest in pairs]
        rows.append(
            (
                str(number),
                "vqa",
                "What?",
                [],
                listed,
                [],
                None,
                None,
                str(number),
                "items.json",
                f"record {number}",
            )
        )
    return pl.DataFrame(rows, schema=frame_schema("items"), orient="row")


def list_faults(frame: pl.DataFrame) -> list[tuple[str, str]]:
    return list(frame.select("value", "reason").iter_rows())


def big_png(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims any size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(100)))
        + chunk(b"IEND", b"")
    )


# ---- one image


@pytest.mark.parametrize(
    "name",
    [
        "a.png",
        "b.jpg",
        "c.gif",
        "d.webp",
        "e.bmp",
        "f.tiff",
        "sub/g.png",
        "sub/../h.png",
        "ü ß.png",
    ],
)
def test_a_good_image_has_its_digest_and_size(root: Path, name: str) -> None:
    (root / "sub").mkdir()
    file = draw(root / name)
    assert inspect_image(root, name) == ImageFact(sha256(file), 40, 30)


@pytest.mark.parametrize("suffix", ["png", "jpg", "gif", "webp", "bmp", "tiff"])
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_truncated_image_is_a_fault(root: Path, suffix: str, kept: float) -> None:
    file = draw(root / f"a.{suffix}", (200, 200))
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * kept)])
    fault = inspect_image(root, file.name)
    assert isinstance(fault, ImageFault)
    assert "truncated" in fault.reason or "not an image" in fault.reason
    assert not fault.missing


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ((9_000, 10_000), "decompression bomb"),
        ((60_000, 60_000), "decompression bomb"),
        ((9_000, 9_000), "truncated"),
    ],
)
def test_a_bomb_is_found_by_its_header(root: Path, size: tuple[int, int], reason: str) -> None:
    """9,000 x 10,000 is above the limit, 60,000 squared above what Pillow opens, 9,000 squared
    below: it is decoded, and breaks off.
    """
    (root / "bomb.png").write_bytes(big_png(*size))
    fault = inspect_image(root, "bomb.png")
    assert isinstance(fault, ImageFault)
    assert reason in fault.reason


def test_limits_are_the_suite_s(root: Path) -> None:
    file = draw(root / "a.png", (40, 30))
    size = file.stat().st_size
    assert isinstance(
        inspect_image(root, "a.png", ImageLimits(max_bytes=size, max_pixels=1200)), ImageFact
    )
    heavy = inspect_image(root, "a.png", ImageLimits(max_bytes=size - 1))
    assert isinstance(heavy, ImageFault)
    assert "MB" in heavy.reason
    wide = inspect_image(root, "a.png", ImageLimits(max_pixels=1199))
    assert isinstance(wide, ImageFault)
    assert "more than 1,199 pixels" in wide.reason
    assert LimitSettings(image_mb=0.5, image_megapixels=2).images == ImageLimits(500_000, 2_000_000)
    assert LimitSettings().images == ImageLimits(50_000_000, 89_478_485)
    for wrong in ({"image_mb": 0.0}, {"image_megapixels": 179.0}):
        with pytest.raises(ValueError, match="expected"):
            LimitSettings(**wrong)  # type: ignore[arg-type]


def test_a_file_too_large_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (root / "huge.png").open("wb") as file:
        file.truncate(50_000_001)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read"))
    fault = inspect_image(root, "huge.png")
    assert isinstance(fault, ImageFault)
    assert "50.0 MB" in fault.reason


def test_nothing_outside_the_folder_is_read(root: Path, tmp_path: Path) -> None:
    outside = draw(tmp_path / "secret.png")
    (root / "link.png").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    (tmp_path / "images2").mkdir()
    draw(tmp_path / "images2" / "a.png")
    ways = [
        "../secret.png",
        str(outside),
        "link.png",
        "folder/secret.png",
        "../images2/a.png",
        f"file://{outside}",
        "sub/../../secret.png",
    ]
    for uri in ways:
        fault = inspect_image(root, uri)
        assert isinstance(fault, ImageFault), uri
        assert "outside" in fault.reason, uri


def test_a_link_within_the_folder_is_followed(root: Path) -> None:
    file = draw(root / "a.png")
    (root / "b.png").symlink_to(file)
    assert inspect_image(root, "b.png") == inspect_image(root, "a.png")
    (root / "images").symlink_to(root)
    assert inspect_image(root, "images/a.png") == inspect_image(root, "a.png")


def test_what_is_no_image_is_a_fault(root: Path) -> None:
    (root / "text.jpg").write_text("not an image")
    (root / "empty.png").write_bytes(b"")
    (root / "vector.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (root / "script.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n")
    (root / "sub").mkdir()
    os.mkfifo(root / "pipe.png")
    (root / "loop.png").symlink_to(root / "loop.png")
    for name in (
        "text.jpg",
        "empty.png",
        "vector.svg",
        "script.eps",
        "sub",
        "pipe.png",
        "loop.png",
        "a\0b.png",
        "a" * 5000,
        "",
    ):
        fault = inspect_image(root, name)
        assert isinstance(fault, ImageFault), name
        assert fault.reason, name
        assert fault.remedy, name
    missing = inspect_image(root, "absent.png")
    assert isinstance(missing, ImageFault)
    assert missing.missing


@given(
    st.text(max_size=40)
    | st.lists(st.sampled_from(["..", "/", "a", "\0", "~", ".", "file:", "//"]), max_size=8).map(
        "".join
    )
)
def test_no_uri_raises_or_leaves_the_folder(uri: str) -> None:
    found = inspect_image(CHECKOUT / "tests" / "oracle", uri)  # no image is there
    assert is_remote(uri) or isinstance(found, ImageFault)


def test_urls_are_kept_and_never_opened(root: Path) -> None:
    for uri in (
        "https://example.com/a.png",
        "HTTP://example.com/a.png",
        "s3://bucket/a.png",
        "data:image/png;base64,AAAA",
    ):
        assert is_remote(uri)
        assert inspect_image(root, uri) == ImageFact(None, None, None)
    assert not any(
        is_remote(uri)
        for uri in ("a.png", "sub/a.png", "C:a.png", "file:///a.png", "mmmu:1.png", "//host/a.png")
    )


# ---- the images of items


def test_digests_are_filled_in_and_items_stay_as_they_are(root: Path) -> None:
    a, b = draw(root / "a.png"), draw(root / "b.png")
    url = "https://example.com/c.png"
    items = make_items(
        ["a.png", "b.png"], [], [url, "a.png"], [(url, "e" * 64)], [("a.png", sha256(a))]
    )
    checked = check_images(items, root)
    assert checked.quarantined.height == 0
    digests = [
        [image["sha256"] for image in images] for images in checked.items["images"].to_list()
    ]
    assert digests == [[sha256(a), sha256(b)], [], [None, sha256(a)], ["e" * 64], [sha256(a)]]
    assert checked.items.drop("images").equals(items.drop("images"))
    assert checked.items.schema == items.schema
    uris = [[image["uri"] for image in images] for images in checked.items["images"].to_list()]
    assert uris == [["a.png", "b.png"], [], [url, "a.png"], [url], ["a.png"]]


def test_each_image_is_read_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw(root / "a.png")
    seen: list[str] = []
    inspect = inspect_image
    monkeypatch.setattr(
        images_module,
        "inspect_image",
        lambda at, uri, limits: [seen.append(uri), inspect(at, uri, limits)][1],  # type: ignore[func-returns-value]
    )
    check_images(make_items(["a.png"], ["a.png", "b.png"], ["b.png"]), root)
    assert seen == ["a.png", "b.png"]


def test_each_fault_is_reported_once_at_the_first_item(root: Path) -> None:
    draw(root / "a.png")
    (root / "text.png").write_text("x")
    checked = check_images(
        make_items(["a.png"], ["absent.png", "text.png"], ["absent.png"], [("../x.png", "e" * 64)]),
        root,
    )
    quarantined = checked.quarantined.sort("value")
    assert quarantined["value"].to_list() == ["../x.png", "absent.png", "text.png"]
    assert quarantined["locator"].to_list() == ["record 3", "record 1", "record 1"]
    assert quarantined["table_name"].unique().to_list() == ["images"]
    assert quarantined["remedy"].str.len_chars().min() > 0  # type: ignore[operator]
    digests = [image["sha256"] for images in checked.items["images"].to_list() for image in images]
    assert digests == [
        sha256(root / "a.png"),
        None,
        None,
        None,
        None,
    ]  # the digest that nobody can verify is not kept


def test_another_digest_than_the_recorded_one_is_reported(root: Path) -> None:
    draw(root / "a.png")
    checked = check_images(make_items([("a.png", "e" * 64)], ["a.png"]), root)
    assert list_faults(checked.quarantined) == [
        ("a.png", "the file's digest is not the one that its source records")
    ]
    assert checked.items["images"].to_list() == [
        [{"uri": "a.png", "sha256": None}],
        [{"uri": "a.png", "sha256": sha256(root / "a.png")}],
    ]


@pytest.mark.parametrize("absent", [True, False])
def test_a_folder_without_any_image_is_reported_once(root: Path, absent: bool) -> None:
    folder = root / "nowhere" if absent else root
    items = make_items(["b.png", "a.png"], ["a.png"], ["c.png"], ["https://example.com/d.png"])
    checked = check_images(items, folder)
    assert checked.items.equals(items)
    [row] = checked.quarantined.to_dicts()
    assert (row["locator"], row["value"]) == ("3 items", "3 images")
    what = "the image folder is absent" if absent else "none of the images is there"
    assert row["reason"] == f"{what}: 3 images are missing under {folder}, from a.png to c.png"


def test_one_image_there_makes_each_missing_one_reported(root: Path) -> None:
    draw(root / "a.png")
    checked = check_images(make_items(["a.png"], ["b.png"], ["c.png"]), root)
    assert list_faults(checked.quarantined) == [
        ("b.png", "the image is missing"),
        ("c.png", "the image is missing"),
    ]


def test_items_without_images_pass(root: Path) -> None:
    assert (
        check_images(
            make_items([], ["https://example.com/a.png"]), root / "nowhere"
        ).quarantined.height
        == 0
    )
    assert check_images(make_items(), root).items.height == 0


# ---- what a later run notices


def test_the_stamp_changes_with_every_change_of_a_file(root: Path, tmp_path: Path) -> None:
    uris = ["a.png", "b.png"]
    stamps = [stamp_images(tmp_path / "nowhere", uris)]
    draw(root / "other.png")
    stamps.append(stamp_images(root, uris))
    file = draw(root / "a.png")
    stamps.append(stamp_images(root, uris))
    os.utime(file, ns=(1, 1))
    stamps.append(stamp_images(root, uris))
    stamps.append(stamp_images(root, uris, ImageLimits(max_bytes=7)))
    assert len(set(stamps)) == 5
    assert stamp_images(root, ["b.png", "a.png", "a.png", "https://example.com/c.png"]) == stamps[3]
    assert stamp_images(root, ["https://example.com/c.png"]) == ""
    assert stamp_images(root, []) == ""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path / "lake", create=True)


def test_images_that_appear_are_picked_up(
    lake: Lake, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = write_benchmark(tmp_path, {"1": ["yes"]}, {"m": {"1": "yes"}})
    frames = SourceFrames(items=make_items(["a.png"], ["b.png"]))
    monkeypatch.setattr(ingestion, "read_source", lambda *_: frames)

    def ingest(benchmark: BenchmarkSettings) -> IngestSummary:
        return ingest_benchmark(lake, benchmark, root, None)

    def digests() -> list[str | None]:
        return [
            row["d"]
            for row in query(lake, "select images[1].sha256 as d from items order by item_id")
        ]

    assert ingest(benchmark).n_quarantined == 1
    assert (ingest(benchmark).skipped, digests()) == (True, [None, None])
    a = draw(root / "a.png")
    assert find_current(lake, benchmark, None, root) is None
    again = ingest(benchmark)
    assert (again.skipped, again.n_quarantined, digests()) == (False, 1, [sha256(a), None])
    b = draw(root / "b.png")
    assert (ingest(benchmark).n_quarantined, digests()) == (0, [sha256(a), sha256(b)])
    assert ingest(benchmark).skipped
    a.unlink()
    assert (ingest(benchmark).skipped, digests()) == (False, [None, sha256(b)])
    assert query(lake, "select count(*) as n from items") == [{"n": 2}]


def test_wrong_limits_in_a_suite_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text("name: s\nbenchmarks:\n  demo: {source: demo}\nlimits:\n  image_mb: -1\n")
    with pytest.raises(
        SuiteError, match=r"suite\.yaml:5: image_mb: -1\.0; expected megabytes above 0"
    ):
        read_suite(file)
