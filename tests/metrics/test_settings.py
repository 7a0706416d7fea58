"""Metrics in a suite file: what they become, and what is refused with file and line."""

from pathlib import Path

import pytest

from judgelake.tasks.errors import MetricError, SuiteError
from judgelake.tasks.metrics import sbert_score
from judgelake.tasks.metrics.metric import (
    BleuOptions,
    CiderOptions,
    DocumentSource,
    NoOptions,
    RougeOptions,
)
from judgelake.tasks.metrics.settings import MetricSettings, name_metric
from judgelake.tasks.suite.suite import Suite, identify_all, read_suite
from tests.metrics.questions import make_rows

START = "name: s\nbenchmarks:\n  a: {source: demo}\n  b: {source: demo}\n"


def read(folder: Path, metrics: str) -> Suite:
    (folder / "suite.yaml").write_text(f"{START}metrics:\n{metrics}\n")
    return read_suite(folder / "suite.yaml")


def test_names_and_mappings(tmp_path: Path) -> None:
    suite = read(tmp_path, "- exact_match\n- {metric: token_f1, alias: f1, benchmarks: [b]}")
    assert suite.metrics == (
        name_metric("exact_match"),
        MetricSettings("f1", "token_f1", NoOptions(), ("b",)),
    )
    assert [(one.alias, one.benchmarks) for one in identify_all(suite)] == [
        ("exact_match", ("a", "b")),
        ("f1", ("b",)),
    ]


def test_options_and_what_names_stand_for(tmp_path: Path) -> None:
    text = (
        "- {metric: bleu, order: 2, style: sacrebleu, tokenizer: intl, alias: b2}\n- "
        "{metric: sacrebleu, order: 1}\n- rouge_1"
    )
    text += (
        "\n- {metric: rouge_1, style: rouge_score, stemmer: true, alias: r1}\n- cider\n- "
        "{metric: cider, df: docs.jsonl, alias: c}"
    )
    assert [(one.alias, one.options) for one in read(tmp_path, text).metrics] == [
        ("b2", BleuOptions(2, "sacrebleu", "intl")),
        ("sacrebleu", BleuOptions(1, "sacrebleu")),
        ("rouge_1", RougeOptions(1)),
        ("r1", RougeOptions(1, "rouge_score", stemmer=True)),
        ("cider", CiderOptions()),
        ("c", CiderOptions(df=DocumentSource(tmp_path / "docs.jsonl"))),
    ]


def test_a_metric_that_cannot_be_named_refuses_to_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its package is missing, say: the suite is read and planned all the same."""
    monkeypatch.setattr(sbert_score, "MODEL_PACKAGE", "no-such-model")
    (identity,) = name_metric("sbert_score").identify(("b",), {})
    assert identity.call_signature.startswith("sbert_score|unavailable|options:")
    with pytest.raises(
        MetricError, match=r"no-such-model is missing; .*pip install 'judgelake\[local\]'"
    ):
        name_metric("sbert_score").resolve().compute(make_rows([("a", ["b"])]), None)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (
            "- {metric: token_f2}",
            "suite.yaml:6: metrics: 'token_f2' is no metric; did you mean 'token_f1'?",
        ),
        (
            "- {alias: x}",
            "suite.yaml:6: the key 'metric' is missing; expected one of vqa_accuracy, ",
        ),
        ("- [token_f1]", "suite.yaml:6: expected keys with values"),
        (
            "- metric: token_f1\n  alais: x",
            "suite.yaml:7: unknown key 'alais'; did you mean 'alias'?",
        ),
        (
            "- metric: token_f1\n  alias: F 1",
            "suite.yaml:7: alias: 'F 1'; expected lower-case letters",
        ),
        (
            "- metric: token_f1\n  benchmarks: [c]",
            "suite.yaml:7: benchmarks: the suite has no 'c'; expected one of a, b",
        ),
        ("- metric: bleu\n  order: 5", "suite.yaml:7: order: 5; expected one of 1, 2, 3, 4"),
        (
            "- metric: bleu\n  style: sacreblue",
            "suite.yaml:7: style: 'sacreblue'; did you mean 'sacrebleu'?",
        ),
        ("- metric: rouge\n  variant: L", "suite.yaml:7: variant: 'L'; expected one of 1, l"),
        (
            "- metric: rouge_l\n  stemmer: true",
            "suite.yaml:7: stemmer: true; expected with `style: rouge_score` only",
        ),
        ("- metric: meteor\n  order: 1", "suite.yaml:7: unknown key 'order'"),
        (
            "- metric: bert_score\n  layer: -1",
            "suite.yaml:7: layer: -1; expected a whole number from 0",
        ),
        (
            "- bleu\n- bleu_4",
            "suite.yaml:7: metrics: 'bleu_4' is the same metric as 'bleu'; remove one",
        ),
        (
            "- token_f1\n- token_f1",
            "suite.yaml:7: metrics: 'token_f1' stands twice; remove one, or give one an `alias`",
        ),
        (
            "- token_f1\n- {metric: token_f1, alias: f1}",
            "suite.yaml:7: metrics: 'f1' is the same metric as 'token_f1'; remove one",
        ),
        (
            "- {metric: token_f1, alias: l}\njudges: {l: {protocol: lave, backend: standin}}",
            "suite.yaml:6: metrics: 'l' is a judge's name, too; expected another; give it "
            "another `alias`",
        ),
    ],
)
def test_refusals_name_the_line(tmp_path: Path, metrics: str, message: str) -> None:
    with pytest.raises(SuiteError) as refused:
        read(tmp_path, metrics)
    assert str(refused.value).removeprefix(f"{tmp_path}/").startswith(message)
