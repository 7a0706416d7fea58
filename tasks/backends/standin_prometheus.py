"""The stand-in's rules for prompts of rubric grading and of feedback preference: sections under `###<Name>:`.

Grading. With r the share of the reference answer's content words that the response holds (without a reference: the share of the
response's content words that occur in the instruction), and s the share of the response's content words that the image or its
description bears out, the quality is r without an image and (2 r + s) / 3 with one; the score is 1 + 4 x quality, rounded half up.

Preference. A feedback's weight is its number of distinct content words, times 1/2 + s with an image; the heavier one is better,
equally heavy ones are a tie where the prompt allows it, else the first.
"""

import re

from tasks.backends.standin_looking import share_borne_out
from tasks.backends.standin_rules import Answer, Asked, content_words, split_tokens

_HEADINGS = (
    "Task", "Image description", "Instruction", "Response", "Reference answer (score 5)", "Rubric", "Feedback", "Feedback A",
    "Feedback B", "Reasons",
)  # fmt: skip
_SECTION = re.compile(rf"^###({'|'.join(map(re.escape, _HEADINGS))}):[ \t]*$", re.MULTILINE)
_ALLOWS_TIE = re.compile(r"\bA or B or TIE\b")


def grade_response(asked: Asked) -> Answer | None:
    """The answer to a prompt of rubric grading; None to any other."""
    sections = read_sections(asked.text)
    if not {"Task", "Instruction", "Response", "Rubric"} <= sections.keys() or list(sections)[-1] != "Feedback":
        return None
    response, reference = content_words(sections["Response"]), sections.get("Reference answer (score 5)")
    told = "reference answer" if reference is not None else "instruction"
    wanted = content_words(sections["Instruction"] if reference is None else reference)
    held = len(response & wanted) / max(1, len(response if reference is None else wanted))
    seen = share_borne_out(response, asked.images, _describe(sections))
    quality = held if seen is None else (2 * held + seen) / 3
    feedback = f"The response shares {held:.0%} of its words with the {told}."
    if seen is not None:
        feedback += (
            f" {'What is seen in the image' if asked.images else 'The description of the image'} bears out {seen:.0%} of it."
        )
    return Answer(split_tokens(f"Feedback: {feedback} [RESULT] {1 + int(4 * quality + 0.5)}"), {})


def prefer_feedback(asked: Asked) -> Answer | None:
    """The answer to a prompt of feedback preference; None to any other."""
    sections = read_sections(asked.text)
    if not {"Task", "Response", "Feedback A", "Feedback B"} <= sections.keys() or list(sections)[-1] != "Reasons":
        return None
    weights = {}
    for side in "AB":
        words = content_words(sections[f"Feedback {side}"])
        seen = share_borne_out(words, asked.images, _describe(sections))
        weights[side] = len(words) * (1.0 if seen is None else 0.5 + seen)
    equal = weights["A"] == weights["B"]
    told = "B" if weights["B"] > weights["A"] else "TIE" if equal and _ALLOWS_TIE.search(sections["Task"]) else "A"
    reasons = f"Feedback A weighs {weights['A']:.2f} and feedback B {weights['B']:.2f}."
    return Answer(split_tokens(f"Reasons: {reasons} [RESULT] {told}"), {})


def read_sections(prompt: str) -> dict[str, str]:
    """Heading -> text of a prompt's sections, in their order."""
    parts = _SECTION.split(prompt)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def _describe(sections: dict[str, str]) -> frozenset[str] | None:
    described = sections.get("Image description")
    return None if described is None else content_words(described)
