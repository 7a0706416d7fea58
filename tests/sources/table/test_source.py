"""Source `table`: each thing a suite can write about columns, on files of a few lines whose rows
are known.
"""

import pickle
from pathlib import Path

import polars as pl
import pytest

from judgelake.tasks.errors import SourceError, SuiteError
from judgelake.tasks.sources.frames import SourceFrames
from tests.rows import write_json
from tests.sources.tables import (
    VQA,
    ingest,
    list_rejected,
    read,
    rows,
    write_bytes,
    write_lines,
    write_suite,
)

SURVEY = """id\tQuestion\tgold\tModel answer\tAcceptable?\tann1\tann2\timage
1\twhat is it\tcat | kitty\tcat\tYes\tYes\tNo\ta.jpg
2\twho\tbob\talice\tNo\tNo\t\tb.jpg
3\twhy\tx\ty\tMaybe\tYes\tPerhaps\tb.jpg
"""
SURVEY_COLUMNS = {
    "item_id": "id",
    "prompt": "Question",
    "references": {"from": "gold", "split": "|"},
    "answer": "Model answer",
}


@pytest.fixture
def survey(tmp_path: Path) -> SourceFrames:
    write_bytes(tmp_path / "survey.tsv", SURVEY.encode())
    yes_no = {"values": {"Yes": 1, "No": 0}, "scale": [0, 1]}
    return read(
        tmp_path,
        file="survey.tsv",
        columns={**SURVEY_COLUMNS, "images": "img/{image}"},
        human_ratings={"annotators": ["ann1", "ann2"], **yes_no},
        judge_verdicts=[{"judge": "gpt-4", "rating": "Acceptable?", **yes_no}],
    )


def test_items_with_split_references_and_a_pattern_for_their_image(survey: SourceFrames) -> None:
    columns = ["item_id", "prompt", "references", "images", "cluster", "locator"]
    assert survey.items.select(columns).row(0) == (
        "1",
        "what is it",
        ["cat", "kitty"],
        [{"uri": "img/a.jpg", "sha256": None}],
        "img/a.jpg",
        "line 2",
    )


def test_answers_without_a_model_are_named_by_their_source_row(survey: SourceFrames) -> None:
    assert survey.answers.select("answer_id", "model", "text").rows() == [
        ("survey.tsv:line 2", None, "cat"),
        ("survey.tsv:line 3", None, "alice"),
        ("survey.tsv:line 4", None, "y"),
    ]


def test_blank_rating_is_missing_and_an_unknown_one_is_reported(survey: SourceFrames) -> None:
    found = (
        survey.human_ratings.select("item_id", "annotator", "rating")
        .sort("item_id", "annotator")
        .rows()
    )
    assert found == [("1", "ann1", 1.0), ("1", "ann2", 0.0), ("2", "ann1", 0.0), ("3", "ann1", 1.0)]
    assert list_rejected(survey) == [("line 4", "ann2"), ("line 4", "Acceptable?")]
    assert survey.rejected[0].value == "Perhaps"
    assert survey.rejected[0].reason == "the value is none of Yes, No"
    assert survey.recorded_verdicts.select("item_id", "judge", "rating").rows() == [
        ("1", "gpt-4", 1.0),
        ("2", "gpt-4", 0.0),
    ]


def test_verdict_without_a_rating_has_a_status_and_no_score(tmp_path: Path) -> None:
    write_bytes(
        tmp_path / "v.csv", b"id,answer,verdict,reply\n1,a,,I cannot tell.\n2,b,,\n3,c,1,Yes.\n"
    )
    verdict = {"judge": "j", "rating": "verdict", "scale": [0, 1], "text": "reply"}
    frames = read(
        tmp_path,
        file="v.csv",
        columns={"item_id": "id", "answer": "answer"},
        judge_verdicts=verdict,
    )
    found = frames.recorded_verdicts.select("status", "rating", "text").rows()
    assert found == [
        ("unparsed", None, "I cannot tell."),
        ("failed", None, None),
        ("ok", 1.0, "Yes."),
    ]


def test_one_row_split_into_two_answers_with_a_preference(tmp_path: Path) -> None:
    text = b"q,left,right,winner,who\nWhy?,because,so,1,ann\nHow?,thus,so,0,ann\nWho?,me,you,,ann\n"
    write_bytes(tmp_path / "pairs.csv", text)
    frames = read(
        tmp_path,
        file="pairs.csv",
        columns={"item_id": "q", "prompt": "q"},
        answers=[{"model": "A", "text": "left"}, {"model": "B", "text": "right"}],
        preferences={
            "choice": "winner",
            "values": {"1": "a", "2": "b", "0": "tie"},
            "annotator": "who",
        },
    )
    assert frames.answers.filter(pl.col("item_id") == "Why?").select(
        "answer_id", "text"
    ).rows() == [
        ("A/short/0", "because"),
        ("B/short/0", "so"),
    ]
    found = frames.human_preferences.select(
        "item_id", "answer_a", "answer_b", "choice", "annotator"
    ).rows()
    assert found == [
        ("Why?", "A/short/0", "B/short/0", "a", "ann"),
        ("How?", "A/short/0", "B/short/0", "tie", "ann"),
        ("Who?", "A/short/0", "B/short/0", None, "ann"),
    ]


def test_columns_as_criteria_each_with_a_scale(tmp_path: Path) -> None:
    write_bytes(tmp_path / "r.csv", b"id,text,a,b,rater\n1,x,5,0.5,p\n2,y,1,,p\n")
    ratings = [
        {"criteria": {"a": "accuracy"}, "annotator": "rater", "scale": [1, 5]},
        {"criteria": {"b": "fluency"}, "annotator": {"constant": "q"}, "scale": [0, 1]},
    ]
    frames = read(
        tmp_path, file="r.csv", columns={"item_id": "id", "answer": "text"}, human_ratings=ratings
    )
    found = frames.human_ratings.select(
        "item_id", "criterion", "annotator", "rating", "scale_low", "scale_high"
    ).rows()
    assert found == [
        ("1", "accuracy", "p", 5, 1, 5),
        ("2", "accuracy", "p", 1, 1, 5),
        ("1", "fluency", "q", 0.5, 0, 1),
    ]


def test_ratings_of_one_of_several_answers(tmp_path: Path) -> None:
    write_bytes(tmp_path / "r.csv", b"id,a,b,score_b\n1,x,y,3\n")
    answers = [{"model": "A", "text": "a"}, {"model": "B", "text": "b"}]
    rating = {"rating": "score_b", "annotator": {"constant": "p"}, "scale": [1, 5], "answer": "B"}
    frames = read(
        tmp_path, file="r.csv", columns={"item_id": "id"}, answers=answers, human_ratings=rating
    )
    assert frames.human_ratings["answer_id"].to_list() == ["B/short/0"]
    del rating["answer"]
    with pytest.raises(
        SuiteError, match=r"suite\.yaml:\d+: answers: a section does not say which answer"
    ):
        read(
            tmp_path, file="r.csv", columns={"item_id": "id"}, answers=answers, human_ratings=rating
        )


def test_paths_into_nested_records_and_names_from_the_path(tmp_path: Path) -> None:
    nested = {
        "q": {"text": "Why?"},
        "gold": [{"answer": "a"}, {"answer": "b"}],
        "boxes": [[1, 2, 3, 4]],
        "n": [7, 8],
    }
    for model in ("m1", "m2"):
        write_json(
            tmp_path / "2024" / f"{model}.json", {"data": {"rows": [{**nested, "reply": model}]}}
        )
    columns = {
        "item_id": "n[1]",
        "prompt": "q.text",
        "references": "gold[*].answer",
        "regions": "boxes",
        "answer": "reply",
        "model": "{date}-{model}",
    }
    frames = read(tmp_path, file="{date}/{model}.json", records="data.rows", columns=columns)
    assert frames.answers.select("answer_id", "text", "source_file").rows() == [
        ("2024-m1/short/0", "m1", "2024/m1.json"),
        ("2024-m2/short/0", "m2", "2024/m2.json"),
    ]
    (item, _) = frames.items.select("item_id", "prompt", "references", "regions").rows()
    assert item == ("8", "Why?", ["a", "b"], [{"x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0}])


def test_exploded_lists_and_maps_one_within_the_other(tmp_path: Path) -> None:
    images = {
        "i1": {
            "qas": [
                {"id": 1, "q": "Why?", "replies": {"m1": "a", "m2": "b"}},
                {"id": 2, "q": "Who?", "replies": {}},
            ]
        }
    }
    write_json(tmp_path / "n.json", images)
    columns = {"item_id": "id", "prompt": "q", "answer": "value", "model": "key"}
    frames = read(tmp_path, file="n.json", explode=["qas", "replies"], columns=columns)
    assert frames.answers.select("item_id", "model", "text", "locator").rows() == [
        ("1", "m1", "a", "record 0, qas[0], replies[m1]"),
        ("1", "m2", "b", "record 0, qas[0], replies[m2]"),
    ]


def test_filter_null_markers_constants_and_a_number_equal_to_a_mapped_one(tmp_path: Path) -> None:
    data = b"id,split,answer,score\n1,val,x,1.0\n2,test,y,0\n3,val,NA,0\n4,dev,z,NA\n"
    write_bytes(tmp_path / "d.csv", data)
    frames = read(
        tmp_path,
        file="d.csv",
        nulls=["NA"],
        where={"split": ["val", "dev"]},
        columns={"item_id": "id", "answer": "answer", "model": {"constant": "m"}},
        human_ratings={
            "rating": "score",
            "values": {"1": 1, "0": 0},
            "annotator": {"constant": "p"},
            "scale": [0, 1],
        },
    )
    assert frames.answers.select("item_id", "text").rows() == [("1", "x"), ("3", None), ("4", "z")]
    assert frames.human_ratings.select("item_id", "rating").rows() == [("1", 1.0), ("3", 0.0)]


def test_questions_answers_and_captions_in_files_of_their_own(tmp_path: Path) -> None:
    write_lines(tmp_path / "q.jsonl", [{"id": 1, "q": "Why?", "img": "a.jpg"}])
    write_lines(tmp_path / "a.jsonl", [{"id": "1", "reply": ""}, {"id": "2", "reply": "x"}])
    write_bytes(tmp_path / "c.tsv", b"a.jpg#0\tA dog .\na.jpg#1\tA pup .\n")
    parts = [
        {"file": "q.jsonl", "columns": {"item_id": "id", "prompt": "q", "images": "img"}},
        {
            "file": "a.jsonl",
            "columns": {"item_id": "id", "answer": "reply", "model": {"constant": "m"}},
        },
        {
            "file": "c.tsv",
            "names": ["image", "text"],
            "captions": {"image": "image", "text": "text", "captioner": "people"},
        },
    ]
    lake = ingest(write_suite(tmp_path, {"parts": parts}), tmp_path)
    assert [(row["item_id"], row["text"]) for row in rows(lake, "answers")] == [
        ("1", "")
    ]  # an empty JSON text is an answer
    assert [row["text"] for row in rows(lake, "captions")] == ["A dog .", "A pup ."]
    orphan = "the item it refers to is not there or did not pass"
    assert [row["value"] for row in rows(lake, "quarantine") if row["reason"] == orphan] == ["2"]


def test_rubrics_metrics_models_and_published_scores(tmp_path: Path) -> None:
    head = b"item,answer,model,size,MMMU,SPICE,crit,low,high\n"
    write_bytes(tmp_path / "m.csv", head + b"1,a,m1,7,35.5,0.25,Is it clear?,no,yes\n")
    frames = read(
        tmp_path,
        file="m.csv",
        columns={
            "item_id": "item",
            "prompt": {"constant": "?"},
            "answer": "answer",
            "model": "model",
        },
        metric_scores={"metric": "spice", "score": "SPICE"},
        rubrics={"criterion": "crit", "levels": ["low", "high"]},
        models={"model": "model", "llm_parameters_b": "size"},
        benchmark_scores={"model": "model", "scores": {"MMMU": "mmmu"}},
    )
    assert frames.recorded_scores.select("answer_id", "metric", "score").rows() == [
        ("m1/short/0", "spice", 0.25)
    ]
    assert frames.rubrics.select("rubric_id", "criterion", "levels").rows() == [
        ("1", "Is it clear?", ["no", "yes"])
    ]
    assert frames.item_rubrics.select("item_id", "rubric_id").rows() == [("1", "1")]
    assert frames.models.select("model", "llm_parameters_b").rows() == [("m1", 7.0)]
    assert frames.benchmark_scores.select("model", "published_benchmark", "score").rows() == [
        ("m1", "mmmu", 35.5)
    ]


def test_a_judge_s_choice_is_a_duel(tmp_path: Path) -> None:
    write_bytes(tmp_path / "d.csv", b"id,a,b,verdict\n1,x,y,2\n2,x,y,\n")
    answers = [{"model": "A", "text": "a"}, {"model": "B", "text": "b"}]
    duel = {"choice": "verdict", "values": {"1": "a", "2": "b"}, "judge": "gpt-4"}
    columns = {"item_id": "id", "prompt": {"constant": "?"}}
    lake = ingest(
        write_suite(
            tmp_path,
            {
                "file": str(tmp_path / "d.csv"),
                "columns": columns,
                "answers": answers,
                "judge_duels": duel,
            },
        ),
        tmp_path,
    )
    assert [
        (row["item_id"], row["status"], row["choice"]) for row in rows(lake, "recorded_duels")
    ] == [
        ("1", "ok", "b"),
        ("2", "failed", None),
    ]
    assert rows(lake, "quarantine") == []


def test_parquet_with_lists_structs_and_numbers(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "id": [1, 2],
            "question": ["a?", "b?"],
            "answers": [["x", "y"], []],
            "answer": ["x", None],
            "model": ["m", "m"],
        }
    )
    frame.write_parquet(tmp_path / "f.parquet")
    plain = read(tmp_path, file="f.parquet", columns=VQA)
    frame.with_columns(nested=pl.struct("answers")).write_parquet(tmp_path / "f.parquet")
    nested = read(tmp_path, file="f.parquet", columns={**VQA, "references": "nested.answers"})
    for frames in (plain, nested):
        assert frames.items.select("item_id", "references", "locator").rows() == [
            ("1", ["x", "y"], "record 0"),
            ("2", [], "record 1"),
        ]
        assert frames.answers["text"].to_list() == ["x", None]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (
            {"file": "a.csv", "columns": {"item_ids": "x"}},
            "columns: unknown name 'item_ids'; did you mean 'item_id'?",
        ),
        (
            {"file": "a.csv", "columns": {"item_id": {"form": "x"}}},
            "item_id: unknown key 'form'; did you mean 'from'?",
        ),
        ({"columns": {}}, "file: expected either `file` or `parts`; write one of them"),
        (
            {"file": "a.csv", "human_ratings": {"rating": "x", "scale": [1, 5]}},
            "annotator: missing; expected the column",
        ),
        (
            {"file": "a.csv", "human_ratings": {"rating": "x", "scale": [5, 1], "annotator": "y"}},
            "scale: [5.0, 1.0]; expected",
        ),
        (
            {"file": "a.csv", "judge_duels": {"choice": "x", "judge": "y"}},
            "judge_duels: name no pair",
        ),
    ],
)
def test_refused_settings_name_the_line(
    tmp_path: Path, mapping: dict[str, object], message: str
) -> None:
    with pytest.raises(SuiteError) as error:
        write_suite(tmp_path, mapping)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'suite.yaml'}:")


def test_header_without_a_mapped_column_names_file_line_and_nearest(tmp_path: Path) -> None:
    file = write_bytes(tmp_path / "survey.tsv", SURVEY.encode())
    with pytest.raises(SourceError) as error:
        read(tmp_path, file="survey.tsv", columns={**SURVEY_COLUMNS, "answer": "Model answers"})
    assert str(error.value).startswith(
        f"{file}:1: has no 'Model answers', but the columns 'id', 'Question', 'gold'"
    )
    assert str(error.value).endswith(
        "did you mean 'Model answer'? (`columns.answer` takes 'Model answers' for a column)"
    )


@pytest.mark.parametrize("file", ["r.csv", "r.jsonl"])
def test_a_text_that_is_taken_for_a_column_is_named_with_its_key(tmp_path: Path, file: str) -> None:
    write_bytes(tmp_path / "r.csv", b"id,q,a,r\n1,Q,A,5\n")
    write_lines(tmp_path / "r.jsonl", [{"id": 1, "q": "Q", "a": "A", "r": 5}])
    columns = {"item_id": "id", "prompt": "q", "answer": "a"}
    ratings = {"rating": "r", "annotator": "people", "scale": [1, 5]}
    with pytest.raises(SourceError) as error:
        read(tmp_path, file=file, columns=columns, human_ratings=ratings)
    assert str(error.value).endswith(
        "(`human_ratings.annotator` takes 'people' for a column: "
        "write {constant: people} for the text itself)"
    )


def test_field_that_no_record_has_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"id": 1, "anser": "x"}])
    with pytest.raises(
        SourceError, match=r"no record has 'answer', but 'anser', 'id'; .* did you mean 'anser'\?"
    ):
        read(tmp_path, file="a.jsonl", columns={"item_id": "id", "answer": "answer"})


def test_real_file_with_a_shifted_header_is_refused_by_file_and_line(
    data_folder: Path, tmp_path: Path
) -> None:
    file = data_folder / "nq301" / "NQ301_text-davinci-003.tsv"
    columns = {"item_id": "id", "prompt": "Question", "answer": "Model answer"}
    with pytest.raises(
        SourceError,
        match=r"davinci-003\.tsv:2: no row fits the header: it has 5 columns .* this row 4 cells",
    ):
        read(tmp_path, file=str(file), columns=columns)


def test_an_absent_column_is_named_by_an_error_that_a_worker_can_send(tmp_path: Path) -> None:
    write_bytes(tmp_path / "survey.tsv", SURVEY.encode())
    with pytest.raises(SourceError) as raised:
        read(tmp_path, file="survey.tsv", columns={**SURVEY_COLUMNS, "answer": "reply"})
    sent = pickle.loads(pickle.dumps(raised.value))
    assert type(sent) is type(raised.value)
    assert str(sent) == str(raised.value)
    assert "has no 'reply'" in str(sent)


def test_a_sample_that_is_no_whole_number_is_reported_once_and_not_taken_for_0(
    tmp_path: Path,
) -> None:
    text = "id,q,a,b,s\n1,A?,x,y,first\n2,B?,x,y,1.5\n3,C?,x,y,\n4,D?,x,y, 2\n"
    write_bytes(tmp_path / "a.csv", text.encode())
    answers = [{"text": "a", "model": "m", "sample": "s"}, {"text": "b", "model": "n"}]
    frames = read(
        tmp_path,
        file="a.csv",
        columns={"item_id": "id", "prompt": "q"},
        answers=answers,
        metric_scores={"metric": "f1", "score": {"constant": "1"}, "answer": "m"},
        choice_sets={"chosen": {"constant": "n/short/0"}, "annotator": {"constant": "me"}},
        preferences={"choice": {"constant": "a"}, "annotator": {"constant": "me"}},
    )
    assert frames.answers.filter(model="m").select("item_id", "sample").rows() == [
        ("3", 0),
        ("4", 2),
    ]
    for table in ("answers", "recorded_scores", "human_preferences", "choice_sets"):
        bad = [row for row in frames.rejected if row.table_name == table]
        assert [(row.locator, row.column_name, row.value) for row in bad] == [
            ("line 2", "s", "first"),
            ("line 3", "s", "1.5"),
        ]
        assert bad[0].reason == "the value is not a whole number"
    assert frames.choice_sets["answers"].to_list()[1] == ["m/short/2", "n/short/0"]


def test_a_decimal_comma_is_read_where_the_suite_says_so_and_else_named(tmp_path: Path) -> None:
    text = (
        "id;q;a;r;s\n1;A?;x;0,5;1\n2;B?;x; 4,25;0\n3;C?;x;5;1,5\n4;D?;x;1.234;2,5\n5;E?;x;bad;2\n"
    )
    write_bytes(tmp_path / "a.csv", text.encode())
    mapping = {
        "file": "a.csv",
        "separator": ";",
        "columns": {"item_id": "id", "prompt": "q", "answer": "a", "sample": "s"},
        "human_ratings": {"rating": "r", "annotator": {"constant": "p"}, "scale": [0, 5]},
    }
    german = read(tmp_path, **mapping, decimal=",", where={"r": {"<=": "4.5"}})
    assert german.human_ratings["rating"].to_list() == [0.5, 4.25]
    assert list_rejected(german) == [("line 5", "r"), ("line 6", "r")]
    plain = read(tmp_path, **mapping)
    assert plain.human_ratings["rating"].to_list() == [5.0, 1.234]
    bad = [
        (row.locator, row.reason, row.remedy) for row in plain.rejected if row.column_name == "r"
    ]
    comma = (
        "the value is not a number with a decimal point, but may be one with a comma",
        'where the file has decimal commas, write `decimal: ","` in the suite; '
        "else correct the value in the file",
    )
    assert bad == [
        ("line 2", *comma),
        ("line 3", *comma),
        ("line 6", "the value is not a number", "correct the value in the file"),
    ]
    with pytest.raises(SuiteError, match="decimal: says nothing about a file of the format jsonl"):
        write_suite(tmp_path, {**mapping, "file": "a.jsonl", "separator": None, "decimal": ","})
