"""Checks whether a worker on another machine can do its part of a run: read the lake and the
images, reach Prefect, have the endpoints' keys.

`flows.cluster` chooses the workers to check and raises the errors.
"""

import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from judgelake.tasks.backends.endpoint import EndpointSettings
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import LakePath, write_whole
from judgelake.tasks.suite.suite import Suite

# how long the server may take to answer
_ANSWER_S = 10.0


@dataclass(frozen=True)
class Probe:
    """What a worker must reach: a token in the lake; images, cassettes and files that judges'
    options name; Prefect's API; endpoints.
    """

    token_file: LakePath
    token: str
    paths: tuple[LakePath, ...] = ()
    api_url: str | None = None
    endpoints: tuple[EndpointSettings, ...] = ()

    def without_keys(self) -> "Probe":
        """The same probe for a worker that asks no endpoint."""
        return replace(self, endpoints=())


def make_probe(lake: Lake, suite: Suite, run_id: str, api_url: str | None) -> Probe:
    """What the judges of a suite need, with a token written into the run's work folder."""
    token = uuid.uuid4().hex
    file = lake.work_folder(run_id) / "probe"
    write_whole(file, token.encode())
    endpoints = tuple(
        dict.fromkeys(
            endpoint for judge in suite.judges.values() for endpoint in judge.endpoints.values()
        )
    )
    images = (suite.images,) if suite.images is not None else ()
    reached = tuple(path for endpoint in endpoints for path in endpoint.paths)
    named = tuple(
        value
        for judge in suite.judges.values()
        for value in vars(judge.options).values()
        if isinstance(value, Path)
    )
    return Probe(file, token, tuple(dict.fromkeys((*images, *reached, *named))), api_url, endpoints)


def probe_place(probe: Probe) -> list[str]:
    """A line for each part of a probe that this process cannot do; a line never contains a key."""
    lines = _probe_lake(probe)
    lines += [f"{path} is not there" for path in probe.paths if not path.exists()]
    if probe.api_url is not None:
        lines += _probe_api(probe.api_url)
    return lines + [line for endpoint in probe.endpoints for line in endpoint.probe()]


def _probe_lake(probe: Probe) -> list[str]:
    try:
        if probe.token_file.read_text() != probe.token:
            return [f"{probe.token_file} is another lake's"]
        write_whole(probe.token_file.with_name(f"probe-{uuid.uuid4().hex}"), probe.token.encode())
    except (OSError, LakeError) as error:
        return [f"cannot read and write the lake ({error})"]
    return []


def _probe_api(url: str) -> list[str]:
    try:
        urllib.request.urlopen(f"{url}/health", timeout=_ANSWER_S).close()  # noqa: S310  # Prefect's own address
    except urllib.error.HTTPError:
        return []  # it answers; the login is not checked here
    except OSError as error:
        return [
            f"cannot reach Prefect at {url} ({error}); set PREFECT_API_URL to a server that "
            f"workers reach"
        ]
    return []
