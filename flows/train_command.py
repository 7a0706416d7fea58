"""`judgelake train`: fine-tunes the suite's own judge on a teacher's verdicts in the lake, in this
process, without a server or a worker.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import ExitCode, SuiteError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.lake.stop_flag import StopFlag
from judgelake.tasks.runs.log import RunOptions, hold_for_run, log_step, logged_step
from judgelake.tasks.runs.record import new_run_id, record_run
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.training.examples import select_examples
from judgelake.tasks.training.judge_training import TrainingOrder, train_judge


def run_train(options: argparse.Namespace) -> int:
    """Train the judge that the suite's `training` names. The same command again continues after a
    kill and does nothing once the training is done.
    """
    suite = read_suite(options.suite)
    settings = suite.training
    if settings is None:
        expected = "expected `training: {student: ..., teacher: ..., base: ...}`; add it"
        raise SuiteError(f"{options.suite}: has no training; {expected}")
    judge, lake, run_options = (
        suite.judges[settings.student],
        open_lake(options.lake),
        RunOptions(options.wait, options.log_format),
    )
    lease = f"train-{digest_json(str(Path(judge.endpoint.model).expanduser().absolute()))[:16]}"
    with record_run(lake, suite, new_run_id(), ("train",)) as record:
        run_id = record.run_id
        with hold_for_run(lake, [lease], suite.name, run_id, run_options):
            with logged_step(lake, run_id, run_options, "examples") as facts:
                selection = select_examples(lake, suite, settings)
                facts["examples"] = len(selection.examples)
            with logged_step(lake, run_id, run_options, "train") as facts:
                order = TrainingOrder(settings, judge, suite.image_root(lake.root))
                manifest = train_judge(
                    order,
                    selection,
                    lambda line: log_step(lake, run_id, run_options, "train", {"says": line}),
                    StopFlag(lake, run_id).is_set,
                )
                facts["judge"] = judge.endpoint.model
        record.code = ExitCode.DONE
    sys.stdout.write("".join(f"{line}\n" for line in _describe_training(manifest)))
    sys.stdout.write(f"judge: {judge.endpoint.model}; `judgelake run {options.suite}` asks it\n")
    return record.code


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
