"""METEOR 1.5 (Denkowski and Lavie 2014) by the Java scorer that pycocoevalcap carries, English,
tuned for ranking, `-norm`.

A row's score is the printed one; its statistics are what the scorer counts, so a corpus score is
computed here from their sums. Tokenisation is `tasks.metrics.tokenizers`; the scorer gets tokens
joined by spaces, as pycocoevalcap gives them.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics.java import PACKAGE, find_package_file, keep_program
from judgelake.tasks.metrics.metric import Scored, Scores, Statistics
from judgelake.tasks.metrics.tokens import TokenRows

VERSION = "1.5"
PURPOSE = "METEOR"
JAR = "meteor/meteor-1.5.jar"
_ARGUMENTS = ("-", "-", "-stdio", "-l", "en", "-norm")
_SEPARATOR = "|||"

STAGES = ("exact", "stem", "synonym", "paraphrase")
_KINDS = ("answer_content", "reference_content", "answer_function", "reference_function")
STATISTICS = (
    *("answer_length", "reference_length", "answer_function_words", "reference_function_words"),
    *(f"{stage}_{kind}_matches" for stage in STAGES for kind in _KINDS),
    *("chunks", "answer_matches", "reference_matches"),
)
"""The scorer's numbers in its order, `reference` being the row's best one. A perfect match has no
chunk, as in the scorer's sums.
"""

_GREETING = (f"SING {_SEPARATOR} {' '.join(['0.0'] * len(STATISTICS))}", "0.0")
# columns of a pair's counts
_STAGES, _CHUNKS, _ANSWER_MATCHES, _REFERENCE_MATCHES = slice(4, 20), 20, 21, 22

ALPHA, BETA, GAMMA, DELTA = 0.85, 0.2, 0.6, 0.75
STAGE_WEIGHTS = (1.0, 0.6, 0.8, 0.6)
"""The paper's parameters for ranking English."""


def compute_meteor(rows: TokenRows) -> Scored:
    """Scores and statistics of answers against their references, the best reference counting; equal
    questions are asked once.
    """
    count = len(rows.answer_ids)
    scores, statistics = np.full(count, np.nan), np.zeros((count, len(STATISTICS)))
    defined = np.flatnonzero(rows.find_defined())
    places: dict[str, int] = {}
    asked = [
        places.setdefault(question, len(places)) for question in _write_questions(rows, defined)
    ]
    if asked:
        distinct = _ask_scorer(list(places))
        scores[defined], statistics[defined] = distinct.scores[asked], distinct.statistics[asked]
    return Scored(scores, statistics)


def corpus_meteor(sums: Statistics) -> Scores:
    """Corpus scores of (..., 23) sums of statistics: F-mean (1 - gamma (chunks / matches) ** beta),
    eq. 1-5 of the paper.
    """
    content, function = DELTA * np.asarray(STAGE_WEIGHTS), (1 - DELTA) * np.asarray(STAGE_WEIGHTS)
    stages = sums[..., _STAGES].reshape(*sums.shape[:-1], len(STAGES), len(_KINDS))
    lengths = DELTA * (sums[..., 0:2] - sums[..., 2:4]) + (1 - DELTA) * sums[..., 2:4]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision_recall = (content @ stages[..., 0:2] + function @ stages[..., 2:4]) / lengths
        f_mean = 1 / ((1 - ALPHA) / precision_recall[..., 0] + ALPHA / precision_recall[..., 1])
        penalty = (
            GAMMA
            * (
                sums[..., _CHUNKS]
                / ((sums[..., _ANSWER_MATCHES] + sums[..., _REFERENCE_MATCHES]) / 2)
            )
            ** BETA
        )
        return np.maximum(np.nan_to_num(f_mean * (1 - penalty), nan=0.0), 0.0)


def _write_questions(rows: TokenRows, numbers: npt.NDArray[np.int64]) -> Iterator[str]:
    """The scorer's lines for some rows. A repeated reference is no other best one, and a separator
    in a text is no separator.
    """
    words, offsets = np.array(rows.vocabulary, dtype=object)[rows.tokens], rows.offsets
    texts = [
        " ".join(words[start:end]).replace(_SEPARATOR, "").replace("  ", " ")
        for start, end in pairwise(offsets)
    ]
    for number in numbers:
        own = slice(rows.reference_offsets[number], rows.reference_offsets[number + 1])
        references = dict.fromkeys(texts[reference] for reference in rows.reference_ids[own])
        yield f" {_SEPARATOR} ".join(["SCORE", *references, texts[rows.answer_ids[number]]])


def _ask_scorer(questions: list[str]) -> Scored:
    jar = find_package_file(PURPOSE, JAR)
    program = keep_program(
        PURPOSE, ["-Xmx2G", "-jar", jar.name, *_ARGUMENTS], jar.parent, _GREETING
    )
    lines = [line.strip() for line in program.ask(questions)]
    distinct = list(dict.fromkeys(lines))
    printed = dict(
        zip(distinct, program.ask([f"SING {_SEPARATOR} {line}" for line in distinct]), strict=True)
    )
    try:
        statistics = np.array(" ".join(lines).split(), np.float64).reshape(
            len(questions), len(STATISTICS)
        )
        return Scored(
            np.array([printed[line] for line in lines], np.float64),
            _drop_perfect_chunks(statistics),
        )
    except ValueError as error:
        where = (
            f"{PURPOSE}: {JAR} answered {lines[0]!r} and {printed[lines[0]].strip()!r} to "
            f"{questions[0]!r}"
        )
        raise MetricError(
            f"{where}; expected {len(STATISTICS)} numbers and a score; reinstall {PACKAGE}"
        ) from error


def _drop_perfect_chunks(statistics: Statistics) -> Statistics:
    """One chunk that is all of both texts is no fragment, and METEOR's sums leave it out."""
    stages = statistics[:, _STAGES].reshape(-1, len(STAGES), len(_KINDS)).sum(axis=1)
    matched = stages[:, 0:2] + stages[:, 2:4]
    perfect = (matched == statistics[:, 0:2]).all(axis=1) & (statistics[:, _CHUNKS] == 1)
    statistics[perfect, _CHUNKS] = 0
    return statistics
