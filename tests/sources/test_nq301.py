"""NQ301's sources: rows matched by their order, blanks, shifted headers, system outputs. The real
figures are tests/flows.
"""

import json
from pathlib import Path

import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.nq301 import (
    Nq301Settings,
    NqOutputsSettings,
    read_nq301,
    read_nq_outputs,
    source_files,
)

HUMAN = '''id\tQuestion\tModel answer\tAcceptable?\tannotator1\tannotator2\tannotator3
1\twho?\tAnn\tYes\tYes\tNo\tYes
1\twho?\tAnn\tNo\tNo\t\t
2\twhere?\t"Rome, ""Italy"""\tYes\tMaybe\tYes\t
'''
GPT = '''id\tQuestion\tModel answer\tAcceptable?\tgpt-4
1\twho?\tAnn\tYes\tYes, it is.
1\twho?\tAnne\t\tI cannot tell.
2\twhere?\t"Rome, ""Italy"""\tno\tNo.
'''
BEM = '''id\tQuestion\tGold answers\tModel answer\tAcceptable?
1\twho?\t"Ann, of York | Ann"\tAnn\tYes
2\twho?\t"Ann, of York | Ann"\tAnn\tNo
3\twhere?\tRome\t"Rome, ""Italy"""\tperhaps
'''


@pytest.fixture
def settings(tmp_path: Path) -> Nq301Settings:
    for name, text in (("human.tsv", HUMAN), ("gpt.tsv", GPT), ("bem.tsv", BEM)):
        (tmp_path / name).write_text(text)
    judges = {"gpt-4": tmp_path / "gpt.tsv", "bem": tmp_path / "bem.tsv"}
    return Nq301Settings(tmp_path / "human.tsv", judges, references=tmp_path / "bem.tsv")


def test_every_row_is_an_answer_and_equal_ones_stay_two(settings: Nq301Settings) -> None:
    frames = read_nq301(settings)
    columns = ("item_id", "prompt", "references", "locator")
    assert frames.items.select(columns).rows() == [
        ("1", "who?", ["Ann, of York", "Ann"], "line 2"),
        ("2", "where?", ["Rome"], "line 4"),
    ]
    assert frames.answers.select("item_id", "answer_id", "model", "text").rows() == [
        ("1", "row-1", None, "Ann"),
        ("1", "row-2", None, "Ann"),
        ("2", "row-3", None, 'Rome, "Italy"'),
    ]


def test_blank_cells_are_no_ratings_and_other_words_are_reported(settings: Nq301Settings) -> None:
    frames = read_nq301(settings)
    ratings = frames.human_ratings.select("answer_id", "annotator", "rating").rows()
    assert ratings == [
        ("row-1", "label", 1.0), ("row-1", "annotator1", 1.0), ("row-1", "annotator2", 0.0), ("row-1", "annotator3", 1.0),
        ("row-2", "label", 0.0), ("row-2", "annotator1", 0.0), ("row-3", "label", 1.0), ("row-3", "annotator2", 1.0),
    ]  # fmt: skip
    (rejected,) = frames.rejected
    assert (rejected.source_file, rejected.locator, rejected.column_name, rejected.value) == (
        "human.tsv",
        "line 4",
        "annotator1",
        "Maybe",
    )


def test_a_judge_s_verdict_stands_in_the_row_of_its_answer(settings: Nq301Settings) -> None:
    rows = (
        read_nq301(settings)
        .recorded_verdicts.select("answer_id", "judge", "status", "rating", "text", "reason")
        .rows()
    )
    assert rows == [
        ("row-1", "gpt-4", "ok", 1.0, "Yes, it is.", None),
        ("row-2", "gpt-4", "unparsed", None, "I cannot tell.",
         "the judge's file has the answer 'Anne' in this row; the verdict is blank"),
        ("row-3", "gpt-4", "ok", 0.0, "No.", None),
        ("row-1", "bem", "ok", 1.0, None, None),
        ("row-2", "bem", "ok", 0.0, None, None),
        ("row-3", "bem", "unparsed", None, None, "the verdict is 'perhaps', neither Yes nor No"),
    ]  # fmt: skip


def test_a_blank_verdict_may_be_a_class_of_its_own(settings: Nq301Settings) -> None:
    undecided = Nq301Settings(settings.answers, settings.judges, undecided=0.5)
    verdicts = read_nq301(undecided).recorded_verdicts
    assert verdicts.select("status", "rating").rows()[1] == ("ok", 0.5)
    assert verdicts["status"].to_list().count("unparsed") == 1  # `perhaps` stays unread


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_undecided_is_a_rating(settings: Nq301Settings, value: float) -> None:
    with pytest.raises(ValueError, match=r"undecided: "):
        Nq301Settings(settings.answers, settings.judges, undecided=value)


def test_a_shifted_header_names_file_line_and_columns(
    settings: Nq301Settings, tmp_path: Path
) -> None:
    shifted = tmp_path / "shifted.tsv"
    shifted.write_text(
        "\n".join(
            ["id\tQuestion\tModel answer\tAcceptable?\tdavinci", *["1\twho?Ann\tYes\tYes."] * 3]
        )
    )
    with pytest.raises(SourceError) as caught:
        read_nq301(Nq301Settings(settings.answers, {"davinci": shifted}))
    for part in (
        f"{shifted}:2: ",
        "4 cells",
        "5 columns (id, Question, Model answer, Acceptable?, davinci)",
    ):
        assert part in str(caught.value)


def test_one_row_that_does_not_fit_is_reported_and_the_others_keep_their_places(
    settings: Nq301Settings,
) -> None:
    lines = GPT.splitlines()
    lines[2] = "1\twho?\tAnn"
    settings.judges["gpt-4"].write_text("\n".join(lines))
    frames = read_nq301(settings)
    gpt = frames.recorded_verdicts.filter(judge="gpt-4")
    assert gpt["answer_id"].to_list() == ["row-1", "row-3"]
    assert [
        (row.table_name, row.source_file, row.locator)
        for row in frames.rejected
        if row.source_file == "gpt.tsv"
    ] == [("recorded_verdicts", "gpt.tsv", "line 3")]


def test_rows_in_another_order_are_reported(settings: Nq301Settings) -> None:
    lines = GPT.splitlines()
    settings.judges["gpt-4"].write_text("\n".join([lines[0], lines[3], lines[2], lines[1]]))
    frames = read_nq301(settings)
    assert frames.recorded_verdicts.filter(judge="gpt-4")["answer_id"].to_list() == ["row-2"]
    assert [row.value for row in frames.rejected if row.source_file == "gpt.tsv"] == [
        "where?",
        "who?",
    ]


def test_a_judge_s_file_of_another_length_is_an_error(settings: Nq301Settings) -> None:
    settings.judges["bem"].write_text("\n".join(BEM.splitlines()[:-1]))
    with pytest.raises(SourceError, match=r"bem\.tsv: has 2 rows, human\.tsv has 3"):
        read_nq301(settings)


def test_a_file_with_other_columns_or_no_file_is_an_error(
    settings: Nq301Settings, tmp_path: Path
) -> None:
    (tmp_path / "human.tsv").write_text("id\tQuestion\tAnswer\n1\twho?\tAnn\n")
    with pytest.raises(
        SourceError, match=r"human\.tsv:1: the header lacks Model answer, Acceptable\?"
    ):
        read_nq301(settings)
    with pytest.raises(SourceError, match="there is no such file"):
        source_files(Nq301Settings(tmp_path / "none.tsv", {}))


def test_a_line_that_is_not_utf8_is_reported(settings: Nq301Settings) -> None:
    settings.answers.write_bytes(HUMAN.encode().replace(b"Ann\tYes", b"\xff\xfe\tYes"))
    settings = Nq301Settings(settings.answers, {})
    frames = read_nq301(settings)
    assert frames.answers.height == 2
    assert [(row.locator, "not UTF-8" in row.reason) for row in frames.rejected[:1]] == [
        ("line 2", True)
    ]


def test_system_outputs_are_answers_and_references_are_all_that_any_file_gives(
    tmp_path: Path,
) -> None:
    first = [
        {"question": "who?", "answer": ["Ann"], "prediction": "Bob"},
        {"question": "x", "answer": "y", "prediction": "z"},
    ]
    second = [
        {"question": "who?", "answer": ["Ann", "Anne"], "prediction": ["Ann", "Bob"]},
        {"question": "q", "answer": ["a"]},
    ]
    for name, records in (("A", first), ("B", second)):
        (tmp_path / f"NQ_{name}.jsonl").write_text(
            "\n".join(map(json.dumps, records)) + "\n{broken\n"
        )
    frames = read_nq_outputs(NqOutputsSettings((tmp_path / "NQ_{model}.jsonl",)))
    assert frames.items.select("item_id", "prompt", "references").rows() == [
        ("who?", "who?", ["Ann", "Anne"])
    ]
    assert frames.answers.select("answer_id", "model", "text").rows() == [
        ("A/short/0", "A", "Bob"),
        ("B/short/0", "B", "Ann, Bob"),
    ]
    assert [(row.source_file, row.locator, row.column_name) for row in frames.rejected] == [
        ("NQ_A.jsonl", "line 2", "answer"), ("NQ_A.jsonl", "line 3", None),
        ("NQ_B.jsonl", "line 2", "prediction"), ("NQ_B.jsonl", "line 3", None),
    ]  # fmt: skip


@pytest.mark.data
def test_the_davinci_file_names_its_line_and_columns(data_folder: Path) -> None:
    folder = data_folder / "nq301"
    settings = Nq301Settings(
        folder / "NQ301_human.tsv", {"davinci": folder / "NQ301_text-davinci-003.tsv"}
    )
    with pytest.raises(
        SourceError,
        match=r"NQ301_text-davinci-003\.tsv:2: the row has 4 cells, the header 5 columns \(id, "
        r"Question",
    ):
        read_nq301(settings)
