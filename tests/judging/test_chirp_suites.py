"""The suites of the CHIRP paper: which cases each judge wants, and that the tables they describe
come in as they should.
"""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.suite import identify_all, read_suite
from judgelake.tasks.types import Identity
from tests.conftest import CHECKOUT
from tests.sources.tables import ingest, rows, write_bytes, write_lines

SUITES = CHECKOUT / "infra" / "suites"
FIVE = (("overall",), ("relevance",), ("understanding",), ("hallucinations",), ("details",))


def identities(name: str) -> dict[str, Identity]:
    return {
        identity.alias: identity for identity in identify_all(read_suite(SUITES / f"{name}.yaml"))
    }


@pytest.mark.parametrize("name", ["chirp_llm_size", "chirp_ve_size"])
def test_the_ablations_compare_all_pairs_on_five_criteria_in_one_order(name: str) -> None:
    judges = identities(name)
    assert sorted(judges) == ["gpt4v-r", "gpt4v-s", "llava-34b"]
    for identity in judges.values():
        wants = identity.wants
        assert (wants.unit, wants.matchups, wants.both_orders, wants.criteria, wants.image) == (
            "pair",
            "all",
            False,
            FIVE,
            True,
        )
    assert "extractor:openai/gpt-3.5-turbo" in judges["gpt4v-r"].call_signature
    assert {alias: identity.call_signature.split("|style:")[1].split("|")[0] for alias, identity in judges.items()} == {
        "gpt4v-r": "reasoning", "gpt4v-s": "simple", "llava-34b": "two_turn",
    }  # fmt: skip


def test_of_all_robin_models_50_pairs_a_question_are_compared_overall_by_the_same_judge() -> None:
    judges = identities("chirp_all_robin")
    wants = judges["gpt4v-r"].wants
    assert (wants.matchups, wants.both_orders, wants.criteria) == (50, False, (("overall",),))
    assert judges["gpt4v-r"].judge_id == identities("chirp_llm_size")["gpt4v-r"].judge_id
    assert (judges["davinci"].wants.unit, judges["davinci"].wants.criteria) == (
        "answer",
        (("likelihood",),),
    )


def test_the_ways_of_grading_are_six() -> None:
    judges = identities("chirp_grading")
    assert list(judges) == [
        "strings-gqa",
        "strings-textvqa",
        "llm",
        "gpt4v",
        "llava-34b",
        "cascade",
    ]
    assert {alias for alias, identity in judges.items() if identity.wants.image is True} == {
        "gpt4v",
        "llava-34b",
        "cascade",
    }
    assert {alias: identity.wants.styles for alias, identity in judges.items() if identity.wants.styles} == {
        "gpt4v": ("long",), "cascade": ("long",),
    }  # fmt: skip
    assert "|vlm:openai/gpt-4-vision-preview|" in judges["cascade"].call_signature
    assert judges["strings-gqa"].judge_id != judges["strings-textvqa"].judge_id


@pytest.mark.parametrize("name", ["chirp_demo", "chirp_owleval"])
def test_every_way_is_played_by_the_stand_in(name: str) -> None:
    suite = read_suite(SUITES / f"{name}.yaml")
    assert {judge.endpoint.backend for judge in suite.judges.values()} == {"standin"}
    assert len({identity.judge_id for identity in identify_all(suite)}) == len(suite.judges)


@pytest.mark.parametrize(
    ("name", "survey", "models"),
    [
        ("chirp_llm_size", "survey_llm_size", "llm_size"),
        ("chirp_ve_size", "survey_ve_size", "ve_size"),
    ],
)
def test_questions_answers_survey_and_models_come_in(
    name: str, survey: str, models: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGELAKE_DATA", str(tmp_path / "data"))
    folder = tmp_path / "data" / "chirp"
    question = {
        "question_id": "1",
        "question": "What happened?",
        "image": "1.png",
        "category": "inferential reasoning",
    }
    write_lines(folder / "questions.jsonl", [question])
    for model in ("pythia-410m", "pythia-12b"):
        write_lines(
            folder / models / f"{model}.jsonl", [{"question_id": "1", "response": f"By {model}."}]
        )
    header = b"question_id,model_a,model_b,criterion,choice,participant\n"
    write_bytes(
        folder / f"{survey}.csv",
        header + b"1,pythia-12b,pythia-410m,overall,1,p1\n1,pythia-12b,pythia-410m,details,2,p1\n",
    )
    columns = b"model,family,llm_parameters_b,vision_encoder_parameters_b,training_loss\n"
    write_bytes(
        folder / "models.csv",
        columns + b"pythia-12b,robin,12,1.0,0.9\npythia-410m,robin,0.41,1.0,1.3\n",
    )
    lake = ingest(read_suite(SUITES / f"{name}.yaml"), tmp_path)
    assert [(row["item_id"], row["prompt"], row["task"]) for row in rows(lake, "items")] == [
        ("1", "What happened?", "instruction")
    ]
    assert [(row["answer_id"], row["text"]) for row in rows(lake, "answers")] == [
        ("pythia-12b/long/0", "By pythia-12b."), ("pythia-410m/long/0", "By pythia-410m."),
    ]  # fmt: skip
    found = [
        (row["criterion"], row["answer_a"], row["choice"], row["annotator"])
        for row in rows(lake, "human_preferences")
    ]
    assert sorted(found) == [
        ("details", "pythia-12b/long/0", "b", "p1"),
        ("overall", "pythia-12b/long/0", "a", "p1"),
    ]
    assert [row["training_loss"] for row in rows(lake, "models")] == [0.9, 1.3]


def test_short_and_long_answers_come_in_with_their_grades(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGELAKE_DATA", str(tmp_path / "data"))
    folder = tmp_path / "data" / "chirp" / "grading"
    for benchmark in ("gqa", "textvqa"):
        item = {"question_id": "1", "question": "What is it?", "answers": ["cat"], "image": "1.png"}
        item |= {"issues": ["wrong"]}
        write_lines(folder / f"{benchmark}.jsonl", [item])
        for style, text in (("short", "cat"), ("long", "It is a cat.")):
            write_lines(
                folder / benchmark / style / "robin.jsonl",
                [{"question_id": "1", "response": text, "correct": 1}],
            )
    lake = ingest(read_suite(SUITES / "chirp_grading.yaml"), tmp_path)
    assert sorted((row["benchmark"], row["style"], row["text"]) for row in rows(lake, "answers")) == [
        ("gqa_sample", "long", "It is a cat."), ("gqa_sample", "short", "cat"),
        ("textvqa_sample", "long", "It is a cat."), ("textvqa_sample", "short", "cat"),
    ]  # fmt: skip
    assert [row["rating"] for row in rows(lake, "human_ratings")] == [1.0] * 4
    assert [(row["label"], row["holds"]) for row in rows(lake, "item_labels")] == [
        ("wrong", True)
    ] * 2


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "matchups: five",
            "matchups: 'five'; expected one of all, human, reference, or a whole number",
        ),
        (
            "matchups: [5]",
            "matchups: a list or keys; expected one of all, human, reference, or a whole number",
        ),
        (
            "matchups: null",
            "matchups: 'null'; expected one of all, human, reference, or a whole number",
        ),
        ("matchups: 0", "matchups: 0; expected all, human, reference or a number an item from 1"),
        ("criteria: [overal]", "criteria: overal; expected some of overall, "),
        ("temperature: warm", "temperature: 'warm'; expected a number"),
    ],
)
def test_a_wrong_option_is_refused_with_its_line(
    written: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "suite.yaml"
    judge = f"  j:\n    protocol: chirp\n    backend: standin\n    {written}\n"
    file.write_text(f"name: x\nbenchmarks:\n  demo: {{source: demo}}\njudges:\n{judge}")
    with pytest.raises(SuiteError) as refused:
        read_suite(file)
    assert str(refused.value).startswith(f"{file}:8: {message}")


def test_a_number_of_matchups_or_a_word_is_read(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    for written, read in (("5", 5), ("human", "human"), ("all", "all")):
        file.write_text(
            "name: x\nbenchmarks:\n  demo: {source: demo}\njudges:\n"
            f"  j: {{protocol: chirp, backend: standin, matchups: {written}, temperature: null}}\n"
        )
        (judge,) = read_suite(file).judges.values()
        assert (judge.options.matchups, judge.options.temperature) == (read, None)
