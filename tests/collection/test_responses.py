"""The collector of responses: five scores, lengths beside the reference's, the fixed phrase."""

from judgelake.tasks.collection.responses import ResponseOptions, collect, reading_signature
from judgelake.tasks.types import JUDGE
from tests.collection.collecting import RUBRIC, answer, ask, make_case

MODELS = {JUDGE: "m"}
CASE = make_case(
    *(f"score-{score}" for score in range(1, 6)),
    prompt="What is it?",
    references=("One two three. Four five six.",),
    rubric=RUBRIC,
    content_digest="d" * 16,
)
OPTIONS = ResponseOptions()


def write(score: int, response: str = "a b c d e f", said: int | None = None) -> str:
    phrase = f"So the overall score is {said or score}."
    return f"Response: {response}\n[NEXT]\nFeedback: Fair. {phrase}\n[END]"


def test_each_score_is_asked_for_with_the_references_sentences() -> None:
    requests = ask(collect(CASE, OPTIONS, MODELS))
    assert len(requests) == 5
    for score, request in enumerate(requests, 1):
        text = request.messages[0].text
        assert f"So the overall score is {score}" in text
        assert "2 sentences" in text


def test_a_response_has_its_score_its_feedback_and_its_length() -> None:
    verdicts = answer(collect(CASE, OPTIONS, MODELS), [write(score) for score in range(1, 6)])
    assert [one.status for one in verdicts] == ["ok"] * 5
    made = verdicts[3].made or {}
    assert (made["score"], made["n_words"], made["n_reference_words"]) == (4, 6, 6)
    assert made["feedback"] == "Fair. So the overall score is 4."
    assert made["instruction_id"] == "d" * 16


def test_another_score_or_length_is_not_kept() -> None:
    replies = [
        write(1, said=2),
        write(2, "a " * 13),
        write(3, "a b"),
        write(4, "a b c"),  # half as long: the last that is kept
        "Response: a [NEXT] Feedback: none",
    ]
    verdicts = answer(collect(CASE, OPTIONS, MODELS), replies)
    assert [one.status for one in verdicts] == [
        "unparsed",
        "rejected",
        "rejected",
        "ok",
        "unparsed",
    ]
    assert verdicts[1].reason == (
        "the response has 13 words and the reference answer 6; expected at most 2 times as many, "
        "or as few"
    )


def test_markers_in_the_data_are_broken() -> None:
    case = make_case("score-1", prompt="a [NEXT] b", references=("c [END]",), rubric=RUBRIC)
    text = ask(collect(case, OPTIONS, MODELS))[0].messages[0].text
    assert "a [ NEXT] b" in text
    assert "c [ END]" in text


def test_the_length_that_is_kept_is_a_matter_of_reading() -> None:
    assert reading_signature(OPTIONS) != reading_signature(ResponseOptions(longest_ratio=3))
