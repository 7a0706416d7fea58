"""Packages extend judgelake through entry points, without a fork."""

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from judgelake.tasks import extensions
from judgelake.tasks.errors import JudgelakeError
from judgelake.tasks.extensions import Registry
from judgelake.tasks.judging import lave
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.metrics import metric
from judgelake.tasks.metrics.metric import MetricKind, NoOptions
from judgelake.tasks.metrics.registry import KINDS
from tests.conftest import CHECKOUT
from tests.flows.harness import shell_in

LINES = """m1\tWhat is it?\ta dog\ta dog
m2\tWhat is it?\ta dog\tsome kind of furry animal
m1\tHow many?\ttwo\t2
m2\tHow many?\ttwo\ttwo of them
"""
SUITE = """name: toys
benchmarks:
  lines: {source: toy_lines, file: lines.tsv}
metrics: [toy_same_start, exact_match]
judges:
  short: {protocol: toy_count, backend: toy_echo, model: toy/echo, most: 2}
"""


@pytest.mark.full
def test_a_package_adds_one_of_each_and_a_suite_runs_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    source = CHECKOUT / "tests" / "extension" / "toy_judging"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    copied = tmp_path / "source"
    copied.mkdir()
    for file in source.iterdir():
        if file.is_file():
            (copied / file.name).write_bytes(file.read_bytes())
    subprocess.run([*pip, "--target", str(packages), str(copied)], check=True, cwd=tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(packages))
    (tmp_path / "lines.tsv").write_text(LINES)
    suite, lake = tmp_path / "suite.yaml", tmp_path / "lake"
    suite.write_text(SUITE)
    with shell_in(tmp_path) as shell:
        code, output = shell.run("run", str(suite), "--lake", str(lake))
        assert code == 0, output
        code, schema = shell.run("schema")
        assert code == 0
    assert all(name in schema for name in ("toy_count", "toy_lines", "toy_same_start", "toy_echo"))
    scores = """
        select a.model, s.alias, avg(s.score_0_1) as mean from core_scores as s
        inner join core_answers as a using (benchmark, item_id, answer_id)
        group by all order by all
    """
    assert shell.select(lake, scores) == [
        {"model": "m1", "alias": "exact_match", "mean": 0.5},
        {"model": "m1", "alias": "short", "mean": 1.0},
        {"model": "m1", "alias": "toy_same_start", "mean": 0.5},
        {"model": "m2", "alias": "exact_match", "mean": 0.0},
        {"model": "m2", "alias": "short", "mean": 0.0},
        {"model": "m2", "alias": "toy_same_start", "mean": 0.5},
    ]
    signed = "select call_signature from judges where alias = 'short'"
    assert shell.select(lake, signed) == [
        {"call_signature": "protocol:toy_count|version:1|model:toy/echo"}
    ]


def offer(monkeypatch: pytest.MonkeyPatch, *values: str) -> Registry[Protocol]:
    """A registry with LAVE, to which packages add `values`."""
    points = tuple(EntryPoint(f"p{n}", value, "g") for n, value in enumerate(values))
    monkeypatch.setattr(extensions, "find_entry_points", lambda _group: points)
    return Registry("g", Protocol, [lave.PROTOCOL])


def test_what_packages_add_stands_behind_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = offer(monkeypatch, "judgelake.tasks.judging.prometheus:PROTOCOL")
    assert list(found) == ["lave", "prometheus"]
    assert len(found) == 2
    assert found["prometheus"].name == "prometheus"
    with pytest.raises(KeyError):
        found["chirp"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("judgelake.tasks.judging.lave:PROTOCOL", "the name 'lave' is taken; expected another"),
        ("judgelake.tasks.judging.lave:VERSION", "is 1; expected an object of Protocol"),
        ("no_such_package:PROTOCOL", "cannot be loaded (ModuleNotFoundError: No module named"),
        ("judgelake.tasks.judging.lave:NOTHING", "cannot be loaded (AttributeError"),
    ],
)
def test_a_package_that_does_not_fit_is_named_with_its_entry_point(
    monkeypatch: pytest.MonkeyPatch, value: str, words: str
) -> None:
    found = offer(monkeypatch, value)
    assert found["lave"] is lave.PROTOCOL  # ours need no look at packages
    with pytest.raises(JudgelakeError) as refused:
        list(found)
    assert str(refused.value).startswith(f"an unknown package: entry point g: p0 = {value}: ")
    assert words in str(refused.value)


def test_a_metric_cannot_take_the_name_of_another_one_s_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else `bleu_4` of a suite would be ours, and the package's metric never asked."""
    shadow = MetricKind("bleu_4", NoOptions, KINDS.own["bleu"].build)
    monkeypatch.setattr(metric, "SHADOW", shadow, raising=False)
    point = EntryPoint("p", "judgelake.tasks.metrics.metric:SHADOW", "g")
    monkeypatch.setattr(extensions, "find_entry_points", lambda _group: (point,))
    with pytest.raises(JudgelakeError, match="the name 'bleu_4' is taken; expected another"):
        list(Registry("g", MetricKind, KINDS.own.values()))
