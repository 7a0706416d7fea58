"""Rubrics of a judge: those of a file of the user's, or the item's own, as the case brings it. What
is asked with them is each protocol's.
"""

import json
from collections.abc import Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.file_cache import cache_files
from judgelake.tasks.types import Case, ImageMode, Rubric, Verdict

N_LEVELS = 5
OWN = "rubric"
"""The criterion of verdicts by an item's own rubric; recorded judges of sources are named so,
too.
"""


def list_criteria(file: Path | None) -> tuple[tuple[str, ...], ...]:
    """A group of cases for each rubric of the file, else for the items' own."""
    return ((OWN,),) if file is None else tuple((name,) for name in load_rubrics(file))


def name_rubrics(file: Path | None) -> str:
    """What a call signature says of the rubrics: 16 hex digits of the file's content; the items'
    own are part of each case.
    """
    if file is None:
        return "items"
    return digest_json(
        [[name, rubric.criterion, *rubric.levels] for name, rubric in load_rubrics(file).items()]
    )[:16]


def find_rubric(case: Case, file: Path | None) -> Rubric | Verdict:
    """The rubric of a case, or the verdict that it has none."""
    rubric = load_rubrics(file).get(case.criterion) if file else case.rubric
    if rubric is None:
        reason = (
            f"{file} has no rubric {case.criterion!r}"
            if file
            else "the item has no rubric; add one, or name a `rubric_file`"
        )
        return Verdict("failed", reason=reason)
    if len(rubric.levels) != N_LEVELS:
        return Verdict(
            "failed",
            reason=f"the rubric has {len(rubric.levels)} levels; scores are from 1 to {N_LEVELS}",
        )
    return rubric


@cache_files
def load_rubrics(file: Path) -> Mapping[str, Rubric]:
    """The rubrics of a YAML or JSON file, a list of `{id, criterion, levels}`; raises SuiteError
    naming the one that is wrong. `rubrics/answers.yaml` is there for suites that have no such file.
    """
    return {
        str(entry["id"]): Rubric(entry["criterion"], tuple(entry["levels"]))
        for entry in read_rubric_entries(file)
    }


def read_rubric_entries(file: Path, also: Collection[str] = ()) -> list[dict[str, Any]]:
    """The entries of a file of rubrics, checked; `also` are keys that they may have beside `id`,
    `criterion` and `levels`. Raises SuiteError naming the one that is wrong.
    """
    shipped = resources.files("judgelake.suites").joinpath("rubrics", file.name)
    is_shipped = not file.exists() and file.parent.name == "rubrics" and shipped.is_file()
    try:
        text = (shipped if is_shipped else file).read_text(encoding="utf-8")
        entries = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except (OSError, RecursionError, ValueError, yaml.YAMLError) as error:
        error_text = " ".join(str(error).split())
        raise SuiteError(
            f"{file}: cannot be read as rubrics ({error_text}); expected a list in YAML or JSON; "
            f"mend it"
        ) from None
    if not isinstance(entries, list) or not entries:
        raise SuiteError(
            f"{file}: is no list of rubrics; expected `- {{id, criterion, levels}}`; write one "
            f"entry a rubric"
        )
    ids: set[str] = set()
    for number, entry in enumerate(entries):
        wrong = _find_wrong(entry, also) or (
            f"repeats the id {entry['id']!r}" if str(entry["id"]) in ids else None
        )
        if wrong:
            expected = (
                f"an id of its own, a criterion and {N_LEVELS} levels (texts, the lowest first)"
            )
            raise SuiteError(f"{file}: rubric {number} {wrong}; expected {expected}; mend it")
        ids.add(str(entry["id"]))
    return entries


def _find_wrong(entry: Any, also: Collection[str]) -> str | None:
    if not isinstance(entry, dict):
        return f"is {entry!r}"
    missing = [key for key in ("id", "criterion", "levels") if key not in entry]
    unknown = [str(key) for key in entry if key not in ("id", "criterion", "levels", *also)]
    if missing or unknown:
        return f"lacks {', '.join(missing)}" if missing else f"has the unknown key {unknown[0]!r}"
    if not str(entry["id"]).strip() or not isinstance(entry["criterion"], str):
        return f"has the id {entry['id']!r} and the criterion {entry['criterion']!r}"
    levels = entry["levels"]
    if (
        not isinstance(levels, list)
        or len(levels) != N_LEVELS
        or not all(isinstance(level, str) for level in levels)
    ):
        return f"has the levels {levels!r}"
    return None


def check_caption(image: ImageMode, caption: str | None) -> None:
    """Raise ValueError where a caption would stand beside the image instead of in its place."""
    if caption is not None and image != "absent":
        raise ValueError(
            f"caption: {caption}; expected with `image: absent`, for it stands in for the "
            f"image; add that or remove it"
        )


def find_missing_caption(case: Case, captioner: str | None) -> Verdict | None:
    """The verdict on a case that lacks the caption which stands in for its image; None where all is
    there.
    """
    if captioner is None or case.caption is not None:
        return None
    return Verdict(
        "failed",
        reason=f"the image has no caption of {captioner!r}, which stands in for it; add "
        f"captions or let them be written",
    )
