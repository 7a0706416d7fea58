"""Frames in a run's work folder: what planning hands to the shards, on a disk or in a bucket. Tables of the lake are `tasks.lake`."""

import io
from pathlib import Path

import polars as pl

from tasks.errors import LakeError
from tasks.storage import LakePath, read_file, write_whole


def write_frame(path: LakePath, frame: pl.DataFrame) -> None:
    """Write a frame as Parquet, whole or not at all."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    write_whole(path, buffer.getvalue())


def read_frame(path: LakePath) -> pl.DataFrame:
    """A frame that `write_frame` wrote; raises LakeError where it is gone."""
    if isinstance(path, Path):
        return pl.read_parquet(path)
    content = read_file(path)
    if content is None:
        raise LakeError(f"{path}: is gone; expected what the run has planned; run again")
    return pl.read_parquet(io.BytesIO(content))
