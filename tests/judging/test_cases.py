import pytest

from judgelake.tasks.judging.cases import find_missing_image, make_case
from judgelake.tasks.types import Box, Case, Image, Rubric

ROW = {
    "benchmark": "b", "item_id": "i", "task": "vqa", "prompt": "What?", "references": ["cat"], "answer": "a cat",
    "content_digest": "d", "context_digest": "", "criterion": "clarity", "criteria": ["clarity", "overall"], "sample": 1, "caption": None,
    "other_answer": None, "other_digest": "", "shown_first": "", "feedbacks": [], "images": [], "regions": [],
    "rubric_criterion": None, "rubric_levels": None, "rubric_label": None,
}  # fmt: skip
GOOD, GONE = Image("a.png", "aa"), Image("b.png", None)


def test_a_row_is_a_case() -> None:
    case = Case(
        "b",
        "i",
        "vqa",
        "What?",
        ("cat",),
        "a cat",
        "d",
        criterion="clarity",
        sample=1,
        criteria=("clarity", "overall"),
    )
    assert make_case(ROW) == case


def test_boxes_are_drawn_on_the_first_image() -> None:
    box = {"x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0}
    images = [{"uri": "a.png", "sha256": "aa"}, {"uri": "b.png", "sha256": None}]
    found = make_case(ROW | {"images": images, "regions": [box]}).images
    assert found == (Image("a.png", "aa", (Box(1, 2, 3, 4),)), GONE)


def test_a_rubric_has_its_levels() -> None:
    assert make_case(
        ROW | {"rubric_criterion": "Is it?", "rubric_levels": ["no", "yes"]}
    ).rubric == Rubric("Is it?", ("no", "yes"))


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        ((GOOD,), None),
        ((Image("https://x/a.png", None),), None),
        ((), "the item has no image; the judge looks at one"),
        (
            (GOOD, GONE),
            "the image b.png is not there, is damaged, or has no other to be swapped for; see "
            "the quarantine",
        ),
    ],
)
def test_a_judge_that_looks_needs_every_image(
    images: tuple[Image, ...], expected: str | None
) -> None:
    case = Case("b", "i", "vqa", "What?", ("cat",), "a cat", "d", images=images)
    assert find_missing_image(case, sees_images=True) == expected
    assert find_missing_image(case, sees_images=False) is None
