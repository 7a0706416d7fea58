"""The collector of instructions: each has its number, its reference, and differs from the others."""

from judgelake.tasks.collection.instructions import InstructionOptions, collect
from judgelake.tasks.types import JUDGE
from tests.collection.collecting import RUBRIC, answer, ask, make_case

MODELS = {JUDGE: "m"}
CASE = make_case("instruction-1", "instruction-2", rubric=RUBRIC)
OPTIONS = InstructionOptions()


def test_two_different_requests_show_the_rubric_and_the_image() -> None:
    first, second = ask(collect(CASE, OPTIONS, MODELS))
    assert first.messages != second.messages
    assert RUBRIC.criterion in first.messages[0].text
    assert first.messages[0].images


def test_an_instruction_has_a_reference() -> None:
    one, other = answer(
        collect(CASE, OPTIONS, MODELS),
        ["Problem: a?\n[NEXT]\nResponse: b.\n[END]", "Problem: c?"],
    )
    made = one.made or {}
    assert (one.status, made["instruction"], made["reference"]) == ("ok", "a?", "b.")
    assert (other.status, other.reason) == (
        "unparsed",
        "the reply has 0 markers [NEXT]; expected one",
    )
    assert other.made == {"rubric_id": made["rubric_id"]}


def test_an_instruction_twice_is_one() -> None:
    verdicts = answer(
        collect(CASE, OPTIONS, MODELS),
        ["Problem: a b?\n[NEXT]\nResponse: b.", "Problem: A  b?\n[NEXT]\nResponse: c."],
    )
    assert [one.status for one in verdicts] == ["ok", "rejected"]
