"""The lake's tables: name -> contract, key, partitions, sort order. Nothing here reads or
writes.
"""

from dataclasses import dataclass

import pandera.polars as pa
import polars as pl
import pyarrow as arrow

from judgelake.schemas import embeddings, inputs, judging, raters, recorded, reports

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


@dataclass(frozen=True)
class Table:
    """One table: `keys` name a row, `partitions` are folders (and not columns of the files), `sort`
    orders rows in a file.
    """

    name: str
    model: type[pa.DataFrameModel]
    keys: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()

    @property
    def polars_schema(self) -> dict[str, pl.DataType]:
        """Column name -> polars type, in the contract's order, partitions included."""
        return {name: column.dtype.type for name, column in self.model.to_schema().columns.items()}

    @property
    def arrow_schema(self) -> arrow.Schema:
        """The Arrow schema of one part file: no partition columns, plain (not large) strings and
        lists.
        """
        columns = {
            name: dtype for name, dtype in self.polars_schema.items() if name not in self.partitions
        }
        frame: arrow.Table = pl.DataFrame(schema=columns).to_arrow()
        return arrow.schema([arrow.field(field.name, _plain(field.type)) for field in frame.schema])


def _plain(dtype: arrow.DataType) -> arrow.DataType:
    if arrow.types.is_large_string(dtype) or arrow.types.is_string_view(dtype):
        return arrow.string()
    if arrow.types.is_large_list(dtype) or arrow.types.is_list(dtype):
        return arrow.list_(_plain(dtype.value_type))
    if arrow.types.is_struct(dtype):
        return arrow.struct([arrow.field(part.name, _plain(part.type)) for part in dtype])
    return dtype


def _table(
    name: str,
    model: type[pa.DataFrameModel],
    keys: tuple[str, ...],
    partitions: tuple[str, ...] = (),
    sort: tuple[str, ...] = (),
) -> Table:
    return Table(
        name, model, keys, partitions, sort or tuple(key for key in keys if key not in partitions)
    )


_ANSWER = ("benchmark", "item_id", "answer_id")
_PAIR = ("benchmark", "item_id", "answer_a", "answer_b")
_RATED = ("suite", "benchmark", "rater", "criterion")
_GRADED = ("suite", "benchmark", "judge", "judge_criterion", "human_criterion")

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        _table("items", inputs.Items, ("benchmark", "item_id"), ("benchmark",)),
        _table("answers", inputs.Answers, _ANSWER, ("benchmark",)),
        _table(
            "captions",
            inputs.Captions,
            ("benchmark", "image_uri", "captioner", "text"),
            ("benchmark",),
        ),
        _table(
            "human_ratings",
            inputs.HumanRatings,
            (*_ANSWER, "criterion", "annotator"),
            ("benchmark",),
        ),
        _table(
            "human_preferences",
            recorded.HumanPreferences,
            (*_PAIR, "criterion", "annotator"),
            ("benchmark",),
        ),
        _table(
            "choice_sets",
            recorded.ChoiceSets,
            ("benchmark", "item_id", "choice_set", "criterion", "annotator"),
            ("benchmark",),
        ),
        _table(
            "feedback_preferences",
            recorded.FeedbackPreferences,
            (*_ANSWER, "criterion", "author_a", "author_b", "annotator"),
            ("benchmark",),
        ),
        _table(
            "recorded_verdicts",
            recorded.RecordedVerdicts,
            (*_ANSWER, "judge", "criterion", "sample"),
            ("benchmark",),
        ),
        _table(
            "recorded_duels",
            recorded.RecordedDuels,
            (*_PAIR, "judge", "criterion", "sample"),
            ("benchmark",),
        ),
        _table("recorded_scores", recorded.RecordedScores, (*_ANSWER, "metric"), ("benchmark",)),
        _table(
            "failure_labels",
            recorded.FailureLabels,
            (*_ANSWER, "category", "labeller"),
            ("benchmark",),
        ),
        _table(
            "item_labels",
            recorded.ItemLabels,
            ("benchmark", "item_id", "label", "labeller"),
            ("benchmark",),
        ),
        _table("rubrics", recorded.Rubrics, ("benchmark", "rubric_id"), ("benchmark",)),
        _table(
            "item_rubrics",
            recorded.ItemRubrics,
            ("benchmark", "item_id", "rubric_id"),
            ("benchmark",),
        ),
        _table("models", recorded.Models, ("benchmark", "model"), ("benchmark",)),
        _table(
            "benchmark_scores",
            recorded.BenchmarkScores,
            ("benchmark", "model", "published_benchmark"),
            ("benchmark",),
        ),
        _table("ingests", inputs.Ingests, ("ingest_id",), ("benchmark",)),
        _table("quarantine", inputs.Quarantine, (), ("benchmark",), ("source_file", "locator")),
        _table("judges", judging.Judges, ("suite", "alias", "reading", "registered_at")),
        _table(
            "matchups",
            judging.Matchups,
            ("benchmark", "plan", "item_id", "answer_a", "answer_b"),
            ("benchmark",),
        ),
        _table("cases", judging.Cases, (*PAIR_KEY, "planned_at"), ("judge_id",)),
        _table("replies", judging.Replies, ("judge_id", "request_digest", "draw"), ("judge_id",)),
        _table("batches", judging.Batches, ("judge_id", "batch_key", "noted_at"), ("judge_id",)),
        _table("verdicts", judging.Verdicts, (*CASE_KEY, "reading", "judged_at"), ("judge_id",)),
        _table("duels", judging.Duels, (*PAIR_KEY, "reading", "judged_at"), ("judge_id",)),
        _table(
            "generated_captions",
            judging.GeneratedCaptions,
            (*CASE_KEY, "reading", "judged_at"),
            ("judge_id",),
        ),
        _table(
            "metric_scores",
            judging.MetricScores,
            ("judge_id", "benchmark", "item_id", "content_digest"),
            ("judge_id",),
        ),
        _table("embeddings", embeddings.Embeddings, ("encoder", "digest"), ("encoder",)),
        _table("runs", judging.Runs, ("run_id", "ended_at")),
        _table(
            "correlations",
            reports.Correlations,
            (),
            ("suite",),
            ("benchmark", "model", "judge", "coefficient"),
        ),
        _table(
            "judge_comparisons",
            reports.JudgeComparisons,
            (),
            ("suite",),
            ("benchmark", "coefficient", "judge"),
        ),
        _table(
            "difference_tests",
            reports.DifferenceTests,
            (),
            ("suite",),
            ("benchmark", "coefficient", "test", "judge"),
        ),
        _table(
            "rule_labels",
            reports.RuleLabels,
            ("suite", "benchmark", "item_id", "content_digest", "category", "labeller"),
            ("suite",),
        ),
        _table(
            "corpus_scores",
            reports.CorpusScores,
            ("suite", "benchmark", "judge", "model"),
            ("suite",),
        ),
        _table("rankings", raters.Rankings, (*_RATED, "category", "method", "model"), ("suite",)),
        _table(
            "kappas",
            raters.Kappas,
            ("suite", "benchmark", "rater_a", "rater_b", "criterion", "chance"),
            ("suite",),
        ),
        _table("contradictions", raters.Contradictions, _RATED, ("suite",)),
        _table("grader_accuracy", raters.GraderAccuracy, _GRADED, ("suite",)),
        _table(
            "reliabilities",
            raters.Reliabilities,
            ("suite", "benchmark", "raters", "criterion", "statistic"),
            ("suite",),
        ),
        _table(
            "superscores",
            raters.Superscores,
            ("suite", "benchmark", "judge", "criterion", "model"),
            ("suite",),
        ),
        _table(
            "ranking_overlaps",
            raters.RankingOverlaps,
            ("suite", "benchmark", "criterion", "category", "method", "rater_a", "rater_b"),
            ("suite",),
        ),
        _table(
            "item_label_shares",
            raters.ItemLabelShares,
            ("suite", "benchmark", "label", "labeller"),
            ("suite",),
        ),
        _table("choice_accuracies", raters.ChoiceAccuracies, _GRADED, ("suite",)),
        _table(
            "attribute_agreement", raters.AttributeAgreement, (*_RATED, "attribute"), ("suite",)
        ),
    )
}
