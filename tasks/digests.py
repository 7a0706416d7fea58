"""Digests that are part of the lake's format: what names an answer's content, a judge, a file."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import orjson


def digest_json(value: object) -> str:
    """Sha256 (hex) of a value's canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def content_digest(prompt: str, references: Sequence[str], answer: str) -> str:
    """Names what every judge may see of an answer; references count as a multiset, their order does not."""
    value = [prompt, sorted(references), answer]
    try:
        return hashlib.sha256(
            orjson.dumps(value)
        ).hexdigest()  # texts alone: the same bytes as canonical JSON, several times faster
    except orjson.JSONEncodeError:  # half a surrogate pair
        return digest_json(value)


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
