"""Captions of the demo's pictures: what may be said when asked to describe one, and the full truth
in words.

A caption is right if every detail in it is right and none of the picture's is missing, half right
if one is missing or off. Questions about single details are in `tasks.demo.scene_questions` and
`tasks.demo.reading_questions`.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from judgelake.tasks.demo.paint import write_cents, write_clock
from judgelake.tasks.demo.questions import Question, Sayings, as_sentence, sort_sayings
from judgelake.tasks.demo.words import (
    COLOURS,
    SHAPES,
    count_noun,
    join_words,
    name_number,
    pick_distinct,
)
from judgelake.tasks.demo.world import Chart, Clock, Hours, Picture, Receipt, Scene, Sign

Groups = Mapping[tuple[str, str], int]
"""How many of each (colour, shape)."""


def ask_caption(rng: np.random.Generator, picture: Picture) -> Question:
    """Ask for a description of the whole picture."""
    match picture:
        case Scene():
            kind, sayings = "scene", _say_scene(rng, picture)
        case Chart():
            kind, sayings = "chart", _say_chart(picture)
        case Hours():
            kind, sayings = "hours", _say_hours(picture)
        case Receipt():
            kind, sayings = "receipt", _say_receipt(picture)
        case Sign():
            kind, sayings = "sign", _say_sign(picture)
    return Question(
        "caption",
        kind,
        "Describe the picture in one sentence.",
        "what the picture shows is this: {}",
        sayings,
    )


def describe(picture: Picture) -> str:
    """All that is known of a picture, for judges that cannot see it."""
    match picture:
        case Scene():
            things = [
                f"a {thing.size} {thing.colour} {thing.shape} in the {thing.place}"
                for thing in picture.things
            ]
            return as_sentence(
                f"{name_number(len(things))} shapes on a pale background: {join_words(things)}"
            )
        case Chart():
            bars = join_words([f"{label} {value}" for label, value in picture.bars])
            return as_sentence(f"a bar chart of {picture.topic}, from left to right: {bars}")
        case Hours():
            return as_sentence(f"the opening hours of {picture.shop}: {_list_hours(picture)}")
        case Receipt():
            lines = join_words([f"{what} {write_cents(cents)}" for what, cents in picture.lines])
            return as_sentence(
                f"a receipt of {picture.shop}: {lines}, in all "
                f"{write_cents(picture.total_cents)} dollars"
            )
        case Sign():
            return as_sentence(
                f"a road sign that points {picture.side} and reads {picture.place}, "
                f"{picture.distance_km} km"
            )


def _say_scene(rng: np.random.Generator, scene: Scene) -> Sayings:
    groups = Counter((thing.colour, thing.shape) for thing in scene.things)
    unused = [colour for colour in COLOURS if colour not in {colour for colour, _ in groups}]
    recoloured = {
        (unused[list(groups).index(key) % len(unused)], key[1]): count
        for key, count in groups.items()
    }
    (first, first_shape), *rest = list(groups)
    one_off = {(unused[0], first_shape): groups[first, first_shape]} | {
        key: groups[key] for key in rest
    }
    others = dict.fromkeys(zip(unused, SHAPES, strict=False), 1)
    listings = [_list_groups(rng, groups) for _ in _SCENE_WORDS]
    return sort_sayings(
        usual=[
            template.format(listing)
            for template, listing in zip(_SCENE_WORDS, listings, strict=True)
        ],
        unusual=[f"a set made up of {_list_groups(rng, groups, reworded=True)}"],
        partly=[
            f"{name_number(len(scene.things))} coloured shapes on a pale background",
            _list_groups(rng, {key: groups[key] for key in rest}),
            f"{_list_groups(rng, one_off)} on a pale background",
        ],
        alike=[
            f"{_list_groups(rng, recoloured)} on a pale background",
            _list_groups(rng, {key: count + 1 for key, count in groups.items()}),
        ],
        wrong=[_list_groups(rng, others), "a busy street at night", "a table of figures"],
    )


_SCENE_WORDS = (
    "{}",
    "{} on a pale background",
    "a simple drawing of {}",
    "an arrangement of {}",
    "{} spread over a light page",
    "flat shapes with space between them: {}",
    "nothing but {}",
    "the picture holds {}",
    "{}, each apart from the others",
    "a plain graphic with {}",
)


def _list_groups(rng: np.random.Generator, groups: Groups, reworded: bool = False) -> str:
    """Name every group in a drawn order, in everyday or in other words."""
    order = pick_distinct(rng, list(groups.items()), len(groups))
    words = [
        (COLOURS[c].other[0], SHAPES[s].other[0], n) if reworded else (c, s, n)
        for (c, s), n in order
    ]
    return join_words([count_noun(count, f"{colour} {shape}") for colour, shape, count in words])


def _say_chart(chart: Chart) -> Sayings:
    topic, bars = chart.topic, sorted(chart.bars, key=lambda bar: bar[1])
    (low, _), (second, _), (top, most) = bars[0], bars[-2], bars[-1]
    return sort_sayings(
        usual=[
            f"a bar chart of {topic}, with {top} the highest at {most}",
            f"{topic} as bars, the tallest being {top} with {most}",
            f"a chart in which {top} leads with {most} {topic}",
            f"bars that compare {topic}; {top} is on top with {most}",
            f"{name_number(len(bars))} bars for {topic}, and the greatest is {most} for {top}",
            f"a bar chart that shows {most} {topic} for {top}, more than in any other",
        ],
        unusual=[f"columns that peak at {top}, where {name_number(most)} {topic} stand on record"],
        partly=[
            f"a bar chart of {topic}",
            "a bar chart",
            f"a bar chart of {topic}, with {top} the highest at {most + 2}",
        ],
        alike=[
            f"a pie chart of {topic}, with {second} the highest at {most + 3}",
            f"a line chart in which {low} leads with {most} {topic}",
        ],
        wrong=["a photograph of a market", "a list of names", "a map with a river"],
    )


def _list_hours(hours: Hours) -> str:
    return (
        f"weekdays {_say_span(hours.weekday)}, Saturday {_say_span(hours.saturday)}, Sunday closed"
    )


def _say_span(span: tuple[Clock, Clock]) -> str:
    return f"{write_clock(span[0])} to {write_clock(span[1])}"


def _say_hours(hours: Hours) -> Sayings:
    shop, week, saturday = hours.shop, _say_span(hours.weekday), _say_span(hours.saturday)
    return sort_sayings(
        usual=[
            f"the opening hours of {shop}: {_list_hours(hours)}",
            f"a board of {shop}, open {week} on weekdays and {saturday} on Saturday, closed on "
            f"Sunday",
            f"a sign with the hours of {shop}: Monday to Friday {week}, Saturday {saturday}, "
            f"closed on Sunday",
            f"{shop} is open {week} from Monday to Friday and {saturday} on Saturday, and shut "
            f"on Sunday",
            f"a green board that says when {shop} is open: {_list_hours(hours)}",
        ],
        unusual=[
            f"a notice of {shop}: {week} until Friday, {saturday} the day after, then a day of rest"
        ],
        partly=[
            f"the opening hours of {shop}",
            f"a board of {shop}, open {week} on weekdays",
            f"the opening hours of {shop}: weekdays {week}, Saturday {saturday}, Sunday {saturday}",
        ],
        alike=[
            f"the opening hours of {shop}: weekdays {saturday}, Saturday {week}, Sunday closed",
            f"a price list of {shop}, valid on weekdays and on Saturday",
        ],
        wrong=["a train timetable", "the label of a bottle", "a calendar of one month"],
    )


def _say_receipt(receipt: Receipt) -> Sayings:
    shop, goods, total = (
        receipt.shop,
        join_words([what for what, _ in receipt.lines]),
        write_cents(receipt.total_cents),
    )
    off = write_cents(receipt.total_cents + 200)
    return sort_sayings(
        usual=[
            f"a receipt of {shop} for {goods}, {total} dollars in all",
            f"a bill over {total} dollars from {shop}: {goods}",
            f"a paper receipt that lists {goods} and a total of {total}, from {shop}",
            f"{shop} charged {total} for {goods}",
            f"the receipt of a purchase at {shop}: {goods}, with {total} to pay",
        ],
        unusual=[f"a till slip of {shop} on which {goods} add up to {total}"],
        partly=[
            f"a receipt of {shop}",
            f"a receipt for {goods}",
            f"a receipt of {shop} for {goods}, {off} dollars in all",
        ],
        alike=[
            f"a menu of {shop} with {len(receipt.lines)} dishes, {off} dollars in all",
            f"a job offer from {shop}",
        ],
        wrong=["a handwritten letter", "a ticket for a concert", "a map of the town"],
    )


def _say_sign(sign: Sign) -> Sayings:
    place, far, side = sign.place, sign.distance_km, sign.side
    other = "right" if side == "left" else "left"
    return sort_sayings(
        usual=[
            f"a road sign that points {side} to {place}, {far} km away",
            f"a blue sign for {place}, {far} km to the {side}",
            f"a signpost with an arrow to the {side}: {place}, {far} km",
            f"a sign saying that {place} is {far} km to the {side}",
            f"a white arrow pointing {side} on a blue sign that reads {place} {far} km",
        ],
        unusual=[
            f"a board that sends travellers {side} to {place}, {name_number(far)} thousand "
            f"metres off"
        ],
        partly=[
            f"a road sign for {place}",
            f"a road sign that points {side}",
            f"a road sign that points {other} to {place}, {far} km away",
        ],
        alike=[
            f"a road sign that points {other} to {place}, {far + 3} km away",
            f"a signpost with an arrow to the {other}: the way out, {far} miles",
        ],
        wrong=["a shop window", "a number plate", "a poster for a film"],
    )
