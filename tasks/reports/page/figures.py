"""Figures of the report as inline SVG text: estimates with intervals, and counts by status.

Drawing only. What is drawn is chosen in `tasks.reports.page.render`; nothing here reads the lake.
Text stays text in the SVG and axes take the colour of the page, so that one figure suits a light
and a dark page. pyplot and its global state are not used.
"""

from __future__ import annotations

import io
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
_INK = "#010203"  # stands for the page's own text colour until the SVG is written
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
    has one.
    """

    row: str
    series: str
    value: float
    low: float | None
    high: float | None


def draw_estimates(
    estimates: Sequence[Dot],
    x_label: str,
    figure_id: str,
    span: tuple[float, float] | None = None,
) -> str:
    """Dots with intervals, a row each, series side by side; `span` is always in view, else the axis
    fits the dots.
    """
    rows = list(dict.fromkeys(e.row for e in estimates))
    series = list(dict.fromkeys(e.series for e in estimates))
    figure, axes = _start_figure(rows, max(0.34, 0.15 * len(series) + 0.1), x_label)
    for k, name in enumerate(series):
        dots = [e for e in estimates if e.series == name]
        offset = 0.0 if len(series) == 1 else 0.7 * (k / (len(series) - 1) - 0.5)
        _draw_series(axes, dots, [rows.index(e.row) + offset for e in dots], k, name)
    for y in range(1, len(rows)):
        axes.axhline(y - 0.5, color=_INK, alpha=0.12, linewidth=0.6)
    if span is not None:
        axes.axvline(0, color=_INK, alpha=0.45, linewidth=0.8)
        axes.set_xlim(min(span[0], axes.get_xlim()[0]), max(span[1], axes.get_xlim()[1]))
    if len(series) > 1:
        _add_legend(figure, axes, series)
    return _to_svg(figure, figure_id)


def draw_statuses(counts: Mapping[str, Mapping[str, int]], figure_id: str) -> str:
    """Stacked bars, one a judge: the share of its cases that ended in each status, in per cent."""
    rows = list(counts)
    totals = [max(1, sum(counts[row].values())) for row in rows]
    statuses = [s for s in STATUS_COLOURS if any(counts[row].get(s, 0) for row in rows)]
    figure, axes = _start_figure(rows, 0.34, "share of cases, %")
    left = [0.0] * len(rows)
    for status in statuses:
        shares = [
            100 * counts[row].get(status, 0) / total
            for row, total in zip(rows, totals, strict=True)
        ]
        axes.barh(
            range(len(rows)),
            shares,
            left=left,
            height=0.62,
            color=STATUS_COLOURS[status],
            label=status,
        )
        left = [a + b for a, b in zip(left, shares, strict=True)]
    axes.set_xlim(0, 100)
    _add_legend(figure, axes, statuses)
    return _to_svg(figure, figure_id)


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
    marker = MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]
    axes.plot(
        [dot.value for dot in dots],
        heights,
        linestyle="",
        marker=marker,
        markersize=6,
        color=colour,
        label=f"s{name}",
    )


def _add_legend(figure: Figure, axes: Axes, names: Sequence[str]) -> None:
    handles = axes.get_legend_handles_labels()[0]
    labels = [shorten_label(name, 32) for name in names]
    columns = max(1, min(len(labels), _LEGEND_CHARACTERS // (max(map(len, labels)) + 6)))
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
    return _IDENTIFIER.sub(rf"\g<1>{figure_id}-", tag).replace(_INK, "currentColor")
