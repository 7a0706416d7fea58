"""The first screen's three answers in a few sentences each: whom to trust, which model leads, what
changed or is wrong. The tables under them have the rest.

Pure: what the page knows of each benchmark in, sentences out. Names stand between backticks. A
question about which nothing is known has no answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from judgelake.tasks.reports.page.concerns import Changes
from judgelake.tasks.reports.page.parts import BenchmarkPart
from judgelake.tasks.reports.page.trust import Trust

_SENTENCES, _NAMES, _MOVED = 6, 4, 3


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """One question, the place of the page that says more ('': none), and its sentences."""

    question: str
    place: str
    sentences: tuple[str, ...]


def answer_questions(
    parts: Sequence[BenchmarkPart], concerns: Sequence[str], changes: Changes | None
) -> list[FirstAnswer]:
    """The questions that have an answer here."""
    several = len(parts) > 1
    trusted = [line for part in parts for line in _say_trust(part, several=several)]
    ranked = [line for part in parts for line in _say_ranking(part, several=several)]
    changed = [*_say_changes(changes), *concerns]
    has_trust = any(part.trust for part in parts)
    answers = (
        ("Can I trust the judges?", "trust" if has_trust else "", trusted),
        ("How do the models rank?", "ranking", ranked),
        ("What changed, or is wrong?", "changed", changed),
    )
    return [
        FirstAnswer(question, place, _cut([line[0].upper() + line[1:] for line in said]))
        for question, place, said in answers
        if said
    ]


def _cut(sentences: Sequence[str]) -> tuple[str, ...]:
    shown = tuple(sentences[:_SENTENCES])
    left = len(sentences) - len(shown)
    return (*shown, f"And {left} more below.") if left else shown


def _say_trust(part: BenchmarkPart, *, several: bool) -> Iterator[str]:
    where = f"On {_name(part.name)}: " if several else ""
    known = [line for line in part.trust if line.value is not None]
    if known:
        people = part.against or "people"
        doubted = [line for line in known if line.low is not None and line.low <= 0]
        first = next((line for line in known if line not in doubted), None)
        if first is not None and first is not known[0]:
            yield f"{where}of those surely better than chance, closest is {_measure(first)}."
        elif first is not None:
            words = "; ".join(first.verdicts).removeprefix("the highest, but ")
            yield f"{where}the highest agreement with {people} is {_measure(first)}: {words}."
        if doubted:
            yield (
                f"{where}do not trust {_list([_measure(line) for line in doubted])}: "
                f"{'its' if len(doubted) == 1 else 'their'} agreement may be chance, or is below 0."
            )
    elif part.trust:
        yield f"{where}no agreement with people is defined: too few answers, or equal scores."
    elif part.n_rated == 0 and part.lines:
        yield f"{where}no human ratings in this lake: nothing says how far to trust its judges."
    elif part.duels:
        yield f"{where}only judges compared these pairs: nothing says how far to trust them."
    elif part.lines:
        yield f"{where}people rated {part.n_rated:,} answers, but no correlation is computed yet."
    else:
        rated = f"people rated {part.n_rated:,} answers, but " if part.n_rated else ""
        yield f"{where}{rated}nothing has been scored yet."


def _measure(line: Trust) -> str:
    value = f"{_name(line.judge)} {line.value:.2f}"
    if line.low is None or line.high is None:
        return value
    return f"{value} ({line.low:.2f} to {line.high:.2f})"


def _say_ranking(part: BenchmarkPart, *, several: bool) -> Iterator[str]:
    where, judge = f"On {_name(part.name)}, " if several else "", part.ranked_by
    if part.duels:
        duel = next((duel for duel in part.duels if duel.is_people), part.duels[0])
        rows = sorted(duel.ratings.values(), key=lambda row: (row["rank"], row["model"]))
        leading = [row["model"] for row in rows if (row["rank_low"] or 1) == 1]
        by = "people’s choices" if duel.is_people else f"the choices of {_name(duel.rater)}"
        n_models, judge = len(rows), duel.rater
    else:
        leading = [line.model or "not named" for line in part.ranking if line.first_place == 1]
        by, n_models = f"the mean of {_name(part.ranked_by)}", len(part.ranking)
    if n_models < 2:
        return
    if len(leading) == 1:
        itself = "; it is the judge itself" if leading[0] == judge else ""
        best = f"{_name(leading[0])} is surely the best of {n_models} models"
        yield f"{where}by {by}, {best}{itself}."
    else:
        yield (
            f"{where}by {by}, no model is surely the best of {n_models}: it may be "
            f"{_list([_name(model) for model in leading], 'or')}."
        )


def _say_changes(changes: Changes | None) -> Iterator[str]:
    if changes is None:
        return
    moved, n = changes.moved, len(changes.rows)
    if n:
        yield (
            f"{len(moved) or 'None'} of {n:,} figures moved by more than chance since "
            f"{changes.name_base()}."
        )
    for row in moved[:_MOVED]:
        model = "" if row["model"] == "*" else f", {_name(row['model'])}"
        digits = 0 if row["figure"] == "rating" else 3
        yield (
            f"{row['figure'].capitalize()} of {_name(row['judge'])} on {_name(row['benchmark'])}"
            f"{model}: {row['base_value']:.{digits}f} → {row['value']:.{digits}f}."
        )
    yield from changes.come_and_gone


def _name(name: str) -> str:
    return f"`{name.replace('`', chr(39))}`"


def _list(names: Sequence[str], word: str = "and") -> str:
    """`a, b and c`, or the first of many."""
    if len(names) > _NAMES:
        return f"{', '.join(names[:_NAMES])} {word} {len(names) - _NAMES} more"
    return f" {word} ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
