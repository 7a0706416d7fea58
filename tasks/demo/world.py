"""What the demo's pictures hold: scenes of shapes, bar charts, opening hours, receipts and signs,
as values with known truth.

No paint and no words about them: see `tasks.demo.paint` and the modules of questions.
"""

from dataclasses import dataclass
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np

from judgelake.tasks.demo.words import COLOURS, DAYS, MONTHS, PLACES, SHAPES, pick, pick_distinct

WIDTH, HEIGHT = 320, 240
RADIUS = {"small": 15, "large": 32}
JITTER = 5
PAPERS = ((250, 248, 242), (240, 246, 250), (246, 250, 240), (250, 243, 246))

CHART_TOPICS = (
    ("cups of tea sold", DAYS),
    ("books lent", MONTHS),
    ("loaves baked", DAYS),
    ("boats counted", MONTHS),
)
SHOPS = (
    "Harbour Bakery",
    "Mill Lane Books",
    "Fern Street Cafe",
    "Corner Hardware",
    "Northgate Pharmacy",
    "River Florist",
)
GOODS = {
    "apple juice": "something to drink",
    "apple cake": "something to eat",
    "lemon tea": "something to drink",
    "lemon tart": "something to eat",
    "plum cordial": "something to drink",
    "plum pudding": "something to eat",
    "cheese roll": "something to eat",
    "cheese pie": "something to eat",
}
"""What a receipt may list; every name shares its first word with one other."""
SIGN_PLACES = (
    "Old Harbour",
    "Mill Bridge",
    "Castle Hill",
    "Market Hall",
    "River Park",
    "North Station",
)


class Rectangle(NamedTuple):
    """A rectangle in pixels; (x, y) is its top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Thing:
    """A shape in a cell of the 3 x 3 grid; (x, y) is its centre in pixels and lies inside it."""

    colour: str
    shape: str
    size: str
    row: int
    column: int
    x: int
    y: int

    @property
    def place(self) -> str:
        """Name of the cell it lies in."""
        return PLACES[self.row][self.column]

    @property
    def box(self) -> Rectangle:
        """The smallest rectangle around it."""
        xs, ys = zip(*outline(self), strict=True)
        return Rectangle(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))


@dataclass(frozen=True, slots=True)
class Scene:
    """Four to six shapes, of at least two kinds, no two in one cell."""

    things: tuple[Thing, ...]
    paper: tuple[int, int, int] = PAPERS[0]


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart: (label, value) from left to right, no value twice."""

    topic: str
    bars: tuple[tuple[str, int], ...]
    colour: str = "blue"


class Clock(NamedTuple):
    """A time of day."""

    hour: int
    minute: int


@dataclass(frozen=True, slots=True)
class Hours:
    """Opening hours on a shop's door: (opens, closes) on weekdays and on Saturdays; Sundays
    closed.
    """

    shop: str
    weekday: tuple[Clock, Clock]
    saturday: tuple[Clock, Clock]


@dataclass(frozen=True, slots=True)
class Receipt:
    """A shop's receipt: (what, cents), no price twice."""

    shop: str
    lines: tuple[tuple[str, int], ...]

    @property
    def total_cents(self) -> int:
        """The sum at its foot."""
        return sum(cents for _, cents in self.lines)


@dataclass(frozen=True, slots=True)
class Sign:
    """A road sign: a place, how far it is in kilometres, and to which side (left or right)."""

    place: str
    distance_km: int
    side: str


Picture = Scene | Chart | Hours | Receipt | Sign


def outline(thing: Thing) -> list[tuple[float, float]]:
    """Corners of a shape in pixels; a circle has many."""
    radius = RADIUS[thing.size]
    corners, dent = {
        "circle": (72, 1.0),
        "square": (4, 1.0),
        "triangle": (3, 1.0),
        "star": (10, 0.46),
        "hexagon": (6, 1.0),
    }[thing.shape]
    start = pi / 4 if thing.shape == "square" else -pi / 2
    reach = [radius * (dent if corner % 2 else 1.0) for corner in range(corners)]
    angles = [start + 2 * pi * corner / corners for corner in range(corners)]
    return [
        (thing.x + r * cos(angle), thing.y + r * sin(angle))
        for r, angle in zip(reach, angles, strict=True)
    ]


def draw_pictures(
    rng: np.random.Generator, count: int, *, only_scenes: bool = False
) -> list[Picture]:
    """Draw what `count` pictures hold: every second one a scene, the rest charts and text panels in
    turn; or scenes alone.
    """
    if only_scenes:
        return [draw_scene(rng) for _ in range(count)]
    rest = (draw_chart, _draw_hours, draw_chart, _draw_receipt, draw_chart, _draw_sign)
    return [
        rest[place // 2 % len(rest)](rng) if place % 2 else draw_scene(rng)
        for place in range(count)
    ]


def draw_scene(rng: np.random.Generator) -> Scene:
    """Draw a scene from few colours and shapes, so that one of the two is not enough to name a
    thing.
    """
    colours = pick_distinct(rng, tuple(COLOURS), 3)
    shapes = pick_distinct(rng, tuple(SHAPES), int(rng.integers(2, 4)))
    cells = pick_distinct(
        rng, [(row, column) for row in range(3) for column in range(3)], int(rng.integers(4, 7))
    )
    kinds = [(pick(rng, colours), pick(rng, shapes)) for _ in cells]
    # Two kinds at least, so that no phrase without a place fits everything and a caption can leave
    # one out.
    kinds[0], kinds[1] = (colours[0], shapes[0]), (colours[1], shapes[1])
    things = [_put(rng, *kind, *cell) for kind, cell in zip(kinds, cells, strict=True)]
    return Scene(tuple(things), pick(rng, PAPERS))


def draw_chart(rng: np.random.Generator) -> Chart:
    """Draw a chart of four or five neighbouring days or months."""
    topic, labels = pick(rng, CHART_TOPICS)
    count = int(rng.integers(4, 6))
    first = int(rng.integers(len(labels) - count + 1))
    values = pick_distinct(rng, range(3, 21), count)
    return Chart(
        topic,
        tuple(zip(labels[first : first + count], values, strict=True)),
        pick(rng, tuple(COLOURS)),
    )


def _put(rng: np.random.Generator, colour: str, shape: str, row: int, column: int) -> Thing:
    across, down = (int(step) for step in rng.integers(-JITTER, JITTER + 1, size=2))
    x, y = round(WIDTH * (column + 0.5) / 3) + across, round(HEIGHT * (row + 0.5) / 3) + down
    return Thing(colour, shape, pick(rng, tuple(RADIUS)), row, column, x, y)


def _draw_hours(rng: np.random.Generator) -> Hours:
    def clock(low: int, high: int) -> Clock:
        return Clock(int(rng.integers(low, high)), 30 * int(rng.integers(2)))

    return Hours(pick(rng, SHOPS), (clock(7, 9), clock(17, 20)), (clock(9, 11), clock(13, 16)))


def _draw_receipt(rng: np.random.Generator) -> Receipt:
    goods = pick_distinct(rng, tuple(GOODS), int(rng.integers(3, 5)))
    prices = pick_distinct(rng, range(105, 700, 5), len(goods))
    return Receipt(pick(rng, SHOPS), tuple(zip(goods, prices, strict=True)))


def _draw_sign(rng: np.random.Generator) -> Sign:
    return Sign(pick(rng, SIGN_PLACES), int(rng.integers(2, 10)), pick(rng, ("left", "right")))
