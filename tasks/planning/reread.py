"""Reads stored replies again under another reading: new verdicts without a call, a key or an
endpoint. What a reading can be is defined by each protocol.
"""

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

from judgelake.tasks.engine.shard import ShardOrder, ShardResult, run_judge_shard
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import Work, write_work
from judgelake.tasks.suite.suite import Scope, Suite, stages_of


class Reread(NamedTuple):
    """The result of one judge: how many cases it had left to read, and the results of its shards
    (whose `n_open` counts cases without stored replies).
    """

    alias: str
    n_pending: int
    shards: list[ShardResult]

    @property
    def n_left(self) -> int:
        """Cases without a verdict under this reading, because a reply of theirs is not in the
        lake.
        """
        return sum(shard.n_open for shard in self.shards)


def reread_judges(lake: Lake, suite: Suite, scope: Scope, run_id: str) -> Iterator[Reread]:
    """Judge the cases that `suite` (already narrowed) has left, from stored replies alone, one
    judge after the other.
    """
    for stage in stages_of(dataclasses.replace(suite, metrics=())):
        for work in write_work(lake, stage, scope, run_id):
            yield Reread(work.identity.alias, work.n_pending, [*_reread(lake, suite, run_id, work)])


def _reread(lake: Lake, suite: Suite, run_id: str, work: Work) -> Iterator[ShardResult]:
    judge, images = suite.judges[work.identity.alias], suite.image_root(lake.root)
    for file in work.shards:
        yield run_judge_shard(
            ShardOrder(lake, run_id, judge, work.identity, suite.limits, file, images, asks=False)
        )
