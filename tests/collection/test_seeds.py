"""The seed rubrics: fifty that differ, two kinds that are never mixed, and a user's own file."""

import json
from pathlib import Path

import pytest

from judgelake.tasks.collection.seeds import draw_examples, draw_kind, load_seeds
from judgelake.tasks.errors import SuiteError

SEEDS = load_seeds(None)


def test_fifty_are_shipped() -> None:
    """As many as the paper's authors wrote (section 2.1)."""
    assert {kind: len(found) for kind, found in SEEDS.of_kind.items()} == {
        "general": 25,
        "domain": 25,
    }
    every = [one for kind in SEEDS.of_kind.values() for one in kind.values()]
    assert len({one.rubric.criterion for one in every}) == 50
    assert all(len({*one.rubric.levels}) == 5 and one.keywords for one in every)


def test_kinds_are_drawn_evenly_and_not_mixed() -> None:
    drawn = [draw_kind(f"{n:016x}", "both", 0) for n in range(400)]
    assert 160 < drawn.count("general") < 240
    assert drawn != [draw_kind(f"{n:016x}", "both", 1) for n in range(400)]
    for kind in ("general", "domain"):
        assert draw_kind("a", kind, 0) == kind
        examples = draw_examples(SEEDS, kind, "a", 0)
        assert len({*examples}) == 4
        assert all(one in SEEDS.of_kind[kind].values() for one in examples)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"kind": "odd"}, "rubric 0 has the kind 'odd'; expected general or domain"),
        ({"keywords": "cat"}, "rubric 0 has the keywords 'cat'"),
        ({"levels": ["a"]}, "rubric 0 has the levels ['a']"),
        ({"extra": 1}, "rubric 0 has the unknown key 'extra'"),
        ({}, "has 1 rubrics of the kind general; expected none or at least 4"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    tmp_path: Path, change: dict[str, object], wrong: str
) -> None:
    entry = {"id": "x", "kind": "general", "criterion": "c", "levels": list("abcde")}
    file = tmp_path / "seeds.json"
    file.write_text(json.dumps([entry | change]))
    with pytest.raises(SuiteError) as error:
        load_seeds(file)
    assert wrong in str(error.value)
