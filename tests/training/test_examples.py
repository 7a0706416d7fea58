"""Which verdicts become examples (`training_examples`), and that what is asked is what the judge
itself asks.
"""

from pathlib import Path

import pytest

from judgelake.tasks.engine.shard import make_starter
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging.cases import read_cases
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.parquet import read_frame
from judgelake.tasks.planning.cases import write_work
from judgelake.tasks.suite.suite import Scope, Suite, read_suite
from judgelake.tasks.training.examples import Selection, count_scores, select_examples, write_target
from judgelake.tasks.types import Request
from tests.lakes import (
    answer,
    append_records,
    case_row,
    digest_of,
    ingest,
    item,
    judge_row,
    query,
    verdict_row,
)
from tests.training.lessons import RUBRIC, taught, teach, write_suite

LAST = "So the overall score is 4.\n[RESULT] 4"


def select(lake: Lake, suite_file: Path) -> Selection:
    suite = read_suite(suite_file)
    assert suite.training is not None
    return select_examples(lake, suite, suite.training)


def list_asked(lake: Lake, suite: Suite) -> list[Request]:
    """The first request of each case that a run would judge."""
    judge = suite.judges["student"]
    (work,) = write_work(lake, suite, Scope(), "run")
    cases = [case for file in work.shards for case in read_cases(read_frame(file))]
    return [next(judging)[0] for judging in map(make_starter(judge, work.identity), cases)]


@pytest.mark.parametrize(
    ("said", "target"),
    [
        ("Fine.", f"Fine. {LAST}"),
        (" Feedback: Fine. [RESULT] 4", f"Fine. {LAST}"),
        (f"Fine. {LAST}", f"Fine. {LAST}"),
        ("Fine. So the overall score is 4.", f"Fine. {LAST}"),
        # a score in the middle of the feedback belongs to it
        (
            "The overall score is 4 since it is fine.",
            f"The overall score is 4 since it is fine. {LAST}",
        ),
        ("[RESULT] 4", None),
        ("Feedback:", None),
        ("", None),
    ],
)
def test_the_reply_is_feedback_phrase_and_marker(said: str, target: str | None) -> None:
    assert write_target(said, 4) == target


def test_requests_are_those_that_the_judge_sends(tmp_path: Path) -> None:
    lake = teach(tmp_path, [taught(n, n + 1) for n in range(5)])
    file = write_suite(tmp_path, tmp_path / "base")
    found = select(lake, file)
    asked = list_asked(lake, read_suite(file))
    assert len(asked) == 5
    assert {example.request for example in found.examples} == set(asked)
    assert all(example.request.messages[0].images[0].sha256 for example in found.examples)
    assert count_scores([*found.examples]) == dict.fromkeys(range(1, 6), 1)


def test_what_is_left_out_is_counted_with_its_reason(tmp_path: Path) -> None:
    verdicts = [
        taught(0, 3),
        taught(0, 3, sample=1),  # the same words again
        taught(
            0, 3, "Other words. [RESULT] 3", sample=2
        ),  # the same score in other words is another example
        taught(1, None, "no score"),
        taught(2, 2.5),
        taught(3, 4, "[RESULT] 4"),
        taught(4, 4, "Fine.", scale_low=0.0, scale_high=10.0),  # 4 of 10 is no 4 of 5
    ]
    found = select(teach(tmp_path, verdicts), write_suite(tmp_path, tmp_path / "base"))
    assert [example.target[-1] for example in found.examples] == ["3", "3"]
    assert found.left_out == {
        "it is another example's duplicate": 1,
        "the teacher gave no feedback": 1,
        "the teacher's rating is no level of a scale from 1 to 5": 2,
        "the teacher's verdict is unparsed": 1,
    }


def test_an_image_that_is_not_there_is_left_out_of_what_a_judge_that_looks_learns(
    tmp_path: Path,
) -> None:
    lake = teach(tmp_path, [taught(n, 3) for n in range(2)], n_items=2)
    gone = [{"uri": "gone.png", "sha256": None}]
    items = [item("i0", "Q", task="instruction", images=gone)]
    links = [{"item_id": "i0", "rubric_id": "r"}]
    verdicts = [taught(0, 3)]
    ingest(
        lake,
        items,
        [answer("i0", "a cat")],
        minute=9,
        rubrics=[RUBRIC],
        item_rubrics=links,
        recorded_verdicts=verdicts,
    )
    with pytest.raises(
        SuiteError,
        match="0 held out, 1 left out: its image is not there; expected verdicts of 'gpt-4v'",
    ):
        select(lake, write_suite(tmp_path, tmp_path / "base"))
    blind = write_suite(tmp_path, tmp_path / "base", "image: absent", "train: all")
    assert len(select(lake, blind).examples) == 1


def test_an_image_and_all_that_is_asked_of_it_is_held_out_or_not(tmp_path: Path) -> None:
    verdicts = [taught(n, 1 + n % 5, f"Words {n}.") for n in range(40)]
    lake = teach(tmp_path, verdicts, n_items=40)
    drawn = [(0.3, 0), (0.3, 0), (0.3, 1), (0.6, 0)]
    files = [
        write_suite(
            tmp_path, tmp_path / "base", training=f"seed: {seed}", name=f"j{n}", held_out=share
        )
        for n, (share, seed) in enumerate(drawn)
    ]
    first, again, other, more = (
        {example.item_id for example in select(lake, file).examples if example.is_held_out}
        for file in files
    )
    assert first == again
    assert first != other
    assert 4 <= len(first) <= 20  # 12 of 40 expected, sd 2.9
    assert first < more  # a larger share keeps back what the smaller one did


def test_a_judge_of_the_lake_teaches_as_a_recorded_one_does(tmp_path: Path) -> None:
    lake = teach(tmp_path, [])
    teacher = judge_row(
        "big", "a" * 16, call_signature="protocol:prometheus|model:big", tasks=["instruction"]
    )
    append_records(
        lake,
        "judges",
        [teacher, judge_row("lave", "b" * 16, call_signature="protocol:lave|model:x")],
    )
    (row,) = query(lake, "select * from stg_items where item_id = 'i2'")
    digest = digest_of(row, "it is the cat cat cat on 2")
    append_records(lake, "cases", [case_row("a" * 16, "i2", digest, criterion="rubric")])
    reported = verdict_row(
        "a" * 16, "i2", digest, 4, criterion="rubric", score_0_1=0.75, rationale="Well said."
    )
    append_records(lake, "verdicts", [reported])
    file = write_suite(tmp_path, tmp_path / "base")
    file.write_text(file.read_text().replace("gpt-4v", "big"))
    (example,) = select(lake, file).examples
    assert (example.item_id, example.rating, example.target) == ("i2", 4, f"Well said. {LAST}")
    file.write_text(file.read_text().replace("teacher: big", "teacher: lave"))
    with pytest.raises(
        SuiteError, match=r"teacher: 'lave': .*lake has no such judge; expected .*: big; ingest"
    ):
        select(lake, file)


def test_the_digest_names_what_is_learnt(tmp_path: Path) -> None:
    lake = teach(tmp_path, [taught(n, n + 1) for n in range(5)])
    file = write_suite(tmp_path, tmp_path / "base")
    before = select(lake, file).digest
    file.write_text(file.read_text().replace("temperature: 0.0", "temperature: 0.7"))
    assert select(lake, file).digest == before
    (tmp_path / "two").mkdir()
    other = teach(tmp_path / "two", [taught(n, 5 - n) for n in range(5)])
    assert select(other, file).digest != before
