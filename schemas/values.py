"""Types and allowed values that contracts share with what reads, judges and reports. Without
pandera, whose import takes a second.
"""

import polars as pl

Image = pl.Struct({"uri": pl.String, "sha256": pl.String})
Region = pl.Struct({"x": pl.Float64, "y": pl.Float64, "width": pl.Float64, "height": pl.Float64})

TASKS = ("vqa", "caption", "document", "referring", "instruction")
STYLES = ("short", "long")
CHOICES = ("a", "b", "tie")

FAILURE_CATEGORIES = (
    "multiple_answers",
    "specificity_or_verbosity",
    "synonym",
    "broad_question",
    "incorrect",
    "same_stem",
    "hypernym",
    "unknown",
    "ambiguous_object",
)
"""Why string matching misses an answer that people call correct (LAVE, Table 1, in its order);
`incorrect`: the people are wrong.
"""

RUBRIC_KINDS = ("general", "domain")
"""What a collected rubric is for: any image, or images of one kind (Prometheus-Vision)."""
