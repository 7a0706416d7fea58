"""Java programs that a Python package carries: where they are, and one process of each for the life
of this one.

A program here answers every line with one line. What the lines mean belongs to the metric or the
tokeniser that asks.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import IO, cast

from judgelake.tasks.errors import MetricError

PACKAGE = "pycocoevalcap"
Greeting = tuple[str, str]
"""A line and the answer that a program gives to it."""
_OPTIONS = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UseSerialGC", "-XX:+UseTransparentHugePages")
"""Half the memory of the default collector; METEOR's tables are read a tenth faster."""
# lines that are joined into one write
_LINES_A_WRITE = 1024


def find_java(purpose: str) -> str:
    """The `java` of JAVA_HOME, else of PATH; a MetricError says how to install one."""
    home = os.environ.get("JAVA_HOME")
    java = (home and shutil.which("java", path=str(Path(home) / "bin"))) or shutil.which("java")
    if not java:
        where = (
            f"{purpose}: no `java` in JAVA_HOME ({home or 'unset'}) or on PATH; expected "
            f"Java 8 or newer"
        )
        raise MetricError(
            f"{where}; run `apt-get install default-jre-headless` or `brew install openjdk`"
        )
    return java


def find_package_file(purpose: str, name: str) -> Path:
    """A file of the package that carries the programs, found without importing it."""
    spec = find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or []:
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    raise MetricError(
        f"{purpose}: {PACKAGE}/{name} is not installed; expected the package {PACKAGE}; run "
        f"`pip install 'judgelake[local]'`"
    )


class LineProgram:
    """A running Java program that gives one line for each line; many lines are under way at once.

    What Java itself says before the answer to the greeting (a warning, say) is skipped. The program
    is killed when Python ends; where Python is killed itself, it stops at the end of its input.
    """

    def __init__(
        self, purpose: str, arguments: Sequence[str], folder: Path, greeting: Greeting
    ) -> None:
        self._purpose = purpose
        self._greeting: Greeting | None = greeting
        self._owner = os.getpid()
        self._lock = Lock()
        self._unread = 0
        self._writer: Thread | None = None
        command = [find_java(purpose), *_OPTIONS, *arguments]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the program
        # A session of its own, so that Ctrl-C at the terminal does not end it before its answers
        # are stored.
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._input, self._output = (
            cast("IO[bytes]", self._process.stdin),
            cast("IO[bytes]", self._process.stdout),
        )
        atexit.register(self.close)

    def is_running(self) -> bool:
        """Whether it can be asked from this process; a forked child needs a program of its own."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, lines: Sequence[str], padding: Sequence[str] = ()) -> list[str]:
        """One answer a line. `padding` are lines that push the answers out of a buffer; what they
        give is skipped.
        """
        with self._lock:
            try:
                self._start_writing([*(self._greeting or ())[:1], *lines, *padding])
                self._skip_lines()
                answers = [self._read_line() for _ in lines]
                self._unread = len(padding)
            except BaseException:
                self.close()
                raise
            return answers

    def close(self) -> None:
        """End the program."""
        atexit.unregister(self.close)
        if self._owner != os.getpid():
            return
        self._process.kill()
        self._process.wait()
        if self._writer is not None:
            self._writer.join()
        for stream in (self._input, self._output, self._errors):
            with suppress(OSError):
                stream.close()

    def _start_writing(self, lines: list[str]) -> None:
        if self._writer is not None:
            self._writer.join()
        self._writer = Thread(target=self._write, args=(lines,), daemon=True)
        self._writer.start()

    def _write(self, lines: list[str]) -> None:
        with suppress(OSError):  # a program that has ended is reported where its answers are read
            for start in range(0, len(lines), _LINES_A_WRITE):
                text = "\n".join([*lines[start : start + _LINES_A_WRITE], ""])
                self._input.write(text.encode("utf-8", "surrogatepass"))
            self._input.flush()

    def _skip_lines(self) -> None:
        """Read on to the answer to the first line."""
        while self._greeting and self._read_line().rstrip() != self._greeting[1]:
            pass
        self._greeting = None
        for _ in range(self._unread):
            self._read_line()

    def _read_line(self) -> str:
        line = self._output.readline()
        if not line.endswith(b"\n"):
            raise self._explain_end()
        return line.decode("utf-8", "replace")

    def _explain_end(self) -> MetricError:
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").splitlines()
        reason = next(
            (line for line in lines if "Error" in line or "Exception" in line),
            lines[-1] if lines else "without a word",
        )
        where = f"{self._purpose}: Java ended with status {status}: {reason.strip()}"
        return MetricError(
            f"{where}; expected a Java that keeps running; check `java -version` and free "
            f"memory, then run again"
        )


_programs: dict[str, LineProgram] = {}
_starting = Lock()


def keep_program(
    purpose: str, arguments: Sequence[str], folder: Path, greeting: Greeting
) -> LineProgram:
    """The one running program of this purpose, started when there is none."""
    with _starting:
        program = _programs.get(purpose)
        if program is None or not program.is_running():
            if program is not None:
                program.close()
            program = _programs[purpose] = LineProgram(purpose, arguments, folder, greeting)
        return program
