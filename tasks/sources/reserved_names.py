"""Names that reports use for rows of their own: a model, criterion, annotator or judge of such a
name would be merged with them, so its rows do not pass.
"""

from collections.abc import Mapping

import polars as pl

from judgelake.tasks.lake.validation import no_quarantine, quarantine

ALL = r"\*"
RESERVED: Mapping[str, str] = {
    "model": rf"{ALL}|\((mean of models|mean of cells|systems|unnamed|reference)\)",
    "answer_id": r"\(reference\)",
    "criterion": ALL,
    "category": rf"{ALL}|\(none\)",
    "annotator": rf"{ALL}( \((majority|mean)\))?",
    "judge": rf"{ALL}|human(:.*)?|metric:.*",
    "metric": ALL,
    "labeller": ALL,
}
"""Column -> the names, as a regular expression, that stand for something else in reports."""


def split_reserved(table: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of a table without such names, and the others as quarantined rows."""
    refused = [no_quarantine()]
    for column in [name for name in frame.columns if name in RESERVED]:
        is_taken = pl.col(column).str.contains(f"^(?:{RESERVED[column]})$").fill_null(False)
        refused.append(
            quarantine(
                frame.filter(is_taken),
                table,
                column,
                column,
                f"reports use this name for rows of their own, so the {column} would be merged "
                "with them",
                "give it another name",
            )
        )
        frame = frame.filter(~is_taken)
    return frame, pl.concat(refused)
