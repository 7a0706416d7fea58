"""`judgelake completion`: a script that completes commands, options, their choices and suite files
in bash, zsh or fish. It follows from the command line's own parsers (`flows.cli`).
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from judgelake.flows.cli import make_parser
from judgelake.flows.command_groups import GROUPS
from judgelake.tasks.errors import ExitCode


class _Word(NamedTuple):
    """An option or, without `flags`, a positional argument. `files` completes file names: any, or
    only those of suites where it is `suites`.
    """

    flags: tuple[str, ...]
    says: str
    choices: tuple[str, ...]
    takes_value: bool
    repeats: bool
    files: str


_Commands = Mapping[str, list[_Word]]


def run_completion(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    sys.stdout.write(_SHELLS[options.shell](_read_commands(make_parser())))
    return ExitCode.DONE


def _read_commands(parser: argparse.ArgumentParser) -> _Commands:
    """Command -> its options and arguments, in the order of the groups."""
    (parsers,) = (
        action.choices
        for action in parser._actions  # argparse has no public list of actions
        if isinstance(action, argparse._SubParsersAction)
    )
    names = [name for group in GROUPS.values() for name in group]
    return {
        name: [_read_word(action) for action in parsers[name]._actions]
        for name in sorted(parsers, key=names.index)
    }


def _read_word(action: argparse.Action) -> _Word:
    files = "suites" if action.dest == "suite" else "any" if action.type is Path else ""
    return _Word(
        tuple(action.option_strings),
        " ".join((action.help or "").split()),
        _list_recipes() if action.dest == "recipe" else tuple(map(str, action.choices or ())),
        action.nargs != 0,
        isinstance(action, argparse._AppendAction),
        "any" if action.dest == "lake" else files,
    )


def _list_recipes() -> tuple[str, ...]:
    """Their names; `tasks.warehouse.catalog`, which knows more, would load duckdb."""
    files = resources.files("judgelake.sql").joinpath("adhoc").iterdir()
    names = (file.name for file in files if file.name.endswith(".sql"))
    return tuple(sorted(name.removesuffix(".sql") for name in names))


def _for_bash(commands: _Commands) -> str:
    return f"""# judgelake completion bash: add to ~/.bashrc
#   source <(judgelake completion bash)
_judgelake() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "{" ".join(commands)} --help" -- "$current")
        return
    fi
    case "${{COMP_WORDS[1]}} $previous" in
{_join(_bash_values(commands))}
    esac
    case "${{COMP_WORDS[1]}} $current" in
{_join(_bash_words(commands))}
    esac
}}
complete -o filenames -F _judgelake judgelake
"""


def _bash_values(commands: _Commands) -> Iterator[str]:
    for name, words in commands.items():
        for word in words:
            if word.flags and word.takes_value:
                before = "|".join(f'"{name} {flag}"' for flag in word.flags)
                yield f"        {before}) {_bash_reply(word)}return ;;"


def _bash_words(commands: _Commands) -> Iterator[str]:
    for name, words in commands.items():
        flags = " ".join(flag for word in words for flag in word.flags)
        listed = f'mapfile -t COMPREPLY < <(compgen -W "{flags}" -- "$current")'
        yield f'        "{name} -"*) {listed} ;;'
        for word in words:
            if not word.flags and (reply := _bash_reply(word)):
                yield f'        "{name} "*) {reply};;'


def _bash_reply(word: _Word) -> str:
    makes = {
        "": f'compgen -W "{" ".join(word.choices)}" -- "$current"' if word.choices else "",
        "any": 'compgen -f -- "$current"',
        "suites": 'compgen -d -- "$current"; compgen -f -X "!*.y*ml" -- "$current"',
    }
    return f"mapfile -t COMPREPLY < <({makes[word.files]}); " if makes[word.files] else ""


def _for_zsh(commands: _Commands) -> str:
    listed = "\n".join(f"        {_quote(f'{name}:{_summarise(name)}')}" for name in commands)
    cases = "\n".join(
        f"        {name}) _arguments {' '.join(_zsh_word(word) for word in words)} ;;"
        for name, words in commands.items()
    )
    return f"""#compdef judgelake
# judgelake completion zsh: add to ~/.zshrc, below compinit
#   source <(judgelake completion zsh)
_judgelake() {{
    local -a commands
    commands=(
{listed}
    )
    if ((CURRENT == 2)); then
        _describe -t commands command commands
        return
    fi
    shift words
    ((CURRENT--))
    case $words[1] in
{cases}
    esac
}}
compdef _judgelake judgelake
"""


def _zsh_word(word: _Word) -> str:
    makes = {
        "": f"({' '.join(word.choices)})",
        "any": "_files",
        "suites": '_files -g "*.(yaml|yml)"',
    }
    value = f":value:{makes[word.files] if word.files or word.choices else ''}"
    if not word.flags:
        return _quote(f"1{value}")
    says = f"[{word.says.translate(_ZSH_MARKS)}]" if word.says else ""
    repeats = "*" if word.repeats else ""
    return " ".join(
        _quote(f"{repeats}{flag}{says}{value if word.takes_value else ''}") for flag in word.flags
    )


_ZSH_MARKS = str.maketrans({"[": r"\[", "]": r"\]", ":": r"\:"})
"""Characters that zsh's `_arguments` would read as its own marks, with a backslash before them."""


def _for_fish(commands: _Commands) -> str:
    return f"""# judgelake completion fish: add to ~/.config/fish/config.fish
#   judgelake completion fish | source
complete -c judgelake -f
{_join(_fish_lines(commands))}
"""


def _fish_lines(commands: _Commands) -> Iterator[str]:
    for name, words in commands.items():
        summary = _quote(_summarise(name))
        yield f"complete -c judgelake -n __fish_use_subcommand -a {name} -d {summary}"
        seen = _quote(f"__fish_seen_subcommand_from {name}")
        for word in words:
            makes = {
                "": f"-a {_quote(' '.join(word.choices))}" if word.choices else "",
                "any": "-r -F",
                "suites": "-a '(__fish_complete_suffix .yaml)'",
            }
            flags = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in word.flags
            )
            if flags and word.takes_value and not word.files:
                flags += " -x"
            if flags or makes[word.files]:
                parts = (flags, makes[word.files], f"-d {_quote(word.says)}" if flags else "")
                rest = " ".join(part for part in parts if part)
                yield f"complete -c judgelake -n {seen} {rest}"


def _summarise(name: str) -> str:
    return next(group[name] for group in GROUPS.values() if name in group)


def _quote(text: str) -> str:
    """The text as one quoted word of zsh or fish; an apostrophe would end the quotation in both."""
    return "'" + text.replace("'", "’") + "'"


def _join(lines: Iterator[str]) -> str:
    return "\n".join(lines)


_SHELLS: Mapping[str, Callable[[_Commands], str]] = {
    "bash": _for_bash,
    "zsh": _for_zsh,
    "fish": _for_fish,
}
