"""The stand-in's rules for prompts that ask for failure categories (lines `Question:`, `References:`, `Candidate:`).

None hold of a candidate that equals a reference under the official normaliser. Else same stem, specificity or verbosity and unknown hold by
`tasks.failure_rules`, and a broad question where the candidate has none but very general words. Where none of these holds, it is one of
multiple answers if the image (without one, a description of it) bears out at least half of the candidate's content words, else incorrect.
"""

import re

from tasks.backends.standin_looking import share_borne_out
from tasks.backends.standin_rules import Answer, Asked, content_words, split_tokens
from tasks.failure_rules import label_answer
from tasks.metrics.official_normalizer import normalise_official, strip_official

_ASKS = re.compile(r"line that begins with `Categories:` and gives the names of the reasons\b")
_CASE = re.compile(
    r"^(?:Image description: (?P<caption>.*)\n)?Question: .*\nReferences: (?P<references>.*)\nCandidate: (?P<candidate>.*)\Z",
    re.MULTILINE,
)
_GENERAL = frozenset(content_words("a lot of many several some few various things stuff something object place"))


def name_failures(asked: Asked) -> Answer | None:
    """The answer to a prompt that asks for failure categories; None to any other."""
    case = _CASE.search(asked.text)
    if case is None or not _ASKS.search(asked.text):
        return None
    names = _find_categories(case["candidate"], case["references"].split("; "), case["caption"], asked.images)
    verdict = f"Categories: {', '.join(names) or 'none'}"
    if "Explain your choice first." not in asked.text:
        return Answer(split_tokens(verdict), {})
    return Answer(split_tokens(f"Compared with the {case['references'].count('; ') + 1} references word by word.\n{verdict}"), {})


def _find_categories(candidate: str, references: list[str], caption: str | None, images: tuple[str, ...]) -> list[str]:
    answer, *known = normalise_official(strip_official([candidate, *references]))
    if answer in known:
        return []
    found = [name for name, holds in label_answer(candidate, references, None).items() if holds]
    words = content_words(candidate)
    if words and words <= _GENERAL:
        found.append("broad_question")
    if found:
        return found
    share = share_borne_out(words, images, None if caption is None else content_words(caption))
    return ["multiple_answers" if share is not None and share >= 0.5 else "incorrect"]
