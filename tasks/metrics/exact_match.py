"""Exact match with any reference under the normaliser of SQuAD (Rajpurkar et al. 2016)."""

import re
import string

import numpy as np
import pyarrow as pa

from tasks.metrics.pairs import Scores, pair_answers
from tasks.metrics.vqa_accuracy import count_matches

SIGNATURE = "exact_match|normalizer:squad|references:any|version:1"

_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def compute_exact_match(answers: pa.Array, references: pa.ListArray) -> Scores:
    """Score 1 where the normalised answer equals a normalised reference, else 0."""
    raw = pair_answers(answers, references)
    pairs = raw.renumber([normalise_squad(text) for text in raw.strings])
    return np.where(pairs.count_by_row() > 0, count_matches(pairs) > 0, np.nan)


def normalise_squad(text: str) -> str:
    """Lower case, then no ASCII punctuation, no English articles, single spaces."""
    bare = text.lower().translate(_DROP_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())
