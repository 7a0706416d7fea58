"""A lake's current rows as a folder that Hugging Face `datasets` loads: `<table>/*.parquet`, and a
card `README.md` with counts, licences, judges' signatures and coverage.

Images stay where they are; rows name them by URI and sha256. The folder's format:
https://huggingface.co/docs/hub/datasets-manual-configuration
"""

import re
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import yaml

from judgelake.schemas.tables import TABLES
from judgelake.tasks.errors import LakeError, SuiteError, nearest
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.processes import own_folder
from judgelake.tasks.lake.storage import move_folder
from judgelake.tasks.warehouse.catalog import markdown_line, plain_cell
from judgelake.tasks.warehouse.views import quote_text, read_grain
from judgelake.tasks.warehouse.warehouse import (
    bound_memory,
    open_warehouse,
    run_sql,
    select_file,
    select_frame,
)

SCORES = "scores"
"""The configuration that is loaded where none is named: judges' and metrics' scores by answer."""
_VIEWS = {SCORES: "core_scores", "judges": "core_judges"}
_RUN_TABLES = (
    "replies",
    "verdicts",
    "duels",
    "generated_captions",
    "generated_answers",
    "collected_rubrics",
    "collected_instructions",
    "collected_responses",
    "augmented_items",
    "metric_scores",
)
_FILE_BYTES = "500MB"
"""A file's size up to which the hub's viewer reads it whole."""
UNKNOWN = "unknown"
"""The hub's word for a licence that nobody stated."""
_LICENCE = re.compile(r"[a-z0-9][a-z0-9.+-]*")


class Configuration(NamedTuple):
    """One table of the folder, by the name under which it is loaded."""

    name: str
    n_rows: int
    grain: str


def export_dataset(lake: Lake, folder: Path, licences: Sequence[str]) -> list[Configuration]:
    """Write `folder`, which must be new or empty, whole or not at all; tables without rows are left
    out.

    `licences`: `ID` for all benchmarks or `BENCHMARK=ID`, as the hub names them. Raises SuiteError
    for one that is wrong, LakeError where the folder cannot be written.
    """
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise LakeError(f"{folder}: is there already; expected a new or empty folder; name another")
    aside = folder.absolute().with_name(f".{uuid.uuid4().hex}.tmp")
    with open_warehouse(lake, lazy=True, alone=True) as connection, own_folder("export") as spill:
        bound_memory(connection, Path(spill))
        benchmarks = _count_benchmarks(connection)
        of_benchmarks = read_licences(licences, benchmarks["benchmark"].to_list())
        try:
            written = list(_write_tables(connection, aside))
            if not written:
                raise LakeError(
                    f"{lake.root}: holds no rows; expected answers or scores; run a suite first"
                )
            card = _write_card(connection, folder.absolute().name, written, of_benchmarks)
            (aside / "README.md").write_text(card, encoding="utf-8")
            move_folder(aside, folder.absolute())
        except OSError as error:
            raise LakeError(
                f"{folder}: cannot be written ({error.strerror}); expected a writable place with "
                f"room; free it and run again"
            ) from None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return written


def read_licences(given: Sequence[str], benchmarks: Sequence[str]) -> dict[str, str]:
    """Benchmark -> its licence, `unknown` where none is given; raises SuiteError."""
    licences = dict.fromkeys(benchmarks, UNKNOWN)
    for text in given:
        benchmark, equals, licence = text.rpartition("=")
        if not _LICENCE.fullmatch(licence):
            raise SuiteError(
                f"--license {text!r}: {licence!r} is no licence; expected an id of the hub such as "
                f"cc-by-4.0, or BENCHMARK=cc-by-4.0; correct it"
            )
        if equals and benchmark not in licences:
            raise SuiteError(
                f"--license {text!r}: the lake has no benchmark {benchmark!r}; "
                f"{nearest(benchmark, licences)}"
            )
        licences |= dict.fromkeys([benchmark] if equals else benchmarks, licence)
    return licences


def _list_views() -> Mapping[str, str]:
    """Configuration -> the view that it holds the rows of, `scores` first."""
    tables = [
        name
        for name, table in TABLES.items()
        if (table.origin == "ingest" and name != "quarantine") or name in _RUN_TABLES
    ]
    return {**_VIEWS, **{name: f"stg_{name}" for name in tables}}


def _write_tables(connection: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[Configuration]:
    for name, view in _list_views().items():
        count = f"select count(*) from {view}"
        n_rows = int(select_frame(connection, count, view).item())
        if n_rows:
            (folder / name).mkdir(parents=True)
            options = f"(format parquet, compression zstd, file_size_bytes '{_FILE_BYTES}')"
            rows = f"select * from {view} order by all"
            run_sql(connection, f"copy ({rows}) to {quote_text(folder / name)} {options}", view)
            yield Configuration(name, n_rows, read_grain(view))


def _count_benchmarks(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    text = """
        select
            benchmark,
            count(distinct item_id) as items,
            count(answer_id) as answers
        from stg_items left join stg_answers using (benchmark, item_id)
        group by benchmark
        order by benchmark
    """
    return select_frame(connection, text, "benchmarks")


def _write_card(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    written: Sequence[Configuration],
    licences: Mapping[str, str],
) -> str:
    """The text of README.md: what the hub reads, then what a person reads."""
    front = {
        "pretty_name": name,
        "license": sorted(set(licences.values())),
        "tags": ["judgelake", "llm-as-a-judge"],
        "configs": [
            {
                "config_name": table.name,
                "data_files": f"{table.name}/*.parquet",
                **({"default": True} if table.name == written[0].name else {}),
            }
            for table in written
        ],
    }
    benchmarks = _count_benchmarks(connection)
    named = benchmarks.with_columns(
        licence=pl.col("benchmark").replace_strict(licences, return_dtype=pl.String)
    )
    judges = (
        "select distinct judge, kind, signature, reading_signature from core_judges order by all"
    )
    coverage = select_file(connection, "queries/dataset_coverage.sql")
    return "\n".join(
        [
            f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---\n",
            f"# {name}\n",
            "Answers of models to benchmarks, with the scores that judges, reference metrics and "
            "people gave them. Written by `judgelake export`.\n",
            "```python",
            "from datasets import load_dataset\n",
            f'rows = load_dataset("{name}", "{written[0].name}", split="train")',
            "```\n",
            "Images are not part of it: items name them by URI and sha256. People are named as in "
            "the sources. Texts of judges and models come under the terms of those who offer them.",
            "\n## Tables\n",
            _draw(pl.DataFrame(written, schema=["configuration", "rows", "holds"], orient="row")),
            "## Benchmarks\n",
            "`unknown`: nobody stated the licence; see where the benchmark comes from before you "
            "publish this folder.\n",
            _draw(named),
            "## Judges and metrics\n",
            _draw(select_frame(connection, judges, "judges")),
            "## Coverage\n",
            "How many scores, choices and labels were wanted, and how many there are. The others "
            "are rows without a score, with the reason in `status`.\n",
            _draw(coverage),
        ]
    )


def _draw(frame: pl.DataFrame) -> str:
    rows = [frame.columns, ["---"] * frame.width, *frame.iter_rows()]
    return "".join(markdown_line([plain_cell(cell) for cell in row]) for row in rows)
