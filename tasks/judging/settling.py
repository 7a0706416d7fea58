"""What a protocol returned, made fit for the lake: one verdict for each criterion of the case, and none that breaks the contract.

A protocol's mistake costs its case a verdict, with a reason, and never the shard. Probabilities are kept in single precision: whether they
hold mass enough, and what is computed from them, the protocol has decided before.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from tasks.judging.token_reading import round_single
from tasks.judging.types import Case, Verdict
from tasks.judging.wants import Unit

PREFERENCES: Mapping[str, float] = {"a": 0.0, "b": 1.0, "tie": 0.5}


def settle_verdicts(case: Case, verdicts: list[Verdict], unit: Unit) -> list[Verdict]:
    """One verdict a criterion; a verdict that names none is about every criterion of the case that has no verdict of its own."""
    criteria = case.criteria or (case.criterion,)
    named = {verdict.criterion: verdict for verdict in verdicts if verdict.criterion is not None}
    about_all = next((verdict for verdict in verdicts if verdict.criterion is None), None)
    silent = about_all or Verdict("failed", reason="the protocol gave no verdict about this criterion")
    return [_settle(_round(replace(named.get(criterion, silent), criterion=criterion)), unit) for criterion in criteria]


def _round(verdict: Verdict) -> Verdict:
    shares, mass = verdict.probabilities, verdict.captured_mass
    return replace(
        verdict,
        probabilities=None if shares is None else {level: round_single(share) for level, share in shares.items()},
        captured_mass=None if mass is None else round_single(mass),
    )


def _settle(verdict: Verdict, unit: Unit) -> Verdict:
    if verdict.status != "ok":
        return replace(
            verdict, rating=None, score_0_1=None, choice=None, preference_b=None, score_a=None, score_b=None, text=None
        )
    wrong = _find_wrong(verdict, unit)
    if wrong is not None:
        return Verdict("failed", criterion=verdict.criterion, rationale=verdict.rationale, reason=f"the protocol gave {wrong}")
    if verdict.choice is not None and verdict.preference_b is None:
        return replace(verdict, preference_b=PREFERENCES[verdict.choice])
    return verdict


def _find_wrong(verdict: Verdict, unit: Unit) -> str | None:
    if unit == "image":
        return None if verdict.text else "no caption"
    if unit in ("pair", "feedback"):
        share = 0.5 if verdict.preference_b is None else verdict.preference_b
        return None if verdict.choice in PREFERENCES and 0 <= share <= 1 else f"the choice {verdict.choice!r} ({share})"
    score, rating = verdict.score_0_1, verdict.rating
    if score is None or rating is None or not (0 <= score <= 1 and math.isfinite(rating)):
        return f"the rating {rating} and the score {score}, which is not in [0, 1]"
    return None
