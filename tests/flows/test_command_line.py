"""The command line as a person meets it: one screen of commands, and what a shell completes."""

import contextlib
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from judgelake.flows.cli import make_parser
from judgelake.flows.command_groups import GROUPS
from judgelake.flows.completion_command import run_completion
from tests.flows.harness import wait_until

BASH = """
source ./script
COMP_WORDS=("${@}")
COMP_CWORD=$(($# - 1))
_judgelake
((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
"""
READY = "completion is ready"


def list_commands() -> list[str]:
    (choice,) = (action for action in make_parser()._actions if action.dest == "command")
    return list(choice.choices or ())


def test_help_is_one_screen_of_groups() -> None:
    lines = make_parser().format_help().splitlines()
    assert lines[0].startswith("usage: judgelake [-h] COMMAND ...")
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["try out:", "run:", "ask:", "operate:"]
    assert sorted(line.split()[0] for line in lines if line.startswith("  ")) == sorted(
        list_commands()
    )


def test_every_command_is_in_one_group() -> None:
    grouped = [name for commands in GROUPS.values() for name in commands]
    assert len(grouped) == len(set(grouped))
    assert sorted(set(list_commands()) - set(grouped)) == []


def test_help_of_a_command_explains_exit_codes() -> None:
    (choice,) = (action for action in make_parser()._actions if action.dest == "command")
    assert isinstance(choice.choices, dict)
    text = " ".join(choice.choices["run"].format_help().split())
    assert "ingest, judge and report a suite; work that is already done is not repeated" in text
    assert "exit codes: 0 all there; 1 usage" in text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the examples complete: two suites, one with a space, a file that is none, a folder."""
    for name in ("night.yaml", "my night.yaml", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "lake").mkdir()
    return tmp_path


def write_script(folder: Path, shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_completion(make_parser().parse_args(["completion", shell])) == 0
    (folder / "script").write_text(capsys.readouterr().out)


def complete_in_bash(folder: Path, words: Sequence[str]) -> set[str]:
    command = ["bash", "--norc", "-c", BASH, "bash", "judgelake", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return set(done.stdout.splitlines())


def complete_in_fish(folder: Path, words: Sequence[str]) -> set[str]:
    code = "source ./script; complete -C $argv[1]"
    command = ["fish", "--no-config", "-c", code, f"judgelake {' '.join(words)}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return {line.partition("\t")[0].rstrip("/") for line in done.stdout.splitlines()}


EXAMPLES: list[tuple[list[str], set[str]]] = [
    (["pl"], {"plan"}),
    (["se"], {"serve"}),
    (["sql", "--format", "pa"], {"parquet"}),
    (["sql", "--recipe", "closest_by"], {"closest_by_group"}),
    (["run", "--log-format", ""], {"text", "json"}),
    (["run", "--li"], {"--limit"}),
    (["run", "--limit", ""], set()),
    (["completion", ""], {"bash", "zsh", "fish"}),
    (["check", "--q"], {"--quick"}),
    (["run", "ni"], {"night.yaml"}),
    (["run", "no"], set()),
    (["sql", "--file", "no"], {"notes.txt"}),
    (["run", "--lake", "la"], {"lake"}),
]
NAMES = [" ".join(words) for words, _ in EXAMPLES]


@pytest.mark.parametrize(("words", "expected"), EXAMPLES, ids=NAMES)
def test_bash_completes(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: set[str]
) -> None:
    write_script(folder, "bash", capsys)
    assert complete_in_bash(folder, words) == expected


def test_bash_keeps_a_file_name_with_a_space_whole(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_script(folder, "bash", capsys)
    assert complete_in_bash(folder, ["run", ""]) == {"my night.yaml", "night.yaml", "lake"}


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is absent; apt-get install fish")
@pytest.mark.parametrize(("words", "expected"), EXAMPLES, ids=NAMES)
def test_fish_completes(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: set[str]
) -> None:
    write_script(folder, "fish", capsys)
    found = complete_in_fish(folder, words)
    assert expected <= found
    assert [word for word in found if not word.startswith(words[-1])] == []


class Zsh:
    """An interactive zsh at a terminal of its own, with the script loaded."""

    def __init__(self, folder: Path) -> None:
        self.seen = ""
        self._pid, self._terminal = pty.fork()
        if not self._pid:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "PS1": "%% "})
        os.set_blocking(self._terminal, False)
        setup = "autoload -Uz compinit; compinit -u -D; source ./script"
        self.type(f"{setup}; echo {READY.replace(' ', '_')}\n")
        assert self.shows(f"\n{READY.replace(' ', '_')}"), self.seen

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def shows(self, text: str) -> bool:
        return wait_until(lambda: text in self._read())

    def _read(self) -> str:
        with contextlib.suppress(BlockingIOError, OSError):
            self.seen += os.read(self._terminal, 65536).decode(errors="replace")
        return self.seen

    def close(self) -> None:
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is absent; apt-get install zsh")
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("pl\t", "judgelake plan"),
        ("sql --format pa\t", "judgelake sql --format parquet"),
        ("run --li\t", "judgelake run --limit"),
        ("completion fi\t", "judgelake completion fish"),
        ("run nig\t", "judgelake run night.yaml"),
        ("sql --file no\t", "judgelake sql --file notes.txt"),
    ],
)
def test_zsh_completes(
    folder: Path, capsys: pytest.CaptureFixture[str], typed: str, shown: str
) -> None:
    write_script(folder, "zsh", capsys)
    shell = Zsh(folder)
    try:
        shell.type(f"judgelake {typed}")
        shell.type("\x01echo '<\x05>'\n")  # the line as it now stands, in brackets
        assert shell.shows(f"\n<{shown}>"), shell.seen
    finally:
        shell.close()


def test_a_shell_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args(["completion", "tcsh"])
    assert ended.value.code == 1
    assert "choose from" in capsys.readouterr().err


def test_the_printed_script_needs_nothing_heavy() -> None:
    code = "import sys, judgelake.flows.completion_command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"polars", "duckdb", "prefect", "dask", "yaml"} & set(done.stdout.split()) == set()
