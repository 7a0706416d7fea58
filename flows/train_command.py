"""`judgelake train`: fine-tunes the suite's own judge on a teacher's verdicts in the lake, as a
Prefect flow without workers: in this process, or in one a device.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from judgelake.flows.run_left import call_in_thread, stop_on_signal
from judgelake.flows.runners import RunServer
from judgelake.tasks.errors import ExitCode, SuiteError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.runs.log import RunOptions
from judgelake.tasks.runs.record import new_run_id
from judgelake.tasks.suite.suite import read_suite

_STOPPING = "a checkpoint is written after this step; again to end now"


def run_train(options: argparse.Namespace) -> int:
    """Train the judge that the suite's `training` names. The same command again continues after a
    kill and does nothing once the training is done.
    """
    suite = read_suite(options.suite)
    if suite.training is None:
        expected = "expected `training: {student: ..., teacher: ..., base: ...}`; add it"
        raise SuiteError(f"{options.suite}: has no training; {expected}")
    lake, run_id = open_lake(options.lake), new_run_id()
    run_options = RunOptions(options.wait, options.log_format)
    with RunServer() as server, stop_on_signal(lake, run_id, run_options, _STOPPING):
        wait = server.start()
        from judgelake.flows.run_suite import RunSuite
        from judgelake.flows.train_judge import (
            train_judge,
        )  # prefect reads its settings at import

        wait()
        manifest = call_in_thread(
            lambda: train_judge(
                RunSuite(suite), str(lake.root), run_id, run_options, options.devices
            )
        )
    model = suite.judges[suite.training.student].endpoint.model
    sys.stdout.write("".join(f"{line}\n" for line in _describe_training(manifest)))
    sys.stdout.write(f"judge: {model}; `judgelake run {options.suite}` asks it\n")
    return ExitCode.DONE


def _describe_training(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Lines on the examples used, those left out and why, and the loss."""
    scores, losses, held_out = (
        manifest["n_by_score"],
        manifest["loss_by_step"],
        manifest["held_out_loss"],
    )
    counts = ", ".join(f"{score}: {count:,}" for score, count in scores.items())
    yield (
        f"learnt from {manifest['n_examples']:,} examples (score {counts}), "
        f"{manifest['n_held_out']:,} held out"
    )
    if len({*scores.values()}) > 1:
        yield (
            "note: the scores are not equally many, as they are in the paper's collection; a "
            "judge leans to those it saw most"
        )
    for reason, count in manifest["left_out"].items():
        yield f"left out: {count:,}, {reason}"
    held_out_text = "" if held_out is None else f"; {held_out:.3f} on what was held out"
    yield (
        f"steps: {manifest['n_steps']:,}, loss of a token {losses[0]:.3f} at the first, "
        f"{losses[-1]:.3f} at the last{held_out_text}"
    )
