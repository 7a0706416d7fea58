"""The chapter on trained judges: the course of each one's loss with its settings in words, what it
learnt by score, and the tables behind. The chapter's question is in `chapters`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from judgelake.tasks.reports.page.chapter_figures import Drawing
from judgelake.tasks.reports.page.figures import COLOURS, draw_course, draw_shares
from judgelake.tasks.reports.page.parts import PageColumn, Section

Record = Mapping[str, Any]
Select = Callable[[str], Sequence[Record]]
"""Runs a query with the page's `$benchmarks`."""

_JUDGE, _N = PageColumn("judge", "Judge"), PageColumn("n", "Examples", "count")
_TRAINED = {
    "projector": "the projector alone",
    "lora": "low-rank matrices (LoRA{}) and the projector, where the base has one",
    "all": "all weights",
}
_MOST_JUDGES = 6
_OF_PAGE = (
    "where $benchmarks::varchar[] is null or list_has_any($benchmarks::varchar[], benchmarks) "
    "order by all"
)
_TRAININGS = f"select * from rpt_training {_OF_PAGE}"
_LOSSES = (
    f"select judge, part, step_from, step_to, loss, benchmarks from rpt_training_losses {_OF_PAGE}"
)
_SCORES = (
    "select judge, score, n, benchmarks from (from rpt_training_examples where outcome = 'learnt') "
    f"{_OF_PAGE}"
)

TRAINING_SECTIONS: tuple[Section, ...] = (
    Section(
        "trainings",
        "Settings and losses",
        "rpt_training",
        "From what each judge was trained, and how. Losses are means over the tokens that are "
        "learnt, in nats: over the first and the last tenth of the steps, and of the examples held "
        "out, after the last step. A judge whose signature has this digest of its files is the "
        "one that was trained.",
        (
            _JUDGE,
            PageColumn("teacher", "Teacher"),
            PageColumn("base", "Base"),
            PageColumn("train", "Trained"),
            PageColumn("n_trained_weights", "Weights", "count"),
            PageColumn("n_examples", "Examples", "count"),
            PageColumn("n_held_out", "Held out", "count"),
            PageColumn("n_left_out", "Left out", "count"),
            PageColumn("n_steps", "Steps", "count"),
            PageColumn("batch_size", "Examples a step", "count"),
            PageColumn("first_loss", "First loss", "number"),
            PageColumn("last_loss", "Last loss", "number"),
            PageColumn("held_out_loss", "Held-out loss", "number"),
            PageColumn("seconds", "Seconds", "number"),
            PageColumn("base_digest", "Digest of the base", "code"),
            PageColumn("judge_digest", "Digest of the judge", "code"),
        ),
        benchmarks="benchmarks",
    ),
    Section(
        "learnt",
        "Examples learnt and left out",
        "rpt_training_examples",
        "How many examples were learnt of each score, held out, or left out and why. A judge leans "
        "to the scores that it saw most.",
        (
            _JUDGE,
            PageColumn("outcome", "Outcome"),
            PageColumn("score", "Score"),
            PageColumn("reason", "Reason"),
            _N,
            PageColumn("share", "Share × 100", "percent"),
        ),
        benchmarks="benchmarks",
    ),
)


def draw_trainings(select: Select) -> Iterator[tuple[str, Drawing]]:
    """Judge and the course of its loss; then the scores that all of them learnt."""
    trainings = select(_TRAININGS)[:_MOST_JUDGES]
    if not trainings:
        return
    losses = select(_LOSSES)
    for k, row in enumerate(trainings):
        course = [
            ((part["step_from"] + part["step_to"]) / 2, part["loss"])
            for part in losses
            if part["judge"] == row["judge"]
        ]
        labels = ("step", "loss of a token, nats")
        svg = draw_course(course, row["held_out_loss"], labels, f"training-{k}")
        yield row["judge"], Drawing("training", describe_training(row), svg)
    counts: dict[str, dict[str, int]] = {row["judge"]: {} for row in trainings}
    for counted in select(_SCORES):
        if counted["judge"] in counts:
            counts[counted["judge"]][f"score {counted['score']}"] = counted["n"]
    scores = sorted({score for of_judge in counts.values() for score in of_judge})
    svg = draw_shares(
        counts,
        dict(zip(scores, COLOURS, strict=False)),
        "share of the examples, %",
        "training-scores",
    )
    yield ", ".join(counts), Drawing("training", "Examples learnt, by score.", svg)


def describe_training(row: Record) -> str:
    """The settings of a row of `rpt_training` in words, and how its loss fell."""
    taught_by = (
        "people’s ratings" if row["teacher"] == "people" else f"verdicts of {row['teacher']}"
    )
    epochs = "once" if row["epochs"] == 1 else f"{row['epochs']:,} times"
    rank = f" of rank {row['lora_rank']:,}" if row["lora_rank"] is not None else ""
    trained = _TRAINED[row["train"]].format(rank)
    parts = [
        f"Loss by step. It began with {row['base']} and learnt {row['n_examples']:,} {taught_by}, "
        f"each {epochs}: {row['n_steps']:,} steps of {row['batch_size']:,} examples, "
        f"{trained} ({row['n_trained_weights']:,} weights) trained, learning "
        f"rate {row['learning_rate']:g} after a warm-up over {100 * row['warmup']:g} % of the "
        f"steps, seed {row['seed']}.",
        "The loss is on the prompt’s text too." if row["learnt_part"] == "whole" else "",
        f"The loss fell from {row['first_loss']:.3f} (first tenth of the steps) to "
        f"{row['last_loss']:.3f} (last tenth)"
        if row["last_loss"] < row["first_loss"]
        else f"The loss did not fall: {row['first_loss']:.3f} in the first tenth of the steps, "
        f"{row['last_loss']:.3f} in the last",
    ]
    held_out = (
        "; no example was held out."
        if row["held_out_loss"] is None
        else f"; dashed: {row['held_out_loss']:.3f} on {row['n_held_out']:,} examples held out."
    )
    took = "" if row["seconds"] is None else f" It took {_say_time(row['seconds'])}."
    return " ".join(filter(None, parts)) + held_out + took


def _say_time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
