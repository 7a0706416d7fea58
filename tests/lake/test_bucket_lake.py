"""A lake in a bucket holds what a local one holds; its part files are fetched once, checked, and
dropped when they are long gone.
"""

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest
from upath import UPath

from judgelake.schemas.tables import TABLES
from judgelake.tasks.backends.image_encoding import ImageEncoder
from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.errors import BackendError, LakeError
from judgelake.tasks.lake import mirror
from judgelake.tasks.lake.buckets import get_keys, list_keys
from judgelake.tasks.lake.cleanup import remove_retired
from judgelake.tasks.lake.images import (
    ImageFault,
    ImageLimits,
    check_images,
    read_image,
    stamp_images,
)
from judgelake.tasks.lake.lake import Lake, append_rows, open_lake, retire
from judgelake.tasks.lake.storage import LakePath, list_files, read_file, remove_file, write_whole
from judgelake.tasks.metrics.shard import run_metric_shard
from judgelake.tasks.planning.cases import find_work, register_judges, write_work
from judgelake.tasks.planning.scores import write_scores
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.exports import FORMATS, is_fresh, page_path, report_views
from judgelake.tasks.sources.ingestion import find_current, ingest_benchmark
from judgelake.tasks.sources.registry import BenchmarkSettings, DemoSettings
from judgelake.tasks.standin.process import StandinProcess, start_standin
from judgelake.tasks.suite.suite import LimitSettings, Scope, Suite
from judgelake.tasks.types import Image
from judgelake.tasks.warehouse.checks import check_lake
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame
from tests.bucket_server import Bucket
from tests.lake.test_images import draw, make_items, sha256
from tests.lakes import lave_judge, make_suite
from tests.rows import make_frame

SUITE = make_suite(
    lave_judge(),
    benchmarks=("demo",),
    metrics=("exact_match", "vqa_accuracy"),
    limits=LimitSettings(concurrency=8),
)
DEMO = BenchmarkSettings("demo", "demo", DemoSettings(scenes=4))


@pytest.fixture
def lake(bucket: Bucket) -> Lake:
    return open_lake(f"{bucket.url}/some/lake", create=True)


def items(number: int) -> pl.DataFrame:
    return make_frame("items", {"item_id": f"i{number}"}, {"item_id": f"j{number}"})


def move_house(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """What the bucket's copies are on another machine: nothing yet."""
    monkeypatch.setenv("JUDGELAKE_CACHE", str(folder))


def test_parts_lie_in_the_bucket_and_are_read_here(lake: Lake, bucket: Bucket) -> None:
    (part,) = append_rows(lake, "items", items(1))
    assert str(part).startswith(f"{bucket.url}/some/lake/items/benchmark=bench/")
    (local,) = lake.part_files("items")
    assert local.relative_to(lake.mirror).as_posix() == str(part).removeprefix(f"{lake.root}/")
    assert local.read_bytes() == read_file(part)
    assert lake.list_parts("items")["items"] == {
        local.relative_to(lake.mirror).as_posix(): local.stat().st_size
    }
    assert open_lake(str(lake.root)).root == lake.root


def test_no_lake_in_a_bucket(bucket: Bucket) -> None:
    with pytest.raises(
        LakeError, match=r"s3://.*/none: no lake here; expected a folder with lake\.json"
    ):
        open_lake(f"{bucket.url}/none")


def test_parts_are_fetched_once(
    lake: Lake, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        append_rows(lake, "items", items(number))
    bucket.forget()
    assert len(lake.part_files("items")) == 5
    assert bucket.count("GET", ".parquet") == 0  # written through
    move_house(monkeypatch, tmp_path / "elsewhere")
    for expected in (5, 5):
        files = lake.part_files("items")
        assert bucket.count("GET", ".parquet") == expected
    assert sorted(pl.read_parquet(files)["item_id"]) == sorted(
        f"{letter}{number}" for letter in "ij" for number in range(5)
    )
    files[0].write_bytes(b"cut off")
    assert [file.stat().st_size > 7 for file in lake.part_files("items")] == [True] * 5


@pytest.mark.parametrize("fault", ["slow down", "cut", "lose"])
def test_what_does_not_come_at_once_comes_all_the_same(
    lake: Lake, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Of the many small requests every third meets a fault, so that each of those that send them
    gives up before long.
    """
    rows = pl.concat(
        [items(number).with_columns(benchmark=pl.lit(f"b{number}")) for number in range(45)]
    )
    append_rows(lake, "items", rows)
    move_house(monkeypatch, tmp_path / "elsewhere")
    bucket.forget()
    bucket.trouble(
        lambda seen: (
            fault if seen.number % 3 == 0 and "=b" in seen.path.replace("%3D", "=") else None
        )
    )
    assert pl.read_parquet(lake.part_files("items")).height == 90
    assert bucket.count("GET", ".parquet") > 45


def test_keys_that_are_not_there_or_may_not_be_read_are_left_out(bucket: Bucket) -> None:
    root = bucket.place("keys")
    got: dict[str, bytes] = {}
    for name in ("a/b=1/x y.bin", "a/b=2/ü+%.bin", "c"):
        write_whole(root / name, name.encode())
    names = ["a/b=1/x y.bin", "none", "a/b=2/ü+%.bin", "c"]
    get_keys(root, names, got.__setitem__)
    assert got == {name: name.encode() for name in names if name != "none"}
    got.clear()
    get_keys(root, [], got.__setitem__)
    assert got == {}
    get_keys(root, ["none", "c"], got.__setitem__)
    assert got == {"c": b"c"}
    got.clear()
    bucket.trouble(lambda _: "deny")
    get_keys(root, names, got.__setitem__)
    assert got == {}


def test_a_part_whose_content_is_not_its_name_is_named(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (part,) = append_rows(lake, "items", items(1))
    write_whole(part, b"something else")
    move_house(monkeypatch, tmp_path / "elsewhere")
    with pytest.raises(
        LakeError, match=r"its content is not what its name says .*restore it from a copy"
    ) as refused:
        lake.part_files("items")
    assert str(refused.value).startswith(f"{part}: ")
    assert list((tmp_path / "elsewhere").rglob("*.parquet")) == []


def test_a_full_disk_of_copies_says_what_to_do(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(_place: object, file: Path) -> None:
        file.write_bytes(b"some")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    append_rows(lake, "items", items(1))
    move_house(monkeypatch, tmp_path / "small")
    monkeypatch.setattr(mirror, "download", fill)
    monkeypatch.setattr(mirror, "_keep", lambda *_: False)  # what it does where there is no room
    with pytest.raises(
        LakeError,
        match=r"cannot be written \(No space left on device\).* name a folder with "
        r"room in JUDGELAKE_CACHE",
    ):
        lake.part_files("items")
    assert [file for file in (tmp_path / "small").rglob("*") if file.is_file()] == []


def test_what_is_retired_is_not_read_and_goes_later(lake: Lake) -> None:
    old, new = (append_rows(lake, "items", items(number))[0] for number in range(2))
    (kept,) = (file for file in lake.part_files("items") if file.name == old.name)
    retire(lake, [old])
    assert [file.name for file in lake.part_files("items")] == [new.name]
    assert kept.exists()  # who listed it before may read it still
    assert remove_retired(lake, older_than_s=0.0) == 1
    lake.part_files("items")
    assert kept.exists()
    os.utime(kept, (0, time.time() - 4000))
    assert [file.name for file in lake.part_files("items")] == [new.name]
    assert not kept.exists()


def test_a_part_that_goes_away_after_the_listing_is_left_out(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = (append_rows(lake, "items", items(number))[0] for number in range(2))
    move_house(monkeypatch, tmp_path / "elsewhere")

    def list_and_remove(folder: UPath, ending: str = "") -> dict[str, int]:
        found = list_keys(folder, ending)
        remove_file(gone)
        return found

    monkeypatch.setattr("judgelake.tasks.lake.snapshot.list_keys", list_and_remove)
    assert [file.name for file in lake.part_files("items")] == [stays.name]


def test_a_warehouse_lists_each_table_once(lake: Lake, bucket: Bucket) -> None:
    append_rows(lake, "items", items(1))
    bucket.forget()
    connection = open_warehouse(lake, sealed=True)
    assert select_frame(
        connection, "select item_id, benchmark from raw_items order by item_id", "test"
    ).rows() == [
        ("i1", "bench"),
        ("j1", "bench"),
    ]
    assert len(bucket.seen) == 3  # all keys, all keys again, what is retired


def test_requests_that_fail_now_and_then_cost_nothing(
    lake: Lake, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = ("slow down", "cut", "lose")
    bucket.trouble(lambda seen: faults[seen.number // 5 % 3] if seen.number % 5 == 0 else None)
    for number in range(4):
        append_rows(lake, "items", items(number))
    move_house(monkeypatch, tmp_path / "elsewhere")
    assert pl.read_parquet(lake.part_files("items")).height == 8
    assert len(bucket.seen) > 15


def write_images(root: LakePath, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        write_whole(root / name, content)


def test_images_in_a_bucket_are_checked_as_on_a_disk(bucket: Bucket, tmp_path: Path) -> None:
    good = draw(tmp_path / "a.png").read_bytes()
    roots = (tmp_path / "images", bucket.place("coco"))
    for root in roots:
        write_images(
            root,
            {
                "a.png": good,
                "deep/b.png": good,
                "cut.png": good[: len(good) // 2],
                "empty.png": b"",
                "x.txt": b"no image",
            },
        )
    uris = [
        "a.png",
        "deep/../a.png",
        "deep/b.png",
        "cut.png",
        "empty.png",
        "x.txt",
        "absent.png",
        "../a.png",
        "/a.png",
        "https://e.org/a.png",
    ]
    here, there = (check_images(make_items(*([uri] for uri in uris)), root) for root in roots)
    assert there.items.equals(here.items)
    assert there.quarantined["value"].to_list() == here.quarantined["value"].to_list()
    assert [row[-2] for row in there.quarantined.rows()] == [
        row[-2] for row in here.quarantined.rows()
    ]
    first = stamp_images(roots[1], uris)
    assert first == stamp_images(roots[1], uris)
    write_whole(roots[1] / "a.png", good + b"\0")
    assert stamp_images(roots[1], uris) != first


def test_an_image_is_sent_from_the_bucket(bucket: Bucket, tmp_path: Path) -> None:
    content = draw(tmp_path / "a.png").read_bytes()
    write_images(bucket.place("coco"), {"a.png": content})
    image = Image("a.png", sha256(tmp_path / "a.png"))
    encoder = ImageEncoder(bucket.place("coco"), 1000)
    assert (
        encoder.encode(image) == ImageEncoder(tmp_path, 1000).encode(image) == encoder.encode(image)
    )
    with pytest.raises(
        BackendError, match=r"s3://.*/coco/b\.png: the image cannot be read \(No such key\)"
    ):
        encoder.encode(Image("b.png", image.sha256))


@pytest.fixture(scope="module")
def standin() -> Iterator[StandinProcess]:
    with start_standin() as process:
        yield process


def run_all(lake: Lake, suite: Suite, address: str, run_id: str) -> int:
    """Every stage as the flows run them, in this process; returns how many calls were made."""
    images = suite.image_root(lake.root)
    ingest_benchmark(lake, DEMO, images, None)
    register_judges(lake, suite)
    calls = 0
    for work in write_work(lake, suite, Scope(), run_id):
        judge = suite.judges[work.identity.alias]
        for file in work.shards:
            order = ShardOrder(
                lake, run_id, judge, work.identity, suite.limits, file, images, address
            )
            calls += run_judge_shard(order).n_calls
            assert json.loads(read_file(order.progress_file) or b"{}")["cases"] == work.n_pending
    for score in write_scores(lake, suite, Scope(), run_id):
        assert run_metric_shard(score).failures == ()
    return calls


RESULTS = (
    "select item_id, content_digest, criterion, status, rating, score_0_1 from stg_verdicts "
    "order by all",
    "select * exclude (judge_id, run_id, scored_at) from stg_metric_scores order by all",
    "select item_id, images from items order by all",
)


def count_listings(bucket: Bucket) -> int:
    """Listings of the whole lake, of a table or of a part of one."""
    asked = (
        parse_qs(urlsplit(one.path).query).get("prefix", ["no listing"])[0] for one in bucket.seen
    )
    places = (prefix.removeprefix("some/lake/").partition("/")[0] for prefix in asked)
    return sum(place in ("", *TABLES) for place in places)


@pytest.mark.full
def test_every_stage_gives_what_it_gives_on_a_disk(
    lake: Lake, bucket: Bucket, tmp_path: Path, standin: StandinProcess
) -> None:
    local = open_lake(tmp_path / "lake", create=True)
    assert (
        run_all(lake, SUITE, standin.base_url, "run-1")
        == run_all(local, SUITE, standin.base_url, "run-1")
        > 0
    )
    here, there = open_warehouse(local), open_warehouse(lake)
    for text in RESULTS:
        expected = select_frame(here, text, "local")
        assert expected.height > 0, text
        assert select_frame(there, text, "bucket").equals(expected, null_equal=True), text
    assert check_lake(lake, there) == check_lake(local, here)

    build_report(lake, SUITE)
    exported = {path.name for path in list_files(lake.root / "reports" / "s" / "tables")}
    assert exported == {f"{name}.{form}" for name in report_views() for form in FORMATS}
    assert b"</html>" in (read_file(page_path(lake, SUITE)) or b"")
    assert str(page_path(lake, SUITE)) == f"{bucket.url}/some/lake/reports/s/report.html"

    assert count_listings(bucket) <= 60  # about 150 where each statement listed what it named

    assert is_fresh(lake, SUITE)
    assert find_current(lake, DEMO, None, SUITE.image_root(lake.root)) is not None
    assert sum(work.n_pending for work in find_work(lake, SUITE, Scope())) == 0


def test_an_image_in_a_bucket_may_have_as_many_bytes_as_the_limit_says(
    lake: Lake, tmp_path: Path
) -> None:
    content = draw(tmp_path / "a.png", (40, 30)).read_bytes()
    (lake.root / "a.png").write_bytes(content)
    assert read_image(lake.root, "a.png", ImageLimits(max_bytes=len(content))) == content
    heavy = read_image(lake.root, "a.png", ImageLimits(max_bytes=len(content) - 1))
    assert isinstance(heavy, ImageFault)
    assert "more bytes than may be" in heavy.reason
