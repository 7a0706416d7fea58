"""Questions that are answered by reading: values of bar charts, opening hours, receipts, signs.

Captions of the same pictures are in `tasks.demo.captions`, scenes of shapes in
`tasks.demo.scene_questions`.
"""

import numpy as np

from judgelake.tasks.demo.paint import write_cents, write_clock
from judgelake.tasks.demo.questions import Question, Sayings, sort_sayings
from judgelake.tasks.demo.words import (
    ORDINALS,
    count_noun,
    misname_number,
    name_number,
    pick,
    pick_distinct,
)
from judgelake.tasks.demo.world import GOODS, Chart, Clock, Hours, Receipt, Sign


def ask_reading(
    rng: np.random.Generator, picture: Chart | Hours | Receipt | Sign
) -> list[Question]:
    """Two different questions about a chart or a panel."""
    match picture:
        case Chart():
            return _ask_chart(rng, picture)
        case Hours():
            return _ask_hours(rng, picture)
        case Receipt():
            return _ask_receipt(rng, picture)
        case Sign():
            return [_ask_distance(picture), _ask_side(picture)]


def _ask_chart(rng: np.random.Generator, chart: Chart) -> list[Question]:
    extreme = pick(rng, ("highest", "lowest"))
    label, value = (max if extreme == "highest" else min)(chart.bars, key=lambda bar: bar[1])
    asked, asked_value = pick(rng, chart.bars)
    return [
        Question(
            "document",
            "chart value",
            f"What number of {chart.topic} does the chart give for {asked}?",
            f"the bar for {asked} reads {{}}",
            _say_value(chart, asked_value),
        ),
        Question(
            "document",
            "chart bar",
            f"Which bar of the chart is the {extreme}?",
            f"the {extreme} bar, at {value}, is {{}}",
            _say_bar(chart, label),
        ),
    ]


def _say_value(chart: Chart, value: int) -> Sayings:
    low, thing = value // 5 * 5, chart.topic.split()[0]
    return sort_sayings(
        usual=[str(value), name_number(value), f"{value} {thing}"],
        unusual=[f"exactly {name_number(value)}", f"{name_number(value)} {thing}, no more"],
        partly=[f"between {low} and {low + 5}", f"at least {max(low, 2)}"],
        alike=misname_number(value),
        wrong=[str(other) for _, other in chart.bars if other != value],
    )


def _say_bar(chart: Chart, label: str) -> Sayings:
    labels = [name for name, _ in chart.bars]
    place = labels.index(label)
    left = place < len(labels) / 2
    return sort_sayings(
        usual=[label, label[:3], f"the bar for {label}"],
        unusual=[f"the {ORDINALS[place]} bar from the left"],
        partly=["a bar on the left" if left else "a bar on the right"],
        alike=[f"not {label}", f"the one after {label}"],
        wrong=[other for other in labels if other != label],
    )


def _ask_hours(rng: np.random.Generator, hours: Hours) -> list[Question]:
    times = [
        ("open", "on Saturday", hours.saturday[0]),
        ("close", "on Saturday", hours.saturday[1]),
    ]
    times += [
        ("open", "on a weekday", hours.weekday[0]),
        ("close", "on a weekday", hours.weekday[1]),
    ]
    others = [clock for _, _, clock in times]
    return [
        Question(
            "document",
            "opening hours",
            f"When does {hours.shop} {verb} {day}?",
            f"{hours.shop} {verb}s {day} at this time: {{}}",
            _say_time(clock, others),
        )
        for verb, day, clock in pick_distinct(rng, times, 2)
    ]


def _say_time(clock: Clock, others: list[Clock]) -> Sayings:
    hour12, half = (clock.hour - 1) % 12 + 1, "am" if clock.hour < 12 else "pm"
    minutes = f":{clock.minute}" if clock.minute else ""
    spoken = (
        f"half past {name_number(hour12)}" if clock.minute else f"{name_number(hour12)} o'clock"
    )
    part = (
        "in the morning"
        if clock.hour < 12
        else "in the afternoon"
        if clock.hour < 18
        else "in the evening"
    )
    return sort_sayings(
        usual=[write_clock(clock), f"{hour12}{minutes} {half}", f"at {write_clock(clock)}"],
        unusual=[f"{spoken} {part}", spoken],
        partly=[part, f"between {clock.hour}:00 and {clock.hour + 1}:00"],
        alike=[
            write_clock(Clock(clock.hour, 30 - clock.minute)),
            f"half past {name_number(hour12 % 12 + 1)}",
        ],
        wrong=[write_clock(other) for other in others]
        + [write_clock(Clock(clock.hour + 2, clock.minute))],
    )


def _ask_receipt(rng: np.random.Generator, receipt: Receipt) -> list[Question]:
    what, cents = pick(rng, receipt.lines)
    total = receipt.total_cents
    prices = [price for _, price in receipt.lines]
    questions = [
        Question(
            "document",
            "total",
            "What does the receipt come to in all?",
            "the foot of the receipt says {}",
            _say_amount(total, prices),
        ),
        Question(
            "document",
            "price",
            f"What was paid for the {what}?",
            f"the line of the {what} says {{}}",
            _say_amount(cents, [*prices, total]),
        ),
        _ask_dearest(receipt),
    ]
    return pick_distinct(rng, questions, 2)


def _say_amount(cents: int, others: list[int]) -> Sayings:
    dollars, rest = divmod(cents, 100)
    spoken = count_noun(dollars, "dollar") + (f" and {name_number(rest)} cents" if rest else "")
    swapped = dollars * 100 + rest % 10 * 10 + rest // 10
    return sort_sayings(
        usual=[write_cents(cents), f"${write_cents(cents)}", f"{write_cents(cents)} dollars"],
        unusual=[spoken],
        partly=[f"between ${dollars} and ${dollars + 1}", f"at least ${dollars}"],
        alike=[write_cents(swapped), write_cents(cents + 1000)],
        wrong=[write_cents(other) for other in others if other != cents],
    )


def _ask_dearest(receipt: Receipt) -> Question:
    names = [what for what, _ in receipt.lines]
    dearest, _ = max(receipt.lines, key=lambda line: line[1])
    sayings = sort_sayings(
        usual=[dearest, f"the {dearest}"],
        unusual=[f"what stands on the {ORDINALS[names.index(dearest)]} line"],
        partly=[GOODS[dearest]],
        alike=[
            other for other in GOODS if other != dearest and other.split()[0] == dearest.split()[0]
        ],
        wrong=[name for name in names if name != dearest],
    )
    return Question(
        "document",
        "dearest",
        "Which line of the receipt cost the most?",
        "the dearest line is {}",
        sayings,
    )


def _ask_distance(sign: Sign) -> Question:
    far = sign.distance_km
    sayings = sort_sayings(
        usual=[f"{far} km", f"{far} kilometres", f"{far}km"],
        unusual=[f"{name_number(far)} thousand metres", f"{far}000 m"],
        partly=["some kilometres", "less than ten kilometres"],
        alike=[f"{far} m", f"{far} miles", f"1{far} km"],
        wrong=[f"{far + 2} km", f"{far + 3} km", f"{far + 4} km"],
    )
    return Question(
        "document",
        "distance",
        f"How far away is {sign.place}?",
        f"the sign puts {sign.place} at {{}}",
        sayings,
    )


def _ask_side(sign: Sign) -> Question:
    other = "right" if sign.side == "left" else "left"
    sayings = sort_sayings(
        usual=[sign.side, f"to the {sign.side}", f"turn {sign.side}"],
        unusual=[f"not {other} but the opposite way"],
        partly=["to one side", "follow the arrow"],
        alike=[f"not {sign.side} but the opposite way"],
        wrong=[other, f"to the {other}", "straight on"],
    )
    return Question(
        "document",
        "side",
        f"Which way does the sign send people to {sign.place}?",
        "the arrow says this: {}",
        sayings,
    )
