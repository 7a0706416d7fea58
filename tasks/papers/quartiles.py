"""Distributions as SVG: for each the middle 95 % as a line, its middle half as a box, the median as
a line across, the mean as a dot. Written as text: the report's figures have intervals alone.
"""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from judgelake.tasks.reports.page.figures import COLOURS

_WIDTH, _LABELS, _RIGHT = 576.0, 150.0, 16.0
_LEGEND, _AXIS, _STEP, _GAP = 22.0, 40.0, 13.0, 8.0
_TICKS = 5
_BOX = 8.0
_Place = Callable[[float], float]


class Box(NamedTuple):
    """A distribution: its row, its series (colour), the ends of its middle 95 %, its quartiles, its
    median and its mean.
    """

    row: str
    series: str
    low: float
    lower: float
    median: float
    mean: float
    upper: float
    high: float


def draw_quartiles(boxes: Sequence[Box], x_label: str) -> str:
    """A row for each of the rows, its series below each other, on one axis that fits them all."""
    rows = list(dict.fromkeys(box.row for box in boxes))
    series = list(dict.fromkeys(box.series for box in boxes))
    least, most = min(box.low for box in boxes), max(box.high for box in boxes)
    margin = 0.04 * (most - least) or 1.0
    left, right = least - margin, most + margin
    row_height = _STEP * len(series) + _GAP
    bottom = _LEGEND + row_height * len(rows)

    def place(value: float) -> float:
        return _LABELS + (value - left) / (right - left) * (_WIDTH - _LABELS - _RIGHT)

    parts = [_draw_legend(series), *_draw_axis(least, most, place, bottom, x_label)]
    for number, row in enumerate(rows):
        top = _LEGEND + row_height * number
        if number:
            parts.append(
                f'<path d="M8 {top:.2f}H{_WIDTH - _RIGHT:g}" stroke="currentColor" '
                f'stroke-opacity="0.12"/>'
            )
        parts.append(_write(row, _LABELS - 8, top + row_height / 2 + 4, "end"))
        for box in boxes:
            if box.row == row:
                k = series.index(box.series)
                y = top + _GAP / 2 + _STEP * (k + 0.5)
                parts.append(_draw_box(box, place, y, COLOURS[k % len(COLOURS)]))
    height = bottom + _AXIS
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:g}pt" height="{height:g}pt" '
        f'viewBox="0 0 {_WIDTH:g} {height:g}">'
    )
    return "\n".join([head, *parts, "</svg>\n"])


def _draw_box(box: Box, place: _Place, y: float, colour: str) -> str:
    low, lower, median, mean, upper, high = map(place, box[2:])
    said = (
        f"{box.row}, {box.series}: median {box.median:.1f}, mean {box.mean:.1f}, middle half "
        f"{box.lower:.1f} to {box.upper:.1f}, middle 95 % {box.low:.1f} to {box.high:.1f}"
    )
    return (
        f'<g stroke="{colour}"><title>{escape(said)}</title>'
        f'<path d="M{low:.2f} {y:.2f}H{high:.2f}" stroke-width="1.4"/>'
        f'<rect x="{lower:.2f}" y="{y - _BOX / 2:.2f}" width="{upper - lower:.2f}" '
        f'height="{_BOX:g}" fill="{colour}" fill-opacity="0.35"/>'
        f'<path d="M{median:.2f} {y - _BOX / 2:.2f}v{_BOX:g}" stroke-width="2"/>'
        f'<circle cx="{mean:.2f}" cy="{y:.2f}" r="1.8" fill="currentColor" stroke="none"/></g>'
    )


def _draw_legend(series: Sequence[str]) -> str:
    room = (_WIDTH - 8) / len(series)
    return "".join(
        f'<rect x="{8 + room * k:.1f}" y="5" width="10" height="{_BOX:g}" '
        f'fill="{COLOURS[k % len(COLOURS)]}"/>' + _write(name, 22 + room * k, 13, "start")
        for k, name in enumerate(series)
    )


def _draw_axis(least: float, most: float, place: _Place, bottom: float, x_label: str) -> list[str]:
    step = _round_up((most - least) / _TICKS)
    first = math.ceil(least / step)
    values = [step * number for number in range(first, math.floor(most / step) + 1)]
    lines = [
        f'<path d="M{place(value):.2f} {_LEGEND:g}V{bottom:g}" stroke="currentColor" '
        f'stroke-opacity="0.15"/>' + _write(f"{value:g}", place(value), bottom + 15, "middle")
        for value in values
    ]
    return [*lines, _write(x_label, (_LABELS + _WIDTH - _RIGHT) / 2, bottom + 33, "middle")]


def _round_up(step: float) -> float:
    """The next of 1, 2, 5, 10, ... times a power of ten; 1 for 0."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * lead for lead in (1, 2, 5, 10) if power * lead >= step)


def _write(text: str, x: float, y: float, anchor: str) -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" font-family="sans-serif" '
        f'font-size="11" fill="currentColor">{escape(text)}</text>'
    )
