"""`judgelake run --watch`: which files it looks at, when they have changed, and whole runs."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from judgelake.flows.run_watch import Stamps, make_look, wait_for_change
from judgelake.tasks.standin.process import start_standin
from tests.flows.harness import (
    Shell,
    interrupt,
    read_requests,
    shell_in,
    wait_until,
    write_benchmark,
    write_suite,
)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    write_benchmark(tmp_path, 2)
    (tmp_path / "wording").mkdir()
    (tmp_path / "wording" / "lave.md").write_text("{{ question }}")
    return write_suite(tmp_path, "http://127.0.0.1:1/v1", extra="notice: wording, wording/lake/x")


def names(stamps: Stamps) -> set[str]:
    return {path.name for path in stamps}


INPUTS = {"suite.yaml", "questions.json", "annotations.json", "results_m1.json", "results_m2.json"}


def test_what_a_suite_reads_is_looked_at_and_its_lake_is_not(suite: Path) -> None:
    lake = suite.parent / "wording" / "lake"
    lake.mkdir()
    (lake / "x").touch()
    look = make_look(suite, str(lake))
    assert names(look()) == {*INPUTS, "wording", "lave.md"}
    (suite.parent / "results_m3.json").write_text("[]")
    assert names(look()) == {*INPUTS, "wording", "lave.md", "results_m3.json"}


@pytest.mark.parametrize("text", ["", "name: [", "\udcff", "name: small\nfile: a\0b/*"])
def test_a_suite_that_cannot_be_read_is_looked_at_alone(tmp_path: Path, text: str) -> None:
    file = tmp_path / "suite.yaml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    assert names(make_look(file, "lake")()) == {"suite.yaml"}
    file.unlink()
    assert make_look(file, "lake")() == {}


def test_of_a_large_folder_only_the_names_are_looked_at(suite: Path) -> None:
    folder = suite.parent / "wording"
    for number in range(1001):
        (folder / f"{number}.png").touch()
    look = make_look(suite, "lake")
    before = look()
    assert names(before) == {*INPUTS, "wording"}
    os.utime(folder, (1, 1))  # as when a file comes or goes
    assert look() != before


def looks(*stamps: Stamps) -> Callable[[], Stamps]:
    """What one look after the other sees; asked again it fails."""
    seen: Iterator[Stamps] = iter(stamps)
    return lambda: next(seen)


def test_a_change_is_waited_for_until_it_stays() -> None:
    a, b, c = (Path(name) for name in "abc")
    before = {a: (1, 1), b: (1, 1)}
    half, whole = {a: (2, 5), b: (1, 1)}, {a: (3, 9), c: (1, 1)}
    passing = {**before, c: (1, 0)}  # an editor's file, which is gone at the next look
    look = looks(before, passing, before, before, half, whole, whole)
    assert wait_for_change(look, before, lambda: False) == [a, b, c]


def test_a_wait_that_is_stopped_finds_nothing() -> None:
    assert wait_for_change(looks(), {}, lambda: True) == []


class Watched:
    """A run that watches, of a suite in a shell's folder."""

    def __init__(self, shell: Shell, *words: str) -> None:
        self.shell, self.seen = shell, 0
        self.run = shell.start("run", *words, "--watch")

    def await_run(self) -> str:
        """What was printed from the last time until the next run has ended."""
        end, before = "Ctrl-C ends\n", self.seen
        assert wait_until(lambda: end in self.shell.output.read_text()[before:], self.run)
        printed = self.shell.output.read_text()
        self.seen = printed.index(end, before) + len(end)
        return printed[before : self.seen]


@pytest.mark.full
def test_each_change_is_judged_and_an_error_ends_nothing(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 4, models=("m1",))
    log, lake = tmp_path / "requests.jsonl", tmp_path / "lake"
    with start_standin(log=log) as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url)
        text = suite.read_text()
        judge = "protocol: prometheus, rubric_file: rubrics.yaml, samples: 1, image: absent"
        (tmp_path / "rubrics.yaml").write_text(
            "- {id: r1, criterion: C, levels: [a, b, c, d, e]}\n"
        )
        watched = Watched(shell, str(suite), "--lake", str(lake), "--retry", "failed")
        assert "4 verdicts, 0 failed" in watched.await_run()

        answers = tmp_path / "results_m1.json"
        answers.write_text(answers.read_text().replace("a dog", "an old dog"))
        printed = watched.await_run()
        assert "judgelake: watch: results_m1.json changed\n" in printed
        assert "1 verdicts" in printed
        assert "an old dog" in str(shell.select(lake, "select * from answers"))

        suite.write_text(text.replace("protocol: lave", "protocol: lav"))
        printed = watched.await_run()
        assert "did you mean 'lave'?" in printed
        suite.write_text(text.replace("protocol: lave", judge))
        assert "4 verdicts, 0 failed" in watched.await_run()
        rubrics = tmp_path / "rubrics.yaml"
        rubrics.write_text(rubrics.read_text().replace("C,", "Brevity,"))
        assert (
            "4 verdicts, 0 failed" in watched.await_run()
        )  # what was read of the file is forgotten
        suite.write_text(text)
        assert "lave 0 of 4 cases" in watched.await_run()  # LAVE's verdicts are there

        assert len(read_requests(log)) == 4 + 1 + 4 + 4
        interrupt(watched.run)
        assert watched.run.wait() == 0
        assert shell.list_left() == []


@pytest.mark.full
def test_sigterm_ends_the_wait_with_the_code_of_the_last_run(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 1)
    with shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, "http://127.0.0.1:1/v1")
        suite.write_text(suite.read_text().replace("protocol: lave", "protocol: lav"))
        watched = Watched(shell, str(suite), "--lake", str(tmp_path / "lake"))
        watched.await_run()
        watched.run.send_signal(signal.SIGTERM)
        assert watched.run.wait() == 1
        assert shell.list_left() == []
        code, printed = shell.run("run", str(tmp_path / "none.yaml"), "--watch")
        assert code == 1
        assert "none.yaml" in printed


@pytest.mark.full
def test_a_server_that_is_gone_ends_the_watch(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 1)
    with start_standin() as standin, shell_in(tmp_path) as shell:
        suite = write_suite(tmp_path, standin.base_url)
        watched = Watched(shell, str(suite), "--lake", str(tmp_path / "lake"))
        watched.await_run()
        (server,) = (one for one in shell.living() if "prefect_server" in str(one.cmdline()))
        server.kill()
        (tmp_path / "results_m1.json").write_text("[]")
        assert watched.run.wait() == 2
        assert "prefect server: ended with status -9; expected" in shell.output.read_text()
        assert shell.list_left() == []
