"""The table of trainings: from what, how and how well a judge of this lake was trained.

Only the contract lives here. Training is `tasks.training`.
"""

import pandera.polars as pa
import polars as pl

from judgelake.schemas.inputs import Instant
from judgelake.schemas.judging import Strict

ScoreCount = pl.Struct({"score": pl.Int64, "n": pl.Int64})
ReasonCount = pl.Struct({"reason": pl.String, "n": pl.Int64})


class Trainings(Strict):
    """One row per trained judge, by the digest of its files: where it began, what it learnt from
    with which settings, and its losses.

    `losses`: of each step in order, the mean loss (nats) of a token that was learnt;
    `held_out_loss`: the same after the last step, of the examples held out. `base_digest`: of a
    folder `files:` and 16 hex digits over its files, else the commit. A judge whose signature
    holds `judge_digest` is this one. `lora_rank` and `lora_alpha` are null unless `train` is
    `lora`; `seconds` are null where an earlier version trained the judge.
    """

    judge_digest: str = pa.Field(str_matches=r"^files:[0-9a-f]{16}$")
    training_id: str = pa.Field(str_matches=r"^[0-9a-f]{16}$")
    student: str
    teacher: str
    base: str
    base_digest: str
    data_digest: str
    train: str = pa.Field(isin=("projector", "lora", "all"))
    learnt_part: str = pa.Field(isin=("reply", "whole"))
    lora_rank: pl.Int64 = pa.Field(nullable=True, ge=1)
    lora_alpha: pl.Int64 = pa.Field(nullable=True, ge=1)
    epochs: pl.Int64 = pa.Field(ge=1)
    batch_size: pl.Int64 = pa.Field(ge=1)
    learning_rate: pl.Float64 = pa.Field(gt=0, lt=1)
    warmup: pl.Float64 = pa.Field(ge=0, lt=1)
    held_out: pl.Float64 = pa.Field(ge=0, lt=1)
    seed: pl.Int64 = pa.Field(ge=0)
    n_examples: pl.Int64 = pa.Field(ge=1)
    n_held_out: pl.Int64 = pa.Field(ge=0)
    n_trained_weights: pl.Int64 = pa.Field(ge=1)
    scores: pl.List(ScoreCount)
    left_out: pl.List(ReasonCount)
    losses: pl.List(pl.Float64)
    held_out_loss: pl.Float64 = pa.Field(nullable=True)
    seconds: pl.Float64 = pa.Field(nullable=True, ge=0)
    versions: str
    run_id: str
    trained_at: Instant
