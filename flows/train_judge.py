"""Flow `train-judge`: selects a suite's examples, trains its judge on them, and writes the judge's
folder and its row in the lake.
"""

from typing import Any

from prefect import flow

from judgelake.flows import steps
from judgelake.flows.devices import list_environments
from judgelake.flows.run_suite import RunSuite
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import ExitCode, SuiteError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.lake.stop_flag import StopFlag
from judgelake.tasks.runs.log import (
    DEFAULT_OPTIONS,
    RunOptions,
    hold_for_run,
    log_step,
    logged_step,
)
from judgelake.tasks.runs.record import new_run_id, record_run
from judgelake.tasks.training.judge_training import TrainingOrder


@flow(name="train-judge", validate_parameters=False)
def train_judge(
    suite: RunSuite,
    lake_root: str,
    run_id: str | None = None,
    run_options: RunOptions = DEFAULT_OPTIONS,
    n_devices: int = 1,
) -> dict[str, Any]:
    """Train the judge that the suite's `training` names, in this process or in one a device;
    returns the manifest of its folder. What an earlier run has done is not repeated. Raises
    KeyboardInterrupt once the run is to stop, after a checkpoint.
    """
    value, lake = suite.value, open_lake(lake_root)
    settings, run_id = value.training, run_id or new_run_id()
    if settings is None:
        raise SuiteError(f"{value.name}: has no training; expected a `training` block; add it")
    judge = value.judges[settings.student]
    environments = list_environments(n_devices, "--devices") if n_devices > 1 else []
    order = TrainingOrder(settings, judge, value.image_root(lake.root))
    lease = f"train-{digest_json(str(order.folder.absolute()))[:16]}"
    with record_run(lake, value, run_id, ("train",)) as record:
        with hold_for_run(lake, [lease], value.name, run_id, run_options):
            with logged_step(lake, run_id, run_options, "examples") as facts:
                examples = steps.select_examples(lake, suite)
                facts["examples"] = len(examples.selection.examples)
            with logged_step(lake, run_id, run_options, "train"):
                manifest = steps.train_judge(
                    order,
                    examples,
                    lambda line: log_step(lake, run_id, run_options, "train", {"says": line}),
                    StopFlag(lake, run_id).is_set,
                    environments,
                )
            with logged_step(lake, run_id, run_options, "write") as facts:
                steps.write_judge(lake, order, manifest, run_id)
                facts["judge"] = judge.endpoint.model
        record.code = ExitCode.DONE
    return manifest
