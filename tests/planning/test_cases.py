"""What is left to do, as given and expected rows: cases wanted minus verdicts present, and how they
are cut into shards.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from judgelake.tasks.backends.openai.settings import StandinSettings
from judgelake.tasks.digests import content_digest
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning import cases as planning
from judgelake.tasks.planning.cases import find_work, plan_file, register_judges, write_work
from judgelake.tasks.planning.scores import write_scores
from judgelake.tasks.suite.suite import Scope, Suite, identify_all, narrow
from judgelake.tasks.types import Identity
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    caption,
    digest_of,
    ingest,
    item,
    lave_judge,
    make_lake,
    make_suite,
    query,
    read_shards,
    score_row,
    verdict_row,
)

ITEMS = [item(f"i{number}", f"What is in photo {number}?") for number in range(4)]
SUITE = make_suite(lave_judge())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Four items, each answered `a cat` by one model."""
    lake = make_lake(tmp_path)
    ingest(lake, ITEMS, [answer(f"i{number}", "a cat") for number in range(4)])
    return lake


def identity_of(suite: Suite, alias: str = "lave") -> Identity:
    return next(one for one in identify_all(suite) if one.alias == alias)


def add_verdicts(
    lake: Lake, found: dict[str, int | str], suite: Suite = SUITE, **more: Any
) -> None:
    """Verdicts on `a cat` by the judge: item -> its rating, or the status that has none."""
    one = identity_of(suite)
    rows: list[Row] = []
    for item_id, how in found.items():
        digest = digest_of(next(row for row in ITEMS if row["item_id"] == item_id), "a cat")
        own = {
            "reading": one.reading,
            "reply_digests": ["f" * 64],
            **({"status": how} if isinstance(how, str) else {}),
        }
        rows.append(
            verdict_row(
                one.judge_id,
                item_id,
                digest,
                how if isinstance(how, int) else None,
                **{**own, **more},
            )
        )
    append_records(lake, "verdicts", rows)


def count(
    lake: Lake, suite: Suite = SUITE, scope: Scope = Scope(), retry: tuple[str, ...] = ()
) -> dict[str, tuple[int, int]]:
    """Alias -> wanted, pending."""
    works = find_work(lake, narrow(suite, scope), scope, retry)
    return {work.identity.alias: (work.n_wanted, work.n_pending) for work in works}


def plan(
    lake: Lake,
    suite: Suite = SUITE,
    scope: Scope = Scope(),
    run_id: str = "run",
    retry: tuple[str, ...] = (),
) -> list[Row]:
    """The rows of all shards that a plan writes."""
    return read_shards(
        [
            file
            for work in write_work(lake, narrow(suite, scope), scope, run_id, retry)
            for file in work.shards
        ]
    )


def names(rows: list[Row]) -> list[tuple[str, str]]:
    return sorted((row["item_id"], row["answer"]) for row in rows)


def test_a_case_is_pending_until_it_has_a_verdict(lake: Lake) -> None:
    assert count(lake) == {"lave": (4, 4)}
    add_verdicts(lake, {"i0": 3, "i2": 1})
    assert count(lake) == {"lave": (4, 2)}
    assert names(plan(lake)) == [("i1", "a cat"), ("i3", "a cat")]
    add_verdicts(lake, {"i1": 2, "i3": 2})
    assert count(lake) == {"lave": (4, 0)}
    assert write_work(lake, SUITE, Scope(), "run-2")[0].shards == ()


def test_a_shard_holds_what_the_judge_may_see(lake: Lake) -> None:
    first = next(row for row in plan(lake) if row["item_id"] == "i0")
    assert {name: value for name, value in first.items() if value not in (None, [], "")} | {"caption": None, "context_digest": ""} == {
        "benchmark": "b", "item_id": "i0", "task": "vqa", "prompt": "What is in photo 0?", "references": ["cat"],
        "answer": "a cat", "content_digest": content_digest("What is in photo 0?", ["cat"], "a cat"), "caption": None,
        "context_digest": "", "criterion": "correctness", "criteria": ["correctness"], "sample": 0,
    }  # fmt: skip


def test_an_edited_answer_alone_is_judged_again(lake: Lake) -> None:
    add_verdicts(lake, {f"i{number}": 3 for number in range(4)})
    ingest(
        lake,
        ITEMS,
        [answer(f"i{number}", "a dog" if number == 1 else "a cat") for number in range(4)],
        minute=9,
    )
    assert names(plan(lake)) == [("i1", "a dog")]


def test_an_edited_question_or_reference_is_judged_again(lake: Lake) -> None:
    add_verdicts(lake, {f"i{number}": 3 for number in range(4)})
    changed = [
        {**ITEMS[0], "prompt": "Which animal?"},
        {**ITEMS[1], "references": ["cat", "kitten"]},
        *ITEMS[2:],
    ]
    ingest(lake, changed, [answer(f"i{number}", "a cat") for number in range(4)], minute=9)
    assert names(plan(lake)) == [("i0", "a cat"), ("i1", "a cat")]


def test_failed_is_tried_again_and_the_others_on_request(lake: Lake) -> None:
    add_verdicts(lake, {"i0": "failed", "i1": "unparsed", "i2": "refused", "i3": "missing_image"})
    assert names(plan(lake)) == [("i0", "a cat"), ("i3", "a cat")]
    assert [row["item_id"] for row in plan(lake, retry=("unparsed",))] == ["i0", "i1", "i3"]
    assert count(lake, retry=("unparsed", "refused", "truncated")) == {"lave": (4, 4)}


def test_a_later_failure_does_not_undo_a_verdict_and_a_success_ends_the_trying(lake: Lake) -> None:
    add_verdicts(lake, {"i0": 3, "i1": "failed"})
    add_verdicts(lake, {"i0": "failed", "i1": 2}, judged_at=at(9))
    assert names(plan(lake)) == [("i2", "a cat"), ("i3", "a cat")]


def test_a_limit_takes_the_first_items_by_key_of_each_benchmark(lake: Lake) -> None:
    ingest(
        lake,
        [item("z", "Z?"), item("y", "Y?")],
        [answer("z", "a cat"), answer("y", "a cat")],
        benchmark="c",
    )
    suite = make_suite(lave_judge(), benchmarks=("b", "c"))
    assert count(lake, suite) == {"lave": (6, 6)}
    assert names(plan(lake, suite, Scope(limit=1))) == [("i0", "a cat"), ("y", "a cat")]
    assert names(plan(lake, suite, Scope(limit=0))) == []
    assert names(plan(lake, suite, Scope(benchmarks=("c",)))) == [("y", "a cat"), ("z", "a cat")]


def test_a_judge_of_some_benchmarks_wants_only_those(lake: Lake) -> None:
    ingest(lake, [item("z", "Z?")], [answer("z", "a cat")], benchmark="c")
    only_c = StandinSettings(benchmarks=("c",))
    suite = make_suite(lave_judge(), lave_judge("few", only_c, shots=1), benchmarks=("b", "c"))
    assert count(lake, suite) == {"lave": (5, 5), "few": (1, 1)}
    assert count(lake, suite, Scope(judges=("few",), benchmarks=("b",))) == {"few": (0, 0)}


def test_items_of_other_tasks_are_not_wanted(lake: Lake) -> None:
    ingest(
        lake,
        [{**ITEMS[0], "task": "caption"}, ITEMS[1]],
        [answer("i0", "a cat"), answer("i1", "a cat")],
        minute=9,
    )
    assert names(plan(lake)) == [("i1", "a cat")]


def test_a_changed_caption_is_a_new_case_for_the_judge_that_sees_it_alone(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    items = [item("i0", image="0.png"), item("i1", image="1.png"), item("i2")]
    answers = [answer(f"i{number}", "a cat") for number in range(3)]
    ingest(
        lake,
        items,
        answers,
        captions=[
            caption("0.png", "old"),
            caption("1.png", "same"),
            caption("0.png", "no", "robot"),
        ],
    )
    suite = make_suite(lave_judge("blind"), lave_judge("sees", caption="people"))
    captions = {
        row["item_id"]: row["caption"] for row in plan(lake, suite, Scope(judges=("sees",)))
    }
    assert captions == {"i0": "old", "i1": "same", "i2": None}
    assert {row["caption"] for row in plan(lake, suite, Scope(judges=("blind",)))} == {None}
    for alias in ("blind", "sees"):
        one = identity_of(suite, alias)
        contexts = (
            "select item_id, content_digest, context_digest from stg_cases where judge_id = $id"
        )
        rows = query(lake, contexts, {"id": one.judge_id})
        found = [
            verdict_row(one.judge_id, row["item_id"], row["content_digest"], 3, reading=one.reading)
            for row in rows
        ]
        seen = [
            {**verdict, "context_digest": row["context_digest"]}
            for verdict, row in zip(found, rows, strict=True)
        ]
        append_records(lake, "verdicts", seen)
    assert count(lake, suite) == {"blind": (3, 0), "sees": (3, 0)}
    ingest(
        lake, items, answers, captions=[caption("0.png", "new"), caption("1.png", "same")], minute=9
    )
    assert count(lake, suite) == {"blind": (3, 0), "sees": (3, 1)}
    assert [(row["item_id"], row["caption"]) for row in plan(lake, suite)] == [("i0", "new")]


def test_a_new_reading_needs_verdicts_but_no_new_case(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(lake)
    add_verdicts(lake, {f"i{number}": 3 for number in range(4)})
    cases = lake.part_files("cases")
    other = dataclasses.replace(identity_of(SUITE), reading="0therwis")
    monkeypatch.setattr(planning, "identify_all", lambda _: (other,))
    assert count(lake) == {"lave": (4, 4)}
    assert len(plan(lake, run_id="run-2")) == 4
    assert lake.part_files("cases") == cases


def test_cases_are_recorded_once(lake: Lake) -> None:
    plan(lake)
    assert query(lake, "select count(*) as n, any_value(run_id) as run from raw_cases") == [
        {"n": 4, "run": "run"}
    ]
    plan(lake, run_id="run-2")
    assert query(lake, "select count(*) as n from raw_cases") == [{"n": 4}]
    ingest(lake, [*ITEMS, item("i9")], [answer("i9", "a cat"), answer("i0", "a cat")], minute=9)
    plan(lake, run_id="run-3")
    assert query(lake, "select item_id, run_id from raw_cases where run_id <> 'run'") == [
        {"item_id": "i9", "run_id": "run-3"}
    ]


def test_counting_writes_nothing(lake: Lake) -> None:
    before = sorted(lake.root.rglob("*"))
    count(lake)
    assert sorted(lake.root.rglob("*")) == before


def test_the_same_answer_of_two_models_is_one_case(lake: Lake) -> None:
    answers = [
        answer("i0", text, model)
        for text, model in (("a cat", "m1"), ("a cat", "m2"), ("a dog", "m3"))
    ]
    ingest(lake, ITEMS, answers, minute=9)
    assert names(plan(lake)) == [("i0", "a cat"), ("i0", "a dog")]


def test_equal_requests_lie_in_the_same_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty items in two benchmarks ask five different things; references in another order make the
    same request.
    """
    monkeypatch.setattr(planning, "CASES_PER_SHARD", 6)
    lake = make_lake(tmp_path)
    for benchmark in ("b", "c"):
        items = [
            item(
                f"i{n:02}",
                "What?" if n % 5 < 4 else "Where?",
                ("x", "y")[:: 1 if n % 2 else -1] if n % 5 < 3 else ("z",),
            )
            for n in range(20)
        ]
        ingest(
            lake,
            items,
            [answer(f"i{n:02}", f"a{n % 3 if n % 5 < 3 else 0}") for n in range(20)],
            benchmark=benchmark,
        )
    (work,) = write_work(lake, make_suite(lave_judge(), benchmarks=("b", "c")), Scope(), "run")
    asked = [
        {
            (row["prompt"], tuple(sorted(row["references"])), row["answer"])
            for row in read_shards([file])
        }
        for file in work.shards
    ]
    assert len(asked) > 1
    assert sum(map(len, asked)) == len(set().union(*asked)) == 5
    assert len(read_shards(work.shards)) == work.n_pending == 40


@pytest.mark.parametrize(("rows", "sizes"), [(4, [4]), (3, [2, 2]), (1, [1, 1, 1, 1]), (100, [4])])
def test_shards_are_of_equal_size(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, rows: int, sizes: list[int]
) -> None:
    monkeypatch.setattr(planning, "CASES_PER_SHARD", rows)
    (work,) = write_work(lake, SUITE, Scope(), "run")
    assert [len(read_shards([file])) for file in work.shards] == sizes
    assert [file.name for file in work.shards] == [
        f"lave-{number:04}.parquet" for number in range(len(sizes))
    ]


def test_the_plan_gives_the_number_of_cases_to_the_progress_display(lake: Lake) -> None:
    add_verdicts(lake, {"i0": 3})
    suite = make_suite(lave_judge(), lave_judge("few", shots=1), metrics=("exact_match",))
    write_work(lake, suite, Scope(), "run")
    assert json.loads(plan_file(lake, "run").read_text()) == {"lave": 3, "few": 4}


def test_a_metric_is_pending_where_it_has_not_scored(lake: Lake) -> None:
    suite = make_suite(metrics=("exact_match", "vqa_accuracy"))
    one = identity_of(suite, "exact_match")
    scores = [score_row(one.judge_id, "i0", digest_of(ITEMS[0], "a cat"), 1.0)]
    scores.append(
        score_row(
            one.judge_id,
            "i1",
            digest_of(ITEMS[1], "a cat"),
            None,
            reason="undefined is a result too",
        )
    )
    append_records(lake, "metric_scores", scores)
    assert count(lake, suite) == {"exact_match": (4, 2), "vqa_accuracy": (4, 4)}
    assert names(plan_one(lake)) == [("i2", "a cat"), ("i3", "a cat")]
    assert lake.part_files("cases") == []
    ingest(lake, ITEMS, [answer("i0", "a dog"), answer("i1", "a cat")], minute=9)
    assert names(plan_one(lake)) == [("i0", "a dog")]


def plan_one(lake: Lake) -> list[Row]:
    """What is left of one metric alone."""
    return read_shards(
        [
            order.answers_file
            for order in write_scores(lake, make_suite(metrics=("exact_match",)), Scope(), "run")
        ]
    )


# ---- which judges are current


def current(lake: Lake) -> list[tuple[str, str]]:
    return [
        (row["judge"], row["judge_id"])
        for row in query(lake, "select judge, judge_id from core_judges order by judge")
    ]


def test_registering_twice_changes_nothing(lake: Lake) -> None:
    suite = make_suite(lave_judge(), metrics=("exact_match",))
    assert register_judges(lake, suite)
    parts = lake.part_files("judges")
    assert not register_judges(lake, suite)
    assert lake.part_files("judges") == parts
    metric = identity_of(suite, "exact_match")
    assert current(lake) == [
        ("lave", identity_of(suite).judge_id),
        (f"metric:{metric.call_signature}", metric.judge_id),
    ]


def test_a_changed_option_makes_another_judge_current_and_the_old_one_leaves_the_reports(
    lake: Lake,
) -> None:
    register_judges(lake, SUITE)
    plan(lake)
    add_verdicts(lake, {"i0": 3})
    assert query(lake, "select judge, status, n from rpt_coverage order by status") == [
        {"judge": "lave", "status": "not_asked", "n": 3},
        {"judge": "lave", "status": "ok", "n": 1},
    ]
    changed = make_suite(lave_judge(shots=4))
    assert register_judges(lake, changed)
    assert current(lake) == [("lave", identity_of(changed).judge_id)]
    assert query(lake, "select * from rpt_coverage") == []
    plan(lake, changed)
    assert query(lake, "select judge, status, n from rpt_coverage") == [
        {"judge": "lave", "status": "not_asked", "n": 4}
    ]


def test_a_renamed_and_a_removed_judge(lake: Lake) -> None:
    register_judges(lake, make_suite(lave_judge(), lave_judge("few", shots=1)))
    assert register_judges(lake, make_suite(lave_judge("renamed")))
    assert current(lake) == [("renamed", identity_of(SUITE).judge_id)]


def test_going_back_to_an_old_judge_asks_nothing_again(lake: Lake) -> None:
    register_judges(lake, SUITE)
    add_verdicts(lake, {f"i{number}": 3 for number in range(4)})
    register_judges(lake, make_suite(lave_judge(shots=4)))
    assert register_judges(lake, SUITE)
    assert current(lake) == [("lave", identity_of(SUITE).judge_id)]
    assert count(lake) == {"lave": (4, 0)}
