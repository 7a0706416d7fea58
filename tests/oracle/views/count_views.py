"""Views of counts recomputed: coverage, costs, judges, refusals, quarantine, labels of items, scores
published by others, best-of-n choices.
"""

from collections import Counter

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from tests.oracle.views.rows import ANSWER, Frame, Rows, Tables


def failure_verdicts(tables: Tables) -> Frame:
    """Answer x category x labelling judge that was wanted: its status, and whether it holds."""
    labellers = tables.judges[tables.judges.kind == "labeller"][["judge_id", "reading", "judge"]]
    cases = tables.read("stg_cases").merge(labellers, on="judge_id")
    keys = [
        "judge_id",
        "reading",
        "benchmark",
        "item_id",
        "content_digest",
        "context_digest",
        "criterion",
        "sample",
    ]
    verdicts = tables.read("stg_verdicts")[[*keys, "status", "score_0_1"]]
    answers = tables.answers[[*ANSWER, "content_digest"]]
    found = cases.merge(verdicts, on=keys, how="left").merge(
        answers, on=["benchmark", "item_id", "content_digest"]
    )
    found["status"] = found.status.fillna("not_asked")
    return found.assign(
        holds=found.score_0_1 >= 0.5, category=found.criterion, labeller=found.judge
    )


def coverage(tables: Tables) -> Rows:
    choices = tables.choices[~tables.choices.rater.str.startswith("human:")]
    wanted = [
        *zip(
            tables.all_scores.benchmark,
            tables.all_scores.judge,
            tables.all_scores.status,
            strict=True,
        ),
        *zip(choices.benchmark, choices.rater, choices.status, strict=True),
    ]
    labels = failure_verdicts(tables)
    wanted += zip(labels.benchmark, labels.judge, labels.status, strict=True)
    return [
        {"benchmark": benchmark, "judge": judge, "status": status, "n": n}
        for (benchmark, judge, status), n in Counter(wanted).items()
    ]


def costs(tables: Tables) -> Rows:
    outcomes = pd.concat(
        [
            tables.read(f"raw_{name}")[["judge_id", "benchmark"]]
            for name in ("verdicts", "duels", "generated_captions", "generated_answers")
        ]
    )
    registered = (
        tables.read("raw_judges").sort_values("registered_at").groupby("judge_id").alias.last()
    )
    found = []
    for judge_id, rows in tables.read("raw_replies").groupby("judge_id"):
        own = outcomes[outcomes.judge_id == judge_id]
        cost = rows.cost_usd.sum() if rows.cost_usd.notna().all() else None
        found.append({"judge_id": judge_id, "judge": registered[judge_id], "model": ", ".join(sorted({*rows.requested_model})),
                      "n_verdicts": len(own), "n_calls": len(rows), "prompt_tokens": rows.prompt_tokens.sum(),
                      "completion_tokens": rows.completion_tokens.sum(), "cost_usd": cost,
                      "cost_usd_per_1000": None if cost is None or own.empty else 1000 * cost / len(own)})  # fmt: skip
    return found


def judges(tables: Tables) -> Rows:
    """Every judge and metric of the suite's registration, and whom the inputs recorded."""
    registered = tables.read("raw_judges")
    latest = registered[
        registered.registered_at == registered.groupby("suite").registered_at.transform("max")
    ]
    found = {
        (benchmark, row.kind, f"metric:{row.call_signature}" if row.kind == "metric" else row.alias)
        for row in latest.itertuples() for benchmark in row.benchmarks
    }  # fmt: skip
    for table, column, kind in (
        ("verdicts", "judge", "recorded"),
        ("duels", "judge", "recorded"),
        ("scores", "metric", "recorded_metric"),
    ):
        rows = tables.read(f"stg_recorded_{table}")
        found |= {
            (benchmark, kind, name if kind == "recorded" else f"metric:{name}")
            for benchmark, name in zip(rows.benchmark, rows[column], strict=True)
        }
    return [
        {"benchmark": benchmark, "kind": kind, "judge": judge} for benchmark, kind, judge in found
    ]


_STATUSES = (
    "ok",
    "refused",
    "filtered",
    "truncated",
    "unparsed",
    "failed",
    "missing_image",
    "not_asked",
)


def refusals(tables: Tables) -> Rows:
    kinds = dict(zip(tables.judges.judge, tables.judges.kind, strict=True))
    cases = [
        (row.benchmark, row.judge, {row.model}, row.status)
        for row in tables.all_scores.itertuples() if kinds[row.judge] in ("judge", "recorded")
    ]  # fmt: skip
    cases += [
        (row.benchmark, row.judge, {row.model_a, row.model_b}, row.status)
        for row in tables.read("core_duels").itertuples()
    ]
    cases += [
        (row.benchmark, row.rater, {row.model_a, row.model_b}, row.status)
        for row in tables.choices.itertuples() if kinds.get(row.rater) == "recorded"
    ]  # fmt: skip
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for benchmark, judge, models, status in cases:
        for model in {*models, "*"} - {"(reference)"}:
            counts.setdefault((benchmark, judge, model), Counter())[status] += 1
    return [
        {"benchmark": benchmark, "judge": judge, "model": model, "n_cases": count.total(),
         **{f"n_{status}": count[status] for status in _STATUSES}, "share_without": 1 - count["ok"] / count.total()}
        for (benchmark, judge, model), count in counts.items()
    ]  # fmt: skip


def quarantine(tables: Tables) -> Rows:
    rows = tables.read("stg_quarantine")
    keys = ["benchmark", "source_file", "column_name", "reason"]
    found = []
    for key, own in rows.groupby(keys, dropna=False):
        first = own.sort_values("locator").iloc[0]
        found.append(
            {**dict(zip(keys, key, strict=True)), "n": len(own), "example_locator": first.locator}
        )
    return found


def item_labels(tables: Tables) -> Rows:
    items = tables.read("stg_items").groupby("benchmark").size()
    keys = ["benchmark", "label", "labeller"]
    found = []
    for key, rows in tables.read("stg_item_labels").groupby(keys):
        n, held = len(rows), int(rows.holds.sum())
        plain, wilson = (
            proportion_confint(held, n, method=method) for method in ("normal", "wilson")
        )
        found.append({**dict(zip(keys, key, strict=True)), "n_items": items[key[0]], "n": n, "n_holds": held, "share": held / n,
                      "normal_low": max(plain[0], 0), "normal_high": min(plain[1], 1), "wilson_low": wilson[0], "wilson_high": wilson[1]})  # fmt: skip
    return found


def scaled_average(tables: Tables) -> Rows:
    found = []
    for benchmark, rows in tables.read("stg_benchmark_scores").groupby("benchmark"):
        table = rows.pivot(index="model", columns="published_benchmark", values="score")
        table = table.loc[:, table.max() > table.min()]
        scaled = (table - table.min()) / (table.max() - table.min())
        for model, scores in scaled.iterrows():
            if scores.notna().any():
                average = scores.mean(skipna=False)
                found.append(
                    {
                        "benchmark": benchmark,
                        "model": model,
                        "n_benchmarks": len(scores),
                        "n_scores": scores.notna().sum(),
                        "scaled_average": average,
                    }
                )
    return found


def choice_accuracy(tables: Tables) -> Rows:
    sets = tables.read("stg_choice_sets")
    sets = sets[sets.chosen.notna()]
    scores = tables.scores[tables.scores.benchmark.isin(sets.benchmark)]
    means = (
        scores.groupby(["benchmark", "judge", "criterion", "item_id", "answer_id"])
        .score_0_1.mean()
        .to_dict()
    )
    found = []
    for (benchmark, judge, criterion), _ in scores.groupby(["benchmark", "judge", "criterion"]):
        own = sets[sets.benchmark == benchmark]
        named = {criterion} & {*own.criterion} or {*own.criterion}
        for target in named:
            results = []
            chosen = own[own.criterion == target]
            for row in chosen.itertuples():
                for loser in {*row.answers} - {row.chosen}:
                    two = [
                        means.get((benchmark, judge, criterion, row.item_id, answer))
                        for answer in (row.chosen, loser)
                    ]
                    results.append(
                        None if None in two else (1 + np.sign(round(two[0] - two[1], 12))) / 2
                    )
            known = [result for result in results if result is not None]
            found.append({"benchmark": benchmark, "judge": judge, "judge_criterion": criterion, "human_criterion": target,
                          "n_choices": len(chosen), "n": len(known), "n_ties": known.count(0.5), "n_missing": len(results) - len(known),
                          "accuracy": np.mean(known) if known else None})  # fmt: skip
    return found
