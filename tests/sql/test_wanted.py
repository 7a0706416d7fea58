"""The cases that judges want, as given and expected rows: wanted_contexts, wanted_answers,
wanted_pairs, wanted_feedbacks, wanted_images, all_matchups, human_matchups, new_cases,
pending_cases."""

import dataclasses
import hashlib
from typing import Any

import duckdb
import polars as pl
import pytest

from judgelake.tasks.lake.lake import Lake, append_rows
from judgelake.tasks.planning.cases import keep_wanted, name_plan
from judgelake.tasks.types import Identity, Wants
from judgelake.tasks.warehouse.warehouse import select_file, select_frame
from tests.lakes import (
    Row,
    answer,
    append_records,
    at,
    caption,
    case_row,
    digest_of,
    duel_row,
    ingest,
    item,
    judge_row,
    make_lake,
    preference,
    verdict_row,
    warehouse,
)

A, B = "a" * 16, "b" * 16
CAT, DOG = item("i0", image="0.png"), item("i1", "Which animal?", ("dog", "puppy"))
WANTS = Wants(("vqa",))
SHA = {name: hashlib.sha256(name.encode()).hexdigest() for name in "xyz"}


@pytest.fixture
def lake(tmp_path: Any) -> Lake:
    return make_lake(tmp_path)


def identity(wants: Wants, judge_id: str = A) -> Identity:
    return Identity("judge", "j", judge_id, "r1", "call", "read", ("b",), wants)


def keep(
    lake: Lake, wants: Wants = WANTS, benchmarks: tuple[str, ...] = ("b",), limit: int | None = None
) -> duckdb.DuckDBPyConnection:
    connection = warehouse(lake)
    keep_wanted(connection, identity(wants), "s", [*benchmarks], limit)
    return connection


def wanted(lake: Lake, columns: str, wants: Wants = WANTS, **more: Any) -> list[tuple[Any, ...]]:
    return sorted(
        select_frame(
            keep(lake, wants, **more), f"select {columns} from wanted_cases", "test"
        ).rows(),
        key=str,
    )


# ---- answers


def test_wanted_are_the_contents_of_the_benchmarks_and_tasks(lake: Lake) -> None:
    items = [CAT, DOG, {**item("i2"), "task": "caption"}]
    answers = [
        answer("i0", "a cat"),
        answer("i0", "a cat", "m2"),
        answer("i0", "cat", "m3"),
        answer("i1", "dog"),
        answer("i2", "x"),
    ]
    ingest(lake, items, answers)
    ingest(lake, [CAT], [answer("i0", "a cat")], benchmark="c")
    columns = "benchmark, item_id, answer"
    assert wanted(lake, columns) == [("b", "i0", "a cat"), ("b", "i0", "cat"), ("b", "i1", "dog")]
    assert wanted(lake, columns, Wants(("caption",))) == [("b", "i2", "x")]
    assert wanted(lake, columns, benchmarks=("c", "d")) == [("c", "i0", "a cat")]
    columns = (
        'prompt, "references", content_digest, context_digest, other_digest, '
        "shown_first, len(images)"
    )
    assert wanted(lake, columns, benchmarks=("c",)) == [
        ("What is it?", ["cat"], digest_of(CAT, "a cat"), "", "", "", 0)
    ]


def test_a_case_for_each_group_of_criteria_and_each_sample(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "x")])
    wants = Wants(("vqa",), criteria=(("a", "b"), ("c",)), samples=2)
    expected = [(["a", "b"], "a", 0), (["a", "b"], "a", 1), (["c"], "c", 0), (["c"], "c", 1)]
    assert wanted(lake, "criteria, criterion, sample", wants) == expected


def test_only_answers_of_the_styles_asked_for(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "x"), answer("i0", "a long x", "m2", style="long")])
    assert wanted(lake, "answer", Wants(("vqa",), styles=("long",))) == [("a long x",)]
    assert len(wanted(lake, "answer", Wants(("vqa",), styles=("long", "short")))) == 2


def test_a_limit_counts_items_by_key_within_each_benchmark(lake: Lake) -> None:
    for benchmark in ("b", "c"):
        ingest(
            lake,
            [DOG, CAT],
            [answer("i1", "y"), answer("i0", "x"), answer("i0", "z", "m2")],
            benchmark=benchmark,
        )
    found = wanted(lake, "benchmark, item_id, answer", benchmarks=("b", "c"), limit=1)
    assert found == [("b", "i0", "x"), ("b", "i0", "z"), ("c", "i0", "x"), ("c", "i0", "z")]


# ---- what stands beside an answer


def test_a_caption_and_its_digest_come_from_the_captioner_asked_for(lake: Lake) -> None:
    captions = [
        caption("0.png", "b caption"),
        caption("0.png", "a caption"),
        caption("0.png", "0 robot", "robot"),
    ]
    ingest(lake, [CAT, DOG], [answer("i0", "x"), answer("i1", "y")], captions=captions)
    columns = "item_id, caption, context_digest"
    digest = hashlib.sha256(b"a caption").hexdigest()[
        :16
    ]  # the first in alphabetical order of the captioner's two
    assert wanted(lake, columns, Wants(("vqa",), captioner="people")) == [
        ("i0", "a caption", digest),
        ("i1", None, ""),
    ]
    assert wanted(lake, columns) == [("i0", None, ""), ("i1", None, "")]


def test_a_captioning_judge_of_the_suite_is_a_captioner(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "x")])
    append_records(
        lake,
        "judges",
        [
            judge_row("eye", B, kind="captioner"),
            judge_row("eye", A, kind="captioner", suite="other"),
        ],
    )
    key: Row = {
        "judge_id": B,
        "benchmark": "b",
        "item_id": "i0",
        "content_digest": "",
        "context_digest": "0" * 16,
        "sample": 0,
    }
    key |= {
        "criterion": "caption",
        "image_uri": "0.png",
        "reading": "r1",
        "reply_digests": [],
        "run_id": "run",
    }
    failed = {**key, "status": "failed", "text": None, "reason": "gone", "judged_at": at(1)}
    written = {**key, "status": "ok", "text": "a tabby", "reason": None, "judged_at": at(2)}
    stranger = {**written, "judge_id": A, "text": "of another suite"}
    append_records(lake, "generated_captions", [failed, written, stranger])
    assert wanted(lake, "caption", Wants(("vqa",), captioner="eye")) == [("a tabby",)]


def with_images(item_id: str, *names: str, **more: Any) -> Row:
    return {
        **item(item_id, **more),
        "images": [{"uri": f"{name}.png", "sha256": SHA.get(name)} for name in names],
    }


def test_images_and_boxes_are_part_of_the_context_where_they_are_shown(lake: Lake) -> None:
    box = {"x": 1.0, "y": 2.0, "width": 3.0, "height": 4.5}
    ingest(lake, [with_images("i0", "x", "y", regions=[box])], [answer("i0", "t")])
    columns = "[image.uri for image in images], regions, context_digest"
    assert wanted(lake, columns) == [([], [], "")]
    ((uris, regions, shown),) = wanted(lake, columns, Wants(("vqa",), image=True))
    assert (uris, regions) == (["x.png", "y.png"], [])
    # caption, images, boxes, rubric, levels, parted by 0x1F; lists by 0x1E
    assert (
        shown
        == hashlib.sha256(f"\x1f{SHA['x']}\x1e{SHA['y']}\x1f\x1f\x1f".encode()).hexdigest()[:16]
    )
    ((_, regions, boxed),) = wanted(lake, columns, Wants(("vqa",), image=True, regions=True))
    assert regions == [box]
    text = f"\x1f{SHA['x']}\x1e{SHA['y']}\x1f1.0 2.0 3.0 4.5\x1f\x1f"
    assert boxed == hashlib.sha256(text.encode()).hexdigest()[:16] != shown


def test_a_swapped_image_is_another_of_the_benchmark_whatever_the_limit(lake: Lake) -> None:
    items = [
        with_images("i0", "x"),
        with_images("i1", "y"),
        with_images("i2", "z"),
        with_images("i3", "x", "y"),
        with_images("i4", "gone"),
    ]
    ingest(lake, items, [answer(row["item_id"], "t") for row in items])
    columns = "item_id, [image.uri for image in images], [image.sha256 for image in images]"
    swapped = Wants(("vqa",), image="swapped", seed=3)
    found = {row[0]: row[1] for row in wanted(lake, columns, swapped)}
    one = {"x": found["i0"][0], "y": found["i1"][0], "z": found["i2"][0]}
    assert sorted(one.values()) == ["x.png", "y.png", "z.png"]  # each is shown once
    assert all(uri != f"{name}.png" for name, uri in one.items())
    assert found["i3"] == [one["x"], one["y"]]
    assert wanted(lake, columns, swapped)[4] == (
        "i4",
        ["gone.png"],
        [None],
    )  # what is not there cannot be swapped
    assert wanted(lake, columns, swapped, limit=1) == wanted(lake, columns, swapped)[:1]
    seeds = [
        tuple(wanted(lake, columns, dataclasses.replace(swapped, seed=seed))[0][1])
        for seed in range(8)
    ]
    assert set(seeds) == {("y.png",), ("z.png",)}


def test_a_benchmark_of_one_image_has_none_to_swap_it_for(lake: Lake) -> None:
    ingest(lake, [with_images("i0", "x")], [answer("i0", "t")])
    assert wanted(lake, "images", Wants(("vqa",), image="swapped")) == [
        ([{"uri": "x.png", "sha256": None}],)
    ]


def rubric_rows(*links: tuple[str, str]) -> dict[str, Any]:
    rubrics = [
        {"rubric_id": name, "criterion": f"Is it {name}?", "levels": ["no", "yes"]}
        for name in ("r1", "r2")
    ]
    return {
        "rubrics": rubrics,
        "item_rubrics": [{"item_id": one, "rubric_id": name} for one, name in links],
    }


def test_a_case_for_each_rubric_of_an_item(lake: Lake) -> None:
    columns = "item_id, rubric_criterion, rubric_levels, criteria, criterion"
    answers = [answer("i0", "x"), answer("i1", "y")]
    ingest(lake, [CAT, DOG], answers, **rubric_rows(("i0", "r1")))
    rubrics = Wants(("vqa",), rubrics=True)
    alone = [
        ("i0", "Is it r1?", ["no", "yes"], ["rubric"], "rubric"),
        ("i1", None, None, ["rubric"], "rubric"),
    ]
    assert wanted(lake, columns, rubrics) == alone
    ingest(
        lake, [CAT, DOG], answers, minute=5, **rubric_rows(("i0", "r1"), ("i0", "r2"), ("i1", "r1"))
    )
    labels = wanted(lake, "item_id, criterion", rubrics)
    assert labels == [("i0", "rubric:r1"), ("i0", "rubric:r2"), ("i1", "rubric:r1")]
    assert (
        len({row[0] for row in wanted(lake, "context_digest", rubrics)}) == 2
    )  # the same rubric is the same context


# ---- pairs

PAIRS = Wants(("vqa",), unit="pair", criteria=(("overall",),))


def models_of(lake: Lake, wants: Wants) -> list[tuple[str, ...]]:
    """Each wanted pair as the texts of a and b and which is shown first."""
    return [tuple(row) for row in wanted(lake, "item_id, answer, other_answer, shown_first", wants)]


def test_all_pairs_of_different_contents_in_both_orders(lake: Lake) -> None:
    answers = [
        answer("i0", "x"),
        answer("i0", "y", "m2"),
        answer("i0", "x", "m3"),
        answer("i0", "long", "m2", style="long", answer_id="l"),
    ]
    ingest(lake, [CAT], answers)
    a, b = sorted(["x", "y"], key=lambda text: digest_of(CAT, text))
    assert models_of(lake, PAIRS) == [("i0", a, b, "a"), ("i0", a, b, "b")]
    ((digest, other),) = {tuple(row) for row in wanted(lake, "content_digest, other_digest", PAIRS)}
    assert (digest, other) == (digest_of(CAT, a), digest_of(CAT, b))


def test_one_order_is_seeded(lake: Lake) -> None:
    items = [item(f"i{number}") for number in range(60)]
    ingest(
        lake,
        items,
        [
            answer(row["item_id"], text, model)
            for row in items
            for text, model in (("x", "m1"), ("y", "m2"))
        ],
    )
    one = dataclasses.replace(PAIRS, both_orders=False, seed=4)
    orders = dict(wanted(lake, "item_id, shown_first", one))
    assert len(orders) == 60
    assert 15 < sum(first == "a" for first in orders.values()) < 45
    assert orders == dict(wanted(lake, "item_id, shown_first", one))
    assert orders != dict(wanted(lake, "item_id, shown_first", dataclasses.replace(one, seed=5)))


def test_an_order_once_drawn_stays(lake: Lake) -> None:
    """Whatever the draw would be now: another seed draws another order of about half of the pairs,
    but for those that were cases before.
    """
    items = [item(f"i{number}") for number in range(20)]
    ingest(
        lake,
        items,
        [
            answer(row["item_id"], text, model)
            for row in items
            for text, model in (("x", "m1"), ("y", "m2"))
        ],
    )
    one = dataclasses.replace(PAIRS, both_orders=False, seed=4)
    columns = "item_id, content_digest, other_digest, shown_first"
    first = wanted(lake, columns, one)
    rows = [
        case_row(A, name, a, other_digest=b, shown_first=shown, criterion="overall")
        for name, a, b, shown in first[:10]
    ]
    append_records(lake, "cases", rows)
    again = wanted(lake, columns, dataclasses.replace(one, seed=5))
    assert [row for row in again if row in first[:10]] == first[:10]
    assert [row[:3] for row in again] == [row[:3] for row in first]
    assert set(again[10:]) != set(first[10:])
    assert len(wanted(lake, columns, dataclasses.replace(one, both_orders=True))) == 40


def test_pairs_that_people_compared_and_answers_without_a_model(lake: Lake) -> None:
    answers = [answer("i0", text, None, answer_id=text) for text in ("x", "y", "z")]
    ingest(
        lake,
        [CAT],
        answers,
        human_preferences=[
            preference("i0", "z", "x", "a"),
            preference("i0", "x", "z", "b", annotator="p2"),
        ],
    )
    human = dataclasses.replace(PAIRS, matchups="human", both_orders=False)
    assert [sorted(row[1:3]) for row in models_of(lake, human)] == [["x", "z"]]
    assert len(models_of(lake, dataclasses.replace(PAIRS, both_orders=False))) == 3


def test_each_answer_against_the_reference(lake: Lake) -> None:
    ingest(
        lake,
        [CAT, item("i2", references=())],
        [answer("i0", "x"), answer("i0", "y", "m2"), answer("i2", "x")],
    )
    reference = dataclasses.replace(PAIRS, matchups="reference", both_orders=False)
    assert models_of(lake, reference) == [
        ("i0", "x", "cat", "b"),
        ("i0", "y", "cat", "b"),
    ]  # the reference first
    assert wanted(lake, "other_digest", reference)[0] == (
        hashlib.sha256(b"reference:cat").hexdigest()[:16],
    )


def test_drawn_matchups_are_kept_and_extended(lake: Lake) -> None:
    models = [f"m{number}" for number in range(5)]
    items = [item(f"i{number}") for number in range(4)]
    ingest(
        lake,
        items[:3],
        [
            answer(row["item_id"], f"text of {model}", model)
            for row in items[:3]
            for model in models
        ],
    )
    drawing = dataclasses.replace(PAIRS, matchups=5, both_orders=False)
    connection = warehouse(lake)
    drawn = keep_wanted(connection, identity(drawing), "s", ["b"], None)
    assert drawn.height == 15
    assert set(drawn["plan"]) == {name_plan(drawing)}
    append_rows(lake, "matchups", drawn.with_columns(run_id=pl.lit("run"), drawn_at=pl.lit(at(1))))
    before = models_of(lake, drawing)
    assert (
        keep_wanted(warehouse(lake), identity(drawing, B), "s", ["b"], None).height == 0
    )  # another judge compares the same pairs
    ingest(
        lake,
        items,
        [answer(row["item_id"], f"text of {model}", model) for row in items for model in models],
        minute=5,
    )
    new = keep_wanted(warehouse(lake), identity(drawing), "s", ["b"], None)
    assert set(new["item_id"]) == {"i3"}
    assert [row for row in models_of(lake, drawing) if row[0] != "i3"] == before


# ---- images and feedbacks


def test_a_captioning_judge_wants_each_image_once(lake: Lake) -> None:
    ingest(
        lake,
        [
            with_images("i0", "x", "y"),
            with_images("i1", "x"),
            with_images("i2", "gone"),
            item("i3"),
        ],
        [],
    )
    found = wanted(
        lake,
        "item_id, images[1].uri, context_digest, criteria",
        Wants(("vqa",), unit="image", image=True),
    )
    expected = [
        ("i0", "x.png", SHA["x"][:16]),
        ("i0", "y.png", SHA["y"][:16]),
        ("i2", "gone.png", "gone.png"),
    ]
    assert found == [(*row, ["caption"]) for row in expected]


def test_feedbacks_of_two_judges_on_one_answer(lake: Lake) -> None:
    ingest(lake, [CAT, DOG], [answer("i0", "x"), answer("i1", "y"), answer("i0", "x", "m2")])
    append_records(lake, "judges", [judge_row("one", A), judge_row("two", B)])
    for judge_id, text in ((A, "Good."), (B, "Bad.")):
        rows = [
            (("i0", digest_of(CAT, "x")), text),
            *([(("i1", digest_of(DOG, "y")), text)] if judge_id == A else []),
        ]
        append_records(lake, "cases", [case_row(judge_id, *key) for key, _ in rows])
        append_records(
            lake, "verdicts", [verdict_row(judge_id, *key, 3, rationale=said) for key, said in rows]
        )
    wants = Wants(("vqa",), unit="feedback", feedback_of=("two", "one"))
    found = wanted(lake, "item_id, answer, feedbacks, shown_first, content_digest", wants)
    assert found == [("i0", "x", ["Bad.", "Good."], first, digest_of(CAT, "x")) for first in "ab"]
    assert wanted(lake, "criteria, criterion", wants) == [(["correctness"], "correctness")] * 2
    assert wanted(lake, "item_id", dataclasses.replace(wants, criteria=(("fluency",),))) == []


# ---- new_cases and pending_cases


def test_new_are_the_wanted_cases_that_the_lake_does_not_hold_as_current(lake: Lake) -> None:
    ingest(lake, [CAT, DOG], [answer("i0", "x"), answer("i1", "y")])

    def find_new(judge_id: str = A) -> list[str]:
        return sorted(
            select_file(keep(lake), "queries/new_cases.sql", {"judge_id": judge_id})["item_id"]
        )

    assert find_new() == ["i0", "i1"]
    append_records(
        lake,
        "cases",
        [
            case_row(A, "i0", digest_of(CAT, "x")),
            case_row(A, "i1", digest_of(DOG, "an old answer")),
        ],
    )
    assert find_new() == ["i1"]
    assert find_new(B) == ["i0", "i1"]
    append_records(
        lake,
        "cases",
        [case_row(A, "i0", digest_of(CAT, "x"), context_digest="of a caption", planned_at=at(5))],
    )
    assert find_new() == ["i0", "i1"]  # the context it had in between is current no more


def test_a_case_is_kept_for_each_of_its_criteria(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "x")])
    append_records(lake, "cases", [case_row(A, "i0", digest_of(CAT, "x"))])
    connection = keep(lake, Wants(("vqa",), criteria=(("correctness", "overall"),)))
    assert select_file(connection, "queries/new_cases.sql", {"judge_id": A})[
        "criterion"
    ].to_list() == ["overall"]


def find_pending(
    lake: Lake,
    *retry: str,
    reading: str = "r1",
    run_id: str | None = None,
    insist: bool = False,
    **wants: Any,
) -> list[Row]:
    connection = keep(lake, dataclasses.replace(WANTS, **wants))
    parameters = {
        "judge_id": A,
        "reading": reading,
        "retry": list(retry),
        "run_id": run_id,
        "insist": insist,
    }
    return select_file(connection, "queries/pending_cases.sql", parameters).to_dicts()


def test_pending_are_the_wanted_cases_without_a_verdict_that_stands(lake: Lake) -> None:
    items = [item(f"i{number}", f"Q{9 - number}") for number in range(5)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in range(5)])
    digests = [digest_of(one, "x") for one in items]
    append_records(lake, "verdicts", [
        verdict_row(A, "i0", digests[0], 3), verdict_row(A, "i1", digests[1], None, status="failed", reply_digests=["f" * 64]),
        verdict_row(A, "i2", digests[2], None, status="unparsed"), verdict_row(A, "i3", digests[3], 3, reading="r2"),
        verdict_row(B, "i4", digests[4], 3),
    ])  # fmt: skip

    def names(*retry: str, **more: Any) -> list[str]:
        return [row["item_id"] for row in find_pending(lake, *retry, **more)]

    assert names("failed") == ["i4", "i3", "i1"]  # by prompt: Q5, Q6, Q8
    assert names("none") == ["i4", "i3"]
    assert names("failed", "unparsed") == ["i4", "i3", "i2", "i1"]
    assert names("none", reading="r2") == ["i4", "i2", "i1", "i0"]
    assert names("none", run_id="run") == ["i4", "i3"]
    assert names("none", run_id="another run") == ["i4", "i3", "i2", "i1", "i0"]


def test_what_failed_before_anything_was_asked_is_tried_again_only_on_request(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "x")])
    append_records(
        lake,
        "verdicts",
        [verdict_row(A, "i0", digest_of(CAT, "x"), None, status="failed", reason="no references")],
    )
    assert find_pending(lake, "failed") == []
    assert len(find_pending(lake, "failed", insist=True)) == 1


def test_a_case_is_pending_until_each_of_its_criteria_has_a_verdict(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "x")])
    both = (("correctness", "overall"),)
    append_records(lake, "verdicts", [verdict_row(A, "i0", digest_of(CAT, "x"), 3)])
    assert len(find_pending(lake, criteria=both)) == 1
    append_records(
        lake, "verdicts", [verdict_row(A, "i0", digest_of(CAT, "x"), 3, criterion="overall")]
    )
    assert find_pending(lake, criteria=both) == []


def test_a_pair_is_pending_in_the_order_that_has_no_verdict(lake: Lake) -> None:
    ingest(lake, [CAT], [answer("i0", "x"), answer("i0", "y", "m2")])
    digest, other = sorted([digest_of(CAT, "x"), digest_of(CAT, "y")])
    append_records(lake, "duels", [duel_row(A, "i0", digest, other, "a", "b", criterion="overall")])
    found = find_pending(lake, unit="pair", criteria=(("overall",),))
    assert [row["shown_first"] for row in found] == ["b"]


def test_equal_requests_and_equal_images_lie_side_by_side(lake: Lake) -> None:
    references = (("x", "y"), ("z",), ("y", "x"))
    items = [item(f"i{number}", references=references[number % 3]) for number in range(6)]
    ingest(lake, items, [answer(f"i{number}", "x") for number in range(6)])
    rows = find_pending(lake)
    assert [row["item_id"] for row in rows] == [
        "i0",
        "i2",
        "i3",
        "i5",
        "i1",
        "i4",
    ]  # references {x, y}, then {z}
    pictured = [
        with_images(f"i{number}", "xy"[number % 2], prompt=f"Q{number}") for number in range(4)
    ]
    ingest(lake, pictured, [answer(f"i{number}", "x") for number in range(4)], minute=5)
    first = "x" if SHA["x"] < SHA["y"] else "y"
    assert [row["images"][0]["uri"][0] == first for row in find_pending(lake, image=True)] == [
        True,
        True,
        False,
        False,
    ]
