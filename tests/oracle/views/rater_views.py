"""Agreement of raters and rankings recomputed: kappas, Fleiss and Krippendorff, Bradley-Terry,
overlaps of rankings, attributes of models, corpus scores.

Elo is a mean over orders that are drawn, so of its ratings only their mean is checked.
"""

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
from scipy import optimize
from scipy.special import expit
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_table

from tests.oracle.views.correlation_views import correlate
from tests.oracle.views.rows import Frame, Rows, Tables
from tests.oracle.views.score_views import kappa_of, pairs_of_raters

MAJORITY, MEAN = "human:* (majority)", "human:* (mean)"
_UNIT = ["benchmark", "criterion", "item_id", "subject"]


def _labels_with_people(tables: Tables) -> Frame:
    """The labels, and people as one rater: by majority, and graded scores by their mean."""
    labels = tables.coarse_labels
    people = labels[labels.rater.str.startswith("human:")]
    several = people.groupby(["benchmark", "criterion"]).rater.transform("nunique") > 1
    pooled = []
    for (_benchmark, _criterion), rows in people[several].groupby(["benchmark", "criterion"]):
        is_graded = rows.score_0_1.notna().all() and rows.score_0_1.nunique() > 2
        for key, own in rows.groupby(_UNIT):
            unit = dict(zip(_UNIT, key, strict=True))
            label, count = Counter(own.label).most_common(1)[0]
            if 2 * count > len(own):
                score = float(label) if own.score_0_1.notna().all() else math.nan
                pooled.append({**unit, "rater": MAJORITY, "label": label, "score_0_1": score})
            if is_graded:
                mean = own.score_0_1.mean()
                pooled.append({**unit, "rater": MEAN, "label": str(mean), "score_0_1": mean})
    return pd.concat([labels, pd.DataFrame(pooled)], ignore_index=True) if pooled else labels


def _spans(tables: Tables) -> Mapping[tuple[str, str, str], float]:
    """Those of each rater; people together have theirs where all have the same."""
    found = dict(tables.spans)
    for benchmark, criterion, _ in tables.spans:
        of_people = {
            span
            for key, span in tables.spans.items()
            if key[:2] == (benchmark, criterion) and key[2].startswith("human:")
        }
        for name in (MAJORITY, MEAN):
            if of_people:
                found[benchmark, criterion, name] = of_people.pop() if len(of_people) == 1 else -1.0
                of_people = {found[benchmark, criterion, name]}
    return found


def kappas(tables: Tables) -> Rows:
    spans = _spans(tables)
    inconsistent = _count_inconsistent(tables)
    found = []
    for (benchmark, a, b, criterion), both in pairs_of_raters(_labels_with_people(tables)):
        people = {a, b} & {MAJORITY, MEAN}
        if (people and any(name.startswith("human:") for name in {a, b} - people)) or len(
            people
        ) > 1:
            continue
        names = {
            "benchmark": benchmark,
            "rater_a": a,
            "rater_b": b,
            "criterion": criterion,
            "n": len(both),
        }
        own = [spans.get((benchmark, criterion, rater)) for rater in (a, b)]
        if None not in own and own[0] != own[1]:
            rank = {
                name: correlate(both.score_0_1_a, both.score_0_1_b, name)
                for name in ("spearman", "kendall_tau_b")
            }
            found.append({**names, "chance": "none", "agreement": None, "kappa": None, **rank})
        elif both.score_0_1_a.notna().all():
            found += _weighted(names, both, people)
        else:
            found += _of_choices(tables, names, both, inconsistent)
    return found


def _weighted(names: Mapping[str, Any], both: Frame, people: set[str]) -> Rows:
    a, b = (np.round(both[side].to_numpy(), 12) for side in ("score_0_1_a", "score_0_1_b"))
    levels = sorted({*a, *b})
    found = []
    for chance in ("nominal", "linear", "quadratic") if len(levels) > 2 else ("nominal",):
        if MEAN not in people or chance != "nominal":
            kappa = kappa_of([*a], [*b]) if chance == "nominal" else _distance_kappa(a, b, chance)
            found.append({**names, "chance": chance, "agreement": np.mean(a == b), "kappa": kappa})
    return found


def _distance_kappa(a: Any, b: Any, chance: str) -> float | None:
    """Weighted by how far the scores, not their places among the levels, are apart."""
    power = {"linear": 1, "quadratic": 2}[chance]
    by_chance = np.mean(np.abs(a[:, None] - b) ** power)
    return float(1 - np.mean(np.abs(a - b) ** power) / by_chance) if by_chance else None


def _count_inconsistent(tables: Tables) -> Counter[tuple[str, str, str, str]]:
    """Pairs that both raters saw, of which either has an inconsistent choice."""
    clear = tables.choices[
        tables.choices.status.isin(["ok", "inconsistent"]) & (tables.choices["sample"] == 0)
    ]
    clear = clear.assign(subject=clear.answer_a + " / " + clear.answer_b, label=clear.status)
    found: Counter[tuple[str, str, str, str]] = Counter()
    for key, both in pairs_of_raters(clear):
        found[key] = int(
            ((both.label_a == "inconsistent") | (both.label_b == "inconsistent")).sum()
        )
    return found


def _of_choices(
    tables: Tables,
    names: Mapping[str, Any],
    both: Frame,
    inconsistent: Counter[tuple[str, str, str, str]],
) -> Rows:
    key = (names["benchmark"], names["rater_a"], names["rater_b"], names["criterion"])
    about = tables.choices[
        ["benchmark", "item_id", "answer_a", "answer_b", "model_a", "model_b"]
    ].drop_duplicates()
    about = about.assign(subject=about.answer_a + " / " + about.answer_b)
    rows = both.merge(about, on=["benchmark", "item_id", "subject"])
    agreement = (rows.label_a == rows.label_b).mean()
    common = {**names, "n_inconsistent": inconsistent[key], "agreement": agreement}
    found = [{**common, "chance": "nominal", "kappa": kappa_of([*rows.label_a], [*rows.label_b])}]
    between = rows[rows.model_a != rows.model_b]
    if len(between):
        by_chance = 0.0
        turned = between.model_a > between.model_b
        sides = {
            name: between[name].where(
                ~turned, between[name].map({"a": "b", "b": "a", "tie": "tie"})
            )
            for name in ("label_a", "label_b")
        }
        matchup = np.array(
            [" / ".join(sorted(two)) for two in zip(between.model_a, between.model_b, strict=True)]
        )
        for name in {*matchup}:
            one, other = (sides[side][matchup == name] for side in ("label_a", "label_b"))
            by_chance += (
                len(one)
                / len(between)
                * sum(
                    (one == label).mean() * (other == label).mean() for label in ("a", "b", "tie")
                )
            )
        observed = (between.label_a == between.label_b).mean()
        kappa = (observed - by_chance) / (1 - by_chance) if by_chance < 1 - 1e-12 else None
        found.append(
            {
                **common,
                "chance": "matchups",
                "n": len(between),
                "agreement": observed,
                "kappa": kappa,
            }
        )
    return found


def reliability(tables: Tables) -> Rows:
    found = []
    controls = _controls(tables)
    spans = tables.spans
    for (benchmark, criterion), rows in tables.coarse_labels.groupby(["benchmark", "criterion"]):
        is_human = rows.rater.str.startswith("human:")
        people, judges = rows[is_human], rows[~is_human]
        groups = {"people": people} if people.rater.nunique() > 1 else {}
        units = {*zip(people.item_id, people.subject, strict=True)}
        is_shared = [unit in units for unit in zip(judges.item_id, judges.subject, strict=True)]
        shared = judges[np.array(is_shared, dtype=bool)]
        if len(people):
            groups |= {
                f"people and {name}": pd.concat([people, own])
                for name, own in shared.groupby("rater")
            }
        seeing = judges[~judges.rater.isin(controls)]
        if seeing.rater.nunique() > 1:
            groups["judges"] = seeing
        for name, labels in groups.items():
            own = {spans.get((benchmark, criterion, rater)) for rater in labels.rater} - {None}
            names = {
                "benchmark": benchmark,
                "raters": name,
                "criterion": criterion,
                "n_raters": labels.rater.nunique(),
            }
            found += [{**names, **row} for row in _measure(labels, is_unlike=len(own) > 1)]
    return found


def _controls(tables: Tables) -> set[str]:
    """Judges that are shown no image, or another one."""
    return {
        row.judge for row in tables.judges.itertuples()
        if "|image:" in row.signature and "|image:true" not in row.signature
    }  # fmt: skip


def _measure(labels: Frame, is_unlike: bool) -> Rows:
    wide = labels.pivot(index="rater", columns=["item_id", "subject"], values="label")
    per_unit = wide.notna().sum()
    if per_unit.max() < 2:
        return []
    is_score = labels.score_0_1.notna().all()
    levels = sorted(labels.label.unique(), key=float if is_score else str)
    codes = wide.map(
        lambda label: (
            math.nan if pd.isna(label) else float(label) if is_score else levels.index(label)
        )
    ).to_numpy(float)
    found: Rows = []
    if len(levels) <= 25 and not is_unlike:
        sizes = Counter(per_unit[per_unit > 1])
        size = max(sizes, key=lambda n: (sizes[n], n))
        table = aggregate_raters(
            np.array([column[~np.isnan(column)] for column in codes[:, per_unit == size].T])
        )[0]
        kappa = fleiss_of_table(table) if table.shape[1] > 1 else None
        found.append(
            {
                "statistic": "fleiss_kappa",
                "per_unit": size,
                "n": sizes[size],
                "n_left_out": len(per_unit) - sizes[size],
                "value": kappa,
            }
        )
    metrics: Any = (
        ["interval"]
        if is_unlike or len(levels) > 25
        else ["nominal", "ordinal", "interval"]
        if is_score and len(levels) > 2
        else ["nominal"]
    )
    n = int((per_unit > 1).sum())
    for metric in metrics:
        paired = codes[:, per_unit > 1]
        varies = len({*paired[~np.isnan(paired)]}) > 1
        alpha = krippendorff.alpha(codes, level_of_measurement=metric) if varies else None
        found.append(
            {
                "statistic": f"alpha_{metric}",
                "n": n,
                "n_left_out": len(per_unit) - n,
                "value": alpha,
            }
        )
    return found


def ranked_comparisons(tables: Tables) -> dict[tuple[str, str, str, str], Frame]:
    """(benchmark, rater, criterion, category) -> comparisons between two models; `human` is all
    annotators' rows together.
    """
    choices = tables.choices[tables.choices.model_a != tables.choices.model_b]
    categories = tables.read("stg_items")[["benchmark", "item_id", "category"]]
    choices = choices.merge(categories, on=["benchmark", "item_id"])
    together = choices[choices.rater.str.startswith("human:")].assign(rater="human")
    choices = pd.concat([choices, together])
    named = choices[choices.category.notna()]
    named = named[named.groupby("benchmark").category.transform("nunique") > 1]
    both = pd.concat([choices.assign(category="*"), named])
    return dict(iter(both.groupby(["benchmark", "rater", "criterion", "category"])))


def rankings(tables: Tables) -> Rows:
    """Bradley-Terry ratings in the groups that comparisons link; the penalised ones where some
    models win or lose all.
    """
    found = []
    comparisons = ranked_comparisons(tables)
    shown = tables.read("rpt_rankings")
    keys = ["benchmark", "rater", "criterion", "category"]
    for key, view in shown.groupby(keys):
        rows = comparisons[key]
        known = rows[rows.preference_b.notna()]
        met = Counter([*known.model_a, *known.model_b])
        missing = rows[rows.preference_b.isna()]
        Counter([*missing.model_a, *missing.model_b])
        for (method, _number), group in view.groupby(["method", "group_number"]):
            models = sorted(group.model)
            ratings = (
                fit_ratings(known, models) if method == "bradley_terry" else [None] * len(models)
            )
            mean = group.rating.mean()
            for model, rating in zip(models, ratings, strict=True):
                row = {
                    **dict(zip(keys, key, strict=True)),
                    "method": method,
                    "model": model,
                    "n": met[model],
                }
                if method == "bradley_terry":
                    row |= {"rating": rating}
                assert math.isclose(mean, 1000, rel_tol=1e-9), (key, method, mean)
                found.append(row)
        assert {*view.model} == {*rows.model_a, *rows.model_b}, key
    assert {tuple(key) for key, _ in shown.groupby(keys)} <= {*comparisons}
    return found


def fit_ratings(rows: Frame, models: list[str]) -> list[float]:
    """The maximum of the likelihood, with Jeffreys' penalty where it has none, averaging 1000."""
    place = {model: at for at, model in enumerate(models)}
    rows = rows[rows.model_a.isin(models)]
    wins = np.zeros((len(models), len(models)))
    for row in rows.itertuples():
        wins[place[row.model_a], place[row.model_b]] += 1 - row.preference_b
        wins[place[row.model_b], place[row.model_a]] += row.preference_b
    if len(models) < 2:
        return [1000.0] * len(models)
    reach = np.linalg.matrix_power(np.eye(len(models)) + (wins > 0), len(models)) > 0
    penalty = 0.0 if reach.all() else 0.5
    meetings = wins + wins.T

    def gradient(free: Any) -> Any:
        strength = np.append(free, 0.0)
        chance = expit(strength[:, None] - strength)
        information = -meetings * chance * (1 - chance)
        np.fill_diagonal(information, -information.sum(axis=1))
        inverse = np.linalg.inv(information[:-1, :-1])
        expected = (wins - meetings * chance).sum(axis=1)
        padded = np.zeros_like(information)
        padded[:-1, :-1] = inverse
        of_pairs = np.diag(padded)[:, None] + np.diag(padded) - 2 * padded
        slope = meetings * chance * (1 - chance) * (1 - 2 * chance) * of_pairs
        return (expected + penalty * slope.sum(axis=1))[:-1]

    start = np.zeros(len(models) - 1)
    solved = optimize.root(gradient, start, tol=1e-13)
    strength = np.append(solved.x, 0.0)
    ratings = (strength - strength.mean()) * 400 / math.log(10) + 1000
    return [float(rating) for rating in ratings]


def ranking_overlap(tables: Tables) -> Rows:
    """Extrapolated rank-biased overlap (Webber, Moffat & Zobel 2010, equation 32), of the largest
    groups' ratings; equal ones by name.
    """
    shown = tables.read("rpt_rankings")
    shown = shown[(shown.group_number == 1) & shown.rating.notna()]
    found = []
    for (benchmark, criterion, category, method), rows in shown.groupby(
        ["benchmark", "criterion", "category", "method"]
    ):
        orders = {
            rater: [*own.assign(rating=own.rating.round(6)).sort_values(["rating", "model"], ascending=[False, True]).model]
            for rater, own in rows.groupby("rater")
        }  # fmt: skip
        for a, b in itertools.combinations(sorted(orders), 2):
            found.append({"benchmark": benchmark, "criterion": criterion, "category": category, "method": method, "rater_a": a, "rater_b": b,
                          "n_models_a": len(orders[a]), "n_models_b": len(orders[b]),
                          "n_common": len({*orders[a]} & {*orders[b]}), "overlap": overlap(orders[a], orders[b], 0.9)})  # fmt: skip
    return found


def overlap(one: list[str], other: list[str], p: float) -> float:
    short, long = sorted((one, other), key=len)
    s, n = len(short), len(long)

    def common(depth: int) -> int:
        return len({*short[:depth]} & {*long[:depth]})

    seen = sum(common(d) / d * p**d for d in range(1, n + 1))
    seen += sum(common(s) * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * seen + ((common(n) - common(s)) / n + common(s) / s) * p**n


def attribute_agreement(tables: Tables) -> Rows:
    """The distance correlation is with Elo ratings of drawn orders, so it is not recomputed."""
    models = tables.read("stg_models")
    found = []
    for (benchmark, rater, criterion, category), rows in ranked_comparisons(tables).items():
        if category != "*" or (rater.startswith("human:")):
            continue
        for attribute in ("llm_parameters_b", "vision_encoder_parameters_b", "training_loss"):
            own = models[(models.benchmark == benchmark) & models[attribute].notna()]
            amounts = dict(zip(own.model, own[attribute], strict=True))
            known = rows[
                rows.model_a.isin(amounts) & rows.model_b.isin(amounts) & rows.preference_b.notna()
            ]
            if known.empty:
                continue
            a, b = (known[side].map(amounts).to_numpy(float) for side in ("model_a", "model_b"))
            sign = -1 if attribute == "training_loss" else 1
            share = np.where(sign * b > sign * a, known.preference_b, 1 - known.preference_b)[
                a != b
            ]
            found.append({"benchmark": benchmark, "rater": rater, "criterion": criterion, "attribute": attribute, "prefers": "more" if sign > 0 else "less",
                          "n": len(share), "n_left_out": int((a == b).sum()), "n_ties": int((share == 0.5).sum()),
                          "agreement": share.mean() if len(share) else None, "n_models": len({*known.model_a, *known.model_b})})  # fmt: skip
    return found


def corpus_scores(tables: Tables) -> Rows:
    """BLEU of the sums of n-gram counts and lengths; other metrics the mean of their answers."""
    found = []
    scores = tables.read("stg_metric_scores")
    for judge in tables.judges[tables.judges.kind == "metric"].itertuples():
        own = scores[scores.judge_id == judge.judge_id].merge(
            tables.answers[["benchmark", "item_id", "content_digest", "model"]],
            on=["benchmark", "item_id", "content_digest"],
        )
        for benchmark, rows in own.groupby("benchmark"):
            for model, part in [("*", rows), *rows.groupby("model")]:
                scored = part[part.score.notna()]
                value = (
                    _bleu(np.stack([*scored.statistics]))
                    if judge.signature.startswith("bleu|")
                    else scored.score.mean()
                )
                found.append(
                    {
                        "benchmark": benchmark,
                        "model": model,
                        "judge": judge.judge,
                        "n": len(scored),
                        "n_missing": len(part) - len(scored),
                        "value": value,
                    }
                )
    return found


def _bleu(statistics: Any) -> float:
    """pycocoevalcap's: lengths of answers and references, then matches and n-grams of each order."""
    answers, references, *counts = statistics.sum(axis=0)
    precisions = [
        (matches + 1e-15) / (ngrams + 1e-9)
        for matches, ngrams in zip(counts[::2], counts[1::2], strict=True)
    ]
    ratio = (answers + 1e-15) / (references + 1e-9)
    score = math.prod(precisions) ** (1 / len(precisions))
    return float(score * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0))
