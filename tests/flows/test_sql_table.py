"""How people see rows: what is rounded, shortened, folded, and when rows become records."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from judgelake.flows.sql_table import measure, round_numbers, show_names, show_table

NAMES = ["suite", "digest", "judge", "value", "low", "n_cells", "reported_at", "note"]
ROWS = [
    ["s", f"{place:016x}", f"judge-{place}", place / 7, place / 9, None, datetime(2026, 1, 1, 12, place), "x"]
    for place in range(1, 6)
]  # fmt: skip


def heads(text: str) -> list[str]:
    """The names of a table's columns, those on two lines put together."""
    lines = text.partition("├")[0].splitlines()[1:]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]
    return ["".join(parts) for parts in zip(*cells, strict=True)]


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([1 / 7, 0.5, None], ["0.1429", "0.5000", "NULL"]),
        ([1.0, 3.0], ["1", "3"]),
        ([1234.5678, 0.25], ["1235", "0.25"]),
        ([0.5, 0.00000012], ["0.5", "1.2e-07"]),
        ([0.001234], ["0.001234"]),
        ([float("nan"), 0.25], ["nan", "0.25"]),
        ([Decimal("1.50"), 2], ["1.5", "2"]),
        ([123456789, True], ["123456789", "True"]),
        ([[1 / 7, None], {"a": 2 / 3}], ["[0.1429, null]", '{"a": 0.6667}']),
        ([datetime(2026, 1, 2, 3, 4, 5, 678, UTC)], ["2026-01-02 03:04:05"]),
    ],
)
def test_a_column_is_rounded_as_one(values: list[object], cells: list[str]) -> None:
    assert round_numbers(values) == cells


def test_columns_of_least_use_are_folded_and_named() -> None:
    shown = show_table(NAMES, ROWS, 40)
    assert heads(shown) == ["judge", "value", "low", "note"]
    below = " ".join(shown.partition("┘\n")[2].split())
    assert below.startswith("5 rows; in every row suite = s, n_cells = NULL; folded: digest, ")
    assert "reported_at (the format `records` shows them)" in below
    assert max(map(measure, shown.splitlines())) <= 40


def test_a_chosen_column_and_the_last_are_never_folded() -> None:
    shown = show_table(NAMES, ROWS, 60, {"suite", "digest", "n_cells"})
    assert heads(shown)[:2] == ["suite", "digest"]
    assert {"n_cells", "note"} <= {*heads(shown)}
    assert show_table(NAMES, ROWS, 60, NAMES).startswith("-- row 1\nsuite")


def test_the_first_and_the_last_column_make_room_for_chosen_ones() -> None:
    names = ["benchmark", "judge", "reason", "n_unpriced"]
    rows = [[f"okvqa-{n}", f"judge-{n}", f"because of {n}", n] for n in range(5)]
    assert heads(show_table(names, rows, 30)) == ["benchmark", "n_unpriced"]
    assert heads(show_table(names, rows, 30, {"judge", "reason"})) == ["judge", "reason"]


def test_a_wide_table_folds_nothing() -> None:
    assert heads(show_table(NAMES, ROWS, 160)) == NAMES


@pytest.mark.parametrize(("n_rows", "is_records"), [(3, True), (4, False)])
def test_few_rows_are_shown_whole(n_rows: int, is_records: bool) -> None:
    assert show_table(NAMES, ROWS[:n_rows], 50).startswith("-- row 1") is is_records


def test_an_upper_end_is_not_shown_without_its_lower_one() -> None:
    names = ["judge", "value", "low", "high", "last_of_all"]
    rows = [[f"j{n}", n / 7, -n / 1000 - 1.5, n / 9, n] for n in range(5)]
    tables = [show_table(names, rows, width) for width in range(30, 60)]
    seen = [heads(text) for text in tables if text.startswith("┌")]
    assert [found for found in seen if "high" in found and "low" not in found] == []
    assert any("low" not in found for found in seen)
    assert all("value" in found for found in seen)


def test_wide_signs_keep_the_borders_in_line() -> None:
    rows = [["日本語の答え", 1], ["é", 2], ["e\u0301", 3], ["a\nb", 4]]
    for width in (20, 40):
        lines = show_table(["text", "n"], rows, width).splitlines()[:-1]
        assert len({measure(line) for line in lines}) == 1
    assert "a↵b" in show_table(["text", "n"], rows, 40)


@pytest.mark.parametrize("width", [10, 30, 80])
def test_names_stand_in_columns(width: int) -> None:
    names = [f"name_{n}" for n in range(7)]
    shown = show_names(names, width)
    assert sorted(shown.split()) == names
    assert max(map(len, shown.splitlines())) <= max(width, len("  name_0"))


def test_there_are_more_rows_than_shown() -> None:
    assert "the first 5 rows are shown; there are more" in show_table(NAMES, ROWS, 160, is_cut=True)
