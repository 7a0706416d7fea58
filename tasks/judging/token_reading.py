"""What the probabilities of tokens say: the shares of levels or choices at one position of a reply,
and where in it a rating stands.

Texts are read in `tasks.judging.reading`; what a share means for a score is each protocol's matter.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judgelake.tasks.types import TokenLogprobs

_SPACES = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})
"""How tokenisers spell a blank and a line's end."""
_EMPHASIS = "*_ "
_AROUND_VALUE = ' \n\t"{},:'
"""What a token may hold beside the value of a field in JSON."""
_ROUNDING = 1e-6
"""A probability of 1 may come out as much above 0 in single precision."""


def round_single(value: float) -> float:
    """The nearest number of single precision, at most 6e-8 of `value` away.

    The log-probabilities that endpoints give are no more precise, and repeat far less so; in the
    lake it takes half the bytes.
    """
    return float(struct.unpack("f", struct.pack("f", value))[0])


class TokenShares(NamedTuple):
    """The probability of each label, renormalised to 1, and what they held together before
    (`captured_mass`).
    """

    probabilities: dict[str, float]
    captured_mass: float

    @property
    def mean(self) -> float:
        """The expected level, of labels that are numbers: the sum of level x probability, in single
        precision.
        """
        levels = [float(label) for label in self.probabilities]
        mean = math.fsum(
            level * share for level, share in zip(levels, self.probabilities.values(), strict=True)
        )
        return round_single(
            min(max(levels), max(min(levels), mean))
        )  # rounding may step over an end


class ChoiceRead(NamedTuple):
    """The share of the second of two choices, and what both held together."""

    share_second: float
    captured_mass: float


def are_probabilities(position: TokenLogprobs) -> bool:
    """Whether log-probabilities can be such: one above 0 is none, and casts doubt on those beside
    it.
    """
    return all(logprob <= _ROUNDING for _, logprob in position if not math.isnan(logprob))


def read_token_shares(position: TokenLogprobs, labels: Iterable[str]) -> TokenShares | None:
    """The shares of `labels` at one position, a label's variants (`5`, ` 5`) summed; None where
    none of them is among the alternatives, or where these are no probabilities.
    """
    if not are_probabilities(position):
        return None
    mass = dict.fromkeys(labels, 0.0)
    for token, logprob in position:
        label = token.translate(_SPACES).strip()
        if label in mass and not math.isnan(logprob):
            mass[label] += math.exp(min(0.0, logprob))
    total = math.fsum(mass.values())
    if total <= 0:
        return None
    return TokenShares({label: value / total for label, value in mass.items()}, min(1.0, total))


def read_choice_probability(position: TokenLogprobs, first: str, second: str) -> ChoiceRead | None:
    """P(second) / (P(first) + P(second)) of two tokens as they are spelled, None where neither is
    among the alternatives.

    AlpacaEval's weighted preference is 1 + this share; its tokens `m` and `M` differ in case only,
    and ` M` is neither.
    """
    if not are_probabilities(position):
        return None
    mass = {first: 0.0, second: 0.0}
    for token, logprob in position:
        if token in mass and not math.isnan(logprob):
            mass[token] = math.exp(min(0.0, logprob))
    total = mass[first] + mass[second]
    return None if total <= 0 else ChoiceRead(mass[second] / total, min(1.0, total))


def find_position(text: str, positions: Sequence[TokenLogprobs], offset: int) -> int | None:
    """Which position holds the character `text[offset]`, found from the end with each position's
    likeliest token; None where they part ways.

    The likeliest token is the chosen one of a greedy reply. Tokens after the text (blanks, `</s>`
    and the like) are passed over.
    """
    end = len(text.rstrip())
    at_end = end
    for index in range(len(positions) - 1, -1, -1):
        token = find_likeliest(positions[index])
        piece = token.rstrip() if end == at_end else token
        if piece and text.endswith(piece, 0, end):
            end -= len(piece)
        elif piece and piece.lstrip() == text[:end].lstrip():
            end = 0
        elif end != at_end or not (piece == "" or (piece[0] == "<" and piece[-1] == ">")):
            return None
        if end <= offset < at_end:
            return index
    return None


def weigh_labels(position: TokenLogprobs, labels: Sequence[str]) -> dict[str, float]:
    """The probability of each label at the position where it begins: of the tokens that are it, or
    that begin it and no other label.
    """
    mass = dict.fromkeys(labels, 0.0)
    for token, logprob in position:
        piece = token.translate(_SPACES).strip(_AROUND_VALUE)
        begun = [label for label in labels if piece and label.startswith(piece)]
        if len(begun) == 1 and not math.isnan(logprob):
            mass[begun[0]] += math.exp(min(0.0, logprob))
    return mass


def walk_tokens(text: str, positions: Sequence[TokenLogprobs], offset: int) -> TokenLogprobs | None:
    """The position that holds `text[offset]` or, where this is blank, what follows; None where text
    and tokens part ways. At each position the likeliest token that fits the text was chosen.
    """
    offset += len(text[offset:]) - len(text[offset:].lstrip())
    at = 0
    for position in positions:
        tokens = (token.translate(_SPACES) for token, _ in sorted(position, key=lambda p: -p[1]))
        chosen = next((token for token in tokens if token and text.startswith(token, at)), None)
        if chosen is None and at == 0:  # endpoints leave out blanks before a reply
            chosen = next(
                (
                    token.lstrip()
                    for token, _ in position
                    if token.strip() and text.startswith(token.lstrip())
                ),
                None,
            )
        if chosen is None:
            return None
        at += len(chosen)
        if at > offset:
            return position
    return None


def find_likeliest(position: TokenLogprobs) -> str:
    """The likeliest token at one position, blanks spelled as such: the chosen one of a greedy
    reply; '' of no alternatives.
    """
    return max(position, key=lambda pair: pair[1], default=("", 0.0))[0].translate(_SPACES)


def find_opening(text: str, positions: Sequence[TokenLogprobs]) -> int | None:
    """Which position holds the first character of `text` that is no blank and no Markdown emphasis;
    None where text and tokens part ways.

    Tokens of blanks and emphasis alone say nothing about a verdict and are passed over (LLaMA's
    tokeniser sends a blank of its own before a digit), also those blanks that an endpoint left out
    of the text. Of several alternatives that fit the text, the likeliest was chosen.
    """
    rest = text.lstrip()
    for index, position in enumerate(positions):
        tokens = [
            token.translate(_SPACES).strip()
            for token, _ in sorted(position, key=lambda pair: -pair[1])
        ]
        chosen = next((token for token in tokens if rest.startswith(token)), None)
        if chosen is None:
            return None
        if chosen.strip(_EMPHASIS):
            return index
        rest = rest.removeprefix(chosen).lstrip()
    return None
