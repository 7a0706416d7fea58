"""The evaluation prompt of Prometheus and Prometheus-Vision taken apart. What its parts become in the lake is each source's own matter.

The layout: `###The instruction to evaluate:`, `###Response to evaluate:`, `###Reference Answer (Score 5):`, `###Score Rubrics:` (a criterion,
in brackets in some files, then lines `Score n: ...` from 1 on) and a closing `###Feedback:`.
"""

import re
from typing import NamedTuple

_HEADINGS = re.compile(
    r"^###[ \t]*(?:(?P<instruction>The instruction to evaluate)|(?P<response>Response to evaluate)"
    r"|(?P<reference>Reference Answer)(?: \(Score \d+\))?|(?P<rubric>Score Rubrics?)|(?P<feedback>Feedback)):[ \t]*$",
    re.MULTILINE,
)
_LEVEL = re.compile(r"^Score (\d+):", re.MULTILINE)


class RubricPrompt(NamedTuple):
    """What a judge was shown; `levels` are what each score means, that of score 1 first."""

    instruction: str
    response: str
    reference: str
    criterion: str
    levels: tuple[str, ...]


def parse_rubric_prompt(text: str) -> RubricPrompt | None:
    """The parts of a rubric prompt, or None where one is missing, empty (only the response may be) or the levels do not count up from 1.

    The first instruction heading and the last rubric count, so an instruction or response that quotes a heading splits at the outermost.
    """
    found = [(str(match.lastgroup), match) for match in _HEADINGS.finditer(text)]
    first = next((match for name, match in found if name == "instruction"), None)
    rubric = next((match for name, match in reversed(found) if name == "rubric"), None)
    if first is None or rubric is None:
        return None
    inner = [(name, match) for name, match in found if first.end() <= match.start() < rubric.start()]
    response = next((match for name, match in inner if name == "response"), None)
    reference = next((match for name, match in reversed(inner) if name == "reference"), None)
    if response is None or reference is None or response.start() > reference.start():
        return None
    closing = next((match for name, match in found if name == "feedback" and match.start() > rubric.start()), None)
    parsed = _parse_rubric(text[rubric.end() : closing.start() if closing else len(text)])
    parts = [
        text[first.end() : response.start()],
        text[response.end() : reference.start()],
        text[reference.end() : rubric.start()],
    ]
    instruction, shown, model_answer = (part.strip() for part in parts)
    return RubricPrompt(instruction, shown, model_answer, *parsed) if parsed and instruction and model_answer else None


def _parse_rubric(text: str) -> tuple[str, tuple[str, ...]] | None:
    """(criterion, levels) of the text under the rubric's heading."""
    marks = list(_LEVEL.finditer(text))
    if not marks or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    levels = tuple(text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True))
    criterion = text[: marks[0].start()].strip()
    if criterion.startswith("[") and criterion.endswith("]"):
        criterion = criterion[1:-1].strip()
    return (criterion, levels) if criterion and all(levels) else None
