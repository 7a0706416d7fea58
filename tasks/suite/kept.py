"""The suites of a lake as they last ran, in `suites/<name>.json`: by them figures are computed
where no report was made of what the lake holds.
"""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import list_files, read_file, write_whole

if TYPE_CHECKING:
    from judgelake.tasks.suite.suite import Suite

FOLDER = "suites"


@dataclass(frozen=True)
class KeptSuite:
    """What was kept of a suite: its file's text, and of what it says that which names its report,
    so that it need not be parsed to see whether that is current.
    """

    name: str
    file: str
    text: str
    digest: str
    benchmarks: list[str]
    raters: list[str]

    def parse(self) -> "Suite":
        """The suite; raises SuiteError where it cannot be read here, as where a file that it names
        is gone.
        """
        from judgelake.tasks.suite.suite import parse_suite  # imports all sources and protocols

        return parse_suite(Path(self.file), self.text)


def record_suite(lake: Lake, suite: "Suite") -> None:
    """Keep the suite in place of its former text; a suite without a text, made by a program, is not
    kept.
    """
    path = lake.root / FOLDER / f"{suite.name}.json"
    kept = KeptSuite(
        suite.name,
        str(suite.file),
        suite.text,
        suite.digest,
        sorted(suite.benchmarks),
        suite.raters,
    )
    data = json.dumps(dataclasses.asdict(kept), ensure_ascii=False, indent=1).encode()
    if suite.text and read_file(path) != data:
        write_whole(path, data)


def list_suites(lake: Lake) -> Iterator[KeptSuite]:
    """The suites of a lake by name; raises LakeError for a file that holds none."""
    for path in list_files(lake.root / FOLDER, ".json"):
        data = read_file(path)
        if data is not None:
            try:
                yield KeptSuite(**json.loads(data))
            except (ValueError, TypeError) as error:
                raise LakeError(
                    f"{path}: cannot be read as a kept suite ({error}); expected JSON with name, "
                    f"file, text, digest, benchmarks and raters; delete it, the next run writes it"
                ) from None
