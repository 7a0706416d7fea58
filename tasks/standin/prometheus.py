"""The stand-in's rules for prompts of rubric grading and of feedback preference: sections under
`###<Name>:`.

Grading. With r the share of the reference answer's content words that the response holds (without a
reference: the share of the response's content words that occur in the instruction), and s the share
of the response's content words that the image or its description bears out, the quality is r
without an image and (2 r + s) / 3 with one; the score is 1 + 4 x quality, rounded half up.

Preference. A feedback's weight is its number of distinct content words, times 1/2 + s with an
image; the heavier one is better, equally heavy ones are a tie where the prompt allows it, else the
first.

Scoring. With n the number of an answer's distinct content words, q the share of the question's
content words it takes up, and s the share of its content words that the image or the context bears
out, a score is 1 + 9 x (l + q + s) / 3, where l = min(1, n / 20), or 1 + 9 x (l + q) / 2 without
image and context; rounded to halves.
"""

import re

from judgelake.tasks.standin.rules import (
    Asked,
    TokenReply,
    content_words,
    describe_image,
    share_borne_out,
    split_tokens,
)

_HEADINGS = (
    "Task",
    "Image description",
    "Instruction",
    "Response",
    "Reference answer (score 5)",
    "Rubric",
    "Feedback",
    "Feedback A",
    "Feedback B",
    "Reasons",
)
# a heading alone on its line, as in `judging/prompts/prometheus.txt`
_SECTION = re.compile(rf"^###({'|'.join(map(re.escape, _HEADINGS))}):[ \t]*$", re.MULTILINE)
# the task's line that lets the judge choose a tie
_ALLOWS_TIE = re.compile(r"\bA or B or TIE\b")


def grade_response(asked: Asked) -> TokenReply | None:
    """The answer to a prompt of rubric grading; None to any other."""
    sections = read_sections(asked.text)
    if (
        not {"Task", "Instruction", "Response", "Rubric"} <= sections.keys()
        or list(sections)[-1] != "Feedback"
    ):
        return None
    response, reference = (
        content_words(sections["Response"]),
        sections.get("Reference answer (score 5)"),
    )
    compared_with = "reference answer" if reference is not None else "instruction"
    wanted = content_words(sections["Instruction"] if reference is None else reference)
    held = len(response & wanted) / max(1, len(response if reference is None else wanted))
    seen = share_borne_out(response, asked.images, _describe(sections))
    quality = held if seen is None else (2 * held + seen) / 3
    feedback = f"The response shares {held:.0%} of its words with the {compared_with}."
    if seen is not None:
        feedback += (
            f" "
            f"{'What is seen in the image' if asked.images else 'The description of the image'} "
            f"bears out {seen:.0%} of it."
        )
    return TokenReply(
        split_tokens(f"Feedback: {feedback} [RESULT] {1 + int(4 * quality + 0.5)}"), {}
    )


def prefer_feedback(asked: Asked) -> TokenReply | None:
    """The answer to a prompt of feedback preference; None to any other."""
    sections = read_sections(asked.text)
    if (
        not {"Task", "Response", "Feedback A", "Feedback B"} <= sections.keys()
        or list(sections)[-1] != "Reasons"
    ):
        return None
    weights = {}
    for side in "AB":
        words = content_words(sections[f"Feedback {side}"])
        seen = share_borne_out(words, asked.images, _describe(sections))
        weights[side] = len(words) * (1.0 if seen is None else 0.5 + seen)
    equal = weights["A"] == weights["B"]
    preferred = (
        "B"
        if weights["B"] > weights["A"]
        else "TIE"
        if equal and _ALLOWS_TIE.search(sections["Task"])
        else "A"
    )
    reasons = f"Feedback A weighs {weights['A']:.2f} and feedback B {weights['B']:.2f}."
    return TokenReply(split_tokens(f"Reasons: {reasons} [RESULT] {preferred}"), {})


def read_sections(prompt: str) -> dict[str, str]:
    """Heading -> text of a prompt's sections, in their order."""
    parts = _SECTION.split(prompt)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def _describe(sections: dict[str, str]) -> frozenset[str] | None:
    described = sections.get("Image description")
    return None if described is None else content_words(described)


# this and the patterns below follow `judging/prompts/llava_bench.txt` and `captions.txt`
_PART = re.compile(
    r"^\[(Context|Question|Answer 1|Answer 2)\]\n(.*?)^\[End of (?:context|question|answer "
    r"1|answer 2)\]$",
    re.M | re.S,
)
# the prompts of `llava_bench.txt` and, below, `captions.txt`
_ASKS_TWO_NUMBERS = re.compile(r"scale of 1 to 10\b.*\btwo numbers\b", re.DOTALL)
_ASKS_DESCRIPTION = re.compile(r"\ADescribe the image so that\b.*\bdescription alone\b", re.DOTALL)
# distinct content words: beyond these a longer answer gets no more
_LONG = 20


def score_two(asked: Asked) -> TokenReply | None:
    """The answer to a prompt of two-number scoring; None to any other."""
    parts = dict(_PART.findall(asked.text))
    if not {"Question", "Answer 1", "Answer 2"} <= parts.keys() or not _ASKS_TWO_NUMBERS.search(
        asked.text
    ):
        return None
    context = content_words(parts["Context"]) if "Context" in parts else None
    first, second = (
        _score(parts[f"Answer {side}"], parts["Question"], asked.images, context) for side in "12"
    )
    better = (
        "Both are equally good."
        if first == second
        else f"Answer {1 if first > second else 2} says more to the point."
    )
    return TokenReply(split_tokens(f"{first:g} {second:g}\n{better}"), {})


def write_caption(asked: Asked) -> TokenReply | None:
    """The answer to a prompt that asks to describe an image that is sent; None to any other."""
    if not asked.images or not _ASKS_DESCRIPTION.search(asked.text):
        return None
    return TokenReply(split_tokens(describe_image(asked.images[0])), {})


def _score(
    answer: str, question: str, images: tuple[str, ...], context: frozenset[str] | None
) -> float:
    words, wanted = content_words(answer), content_words(question)
    shares = [min(1.0, len(words) / _LONG), len(words & wanted) / max(1, len(wanted))]
    seen = share_borne_out(words, images, context)
    shares += [] if seen is None else [seen]
    return round(2 * (1 + 9 * sum(shares) / len(shares))) / 2
