"""Paints the demo's pictures as PNG bytes, the same bytes for the same picture. What they hold is
`tasks.demo.world`.
"""

from collections.abc import Sequence
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from judgelake.tasks.demo.words import COLOURS
from judgelake.tasks.demo.world import (
    HEIGHT,
    WIDTH,
    Chart,
    Clock,
    Hours,
    Picture,
    Receipt,
    Scene,
    Sign,
    outline,
)

SCALE = 2  # painted twice as large and averaged down: Pillow's own edges are jagged
WHITE, INK, FAINT, BOARD, CREAM = (
    (255, 255, 255),
    (44, 48, 56),
    (214, 218, 224),
    (38, 66, 58),
    (244, 238, 220),
)

Ink = tuple[int, int, int]


class Canvas:
    """A drawing surface in the pixels of the finished image."""

    def __init__(self, paper: Ink) -> None:
        self.image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), paper)
        self.draw = ImageDraw.Draw(self.image)

    def polygon(self, corners: Sequence[tuple[float, float]], ink: Ink) -> None:
        """Fill a polygon."""
        self.draw.polygon([(x * SCALE, y * SCALE) for x, y in corners], fill=ink)

    def rectangle(
        self, left: float, top: float, right: float, bottom: float, ink: Ink, round_by: float = 0
    ) -> None:
        """Fill a rectangle, its corners rounded."""
        sides = (left * SCALE, top * SCALE, right * SCALE - 1, bottom * SCALE - 1)
        self.draw.rounded_rectangle(sides, radius=round_by * SCALE, fill=ink)

    def text(
        self, x: float, y: float, words: str, size: float, ink: Ink, anchor: str = "mm"
    ) -> None:
        """Write words; `anchor` is Pillow's, two letters for across and down."""
        font = ImageFont.load_default(size * SCALE)
        self.draw.text((x * SCALE, y * SCALE), words, fill=ink, font=font, anchor=anchor)

    def png(self) -> bytes:
        """The finished image, encoded."""
        out = BytesIO()
        self.image.reduce(SCALE).save(out, format="PNG")
        return out.getvalue()


def paint(picture: Picture) -> bytes:
    """Paint any picture of the demo as PNG."""
    match picture:
        case Scene():
            return _paint_scene(picture)
        case Chart():
            return _paint_chart(picture)
        case Hours():
            return _paint_hours(picture)
        case Receipt():
            return _paint_receipt(picture)
        case Sign():
            return _paint_sign(picture)


def write_clock(clock: Clock) -> str:
    """A time as panels print it: 8:30, 17:00."""
    return f"{clock.hour}:{clock.minute:02d}"


def write_cents(cents: int) -> str:
    """An amount as receipts print it: 2.05."""
    return f"{cents // 100}.{cents % 100:02d}"


def _paint_scene(scene: Scene) -> bytes:
    canvas = Canvas(scene.paper)
    for thing in scene.things:
        canvas.polygon(outline(thing), COLOURS[thing.colour].rgb)
    return canvas.png()


def _paint_chart(chart: Chart) -> bytes:
    canvas = Canvas(WHITE)
    canvas.text(WIDTH / 2, 20, chart.topic.capitalize(), 17, INK)
    left, right, floor, top = 30, WIDTH - 18, 204, 52
    for step in range(0, 21, 5):
        level = floor - (floor - top) * step / 20
        canvas.rectangle(left, level - 0.5, right, level + 0.5, FAINT)
        canvas.text(left - 6, level, str(step), 10, INK, "rm")
    stride = (right - left) / len(chart.bars)
    for place, (label, value) in enumerate(chart.bars):
        middle, height = left + stride * (place + 0.5), (floor - top) * value / 20
        canvas.rectangle(
            middle - stride * 0.3,
            floor - height,
            middle + stride * 0.3,
            floor,
            COLOURS[chart.colour].rgb,
        )
        canvas.rectangle(middle - 10, floor - height - 17, middle + 10, floor - height - 2, WHITE)
        canvas.text(middle, floor - height - 9, str(value), 13, INK)
        canvas.text(middle, floor + 14, label[:3], 13, INK)
    canvas.rectangle(left, floor - 1, right, floor + 1, INK)
    return canvas.png()


def _paint_hours(hours: Hours) -> bytes:
    canvas = Canvas((222, 206, 184))
    canvas.rectangle(18, 14, WIDTH - 18, HEIGHT - 14, (96, 66, 44), 10)
    canvas.rectangle(25, 21, WIDTH - 25, HEIGHT - 21, BOARD, 6)
    canvas.text(WIDTH / 2, 50, hours.shop, 23, CREAM)
    canvas.text(WIDTH / 2, 78, "OPENING HOURS", 12, CREAM)
    canvas.rectangle(60, 92, WIDTH - 60, 93.5, CREAM)
    rows = [
        (name, " - ".join(map(write_clock, times)))
        for name, times in (("Mon - Fri", hours.weekday), ("Sat", hours.saturday))
    ]
    for line, (days, times) in enumerate([*rows, ("Sun", "closed")]):
        canvas.text(52, 120 + 34 * line, days, 19, CREAM, "lm")
        canvas.text(WIDTH - 52, 120 + 34 * line, times, 19, CREAM, "rm")
    return canvas.png()


def _paint_receipt(receipt: Receipt) -> bytes:
    canvas = Canvas((176, 188, 196))
    canvas.rectangle(64, 8, WIDTH - 56, HEIGHT - 4, (150, 162, 172))
    canvas.rectangle(60, 8, WIDTH - 60, HEIGHT - 8, (252, 252, 248))
    canvas.text(WIDTH / 2, 32, receipt.shop, 17, INK)
    canvas.text(WIDTH / 2, 52, "Thank you for your visit", 10, INK)
    for line, (what, cents) in enumerate(receipt.lines):
        canvas.text(76, 82 + 25 * line, what, 15, INK, "lm")
        canvas.text(WIDTH - 76, 82 + 25 * line, write_cents(cents), 15, INK, "rm")
    foot = 82 + 25 * len(receipt.lines)
    for x in range(76, WIDTH - 76, 8):
        canvas.rectangle(x, foot - 6, x + 4, foot - 5, INK)
    canvas.text(76, foot + 14, "Total ($)", 17, INK, "lm")
    canvas.text(WIDTH - 76, foot + 14, write_cents(receipt.total_cents), 17, INK, "rm")
    return canvas.png()


def _paint_sign(sign: Sign) -> bytes:
    canvas = Canvas((206, 228, 242))
    canvas.rectangle(0, 186, WIDTH, HEIGHT, (150, 182, 124))
    canvas.rectangle(WIDTH / 2 - 7, 120, WIDTH / 2 + 7, 222, (128, 132, 138))
    canvas.rectangle(28, 36, WIDTH - 28, 142, WHITE, 14)
    canvas.rectangle(32, 40, WIDTH - 32, 138, (28, 92, 148), 11)
    canvas.text(WIDTH / 2, 68, sign.place, 26, WHITE)
    canvas.text(WIDTH / 2, 110, f"{sign.distance_km} km", 24, WHITE)
    turn = -1 if sign.side == "left" else 1
    tip = WIDTH / 2 + turn * 108
    canvas.rectangle(
        min(tip - turn * 14, tip - turn * 48),
        106,
        max(tip - turn * 14, tip - turn * 48),
        114,
        WHITE,
    )
    canvas.polygon([(tip, 110), (tip - turn * 18, 98), (tip - turn * 18, 122)], WHITE)
    return canvas.png()
