"""What Tab completes at the prompt of `judgelake sql`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from judgelake.flows.sql_completion import VALUES, Completer
from judgelake.flows.sql_shell import COMMANDS
from judgelake.tasks.warehouse.catalog import list_recipes
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.lakes import answer, ingest, item, make_lake


@pytest.fixture(scope="module")
def completer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Completer]:
    lake = make_lake(tmp_path_factory.mktemp("completion"))
    for benchmark in ("okvqa", "vg"):
        ingest(lake, [item("i0")], [answer("i0", "cat")], benchmark=benchmark)
    with open_warehouse(lake, sealed=True, lazy=True) as connection:
        yield Completer(connection, COMMANDS)


@pytest.mark.parametrize(
    ("before", "word", "found"),
    [
        ("", "sel", ["select"]),
        ("select * from ", "rpt_corr", ["rpt_correlation"]),
        ("select * FROM ", "CORE_SCO", ["core_scores"]),
        ("select count(*)\nfrom items where ", "cat", ["category"]),
        ("select ", "round_m", ["round_mean("]),
        ("select 1 from items i join answers as a on i.item_id = ", "a.item", ["a.item_id"]),
        ("from items where ", "items.refe", ['items."references"']),
        ('select "', "refe", []),
        ("select 'it", "ems", []),
        ("", ".sch", [".schema"]),
        (".schema ", "embed", ["embeddings"]),
        (".mode ", "re", ["records"]),
        (".recipes ", "closest_to", ["closest_to_people"]),
        (".recipe ", "closest_to", ["closest_to_people"]),
        (".recipe closest_to_people ", "", ["benchmark=", "coefficient=", "rule="]),
        (".recipe closest_to_people benchmark=okvqa ", "ru", ["rule="]),
        (".recipe closest_to_people benchmark=", "", ["okvqa", "vg"]),
        (".recipe closest_to_people rule=", "l", ["lave"]),
        (".recipe nothing ", "", []),
    ],
)
def test_words_are_completed_where_they_stand(
    completer: Completer, before: str, word: str, found: list[str]
) -> None:
    assert completer.complete(before, word) == found


def test_columns_are_those_of_the_tables_that_follow(completer: Completer) -> None:
    assert completer.complete("select ", "quest", " from rubrics") == []
    assert completer.complete("select ", "rubric", " from rubrics")[0] == "rubric_id"
    assert completer.complete('select "', "refe", '" from items') == ["references"]


def test_files_are_completed(completer: Completer, tmp_path: Path) -> None:
    (tmp_path / "notes.csv").touch()
    (tmp_path / "new").mkdir()
    found = completer.complete(".output ", f"{tmp_path}/n")
    assert found == [f"{tmp_path}/new/", f"{tmp_path}/notes.csv"]
    assert completer.complete(".output ", f"{tmp_path}/none/n") == []


def test_every_option_has_values_or_is_a_number() -> None:
    """An option that names a thing of the lake is completed; the others are numbers."""
    without = {
        name
        for recipe in list_recipes().values()
        for name, option in recipe.options.items()
        if not option.choices and name not in VALUES
    }
    assert without == {"n", "below", "digits", "at_most", "at_least", "chosen"}
