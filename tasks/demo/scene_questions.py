"""Questions about scenes of shapes: colour, shape, count, place, yes or no, and phrases that name
the object in a box.

Captions of scenes are in `tasks.demo.captions`, charts and panels in
`tasks.demo.reading_questions`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judgelake.tasks.demo.questions import Question, RightSayings, list_foils, sort_sayings
from judgelake.tasks.demo.words import (
    COLOURS,
    PLACES,
    SHAPES,
    misname_number,
    name_number,
    pick,
    pick_distinct,
    with_article,
)
from judgelake.tasks.demo.world import Scene, Thing

_ALL_PLACES = tuple(place for row in PLACES for place in row)
_GROUPS = {
    1: "a single one",
    2: "a pair",
    3: "a trio",
    4: "a foursome",
    5: "a group of five",
    6: "half a dozen",
}
_USUAL_COUNTS = (1, 1, 1, 2, 2, 3)
"""Numbers of things alike, about as often as scenes have them."""


@dataclass(frozen=True, slots=True)
class Description:
    """A phrase about a thing, by what it says; None leaves that unsaid."""

    size: str | None = None
    colour: str | None = None
    shape: str | None = None
    place: str | None = None

    def list_words(self) -> Sequence[tuple[str, str]]:
        """What it says, as (attribute, word), in the order of its phrase."""
        names = ("size", "colour", "shape", "place")
        return [(name, getattr(self, name)) for name in names if getattr(self, name)]

    def fits(self, thing: Thing) -> bool:
        """Whether all that it says is true of the thing."""
        return all(getattr(thing, name) == word for name, word in self.list_words())

    def phrase(self) -> str:
        """The words: the small red circle in the top left."""
        words = [word for word in (self.size, self.colour, self.shape or "shape") if word]
        return f"the {' '.join(words)}" + (f" in the {self.place}" if self.place else "")


def ask_scene(rng: np.random.Generator, scene: Scene) -> list[Question]:
    """Two visual questions of different kinds and one referring question."""
    kinds = pick_distinct(rng, (_ask_colour, _ask_shape, _ask_count, _ask_place, _ask_whether), 2)
    return [*(kind(rng, scene) for kind in kinds), ask_referring(rng, scene)]


def describe_uniquely(scene: Scene, thing: Thing, hidden: str = "") -> Description:
    """The shortest description that fits this thing alone, without saying what is `hidden`; every
    place holds one thing at most.
    """
    words = {
        name: getattr(thing, name)
        for name in ("shape", "colour", "size", "place")
        if name != hidden
    }
    names = tuple(words)
    tries = [names[:1], names[:2], names[:3], ("shape", "place"), ("place",)]
    phrases = (
        Description(**{name: words[name] for name in some if name in words}) for some in tries
    )
    return next(phrase for phrase in phrases if _is_unique(scene, phrase))


def ask_referring(rng: np.random.Generator, scene: Scene) -> Question:
    """Name the object in a box: right if the phrase fits it alone, half right if it fits others
    too, wrong if it does not fit.
    """
    thing = pick(rng, scene.things)
    full = Description(thing.size, thing.colour, thing.shape, thing.place)
    unplaced = replace(full, place=None)
    shorter = [
        Description(),
        Description(shape=thing.shape),
        Description(colour=thing.colour),
        replace(unplaced, size=None),
    ]
    shorter += [replace(unplaced, colour=None), replace(unplaced, shape=None), unplaced]
    placed = [
        full,
        replace(full, size=None),
        replace(full, size=None, colour=None),
        replace(full, size=None, shape=None),
    ]
    colour = pick(rng, [other for other in COLOURS if other != thing.colour])
    shape = pick(rng, [other for other in SHAPES if other != thing.shape])
    changed = [
        replace(full, colour=colour),
        replace(full, shape=shape),
        replace(full, place=_move(rng, thing)),
    ]
    others = [other for other in scene.things if other != thing]
    sayings = sort_sayings(
        usual=[phrase.phrase() for phrase in (*placed, *shorter) if _is_unique(scene, phrase)],
        unusual=_rephrase(thing),
        partly=[phrase.phrase() for phrase in shorter if not _is_unique(scene, phrase)],
        alike=[phrase.phrase() for phrase in changed],
        wrong=[
            Description(other.size, other.colour, other.shape, other.place).phrase()
            for other in others
        ],
    )
    return Question(
        "referring",
        "object",
        "Name the object in the marked box so that it cannot be mistaken for another.",
        "the box marks {}",
        sayings,
        thing.box,
    )


def _is_unique(scene: Scene, phrase: Description) -> bool:
    return sum(phrase.fits(thing) for thing in scene.things) == 1


def _rephrase(thing: Thing) -> list[str]:
    place = thing.place.replace("top", "upper").replace("bottom", "lower")
    colours, shapes = COLOURS[thing.colour].other, SHAPES[thing.shape].other
    return [f"the {colour} {shape}, {place} part" for colour in colours for shape in shapes]


def _move(rng: np.random.Generator, thing: Thing) -> str:
    """Another place that shares a word with the thing's own, where there is one."""
    others = [place for place in _ALL_PLACES if place != thing.place]
    return pick(
        rng, [place for place in others if set(place.split()) & set(thing.place.split())] or others
    )


def sort_things(things: Iterable[Thing]) -> list[Thing]:
    """Row by row, each from left to right."""
    return sorted(things, key=lambda thing: (thing.row, thing.column))


def list_things(things: Iterable[Thing]) -> str:
    """Where these things are and what they look like, row by row."""
    seen = [
        f"{thing.place} {thing.size} {thing.colour} {thing.shape}" for thing in sort_things(things)
    ]
    return ", ".join(seen) or "nothing"


def _compare(scene: Scene, asked: Description) -> str:
    """All things of a scene, each with the asked words up to the first that is not true of it, and
    those of which all are true.
    """
    seen = [
        f"{list_things([thing])} ({', '.join(_compare_words(thing, asked))})"
        for thing in sort_things(scene.things)
    ]
    meant = list_things([thing for thing in scene.things if asked.fits(thing)])
    return f"The picture shows {', '.join(seen)}. The question is about {meant}."


def _compare_words(thing: Thing, asked: Description) -> Iterator[str]:
    for name, word in asked.list_words():
        is_true = getattr(thing, name) == word
        yield f"{word} {'yes' if is_true else 'no'}"
        if not is_true:
            return


def _say_colour(name: str) -> RightSayings:
    colour = COLOURS[name]
    usual = (name, colour.specific, *(["gray"] if name == "grey" else []))
    return RightSayings(usual, colour.other)


def _ask_colour(rng: np.random.Generator, scene: Scene) -> Question:
    thing = pick(rng, scene.things)
    colour, asked = COLOURS[thing.colour], describe_uniquely(scene, thing, hidden="colour")
    name = asked.phrase()
    sayings = sort_sayings(
        *_say_colour(thing.colour),
        partly=[colour.vague],
        alike=[f"not {thing.colour}", colour.alike],
        wrong=pick_distinct(rng, [other for other in COLOURS if other != thing.colour], 4),
    )
    return Question(
        "vqa",
        "colour",
        f"What colour is {name}?",
        f"{name} is {{}} to my eye",
        sayings,
        foils=list_foils(sayings, map(_say_colour, COLOURS)),
        evidence=_compare(scene, asked),
    )


def _ask_shape(rng: np.random.Generator, scene: Scene) -> Question:
    thing = pick(rng, scene.things)
    shape, asked = SHAPES[thing.shape], describe_uniquely(scene, thing, hidden="shape")
    name = asked.phrase()
    sayings = sort_sayings(
        shape.usual,
        shape.other,
        shape.vague,
        shape.alike,
        [other for other in SHAPES if other != thing.shape],
    )
    others = [RightSayings(other.usual, other.other) for other in SHAPES.values()]
    return Question(
        "vqa",
        "shape",
        f"What kind of shape is {name}?",
        f"I would call {name} this: {{}}",
        sayings,
        foils=list_foils(sayings, others),
        evidence=_compare(scene, asked),
    )


def _say_count(count: int, noun: str) -> RightSayings:
    usual = (str(count), name_number(count), f"{count} {noun}{'s' if count > 1 else ''}")
    return RightSayings(usual, (_GROUPS[count], f"{name_number(count)} in all"))


def _ask_count(rng: np.random.Generator, scene: Scene) -> Question:
    thing = pick(rng, scene.things)
    by_colour = bool(rng.integers(2))
    noun = f"{thing.colour} shape" if by_colour else thing.shape
    asked = Description(colour=thing.colour) if by_colour else Description(shape=thing.shape)
    count = sum(asked.fits(other) for other in scene.things)
    sayings = sort_sayings(
        *_say_count(count, noun),
        partly=["at least one"]
        if count == 1
        else ["more than one", "a few", f"at least {name_number(count - 1)}"],
        alike=misname_number(count),
        wrong=[
            str(count + 1),
            str(count + 2),
            name_number(count + 1),
            "none",
            *([str(count - 1)] if count > 1 else []),
        ],
    )
    return Question(
        "vqa",
        "count",
        f"How many {noun}s are in the picture?",
        f"counting the {noun}s I get {{}}",
        sayings,
        foils=list_foils(sayings, [_say_count(other, noun) for other in _USUAL_COUNTS]),
        evidence=_compare(scene, asked),
    )


def _say_place(place: str) -> RightSayings:
    usual = (place, f"in the {place}", *(["center", "in the middle"] if place == "centre" else []))
    down, _, across = place.partition(" ")
    aside = {"left": "leftmost third", "right": "rightmost third"}.get(across, "central third")
    height = {"top": "upper", "bottom": "lower"}.get(down, "middle")
    return RightSayings(usual, (f"{height} row, {aside}",))


def _ask_place(rng: np.random.Generator, scene: Scene) -> Question:
    nameable = _nameable(scene)
    if not nameable:
        return _ask_colour(rng, scene)
    thing = pick(rng, nameable)
    asked = describe_uniquely(scene, thing, hidden="place")
    name = asked.phrase()
    place = thing.place
    down, _, across = place.partition(" ")
    parts = (
        ["in the middle row", "away from the corners"]
        if down in ("centre", "middle")
        else [f"at the {down}"]
    )
    parts += [f"on the {across}"] if across in ("left", "right") else ["in the middle column"]
    others = [other for other in _ALL_PLACES if other != place]
    sayings = sort_sayings(
        *_say_place(place),
        partly=parts,
        alike=[f"not the {place}", _move(rng, thing)],
        wrong=[other for other in others if not set(other.split()) & set(place.split())],
    )
    return Question(
        "vqa",
        "place",
        f"Where in the picture is {name}?",
        f"{name} is to be found here: {{}}",
        sayings,
        foils=list_foils(sayings, map(_say_place, _ALL_PLACES)),
        evidence=_compare(scene, asked),
    )


def _nameable(scene: Scene) -> Sequence[Thing]:
    """Things that a description without their place fits alone; none where each has a twin."""
    return [
        thing
        for thing in scene.things
        if _is_unique(scene, Description(thing.size, thing.colour, thing.shape))
    ]


def _ask_whether(rng: np.random.Generator, scene: Scene) -> Question:
    kinds = {(thing.colour, thing.shape) for thing in scene.things}
    absent = sorted({(colour, shape) for colour, _ in kinds for _, shape in kinds} - kinds)
    truth = bool(rng.integers(2)) or not absent
    colour, shape = pick(rng, sorted(kinds)) if truth else pick(rng, absent)
    asked = Description(colour=colour, shape=shape)
    there = RightSayings(
        ("yes", "yes, there is", f"yes, {with_article(colour)} one"),
        ("indeed there is", "certainly"),
    )
    not_there = RightSayings(
        ("no", "no, there is not", f"no {colour} one"),
        ("nothing of that kind", "none to be seen"),
    )
    sayings = (
        sort_sayings(
            *there,
            partly=["perhaps, hard to say"],
            alike=["yes, but not in this picture"],
            wrong=["no", "no, not one"],
        )
        if truth
        else sort_sayings(
            *not_there,
            partly=["perhaps not, hard to say"],
            alike=["no doubt there is"],
            wrong=["yes", "yes, there is"],
        )
    )
    return Question(
        "vqa",
        "yes/no",
        f"Is there {with_article(colour)} {shape} in the picture?",
        "my answer is this: {}",
        sayings,
        foils=list_foils(sayings, [there, not_there]),
        evidence=_compare(scene, asked),
    )
