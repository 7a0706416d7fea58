"""Shards of a suite, run in this process without workers."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from judgelake.tasks.backends.openai.limits import BackOff
from judgelake.tasks.engine.shard import ShardOrder, ShardResult, run_judge_shard
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import write_work
from judgelake.tasks.suite.suite import Scope, Suite


@contextmanager
def asked_again_at_once() -> Iterator[None]:
    """Requests of this process that failed are sent again without a wait that would be noticed."""
    at_once = functools.partial(BackOff, first_s=0.01)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("judgelake.tasks.backends.openai.client.BackOff", at_once)
        yield


def run_shards(
    lake: Lake, suite: Suite, run_id: str, address: str, retry: tuple[str, ...] = ()
) -> list[ShardResult]:
    """Judge what the lake has for the suite's judges and is not judged yet; what fails is asked
    again at once. The result of each shard.
    """
    with asked_again_at_once():
        return [
            run_judge_shard(
                ShardOrder(
                    lake,
                    run_id,
                    suite.judges[work.identity.alias],
                    work.identity,
                    suite.limits,
                    file,
                    lake.root / "images",
                    address,
                    retry,
                )
            )
            for work in write_work(lake, suite, Scope(), run_id, retry)
            for file in work.shards
        ]
