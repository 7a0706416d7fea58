"""The lake's tables: name -> contract, key, partitions, sort order. Nothing here reads or
writes.

A contract's module is imported when the contract is asked for: pandera takes a second, which a
query that needs only names and keys does not have.
"""

import ast
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandera.polars as pa
    import polars as pl
    import pyarrow as arrow

CASE_KEY = (
    "judge_id",
    "benchmark",
    "item_id",
    "content_digest",
    "context_digest",
    "criterion",
    "sample",
)
PAIR_KEY = (*CASE_KEY, "other_digest", "shown_first")


Origin = Literal["run", "attempt", "ingest", "report", "collection"]
"""Who writes a table, which decides which of its rows are current: those of the newest ingest of
their source; those of a suite's newest report, or the newest collection; of attempts at the same
case the one that came out well, else the latest; what else runs write is for a view of its own to
decide.
"""


@dataclass(frozen=True)
class Table:
    """One table: `keys` name a row, `partitions` are folders (and not columns of the files), `sort`
    orders rows in a file; `contract` is the module of `schemas/` and the class of its columns.

    The view `stg_<name>`, its current rows, follows from this declaration for tables of an ingest,
    a report or of attempts (`judgelake.tasks.warehouse.staging`); for others it is a file in
    `sql/staging`.
    """

    name: str
    contract: str
    keys: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    origin: Origin = "run"

    @cached_property
    def model(self) -> "type[pa.DataFrameModel]":
        """The contract itself."""
        module, _, name = self.contract.partition(".")
        model: type[pa.DataFrameModel] = getattr(
            importlib.import_module(f"judgelake.schemas.{module}"), name
        )
        return model

    @property
    def grain(self) -> str:
        """What one row is: how the contract's docstring begins."""
        module, _, name = self.contract.partition(".")
        words = " ".join(_read_docstrings(module)[name].split()).replace("×", "x")
        # the sentence may go on after a colon or semicolon
        return re.split(r"[.;:](?: |$)", words)[0].removeprefix("One row per ")

    @cached_property
    def polars_schema(self) -> "Mapping[str, pl.DataType]":
        """Column name -> polars type, in the contract's order, partitions included."""
        return {name: column.dtype.type for name, column in self.model.to_schema().columns.items()}

    @property
    def arrow_schema(self) -> "arrow.Schema":
        """The Arrow schema of one part file: no partition columns, plain (not large) strings and
        lists.
        """
        import polars as pl
        import pyarrow as arrow

        columns = {
            name: dtype for name, dtype in self.polars_schema.items() if name not in self.partitions
        }
        frame: arrow.Table = pl.DataFrame(schema=columns).to_arrow()
        return arrow.schema([arrow.field(field.name, _plain(field.type)) for field in frame.schema])


@cache
def _read_docstrings(module: str) -> Mapping[str, str]:
    """Class -> docstring of a module of `schemas/`, which is not imported for that."""
    tree = ast.parse(Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8"))
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {node.name: ast.get_docstring(node) or "" for node in classes}


def _plain(dtype: "arrow.DataType") -> "arrow.DataType":
    import pyarrow as arrow

    if arrow.types.is_large_string(dtype) or arrow.types.is_string_view(dtype):
        return arrow.string()
    if arrow.types.is_large_list(dtype) or arrow.types.is_list(dtype):
        return arrow.list_(_plain(dtype.value_type))
    if arrow.types.is_struct(dtype):
        return arrow.struct([arrow.field(part.name, _plain(part.type)) for part in dtype])
    return dtype


def _table(
    name: str,
    contract: str,
    keys: tuple[str, ...],
    partitions: tuple[str, ...] = (),
    sort: tuple[str, ...] = (),
    origin: Origin = "run",
) -> Table:
    order = sort or tuple(key for key in keys if key not in partitions)
    return Table(name, contract, keys, partitions, order, origin)


def _ingested(name: str, contract: str, *keys: str) -> Table:
    """A table of inputs: an ingest replaces a benchmark's rows."""
    return _table(name, contract, keys, ("benchmark",), origin="ingest")


def _reported(name: str, contract: str, *keys: str, sort: tuple[str, ...] = ()) -> Table:
    """A table of results: a report replaces its suite's rows."""
    return _table(name, contract, keys, ("suite",), sort, origin="report")


def _attempted(name: str, contract: str, case: tuple[str, ...] = CASE_KEY) -> Table:
    """A table of what became of cases: attempts at the same case differ in `judged_at`."""
    keys = (*case, "reading", "judged_at")
    return _table(name, contract, keys, ("judge_id",), origin="attempt")


_ANSWER = ("benchmark", "item_id", "answer_id")
_PAIR = ("benchmark", "item_id", "answer_a", "answer_b")
_FIGURE = ("figure", "benchmark", "judge", "model", "criterion")
_CUTS = ("task", "category", "style")
_RATED = ("suite", "benchmark", "rater", "criterion")

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        _ingested("items", "inputs.Items", "benchmark", "item_id"),
        _ingested("answers", "inputs.Answers", *_ANSWER),
        _ingested("captions", "inputs.Captions", "benchmark", "image_uri", "captioner", "text"),
        _ingested("human_ratings", "inputs.HumanRatings", *_ANSWER, "criterion", "annotator"),
        _ingested(
            "human_preferences", "recorded.HumanPreferences", *_PAIR, "criterion", "annotator"
        ),
        _ingested(
            "choice_sets",
            "recorded.ChoiceSets",
            "benchmark",
            "item_id",
            "choice_set",
            "criterion",
            "annotator",
        ),
        _ingested(
            "feedback_preferences",
            "recorded.FeedbackPreferences",
            *_ANSWER,
            "criterion",
            "author_a",
            "author_b",
            "annotator",
        ),
        _ingested(
            "recorded_verdicts",
            "recorded.RecordedVerdicts",
            *_ANSWER,
            "judge",
            "criterion",
            "sample",
        ),
        _ingested(
            "recorded_duels",
            "recorded.RecordedDuels",
            *_PAIR,
            "judge",
            "criterion",
            "sample",
            "shown_first",
        ),
        _ingested("recorded_scores", "recorded.RecordedScores", *_ANSWER, "metric"),
        _ingested("failure_labels", "recorded.FailureLabels", *_ANSWER, "category", "labeller"),
        _ingested(
            "item_labels", "recorded.ItemLabels", "benchmark", "item_id", "label", "labeller"
        ),
        _ingested("rubrics", "recorded.Rubrics", "benchmark", "rubric_id"),
        _ingested("item_rubrics", "recorded.ItemRubrics", "benchmark", "item_id", "rubric_id"),
        _ingested("models", "recorded.Models", "benchmark", "model"),
        _ingested(
            "benchmark_scores",
            "recorded.BenchmarkScores",
            "benchmark",
            "model",
            "published_benchmark",
        ),
        _table("ingests", "inputs.Ingests", ("ingest_id",), ("benchmark",)),
        _table("item_samples", "inputs.ItemSamples", ("benchmark", "seed", "item_id")),
        _table(
            "quarantine",
            "inputs.Quarantine",
            (),
            ("benchmark",),
            ("source_file", "locator"),
            "ingest",
        ),
        _table(
            "replaced_answers",
            "inputs.ReplacedAnswers",
            (*_ANSWER, "replaced_at"),
            ("benchmark",),
        ),
        _table("judges", "judging.Judges", ("suite", "alias", "reading", "registered_at")),
        _table(
            "matchups",
            "judging.Matchups",
            ("benchmark", "plan", "item_id", "answer_a", "answer_b"),
            ("benchmark",),
        ),
        _table("cases", "judging.Cases", (*PAIR_KEY, "planned_at"), ("judge_id",)),
        _table("replies", "judging.Replies", ("judge_id", "request_digest", "draw"), ("judge_id",)),
        _table("batches", "judging.Batches", ("judge_id", "batch_key", "noted_at"), ("judge_id",)),
        _table("verdicts", "judging.Verdicts", (*CASE_KEY, "reading", "judged_at"), ("judge_id",)),
        _attempted("duels", "judging.Duels", PAIR_KEY),
        _table(
            "generated_captions",
            "judging.GeneratedCaptions",
            (*CASE_KEY, "reading", "judged_at"),
            ("judge_id",),
        ),
        _attempted("generated_answers", "judging.GeneratedAnswers"),
        _attempted("collected_rubrics", "collection.CollectedRubrics"),
        _attempted("collected_instructions", "collection.CollectedInstructions"),
        _attempted("collected_responses", "collection.CollectedResponses"),
        _attempted("augmented_items", "collection.AugmentedItems"),
        _table(
            "screened_rubrics",
            "collection.ScreenedRubrics",
            ("judge_id", "reading", "benchmark", "context_digest", "criterion"),
            ("judge_id",),
        ),
        _table(
            "metric_scores",
            "judging.MetricScores",
            ("judge_id", "benchmark", "item_id", "content_digest"),
            ("judge_id",),
        ),
        _table("embeddings", "embeddings.Embeddings", ("encoder", "digest"), ("encoder",)),
        _table("runs", "judging.Runs", ("run_id", "ended_at")),
        _table("trainings", "training.Trainings", ("judge_digest", "trained_at")),
        _table(
            "results",
            "reports.Results",
            ("suite", "reported_at", *_FIGURE),
            ("suite",),
        ),
        _table(
            "paired_changes",
            "reports.PairedChanges",
            ("suite", "reported_at", "base_reported_at", *_FIGURE),
            ("suite",),
        ),
        _reported(
            "correlations",
            "reports.Correlations",
            sort=("benchmark", "model", "judge", "coefficient"),
        ),
        _reported(
            "judge_comparisons",
            "reports.JudgeComparisons",
            sort=("benchmark", "coefficient", "judge"),
        ),
        _reported(
            "difference_tests",
            "reports.DifferenceTests",
            sort=("benchmark", "coefficient", "test", "judge"),
        ),
        _reported(
            "rule_labels",
            "reports.RuleLabels",
            "suite",
            "benchmark",
            "item_id",
            "content_digest",
            "category",
            "labeller",
        ),
        _reported(
            "corpus_scores",
            "reports.CorpusScores",
            "suite",
            "benchmark",
            "judge",
            "model",
        ),
        _reported(
            "rankings",
            "raters.Rankings",
            *_RATED,
            "category",
            "method",
            "model",
        ),
        _reported(
            "kappas",
            "raters.Kappas",
            "suite",
            "benchmark",
            "rater_a",
            "rater_b",
            "kind",
            "criterion",
            *_CUTS,
            "chance",
        ),
        _reported(
            "contradictions",
            "raters.Contradictions",
            *_RATED,
            "pairs",
        ),
        _reported(
            "reliabilities",
            "raters.Reliabilities",
            "suite",
            "benchmark",
            "raters",
            "kind",
            "criterion",
            *_CUTS,
            "statistic",
        ),
        _reported(
            "ranking_overlaps",
            "raters.RankingOverlaps",
            "suite",
            "benchmark",
            "criterion",
            "category",
            "method",
            "rater_a",
            "rater_b",
        ),
        _table(
            "collection_figures",
            "collection.CollectionFigures",
            ("suite", "benchmark", "figure", "compared_with", "level"),
            ("suite",),
            origin="collection",
        ),
        _reported(
            "attribute_agreement",
            "raters.AttributeAgreements",
            *_RATED,
            "category",
            "attribute",
        ),
    )
}
