"""Images of a folder and of data sets as the hub and `datasets` store them."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.images import ImagesSettings, read_images


def paint(colour: str, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(buffer, kind)
    return buffer.getvalue()


def uris(settings: ImagesSettings, root: Path) -> list[str]:
    items = read_images(settings, root).items
    return [images[0]["uri"] for images in items["images"].to_list()]


def test_images_of_a_folder_are_copied_under_the_image_root(tmp_path: Path) -> None:
    folder, root = tmp_path / "photos", tmp_path / "lake" / "images"
    (folder / "deep").mkdir(parents=True)
    (folder / "b.PNG").write_bytes(paint("red"))
    (folder / "deep" / "a.jpg").write_bytes(paint("blue", "JPEG"))
    (folder / "notes.txt").write_text("no image")
    settings = ImagesSettings(folder=folder)
    assert uris(settings, root) == ["photos/b.PNG", "photos/deep/a.jpg"]
    assert (root / "photos" / "deep" / "a.jpg").read_bytes() == paint("blue", "JPEG")
    items = read_images(settings, root).items
    assert items["item_id"].to_list() == ["b.PNG", "deep/a.jpg"]
    assert items["prompt"].to_list() == ["", ""]


def test_images_under_the_root_stay_where_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "images" / "photos"
    folder.mkdir(parents=True)
    (folder / "a.png").write_bytes(paint("red"))
    assert uris(ImagesSettings(folder=folder), tmp_path / "images") == ["photos/a.png"]
    assert [*(tmp_path / "images").rglob("*.png")] == [folder / "a.png"]


@pytest.mark.parametrize("form", ["parquet", "stream", "file"])
def test_a_data_set_gives_each_image_once(tmp_path: Path, form: str) -> None:
    cells = [{"bytes": paint(colour), "path": None} for colour in ("red", "blue", "red")]
    table = pa.table({"image": [*cells, {"bytes": None, "path": "elsewhere.png"}]})
    file = tmp_path / "set" / ("train.parquet" if form == "parquet" else "data-00000.arrow")
    file.parent.mkdir()
    if form == "parquet":
        pq.write_table(table, file)
    else:
        make = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
        with make(str(file), table.schema) as writer:
            writer.write_table(table)
    read = read_images(ImagesSettings(dataset=(file,)), tmp_path / "images")
    assert read.items.height == 2
    (rejected,) = read.rejected
    assert (rejected.locator, rejected.reason) == ("row 3", "the row holds no image of its own")
    for images in read.items["images"].to_list():
        uri = images[0]["uri"]
        assert uri.startswith("set/")
        assert uri.endswith(".png")
        assert (tmp_path / "images" / uri).exists()


def test_what_cannot_be_read_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no image; expected a folder with files such as"):
        read_images(ImagesSettings(folder=tmp_path / "absent"), tmp_path)
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"picture": [b"x"]}), file)
    with pytest.raises(SourceError, match="has no column 'image'; expected one of picture"):
        read_images(ImagesSettings(dataset=(file,)), tmp_path)
    file.write_bytes(b"nonsense")
    with pytest.raises(SourceError, match=r"cannot be read .* expected Parquet or Arrow"):
        read_images(ImagesSettings(dataset=(file,)), tmp_path)
    with pytest.raises(ValueError, match="folder: expected either"):
        ImagesSettings()
