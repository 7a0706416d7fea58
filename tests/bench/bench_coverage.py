"""`python -m tests.bench.bench_coverage [samples] [file]`: how often 95 % intervals hold the truth,
by numbers of clusters and how rows are spread over them. Resamples are the product's own: Poisson
draws by cluster name.

Prints for each statistic the percentage of samples whose interval holds the population's value, of
those that have one, and in brackets the percentage that have none, with its reason in the result.
Within 93 to 97 is the goal; above it stand what is discrete (shares near 0 and 1, rank coefficients
of few rows) and what most rows of one cluster leave open.

Each cell has a seed of its own and is added to `file` (JSON lines), so that a bench that was
stopped goes on where it was when it is given the same file.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.stats.coverage import (
    CLUSTERS,
    LAYOUTS,
    SEVERAL_ROWS,
    Coverage,
    Layout,
    Population,
    list_views,
    measure_coverage,
    measure_kappas,
    measure_systems,
)

SAMPLES, RESAMPLES, ITEMS = 200, 400, 50
MODELS = (3, 5, 6, 8, 10, 15, 30)
Found = dict[str, Coverage]


Measure = Callable[[int, np.random.Generator], Found]


class Cell(NamedTuple):
    """One line of the grid: clusters (or models), how rows are spread over them, what is measured,
    and the measurement of so many samples.
    """

    n: int
    layout: str
    what: str
    measure: Measure

    @property
    def name(self) -> str:
        return f"{self.n:4} {self.layout:12} {self.what}"


def main() -> None:
    """Print the grid; of means and shares ten times as many samples, of models five times."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    file = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    start, known = time.perf_counter(), dict(_read_cells(file, samples))
    cells = list(_list_cells())
    for at, cell in enumerate(cells):
        if cell.name not in known:
            known[cell.name] = cell.measure(samples, np.random.default_rng([19, at]))
            if file:
                row = {"cell": cell.name, "samples": samples, "found": known[cell.name]}
                with file.open("a") as lines:
                    lines.write(json.dumps(row) + "\n")
        print(f"{cell.name:45} {show_all(known[cell.name])}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


def _read_cells(file: Path | None, samples: int) -> Iterator[tuple[str, Found]]:
    for line in file.read_text().splitlines() if file and file.exists() else ():
        row = json.loads(line)
        if row["samples"] == samples:
            yield row["cell"], {name: Coverage(*one) for name, one in row["found"].items()}


def _list_cells() -> Iterator[Cell]:
    for n in CLUSTERS:
        for name, layout in LAYOUTS.items():
            yield Cell(n, name, "means, shares, slopes", _measure_views(layout, n))
            yield Cell(n, name, "raters", _measure_kappas(layout, n))
            for population, draw in SEVERAL_ROWS.items():
                yield Cell(n, name, population, _measure_correlations(draw, layout, n))
    for n in MODELS:
        yield Cell(n, "models", "means correlated", _measure_models(n))


def _measure_views(layout: Layout, n: int) -> Measure:
    return lambda samples, rng: dict(list_views(layout, n, 10 * samples, rng))


def _measure_kappas(layout: Layout, n: int) -> Measure:
    return lambda samples, rng: measure_kappas(layout, n, samples, RESAMPLES, rng)


def _measure_correlations(draw: Population, layout: Layout, n: int) -> Measure:
    return lambda samples, rng: measure_coverage(draw, layout, n, samples, RESAMPLES, rng)


def _measure_models(n: int) -> Measure:
    return lambda samples, rng: measure_systems(n, ITEMS, 5 * samples, rng)


def show(found: Coverage) -> str:
    """`95.1`, with `(3)` where so many of 100 samples have no interval; `-` where none has."""
    held = "    -" if np.isnan(found.held) else f"{100 * found.held:5.1f}"
    return held + (f" ({100 * found.without:.0f})" if found.without else "")


def show_all(found: Found) -> str:
    """Several of them with their names."""
    return "  ".join(f"{name} {show(one)}" for name, one in found.items())


if __name__ == "__main__":
    main()
