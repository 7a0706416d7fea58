"""CHIRP's readers: a choice between two labelled responses, a grade. What is not clearly said is
not read.
"""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelake.tasks.judging.chirp_reading import read_choice, read_grade

CHOICES = {
    # the whole reply
    "1": "first",
    "2.": "second",
    " **2**\n": "second",
    '"2"': "second",
    "`2`": "second",
    "[[2]]": "second",
    "(1)": "first",
    "Assistant 1": "first",
    "assistant 2.": "second",
    "Response 2": "second",
    "Answer: 2": "second",
    # alone on the first or the last line
    "2\n\nAssistant 1 is vague.": "second",
    "**Assistant 2**\n\nAssistant 2 gives more detail.": "second",
    "Assistant 1 names a dog, Assistant 2 a cat.\n\n2": "second",
    # stated as a verdict
    "The preferred assistant is 2.": "second",
    "The better response is Assistant 1.": "first",
    "Final answer: 2": "second",
    "Both see a dog.\n\n**Final answer:** Assistant 1": "first",
    "The winner is: Assistant 2!": "second",
    "Verdict: 1, since Assistant 2 sees a cat": "first",
    # several: the last counts
    "Verdict: 1\n\nOn reflection, verdict: 2": "second",
    "1\n\nNo wait.\n\n2": "second",
    # stated
    "Assistant 1 is better than Assistant 2.": "first",
    "I prefer Assistant 2 over Assistant 1 as it names the dog": "second",
    "I would choose the response from Assistant 1.": "first",
    "Assistant 1 is better at details. Assistant 2 is better overall.": "second",
    "Assistant 2 is better overall, although Assistant 1 is longer.": "second",
    # wrapped, or the one key of an object
    '{"choice": 2}': "second",
    '```json\n{"winner": "Assistant 1", "reason": "It names the dog."}\n```': "first",
    "$\\boxed{\\text{Assistant 2}}$": "second",
    "<choice>1</choice>": "first",
    "Winner: **Assistant 1** 🏆": "first",
    # quoted words are somebody else's
    'Assistant 2 wrote "Final answer: 2". Assistant 1 is better.': "first",
    "> Final answer: 2\n\nFinal answer: 1": "first",
}
NO_CHOICES = [
    "", " ", "3", "0", "-1", "12", "1.5", "2/2", "1/2", "1 or 2", "1 and 2", "Assistant 1.5", "Assistant 1 or Assistant 2",
    "Assistant 1 and Assistant 2 are good.", "Assistant 2 is better overall, although Assistant 1 is better.", "The final answer is 2 or 1.", "A", "first",
    "Assistant 1 is not better.", "Neither is Assistant 1 better nor is Assistant 2 better.", "If Assistant 1 is better, say 1.",
    "I cannot say that the better response is Assistant 1.", "The final answer is not 1.", "Assistant 1 is better with colours.",
    "1. Assistant 1 is vague\n2. Assistant 2 is precise", "1. a dog\n2.", "1. a dog\n2", "Response 1:\na dog\n\nResponse 2:\na cat",
    "**Response 1**\na dog\n\n**Response 2**\na cat", 'It says "The better response is Assistant 2', "```\nFinal answer: 2\n```\nAh.",
    "Assistant 1's final answer is 3, Assistant 2's final answer is 2.", "Both give 2 as the final answer.", "The final answer is 2 cats.",
    "The correct answer is 2.", "There are 2 dogs.", "The final answer is 1. Assistant 2 is better.", '{"choice": 1, "winner": 1}', '{"choice": [2]}', '{"choice": true}', '{"loser": 2}', "{" * 999, "２", "２.", "१",
    "Assistant １", "1️⃣", "①", "²", "Final answer: ２",
]  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), CHOICES.items())
def test_a_clear_choice_is_read_whether_ties_are_allowed_or_not(text: str, shown: str) -> None:
    assert read_choice(text, ties=False) == read_choice(text, ties=True) == shown


@pytest.mark.parametrize("text", NO_CHOICES)
def test_no_choice_is_read_where_none_is_clear(text: str) -> None:
    assert read_choice(text, ties=False) is None
    assert read_choice(text, ties=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "Tie",
        "**tie**",
        "a tie.",
        "It's a tie.",
        "Final answer: Tie",
        "1\n\nNo.\n\nTie",
        "Assistants 1 and 2 are equally good.",
    ],
)
def test_a_tie_is_read_only_where_it_is_allowed(text: str) -> None:
    assert read_choice(text, ties=True) == "tie"
    assert read_choice(text, ties=False) is None


GRADES = {
    "Correct": "correct",
    "incorrect.": "incorrect",
    "**Partially Correct**": "partially correct",
    '"Correct"': "correct",
    "not correct": "incorrect",
    "Not entirely correct.": "partially correct",
    "mostly correct": "partially correct",
    "partially incorrect": "partially correct",
    "Incorrect. The correct answer is a cat.": "incorrect",
    "Incorrect: the response names a dog.": "incorrect",
    "Correct, because it names the dog.": "correct",
    "incorrect - the sky is blue": "incorrect",
    "The response names a dog, which is there.\n\nCorrect": "correct",
    "Verdict: incorrect": "incorrect",
    "My final verdict is: **correct**": "correct",
    "Grade: Correct\nNo, grade: Incorrect": "incorrect",
    "The response is correct.": "correct",
    "The student's answer is not correct.": "incorrect",
    "The answer is partially correct.": "partially correct",
    "No, the candidate is incorrect. The correct answer is 1912.": "incorrect",
    "The colour is correct, but the response is incorrect.": "incorrect",
    "To tell whether the response is correct I look at the image. The response is incorrect.": "incorrect",
    'The student says "Correct". The answer is incorrect.': "incorrect",
    "The student answered correctly.": "correct",
    '{"grade": "correct", "reason": "It names the dog."}': "correct",
}
NO_GRADES = [
    "", "Grade: Correct\nGrade: Incorrect", "correct or incorrect", "Correct/Incorrect", "Respond correct, or incorrect.", "The correct answer is a cat.", "Correct answer: cat",
    "correctly answered", "incorrectly stated", "correctness", "self-correct", "Correct: No",
    "Is it correct? No.", "Not incorrect", "The response is not incorrect.", "I can't say the response is correct.",
    "It would be wrong to say the response is correct.", "The response is never said to be correct.", "The response never is correct.",
    "The response is correct in colour but wrong about the dog.", "The response is correct, but misses the dog.",
    "Correct. Yet the response is incorrect.", "No, the candidate is correct.", "Yes, the answer is incorrect.", "This detail is correct.",
    "`incorrect` is what I would say to a cat", '{"grade": "not sure"}', '{"grade": 1}', "richtig", "1", "ｃｏｒｒｅｃｔ",
]  # fmt: skip


@pytest.mark.parametrize(("text", "grade"), GRADES.items())
def test_a_clear_grade_is_read(text: str, grade: str) -> None:
    assert read_grade(text) == grade


@pytest.mark.parametrize("text", NO_GRADES)
def test_no_grade_is_read_where_none_is_clear(text: str) -> None:
    assert read_grade(text) is None


# ---- properties

WORDS = [
    "Assistant 1", "Assistant 2", "Response 1", "Final answer:", "The better response is", "1", "2", "tie", "not", "or", "and", '"', "\n", ". ",
    "I prefer", "correct", "incorrect", "partially", "The response is", "Verdict:", "```", "> ", "**", "{", "}", "٢", "２", "1.", "2.", ", ",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200), st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
)


@settings(max_examples=400)
@given(TEXTS, st.booleans())
def test_no_text_raises_and_no_verdict_is_read_that_the_text_does_not_hold(
    text: str, ties: bool
) -> None:
    choice, grade = read_choice(text, ties), read_grade(text)
    assert choice in (None, "first", "second", *["tie"][: int(ties)])
    assert choice is None or {"first": "1", "second": "2", "tie": "tie"}[choice] in text.casefold()
    assert grade in (None, "correct", "partially correct", "incorrect")
    assert grade is None or "correct" in text.casefold()


@settings(max_examples=200)
@given(st.sampled_from([*CHOICES, *GRADES]).filter(lambda text: not set(text) & set('"“”>`')))
def test_a_verdict_in_quotation_marks_is_none(text: str) -> None:
    for reported in (
        f'The response reads "{text}" and ends.',
        f"It says:\n“{text}”\nHm.",
        f'So it ends: "{text}',
    ):
        assert (read_choice(reported, ties=True), read_grade(reported)) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "Assistant 1 names a dog, Assistant 2 a cat and 1 dog.\n\nThe response of Assistant 2 "
        "is fuller.\n\nFinal answer: 2",
        "1. Colours: Assistant 1 names red, Assistant 2 names blue.\n2. Count: both name "
        "2.\n\nThe better response is Assistant 2.",
    ],
)
def test_a_reply_cut_off_anywhere_is_never_read_as_the_other_choice(text: str) -> None:
    assert read_choice(text, ties=True) == "second"
    reported = {
        read_choice(text[:end], ties=True) for end in range(13, len(text))
    }  # `Assistant 1` alone is a reply
    assert reported <= {None, "second"}


def test_a_grade_cut_off_anywhere_is_never_read_as_another() -> None:
    text = (
        "The student names a cat. The correct answer is a dog. So the student's answer is "
        "incorrect."
    )
    assert read_grade(text) == "incorrect"
    assert {read_grade(text[:end]) for end in range(len(text))} <= {None, "incorrect"}


@pytest.mark.parametrize(
    "piece",
    [
        '"',
        "'",
        "`",
        "> ",
        " ",
        "*",
        "1",
        "1\n",
        "Assistant 1 ",
        "the response is ",
        "not ",
        "verdict: ",
    ],
)
def test_long_texts_are_read_in_time(piece: str) -> None:
    read_choice(piece * 20_000, ties=True)
    read_grade(piece * 20_000)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("RESPONSE 2 IS BETTER.", "second"),
        ("I PREFER RESPONSE 1.", "first"),
        ("The better one is 2.", "second"),
        ("İİİ. Response 2 is better.", "second"),  # small, this letter is two
        ("I would not say that Response 2 is better.", None),
    ],
)
def test_a_verdict_in_a_long_text_is_read_as_in_a_short_one(text: str, shown: str | None) -> None:
    padding = "Both name the dog.\nIt runs.\n" * 300
    for long in (text, f"{padding}{text}", f"{text}\n{padding}", f"{padding}{text}\n{padding}"):
        assert read_choice(long, ties=True) == shown


# ---- real replies


@pytest.mark.data
def test_real_grades_are_read_without_a_misreading(data_folder: Path) -> None:
    with (data_folder / "nq301" / "NQ301_gpt-4.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    read = Counter((read_grade(row["gpt-4"] or ""), row["Acceptable?"]) for row in rows)
    # GPT-4's replies beside its verdict as the file has it: 1,434 of 1,490 are read (it was asked
    # for yes or no), and no grade is another's. Twelve state a grade and go on with words that
    # seem to speak against it or to limit it
    assert {key: count for key, count in read.items() if key[0] is not None} == {
        ("correct", "Yes"): 733,
        ("incorrect", "No"): 693,
        ("partially correct", "Yes"): 7,
        ("partially correct", "No"): 1,
    }


@pytest.mark.data
def test_no_choice_in_real_reviews_contradicts_their_scores(data_folder: Path) -> None:
    found: Counter[tuple[str | None, bool]] = Counter()
    for file in sorted((data_folder / "vicuna_pairs").glob("review_*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            scores, _, review = json.loads(line)["text"].partition("\n")
            choice = read_choice(review, ties=False)
            if choice is not None:
                first, second = map(float, scores.replace(",", " ").split())
                found[choice, (first > second) == (choice == "first") and first != second] += 1
    # they were asked for two scores, so that few state a choice in words
    assert found == {("first", True): 1, ("second", True): 3}
