"""Labels by rule of the answers on which people and string matching differ, for SQL to read. The
rules are `tasks.failures.rules`.
"""

from datetime import UTC, datetime

import duckdb
import polars as pl

from judgelake.schemas.tables import TABLES
from judgelake.tasks.failures.rules import label_answer, name_rules
from judgelake.tasks.failures.wordnet import load_wordnet
from judgelake.tasks.suite.suite import Suite
from judgelake.tasks.warehouse.warehouse import select_file


def label_failures(connection: duckdb.DuckDBPyConnection, suite: Suite) -> pl.DataFrame:
    """Rows of the table `rule_labels`: for each such answer each category that the rules decide."""
    answers = select_file(
        connection, "queries/failure_answers.sql", {"benchmarks": [*suite.benchmarks]}
    )
    wordnet = load_wordnet() if answers.height else None
    stamp = {"suite": suite.name, "labeller": name_rules(wordnet), "reported_at": datetime.now(UTC)}
    rows = [
        {
            **stamp,
            "benchmark": row["benchmark"],
            "item_id": row["item_id"],
            "content_digest": row["content_digest"],
            "category": category,
            "holds": holds,
        }
        for row in answers.iter_rows(named=True)
        for category, holds in label_answer(row["text"], row["references"], wordnet).items()
    ]
    return pl.DataFrame(rows, schema=TABLES["rule_labels"].polars_schema)
