"""What the lake knows of requests that went to a provider's Batch API: which are planned or
submitted, and what became of them.

Each change of state is a row of the table `batches`; how a batch is uploaded and asked after is
`tasks.backends.openai.batch`.
"""

import dataclasses
import functools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

import duckdb
import orjson
import polars as pl

from judgelake.tasks.backends.openai.adapting import Adaptation
from judgelake.tasks.lake.lake import Lake, append_records
from judgelake.tasks.lake.leases import SteadyClock
from judgelake.tasks.warehouse.warehouse import open_warehouse, select_frame

Key = tuple[str, int]
"""Request digest and draw."""
Refusals = dict[Key, str]
"""What the provider said, in its own words or JSON, of requests that it will not answer."""
_OPEN = ["planned", "submitted"]


@dataclass(frozen=True)
class Batch:
    """One file of requests: `requests` in the order of its lines, all of one model at one address,
    written by one `adaptation`.
    """

    key: str
    endpoint: str
    model: str
    base_url: str
    requests: tuple[Key, ...]
    n_bytes: int
    adaptation: Adaptation
    planned_at: datetime
    file_id: str | None = None
    batch_id: str | None = None

    @property
    def name(self) -> str:
        """What a person looks for at the provider: the batch's id, else its file's name."""
        return self.batch_id or self.file_name

    @property
    def file_name(self) -> str:
        """How its file is called at the provider, by which it is found again after a crash."""
        return f"judgelake-{self.key}.jsonl"


class OpenBatches(NamedTuple):
    """Where requests to a model stand; `adaptation` is the last one.

    `refusals` are of batches that this run has collected: what was said, and by which adaptation
    the request had been written.
    """

    open: list[Batch]
    refusals: dict[Key, tuple[str, Adaptation]]
    adaptation: Adaptation


class BatchBook:
    """The batches of one judge, as one run writes them."""

    def __init__(self, lake: Lake, judge_id: str, run_id: str) -> None:
        self._lake, self._judge_id, self._run_id = lake, judge_id, run_id

    @functools.cached_property
    def _clock(self) -> SteadyClock:
        return SteadyClock(_find_latest(self._lake, self._judge_id))

    def plan(
        self,
        endpoint: str,
        model: str,
        base_url: str,
        requests: Sequence[Key],
        n_bytes: int,
        adaptation: Adaptation,
    ) -> Batch:
        """Put a new batch with its requests into the lake, before anything of it is at the
        provider.
        """
        batch = Batch(
            uuid.uuid4().hex,
            endpoint,
            model,
            base_url,
            tuple(requests),
            n_bytes,
            adaptation,
            self._clock.now(),
        )
        self._append(batch, "planned", batch.requests)
        return batch

    def submit(self, batch: Batch, file_id: str | None, batch_id: str) -> Batch:
        """Record that the provider has the batch, and under which id."""
        submitted = dataclasses.replace(batch, file_id=file_id, batch_id=batch_id)
        self._append(submitted, "submitted")
        return submitted

    def end(
        self,
        batch: Batch,
        state: Literal["collected", "failed", "abandoned"],
        reason: str | None = None,
        refusals: Refusals | None = None,
    ) -> None:
        """Record that the batch has ended: its requests that have neither a reply in the lake nor a
        refusal may be asked again.
        """
        self._append(batch, state, reason=reason, refusals=refusals)

    def list_open(self) -> list[Batch]:
        """Batches that are planned or submitted, the oldest first."""
        return self._list_open(_open(self._lake, "batches"))

    def read(self, model: str) -> OpenBatches:
        """Where requests to a model stand now."""
        connection = _open(self._lake, "batches")
        return OpenBatches(
            self._list_open(connection),
            self._list_refusals(connection),
            self._find_adaptation(connection, model),
        )

    def _list_open(self, connection: duckdb.DuckDBPyConnection) -> list[Batch]:
        text = (
            "select * from stg_batches where judge_id = $judge_id and list_contains($open, "
            "state) order by planned_at, batch_key"
        )
        rows = select_frame(
            connection, text, "open batches", {"judge_id": self._judge_id, "open": _OPEN}
        )
        return [
            Batch(
                row["batch_key"],
                row["endpoint"],
                row["requested_model"],
                row["base_url"],
                _read_keys(row["requests"]),
                row["n_bytes"],
                _read_adaptation(row["adaptation"]),
                row["planned_at"],
                row["file_id"],
                row["batch_id"],
            )
            for row in rows.iter_rows(named=True)
        ]

    def _list_refusals(
        self, connection: duckdb.DuckDBPyConnection
    ) -> dict[Key, tuple[str, Adaptation]]:
        text = (
            "select refusals, adaptation from stg_batches where judge_id = $judge_id and "
            "run_id = $run_id order by noted_at"
        )
        rows = select_frame(
            connection,
            text,
            "refused requests",
            {"judge_id": self._judge_id, "run_id": self._run_id},
        )
        return {
            (refusal["request_digest"], refusal["draw"]): (
                refusal["error"],
                _read_adaptation(row["adaptation"]),
            )
            for row in rows.iter_rows(named=True)
            for refusal in row["refusals"]
        }

    def _find_adaptation(self, connection: duckdb.DuckDBPyConnection, model: str) -> Adaptation:
        text = (
            "select adaptation from stg_batches where judge_id = $judge_id and "
            "requested_model = $model "
        )
        text += "order by planned_at desc, batch_key limit 1"
        rows = select_frame(
            connection, text, "last adaptation", {"judge_id": self._judge_id, "model": model}
        )
        return _read_adaptation(rows.item() if rows.height else None)

    def list_answered(self, batch: Batch) -> set[Key]:
        """Requests of a batch that were answered since it was planned: by itself, of which a crash
        left the rest, or another way.
        """
        text = (
            "select distinct request_digest, draw from raw_replies where judge_id = "
            "$judge_id and replied_at >= $since"
        )
        connection = _open(self._lake, "replies")
        rows = select_frame(
            connection, text, "answered", {"judge_id": self._judge_id, "since": batch.planned_at}
        )
        return set(rows.iter_rows())

    def _append(
        self,
        batch: Batch,
        state: str,
        requests: Sequence[Key] = (),
        reason: str | None = None,
        refusals: Refusals | None = None,
    ) -> None:
        refusal_rows = [
            {"request_digest": key[0], "draw": key[1], "error": error}
            for key, error in (refusals or {}).items()
        ]
        append_records(
            self._lake,
            "batches",
            [
                {
                    "judge_id": self._judge_id,
                    "batch_key": batch.key,
                    "state": state,
                    "endpoint": batch.endpoint,
                    "requested_model": batch.model,
                    "base_url": batch.base_url,
                    "n_requests": len(batch.requests),
                    "n_bytes": batch.n_bytes,
                    "requests": [
                        {"request_digest": digest, "draw": draw} for digest, draw in requests
                    ],
                    "refusals": refusal_rows,
                    "adaptation": orjson.dumps(dataclasses.asdict(batch.adaptation)).decode(),
                    "file_id": batch.file_id,
                    "batch_id": batch.batch_id,
                    "reason": reason,
                    "planned_at": batch.planned_at,
                    "noted_at": self._clock.now(),
                    "run_id": self._run_id,
                }
            ],
        )


def count_open(
    connection: duckdb.DuckDBPyConnection, judge_ids: Sequence[str] | None = None
) -> pl.DataFrame:
    """Open batches of some judges or (None) of all: judge_id, name (at the provider), n_requests,
    planned_at; the oldest first.
    """
    text = (
        "select judge_id, coalesce(batch_id, 'judgelake-' || batch_key || '.jsonl') as "
        "name, n_requests, planned_at from stg_batches "
    )
    text += (
        "where list_contains($open, state) and ($ids is null or list_contains($ids, "
        "judge_id)) order by planned_at, name"
    )
    return select_frame(
        connection,
        text,
        "open batches",
        {"open": _OPEN, "ids": None if judge_ids is None else [*judge_ids]},
    )


def _find_latest(lake: Lake, judge_id: str) -> datetime | None:
    """The time of a judge's latest row of the table: what is noted now is later by any clock."""
    text = "select max(noted_at) as latest from raw_batches where judge_id = $judge_id"
    latest: datetime | None = select_frame(
        _open(lake, "batches"), text, "latest batch", {"judge_id": judge_id}
    ).item()
    return latest


def _open(lake: Lake, table: str) -> duckdb.DuckDBPyConnection:
    """A warehouse that knows one table, as it is now."""
    return open_warehouse(lake.take_snapshot(table), lazy=True)


def _read_keys(rows: Sequence[dict[str, object]]) -> tuple[Key, ...]:
    return tuple((str(row["request_digest"]), int(str(row["draw"]))) for row in rows)


def _read_adaptation(text: str | None) -> Adaptation:
    if text is None:
        return Adaptation()
    fields = orjson.loads(text)
    return Adaptation(**{**fields, "left_out": tuple(fields["left_out"])})
