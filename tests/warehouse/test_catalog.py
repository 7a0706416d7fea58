"""What `judgelake sql --list` prints, and recipes with their options."""

import pytest

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import QueryError
from judgelake.tasks.warehouse import catalog
from judgelake.tasks.warehouse.catalog import (
    FIRST_RECIPES,
    Option,
    describe_check,
    find_recipe,
    list_all,
    list_layers,
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
    assert by_kind["table"] == ["verdicts", *(name for name in TABLES if name != "verdicts")]
    assert set(by_kind["view"]) == {
        name for name in view_texts() if not name.startswith("stg_") and name not in TABLES
    }
    assert by_kind["check"] == sorted(check_texts())
    assert by_kind["recipe"] == [*FIRST_RECIPES, *sorted({*list_recipes()} - {*FIRST_RECIPES})]
    assert sum(map(len, by_kind.values())) == len(listed)
    assert all(one.says for one in listed)


def test_internals_are_listed_last(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {**view_texts(), "scores_with_people": "-- grain: one row per answer x judge"}
    monkeypatch.setattr(catalog, "view_texts", lambda: wide)
    names = [name for layer in list_layers() for name in layer.names]
    order = [
        "scores_with_people",
        "verdicts",
        "items",
        "rpt_metrics",
        "chk_probabilities",
        "core_scores",
        "stg_items",
    ]
    assert sorted(order, key=names.index) == order
    assert sorted(names) == sorted({*wide, *check_texts(), *TABLES})


def test_a_listed_grain_is_that_of_what_the_name_shows() -> None:
    says = {one.name: (one.says, one.options) for one in list_all()}
    assert says["verdicts"] == (
        "one row per judge x reading x case, `ok` first, else the latest attempt, with the names "
        "of what was judged",
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


def test_an_option_with_choices_takes_one_of_them() -> None:
    recipe = find_recipe("closest_to_people")
    assert recipe.options["rule"].choices == ("mean", "lave", "each")
    assert recipe.options["benchmark"].choices == ()
    with pytest.raises(QueryError, match="has no rule 'meen'; did you mean 'mean'"):
        recipe.fill_options(["rule=meen"])


def test_every_default_is_among_the_choices() -> None:
    odd = [
        f"{recipe.name}: {name}"
        for recipe in list_recipes().values()
        for name, option in recipe.options.items()
        if option.choices and option.default not in option.choices
    ]
    assert odd == []


def test_an_unknown_recipe_is_refused_with_the_nearest() -> None:
    with pytest.raises(QueryError, match="there is no recipe 'low_mas'; did you mean 'low_mass'"):
        find_recipe("low_mas")
