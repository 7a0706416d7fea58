"""The stand-in's rules for HarmonicEval's and FLEUR's prompts: a text in `[Caption]` ... `[End of
caption]`, rated by a criterion or scored.

Of the text, n is its number of words and d that of distinct content words; s the share of its
content words that the image bears out, 1/2 without one; t the share of the question's content words
that it takes up (of a caption, s). The quality is

- correctness s, completeness (min(1, d / 12) + s + t) / 3, overall (s + t + min(1, d / 12) +
  brevity) / 4;
- clarity 1 less 0.3 for each vague word (or, maybe, something, ...), fluency 1 less 0.25 for each
  of: no capital first, no full stop at the end, a word said twice in a row, no words at all;
  conciseness the brevity, d / n up to 12 words, after it d / n x 12 / n.

The five ratings have probabilities in proportion to exp(-(r - 1 - 4 q)^2 / w), with w 0.3 for
clarity, fluency and conciseness and
0.3 + 1.2 x 4 q (1 - q) for what is doubtful; together they hold 0.98. A score is the mean of s, t
and the word overlap with the references where there are any, in hundredths; its digits are
likeliest, neighbours of theirs take 0.12 each.
"""

import itertools
import math
import re
from collections.abc import Mapping

from judgelake.tasks.standin.rules import (
    Asked,
    TokenReply,
    content_words,
    normal_words,
    share_borne_out,
    split_tokens,
)

# this and the patterns below follow the words of `judging/prompts/harmonic_*.txt` and `fleur*.txt`
_PART = re.compile(
    r"^\[(Question|Instruction|References|Caption|Expression|Answer|Response|Text)\]\n(.*?)\n\[End "
    r"of (?:\w+)\]$",
    re.M | re.S,
)
_ASKED_BY, _NOUNS = (
    ("Question", "Instruction"),
    ("Caption", "Expression", "Answer", "Response", "Text"),
)
# asked for one criterion by its rubric
_CRITERION = re.compile(
    r"^Evaluation criterion:\n- (Correctness|Completeness|Clarity|Fluency|Conciseness|Overall "
    r"quality): .*?^Rating scale:\n- 1 ",
    re.M | re.S,
)
# asked for a score as FLEUR asks for it
_SCORED = re.compile(
    r"on a scale of 0\.0 to 1\.0 by the grading criteria\..*^Score \(from 0\.0 to 1\.0\):",
    re.M | re.S,
)
_WHY = re.compile(
    r"\nWhy\? Explain in a few sentences what led you to this (?:rating|score)\b[^\n]*\Z"
)
_VAGUE = "or maybe perhaps possibly something somewhere someone thing stuff etc might seems"
# words of an answer that is neither short nor long
_MUCH = 12


def rate_criterion(asked: Asked) -> TokenReply | None:
    """The answer to a prompt that rates by one criterion; None to any other."""
    criterion, parts = _CRITERION.search(asked.text), dict(_PART.findall(asked.text))
    if not criterion or parts.keys().isdisjoint(_NOUNS):
        return None
    quality = _judge(criterion[1], parts, asked.images)
    if _WHY.search(asked.text):
        return TokenReply(
            split_tokens(
                f"By the criterion {criterion[1].lower()} I find {quality:.0%} of what there "
                f"could be."
            ),
            {},
        )
    doubt = 0.3 + (
        0.0
        if criterion[1] in ("Clarity", "Fluency", "Conciseness")
        else 4.8 * quality * (1 - quality)
    )
    weights = {
        str(rating): math.exp(-((rating - 1 - 4 * quality) ** 2) / doubt) for rating in range(1, 6)
    }
    total = sum(weights.values())
    probabilities = {rating: 0.98 * weight / total for rating, weight in weights.items()}
    return TokenReply(
        (max(probabilities, key=lambda rating: probabilities[rating]),), {0: probabilities}
    )


def score_text(asked: Asked) -> TokenReply | None:
    """The answer to a prompt that scores from 0.0 to 1.0; None to any other."""
    parts = dict(_PART.findall(asked.text))
    if not _SCORED.search(asked.text) or parts.keys().isdisjoint(_NOUNS):
        return None
    terms = _find_terms(parts, asked.images)
    if "References" in parts:
        wanted = content_words(parts["References"])
        terms["references"] = len(content_words(_find_text(parts)) & wanted) / max(1, len(wanted))
    shares = [terms[name] for name in ("seen", "taken_up", "references") if name in terms]
    hundredths = round(100 * sum(shares) / len(shares))
    if _WHY.search(asked.text):
        return TokenReply(split_tokens(f"I find {hundredths} % of it borne out."), {})
    if hundredths == 100:
        return TokenReply(split_tokens("1.0"), {0: {"1": 0.86, "0": 0.12}})
    first, second = divmod(hundredths, 10)
    return TokenReply(
        ("0", ".", str(first), str(second)), {2: _spread_digit(first), 3: _spread_digit(second)}
    )


def _judge(criterion: str, parts: Mapping[str, str], images: tuple[str, ...]) -> float:
    terms, text = _find_terms(parts, images), _find_text(parts)
    if criterion == "Correctness":
        return terms["seen"]
    if criterion == "Completeness":
        return (terms["much"] + terms["seen"] + terms["taken_up"]) / 3
    if criterion == "Overall quality":
        return (terms["much"] + terms["seen"] + terms["taken_up"] + terms["brevity"]) / 4
    if criterion == "Conciseness":
        return terms["brevity"]
    words = text.lower().split()
    if criterion == "Clarity":
        return max(0.0, 1 - 0.3 * sum(word.strip(".,;:!?") in _VAGUE.split() for word in words))
    stumbles = any(word == before for before, word in itertools.pairwise(words))
    return 1 - 0.25 * sum(
        (not text[:1].isupper(), not text.rstrip().endswith((".", "!", "?")), stumbles, not words)
    )


def _find_terms(parts: Mapping[str, str], images: tuple[str, ...]) -> dict[str, float]:
    text = _find_text(parts)
    words, n_words = content_words(text), len(normal_words(text))
    seen = share_borne_out(words, images, None)
    looked = 0.5 if seen is None else seen
    asked_by = next((parts[name] for name in _ASKED_BY if name in parts), None)
    wanted = None if asked_by is None else content_words(asked_by)
    return {
        "seen": looked,
        "taken_up": looked if wanted is None else len(words & wanted) / max(1, len(wanted)),
        "much": min(1.0, len(words) / _MUCH),
        "brevity": min(1.0, len(words) / max(1, n_words)) * min(1.0, _MUCH / max(1, n_words)),
    }


def _find_text(parts: Mapping[str, str]) -> str:
    return next((parts[noun] for noun in _NOUNS if noun in parts), "")


def _spread_digit(digit: int) -> dict[str, float]:
    """The digit itself and its neighbours, 0.98 together."""
    beside = {str(other): 0.12 for other in (digit - 1, digit + 1) if 0 <= other <= 9}
    return {str(digit): 0.98 - sum(beside.values()), **beside}
