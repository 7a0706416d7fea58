"""Digests that are part of the lake's format: what names an answer's content, a judge, a file."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import orjson


def digest_json(value: object) -> str:
    """Sha256 (hex) of a value's canonical JSON."""
    return hashlib.sha256(dump_json(value)).hexdigest()


def dump_json(value: object) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def content_digest(prompt: str, references: Sequence[str], answer: str) -> str:
    """Names what every judge may see of an answer in 16 hex digits; references count as a multiset, their order does not.

    These digests stand beside an item's id in every key, so that two contents of one item would have to share 64 bits of a sha256: of n
    contents some two do with probability n^2 / 2^65, for a thousand answers to one item 3e-14, for ten to each of ten million items 2e-11.
    The digests of other contents and of contexts are cut alike, in SQL: `left(sha256(...), 16)`.
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
