"""What whole runs need: a Prefect server that those of one test process share, for starting one is
a quarter of a small run's time.
"""

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from judgelake.flows.runners import quieten_prefect
from tests.flows.harness import Shell
from tests.flows.services import prefect

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # tests started in the background: what they start must hear a Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def prefect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of its API."""
    home = tmp_path_factory.mktemp("prefect")
    with prefect(Shell(home), f"sqlite+aiosqlite:///{home}/prefect.db") as url:
        yield url


@pytest.fixture
def one_prefect(clean_environment: None, prefect_url: str) -> Iterator[None]:
    """Runs of this test use it, as quietly as a server of their own."""
    before = dict(os.environ)
    quieten_prefect()
    os.environ["PREFECT_API_URL"] = prefect_url
    if "prefect" in sys.modules:  # an earlier test imported it, with the settings of then
        sys.modules["prefect.context"].refresh_global_settings_context()
    yield
    os.environ.clear()
    os.environ.update(before)
