"""Digests that are part of the lake's format: what names an answer's content, a judge, a file."""

import hashlib
import importlib.util
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

import orjson

from judgelake.tasks.extensions import list_packages


def digest_json(value: object) -> str:
    """Sha256 (hex) of a value's canonical JSON."""
    return hashlib.sha256(dump_json(value)).hexdigest()


def dump_json(value: object) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def content_digest(prompt: str, references: Sequence[str], answer: str) -> str:
    """Names what every judge may see of an answer in 16 hex digits; references count as a multiset,
    their order does not.

    These digests stand beside an item's id in every key, so that two contents of one item would
    have to share 64 bits of a sha256: of n contents some two do with probability n^2 / 2^65, for a
    thousand answers to one item 3e-14, for ten to each of ten million items 2e-11. The digests of
    other contents and of contexts are cut alike, in SQL: `left(sha256(...), 16)`.
    """
    value = [prompt, sorted(references), answer]
    try:
        whole = hashlib.sha256(
            orjson.dumps(value)
        ).hexdigest()  # texts alone: the same bytes as canonical JSON, several times faster
    except orjson.JSONEncodeError:  # half a surrogate pair
        whole = digest_json(value)
    return whole[:16]


def judge_id(call_signature: Mapping[str, object]) -> str:
    """16 hex digits of a call signature's digest."""
    return digest_json(call_signature)[:16]


def files_digest(files: Iterable[Path]) -> str:
    """One digest over the names and bytes of files, independent of their order and folder."""
    return digest_json(sorted([file.name, file_digest(file)] for file in files))


def file_digest(file: Path) -> str:
    """Sha256 (hex) of a file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_OURS = ("judgelake.flows", "judgelake.schemas", "judgelake.sql", "judgelake.tasks")
# endings of the files that a package reads when it runs
_READ = frozenset({".py", ".sql", ".txt", ".json", ".html", ".css"})
_PACKAGES = ("dask", "distributed", "prefect", "duckdb", "pyarrow", "polars")

Versions = Mapping[str, str]
"""Name of a package -> its version; judgelake's own ends in a digest of its files."""


@cache
def describe_code() -> Versions:
    """What this process runs, as it was when it first asked: files that change later are not what
    it runs.
    """
    own = f"{version('judgelake')}+{digest_packages(*_OURS)[:12]}"
    return {
        "judgelake": own,
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
        **list_packages(),
    }


@cache
def digest_packages(*names: str) -> str:
    """`digest_files` of packages and modules by their names, as they were when this process first
    asked.
    """
    return digest_files([Path(place) for name in names for place in _find_package(name)])


def digest_files(folders: list[Path]) -> str:
    """A sha256 over the names and contents of all files of packages that are read when they run; a
    folder may be a module's file.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(file for file in (folder, *folder.rglob("*")) if file.suffix in _READ):
            data = file.read_bytes()
            digest.update(
                f"{folder.name}/{file.relative_to(folder).as_posix()}\0{len(data)}\0".encode()
                + data
            )
    return digest.hexdigest()


def describe_differences(ours: Versions, others: Mapping[str, Versions]) -> list[str]:
    """A line for each of `others` whose versions differ from `ours`: its name and its
    versions.
    """
    lines = []
    for who, theirs in others.items():
        different = [
            f"{name} {theirs.get(name, 'absent')} (here {own})"
            for name, own in ours.items()
            if theirs.get(name) != own
        ]
        if different:
            lines.append(f"{who} has {', '.join(different)}")
    return lines


def _find_package(name: str) -> list[str]:
    spec = importlib.util.find_spec(name)
    return list(spec.submodule_search_locations or filter(None, [spec.origin])) if spec else []
