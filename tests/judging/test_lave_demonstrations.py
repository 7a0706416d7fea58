"""LAVE's demonstrations: the curated sets (paper: 8 of each kind), the user's own."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging.lave import is_binary, load_demonstrations
from tests.judging.judging_by_hand import make_case
from tests.judging.test_lave import KINDS, blocks

# ---- demonstrations


DEMO = {"question": "Q", "references": ["r"], "answer": "a", "rating": 2, "rationale": "Because."}


def write_demos(folder: Path, content: object, name: str = "demos.json") -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_demonstrations_of_the_user_s_are_shown(tmp_path: Path) -> None:
    file = write_demos(tmp_path, {"general": [DEMO], "binary": []})
    _, shown, _ = blocks(make_case(), demos=file)
    assert shown == [
        "Question: Q",
        "Reference answers: 'r'",
        "Candidate answer: a",
        "Output: Because. So rating=2",
    ]
    assert len(blocks(make_case(references=("yes",)), demos=file)) == 2
    assert (
        blocks(make_case(), demos=file, caption="people")[1][0]
        == "Image description: not available"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"demos\.json: cannot be read"),
        ([DEMO], r"has no list 'general'"),
        (3, r"has no list 'general'"),
        ({"general": [DEMO]}, r"has no list 'binary'"),
        ({"general": "abc", "binary": []}, r"has no list 'general'"),
        ({"general": [DEMO, 3], "binary": []}, r"general\[1\] is 3"),
        (
            {"general": [], "binary": [{"answer": "a"}]},
            r"binary\[0\] lacks question, rationale, references, rating",
        ),
        ({"general": [{**DEMO, "rating": 4}], "binary": []}, r"general\[0\] has the rating 4"),
        ({"general": [{**DEMO, "rating": "3"}], "binary": []}, r"has the rating '3'"),
        ({"general": [{**DEMO, "rating": 3.0}], "binary": []}, r"has the rating 3\.0"),
        (
            {"general": [{**DEMO, "references": "yes"}], "binary": []},
            r"general\[0\] has a field that is no text",
        ),
        (
            {"general": [{**DEMO, "answer": 4}], "binary": []},
            r"general\[0\] has a field that is no text",
        ),
        (
            {"general": [{**DEMO, "caption": 4}], "binary": []},
            r"general\[0\] has a field that is no text",
        ),
    ],
)
def test_a_broken_demonstration_file_is_refused_with_its_place(
    tmp_path: Path, content: object, message: str
) -> None:
    with pytest.raises(SuiteError, match=message):
        load_demonstrations(write_demos(tmp_path, content))


def test_an_absent_demonstration_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"absent\.json: cannot be read"):
        load_demonstrations(tmp_path / "absent.json")


@pytest.mark.parametrize("kind", KINDS)
def test_each_set_has_eight_demonstrations_of_all_levels_and_so_have_its_first_four(
    kind: str,
) -> None:
    demos = load_demonstrations(None)[kind]
    assert len(demos) == 8
    assert {demo["rating"] for demo in demos} == {demo["rating"] for demo in demos[:4]} == {1, 2, 3}
    assert len({len(demo["references"]) for demo in demos}) > 2
    assert all(is_binary(demo["references"]) is (kind == "binary") for demo in demos)
    assert all(demo["caption"] for demo in demos)


def test_no_binary_demonstration_contradicts_its_references() -> None:
    for demo in load_demonstrations(None)["binary"]:
        share = demo["references"].count(demo["answer"]) / len(demo["references"])
        assert demo["rating"] == (3 if share > 0.5 else 2 if share == 0.5 else 1), demo["question"]


def test_no_general_demonstration_contradicts_its_references() -> None:
    numbers = {"four": "4", "five": "5"}
    for demo in load_demonstrations(None)["general"]:
        words, *references = (
            {numbers.get(word, word) for word in text.split()} - {"a", "and", "it", "is", "to"}
            for text in (demo["answer"], *demo["references"])
        )
        common = Counter(frozenset(reference) for reference in references).most_common(1)[0][0]
        if demo["rating"] == 1:
            assert not any(words & reference for reference in references), demo["question"]
        if demo["rating"] == 2:
            assert words not in references, demo["question"]
        if (
            demo["rating"] == 3 and demo["answer"] != "so that she does not get wet"
        ):  # said in other words on purpose
            assert common <= words, demo["question"]


@pytest.mark.parametrize("kind", KINDS)
def test_rationales_say_what_the_rating_says(kind: str) -> None:
    openings = {
        1: "is incorrect because",
        2: r"is (ambiguous|incomplete|only partly right) because",
        3: "is correct because",
    }
    for demo in load_demonstrations(None)[kind]:
        assert re.match(f"The candidate answer {openings[demo['rating']]}", demo["rationale"]), (
            demo["question"]
        )
