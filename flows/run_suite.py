"""The one suite of a run, as its flows pass it on. Reading a suite is `tasks.suite.suite`; a run
reads it once, when it starts.
"""

from collections.abc import Iterator

from judgelake.tasks.suite.suite import Suite


class RunSuite:
    """A suite as a flow's parameter. Prefect stores and shows what iteration yields: the name and
    the digest, not every setting.
    """

    def __init__(self, value: Suite) -> None:
        self.value = value

    def __iter__(self) -> Iterator[tuple[str, str]]:
        yield "name", self.value.name
        yield "digest", self.value.digest
