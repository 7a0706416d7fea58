"""Two `judge_duels` of one pair that differ in `shown_first` are its two orders: LLMBar's real files
by its ready suite, and a small file by hand.

The golden figures are those of ../shared/data/README.md.
"""

import json
from pathlib import Path

import pytest

from judgelake.tasks.suite.suite import read_suite
from tests.conftest import CHECKOUT
from tests.lakes import query
from tests.sources.tables import ingest, write_bytes, write_suite

ORDERS = """
    select
        items.category, given.judge,
        count(*) as n,
        count(*) filter (where given.choice = labels.choice) as given,
        count(*) filter (where swapped.choice = labels.choice) as swapped,
        count(*) filter (where choices.choice = labels.choice) as both,
        count(*) filter (where given.choice = swapped.choice) as same,
        avg((given.choice = 'a')::int) as a_given,
        avg((swapped.choice = 'a')::int) as a_swapped,
        a_given * a_swapped + (1 - a_given) * (1 - a_swapped) as chance,
        (same / n - chance) / (1 - chance) as kappa
    from recorded_duels as given
    inner join recorded_duels as swapped using (benchmark, item_id, answer_a, answer_b, judge)
    inner join human_preferences as labels using (benchmark, item_id, answer_a, answer_b)
    inner join items using (benchmark, item_id)
    inner join core_choices as choices
        on choices.benchmark = given.benchmark and choices.item_id = given.item_id
        and choices.rater = given.judge
    where given.shown_first = 'a' and swapped.shown_first = 'b'
    group by all order by all
"""


@pytest.mark.data
def test_figures_of_llmbar(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGELAKE_DATA", str(data_folder))
    lake = ingest(read_suite(CHECKOUT / "infra" / "suites" / "llmbar.yaml"), tmp_path)
    assert query(lake, "select * from quarantine") == []
    found = query(lake, ORDERS)
    assert [tuple(row.values())[:7] for row in found] == [
        ("Natural", "ChatGPT", 100, 80, 83, 67, 71),
        ("Natural", "GPT-4", 100, 95, 96, 93, 95),
        ("Neighbor", "ChatGPT", 134, 30, 22, 7, 96),
    ]
    assert found[1]["kappa"] == pytest.approx(0.897708674304419, abs=1e-12)
    (position,) = query(lake, "from rpt_bias_position where judge = 'GPT-4'")
    assert (position["n"], position["n_both_orders"], position["n_inconsistent"]) == (200, 100, 5)


def test_orders_of_a_recorded_judge(tmp_path: Path) -> None:
    """Question 0: a twice; 1: the one shown first twice; 2: the second order has no verdict."""
    given = [("A", "A"), ("A", "B"), ("B", None)]
    records = [
        {"q": f"{number}", "x": "x", "y": "y", "one": one, "two": two}
        for number, (one, two) in enumerate(given)
    ]
    write_bytes(tmp_path / "d.json", json.dumps(records).encode())
    values = {"A": "a", "B": "b"}
    duels = [
        {"judge": "j", "choice": column, "values": values, "shown_first": {"constant": first}}
        for column, first in (("one", "a"), ("two", "b"))
    ]
    # the second judge's file writes the swapped order as the other pair, with b shown first
    flipped = {"answer_a": {"constant": "m2/short/0"}, "answer_b": {"constant": "m1/short/0"}}
    turned = {"judge": "k", "choice": "two", "values": {"A": "b", "B": "a"}, **flipped}
    duels += [{**duels[0], "judge": "k"}, {**turned, "shown_first": {"constant": "a"}}]
    mapping = {
        "file": "d.json",
        "columns": {"item_id": "q", "prompt": "q"},
        "answers": [{"model": "m1", "text": "x"}, {"model": "m2", "text": "y"}],
        "judge_duels": duels,
    }
    lake = ingest(write_suite(tmp_path, mapping), tmp_path)
    assert query(lake, "select * from quarantine") == []
    found = query(
        lake,
        "select rater, item_id, shown_first, status, choice, preference_b from core_choices "
        "order by all",
    )
    assert [tuple(row.values()) for row in found] == [
        (judge, *row)
        for judge in ("j", "k")
        for row in (
            ("0", None, "ok", "a", 0.0),
            ("1", None, "inconsistent", None, 0.5),
            ("2", None, "failed", None, None),
        )
    ]
    found = query(
        lake,
        "select item_id, shown_first, status, choice from core_ordered_choices where rater = 'k' "
        "order by all",
    )
    assert [tuple(row.values()) for row in found] == [
        ("0", "a", "ok", "a"),
        ("0", "b", "ok", "a"),
        ("1", "a", "ok", "a"),
        ("1", "b", "ok", "b"),
        ("2", "a", "ok", "b"),
        ("2", "b", "failed", None),
    ]
    columns = "judge, n, first_wins, n_both_orders, n_inconsistent, n_always_first"
    found = query(lake, f"select {columns} from rpt_bias_position order by judge")
    # orders with a verdict: 0 a/a, 1 a/b, 2 b: shown first won in 0 (first), 1 (both): 3 of 5
    assert [tuple(row.values()) for row in found] == [("j", 5, 3, 2, 1, 1), ("k", 5, 3, 2, 1, 1)]
    assert query(lake, "from chk_repeated_key") == []
