"""Long columns of scores, as SQL gives them, into matrices. What is computed of a matrix lives elsewhere."""

import numpy as np

from tasks.stats.cluster_sums import Floats, Indices


def tabulate_scores(values: Floats, rows: Indices, columns: Indices, shape: tuple[int, int]) -> Floats:
    """A matrix (answers x judges, systems x items, answers x annotators) from the codes of each score's row and column.

    NaN where there is no score; the mean where there are several (a judge's samples), missing ones (NaN) left out.
    """
    if rows.size and not (0 <= rows.min() <= rows.max() < shape[0] and 0 <= columns.min() <= columns.max() < shape[1]):
        raise ValueError(
            f"tabulate_scores: rows {rows.min()} to {rows.max()}, columns {columns.min()} to {columns.max()}; "
            f"expected codes from 0 within the shape {shape}; count the distinct rows and columns"
        )
    scored = ~np.isnan(values)
    cell, size = (rows * shape[1] + columns)[scored], shape[0] * shape[1]
    sums, counts = np.bincount(cell, values[scored], size), np.bincount(cell, minlength=size)
    table: Floats = np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0)
    return table.reshape(shape)
