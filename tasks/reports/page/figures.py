"""Figures of the report as inline SVG text: estimates with intervals, stacked shares, curves,
points and heat maps.

Drawing only. What is drawn is chosen in `chapter_figures.py`; nothing here reads the lake. Text
stays text in the SVG and axes take the colour of the page, so that one figure suits a light and a
dark page. Series differ by marker as well as by colour. pyplot and its global state are not used.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Mid tones that keep a contrast of at least 3:1 on white and on #16191d; the marker repeats what
# the colour says.
COLOURS = ("#2f7fd6", "#d96a1d", "#23956a", "#b04fc0", "#d3455b", "#8a7a1f", "#6b7a8c", "#0f94a8")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
STATUS_COLOURS: Mapping[str, str] = {
    "ok": "#2f7fd6",
    "inconsistent": "#7fb0e6",
    "unparsed": "#d96a1d",
    "refused": "#b04fc0",
    "truncated": "#8a7a1f",
    "filtered": "#0f94a8",
    "failed": "#d3455b",
    "missing_image": "#23956a",
    "undefined": "#6b7a8c",
    "not_asked": "#8b929b",
}
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---", "**", "||")
_INK = "#010203"  # stands for the page's own text colour until the SVG is written
_ROWS = "rows:"  # stands for the page's own address until the SVG is written
_WIDTH_INCHES = 8.0
# characters of a label, and below of a line of the legend, that fit the width
_LABEL_CHARACTERS = 40
_LEGEND_CHARACTERS = 95
# matplotlib writes plain tags; identifiers stand in `id`, in links to them and in `url(#...)`.
_TAG = re.compile(r"<[^>]*>")
# `id="x"` and references to it, which must differ between the figures of a page
_IDENTIFIER = re.compile(r"(\bid=\"|href=\"#|url\(#)")


class Dot(NamedTuple):
    """One dot: its row on the vertical axis, its series (colour), the value and its interval if it
    has one. `rows`: the filter of the rows behind it.
    """

    row: str
    series: str
    value: float
    low: float | None
    high: float | None
    rows: str | None = None


class Point(NamedTuple):
    """One named point of a plane. `rows`: the filter of the rows behind it."""

    name: str
    x: float
    y: float
    rows: str | None = None


def draw_estimates(
    estimates: Sequence[Dot],
    x_label: str,
    figure_id: str,
    span: tuple[float, float] | None = None,
    mark: float = 0.0,
) -> str:
    """Dots with intervals, a row each, series side by side; `span` is always in view and has a line
    at `mark`, else the axis fits the dots.
    """
    rows = list(dict.fromkeys(e.row for e in estimates))
    series = list(dict.fromkeys(e.series for e in estimates))
    drawn = {(e.row, e.series) for e in estimates}
    in_row = {row: [s for s in series if (row, s) in drawn] for row in rows}
    most = max(map(len, in_row.values()))
    figure, axes = _start_figure(rows, max(0.34, 0.15 * most + 0.1), x_label)
    for k, name in enumerate(series):
        dots = [e for e in estimates if e.series == name]
        heights = [rows.index(e.row) + _offset(in_row[e.row].index(name), most) for e in dots]
        centred = [
            y - 0.5 * _offset(len(in_row[e.row]) - 1, most)
            for e, y in zip(dots, heights, strict=True)
        ]
        _draw_series(axes, dots, centred, k, name)
    for y in range(1, len(rows)):
        axes.axhline(y - 0.5, color=_INK, alpha=0.12, linewidth=0.6)
    if span is not None:
        axes.axvline(mark, color=_INK, alpha=0.45, linewidth=0.8)
        axes.set_xlim(min(span[0], axes.get_xlim()[0]), max(span[1], axes.get_xlim()[1]))
    if len(series) > 1:
        _add_legend(figure, axes, series)
    return _to_svg(figure, figure_id)


def _offset(place: int, most: int) -> float:
    """How far below the first of a row's `most` dots the one at `place` stands, in rows."""
    return 0.0 if most == 1 else 0.7 * place / (most - 1)


def draw_statuses(
    counts: Mapping[str, Mapping[str, int]],
    figure_id: str,
    links: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Stacked bars, one a judge: the share of its cases that ended in each status, in per cent."""
    return draw_shares(counts, STATUS_COLOURS, "share of cases, %", figure_id, links=links)


def draw_shares(
    counts: Mapping[str, Mapping[str, float]],
    colours: Mapping[str, str],
    x_label: str,
    figure_id: str,
    *,
    is_hatched: bool = True,
    links: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Stacked bars, one a row: the shares of its counts by name, in per cent, in the order of
    `colours`. Without hatches where the order of the shades is that of the names. `links`: (row,
    name) -> the filter of the rows behind that part of a bar.
    """
    rows = list(counts)
    totals = [sum(counts[row].values()) or 1 for row in rows]
    names = [name for name in colours if any(counts[row].get(name, 0) for row in rows)]
    figure, axes = _start_figure(rows, 0.34, x_label)
    left = [0.0] * len(rows)
    for k, name in enumerate(names):
        shares = [
            100 * counts[row].get(name, 0) / total for row, total in zip(rows, totals, strict=True)
        ]
        bars = axes.barh(
            range(len(rows)),
            shares,
            left=left,
            height=0.62,
            color=colours[name],
            hatch=_HATCHES[k % len(_HATCHES)] if is_hatched else None,
            edgecolor=_INK,
            linewidth=0.4,
            label=name,
        )
        for row, bar in zip(rows, bars, strict=True):
            if link := (links or {}).get((row, name)):
                bar.set_url(_ROWS + link)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    axes.set_xlim(0, 100)
    _add_legend(figure, axes, names)
    return _to_svg(figure, figure_id)


def draw_curves(
    curves: Mapping[str, Sequence[Point]], x_label: str, y_label: str, figure_id: str
) -> str:
    """Lines of points from 0 to 1 on both axes beside the diagonal, one a name; what lies on the
    diagonal is calibrated.
    """
    figure, axes = _start_plane(x_label, y_label)
    axes.plot([0, 1], [0, 1], color=_INK, alpha=0.45, linewidth=0.8, label="_")
    for k, (name, points) in enumerate(curves.items()):
        axes.plot(
            [p.x for p in points],
            [p.y for p in points],
            marker=_marker(k),
            markersize=5,
            linewidth=1.4,
            color=COLOURS[k % len(COLOURS)],
            label=f"s{name}",
        )
        for point in points:  # the line is one mark: each point's link is a mark of its own on it
            _link_point(axes, point, k)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    _add_legend(figure, axes, list(curves))
    return _to_svg(figure, figure_id)


def draw_points(
    points: Sequence[Point],
    x_label: str,
    y_label: str,
    figure_id: str,
    line: Sequence[tuple[float, float]] = (),
    *,
    is_log: bool = False,
) -> str:
    """Named points, and a line through `line`'s; the horizontal axis is logarithmic where
    `is_log`.
    """
    figure, axes = _start_plane(x_label, y_label)
    if is_log:
        axes.set_xscale("log")
    if line:
        axes.plot(*zip(*line, strict=True), color=_INK, alpha=0.5, linewidth=1, label="_")
    for k, point in enumerate(points):
        _link_point(axes, point, k)
        axes.annotate(
            shorten_label(point.name, 28),
            (point.x, point.y),
            xytext=(6, 4),
            textcoords="offset points",
            fontsize=8,
            parse_math=False,
        )
    axes.margins(0.15)
    return _to_svg(figure, figure_id)


def draw_course(
    line: Sequence[tuple[float, float]], level: float | None, names: tuple[str, str], figure_id: str
) -> str:
    """A line through points from 0 upwards, and a dashed one at `level` where there is one."""
    figure, axes = _start_plane(*names)
    axes.plot(*zip(*line, strict=True), marker="o" if len(line) < 20 else "", color=COLOURS[0])
    if level is not None:
        axes.axhline(level, color=COLOURS[1], linestyle="--")
    axes.set_ylim(0, None)
    return _to_svg(figure, figure_id)


def draw_heatmap(
    names: Sequence[str],
    cells: Mapping[tuple[str, str], float],
    x_label: str,
    figure_id: str,
    links: Mapping[str, str] | None = None,
) -> str:
    """A square of shares from 0 to 1, each with its per cent: row against column, blue above one
    half, orange below. `links`: row -> the filter of the rows behind it.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    size = max(3.2, min(_WIDTH_INCHES, 1.6 + 0.5 * len(names)))
    figure = Figure(figsize=(_WIDTH_INCHES, size), layout="constrained")
    axes = figure.add_subplot()
    for (row, column), share in cells.items():
        x, y = names.index(column), names.index(row)
        above = share >= 0.5
        axes.add_patch(
            Rectangle(
                (x - 0.5, y - 0.5),
                1,
                1,
                facecolor=COLOURS[0] if above else COLOURS[1],
                alpha=0.12 + 1.1 * abs(share - 0.5),
                linewidth=0,
            )
        )
        text = axes.text(x, y, f"{100 * share:.0f}", ha="center", va="center", fontsize=8)
        if link := (links or {}).get(row):
            text.set_url(_ROWS + link)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    labels = [shorten_label(name, 24) for name in names]
    axes.set_xticks(range(len(names)))
    axes.set_xticklabels(labels, rotation=40, ha="right", parse_math=False)
    axes.set_yticks(range(len(names)))
    axes.set_yticklabels(labels, parse_math=False)
    axes.set_xlabel(x_label)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return _to_svg(figure, figure_id)


def draw_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], float],
    x_label: str,
    figure_id: str,
    decimals: int = 1,
) -> str:
    """Numbers in a grid, row by column, each shaded from the least to the most of its column."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    width = min(2 * _WIDTH_INCHES, 2.4 + 0.55 * len(columns))
    figure = Figure(figsize=(width, 1.4 + 0.26 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for x, column in enumerate(columns):
        own = {row: cells[row, column] for row in rows if (row, column) in cells}
        least, most = min(own.values(), default=0.0), max(own.values(), default=0.0)
        for row, value in own.items():
            y, share = rows.index(row), (value - least) / ((most - least) or 1)
            box = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=COLOURS[0], linewidth=0)
            box.set_alpha(0.05 + 0.55 * share)
            axes.add_patch(box)
            axes.text(x, y, f"{value:.{decimals}f}", ha="center", va="center", fontsize=7)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)))
    names = [shorten_label(name, 28) for name in columns]
    axes.set_xticklabels(names, rotation=40, ha="right", parse_math=False)
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([shorten_label(name, 28) for name in rows], parse_math=False)
    axes.set_xlabel(x_label)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return _to_svg(figure, figure_id)


def draw_lines(
    curves: Mapping[str, Sequence[Point]], x_label: str, y_label: str, figure_id: str
) -> str:
    """Lines of named points, one a name, on two logarithmic axes; the points of one x have one
    name.
    """
    figure, axes = _start_plane(x_label, y_label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for k, points in enumerate(curves.values()):
        places, heights = [p.x for p in points], [p.y for p in points]
        axes.plot(
            places,
            heights,
            marker=_marker(k),
            markersize=5,
            linewidth=1.4,
            color=COLOURS[k % len(COLOURS)],
            label=f"s{list(curves)[k]}",
        )
    named = {p.x: p.name for points in curves.values() for p in points}
    axes.set_xticks(list(named), labels=list(named.values()))
    axes.minorticks_off()
    heights = sorted({p.y for points in curves.values() for p in points})
    ends = [heights[0], heights[len(heights) // 2], heights[-1]]
    axes.set_yticks(ends, labels=[f"{value:.3g}" for value in ends])
    _add_legend(figure, axes, list(curves))
    return _to_svg(figure, figure_id)


def draw_preferences(
    names: Sequence[str], edges: Mapping[tuple[str, str], float], figure_id: str
) -> str:
    """Models on a circle, the first on top, with an arrow to the preferred of two, as wide and dark
    as the consensus on it, from 0 to 1 (CHIRP, Figure 24). `edges`: (preferred, other) -> weight.
    """
    from matplotlib.figure import Figure

    places = {
        name: (
            math.sin(2 * math.pi * k / len(names)),
            math.cos(2 * math.pi * k / len(names)),
        )
        for k, name in enumerate(names)
    }
    figure = Figure(figsize=(_WIDTH_INCHES, 5.5), layout="constrained")
    axes = figure.add_subplot()
    for (winner, loser), weight in edges.items():
        axes.annotate(
            "",
            xy=places[winner],
            xytext=places[loser],
            arrowprops={
                "arrowstyle": "-|>",
                "linewidth": 0.5 + 3 * weight,
                "color": COLOURS[0],
                "alpha": 0.35 + 0.6 * weight,
                "shrinkA": 14,
                "shrinkB": 14,
            },
        )
    for name, (x, y) in places.items():
        axes.plot([x], [y], marker="o", markersize=9, color=COLOURS[0])
        axes.text(
            1.16 * x, 1.16 * y, shorten_label(name, 22), ha="center", va="center", parse_math=False
        )
    axes.set_xlim(-2.0, 2.0)
    axes.set_ylim(min(y for _, y in places.values()) - 0.4, 1.35)
    axes.axis("off")
    return _to_svg(figure, figure_id)


def _link_point(axes: Axes, point: Point, k: int) -> None:
    """A marker that leads to the rows behind it."""
    colour = COLOURS[k % len(COLOURS)]
    (mark,) = axes.plot(
        [point.x], [point.y], marker=_marker(k), markersize=6, color=colour, label="_"
    )
    if point.rows:
        mark.set_url(_ROWS + point.rows)


def _start_plane(x_label: str, y_label: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_INCHES, 4.6), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.tick_params(length=0)
    axes.grid(color=_INK, alpha=0.15, linewidth=0.6)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure, axes


def shorten_label(text: str, limit: int = _LABEL_CHARACTERS) -> str:
    """One printable line of at most `limit` characters; control characters and direction overrides
    are dropped.
    """
    line = " ".join("".join(c for c in text if c.isprintable() or c.isspace()).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _start_figure(rows: Sequence[str], row_inches: float, x_label: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure  # 0.7 s, paid only where something is drawn

    figure = Figure(figsize=(_WIDTH_INCHES, 0.95 + row_inches * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)))
    # A dollar sign in a model's name is a dollar sign, not the start of a formula.
    axes.set_yticklabels([shorten_label(row) for row in rows], parse_math=False)
    axes.set_xlabel(x_label)
    axes.tick_params(length=0)
    axes.grid(axis="x", color=_INK, alpha=0.15, linewidth=0.6)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure, axes


def _draw_series(
    axes: Axes, dots: Sequence[Dot], heights: Sequence[float], k: int, name: str
) -> None:
    colour = COLOURS[k % len(COLOURS)]
    for dot, y in zip(dots, heights, strict=True):
        if dot.low is not None and dot.high is not None:
            axes.plot(
                [dot.low, dot.high],
                [y, y],
                color=colour,
                linewidth=1.6,
                solid_capstyle="butt",
                label="_",
            )
    marker = _marker(k)
    for place, (dot, y) in enumerate(zip(dots, heights, strict=True)):
        (line,) = axes.plot(
            [dot.value],
            [y],
            linestyle="",
            marker=marker,
            markersize=6,
            color=colour,
            label="_" if place else f"s{name}",
        )
        if dot.rows is not None:
            line.set_url(_ROWS + dot.rows)


def _marker(k: int) -> str:
    return MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]


def _add_legend(figure: Figure, axes: Axes, names: Sequence[str]) -> None:
    handles = axes.get_legend_handles_labels()[0]
    labels = [shorten_label(name, 32) for name in names]
    columns = max(1, min(len(labels), _LEGEND_CHARACTERS // (max(map(len, labels)) + 9)))
    legend = figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _to_svg(figure: Figure, figure_id: str) -> str:
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": figure_id}), warnings.catch_warnings():
        # The browser has glyphs that matplotlib's font lacks; here they are only measured.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=no_metadata)
    text = buffer.getvalue()
    return _TAG.sub(lambda tag: _localise(tag.group(), figure_id), text[text.index("<svg") :])


def _localise(tag: str, figure_id: str) -> str:
    """Identifiers get the figure's own prefix, since many figures share a page; the ink becomes the
    page's.
    """
    local = _IDENTIFIER.sub(rf"\g<1>{figure_id}-", tag).replace(_INK, "currentColor")
    return local.replace(f'xlink:href="{_ROWS}', 'aria-label="rows of this mark" href="#rows?')
