"""Ratings against the size of models, in the plane of the chapter on size."""

import re

import numpy as np
import pytest

from judgelake.tasks.reports.page.size_figures import draw_scaling

SIZES = {"tiny": 0.1, "small": 1.0, "large": 10.0, "huge": 70.0}
RATINGS = {"tiny": 900.0, "small": 1010.0, "large": 1100.0, "huge": 1140.0}


def make_ratings(encoder: float | None) -> list[dict[str, object]]:
    return [
        {"model": model, "rating": RATINGS[model], "language model": SIZES[model]}
        | {"vision encoder": encoder}
        for model in SIZES
    ]


def test_the_line_is_that_of_least_squares() -> None:
    ((caption, svg),) = draw_scaling(make_ratings(0.3), "people", "f0", {"tiny": "model=tiny"})
    slope = np.polyfit(np.log10([*SIZES.values()]), [*RATINGS.values()], 1)[0]
    assert f"with ten times the parameters goes a rating {slope:.3g} higher" in caption
    assert "by people of 4 models against the size of their language model" in caption
    assert set(re.findall(r">(tiny|small|large|huge)</text>", svg)) == set(SIZES)
    assert 'href="#rows?model=tiny"' in svg


@pytest.mark.parametrize("known", [0, 2])
def test_few_models_of_known_size_have_no_figure(known: int) -> None:
    ratings = make_ratings(None)
    for row in ratings[known:]:
        row["language model"] = None
    assert [*draw_scaling(ratings, "people", "f0", {})] == []
