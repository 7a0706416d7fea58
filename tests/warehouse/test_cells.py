"""Cells of text: what CSV and Markdown hold of a value."""

import pytest

from judgelake.tasks.warehouse.catalog import keep_finite, markdown_line, plain_cell


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (1.5, 1.5),
        ("a", "a"),
        (["é", None], '["é", null]'),
        ({1: float("nan")}, '{"1": null}'),
        ((1, [2.0]), "[1, [2.0]]"),
    ],
)
def test_nested_values_are_json(value: object, cell: object) -> None:
    assert plain_cell(value) == cell


def test_numbers_that_json_lacks_are_null() -> None:
    assert keep_finite([float("inf"), {"a": -float("inf")}, "nan", 1]) == [
        None,
        {"a": None},
        "nan",
        1,
    ]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a|b", "a\\|b"),
        ("a\\|b", "a\\\\\\|b"),
        ("a\r\nb\nc", "a b c"),
        ("ends in \\", "ends in \\\\"),
    ],
)
def test_a_row_stays_one_row_whatever_its_cells_hold(text: str, cell: str) -> None:
    assert markdown_line([text, 2]) == f"| {cell} | 2 |\n"
