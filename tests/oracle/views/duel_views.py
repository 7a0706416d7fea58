"""Views of choices recomputed: win rates, biases of choices, circles, image controls, feedbacks."""

import itertools
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
import pandas as pd

from tests.oracle.views.rows import ANSWER, PAIR, Frame, Rows, Tables
from tests.oracle.views.score_views import families_of, pearson_of

_RATER = ["benchmark", "rater", "criterion"]


def _named(keys: list[str], key: Any) -> dict[str, Any]:
    return dict(zip(keys, key, strict=True))


def _win_rates(choices: Frame, *more: str) -> Rows:
    choices = choices[choices.preference_b.notna() & (choices.model_a != choices.model_b)]
    turned = choices.assign(
        model_a=choices.model_b, model_b=choices.model_a, preference_b=1 - choices.preference_b
    )
    keys = [*_RATER, *more, "model_a", "model_b"]
    found = []
    for key, rows in pd.concat([choices, turned]).groupby(keys):
        share, decided = 1 - rows.preference_b, rows.status == "ok"
        row = _named(keys, key)
        row["judge"] = row.pop("rater")
        found.append({**row, "n": len(rows), "wins": (share > 0.5).sum(),
                      "ties": ((share == 0.5) & decided).sum(), "n_inconsistent": (~decided).sum(),
                      "losses": (share < 0.5).sum(), "win_rate": share.mean()})  # fmt: skip
    return found


def win_rate(tables: Tables) -> Rows:
    return _win_rates(tables.choices)


def category_win_rate(tables: Tables) -> Rows:
    categories = tables.read("stg_items")[["benchmark", "item_id", "category"]]
    choices = tables.choices.merge(categories, on=["benchmark", "item_id"])
    choices = choices[choices.status.isin(["ok", "inconsistent"]) & choices.category.notna()]
    several = choices.groupby("benchmark").category.transform("nunique") > 1
    return _win_rates(choices[several], "category")


def bias_position(tables: Tables) -> Rows:
    known = tables.ordered_choices
    known = known[(known.status == "ok") & known.shown_first.notna()]
    pair = [*PAIR, "sample"]
    found = []
    for key, rows in known.groupby(_RATER):
        first = (rows.choice == rows.shown_first).sum()
        ties = (rows.choice == "tie").sum()
        is_lesser_first = (rows.shown_first == "a") == (rows.model_a < rows.model_b)
        matchup = [
            min(two) + " / " + max(two) for two in zip(rows.model_a, rows.model_b, strict=True)
        ]
        lesser = is_lesser_first.groupby(np.array(matchup)).agg(["sum", "size"])
        balance = 2 * np.minimum(lesser["sum"], lesser["size"] - lesser["sum"]).sum() / len(rows)
        both = [own for _, own in rows.groupby(pair) if own.shown_first.nunique() == 2]
        n_inconsistent = sum(own.choice.nunique() > 1 for own in both)
        row = _named(_RATER, key)
        row["judge"] = row.pop("rater")
        found.append({**row, "n": len(rows), "first_wins": first, "ties": ties,
                      "second_wins": len(rows) - first - ties,
                      "share_first": first / (len(rows) - ties) if len(rows) > ties else None, "balance": balance,
                      "n_both_orders": len(both), "n_inconsistent": n_inconsistent,
                      "n_always_first": sum((own.choice == own.shown_first).all() for own in both),
                      "n_always_second": sum(((own.choice != own.shown_first) & (own.choice != "tie")).all() for own in both),
                      "share_inconsistent": n_inconsistent / len(both) if both else None})  # fmt: skip
    return found


def bias_longer(tables: Tables) -> Rows:
    texts = tables.answers.set_index(ANSWER).text.str.len()
    choices = tables.choices[
        tables.choices.preference_b.notna() & (tables.choices.answer_b != "(reference)")
    ]
    a, b = (
        texts.loc[
            list(zip(choices.benchmark, choices.item_id, choices[side], strict=True))
        ].to_numpy()
        for side in ("answer_a", "answer_b")
    )
    share = np.where(b > a, choices.preference_b, 1 - choices.preference_b)
    choices = choices.assign(share=share)[a != b]
    return [
        {"benchmark": benchmark, "judge": rater, "criterion": criterion, "n": len(rows), "share_longer": rows.share.mean()}
        for (benchmark, rater, criterion), rows in choices.groupby(_RATER)
    ]  # fmt: skip


def bias_family(tables: Tables) -> Rows:
    own = families_of(tables)
    choices = tables.choices[tables.choices.preference_b.notna()]
    by_people = (
        choices[choices.rater.str.startswith("human:")]
        .groupby([*PAIR, "criterion"])
        .preference_b.mean()
        .to_dict()
    )
    found: dict[tuple[str, str, str, str], list[list[Any]]] = {}
    for row in choices.itertuples():
        sides = [own.get((row.benchmark, row.rater, model)) for model in (row.model_a, row.model_b)]
        for which, relation in enumerate(("self", "family")):
            if sides[0] and sides[1] and sides[0][which] != sides[1][which]:
                people = by_people.get(
                    (row.benchmark, row.item_id, row.answer_a, row.answer_b, row.criterion)
                )
                shares = [
                    None if share is None else 1 - share if sides[0][which] else share
                    for share in (row.preference_b, people)
                ]
                key = (row.benchmark, row.rater, row.criterion, relation)
                found.setdefault(key, []).append(shares)
    rows = []
    for key, pairs in found.items():
        beside = [pair for pair in pairs if pair[1] is not None]
        rows.append({**_named(["benchmark", "judge", "criterion", "relation"], key), "n": len(pairs),
                     "share": np.mean([share for share, _ in pairs]), "n_people": len(beside),
                     "people_share": np.mean([people for _, people in beside]) if beside else None,
                     "share_beside_people": np.mean([share for share, _ in beside]) if beside else None})  # fmt: skip
    return rows


Graph = Mapping[str, set[str]]
"""Model -> those that it beats."""


def _votes(tables: Tables) -> dict[tuple[str, str, str], dict[str, Graph]]:
    """(benchmark, rater, criterion) -> item -> who beats whom by most votes."""
    choices = tables.choices[
        tables.choices.status.isin(["ok", "inconsistent"])
        & (tables.choices.model_a != tables.choices.model_b)
    ]
    found: dict[tuple[str, str, str], dict[str, Graph]] = {}
    for key, rows in choices.groupby(_RATER):
        for item, own in rows.groupby("item_id"):
            votes: dict[tuple[str, str], int] = {}
            for row in own.itertuples():
                lesser, greater = sorted((row.model_a, row.model_b))
                step = (
                    0
                    if row.choice not in ("a", "b")
                    else 1
                    if (row.choice == "a") == (row.model_a == lesser)
                    else -1
                )
                votes[lesser, greater] = votes.get((lesser, greater), 0) + step
            graph: dict[str, set[str]] = {model: set() for pair in votes for model in pair}
            for (lesser, greater), vote in votes.items():
                if vote:
                    graph[lesser if vote > 0 else greater].add(greater if vote > 0 else lesser)
            found.setdefault(key, {})[item] = graph
    return found


def circular_triads(tables: Tables) -> Rows:
    """Counted triad by triad, where every pair of three models and more is decided."""
    found = []
    for key, graphs in _votes(tables).items():
        circles, consistences = [], []
        for graph in graphs.values():
            n = len(graph)
            if n < 3 or sum(map(len, graph.values())) < n * (n - 1) / 2:
                continue
            circles.append(
                sum(_has_circle(graph, three) for three in itertools.combinations(graph, 3))
            )
            most = (n**3 - n) / 24 if n % 2 else (n**3 - 4 * n) / 24
            consistences.append(1 - circles[-1] / most)
        if circles:
            n_contradictory = sum(map(bool, circles))
            found.append({**_named(_RATER, key), "n_questions": len(circles), "n_contradictory": n_contradictory,
                          "share": n_contradictory / len(circles), "n_circles": sum(circles), "consistence": np.mean(consistences)})  # fmt: skip
    return found


def contradictions(tables: Tables) -> Rows:
    """Questions with preferences, where the compared pairs of any close a circle; a contradiction
    is a cycle of the graph of wins.
    """
    found = []
    closing = _find_closing(tables)
    for key, graphs in _votes(tables).items():
        asked = [graph for graph in graphs.values() if len(graph) > 2]
        if asked and key in closing:
            n_contradictory = sum(_has_circle(graph, graph) for graph in asked)
            found.append({**_named(_RATER, key), "n_questions": len(asked), "n_contradictory": n_contradictory,
                          "share": n_contradictory / len(asked)})  # fmt: skip
    return found


def _find_closing(tables: Tables) -> set[tuple[str, str, str]]:
    """(benchmark, rater, criterion) of which a question's pairs close a circle, whoever won."""
    choices = tables.choices[
        tables.choices.status.isin(["ok", "inconsistent"])
        & (tables.choices.model_a != tables.choices.model_b)
    ]
    found = set()
    for key, rows in choices.groupby(_RATER):
        for _, own in rows.groupby("item_id"):
            parts: dict[str, set[str]] = {}
            for pair in {frozenset(pair) for pair in zip(own.model_a, own.model_b, strict=True)}:
                a, b = (parts.setdefault(model, {model}) for model in pair)
                if a is b:
                    found.add(key)
                a |= b
                parts |= dict.fromkeys(a, a)
    return found


def _has_circle(graph: Graph, models: Iterable[str]) -> bool:
    kept = {*models}
    try:
        TopologicalSorter({model: graph[model] & kept for model in kept}).prepare()
    except CycleError:
        return True
    return False


def image_dependence(tables: Tables) -> Rows:
    judges = tables.judges[
        (tables.judges.kind == "judge")
        & tables.judges.signature.str.contains("|image:", regex=False)
    ]
    parts = {
        row.judge: dict(part.split(":", 1) for part in row.signature.split("|") if ":" in part)
        for row in judges.itertuples()
    }
    bare = {
        row.judge: (row.reading, [part for part in row.signature.split("|") if not part.startswith(("image:", "image_max_side:"))])
        for row in judges.itertuples()
    }  # fmt: skip
    duels = tables.read("core_duels")
    duels = duels[duels.status == "ok"].assign(score_0_1=lambda rows: rows.preference_b)
    duels["answer_id"] = duels.answer_a + " / " + duels.answer_b + " / " + duels.shown_first
    both = pd.concat([tables.scores, duels], ignore_index=True)
    keys = ["benchmark", "item_id", "answer_id", "criterion", "sample"]
    found = []
    for a, b in itertools.permutations(parts, 2):
        if bare[a] != bare[b] or parts[a]["image"] != "true" or parts[b]["image"] == "true":
            continue
        pairs = both[both.judge == a].merge(both[both.judge == b], on=keys, suffixes=("_a", "_b"))
        for (benchmark, criterion), rows in pairs.groupby(["benchmark", "criterion"]):
            x, y = rows.score_0_1_a.to_numpy(float), rows.score_0_1_b.to_numpy(float)
            found.append({"benchmark": benchmark, "judge_a": a, "judge_b": b, "image_b": parts[b]["image"], "criterion": criterion,
                          "n": len(rows), "changed": (x != y).mean(), "mean_change": np.abs(x - y).mean(),
                          "mean_a": x.mean(), "mean_b": y.mean(), "pearson": pearson_of(x, y)})  # fmt: skip
    return found


def feedback_preference(tables: Tables) -> Rows:
    """Of judges alone; a pair that two answers share counts for each of them."""
    cases = tables.read("core_pair_cases")
    keys = [
        "judge_id",
        "benchmark",
        "item_id",
        "content_digest",
        "other_digest",
        "shown_first",
        "context_digest",
        "criterion",
        "sample",
    ]
    duels = tables.read("stg_duels")
    found = []
    for judge in tables.judges[
        tables.judges.signature.str.contains("|feedback_of:", regex=False)
    ].itertuples():
        (of,) = (
            part.removeprefix("feedback_of:")
            for part in judge.signature.split("|")
            if part.startswith("feedback_of:")
        )
        author_a, author_b = of.split(" and ")
        own = cases[(cases.judge_id == judge.judge_id) & cases.benchmark.isin(judge.benchmarks)]
        own = own.merge(duels[duels.reading == judge.reading], on=keys, how="left")
        own = own.merge(
            tables.answers[["benchmark", "item_id", "content_digest", "answer_id"]],
            on=["benchmark", "item_id", "content_digest"],
        )
        for (benchmark, criterion), rows in own.groupby(["benchmark", "criterion"]):
            ends = [_settle(pair) for _, pair in rows.groupby(["item_id", "answer_id", "sample"])]
            shares = [share for _, share in ends if share is not None]
            count = pd.Series([end for end, _ in ends]).value_counts().to_dict()
            found.append({"benchmark": benchmark, "judge": judge.judge, "author_a": author_a, "author_b": author_b, "criterion": criterion,
                          "n": len(shares), "wins_a": count.get("a", 0), "ties": count.get("tie", 0), "wins_b": count.get("b", 0),
                          "n_inconsistent": count.get("inconsistent", 0), "n_missing": count.get("missing", 0),
                          "win_rate_a": 1 - np.mean(shares)})  # fmt: skip
    return found


def _settle(orders: Frame) -> tuple[str, float | None]:
    """What both orders together say, and the share of the win that b got."""
    if not (orders.status == "ok").all():
        return "missing", None
    if orders.choice.nunique() > 1:
        return "inconsistent", 0.5
    return orders.choice.iloc[0], orders.preference_b.mean()
