"""The prompt of `judgelake sql`: statements up to a semicolon, commands that begin with a dot."""

import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TextIO

import duckdb

from judgelake.flows.sql_answers import answer, answer_recipe
from judgelake.flows.sql_completion import DELIMITERS, Completer
from judgelake.flows.sql_formats import FOR_PEOPLE, FORMATS, name_format, terminal_width, write_rows
from judgelake.flows.sql_history import (
    append_history,
    history_file,
    read_history,
    shorten_history,
)
from judgelake.flows.sql_table import show_names, show_terms
from judgelake.tasks.errors import QueryError, nearest, redact, show_controls
from judgelake.tasks.lake.storage import LakePath, replacement
from judgelake.tasks.warehouse.catalog import (
    describe,
    find_recipe,
    list_layers,
    list_recipes,
)
from judgelake.tasks.warehouse.functions import describe_functions

_NAME_WIDTH = 30
"""Columns for a name in a list."""
_CALL_WIDTH = 56
"""Columns for a function with its arguments in a list."""
_SLOW_S = 1.0
"""A statement that takes longer has its time printed."""


class _Command(NamedTuple):
    """A command of the prompt: what follows its name, what it does, the function that does it."""

    takes: str
    says: str
    run: Callable[["Shell", Sequence[str]], None]


class Shell:
    """One prompt over one open lake; `form` is the format of answers."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, root: LakePath, form: str = "table"
    ) -> None:
        self._connection, self._root, self._form = connection, root, form
        self._output: Path | None = None
        self._lines: list[str] = []
        self._done = False
        self._is_terminal = sys.stdin.isatty()

    def run(self) -> int:
        """Read until `.quit` or the end of input; returns the exit code. Piped input gets no prompt
        and no greeting.
        """
        if self._is_terminal:
            self._set_up_editing()
            sys.stdout.write(
                f"{self._root}, read-only. Statements end in a semicolon; .help lists commands, "
                f"Tab completes.\n"
            )
        while not self._done:
            try:
                self._take(self._read_line())
            except EOFError:
                self._ask("\n".join(self._lines))
                break
            except KeyboardInterrupt:
                self._lines.clear()
                sys.stdout.write("\n")
        return 0

    def _set_up_editing(self) -> None:
        import readline

        completer = Completer(self._connection, COMMANDS)
        completions: list[str] = []

        def complete(word: str, state: int) -> str | None:
            if state == 0:
                line, begin = readline.get_line_buffer(), readline.get_begidx()
                before = "\n".join([*self._lines, line[:begin]])
                with suppress(QueryError, duckdb.Error):  # no list of names: nothing to complete
                    completions[:] = completer.complete(before, word, line[readline.get_endidx() :])
                if len(completions) == 1 and not completions[0].endswith(("(", "=", "/")):
                    completions[0] += " "
            return completions[state] if state < len(completions) else None

        readline.set_completer_delims(DELIMITERS)
        readline.set_completer(complete)
        is_libedit = "libedit" in (readline.__doc__ or "")  # of macOS
        readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
        readline.set_auto_history(False)
        shorten_history(history_file())
        for statement in read_history(history_file()):
            readline.add_history(statement)

    def _remember(self, statement: str) -> None:
        if self._is_terminal:
            import readline

            readline.add_history(statement)
            append_history(history_file(), statement)

    def _read_line(self) -> str:
        if not self._is_terminal:
            return input()
        try:
            return input("   ...> " if self._lines else "judgelake> ")
        except EOFError:
            sys.stdout.write("\n")
            raise

    def _take(self, line: str) -> None:
        """Run a command at once, and a statement when its semicolon is there."""
        if not self._lines and not line.strip():
            return
        if not self._lines and line.strip().startswith("."):
            self._remember(line.strip())
            self._guard(lambda: self.run_command(line.strip()))
            return
        self._lines.append(line)
        if line.rstrip().endswith(";"):
            statement = "\n".join(self._lines)
            self._lines.clear()
            self._remember(statement)
            self._ask(statement)

    def _ask(self, query: str) -> None:
        def write(form: str, out: TextIO) -> None:
            if self._output and len(self._connection.extract_statements(query)) > 1:
                raise QueryError("sql: .output takes one answer; expected one statement; ask again")
            answer(self._connection, query, form, out)

        if query.strip():
            self._guard(lambda: self._write(write))

    def _guard(self, act: Callable[[], None]) -> None:
        """Print what went wrong, so that the prompt goes on; print the time where it was long."""
        began = time.perf_counter()
        try:
            act()
        except (QueryError, duckdb.Error) as error:
            sys.stdout.flush()
            sys.stderr.write(redact(f"{error}\n"))
        seconds = time.perf_counter() - began
        if self._is_terminal and seconds > _SLOW_S:
            sys.stdout.write(f"({seconds:.1f} s)\n")

    def _write(self, write: Callable[[str, TextIO], None]) -> None:
        """Write rows to the terminal or, once, to the file of `.output`."""
        file = self._output
        if file is None:
            write(self._form, sys.stdout)
            return
        try:
            with (
                replacement(file, synced=False) as beside,
                beside.open("w", encoding="utf-8", newline="") as out,
            ):
                write(name_format(file), out)
        except OSError as error:
            raise QueryError(
                f"sql: {file}: cannot be written ({error.strerror}); expected a folder with room; "
                f"name another with .output"
            ) from None
        self._output = None
        sys.stdout.write(f"wrote {show_controls(str(file))}\n")

    def run_command(self, line: str) -> None:
        """Run one command; raises QueryError where there is none of its name or its words fail."""
        try:
            name, *words = shlex.split(line)
        except ValueError as error:
            raise QueryError(f"sql: {line}: {error}; expected words; close the quote") from None
        if name not in COMMANDS:
            raise QueryError(f"sql: there is no command {name}; {nearest(name, COMMANDS)}; .help")
        COMMANDS[name].run(self, words)

    def list_commands(self, _: Sequence[str]) -> None:
        """`.help`"""
        commands = [(f"{name} {command.takes}", command.says) for name, command in COMMANDS.items()]
        sys.stdout.write(show_terms(commands, terminal_width(), 30))

    def list_tables(self, words: Sequence[str]) -> None:
        """`.tables [WORD]`"""
        layers = [
            layer._replace(
                names=tuple(name for name in layer.names if all(w in name for w in words))
            )
            for layer in list_layers()
        ]
        if self._form not in FOR_PEOPLE:
            names = [name for layer in layers for name in layer.names]
            text = "select unnest($names) as table_name"
            write_rows(self._connection.sql(text, params={"names": names}), self._form, sys.stdout)
            return
        for layer in filter(lambda layer: layer.names, layers):
            sys.stdout.write(f"{layer.title}\n")
            if words or layer.is_first:
                terms = ((f"  {name}", describe(name)) for name in layer.names)
                sys.stdout.write(show_terms(terms, terminal_width(), _NAME_WIDTH))
            else:
                sys.stdout.write(show_names(layer.names, terminal_width()))

    def show_schema(self, words: Sequence[str]) -> None:
        """`.schema NAME`"""
        name = _one_word(".schema", words)
        known = [name for layer in list_layers() for name in layer.names]
        if name not in known:
            raise QueryError(
                f"sql: there is no table or view {name!r}; {nearest(name, known)}; .tables"
            )
        if self._form in FOR_PEOPLE:
            sys.stdout.write(f"{textwrap.fill(describe(name), terminal_width())}\n")
        text = (
            "select column_name as column, data_type as type, comment as holds "
            "from duckdb_columns() where table_name = $name order by column_index"
        )
        write_rows(self._connection.sql(text, params={"name": name}), self._form, sys.stdout, text)

    def list_functions(self, words: Sequence[str]) -> None:
        """`.functions [WORD]`"""
        terms = (
            (call, says)
            for call, says in describe_functions().items()
            if all(word in call for word in words)
        )
        sys.stdout.write(show_terms(terms, terminal_width(), _CALL_WIDTH))
        sys.stdout.write(
            "spearman_ci(x, y, cluster, resamples := 1000, seed := 0) and so on give the interval "
            "too\n"
        )

    def list_questions(self, words: Sequence[str]) -> None:
        """`.recipes [NAME]`"""
        if not words:
            terms = ((recipe.name, recipe.question) for recipe in list_recipes().values())
            sys.stdout.write(show_terms(terms, terminal_width(), _NAME_WIDTH))
            sys.stdout.write(".recipes NAME explains one, .recipe NAME answers it\n")
            return
        recipe, width = find_recipe(_one_word(".recipes", words)), terminal_width()
        sys.stdout.write(f"{textwrap.fill(recipe.question, width)}\n")
        sys.stdout.write(f"{textwrap.fill(recipe.grain, width)}\n")
        options = (
            (f"  {name}={option.default or ''}", option.says)
            for name, option in recipe.options.items()
        )
        sys.stdout.write(show_terms(options, width, _NAME_WIDTH))

    def ask_recipe(self, words: Sequence[str]) -> None:
        """`.recipe NAME [OPTION=VALUE ...]`"""
        if not words:
            raise QueryError("sql: .recipe names none; expected .recipe NAME; see .recipes")

        def write(form: str, out: TextIO) -> None:
            answer_recipe(self._connection, words[0], words[1:], form, out)

        self._write(write)

    def set_mode(self, words: Sequence[str]) -> None:
        """`.mode [FORMAT]`"""
        forms = [form for form in FORMATS if form != "parquet"]
        if not words:
            sys.stdout.write(f"{self._form}; there are {', '.join(forms)}\n")
            return
        form = _one_word(".mode", words)
        if form not in forms:
            raise QueryError(f"sql: there is no format {form!r}; {nearest(form, forms)}; .help")
        self._form = form

    def set_output(self, words: Sequence[str]) -> None:
        """`.output FILE`"""
        file = Path(_one_word(".output", words)).expanduser().absolute()
        name_format(file)
        if isinstance(self._root, Path) and file.resolve().is_relative_to(self._root.resolve()):
            raise QueryError(
                f"sql: .output {file} lies in the lake, which is read-only; expected a file "
                f"outside of {self._root}; name another"
            )
        if not file.parent.is_dir():
            raise QueryError(
                f"sql: .output {file}: there is no folder {file.parent}; expected one; "
                f"make it first"
            )
        self._output = file

    def leave(self, _: Sequence[str]) -> None:
        """`.quit`"""
        self._done = True


def _one_word(command: str, words: Sequence[str]) -> str:
    if len(words) != 1:
        takes = COMMANDS[command].takes
        raise QueryError(
            f"sql: {command} has {len(words)} words; expected {command} {takes}; .help"
        )
    return words[0]


COMMANDS: Mapping[str, _Command] = {
    ".help": _Command("", "list the commands", Shell.list_commands),
    ".tables": _Command(
        "[WORD]", "list tables and views, or those with WORD in their name", Shell.list_tables
    ),
    ".schema": _Command("NAME", "show what a row is, and what the columns hold", Shell.show_schema),
    ".functions": _Command(
        "[WORD]", "list the statistics, or those with WORD in their name", Shell.list_functions
    ),
    ".recipes": _Command(
        "[NAME]", "list the prepared questions, or explain one", Shell.list_questions
    ),
    ".recipe": _Command("NAME [OPTION=VALUE]", "answer a prepared question", Shell.ask_recipe),
    ".mode": _Command("[FORMAT]", "set the format of answers, or show it", Shell.set_mode),
    ".output": _Command(
        "FILE", "write the next answer to a .csv, .json, .md or .parquet file", Shell.set_output
    ),
    ".quit": _Command("", "leave, as Ctrl-D and .exit do", Shell.leave),
    ".exit": _Command("", "leave", Shell.leave),
}
