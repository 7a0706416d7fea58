"""Seed rubrics, from which new ones are brainstormed: general ones and those of a domain, which are
never shown together (Prometheus-Vision, appendix J.1).
"""

import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from judgelake.schemas.values import RUBRIC_KINDS
from judgelake.tasks.collection.generations import Drafted
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.file_cache import cache_files
from judgelake.tasks.judging.rubrics import read_rubric_entries
from judgelake.tasks.types import Rubric

SHIPPED = "seed_rubrics.yaml"
N_EXAMPLES = 4
"""Examples in a prompt; each kind needs as many."""


class Seeds(NamedTuple):
    """Kind -> its rubrics, by id; `digest` names them all."""

    of_kind: Mapping[str, Mapping[str, Drafted]]
    digest: str


@cache_files
def load_seeds(file: Path | None) -> Seeds:
    """The seeds of a file, a list of `{id, kind, criterion, levels, keywords}` in YAML or JSON, or
    those that are shipped; raises SuiteError naming what is wrong.
    """
    if file is None:
        place = resources.files("judgelake.suites") / "rubrics" / SHIPPED
        with resources.as_file(place) as shipped:
            return load_seeds(Path(shipped))
    entries = read_rubric_entries(file, also=("kind", "keywords"))
    of_kind: dict[str, dict[str, Drafted]] = {kind: {} for kind in RUBRIC_KINDS}
    for number, entry in enumerate(entries):
        kind, keywords = entry.get("kind"), entry.get("keywords", [])
        if kind not in of_kind:
            raise SuiteError(
                f"{file}: rubric {number} has the kind {kind!r}; expected "
                f"{' or '.join(RUBRIC_KINDS)}; correct it"
            )
        if not isinstance(keywords, list) or not all(isinstance(word, str) for word in keywords):
            raise SuiteError(
                f"{file}: rubric {number} has the keywords {keywords!r}; expected a list of "
                f"words; correct it"
            )
        name = str(entry["id"])
        of_kind[kind][name] = Drafted(
            Rubric(entry["criterion"], tuple(entry["levels"])), tuple(keywords)
        )
    for kind, found in of_kind.items():
        if 0 < len(found) < N_EXAMPLES:
            raise SuiteError(
                f"{file}: has {len(found)} rubrics of the kind {kind}; expected none or at least "
                f"{N_EXAMPLES}, the examples of a prompt; add some"
            )
    return Seeds(of_kind, digest_json([[name, entry] for name, entry in enumerate(entries)])[:16])


def draw_kind(image: str, kinds: str, seed: int) -> str:
    """`general` or `domain`, for an image by its digest; both are equally likely where `kinds` is
    `both`.
    """
    if kinds != "both":
        return kinds
    return RUBRIC_KINDS[_draw(f"kind:{image}", seed) % len(RUBRIC_KINDS)]


def draw_examples(seeds: Seeds, kind: str, image: str, seed: int) -> list[Drafted]:
    """Four different seeds of a kind, for an image by its digest."""
    names = sorted(seeds.of_kind[kind], key=lambda name: _draw(f"{kind}:{image}:{name}", seed))
    return [seeds.of_kind[kind][name] for name in names[:N_EXAMPLES]]


def spell_rubric(drafted: Drafted) -> str:
    """A rubric as JSON, in the form in which prompts show it and replies give it."""
    rubric = drafted.rubric
    levels = {f"score_{number}": level for number, level in enumerate(rubric.levels, 1)}
    words = {"keywords": [*drafted.keywords]} if drafted.keywords else {}
    return json.dumps({"criterion": rubric.criterion, **levels, **words}, ensure_ascii=False)


def _draw(text: str, seed: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}:{text}".encode()).digest()[:8])
