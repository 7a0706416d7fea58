"""The tokens that pycocoevalcap's PTBTokenizer gives a caption: certain ones by rule, all others by the Java program it carries.

A text's tokens do not depend on its neighbours: it is read as a line among neutral ones. (pycocoevalcap reads all captions as
one file, so that there an open tag runs into the next caption and the end of the file changes a last `:)` or `'ll`.) All that
Java takes for a line end is a space, as `\\n` is to pycocoevalcap, which loses or shifts lines at the others.
"""

import re
from collections.abc import Sequence
from typing import cast

from tasks.errors import MetricError
from tasks.metrics.java import find_package_file, keep_program
from tasks.metrics.ptb_rules import DROPPED, split_certain

PURPOSE = "PTB tokens"
JAR = "tokenizer/stanford-corenlp-3.4.1.jar"
_PROGRAM = ("edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase")

_LINE_END = re.compile("[\n\r\x0b\x0c\u2028\u2029]")
_NEUTRAL, _NEUTRAL_TOKENS = "x \"|'|", "x '' | ' |"
"""Begins like no sentence, number or abbreviation's noun, and closes the quotes of a tag that the text before left open."""
_PADDING = ["x" * 1000] * 48
"""More than the 24 KiB that the program's three writers hold back between them."""


def tokenise_ptb(texts: Sequence[str]) -> list[list[str]]:
    """Tokens of each text; Java is started by the first text that needs it."""
    lines = [_LINE_END.sub(" ", text) for text in texts]
    found = split_certain(lines)
    asked = [place for place, tokens in enumerate(found) if tokens is None]
    for place, tokens in zip(asked, ask_java([lines[place] for place in asked]) if asked else [], strict=True):
        found[place] = tokens
    return cast("list[list[str]]", found)


def ask_java(lines: Sequence[str]) -> list[list[str]]:
    """Tokens of lines by the Java program, whether or not the rules know them."""
    jar = find_package_file(PURPOSE, JAR)
    program = keep_program(PURPOSE, ["-cp", str(jar), *_PROGRAM], jar.parent, (_NEUTRAL, _NEUTRAL_TOKENS))
    answers = program.ask([line for text in lines for line in (text, _NEUTRAL)], _PADDING)
    if any(answer.rstrip() != _NEUTRAL_TOKENS for answer in answers[1::2]):
        raise MetricError(f"{PURPOSE}: an answer of {JAR} is out of place; expected one line a text; report the texts")
    return [[token for token in answer.rstrip().split(" ") if token and token not in DROPPED] for answer in answers[::2]]
