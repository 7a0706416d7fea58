"""The Prefect server of a run: begun before it is needed, ended though nobody needed it."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from judgelake.flows.runners import RunServer
from judgelake.tasks.suite.judges import list_clients
from judgelake.tasks.suite.suite import read_suite
from tests.conftest import SUITE_FILES


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUDGELAKE_CACHE", str(tmp_path))


def servers() -> list[psutil.Process]:
    """The servers that this process has started."""
    return [
        child
        for child in psutil.Process().children()
        if "judgelake.flows.prefect_server" in child.cmdline()
    ]


def test_a_server_that_nobody_waits_for_ends_with_the_block() -> None:
    before = dict(os.environ)
    with RunServer() as server:
        assert not servers()
        server.start()
        server.start()
        (child,) = servers()
        home = Path(os.environ["PREFECT_HOME"])
        assert home.is_dir()
    assert not child.is_running()
    assert not home.exists()
    assert dict(os.environ) == before


def test_a_configured_server_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    monkeypatch.setenv("PREFECT_LOGGING_LEVEL", "DEBUG")  # what the user has set stays
    monkeypatch.delenv("PREFECT_LOGGING_TO_API_ENABLED", raising=False)
    monkeypatch.delitem(sys.modules, "prefect", raising=False)  # reads its settings at import
    before = dict(os.environ)
    with RunServer() as server:
        assert server.start()() == "http://127.0.0.1:1/api"
        assert not servers()
        assert os.environ["PREFECT_LOGGING_LEVEL"] == "DEBUG"
        assert os.environ["PREFECT_LOGGING_TO_API_ENABLED"] == "false"
    assert dict(os.environ) == before


@pytest.mark.parametrize("file", SUITE_FILES, ids=lambda file: file.stem)
def test_the_clients_of_each_suite_can_be_imported(file: Path) -> None:
    """The demo has a jury, a judge that asks nobody, among judges that ask."""
    clients = list_clients(read_suite(file).judges)
    assert all(find_spec(client) for client in clients)
    if file.stem == "demo":
        assert clients == ["judgelake.tasks.backends.openai.client"]
