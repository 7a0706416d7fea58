"""BLEU, ROUGE, CIDEr and METEOR as a suite has them: options, signatures, corpus scores; CIDEr's
counts through a lake.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import sacrebleu
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from rouge_score.rouge_scorer import RougeScorer

from judgelake.tasks.metrics.bleu import Order
from judgelake.tasks.metrics.cider import compute_cider, count_documents
from judgelake.tasks.metrics.metric import (
    BleuOptions,
    CiderOptions,
    DocumentSource,
    RougeOptions,
    Scored,
)
from judgelake.tasks.metrics.registry import KINDS
from judgelake.tasks.metrics.rows import split_tokens
from judgelake.tasks.metrics.settings import MetricSettings, name_metric
from judgelake.tasks.metrics.shard import run_metric_shard
from judgelake.tasks.planning.cases import register_judges
from judgelake.tasks.planning.scores import write_scores
from judgelake.tasks.suite.suite import Scope
from tests.lakes import answer, ingest, item, make_lake, make_suite, query
from tests.metrics.captions import CAPTIONS, to_coco, tokenise
from tests.metrics.questions import make_rows, run_metric

REFERENCES, ANSWERS = to_coco(CAPTIONS)


def run(kind: str, options: object) -> Scored:
    return run_metric(KINDS[kind].build(options, ""), CAPTIONS)


def corpus(kind: str, options: object) -> float:
    metric = KINDS[kind].build(options, "")
    assert metric.corpus is not None
    return float(metric.corpus(run(kind, options).statistics.sum(axis=0, keepdims=True))[0])


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        (
            "bleu_1",
            "bleu|order:1|style:coco|tokenizer:ptb|smoothing:tiny|references:closest-length|version:1",
        ),
        (
            "bleu",
            "bleu|order:4|style:coco|tokenizer:ptb|smoothing:tiny|references:closest-length|version:1",
        ),
        (
            "sacrebleu",
            "bleu|order:4|style:sacrebleu|tokenizer:13a|smoothing:exp|effective-order:sentences|scale:0-1"
            "|references:closest-length|version:1",
        ),
        (
            "rouge_1",
            "rouge|variant:1|style:coco|tokenizer:ptb|references:best-precision-and-recall|beta:1.2|version:1",
        ),
        (
            "rouge_l",
            "rouge|variant:l|style:coco|tokenizer:ptb|references:best-precision-and-recall|beta:1.2|version:1",
        ),
        (
            "cider",
            "cider|variant:d|tokenizer:ptb|df:references@0123456789abcdef|order:4|sigma:6|references:mean|version:1",
        ),
        (
            "meteor",
            "meteor|scorer:1.5|language:en|parameters:rank|norm:true|tokenizer:ptb|references:max|version:1",
        ),
    ],
)
def test_signatures(name: str, signature: str) -> None:
    assert name_metric(name).resolve("0123456789abcdef").signature == signature


def test_every_option_is_in_the_signature() -> None:
    file = DocumentSource(Path("x.jsonl"))
    chosen = [
        *(("bleu", BleuOptions(order)) for order in (1, 2, 3, 4)),
        ("bleu", BleuOptions(style="sacrebleu")),
        ("bleu", BleuOptions(tokenizer="none")),
        ("rouge", RougeOptions()),
        ("rouge", RougeOptions(1)),
        ("rouge", RougeOptions(style="rouge_score")),
        ("rouge", RougeOptions(style="rouge_score", stemmer=True)),
        *(
            ("cider", CiderOptions(**one))
            for one in ({}, {"variant": "plain"}, {"df": file}, {"tokenizer": "13a"})
        ),
    ]
    signatures = {KINDS[kind].build(options, "d").signature for kind, options in chosen}
    assert len(signatures) == len(chosen)
    assert KINDS["cider"].build(CiderOptions(), "e").signature not in signatures


@pytest.mark.parametrize("order", [1, 4])
def test_bleu_of_sentences_and_corpus_as_pycocoevalcap(order: Order) -> None:
    options = BleuOptions(order, tokenizer="none")
    whole, sentences = Bleu(4).compute_score(REFERENCES, ANSWERS, verbose=0)
    np.testing.assert_allclose(
        run("bleu", options).scores, sentences[order - 1], rtol=1e-12, atol=1e-15
    )
    assert corpus("bleu", options) == pytest.approx(whole[order - 1], rel=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_bleu_of_sentences_and_corpus_as_sacrebleu_on_a_scale_to_one(order: Order) -> None:
    options = BleuOptions(order, style="sacrebleu")
    alone = sacrebleu.BLEU(max_ngram_order=order, effective_order=True)
    expected = [alone.sentence_score(text, references).score / 100 for text, references in CAPTIONS]
    np.testing.assert_allclose(run("bleu", options).scores, expected, atol=1e-11)
    longest = max(len(references) for _, references in CAPTIONS)
    streams: list[Any] = [
        [references[k] if k < len(references) else None for _, references in CAPTIONS]
        for k in range(longest)
    ]
    whole = sacrebleu.BLEU(max_ngram_order=order).corpus_score(
        [text for text, _ in CAPTIONS], streams
    )
    assert corpus("bleu", options) == pytest.approx(whole.score / 100, abs=1e-11)


@pytest.mark.parametrize("stemmer", [False, True])
@pytest.mark.parametrize(("variant", "name"), [(1, "rouge1"), ("l", "rougeL")])
def test_rouge_as_rouge_score(variant: Literal[1, "l"], name: str, stemmer: bool) -> None:
    scorer = RougeScorer([name], use_stemmer=stemmer)
    expected = [
        scorer.score_multi(references, text)[name].fmeasure for text, references in CAPTIONS
    ]
    options = RougeOptions(variant, "rouge_score", stemmer)
    np.testing.assert_allclose(run("rouge", options).scores, expected, atol=1e-12)


# ---- tokens that hold white space


def test_tokens_are_split_at_every_white_space(monkeypatch: pytest.MonkeyPatch) -> None:
    odd: Mapping[str, object] = {"odd": lambda texts: [text.split(" ") for text in texts]}
    monkeypatch.setattr("judgelake.tasks.metrics.rows.TOKENIZERS", odd)
    rows = make_rows([("1\u00a01/2 cups", ["1 1/2 cups", "x\u00a0y\u00a0x"]), ("cups", ["x"])])
    split, whole = rows.tokenise("odd", split=True), rows.tokenise("odd")
    texts = [
        [split.vocabulary[token] for token in split.tokens[slice(*ends)]]
        for ends in pairwise(split.offsets)
    ]
    assert texts == [["1", "1/2", "cups"], ["cups"], ["1", "1/2", "cups"], ["x", "y", "x"], ["x"]]
    assert split.answer_ids is whole.answer_ids
    assert split.reference_ids is whole.reference_ids
    assert whole.vocabulary[0] == "1\u00a01/2"


def test_tokens_without_white_space_are_left_alone() -> None:
    rows = tokenise(CAPTIONS)
    assert split_tokens(rows) is rows


# ---- CIDEr through a lake


def test_ciders_documents_are_the_references_of_every_answer(tmp_path: Path) -> None:
    """As pycocoevalcap run over all answers at once, also where two models gave the same one."""
    lake = make_lake(tmp_path)
    items = [item(f"i{k:02}", references=references) for k, (_, references) in enumerate(CAPTIONS)]
    answers = [answer(f"i{k:02}", text, "m1") for k, (text, _) in enumerate(CAPTIONS)]
    again = [
        answer(f"i{k:02}", text if k % 2 else "a cat on a horse", "m2")
        for k, (text, _) in enumerate(CAPTIONS)
        if k % 3
    ]
    ingest(lake, items, [*answers, *again])
    settings = MetricSettings("cider", "cider", CiderOptions(tokenizer="none"))
    suite = make_suite(metrics=(settings,))
    register_judges(lake, suite)
    for order in write_scores(lake, suite, Scope(), "run"):
        assert run_metric_shard(order).failures == ()
    found = query(
        lake,
        "select item_id, answer_id, score_0_1 as score from core_scores order by answer_id, item_id",
    )
    every = [(row["text"], CAPTIONS[int(row["item_id"][1:])][1]) for row in [*answers, *again]]
    expected = Cider().compute_score(*to_coco(every))[1]
    np.testing.assert_allclose([row["score"] for row in found], expected, atol=1e-12)


def test_ciders_documents_may_be_a_file(tmp_path: Path) -> None:
    documents = [["a cat", "one brown horse"], ["a horse on the beach"]]
    file = tmp_path / "documents.jsonl"
    file.write_text("\n".join(map(json.dumps, documents)))
    lake = make_lake(tmp_path)
    ingest(
        lake,
        [item("i0", references=("a brown horse",)), item("i1")],
        [answer("i0", "a horse"), answer("i1", "cat")],
    )
    settings = MetricSettings(
        "cider", "cider", CiderOptions(df=DocumentSource(file), tokenizer="none"), ("b", "c")
    )
    suite = make_suite(metrics=(settings,), benchmarks=("b", "c"))
    register_judges(lake, suite)
    (order,) = write_scores(lake, suite, Scope(), "run")
    run_metric_shard(order)
    frequencies = count_documents(tokenise([("", texts) for texts in documents]))
    expected = compute_cider(
        tokenise([("a horse", ["a brown horse"]), ("cat", ["cat"])]), frequencies, "cider_d"
    ).scores
    found = query(lake, "select judge, score_0_1 as score from core_scores order by item_id")
    assert [row["score"] for row in found] == pytest.approx(expected.tolist(), abs=1e-15)
    assert "|df:file@" in found[0]["judge"]
