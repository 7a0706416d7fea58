"""Views of failure modes (LAVE, Table 1 and Figure 4) recomputed."""

import itertools
from typing import Any

import pandas as pd

from judgelake.schemas.values import FAILURE_CATEGORIES
from tests.oracle.views.count_views import failure_verdicts
from tests.oracle.views.rows import ANSWER, Frame, Rows, Tables, with_all

_LABELLER = ["labelled_by", "labeller"]


def cases(tables: Tables) -> Frame:
    """Answers that people rated for correctness and string matching scored, with their kind."""
    metrics = tables.judges[tables.judges.kind.isin(["metric", "recorded_metric"])]
    order = ["vqa_accuracy", "recorded_metric:vqa_accuracy", "exact_match"]
    rows = []
    for benchmark in tables.answers.benchmark.unique():
        offered = [
            (order.index(row.signature.split("|")[0]), row.judge)
            for row in metrics.itertuples()
            if benchmark in row.benchmarks and row.signature.split("|")[0] in order
        ]
        if offered:
            rows.append(
                tables.scores[
                    (tables.scores.benchmark == benchmark)
                    & (tables.scores.judge == min(offered)[1])
                ]
            )
    people = tables.people[tables.people.human_criterion == "correctness"]
    found = pd.concat(rows or [tables.scores.iloc[:0]]).merge(people, on=ANSWER)
    human, score = found.human_score.round(12), found.score_0_1
    found["case_kind"] = "other"
    found.loc[(score < 0.5) & (human >= 0.8), "case_kind"] = "missed"
    found.loc[(score > 0.5) & (human <= 0.2), "case_kind"] = "reverse"
    return found


def labels(tables: Tables) -> Frame:
    """Answer x category x labeller, of all that were to decide; decided only where status is ok."""
    columns = [*ANSWER, *_LABELLER, "category", "status", "holds"]
    imported = tables.read("stg_failure_labels").assign(labelled_by="imported", status="ok")
    rules = tables.read("stg_rule_labels").assign(labelled_by="rules", status="ok")
    about = tables.answers[[*ANSWER, "content_digest"]]
    rules = rules.merge(about, on=["benchmark", "item_id", "content_digest"])
    judged = failure_verdicts(tables).assign(labelled_by="judge")
    parts = [part[columns] for part in (imported, rules, judged)]
    return pd.concat(parts, ignore_index=True).drop_duplicates()


def failure_cases(tables: Tables) -> Rows:
    return [
        {"benchmark": benchmark, "model": model, "case_kind": kind, "metric": rows.alias.iloc[0], "n": len(rows),
         "n_cases": (rows.case_kind == kind).sum(), "share": (rows.case_kind == kind).mean()}
        for (benchmark, model), rows in with_all(cases(tables), "model").groupby(["benchmark", "model"])
        for kind in ("missed", "reverse")
    ]  # fmt: skip


def failure_modes(tables: Tables) -> Rows:
    every = labels(tables)
    offered = {key: _offered(rows) for key, rows in every.groupby(_LABELLER)}
    about = cases(tables)[[*ANSWER, "model", "case_kind"]]
    decided = every[every.status == "ok"].merge(about[about.case_kind != "other"], on=ANSWER)
    found = []
    for (kind, by, labeller), rows in decided.groupby(["case_kind", *_LABELLER]):
        of_benchmarks = [*rows.benchmark.unique(), *(["*"] if rows.benchmark.nunique() > 1 else [])]
        for benchmark in of_benchmarks:
            own = rows if benchmark == "*" else rows[rows.benchmark == benchmark]
            of_models = [*(own.model.unique() if own.model.nunique() > 1 else ()), "*"]
            for model, category in itertools.product(of_models, offered[by, labeller]):
                part = own if model == "*" else own[own.model == model]
                n = len(part[ANSWER].drop_duplicates())
                held = int(part[part.category == category].holds.astype(bool).sum())
                found.append({"benchmark": benchmark, "model": model, "case_kind": kind, "labelled_by": by, "labeller": labeller,
                              "category": category, "n_holds": held, "n": n, "share": held / n})  # fmt: skip
    return found


def _offered(rows: Frame) -> set[str]:
    """What a labeller could say: people who only name what holds, each of the nine."""
    names_what_holds = (rows.labelled_by == "imported").all() and rows.holds.astype(bool).all()
    return {*FAILURE_CATEGORIES} if names_what_holds else {*rows.category}


def failure_scores(tables: Tables) -> Rows:
    about = cases(tables)
    about = about[about.case_kind != "other"][[*ANSWER, "case_kind"]]
    every = labels(tables)
    held = every[(every.status == "ok") & every.holds.astype(bool)][
        [*ANSWER, *_LABELLER, "category"]
    ]
    held = pd.concat([held, about[ANSWER].assign(labelled_by="*", labeller="*", category="*")])
    scores = (
        tables.all_scores.groupby([*ANSWER, "judge", "criterion"]).score_0_1.mean().reset_index()
    )
    rows = scores.merge(about, on=ANSWER).merge(held, on=ANSWER)
    keys = ["benchmark", "case_kind", *_LABELLER, "category", "judge", "criterion"]
    return [
        {**dict(zip(keys, key, strict=True)), "n": own.score_0_1.notna().sum(),
         "n_missing": own.score_0_1.isna().sum(), "mean": own.score_0_1.mean()}
        for key, own in rows.groupby(keys)
    ]  # fmt: skip


def failure_examples(tables: Tables) -> Rows:
    every = labels(tables)
    decided = every[every.status == "ok"]
    held: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for key, rows in decided.groupby([*ANSWER, *_LABELLER]):
        categories = sorted(rows[rows.holds.astype(bool)].category)
        held.setdefault(key[:3], []).append((*key[3:], categories))
    about = cases(tables)
    found = []
    for row in about[about.case_kind != "other"].itertuples():
        key = (row.benchmark, row.item_id, row.answer_id)
        for by, labeller, named in held.get(key, [(None, None, None)]):
            found.append({**dict(zip(ANSWER, key, strict=True)), "case_kind": row.case_kind, "model": row.model,
                          "metric_score": row.score_0_1, "human_score": row.human_score,
                          "labelled_by": by, "labeller": labeller, "categories": named})  # fmt: skip
    return found
