"""Flow `nightly-evaluation`: ingest, judge, report, on its own workers or a cluster's. Schedules
and `judgelake run` both run it.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from prefect import flow
from prefect.task_runners import ThreadPoolTaskRunner
from prefect_dask import DaskTaskRunner

from judgelake.flows.build_reports import build_reports
from judgelake.flows.cluster import explain_loss, open_workers
from judgelake.flows.ingest_answers import ingest_answers
from judgelake.flows.judge_answers import judge_answers
from judgelake.flows.run_suite import RunSuite
from judgelake.flows.runners import without_heartbeats
from judgelake.tasks.backends.endpoint import ONE_EACH, Slot
from judgelake.tasks.errors import RunError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.runs.log import LogFormat, RunOptions, logged_step
from judgelake.tasks.runs.record import new_run_id, record_run
from judgelake.tasks.runs.summary import RunEnd, end_run
from judgelake.tasks.suite.suite import Scope, narrow
from judgelake.tasks.warehouse.lake_file import keep_lake_file


@flow(name="nightly-evaluation", validate_parameters=False)
def nightly_evaluation(
    suite: RunSuite,
    lake_root: str,
    run_id: str | None = None,
    scope: Scope = Scope(),  # frozen
    retry: tuple[str, ...] = (),
    stages: tuple[str, ...] = ("ingest", "judge", "report"),
    scheduler: str | None = None,
    wait_for_workers: bool = False,
    wait_s: float | None = None,
    log_format: LogFormat = "text",
) -> RunEnd:
    """Run the stages of a suite; work that is already done is not repeated. Raises RunError at the
    end where the exit code is not 0.

    `scheduler`: the address of a Dask scheduler whose workers judge and score; ingest and report
    stay in this process. `wait_s`: how long it waits for another run that does the same
    work (None: until that run has ended) before it raises LeaseError.
    """
    wanted = narrow(suite.value, scope)
    lake = open_lake(lake_root, create=True)
    run_id, run_options = run_id or new_run_id(), RunOptions(wait_s, log_format)
    with record_run(lake, wanted, run_id, stages) as record:
        with (
            open_workers(
                lake,
                wanted,
                run_id,
                stages,
                scheduler,
                limit=scope.limit,
                wait=wait_for_workers,
            ) as workers,
            explain_loss(workers),
            without_heartbeats(),  # of the flows inside: this one's are enough
            ThreadPoolExecutor(1) as beside,
        ):
            runner: Any = DaskTaskRunner(
                address=workers.address, client_kwargs={"security": workers.security}
            )
            here: Any = (
                runner if scheduler is None else ThreadPoolTaskRunner(max_workers=2)
            )  # the input files are on the machine of the command, not of the workers
            if "ingest" in stages:
                record.ingests = ingest_answers.with_options(task_runner=here)(
                    suite, lake_root, scope, run_id, run_options
                )
                # `lake.duckdb` shows the new answers while they are judged
                beside.submit(keep_lake_file, lake)
            if "judge" in stages and not record.stopped:
                slots: dict[Slot, int] = {slot: workers.count(slot) for slot in ONE_EACH}
                judge = judge_answers.with_options(task_runner=runner)
                judged = judge(suite, lake_root, run_id, scope, retry, slots, run_options)
                record.shards, record.failures = judged.shards, judged.failures
            if "report" in stages and not record.stopped:
                record.write("reporting")  # so that the report lists this run, too
                build_reports(suite, lake_root, scope, run_id, run_options)
        with logged_step(lake, run_id, run_options, "checks") as facts:
            end = end_run(lake, wanted, stages, record)
            facts["says"] = f"exit code {end.code}"
        if end.code:
            raise RunError(end.code, end.lines)
        return end
