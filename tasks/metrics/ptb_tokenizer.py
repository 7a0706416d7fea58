"""The tokens that pycocoevalcap's PTBTokenizer gives a caption: certain ones by rule, all others by
the Java program it carries.

A text's tokens do not depend on its neighbours: it is read as a line among neutral ones.
(pycocoevalcap reads all captions as one file, so that there an open tag runs into the next caption
and the end of the file changes a last `:)` or `'ll`.) All that Java takes for a line end is a
space, as `\n` is to pycocoevalcap, which loses or shifts lines at the others.

The rules are those of the lexer that pycocoevalcap runs (Stanford CoreNLP 3.4.1 in lower case, less
the punctuation that captioning drops), found by asking it about words and comparing; the tests
compare again. A string that leaves a doubt gives None.
"""

import re
from collections.abc import Sequence
from itertools import chain
from typing import cast

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics.java import find_package_file, keep_program

Tokens = tuple[str, ...]

DROPPED = frozenset(
    [
        "''",
        "'",
        "``",
        "`",
        "-LRB-",
        "-RRB-",
        "-LCB-",
        "-RCB-",
        ".",
        "?",
        "!",
        ",",
        ":",
        "-",
        "--",
        "...",
        ";",
    ]
)
"""pycocoevalcap's list. It has brackets in upper case while the tokens are in lower case, so
brackets stay.
"""

_SPLIT_WORDS: dict[str, Tokens] = {
    "cannot": ("can", "not"),
    "gimme": ("gim", "me"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "lemme": ("lem", "me"),
    "wanna": ("wan", "na"),
}
_KEEPING_PERIODS = """
    adj adm adv al ala alex apr ariz assn assoc asst atty attys aug ave bancorp bhd bldg blvd brig
    bros calif capt cf cie cmdr co col colo comdr conn corp cos cpl ct dak dec dept det dr drs
    elec ens esq est etc ext feb fla fri ft ga gen gov govs hon inc ind insp intl invt jan jos jr
    jul jun kan kans ky lieut lt ltd maj mar md messrs mich minn mlle mme mo mon mont mr mrs ms
    msgr mt natl neb nev nov oct okla penn pfc ph plc pres prof profs pvt rd rep reps rev rt sen
    sens sep sept seq sfc sgt spc sq sr st ste supt supts sys tel tenn thu thurs treas tue tues
    univ va vs vt wed wis wisc wm wyo
"""
_ABBREVIATIONS = frozenset(_KEEPING_PERIODS.split())
"""Words that keep a period behind them, wherever they stand."""
_ABBREVIATED_NAMES = frozenset(
    ["Ark", "Az", "Del", "Ill", "La", "Mass", "Miss", "Ore", "Pa", "Tex", "Wash"]
)
_ABBREVIATED_BEFORE_NUMBERS = frozenset(
    ["art", "ca", "fig", "figs", "no", "nos", "op", "pp", "prop"]
)
_ABBREVIATED_IN_SOME_CASES = frozenset(
    ["cont'd", "mfg", "mtg", "ppte", "ppty", "pte", "ptes", "pty", "ptys"]
)
_FACES = frozenset(["x-x", "x.x", "xx"])
"""With brackets around them these are one token, a face."""

# a word with quotation marks or a parenthesis before it and punctuation after it
_CHUNK = re.compile(
    r"""(?P<open>["“(]?)(?P<core>[^\W_].*?|\$.+?)(?P<tail>\.\.\.|[.,!?]?["”)][.,!?;:]?|[.,!?;:]?)""",
    re.DOTALL,
)
# letters alone: `naïve`
_WORD = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿ]+")
# stays one token: `well-known`, `and/or`, `3.14`, `10:30`
_WHOLE = re.compile(
    r"[A-Za-z0-9]+(?:(?:-[A-Za-z0-9]+)*|(?:/[A-Za-z0-9]+){1,2})|[0-9]+(?:[.,:][0-9]+)+"
)
# `U.S` of `U.S.`, whose last full stop is in the tail
_ACRONYM = re.compile(r"[A-Za-z](?:\.[A-Za-z])+")
# becomes two tokens: `dog's`, `I'm`, `don't`, `$5`, `50%`
_PAIR = re.compile(
    r"""
    ([a-z0-9]+(?:-[a-z0-9]+)*)('s)
    |([a-z]+)('(?:[md]|re|ve|ll))
    |([a-z]*[a-mo-z])(n't)
    |(\$)([0-9]+(?:[.,][0-9]+)*)
    |([0-9]+(?:[.,][0-9]+)*)(%)
    """,
    re.VERBOSE,
)
# `dogs'`
_PLURAL_OWNER = re.compile(r"[a-z]+s'")

_ALONE: dict[str, Tokens] = {
    **dict.fromkeys(["", *".,:;!?-'", "--", "...", '"', "“", "”"], ()),
    **{
        mark: (mark,)
        for mark in ("&", "%", "+", "=", "/", "$", "'s", "'m", "'d", "'re", "'ve", "'ll", "n't")
    },
    "(": ("-lrb-",),
    ")": ("-rrb-",),
}

# cheap tests before the exact ones below: `. A`, `. 5`; `3 1`
_SUSPECT_PERIOD, _SUSPECT_NUMBERS = re.compile(r"\. *[0-9A-Z]"), re.compile(r"[0-9]\)? +[0-9]")
# `J. Smith`, `No. 5`: the full stop belongs to the word before it
_ABBREVIATION_OF_NEXT = re.compile(
    rf"\b(?:[A-Za-z]\. +[A-Z]|(?i:{'|'.join(sorted(_ABBREVIATED_BEFORE_NUMBERS))})\. *[0-9])"
)
# `3 1/2` and `555 123`, which the tokenizer joins
_FRACTION_OR_PHONE = re.compile(r"[0-9]\)? +(?:[0-9]{3}|[0-9]{1,2}/)")


class _Chunks(dict[str, Tokens | None]):
    """Tokens of what stands between two spaces, read when first asked for and kept for later
    texts.
    """

    def __missing__(self, chunk: str) -> Tokens | None:
        tokens = read_chunk(chunk)
        if len(self) >= _CHUNKS_KEPT:
            self.clear()
        if len(chunk) <= _LETTERS_KEPT:
            self[chunk] = tokens
        return tokens


# split chunks that are remembered, and the longest of them in letters
_CHUNKS_KEPT, _LETTERS_KEPT = 1 << 18, 64
_chunks = _Chunks()


def split_certain(texts: Sequence[str]) -> list[list[str] | None]:
    """Tokens of each text, None where only the Java program is certain."""
    return [_split_text(text) for text in texts]


def _split_text(text: str) -> list[str] | None:
    chunks = list(map(_chunks.__getitem__, text.split(" ")))
    if None in chunks or _joins_chunks(text):
        return None
    return list(chain.from_iterable(cast("list[Tokens]", chunks)))


def _joins_chunks(text: str) -> bool:
    """Whether a rule of the lexer may look across a space: `no. 5`, `A. The`, `1 1/2`, `(555)
    1234`.
    """
    if _SUSPECT_PERIOD.search(text) and _ABBREVIATION_OF_NEXT.search(text):
        return True
    return bool(_SUSPECT_NUMBERS.search(text) and _FRACTION_OR_PHONE.search(text))


def read_chunk(chunk: str) -> Tokens | None:
    """Tokens of a text without spaces, None where they are not certain."""
    if chunk in _ALONE:
        return _ALONE[chunk]
    parts = _CHUNK.fullmatch(chunk.replace("’", "'"))
    if parts is None:
        return None
    opening, core, tail = parts.groups()
    tokens = _read_with_period(core, tail) if tail.startswith(".") else _read_core(core)
    if (
        tokens is None
        or (core.endswith("'") and len(tail) > 1)
        or (opening == "(" and core.lower() in _FACES)
    ):
        return None
    return (*_ALONE[opening], *tokens, *(("-rrb-",) if ")" in tail else ()))


def _read_core(core: str) -> Tokens | None:
    lowered = core.lower()
    if _WORD.fullmatch(core):
        return _SPLIT_WORDS.get(lowered, (lowered,))
    if _WHOLE.fullmatch(core) or _ACRONYM.fullmatch(core):
        return (lowered,)
    if not core.isascii():
        return None
    pair = _PAIR.fullmatch(lowered)
    if pair:
        return tuple(filter(None, pair.groups()))
    return (lowered[:-1],) if _PLURAL_OWNER.fullmatch(lowered) else None


def _read_with_period(core: str, tail: str) -> Tokens | None:
    """A period belongs to an abbreviation, an initial and an acronym; elsewhere it is dropped."""
    lowered = core.lower()
    keeps = (
        lowered in _ABBREVIATIONS
        or (core.title() in _ABBREVIATED_NAMES and core[0].isupper())
        or (len(core) == 1 and core.isalpha() and core.isascii())
    )
    if lowered in _ABBREVIATED_IN_SOME_CASES or (keeps and tail == "..."):
        return None
    return (f"{lowered}.",) if keeps or _ACRONYM.fullmatch(core) else _read_core(core)


PURPOSE = "PTB tokens"
JAR = "tokenizer/stanford-corenlp-3.4.1.jar"
_PROGRAM = ("edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase")

# what Java takes for the end of a line
_LINE_END = re.compile("[\n\r\x0b\x0c\u2028\u2029]")
_NEUTRAL, _NEUTRAL_TOKENS = "x \"|'|", "x '' | ' |"
"""Begins like no sentence, number or abbreviation's noun, and closes the quotes of a tag that the
text before left open.
"""
_PADDING = ["x" * 1000] * 48
"""More than the 24 KiB that the program's three writers hold back between them."""


def tokenise_ptb(texts: Sequence[str]) -> list[list[str]]:
    """Tokens of each text; Java is started by the first text that needs it."""
    lines = [_LINE_END.sub(" ", text) for text in texts]
    tokenised = split_certain(lines)
    asked = [place for place, tokens in enumerate(tokenised) if tokens is None]
    for place, tokens in zip(
        asked, ask_java([lines[place] for place in asked]) if asked else [], strict=True
    ):
        tokenised[place] = tokens
    return cast("list[list[str]]", tokenised)


def ask_java(lines: Sequence[str]) -> list[list[str]]:
    """Tokens of lines by the Java program, whether or not the rules know them."""
    jar = find_package_file(PURPOSE, JAR)
    program = keep_program(
        PURPOSE, ["-cp", str(jar), *_PROGRAM], jar.parent, (_NEUTRAL, _NEUTRAL_TOKENS)
    )
    answers = program.ask([line for text in lines for line in (text, _NEUTRAL)], _PADDING)
    if any(answer.rstrip() != _NEUTRAL_TOKENS for answer in answers[1::2]):
        raise MetricError(
            f"{PURPOSE}: an answer of {JAR} is out of place; expected one line a text; report "
            f"the texts"
        )
    return [
        [token for token in answer.rstrip().split(" ") if token and token not in DROPPED]
        for answer in answers[::2]
    ]
