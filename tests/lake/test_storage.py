"""Files on a disk and in a bucket: the same functions, the same results; and what a bucket does
when it is slow, full of work or closed.
"""

import json
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.buckets import list_keys, stamp_keys
from judgelake.tasks.lake.storage import (
    LakePath,
    create_exclusively,
    filled_folder,
    has_file,
    list_files,
    list_folders,
    local_copy,
    open_place,
    read_file,
    remove_file,
    remove_folder,
    whole_file,
    write_whole,
)
from tests.bucket_server import KEY, SECRET, Bucket, Seen


@pytest.fixture(params=["disk", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> LakePath:
    return (
        tmp_path / "place"
        if request.param == "disk"
        else request.getfixturevalue("bucket").place("a/place")
    )


def test_what_is_written_is_read(place: LakePath) -> None:
    assert (read_file(place / "x.json"), has_file(place / "x.json")) == (None, False)
    for content in (b"first", b"", b"second"):
        write_whole(place / "x.json", content)
        assert (read_file(place / "x.json"), has_file(place / "x.json")) == (content, True)
    with whole_file(place / "deep" / "y.bin") as beside:
        beside.write_bytes(b"through a file")
    with local_copy(place / "deep" / "y.bin") as copy:
        assert copy.read_bytes() == b"through a file"


def test_listing_is_recursive_sorted_and_by_ending(place: LakePath) -> None:
    assert list_files(place, ".parquet") == []
    for name in ("b.parquet", "a/2.parquet", "a/1.parquet", "a/1.json"):
        write_whole(place / name, b"1")
    write_whole(place.parent / "placement" / "c.parquet", b"a neighbour whose name begins alike")
    assert list_files(place, ".parquet") == [
        place / "a/1.parquet",
        place / "a/2.parquet",
        place / "b.parquet",
    ]
    assert list_files(place / "a") == [
        place / "a/1.json",
        place / "a/1.parquet",
        place / "a/2.parquet",
    ]
    remove_file(place / "b.parquet")
    remove_file(place / "b.parquet")
    remove_folder(place / "a")
    remove_folder(place / "a")
    assert list_files(place) == []


def test_folders_that_others_take_away_meanwhile_are_no_error(tmp_path: Path) -> None:
    """As runs do that end beside this one, with their leases and work folders."""
    ended = threading.Event()

    def make_and_remove() -> None:
        while not ended.is_set():
            for number in range(20):
                write_whole(tmp_path / f"run-{number}" / "1.json", b"{}")
            for number in range(20):
                remove_folder(tmp_path / f"run-{number}")

    write_whole(tmp_path / "stays" / "1.json", b"{}")
    thread = threading.Thread(target=make_and_remove)
    thread.start()
    try:
        assert all(
            tmp_path / "stays" / "1.json" in list_files(tmp_path, ".json") for _ in range(500)
        )
    finally:
        ended.set()
        thread.join()


def test_what_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(
        LakeError,
        match=r"a: cannot be removed \((Is a directory|Operation not "
        r"permitted)\); expected a place",
    ):
        remove_file(tmp_path / "a")


def test_one_of_many_creates(place: LakePath) -> None:
    made: list[tuple[bytes, bool]] = []

    def create(content: bytes) -> None:
        made.append((content, create_exclusively(place / "lease.json", content)))

    threads = [
        threading.Thread(target=create, args=(f"holder {number}".encode(),)) for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [content for content, created in made if created]
    assert len(made) == len(threads)
    assert read_file(place / "lease.json") == winner
    assert not create_exclusively(
        place / "lease.json", winner
    )  # the same content is somebody else's all the same
    remove_file(place / "lease.json")
    assert create_exclusively(place / "lease.json", b"again")


def test_filled_folder_replaces_what_a_bucket_had(bucket: Bucket) -> None:
    folder = bucket.place("report")
    write_whole(folder / "tables" / "old.csv", b"gone")
    with filled_folder(folder) as local:
        (local / "tables").mkdir()
        (local / "tables" / "new.csv").write_text("1")
        (local / "report.html").write_text("page")
    assert list(list_keys(folder)) == ["report.html", "tables/new.csv"]
    assert read_file(folder / "report.html") == b"page"
    with filled_folder(folder, spared="tables") as local:
        (local / "report.html").write_text("next")
    assert list(list_keys(folder)) == ["report.html", "tables/new.csv"]
    assert list_folders(folder) == ["tables"]


@pytest.mark.parametrize("url", ["s3://", "s3:///a", "s3://bucket/../a", "s3://bucket/a/./b"])
def test_a_url_that_names_no_place_is_refused(url: str) -> None:
    with pytest.raises(LakeError, match=r"names no place in a bucket; expected s3://bucket/prefix"):
        open_place(url)


def test_places_are_what_they_are_called(bucket: Bucket, tmp_path: Path) -> None:
    assert str(open_place(f"{bucket.url}//a//b/")) == f"{bucket.url}/a/b"
    assert open_place(str(tmp_path)) == open_place(tmp_path) == tmp_path
    assert open_place("lake") == Path.cwd() / "lake"


def test_no_key_travels_with_a_path(bucket: Bucket) -> None:
    place = bucket.place("a")
    write_whole(place, b"1")  # the connection is made
    carried = pickle.dumps(place)
    assert read_file(pickle.loads(carried)) == b"1"
    for secret in (KEY, SECRET, "127.0.0.1"):
        assert secret.encode() not in carried


@pytest.mark.parametrize("fault", ["slow down", "cut", "lose", 0.3])
def test_requests_that_fail_now_and_then_are_sent_again(bucket: Bucket, fault: str | float) -> None:
    """Of every four requests the second and third meet the fault: each function still does what it
    says.
    """
    place = bucket.place("shaky")
    bucket.trouble(lambda seen: fault if seen.number % 4 in (2, 3) else None)
    for number in range(4):
        write_whole(place / f"{number}.bin", b"x" * 1000 * number)
    assert [read_file(path) for path in list_files(place)] == [
        b"x" * 1000 * number for number in range(4)
    ]
    with local_copy(place / "3.bin") as copy:
        assert copy.stat().st_size == 3000
    remove_folder(place)
    assert list_files(place) == []
    assert {one.number % 4 for one in bucket.seen} == {0, 1, 2, 3}


def test_a_creation_whose_answer_was_lost_is_ones_own(bucket: Bucket) -> None:
    lost: list[Seen] = []

    def lose_first(seen: Seen) -> str | None:
        if seen.method == "PUT" and not lost:
            lost.append(seen)
            return "lose"
        return None

    bucket.trouble(lose_first)
    assert create_exclusively(bucket.place("lease"), b"mine")
    assert lost
    assert not create_exclusively(bucket.place("lease"), b"mine")


@pytest.mark.parametrize(
    "act", [read_file, has_file, list_files, remove_file, lambda place: write_whole(place, b"1")]
)
def test_a_bucket_that_refuses_is_named_with_the_remedy(
    bucket: Bucket, act: Callable[[LakePath], object]
) -> None:
    place = bucket.place("closed/x")
    bucket.trouble(lambda _: "deny")
    with pytest.raises(LakeError) as refused:
        act(place)
    assert str(refused.value).startswith(f"{place}: the bucket refuses (PermissionError: ")
    assert "allow its s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject" in str(
        refused.value
    )
    assert SECRET not in str(refused.value)


def test_a_bucket_that_is_not_there_is_reported(bucket: Bucket) -> None:
    nowhere = open_place("s3://no-such-bucket/lake")
    for act in (read_file, list_files, lambda place: write_whole(place, b"1")):
        with pytest.raises(
            LakeError,
            match=r"no-such-bucket/lake.*: the bucket refuses .*create the bucket, "
            r"or name another",
        ):
            act(nowhere / "lake.json")


def test_requests_are_few(bucket: Bucket) -> None:
    place = bucket.place("few")
    write_whole(place / "a" / "x.json", b"{}")
    bucket.forget()
    assert read_file(place / "a" / "x.json") == b"{}"
    assert has_file(place / "a" / "x.json")
    assert [one.method for one in bucket.seen] == ["GET", "HEAD"]
    bucket.forget()
    list_files(place)
    list_files(place / "none")
    assert [one.method for one in bucket.seen] == ["GET", "GET"]


def test_stamps_change_with_every_change_without_reading(bucket: Bucket) -> None:
    place = bucket.place("images")
    for number in range(6):
        write_whole(place / f"{number}.png", b"x" * number)
    names = ["0.png", "3.png", "absent.png"]
    before = stamp_keys(place, names)
    assert {name: size for name, (size, _) in before.items()} == {"0.png": 0, "3.png": 3}
    write_whole(place / "3.png", b"yyy")
    bucket.forget()
    after = stamp_keys(place, names)
    assert (after["0.png"], after["3.png"][0]) == (before["0.png"], 3)
    assert after["3.png"] != before["3.png"]
    assert [one.method for one in bucket.seen] == ["GET"]


def test_few_images_among_many_are_asked_for_one_by_one(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "judgelake.tasks.lake.buckets._LEAST_PAGES", 0
    )  # no page may be listed for 3 names
    place = bucket.place("images")
    for number in range(4):
        write_whole(place / f"{number}.png", b"x" * number)
    bucket.forget()
    assert {
        name: size for name, (size, _) in stamp_keys(place, ["1.png", "3.png", "no.png"]).items()
    } == {"1.png": 1, "3.png": 3}
    assert [one.method for one in bucket.seen] == ["HEAD"] * 3


def test_nothing_of_a_bucket_is_imported_for_a_local_lake() -> None:
    import subprocess
    import sys

    code = (
        "import sys, json, judgelake.tasks.lake.lake, judgelake.tasks.planning.cases; "
        "print(json.dumps(sorted({name.split('.')[0] for name in "
        "sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"upath", "fsspec", "s3fs", "botocore", "aiohttp"} & set(json.loads(done.stdout))
