"""What every test gets: an environment without the user's settings, a home of its own; and where
the real inputs are.
"""

import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.bucket_server import Bucket

# a busy machine is no failure; each run draws other examples, so that fewer a run find as much
settings.register_profile("patient", deadline=None, max_examples=25)
settings.load_profile("patient")

CHECKOUT = Path(__file__).resolve().parents[1]
_DATA = Path(os.environ.get("JUDGELAKE_DATA") or CHECKOUT.parent / "shared" / "data").absolute()
SUITE_FILES = sorted(
    file
    for folder in ("", "papers")
    for file in (CHECKOUT / "infra" / "suites" / folder).glob("*.yaml")
)
_PREFIXES = ("AWS_", "FSSPEC_", "JUDGELAKE_", "OPENAI_", "PREFECT_")


def pytest_configure() -> None:
    """Files are not forced to the disk, which tests would wait for: what a process wrote outlives
    its end anyway.
    """
    pytest.MonkeyPatch().setattr(os, "fsync", lambda _: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole runs first: they are few and long, and as the last ones a process would wait for them
    alone.
    """
    items.sort(key=lambda item: "tests/flows/" not in item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules stay to the end, so garbage is not searched for among them: neither while they are
    imported, which takes a fourth less time, nor by any later collection, of which each load of a
    model makes one.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_setup() -> None:
    """A command that an earlier test ran in this process keeps children from importing what lies in
    the working directory; here `tests` lies there.
    """
    os.environ.pop("PYTHONSAFEPATH", None)


def copy_packages(folder: Path) -> Path:
    """A copy of all packages as they are installed, `folder`/judgelake; `folder` on PYTHONPATH
    makes a process run it.
    """
    package = folder / "judgelake"
    shutil.copytree(CHECKOUT / "flows" / "public", package)
    for name in ("flows", "schemas", "sql", "tasks"):
        shutil.copytree(
            CHECKOUT / name, package / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copytree(CHECKOUT / "infra" / "suites", package / "suites")
    return package


@pytest.fixture(scope="session")
def home_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for all tests of a session; matplotlib's fonts are found once in it."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", autouse=True)
def check_given_rows() -> Iterator[None]:
    """The rows that a test file's lakes were given keep the contracts of their tables."""
    yield
    if lakes := sys.modules.get("tests.lakes"):
        lakes.check_given()


@pytest.fixture(scope="module", autouse=True)
def spare_modules() -> Iterator[None]:
    """What a test file imported, torch and transformers above all, stays to the end as well."""
    before = len(sys.modules)
    yield
    if len(sys.modules) > before + 200:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, home_folder: Path) -> None:
    for name in [name for name in os.environ if name.startswith(_PREFIXES)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home_folder))
    monkeypatch.setenv("JUDGELAKE_DATA", str(_DATA))  # for commands that a test starts


@pytest.fixture
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are looked at again at once."""
    from judgelake.tasks.backends.openai.limits import BackOff

    monkeypatch.setattr(
        "judgelake.tasks.backends.openai.batch.BackOff", lambda: BackOff(first_s=0.001)
    )
    monkeypatch.setattr("judgelake.tasks.engine.collecting._FIRST_POLL_S", 0.01)


@pytest.fixture
def bare_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without drawings and files of tables, which take half their time: for tests of what
    they compute and say.
    """
    for name in ("write_tables", "drop_former"):
        monkeypatch.setattr(f"judgelake.tasks.reports.build.{name}", lambda *_: None)
    monkeypatch.setattr("judgelake.tasks.reports.page.figures._to_svg", lambda *_: "<svg></svg>")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> "Bucket":
    """A fresh bucket of a real S3 server, and the environment that reaches it; copies of part files
    lie in `tmp_path`/cache. Requests that failed are sent again at once.
    """
    from botocore.retries.standard import ExponentialBackoff

    from tests.bucket_server import Bucket

    monkeypatch.setattr(ExponentialBackoff, "delay_amount", lambda *_: 0.01)
    made = Bucket()
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JUDGELAKE_CACHE", str(tmp_path / "cache"))
    return made


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The real inputs: JUDGELAKE_DATA, else ../shared/data beside the checkout."""
    if not _DATA.is_dir():
        pytest.skip(f"{_DATA} is absent; set JUDGELAKE_DATA to the folder of the real inputs")
    return _DATA
