"""YAML into pydantic dataclasses: every refusal names file, line, what stands there and what to write
instead.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

import pytest

from judgelake.tasks.errors import SuiteError, nearest
from judgelake.tasks.settings import (
    SuitePath,
    build,
    describe,
    frozen_settings,
    parse_yaml,
    read_yaml,
)


@frozen_settings
class Wheel:
    """A nested dataclass."""

    spokes: int = 32


@frozen_settings
class Bicycle:
    """One field of each kind that settings have."""

    maker: str
    gears: int = 7
    weight_kg: float = 12.5
    sold: bool = False
    colour: Literal["red", "blue", 3, True] = "red"
    manual: SuitePath | None = None
    owners: tuple[str, ...] = ()
    front: Wheel = field(default_factory=Wheel)
    prices: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.gears > 30:
            raise ValueError(f"gears: {self.gears}; expected at most 30")
        if self.weight_kg > 100:
            raise ValueError("too heavy for anyone")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def read(folder: Path, text: str) -> Bicycle:
    file = folder / "bicycle.yaml"
    file.write_text(text, encoding="utf-8")
    return build(Bicycle, read_yaml(file))


def refuse(folder: Path, text: str) -> str:
    """What is said about `text`, without the folder."""
    with pytest.raises(SuiteError) as refused:
        read(folder, text)
    return str(refused.value).removeprefix(f"{folder}/")


def test_every_kind_of_field(folder: Path) -> None:
    text = """
maker: Ölympia
gears: 0
weight_kg: 9
sold: true
colour: 3
manual: ../manual.pdf
owners: [Ann, 5]
front: {spokes: 28}
prices: {new: 100, used: 49.5}
"""
    expected = Bicycle(
        "Ölympia",
        0,
        9.0,
        True,
        3,
        folder / "../manual.pdf",
        ("Ann", "5"),
        Wheel(28),
        {"new": 100.0, "used": 49.5},
    )
    found = read(folder, text)
    assert found == expected
    assert isinstance(found.weight_kg, float)


def test_defaults_and_null(folder: Path) -> None:
    assert read(folder, "maker: x\nmanual: null") == Bicycle("x")


def test_keys_of_a_named_mapping_are_taken_over(folder: Path) -> None:
    text = """
maker: x
front: &front {spokes: 28}
prices: {<<: [*two, *one], new: 3}
"""
    names = "one: &one {new: 1, used: 1}\ntwo: &two {used: 2, old: 2}\n"
    place = parse_yaml(folder / "b.yaml", names + text)
    found = build(Bicycle, place, skip=("one", "two"))
    assert found.prices == {"new": 3.0, "used": 2.0, "old": 2.0}
    assert read(folder, "front: &front {spokes: 28}\n<<: {maker: y, gears: 3}") == Bicycle(
        "y", gears=3, front=Wheel(28)
    )


def test_a_mapping_that_takes_itself_over_is_no_endless_loop(folder: Path) -> None:
    assert "unknown key" in refuse(folder, "maker: x\nfront: &front {<<: *front, spoke: 1}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "maker: x\n<<: 5",
            "bicycle.yaml:2: <<: takes over the keys of others; expected `<<: *name`, where "
            "`&name` stands before keys with values",
        ),
        (
            "maker: x\n<<: [{gears: 2}, 5]",
            "bicycle.yaml:2: <<: takes over the keys of others; expected `<<: *name`, where "
            "`&name` stands before keys with values",
        ),
        ("maker: x\n<<: {gear: 2}", "bicycle.yaml:2: unknown key 'gear'; did you mean 'gears'?"),
        ("maker: x\ngear: 7", "bicycle.yaml:2: unknown key 'gear'; did you mean 'gears'?"),
        (
            "maker: x\nfront:\n  # a comment\n  spoke: 3",
            "bicycle.yaml:4: unknown key 'spoke'; did you mean 'spokes'?",
        ),
        ("gears: 7", "bicycle.yaml:1: the key 'maker' is missing; expected text"),
        (
            "maker: x\ngears: 5\nmaker: y",
            "bicycle.yaml:3: the key 'maker' stands twice; remove one",
        ),
        (
            "maker: x\nfront:\n  spokes: 1\n  spokes: 1",
            "bicycle.yaml:4: the key 'spokes' stands twice; remove one",
        ),
        ("maker: x\ngears: many", "bicycle.yaml:2: gears: 'many'; expected a whole number"),
        ("maker: x\ngears: 7.0", "bicycle.yaml:2: gears: '7.0'; expected a whole number"),
        ("maker: x\ngears: true", "bicycle.yaml:2: gears: 'true'; expected a whole number"),
        ('maker: x\ngears: "7"', "bicycle.yaml:2: gears: '7'; expected a whole number"),
        ("maker: x\ngears:", "bicycle.yaml:2: gears: ''; expected a whole number"),
        (
            "maker: x\ngears: 2024-13-45",
            "bicycle.yaml:2: gears: '2024-13-45'; expected a whole number",
        ),
        ("maker: x\ngears: !gear 7", "bicycle.yaml:2: gears: '7'; expected a whole number"),
        ("maker: x\nweight_kg: light", "bicycle.yaml:2: weight_kg: 'light'; expected a number"),
        (
            "maker: x\nweight_kg: [1]",
            "bicycle.yaml:2: weight_kg: expected a number, found a list or keys",
        ),
        ("maker: x\nsold: 1", "bicycle.yaml:2: sold: '1'; expected true or false"),
        ("maker: x\ncolour: bleu", "bicycle.yaml:2: colour: 'bleu'; did you mean 'blue'?"),
        ("maker: x\ncolour: 1", "bicycle.yaml:2: colour: 1; expected one of 3, True, blue, red"),
        (
            "maker: x\nowners: Ann",
            "bicycle.yaml:2: owners: expected a list; write it as [a, b] or as lines that "
            "begin with '- '",
        ),
        (
            "maker: x\nfront: 3",
            "bicycle.yaml:2: expected keys with values (`key: value`) here; indent them under "
            "this line",
        ),
        ("maker: x\nprices: {new: dear}", "bicycle.yaml:2: new: 'dear'; expected a number"),
        ("maker: {a: 1}", "bicycle.yaml:1: maker: expected text, found a list or keys"),
        (
            "maker: x\n? [a, b]\n: 1",
            "bicycle.yaml:2: found a list or keys where a name is expected; write `key: value`",
        ),
        (
            "- maker",
            "bicycle.yaml:1: expected keys with values (`key: value`) here; indent them under "
            "this line",
        ),
        ("maker: x\nsold: no\ngears: 31", "bicycle.yaml:3: gears: 31; expected at most 30"),
        ("# c\nmaker: x\nweight_kg: 200", "bicycle.yaml:2: too heavy for anyone"),
        ("", "bicycle.yaml: is empty; expected a suite; see infra/suites/demo.yaml"),
        ("# nothing", "bicycle.yaml: is empty; expected a suite; see infra/suites/demo.yaml"),
    ],
)
def test_refusals_name_line_value_and_remedy(folder: Path, text: str, message: str) -> None:
    assert refuse(folder, text) == message


@pytest.mark.parametrize(
    "text", ["maker: [", "maker: x\n\tgears: 7", "a: *b", "a: 1\n---\nb: 2", "\0"]
)
def test_text_that_is_not_yaml(folder: Path, text: str) -> None:
    assert re.fullmatch(
        r"bicycle\.yaml:\d+:\d+: is not YAML \(.*\); correct the line named; put a text .* in quotes"
        r"|bicycle\.yaml: is not YAML \(.*position \d+.*\); correct the line named",
        refuse(folder, text),
    )


def test_a_question_mark_in_a_flow_mapping_is_named_with_its_place(folder: Path) -> None:
    assert refuse(folder, "maker: x\nof: {rating: Acceptable?, by: me}") == (
        "bicycle.yaml:2:24: is not YAML (expected ',' or '}', but got '?'); correct the line named; "
        "put a text that holds one of ? : { } [ ] , # in quotes"
    )


def test_bytes_that_are_not_text(folder: Path) -> None:
    (folder / "bicycle.yaml").write_bytes(b"maker: \xff")
    with pytest.raises(
        SuiteError, match=r"is not YAML \('utf-8' codec can't decode byte 0xff in position 7"
    ):
        read_yaml(folder / "bicycle.yaml")


def test_absent_file(folder: Path) -> None:
    with pytest.raises(
        SuiteError,
        match=r"none\.yaml: cannot be read \(No such file or directory\); expected a suite "
        r"file; check",
    ):
        read_yaml(folder / "none.yaml")


def test_key_left_to_someone_else_is_not_read_but_is_hinted_at(folder: Path) -> None:
    file = folder / "bicycle.yaml"
    file.write_text("maker: x\nengine: none")
    assert build(Bicycle, read_yaml(file), skip=("engine",)) == Bicycle("x")
    file.write_text("maker: x\nengin: none")
    with pytest.raises(
        SuiteError, match=r"bicycle\.yaml:2: unknown key 'engin'; did you mean 'engine'\?"
    ):
        build(Bicycle, read_yaml(file), skip=("engine",))


def test_variables_come_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKER", "Diamant")
    monkeypatch.setenv("EMPTY", "")
    assert (
        read(folder, "maker: ${MAKER}-${MODEL:-one}-${EMPTY:-unused}-${NONE:-}-$MAKER").maker
        == "Diamant-one---$MAKER"
    )


def test_unset_variable_is_named_in_the_message(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MODEL", raising=False)
    reported = refuse(folder, "gears: 7\nmaker: a ${MODEL}")
    assert (
        reported == "bicycle.yaml:2: the environment variable MODEL is not set; set it or write "
        "${MODEL:-default}"
    )


def test_paths_are_relative_to_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, home_folder: Path
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("SHELF", "/shelf")
    assert read(folder, "maker: x\nmanual: books/m.pdf").manual == folder / "books/m.pdf"
    assert read(folder, "maker: x\nmanual: ${SHELF}/m.pdf").manual == Path("/shelf/m.pdf")
    assert read(folder, "maker: x\nmanual: ~/m.pdf").manual == home_folder / "m.pdf"


def test_nearest_name_or_all() -> None:
    assert nearest("colur", ["maker", "colour"]) == "did you mean 'colour'?"
    assert nearest("zzz", ["maker", "colour"]) == "expected one of colour, maker"


def test_types_in_words() -> None:
    words = [
        describe(hint) for hint in (int, float, str, bool, tuple[str, ...], Literal["a", "b"], Path)
    ]
    assert words == [
        "a whole number",
        "a number",
        "text",
        "true or false",
        "a list",
        "one of a, b",
        "a value",
    ]
