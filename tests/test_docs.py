"""The README files: links lead somewhere, commands parse, suites read, examples run, and the tables
name what is registered.

What the text says of a thing is for people to read; that the thing is there is checked here.
"""

import argparse
import ast
import inspect
import re
import shlex
import shutil
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import duckdb
import pytest
import yaml

from judgelake.flows.cli import make_parser
from judgelake.schemas.judging import STATUSES
from judgelake.schemas.tables import TABLES
from judgelake.tasks.backends.openai.endpoints import PROVIDERS
from judgelake.tasks.errors import MEANINGS
from judgelake.tasks.judging import templates
from judgelake.tasks.judging.protocols import PROTOCOLS
from judgelake.tasks.metrics.registry import METRICS
from judgelake.tasks.sources.registry import SOURCES
from judgelake.tasks.sources.table.settings import TableSettings
from judgelake.tasks.suite.suite import read_suite
from judgelake.tasks.warehouse.catalog import list_recipes
from judgelake.tasks.warehouse.views import check_texts, view_texts
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.conftest import CHECKOUT
from tests.lakes import make_lake

FRONT = CHECKOUT / "README.md"
FOLDERS = ("flows", "infra", "schemas", "sql", "tasks", "tests")
PAGES = [
    FRONT,
    *sorted(
        page
        for folder in FOLDERS
        for page in (CHECKOUT / folder).rglob("README.md")
        if not (page.parent / "config.json").exists()  # the card of a model
    ),
]


def _list_commands() -> list[str]:
    """argparse keeps the names of its commands in an action that it has no public list of."""
    (action,) = (
        one for one in make_parser()._actions if isinstance(one, argparse._SubParsersAction)
    )
    return list(action.choices)


COMMANDS = _list_commands()
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")


class Block(NamedTuple):
    page: Path
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.parent.name}: {self.text.strip().splitlines()[0]}"


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def list_blocks(page: Path, *languages: str) -> list[Block]:
    found = _FENCE.findall(read(page))
    return [
        Block(page, language, textwrap.dedent(text))
        for _, language, text in found
        if language in languages
    ]


def every_block(*languages: str) -> list[Block]:
    return [block for page in PAGES for block in list_blocks(page, *languages)]


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", read(page))


def read_table(page: Path, first: str) -> list[list[str]]:
    """The rows of the page's table whose header begins with the cell `first`."""
    lines = prose(page).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def first_names(page: Path, first: str) -> list[str]:
    """What stands in backticks in the first cells of a table."""
    return [name for row in read_table(page, first) for name in _CODE.findall(row[0])]


def name_anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in name_anchors(target)):
            broken.append(link)
    assert broken == []


def list_commands(word: str) -> list[tuple[Path, str]]:
    """Lines of code blocks that begin with `word`."""
    return [
        (block.page, line)
        for block in every_block("")
        for line in block.text.replace("\\\n", " ").splitlines()
        if line.startswith(f"{word} ")
    ]


@pytest.mark.parametrize(("page", "line"), list_commands("judgelake"))
def test_commands_parse(page: Path, line: str) -> None:
    options = make_parser().parse_args(shlex.split(line, comments=True)[1:])
    assert options.command in COMMANDS
    if getattr(options, "recipe", None):
        list_recipes()[options.recipe].fill_options(options.set)


@pytest.mark.parametrize(("page", "line"), list_commands("make"))
def test_make_has_the_targets(page: Path, line: str) -> None:
    targets = re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    assert shlex.split(line)[1] in targets


def test_commands_in_the_text_are_there() -> None:
    named = {name for page in PAGES for name in re.findall(r"`judgelake ([a-z]+)[ `]", prose(page))}
    assert sorted(named - set(COMMANDS)) == []
    assert {"run", "sql", "train"} <= named


@pytest.mark.parametrize("block", every_block("yaml"), ids=lambda block: block.name)
def test_suites_read(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = yaml.safe_load(block.text)
    if not {"benchmarks", "judges"} & set(content):
        return
    named = {
        name for judge in content.get("judges", {}).values() for name in judge.get("benchmarks", ())
    }
    benchmarks = {name: {"source": "demo"} for name in sorted(named) or ["demo"]}
    whole = {"name": "of-a-page", "benchmarks": benchmarks, **content}
    for name in ("JUDGELAKE_DATA", "DATA"):
        monkeypatch.setenv(name, "data")
    shutil.copytree(CHECKOUT / "infra" / "suites" / "rubrics", tmp_path / "rubrics")
    file = tmp_path / "suite.yaml"
    file.write_text(yaml.safe_dump(whole, sort_keys=False))
    suite = read_suite(file)
    assert set(suite.judges) == set(content.get("judges", {}))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse of an empty lake."""
    with open_warehouse(make_lake(tmp_path_factory.mktemp("docs"))) as connection:
        yield connection


@pytest.mark.parametrize("block", every_block("sql"), ids=lambda block: block.name)
def test_queries_run(block: Block, empty: duckdb.DuckDBPyConnection) -> None:
    options = re.findall(r"^-- option (\w+)(?: = (\w+))?", block.text, re.MULTILINE)
    values = {name: value or None for name, value in options}
    assert empty.execute(block.text, values).fetchall() == []


@pytest.mark.parametrize("block", every_block("python"), ids=lambda block: block.name)
def test_python_parses(block: Block) -> None:
    assert ast.parse(block.text).body


def run_tests(namespace: dict[str, Any], folder: Path) -> int:
    """Call each test function of a namespace, and say how many calls there were."""
    count = 0
    for name, function in list(namespace.items()):
        if name.startswith("test_"):
            for arguments in list_arguments(function, folder):
                function(**arguments)
                count += 1
    return count


def list_arguments(function: Callable[..., None], folder: Path) -> Iterator[dict[str, Any]]:
    marks = getattr(function, "pytestmark", [])
    if marks:
        names, values = marks[0].args
        yield from (dict(zip(names, row, strict=True)) for row in values)
    else:
        yield {"tmp_path": folder} if "tmp_path" in inspect.signature(function).parameters else {}


def run_example(page: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> int:
    """Run the module of a page's "Add one" under its name, then its test, and say how many tests
    ran.
    """
    _, _, added = read(page).partition("## Add one\n")
    blocks = [textwrap.dedent(text) for _, kind, text in _FENCE.findall(added) if kind == "python"]
    named = re.search(r"The module, `([\w/]+)\.py`", added)
    name = "judgelake." + named[1].replace("/", ".") if named else f"example_{page.parent.name}"
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    for block in blocks:
        exec(compile(block, str(page), "exec"), module.__dict__)
    return run_tests(module.__dict__, folder)


@pytest.mark.parametrize("folder", ["tasks/stats", "tasks/backends", "tests"])
def test_examples_run(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_example(CHECKOUT / folder / "README.md", monkeypatch, tmp_path) > 0


@pytest.mark.parametrize("room", ["judging", "sources", "metrics"])
def test_additions_run(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = CHECKOUT / "tasks" / room / "README.md"
    prompts = [block.text for block in list_blocks(page, "") if "{{" in block.text]
    if prompts:
        monkeypatch.setattr(templates, "read_prompt", lambda _name, _folder: prompts[0])
    assert run_example(page, monkeypatch, tmp_path) > 0


def test_every_folder_page_ends_with_add_one() -> None:
    last = {page: re.findall(r"^## (.+)$", prose(page), re.MULTILINE)[-1] for page in PAGES}
    assert [str(page) for page, title in last.items() if page != FRONT and title != "Add one"] == []


def test_the_front_page_is_short() -> None:
    assert len(read(FRONT).split()) <= 1200


def test_lines_are_short() -> None:
    long = [
        f"{page.relative_to(CHECKOUT)}: {line}"
        for page in PAGES
        for line in read(page).splitlines()
        if len(line) > 100 and not line.startswith("|") and "](" not in line
    ]
    assert long == []


JUDGING = CHECKOUT / "tasks" / "judging" / "README.md"


def test_protocols_and_their_options_are_named() -> None:
    assert sorted(first_names(JUDGING, "`protocol`")) == sorted(PROTOCOLS)
    tables = prose(JUDGING).split("| `protocol` | options and defaults |")[1]
    said = {
        row[1].strip(" `"): set(re.findall(r"`(\w+)", row[2]))
        for row in (line.split("|") for line in tables.splitlines() if line.startswith("| `"))
    }
    missing = [
        f"{name}: {option.name}"
        for name in PROTOCOLS
        for option in fields(PROTOCOLS[name].options)
        if option.name not in said[name] | {"templates"}
    ]
    assert missing == []


def test_statuses_are_named() -> None:
    assert tuple(first_names(JUDGING, "status")) == STATUSES


def test_sources_and_their_settings_are_named() -> None:
    page = CHECKOUT / "tasks" / "sources" / "README.md"
    rows = {row[0].strip("`"): set(_CODE.findall(row[2])) for row in read_table(page, "`source`")}
    assert sorted(rows) == sorted(SOURCES)
    missing = [
        f"{name}: {setting.name}"
        for name in SOURCES
        for setting in fields(SOURCES[name].settings)
        if setting.name not in {one.split(":")[0] for one in rows[name]}
        and (name != "table" or not re.search(rf"\b{setting.name}\b", read(page)))
    ]
    assert missing == []


def test_every_setting_of_the_source_table_stands_in_an_example() -> None:
    hints = get_type_hints(TableSettings)
    sections = {
        setting.name: section
        for setting in fields(TableSettings)
        for section in get_args(hints[setting.name])
        if is_dataclass(section)
        and setting.name not in ("where", "parts", "join", "columns", "models")
    }
    wanted = {(name, one.name) for name, section in sections.items() for one in fields(section)}
    wanted |= {("", setting.name) for setting in fields(TableSettings)}
    texts = [block.text for block in every_block("yaml")]
    texts += [file.read_text() for file in (CHECKOUT / "infra" / "suites").glob("*.yaml")]
    shown = {
        pair
        for text in texts
        for pair in list_table_settings(yaml.safe_load(text), sections.keys())
    }
    assert len(sections) == 13
    assert sorted(wanted - shown) == []


def list_table_settings(suite: Any, sections: Set[str]) -> Iterator[tuple[str, str]]:
    """(section or nothing, setting) of each benchmark of the source `table`."""
    benchmarks = suite.get("benchmarks") if isinstance(suite, dict) else None
    for benchmark in (benchmarks or {}).values():
        if benchmark.get("source") != "table":
            continue
        for part in (benchmark, *benchmark.get("parts", ())):
            yield from (("", key) for key in part)
            for key in part.keys() & sections:
                listed = part[key] if isinstance(part[key], list) else [part[key]]
                yield from ((key, name) for section in listed for name in section)


def test_metrics_are_named() -> None:
    page = CHECKOUT / "tasks" / "metrics" / "README.md"
    assert sorted(first_names(page, "metric")) == sorted(METRICS)


def test_providers_are_named() -> None:
    page = CHECKOUT / "tasks" / "backends" / "README.md"
    named = {name.partition("/")[0] for name in first_names(page, "first part of `model`")}
    assert sorted(named - {"azure"}) == sorted(PROVIDERS)


def test_commands_and_exit_codes_are_named() -> None:
    page = CHECKOUT / "infra" / "README.md"
    assert sorted(set(COMMANDS) - set(first_names(page, "command"))) == []
    rows = {int(row[0]): row[1] for row in read_table(page, "code")}
    assert sorted(rows) == sorted(MEANINGS)
    for code, meaning in MEANINGS.items():
        assert meaning.partition(" (")[0].split(",")[0] in rows[code].replace("`", "")


def test_variables_are_named() -> None:
    text = "".join(file.read_text() for room in ("flows", "tasks") for file in sources(room))
    used = set(re.findall(r"\bJUDGELAKE_[A-Z]+\b", text))
    page = CHECKOUT / "infra" / "README.md"
    assert sorted(used - set(first_names(page, "variable"))) == []


def sources(room: str) -> Iterator[Path]:
    return (CHECKOUT / room).rglob("*.py")


def test_tables_views_checks_and_recipes_are_named() -> None:
    sql = CHECKOUT / "sql" / "README.md"
    assert sorted(first_names(CHECKOUT / "schemas" / "README.md", "table")) == sorted(TABLES)
    assert sorted(first_names(sql, "recipe")) == sorted(list_recipes())
    assert sorted(first_names(sql, "check")) == sorted(check_texts())
    views = {name for name in view_texts() if name.startswith(("core_", "rpt_"))}
    named = {
        name
        for page in PAGES
        for name in _CODE.findall(prose(page))
        if re.fullmatch(r"(?:core|rpt|chk)_[a-z_]+", name)
    }
    assert sorted(named ^ (views | set(check_texts()))) == []


def list_messages() -> list[str]:
    """Every text of the code, with `…` where a value stands."""
    texts = []
    for room in ("flows", "tasks"):
        for file in sources(room):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    parts = [
                        part.value if isinstance(part, ast.Constant) else "…"
                        for part in node.values
                    ]
                    texts.append("".join(map(str, parts)))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.append(node.value)
    return texts


def test_messages_are_those_of_the_code() -> None:
    page = CHECKOUT / "infra" / "README.md"
    texts = list_messages()
    unknown = []
    rows = read_table(page, "message")
    for row in rows:
        parts = [re.escape(part.strip(" :;")) for part in row[0].strip("`").split("…")]
        pattern = re.compile(".*".join(part for part in parts if part), re.DOTALL)
        if not any(pattern.search(text) for text in texts):
            unknown.append(row[0])
    assert unknown == []
    assert len(rows) >= 20


def test_paths_in_the_text_are_there() -> None:
    absent = [
        f"{page.relative_to(CHECKOUT)}: {name}"
        for page in PAGES
        for name in _CODE.findall(prose(page).partition("## Add one\n")[0])
        if re.fullmatch(r"(?:flows|infra|schemas|sql|tasks|tests)/[\w/.\-]*", name)
        and not ((CHECKOUT / name).exists() or (page.parent / name).exists())
    ]
    assert absent == []


def test_each_promise_of_safety_names_a_test_that_is_there() -> None:
    text = (CHECKOUT / "infra" / "SECURITY.md").read_text()
    named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", text)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| Test |" not in line]
    assert len(named) == len(rows) > 10
    missing = [name for file, name in named if f"def {name}(" not in (CHECKOUT / file).read_text()]
    assert missing == []
