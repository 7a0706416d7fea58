"""The stand-in's judgement: what `standin/rules` answers to a prompt, by rule and without a model.

The rule, for a prompt that ends in a case of answer rating (lines `Question:`, `Reference
answers:`, `Candidate answer:`; earlier ones are demonstrations and are not looked at):

1. Words are compared in a light normal form: lower case, punctuation and articles off, number
   words as digits, plurals and -ing off, a few synonyms as one. References less than a quarter as
   frequent as the most frequent one are left out.
2. The overlap is the largest share, over the references, of a reference's content words that the
   candidate holds. It counts as 0 when the question asks for yes or no and the candidate opens
   with neither.
3. The rating is 3 at overlap 1, 1 at overlap 0, else 2.

The probabilities of the ratings 1, 2, 3 leave 0.02 for other tokens. With r the overlap, and p the
number of content words of the best matched reference over that of the candidate (at most 1), they
are (0.02, 0.26 - 0.2 p, 0.70 + 0.2 p) where the rating is 3, (0.38 (1 - r), 0.60, 0.38 r) where it
is 2 and (0.90, 0.06, 0.02) where it is 1.

HTTP and faults live in `tasks.standin.server`.

A word is borne out by an image if the first byte of sha256(image digest + word) is even; so any
image bears out about half of all words, and another image another half.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

# the fields of LAVE's prompt, in any case and indentation
_FIELD = re.compile(
    r"^[ \t]*(question|reference answers?|candidate answer)[ \t]*:[ \t]*(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
# `', '` between quoted references, whose own commas stay
_BETWEEN_QUOTED = re.compile(r"""['"]\s*,\s*['"]""")
_RATIONALE = re.compile(r"\brationale\b", re.IGNORECASE)
# everything but letters and digits
_NOT_WORD = re.compile(r"[^\w\s]|_")
# tokens as a model's: a word takes the space before it, every digit stands alone
_TOKEN = re.compile(r" ?[^\W\d_]+|\d| ?[^\w\s]|[\s_]")

_ARTICLES = {"a", "an", "the"}
_FUNCTION = (
    "and are at be by for from her his in is it its of on or their there they this "
    "that to was were with"
)
_AUXILIARY = (
    "am are can could did do does had has have is may might must should was were will would"
)
_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen"
)
_FUNCTION_WORDS, _ASKS_YES_NO = frozenset(_FUNCTION.split()), frozenset(_AUXILIARY.split())
_NUMBERS = {
    word: str(number) for number, word in enumerate([*_COUNTED.split(), "nineteen", "twenty"])
}
_SYNONYMS = {
    "gray": "grey",
    "picture": "photo",
    "photograph": "photo",
    "image": "photo",
    "none": "0",
    "couch": "sofa",
    "tv": "television",
    "bike": "bicycle",
    "automobile": "car",
    "airplane": "plane",
    "aeroplane": "plane",
    "cellphone": "phone",
    "kid": "child",
    "children": "child",
    "men": "man",
    "women": "woman",
    "people": "person",
    "yeah": "yes",
    "yep": "yes",
    "nope": "no",
}


@dataclass(frozen=True, slots=True)
class RatingCase:
    """The case at hand as it stands in a prompt."""

    question: str
    references: tuple[str, ...]
    candidate: str


class Judgement(NamedTuple):
    """A rating on the scale 1 to 3, the probability of each rating, and why."""

    rating: int
    probabilities: Mapping[str, float]
    rationale: str


class Asked(NamedTuple):
    """What a request holds: all its messages' texts, one after another, and the sha256 of each
    image's bytes.
    """

    text: str
    images: tuple[str, ...] = ()


class TokenReply(NamedTuple):
    """A reply as tokens; `alternatives` are the probabilities of tokens at some positions,
    elsewhere the token itself is certain.
    """

    tokens: tuple[str, ...]
    alternatives: Mapping[int, Mapping[str, float]]


def rate_answer(asked: Asked) -> TokenReply | None:
    """The answer to a prompt of answer rating; None to any other."""
    case = read_case(asked.text)
    if case is None:
        return None
    judgement = judge_case(case)
    text = str(judgement.rating)
    if _RATIONALE.search(asked.text):
        text = f"{judgement.rationale} So rating={text}"
    tokens = split_tokens(text)
    return TokenReply(tokens, {len(tokens) - 1: judgement.probabilities})


def read_case(prompt: str) -> RatingCase | None:
    """The last case in a prompt, or None where its three fields are not all there."""
    fields: dict[str, str] = {}
    for match in _FIELD.finditer(prompt):
        name = match[1].lower().removesuffix("s")
        if name == "question":
            fields = {}
        fields[name] = match[2].strip()
    if len(fields) < 3:
        return None
    return RatingCase(
        fields["question"], split_references(fields["reference answer"]), fields["candidate answer"]
    )


def split_references(text: str) -> tuple[str, ...]:
    """References from `'a', 'b'` or from `a, b`; an apostrophe or a comma inside quotes is kept."""
    text = text.strip().removesuffix(".").removeprefix("[").removesuffix("]").strip()
    quoted = len(text) >= 2 and text[0] in "'\"" and text[-1] in "'\""
    parts = _BETWEEN_QUOTED.split(text[1:-1]) if quoted else text.split(",")
    return tuple(part.strip() for part in parts if part.strip())


def judge_case(case: RatingCase) -> Judgement:
    """The rating that the module's rule gives a case."""
    references = _keep_frequent(case.references)
    candidate = content_words(case.candidate)
    if not references:
        return _judge_overlap(
            0.0, 0.0, "The candidate answer has no reference answer to be compared with."
        )
    if _asks_yes_no(case.question, references) and not _says_yes_no(case.candidate):
        return _judge_overlap(
            0.0, 0.0, "The question asks for yes or no and the candidate answer says neither."
        )
    overlap, precision, best = max(_compare(candidate, reference) for reference in references)
    if overlap == 1:
        return _judge_overlap(
            overlap,
            precision,
            f"The candidate answer says the same as the reference answer '{best}'.",
        )
    if overlap > 0:
        return _judge_overlap(
            overlap,
            precision,
            f"The candidate answer says only a part of the reference answer '{best}'.",
        )
    return _judge_overlap(
        0.0, 0.0, "The candidate answer shares nothing with the reference answers."
    )


def split_tokens(text: str) -> tuple[str, ...]:
    """Pieces that joined give the text again; each digit is a piece of its own."""
    return tuple(_TOKEN.findall(text))


@lru_cache(maxsize=65536)
def normal_words(text: str) -> tuple[str, ...]:
    """The words of a text in the normal form in which the stand-in compares them."""
    words = _NOT_WORD.sub(" ", text.lower().replace("'", "")).split()
    return tuple(_normal_word(word) for word in words if word not in _ARTICLES)


def content_words(text: str) -> frozenset[str]:
    """The normal words of a text without function words, unless it has no others."""
    words = normal_words(text)
    return frozenset(word for word in words if word not in _FUNCTION_WORDS) or frozenset(words)


def _normal_word(word: str) -> str:
    if word in _FUNCTION_WORDS:
        return word
    word = _NUMBERS.get(word, word)
    return _stem(_SYNONYMS.get(word) or _SYNONYMS.get(word.removesuffix("s"), word))


def _stem(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("ses", "xes", "zes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    # `running`, not `string` or `king`: a stem has a vowel
    if word.endswith("ing") and re.search("[aeiouy]", word[:-3]):
        word = word[:-3]
        word = (
            word[:-1]
            if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "aeiouls"
            else word
        )
    if len(word) > 3:
        word = word.removesuffix("e")
    return word[:-1] + "i" if len(word) > 3 and word.endswith("y") else word


def _keep_frequent(references: tuple[str, ...]) -> tuple[str, ...]:
    counts = Counter(normal_words(reference) for reference in references)
    most = max(counts.values(), default=0)
    kept = {
        words: reference
        for reference in reversed(references)
        if 4 * counts[words := normal_words(reference)] >= most and words
    }
    return tuple(kept.values())


def _asks_yes_no(question: str, references: tuple[str, ...]) -> bool:
    opening = question.lower().split(maxsplit=1)[:1]
    return (
        opening != []
        and opening[0] in _ASKS_YES_NO
        and any(_says_yes_no(reference) for reference in references)
    )


def _says_yes_no(text: str) -> bool:
    return normal_words(text)[:1] in {("yes",), ("no",)}


def _compare(candidate: frozenset[str], reference: str) -> tuple[float, float, str]:
    wanted = content_words(reference)
    overlap = len(candidate & wanted) / len(wanted)
    return overlap, min(1.0, len(wanted) / max(1, len(candidate))), reference[:60]


def _judge_overlap(overlap: float, precision: float, rationale: str) -> Judgement:
    if overlap == 1:
        return Judgement(
            3, {"1": 0.02, "2": 0.26 - 0.2 * precision, "3": 0.70 + 0.2 * precision}, rationale
        )
    if overlap > 0:
        return Judgement(2, {"1": 0.38 * (1 - overlap), "2": 0.60, "3": 0.38 * overlap}, rationale)
    return Judgement(1, {"1": 0.90, "2": 0.06, "3": 0.02}, rationale)


_THINGS = (
    "cat dog car bicycle table chair window tree street sign cup plate person child ball "
    "boat train book clock lamp"
)
_LOOKS = "red blue green yellow white black grey brown"
_PLACES = "on the left|on the right|in the middle|in the background"


def share_borne_out(
    words: Collection[str], images: Sequence[str], description: Collection[str] | None
) -> float | None:
    """The share of `words` that the first image, or without one a description of it, bears out;
    None where there is neither.
    """
    if not words or not (images or description):
        return 0.0 if images or description else None
    if images:
        return sum(_bears_out(images[0], word) for word in words) / len(words)
    return len(set(words) & set(description or ())) / len(words)


def describe_image(image: str) -> str:
    """A description that an image's digest gives."""
    things, looks, places = _THINGS.split(), _LOOKS.split(), _PLACES.split("|")
    digest = hashlib.sha256(image.encode()).digest()
    parts = [
        f"a {looks[digest[n] % len(looks)]} {things[digest[n + 3] % len(things)]} "
        f"{places[digest[n + 6] % len(places)]}"
        for n in range(3)
    ]
    return f"The image shows {parts[0]}, {parts[1]} and {parts[2]}."


def _bears_out(image: str, word: str) -> bool:
    return hashlib.sha256((image + word).encode("utf-8", "surrogatepass")).digest()[0] % 2 == 0
