"""One process a program, many lines under way, clear ends; a shell script stands for `java`, so
none is needed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics import java
from judgelake.tasks.metrics.java import LineProgram, find_java, find_package_file, keep_program
from tests.conftest import CHECKOUT
from tests.metrics.programs import check_end_after_kill, install_script

ECHO = "exec cat"
HELLO = ("hello", "hello")
CRASH = """
read line; echo "$line"
echo "a warning" >&2
echo 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space' >&2
echo "    at Scorer.main(Scorer.java:7)" >&2
exit 3
"""


@pytest.fixture
def java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, LineProgram]]:
    kept: dict[str, LineProgram] = {}
    monkeypatch.setattr(java, "_programs", kept)
    yield kept
    for program in kept.values():
        program.close()


def test_java_home_comes_before_the_path(java_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = java_home / "elsewhere"
    install_script(elsewhere, ECHO)
    monkeypatch.setenv("PATH", str(elsewhere / "bin"))
    assert find_java("METEOR") == str(elsewhere / "bin" / "java")
    install_script(java_home, ECHO)
    assert find_java("METEOR") == str(java_home / "bin" / "java")


def test_a_missing_java_is_reported_with_the_install_line(
    java_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(java_home))
    with pytest.raises(
        MetricError,
        match=r"^METEOR: no `java` in .*; expected Java 8 .*apt-get install default-jre-headless",
    ):
        find_java("METEOR")
    monkeypatch.delenv("JAVA_HOME")
    with pytest.raises(MetricError, match=r"JAVA_HOME \(unset\)"):
        find_java("METEOR")


def test_a_missing_package_is_reported_with_the_install_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for package in ("no_such_package", "xml"):
        monkeypatch.setattr(java, "PACKAGE", package)
        with pytest.raises(
            MetricError,
            match=rf"^METEOR: {package}/meteor/x.jar is not installed.*pip install "
            rf"'judgelake\[local\]'",
        ):
            find_package_file("METEOR", "meteor/x.jar")


def test_many_lines_are_under_way_at_once(
    java_home: Path, programs: dict[str, LineProgram]
) -> None:
    install_script(java_home, ECHO)
    program = keep_program("echo", [], java_home, HELLO)
    lines = [
        f"{number} é \U0001f600 {'x' * 100}" for number in range(50_000)
    ]  # far more than the pipes hold
    assert program.ask(lines) == [f"{line}\n" for line in lines]
    assert program.ask([]) == []
    assert keep_program("echo", [], java_home, HELLO) is program


def test_answers_to_padding_are_skipped(java_home: Path, programs: dict[str, LineProgram]) -> None:
    install_script(java_home, ECHO)
    program = keep_program("echo", [], java_home, HELLO)
    asked = [
        program.ask(lines, padding)
        for lines, padding in ((["a"], ["-", "-"]), (["b", "c"], []), (["d"], ["-"]), (["e"], []))
    ]
    assert asked == [["a\n"], ["b\n", "c\n"], ["d\n"], ["e\n"]]


def test_what_java_says_before_the_first_answer_is_skipped(
    java_home: Path, programs: dict[str, LineProgram]
) -> None:
    install_script(java_home, f"echo '[warning][os] no huge pages'; echo; {ECHO}")
    program = keep_program("echo", [], java_home, HELLO)
    assert [program.ask(["a"], ["-"]), program.ask(["hello", "b"])] == [["a\n"], ["hello\n", "b\n"]]


def test_a_crash_is_one_line_and_the_next_question_starts_again(
    java_home: Path, programs: dict[str, LineProgram]
) -> None:
    install_script(java_home, CRASH)
    program = keep_program("METEOR", [], java_home, HELLO)
    with pytest.raises(MetricError) as refused:
        program.ask(["a", "b"] * 100_000)
    reason = 'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space'
    assert str(refused.value).startswith(f"METEOR: Java ended with status 3: {reason}; expected ")
    assert "\n" not in str(refused.value)
    install_script(java_home, ECHO)
    assert keep_program("METEOR", [], java_home, HELLO).ask(["a"]) == ["a\n"]


def test_a_program_that_says_nothing(java_home: Path) -> None:
    install_script(java_home, "exit 0")
    with pytest.raises(
        MetricError, match=r"^METEOR: Java ended with status 0: without a word; expected"
    ):
        LineProgram("METEOR", [], java_home, HELLO).ask(["a"])


def test_an_interrupted_question_leaves_no_answers_behind(
    java_home: Path, programs: dict[str, LineProgram]
) -> None:
    install_script(java_home, ECHO)
    program = keep_program("echo", [], java_home, HELLO)
    with pytest.raises(KeyboardInterrupt):
        program.ask(Interrupting(["a", "b"]))
    assert not program.is_running()
    assert keep_program("echo", [], java_home, HELLO).ask(["c"]) == ["c\n"]


class Interrupting(list[str]):
    """Lines whose second reading, when answers are read, is interrupted as by Ctrl-C."""

    read_before = False

    def __iter__(self) -> Iterator[str]:
        if self.read_before:
            raise KeyboardInterrupt
        self.read_before = True
        return super().__iter__()


ASK = (
    "from pathlib import Path; from judgelake.tasks.metrics.java import keep_program; "
    "keep_program('echo', [], Path(), ('a', 'a')).ask(['a'])"
)
FORK = """
import os
first, child = keep_program('echo', [], Path(), ('a', 'a')), os.fork()
own = keep_program('echo', [], Path(), ('a', 'a'))
answers = own.ask(['child' if child == 0 else 'parent'])
if child == 0:
    os._exit(own is first or answers != ['child\\n'])
print(own is first, answers, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_killed_python_leaves_no_program_behind(java_home: Path) -> None:
    install_script(java_home, ECHO)
    check_end_after_kill(ASK)


def test_a_python_that_ends_leaves_no_program_and_no_word_behind(java_home: Path) -> None:
    install_script(java_home, f"echo $$ > {java_home}/pid; {ECHO}")
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", ASK],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
    with pytest.raises(ProcessLookupError):
        os.kill(int((java_home / "pid").read_text()), 0)


def test_a_forked_child_has_a_program_of_its_own(java_home: Path) -> None:
    install_script(java_home, ECHO)
    done = subprocess.run(
        [sys.executable, "-c", ASK + FORK], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True ['parent\\n'] 0\n"
