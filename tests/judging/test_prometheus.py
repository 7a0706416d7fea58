"""Prometheus-Vision line by line: what is asked (paper, appendix J.2 and E.2), of which rubric, and
how it is read.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from judgelake.tasks.digests import judge_id
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging import prometheus
from judgelake.tasks.judging.prometheus import PrometheusOptions
from judgelake.tasks.types import (
    JUDGE,
    Case,
    Decoding,
    Failure,
    Image,
    Reply,
    Rubric,
    Verdict,
    Wants,
)
from tests.judging.judging_by_hand import MODEL, MODELS, ask, conclude, make_case

RUBRIC = Rubric(
    "Does it name the animal?",
    ("no animal", "another animal", "nearly", "right but vague", "right"),
)
IMAGE = Image("cat.png", "f" * 64)
RUBRICS = """
- id: animal
  criterion: Does it name the animal?
  levels: [a, b, c, d, e]
- {id: 2, criterion: "Is it short?", levels: [v, w, x, y, z]}
"""


def rubric_case(answer: str = "A cat.", **more: Any) -> Case:
    given: dict[str, Any] = {
        "rubric": RUBRIC,
        "images": (IMAGE,),
        "criterion": "rubric",
        "task": "instruction",
        **more,
    }
    return make_case(answer, given.pop("references", ("The cat.", "A kitten.")), **given)


def render(case: Case, **options: Any) -> str:
    (request,) = ask(prometheus.judge(case, PrometheusOptions(**options), MODELS))
    (message,) = request.messages
    return message.text


def headings(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("###")]


def write(folder: Path, text: str, name: str = "rubrics.yaml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_the_fields_stand_in_the_paper_s_order() -> None:
    text = render(rubric_case())
    assert headings(text) == [
        "###Task:", "###Instruction:", "###Response:", "###Reference answer (score 5):", "###Rubric:", "###Feedback:",
    ]  # fmt: skip
    after = text[text.index("###Instruction:") :].split("\n\n")
    assert after == [
        "###Instruction:\nWhat is it?",
        "###Response:\nA cat.",
        "###Reference answer (score 5):\nThe cat.",
        "###Rubric:\nDoes it name the animal?\nScore 1: no animal\nScore 2: another "
        "animal\nScore 3: nearly\n"
        "Score 4: right but vague\nScore 5: right",
        "###Feedback:",
    ]


def test_the_task_asks_for_feedback_and_then_a_marked_score() -> None:
    task = render(rubric_case()).split("\n\n")[0]
    assert [line[:2] for line in task.split("\n")[2:]] == ["1.", "2.", "3.", "4."]
    assert "Feedback: (your feedback) [RESULT] (a whole number from 1 to 5)" in task
    assert (
        "an instruction, the image, a response to be judged, a reference answer that deserves "
        "a score of 5 and a rubric" in task
    )


def test_decoding_is_the_paper_s_and_the_sample_is_the_draw() -> None:
    (request,) = ask(prometheus.judge(rubric_case(sample=2), PrometheusOptions(), MODELS))
    assert request.decoding == Decoding(temperature=1.0, top_p=0.9, max_tokens=2048)
    assert (request.draw, request.model, request.endpoint) == (2, MODEL, JUDGE)
    assert request.messages[0].images == (IMAGE,)


def test_without_a_reference_there_is_no_such_section() -> None:
    text = render(rubric_case(references=()))
    assert "eference" not in text
    assert headings(text) == [
        "###Task:",
        "###Instruction:",
        "###Response:",
        "###Rubric:",
        "###Feedback:",
    ]


def test_several_images_are_introduced_as_such() -> None:
    assert "an instruction, the images, a response" in render(
        rubric_case(images=(IMAGE, Image("dog.png", "e" * 64)))
    )


def test_a_judge_of_texts_gets_the_caption_in_place_of_the_image() -> None:
    text = render(
        rubric_case(images=(), caption="A box\nwith a cat."), image="absent", caption="llava"
    )
    assert headings(text)[:3] == ["###Task:", "###Image description:", "###Instruction:"]
    assert "###Image description:\nA box\nwith a cat.\n\n###Instruction:" in text
    assert "an instruction, a description of the image, a response" in text


def test_a_prompt_without_image_and_caption_mentions_none() -> None:
    text = render(rubric_case(images=(), caption="A box."), image="absent")
    assert "mage" not in text
    assert "A box." not in text


def test_a_missing_caption_is_a_failed_verdict_and_no_call() -> None:
    found = conclude(
        prometheus.judge(
            rubric_case(images=()), PrometheusOptions(image="absent", caption="llava"), MODELS
        )
    )
    assert (found.status, found.score_0_1) == ("failed", None)
    assert found.reason == (
        "the image has no caption of 'llava', which stands in for it; add captions or let them "
        "be written"
    )


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (rubric_case(rubric=None), "the item has no rubric; add one, or name a `rubric_file`"),
        (
            rubric_case(rubric=Rubric("c", ("a", "b"))),
            "the rubric has 2 levels; scores are from 1 to 5",
        ),
    ],
)
def test_a_case_without_a_rubric_of_five_levels_fails_without_a_call(
    case: Case, reason: str
) -> None:
    assert conclude(prometheus.judge(case, PrometheusOptions(), MODELS)) == Verdict(
        "failed", reason=reason
    )


# (n - 1) / 4
@pytest.mark.parametrize(("rating", "score"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0)])
@pytest.mark.parametrize(
    "marker",
    ["[RESULT] {}", "So the overall score is {}.", "So the overall score is {0}. [RESULT] ({0})"],
)
def test_a_score_is_mapped_to_0_1_and_the_feedback_kept(
    rating: int, score: float, marker: str
) -> None:
    found = conclude(
        prometheus.judge(rubric_case(), PrometheusOptions(), MODELS),
        f"Feedback: Fine. {marker.format(rating)}",
    )
    assert (found.status, found.rating, found.score_0_1) == ("ok", rating, score)
    assert found.rationale is not None
    assert found.rationale.startswith("Feedback: Fine.")


@pytest.mark.parametrize(
    "text",
    ["", "Good.", "[RESULT]", "[RESULT] 6", "[RESULT] 0", "[RESULT] 4.5", '{"score": 4}', "5"],
)
def test_a_reply_without_a_score_is_unparsed_and_its_text_kept(text: str) -> None:
    found = conclude(prometheus.judge(rubric_case(), PrometheusOptions(), MODELS), text)
    assert (found.status, found.rating, found.score_0_1, found.rationale) == (
        "unparsed",
        None,
        None,
        text,
    )
    assert found.reason


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Failure("503"), "failed"),
        (Reply("", refusal="no"), "refused"),
        (Reply("Good. [RESULT] 4", finish_reason="length"), "truncated"),
    ],
)
def test_what_cannot_be_read_says_why(reply: Reply | Failure, status: str) -> None:
    found = conclude(prometheus.judge(rubric_case(), PrometheusOptions(), MODELS), reply)
    assert (found.status, found.score_0_1) == (status, None)


# ---- rubrics of a file


@pytest.mark.parametrize("name", ["rubrics.yaml", "rubrics.json"])
def test_each_rubric_of_a_file_is_a_criterion(tmp_path: Path, name: str) -> None:
    text = RUBRICS if name.endswith("yaml") else json.dumps(yaml.safe_load(RUBRICS))
    options = PrometheusOptions(rubric_file=write(tmp_path, text, name))
    assert prometheus.list_wants(options) == Wants(
        ("instruction", "vqa", "caption", "document"),
        criteria=(("animal",), ("2",)),
        samples=3,
        image=True,
    )
    shown = render(rubric_case(criterion="2"), rubric_file=options.rubric_file)
    assert (
        "###Rubric:\nIs it short?\nScore 1: v\nScore 2: w\nScore 3: x\nScore 4: y\nScore 5: z\n"
        in shown
    )


def test_items_own_rubrics_are_asked_for_and_the_criterion_is_rubric() -> None:
    wants = prometheus.list_wants(PrometheusOptions(samples=2, image="absent", caption="llava"))
    assert (wants.rubrics, wants.criteria, wants.samples, wants.captioner, wants.image) == (
        True, (("rubric",),), 2, "llava", "absent",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {id: a", r"rubrics\.yaml: cannot be read as rubrics"),
        ("a: b", r"is no list of rubrics"),
        ("[]", r"is no list of rubrics"),
        ("[3]", r"rubric 0 is 3"),
        ("- {id: a, criterion: c}", r"rubric 0 lacks levels"),
        (
            "- {id: a, criterion: c, levels: [1, 2, 3, 4, 5]}",
            r"rubric 0 has the levels \[1, 2, 3, 4, 5\]",
        ),
        ("- {id: a, criterion: c, levels: [a, b, c, d]}", r"rubric 0 has the levels"),
        ("- {id: '', criterion: c, levels: [a, b, c, d, e]}", r"rubric 0 has the id ''"),
        ("- {id: a, criterion: 1, levels: [a, b, c, d, e]}", r"and the criterion 1"),
        ("- {id: a, criterion: c, levels: [a, b, c, d, e], x: 1}", r"has the unknown key 'x'"),
        (
            RUBRICS + "- {id: '2', criterion: c, levels: [a, b, c, d, e]}",
            r"rubric 2 repeats the id '2'",
        ),
    ],
)
def test_a_broken_rubric_file_is_refused_with_the_rubric(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(SuiteError, match=message):
        prometheus.list_wants(PrometheusOptions(rubric_file=write(tmp_path, text)))


def test_an_absent_rubric_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"absent\.yaml: cannot be read as rubrics"):
        prometheus.call_signature(PrometheusOptions(rubric_file=tmp_path / "absent.yaml"), MODELS)


# ---- signatures and options


def own_id(model: str = MODEL, **options: Any) -> str:
    return judge_id(prometheus.call_signature(PrometheusOptions(**options), {JUDGE: model}))


def test_whatever_changes_the_request_changes_the_judge(tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    templates.mkdir()
    write(templates, "{{ response }}", "prometheus.txt")
    variants: list[dict[str, Any]] = [
        {}, {"image": "absent", "caption": "llava"}, {"rubric_file": write(tmp_path, RUBRICS)}, {"temperature": 0.0},
        {"rubric_file": write(tmp_path, RUBRICS.replace("short", "long"), "other.yaml")}, {"top_p": 1.0}, {"max_tokens": 64},
        {"seed": 0}, {"seed": 1}, {"feedback": False, "answer_form": "forced"}, {"templates": templates}, {"model": "x"},
    ]  # fmt: skip
    assert len({own_id(**variant) for variant in variants}) == len(variants)
    fields = {field.name for field in dataclasses.fields(PrometheusOptions)}
    assert {key for variant in variants for key in variant} - {"model"} == fields - {
        "samples",
        "rating",
    }
    assert own_id(samples=5) == own_id()  # more samples are more draws of the same judge
    assert own_id(rubric_file=write(tmp_path, RUBRICS, "copy.yaml")) == own_id(
        rubric_file=write(tmp_path, RUBRICS)
    )


def test_the_user_s_template_is_asked_with(tmp_path: Path) -> None:
    fields = (
        "{{ image }}|{{ caption }}|{{ instruction }}|{{ response }}|{{ reference }}|{{ "
        "criterion }}|{{ levels[4] }}"
    )
    write(tmp_path, fields, "prometheus.txt")
    assert (
        render(rubric_case(), templates=tmp_path)
        == "1|None|What is it?|A cat.|The cat.|Does it name the animal?|right"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"caption": "llava"}, "caption: llava; expected with `image: absent`"),
        ({"caption": "llava", "image": "swapped"}, "caption: llava; expected"),
        ({"samples": 0}, "samples: 0; expected a whole number from 1"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrometheusOptions(**options)
