"""The kinds of values that arguments of the command take."""

import argparse


def count(text: str) -> int:
    """A whole number from 0."""
    return 0 if text == "0" else positive(text)


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number from 1")
    return int(text)


def seconds(text: str) -> float:
    """A whole number of seconds from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number of seconds from 0")
    return float(text)
