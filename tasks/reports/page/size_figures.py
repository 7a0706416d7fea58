"""The figure of what size buys: models' ratings against their parameters, with a fitted line
(CHIRP, scaling analyses).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import linear_regression
from typing import Any

from judgelake.tasks.reports.page.figures import Point, draw_points

Record = Mapping[str, Any]

_PARTS = ("language model", "vision encoder")
_LEAST_MODELS = 3


def draw_scaling(
    ratings: Sequence[Record], rater: str, figure_id: str, rows: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Caption and SVG for each part of the models whose size is known of three models or more, and
    differs: `ratings` are rows of the query `sizes` of one rater, `rater` its name, `rows` the
    filter of the rows of a model.
    """
    for part in _PARTS:
        points = [
            Point(row["model"], row[part], row["rating"], rows.get(row["model"]))
            for row in ratings
            if row[part]
        ]
        sizes = [math.log10(point.x) for point in points]
        if len(points) < _LEAST_MODELS or min(sizes) == max(sizes):
            continue
        slope, start = linear_regression(sizes, [point.y for point in points])
        line = [(10**size, start + slope * size) for size in (min(sizes), max(sizes))]
        yield (
            f"Bradley-Terry ratings by {rater} of {len(points)} models against the size of their "
            f"{part}. The line is fitted by least squares: with ten times the parameters goes a "
            f"rating {abs(slope):.3g} {'higher' if slope >= 0 else 'lower'}. Models differ in more "
            "than their size.",
            draw_points(
                points,
                f"parameters of the {part}, billions",
                "rating",
                f"{figure_id}-{part.partition(' ')[0]}",
                line,
                is_log=True,
            ),
        )
