"""The cases of juries: whose votes they hold, when they are judged again, and whose labels learnt
weights have seen.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.planning.estimate import estimate_suite
from judgelake.tasks.planning.juries import N_FOLDS, find_fold
from judgelake.tasks.suite.suite import Scope, Suite, parse_suite, stages_of
from tests.lakes import (
    answer,
    append_records,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    make_lake,
    query,
    rating,
    read_shards,
    verdict_row,
)

START = """
name: s
benchmarks:
  b: {source: demo}
judges:
  lave: {protocol: lave, backend: standin}
  one-shot: {protocol: lave, backend: standin, shots: 1}
  none-shot: {protocol: lave, backend: standin, shots: 0}
  pairs: {protocol: chirp, backend: standin, criteria: [overall]}
  ties: {protocol: chirp, backend: standin, criteria: [overall], ties: true}
"""
MEMBERS = ("lave", "one-shot", "none-shot")
ITEMS = [item(f"i{number}", f"What is in photo {number}?") for number in range(40)]


def make_suite(jury: str = "{protocol: jury, members: [lave, one-shot, none-shot]}") -> Suite:
    return parse_suite(Path("suite.yaml"), f"{START}  jury: {jury}\n")


SUITE = make_suite()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Two items, each answered `a cat` by one model."""
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS[:2], [answer(f"i{number}", "a cat") for number in range(2)])
    return lake


def add_verdicts(
    lake: Lake, alias: str, found: Mapping[str, int | None], minute: float = 3
) -> None:
    """Cases of a judge and its verdicts on `a cat`: item -> its rating on LAVE's scale."""
    one = SUITE.judges[alias].identify(())
    digests = {row["item_id"]: digest_of(row, "a cat") for row in ITEMS}
    append_records(lake, "cases", [case_row(one.judge_id, name, digests[name]) for name in found])
    append_records(
        lake,
        "verdicts",
        [
            verdict_row(one.judge_id, name, digests[name], how, minute, reading=one.reading)
            for name, how in found.items()
        ],
    )


def judge(lake: Lake, suite: Suite = SUITE, run_id: str = "run") -> int:
    """Plan the jury and judge its cases; how many there were."""
    register_judges(lake, suite)
    (work,) = write_work(lake, stages_of(suite)[-1], Scope(), run_id)
    for file in work.shards:
        order = ShardOrder(
            lake, run_id, suite.judges["jury"], work.identity, suite.limits, file, lake.root
        )
        run_judge_shard(order)
    return work.n_pending


def list_scores(lake: Lake) -> dict[str, Any]:
    """Item -> the jury's score, or the reason that it has none."""
    rows = query(lake, "select item_id, score_0_1, reason from core_scores where alias = 'jury'")
    return {row["item_id"]: row["score_0_1"] or row["reason"] for row in rows}


def test_a_jury_is_judged_once_and_again_where_a_member_changed_its_mind(lake: Lake) -> None:
    for alias in MEMBERS:
        add_verdicts(lake, alias, {"i0": 3, "i1": 2})
    assert judge(lake) == 2
    assert list_scores(lake) == {"i0": 1.0, "i1": 0.5}
    assert judge(lake, run_id="run-2") == 0
    before = query(lake, "select * from raw_verdicts order by all")
    add_verdicts(lake, "lave", {"i1": 3}, minute=9)
    assert judge(lake, run_id="run-3") == 1
    assert list_scores(lake) == {"i0": 1.0, "i1": pytest.approx(2 / 3)}
    after = query(lake, "select * from raw_verdicts")
    assert len(after) == len(before) + 2
    assert all(row in after for row in before)
    assert query(lake, "select count(*) as n from raw_replies") == [{"n": 0}]
    assert query(lake, "select count(*) as n from chk_verdict_without_case") == [{"n": 0}]


def test_a_member_without_a_verdict_is_named_until_it_has_one(lake: Lake) -> None:
    add_verdicts(lake, "lave", {"i0": 3, "i1": 3})
    add_verdicts(lake, "one-shot", {"i0": 2, "i1": None})
    assert judge(lake) == 2
    assert list_scores(lake) == {
        "i0": 0.75,
        "i1": "1 of 3 members have a verdict; expected at least 2; without one: one-shot "
        "(unparsed), none-shot (not asked)",
    }
    (reason,) = query(
        lake, "select reason from core_scores where alias = 'jury' and item_id = 'i0'"
    )
    assert reason == {"reason": "without none-shot (not asked)"}
    add_verdicts(lake, "none-shot", {"i1": 1})
    assert judge(lake, run_id="run-2") == 1
    assert list_scores(lake) == {"i0": 0.75, "i1": 0.5}


def test_what_too_few_members_judge_is_no_case(lake: Lake) -> None:
    add_verdicts(lake, "lave", {"i0": 3, "i1": 3})
    add_verdicts(lake, "one-shot", {"i0": 3})
    assert judge(lake) == 1


def test_an_edited_answer_is_no_case_until_members_judge_it(lake: Lake) -> None:
    for alias in MEMBERS:
        add_verdicts(lake, alias, {"i0": 3, "i1": 2})
    judge(lake)
    ingest(lake, ITEMS[:2], [answer("i0", "a dog"), answer("i1", "a cat")], minute=5)
    assert judge(lake, run_id="run-2") == 0
    assert list_scores(lake) == {"i1": 0.5}


def test_samples_of_a_member_are_one_vote(lake: Lake) -> None:
    one = SUITE.judges["lave"].identify(())
    digest = digest_of(ITEMS[0], "a cat")
    for sample, value in enumerate((3, 3, 1)):
        more = {"sample": sample}
        append_records(lake, "cases", [case_row(one.judge_id, "i0", digest, **more)])
        row = verdict_row(one.judge_id, "i0", digest, value, reading=one.reading, **more)
        append_records(lake, "verdicts", [row])
    add_verdicts(lake, "one-shot", {"i0": 1})
    judge(lake)
    assert list_scores(lake) == {"i0": pytest.approx(1 / 3)}


def test_pairs_are_combined_in_each_order(lake: Lake) -> None:
    ingest(lake, ITEMS[:1], [answer("i0", "a cat"), answer("i0", "a dog", "m2")], minute=5)
    digests = [digest_of(ITEMS[0], text) for text in ("a cat", "a dog")]
    a, b = sorted(digests)
    choices = {"pairs": {"a": "a", "b": "b"}, "ties": {"a": "a", "b": "tie"}}
    for alias, by_order in choices.items():
        one = SUITE.judges[alias].identify(())
        for first, choice in by_order.items():
            more = {"criterion": "overall", "other_digest": b, "shown_first": first}
            append_records(lake, "cases", [case_row(one.judge_id, "i0", a, **more)])
            duel = duel_row(one.judge_id, "i0", a, b, first, choice)
            append_records(
                lake, "duels", [{**duel, "criterion": "overall", "reading": one.reading}]
            )
    assert judge(lake, make_suite("{protocol: jury, members: [pairs, ties]}")) == 2
    found = query(
        lake,
        "select shown_first, choice, preference_b from stg_duels semi join core_judges as j using "
        "(judge_id) where run_id = 'run' and rationale is not null order by shown_first",
    )
    assert [tuple(row.values()) for row in found] == [("a", "a", 0.0), ("b", "b", 0.75)]
    shown = query(lake, "select distinct judge, status from core_duels where judge = 'jury'")
    assert shown == [{"judge": "jury", "status": "ok"}]


# ---- learnt weights

LEARNT = make_suite("{protocol: jury, members: [lave, one-shot, none-shot], combine: learnt}")
RATINGS = [[3, 1, 2][(number + number // 3) % 3] for number in range(40)]


def make_labelled(folder: Path, labels: dict[int, float]) -> Lake:
    """`lave` gives 40 answers RATINGS, `one-shot` their reverse, `none-shot` always 2; `labels` are
    people's, by number of the item.
    """
    lake = make_lake(folder)
    rated = [rating(f"i{number}", value) for number, value in labels.items()]
    ingest(lake, ITEMS, [answer(f"i{number}", "a cat") for number in range(40)], rated)
    add_verdicts(lake, "lave", {f"i{number}": value for number, value in enumerate(RATINGS)})
    opposite = {f"i{number}": 4 - value for number, value in enumerate(RATINGS)}
    add_verdicts(lake, "one-shot", opposite)
    add_verdicts(lake, "none-shot", {f"i{number}": 2 for number in range(40)})
    return lake


def list_weights(lake: Lake) -> dict[str, list[float]]:
    """Item -> the weights that its case has."""
    (work,) = write_work(lake, stages_of(LEARNT)[-1], Scope(), "run")
    return {row["item_id"]: row["weights"] for row in read_shards(work.shards)}


def agree(number: int) -> float:
    return (RATINGS[number] - 1) / 2


def test_a_judge_who_agrees_with_people_outweighs_the_others(tmp_path: Path) -> None:
    lake = make_labelled(tmp_path, {number: agree(number) for number in range(40)})
    assert set(map(tuple, list_weights(lake).values())) == {(1.0, 0.0, 0.0)}
    judge(lake, LEARNT)
    assert list_scores(lake)["i0"] == 1.0
    (shown,) = query(
        lake, "select rationale from core_scores where alias = 'jury' and item_id = 'i1'"
    )
    assert shown["rationale"] == (
        "lave 0 (weight 1), one-shot 1 (weight 0), none-shot 0.5 (weight 0)"
    )


def test_weights_never_rest_on_the_labels_of_their_own_item(tmp_path: Path) -> None:
    """Labels of one fold are turned round: its items keep their weights, all others change."""
    folds = [find_fold("b", f"i{number}") for number in range(40)]
    assert {*folds} == {*range(N_FOLDS)}
    labels = {number: agree(number) for number in range(38)}
    turned = {number: 1 - one if folds[number] == 0 else one for number, one in labels.items()}
    before = list_weights(make_labelled(tmp_path / "before", labels))
    after = list_weights(make_labelled(tmp_path / "after", turned))
    same = {name for name, weights in after.items() if weights == before[name]}
    assert same == {f"i{number}" for number in labels if folds[number] == 0}


def test_items_without_labels_take_weights_of_all_labels(tmp_path: Path) -> None:
    """i0's label alone disagrees with `lave`; only the two that nobody labelled have weights from
    all of them and so from it, whatever their fold.
    """
    labels = {number: agree(number) for number in range(1, 38)} | {0: 1 - agree(0)}
    weights = list_weights(make_labelled(tmp_path, labels))
    assert weights["i38"] == weights["i39"] != weights["i0"]
    assert weights["i0"] == [1.0, 0.0, 0.0]


def test_too_few_labels_are_a_reason(tmp_path: Path) -> None:
    lake = make_labelled(tmp_path, {number: agree(number) for number in range(19)})
    judge(lake, LEARNT)
    (found,) = {*list_scores(lake).values()}
    assert found.startswith("weights cannot be learnt: people labelled fewer than 20 answers")


def test_a_plan_names_members_and_asks_nobody(lake: Lake) -> None:
    jury = estimate_suite(lake, SUITE, Scope()).judges[-1]
    assert (jury.judge, jury.n_calls, jury.cost_usd) == ("jury", 0, 0.0)
    assert jury.notes == (
        "calls: none; the stored verdicts of lave, one-shot, none-shot are combined",
        "cases: more will come once lave, one-shot, none-shot have judged; how many is not known, "
        "and they are not counted",
    )
    for alias in MEMBERS:
        add_verdicts(lake, alias, {"i0": 3, "i1": 2})
    assert [one.n_pending for one in estimate_suite(lake, SUITE, Scope()).judges][-1] == 2
