"""The ready suites as the package ships them."""

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.examples import list_examples, read_example
from tests.conftest import CHECKOUT


def test_every_ready_suite_is_listed_with_what_it_is_about() -> None:
    listed = list_examples()
    files = sorted((CHECKOUT / "infra" / "suites").glob("*.yaml"))
    assert [one.name for one in listed] == [file.stem for file in files]
    assert [one.name for one in listed if not one.says] == []
    (demo,) = (one for one in listed if one.name == "demo")
    assert demo.says.startswith("What `make demo` runs: pictures drawn by the program")


def test_an_example_is_its_file() -> None:
    assert read_example("demo") == (CHECKOUT / "infra" / "suites" / "demo.yaml").read_text()


def test_an_unknown_example_is_refused_with_the_nearest() -> None:
    with pytest.raises(SuiteError, match=r"example 'demmo': .*did you mean 'demo'\?"):
        read_example("demmo")
