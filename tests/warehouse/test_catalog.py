"""What `judgelake sql --list` prints, and recipes with their options."""

import pytest

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import QueryError
from judgelake.tasks.warehouse.catalog import (
    Option,
    describe_check,
    find_recipe,
    list_all,
    list_recipes,
)
from judgelake.tasks.warehouse.views import check_texts, read_header, view_texts

TEXT = """-- question: Which?
-- grain: one row per x
-- and y; sorted
-- option benchmark: only this one
-- option n = 20: how many
with a as (
-- option inside: no header
select 1)
"""


def test_a_header_is_the_keyed_comments_at_the_start() -> None:
    assert read_header(TEXT) == {
        "question": "Which?",
        "grain": "one row per x and y; sorted",
        "option benchmark": "only this one",
        "option n = 20": "how many",
    }
    assert read_header("select 1") == {}


def test_a_check_holds_or_only_warns() -> None:
    assert describe_check("-- check: a holds\n-- grain: one row per b\n") == ("a holds", False)
    assert describe_check("-- warning: a should hold\n-- grain: one row per b\n") == (
        "a should hold",
        True,
    )


def test_everything_that_can_be_asked_is_listed_once() -> None:
    listed = list_all()
    by_kind = {
        kind: [one.name for one in listed if one.kind == kind]
        for kind in ("table", "view", "check", "recipe")
    }
    assert by_kind["table"] == list(TABLES)
    assert set(by_kind["view"]) == {name for name in view_texts() if not name.startswith("stg_")}
    assert by_kind["view"][0].startswith("rpt_")
    assert by_kind["check"] == sorted(check_texts())
    assert by_kind["recipe"] == sorted(list_recipes())
    assert sum(map(len, by_kind.values())) == len(listed)
    assert all(one.says for one in listed)


def test_a_listed_grain_is_that_of_what_the_name_shows() -> None:
    says = {one.name: (one.says, one.options) for one in list_all()}
    assert says["verdicts"] == (
        "one row per judge x reading x case: `ok` first, else the latest attempt",
        "",
    )  # the current one, not every attempt
    assert says["rpt_coverage"][0].startswith("one row per benchmark x judge x status: ")
    assert says["low_mass"][1] == "benchmark=, below=0.9"


def test_options_have_defaults_and_take_values() -> None:
    recipe = find_recipe("low_mass")
    assert recipe.options["below"] == Option("0.9", "what is little")
    assert recipe.fill_options([]) == {"benchmark": None, "below": "0.9"}
    assert recipe.fill_options(["benchmark=a=b", "below=0.5"]) == {
        "benchmark": "a=b",
        "below": "0.5",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("bench=x", "the recipe low_mass has no option 'bench'; did you mean 'benchmark'?"),
        ("below", "--set 'below' gives no value; expected name=value; write --set below="),
    ],
)
def test_wrong_options_are_refused(given: str, message: str) -> None:
    with pytest.raises(QueryError) as error:
        find_recipe("low_mass").fill_options([given])
    assert message in str(error.value)


def test_an_unknown_recipe_is_refused_with_the_nearest() -> None:
    with pytest.raises(QueryError, match="there is no recipe 'low_mas'; did you mean 'low_mass'"):
        find_recipe("low_mas")
