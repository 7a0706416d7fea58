"""Protocol `jury`: several judges of the suite as one. It asks no model: each verdict is combined
from the members' verdicts in the lake, which planning puts into the case (`tasks.planning.juries`).

Verga et al. 2024 ("Replacing Judges with Juries", PoLL) take the vote where judges say right or
wrong and the mean where they rate on a scale: `majority` and `mean` here.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Literal

from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.types import Case, Choice, Identity, Judge, Models, Seat, Verdict, Vote, Wants

VERSION = 1
Combine = Literal["mean", "median", "majority", "learnt"]


@frozen_settings
class JuryOptions:
    """`members` are two or more judges of the suite, by their names, that all score answers or all
    compare pairs. `combine` is how their scores (0-1) become one; `learnt` weighs them as people's
    labels suggest. `min_members` of them must have a verdict on a case: by default more than half.
    `criterion` is the one that is combined; by default each that all members judge, or where they
    share none, the `overall` or only criterion of each.
    """

    members: tuple[str, ...]
    combine: Combine = "mean"
    min_members: int | None = None
    criterion: str | None = None

    def __post_init__(self) -> None:
        named = ", ".join(self.members)
        if len(self.members) < 2 or len({*self.members}) < len(self.members):
            raise ValueError(
                f"members: {named or 'none'}; expected the names of two or more judges, each once"
            )
        if self.min_members is not None and not 1 <= self.min_members <= len(self.members):
            raise ValueError(
                f"min_members: {self.min_members}; expected a number from 1 to "
                f"{len(self.members)}, the number of members"
            )

    @property
    def least(self) -> int:
        """How many members must have a verdict."""
        return self.min_members or len(self.members) // 2 + 1


def list_wants(_options: JuryOptions) -> Wants:
    """Nothing of its own: what a jury judges are its members' cases (`seat_members`)."""
    return Wants(())


def seat_members(options: JuryOptions, members: Sequence[Identity]) -> Wants:
    """The cases of a jury of these judges; raises ValueError where they cannot be combined."""
    for member in members:
        if member.kind != "judge" or member.wants.unit not in ("answer", "pair"):
            raise ValueError(
                f"members: {member.alias!r} gives no scores; expected judges that score answers "
                f"or compare pairs; remove it"
            )
    units = {member.wants.unit: member.alias for member in members}
    if len(units) > 1:
        raise ValueError(
            f"members: {units['answer']!r} scores answers and {units['pair']!r} compares pairs; "
            f"expected one kind; make a jury of each"
        )
    if options.combine == "learnt" and "pair" in units:
        raise ValueError(
            "combine: learnt; expected mean, median or majority where members compare pairs "
            "(weights are learnt on people's labels of single answers)"
        )
    judged = _match_criteria(options.criterion, members)
    return Wants(
        tuple(dict.fromkeys(task for member in members for task in member.tasks)),
        unit=members[0].wants.unit,
        criteria=tuple((criterion,) for criterion in judged),
        seats=tuple(
            Seat(member.alias, member.judge_id, member.reading, own)
            for member, own in zip(members, zip(*judged.values(), strict=True), strict=True)
        ),
        quorum=options.least,
        learns=options.combine == "learnt",
    )


def _match_criteria(
    wanted: str | None, members: Sequence[Identity]
) -> Mapping[str, tuple[str, ...]]:
    """The jury's criterion -> the criterion of each member that counts for it."""
    lists = [[name for group in member.wants.criteria for name in group] for member in members]
    shared = [name for name in lists[0] if all(name in other for other in lists)]
    said = "; ".join(
        f"{member.alias}: {', '.join(names)}" for member, names in zip(members, lists, strict=True)
    )
    if wanted is not None:
        if wanted not in shared:
            raise ValueError(f"criterion: {wanted!r}; expected one that all members judge ({said})")
        return {wanted: (wanted,) * len(members)}
    if shared:
        return {name: (name,) * len(members) for name in shared}
    main = [names[0] if len(names) == 1 else "overall" for names in lists]
    if not all(name in names for name, names in zip(main, lists, strict=True)):
        raise ValueError(
            f"members: they share no criterion ({said}); expected one that all judge, or of each "
            f"`overall` or a single one"
        )
    return {"overall": tuple(main)}


def call_signature(options: JuryOptions, _models: Models) -> dict[str, object]:
    """How verdicts are combined; who the members are is added with the judge's identity."""
    return {
        "protocol": "jury",
        "version": VERSION,
        "combine": options.combine,
        "min_members": options.least,
        "criterion": options.criterion or "shared",
    }


def reading_signature(_options: JuryOptions) -> dict[str, object]:
    """Nothing is read: the rating is the score."""
    return {"reader": "jury", "version": 1, "scale": "0-1"}


def judge(case: Case, options: JuryOptions, models: Models) -> Judge:  # noqa: ARG001
    """Ask none of the models, combine the case's votes."""
    yield from ()
    return [combine_votes(case.votes, options, is_pair=case.other_answer is not None)]


def combine_votes(votes: Sequence[Vote], options: JuryOptions, is_pair: bool) -> Verdict:
    """The jury's verdict. On a pair the scores are shares of the win of b: more than half chooses
    b, less chooses a.

    A member's samples are joined by the same rule first, so that every member has one vote.
    """
    heard = [vote for vote in votes if vote.scores]
    silent = ", ".join(f"{vote.judge} ({vote.status})" for vote in votes if not vote.scores)
    if len(heard) < options.least:
        return Verdict(
            "failed",
            reason=f"{len(heard)} of {len(votes)} members have a verdict; expected at least "
            f"{options.least}; without one: {silent}",
        )
    join = _JOINS[options.combine]
    to_sides = is_pair and options.combine == "majority"
    scores = [join([*map(_find_side, vote.scores)] if to_sides else vote.scores) for vote in heard]
    shown = [f"{vote.judge} {score:.3g}" for vote, score in zip(heard, scores, strict=True)]
    if options.combine == "learnt":
        weights = [vote.weight for vote in heard if vote.weight is not None]
        if not weights:
            return Verdict("failed", reason=TOO_FEW_LABELS)
        if not sum(weights):
            return Verdict(
                "failed", reason=f"only members of weight 0 have a verdict; without one: {silent}"
            )
        shown = [f"{text} (weight {w:.3g})" for text, w in zip(shown, weights, strict=True)]
        score = sum(w * vote for w, vote in zip(weights, scores, strict=True)) / sum(weights)
    else:
        score = join(scores)
    score = round(score, _DIGITS)
    reason = f"without {silent}" if silent else None
    if is_pair:
        choice: Choice = "tie" if score == 0.5 else "b" if score > 0.5 else "a"
        return Verdict(
            "ok", choice=choice, preference_b=score, rationale=", ".join(shown), reason=reason
        )
    return Verdict("ok", score, score, rationale=", ".join(shown), reason=reason)


LEAST_LABELLED = 20
"""Answers with people's labels and all members' verdicts from which weights are learnt."""
TOO_FEW_LABELS = (
    f"weights cannot be learnt: people labelled fewer than {LEAST_LABELLED} answers to other items "
    f"that all members have a verdict on"
)
_DIGITS = 9
"""Of a score, so that a sum in another order is the same number and a half is a half."""


def _find_side(share_of_b: float) -> float:
    return 0.5 if share_of_b == 0.5 else float(share_of_b > 0.5)


def take_majority(scores: Sequence[float]) -> float:
    """The most frequent score; the mean of those that are equally frequent."""
    counts = Counter(round(score, _DIGITS) for score in scores)
    most = max(counts.values())
    return fmean(score for score, n in counts.items() if n == most)


_JOINS: Mapping[Combine, Callable[[Sequence[float]], float]] = {
    "mean": fmean,
    "median": median,
    "majority": take_majority,
    "learnt": fmean,
}

PROTOCOL = Protocol(
    "jury",
    JuryOptions,
    list_wants,
    call_signature,
    reading_signature,
    judge,
    joins=seat_members,
)
