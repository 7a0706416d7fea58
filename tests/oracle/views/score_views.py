"""Views of scores recomputed: means, coverage, agreement of raters, graders, biases of scores."""

from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from tests.oracle.views.rows import ANSWER, Frame, Rows, Tables, with_all

_UNBOUNDED = ("cider", "sbert_score", "bert_score", "bart_score", "clip_score", "ref_clip_score")


def _beyond(tables: Tables, judges: pd.Series, scores: pd.Series) -> set[str]:
    """Those with a score beyond 0 and 1, and metrics that may have one."""
    names = tables.judges.signature.str.removeprefix("recorded_metric:").str.split("|").str[0]
    is_metric = tables.judges.kind.isin(["metric", "recorded_metric"])
    declared = tables.judges.judge[is_metric & names.isin(_UNBOUNDED)]
    return {*judges[(scores < 0) | (scores > 1)], *declared}


def metrics(tables: Tables) -> Rows:
    keys = [*ANSWER, "model", "judge"]
    scores = tables.all_scores.assign(
        lowest=lambda frame: frame.score_0_1.fillna(0),
        highest=lambda frame: frame.score_0_1.fillna(1),
        is_missing=lambda frame: frame.score_0_1.isna(),
    )
    figures = ["score_0_1", "lowest", "highest", "is_missing"]
    by_answer = scores.groupby(keys)[figures].mean().reset_index()
    found = with_all(by_answer, "model").groupby(["benchmark", "model", "judge"])
    beyond = _beyond(tables, scores.judge, scores.score_0_1)
    return [
        {"benchmark": benchmark, "model": model, "judge": judge, "metric": tables.aliases[judge],
         "n": rows.score_0_1.notna().sum(), "n_missing": rows.score_0_1.isna().sum(), "mean": rows.score_0_1.mean(),
         "n_partly_missing": (rows.is_missing.gt(0) & rows.score_0_1.notna()).sum(),
         "least": None if judge in beyond else rows.lowest.mean(),
         "most": None if judge in beyond else rows.highest.mean()}
        for (benchmark, model, judge), rows in found
    ]  # fmt: skip


def leniency(tables: Tables) -> Rows:
    keys = ["benchmark", "model", "judge", "judge_criterion", "human_criterion"]
    beyond = _beyond(tables, tables.rated.judge, tables.rated.judge_score)
    return [
        {**dict(zip(keys, key, strict=True)), "n": len(rows), "judge_mean": rows.judge_score.mean(),
         "human_mean": rows.human_score.mean(),
         "difference": None if key[2] in beyond else (rows.judge_score - rows.human_score).mean()}
        for key, rows in with_all(tables.rated, "model").groupby(keys)
    ]  # fmt: skip


def calibration(tables: Tables) -> Rows:
    """Tenths of the judge's score, the last with 1 in it; the error over all of them."""
    keys = ["benchmark", "judge", "judge_criterion", "human_criterion"]
    beyond = _beyond(tables, tables.rated.judge, tables.rated.judge_score)
    rated = tables.rated[~tables.rated.judge.isin(beyond)]
    edges = [tenth / 10 - 1e-9 for tenth in range(10)]
    found = []
    for key, rows in rated.groupby(keys):
        place = np.searchsorted(edges, rows.judge_score, side="right") - 1
        gaps = (rows.judge_score - rows.human_score).groupby(place).mean()
        sizes = rows.judge_score.groupby(place).size()
        error = float((gaps.abs() * sizes).sum() / sizes.sum())
        found += [
            {**dict(zip(keys, key, strict=True)), "score_from": tenth / 10, "n": len(part),
             "judge_mean": part.judge_score.mean(), "human_mean": part.human_score.mean(),
             "difference": gaps[tenth], "calibration_error": error}
            for tenth, part in rows.groupby(place)
        ]  # fmt: skip
    return found


def bias_length(tables: Tables) -> Rows:
    """Least squares with a dummy variable for each tenth of people's scores."""
    keys = ["benchmark", "judge", "judge_criterion", "human_criterion"]
    rated = tables.rated.merge(tables.answers[[*ANSWER, "text"]], on=ANSWER)
    rated = rated[rated.text != ""]
    found = []
    for key, rows in rated.groupby(keys):
        tenth = np.minimum(np.floor(10 * rows.human_score + 1e-9), 9)
        dummies = pd.get_dummies(tenth).to_numpy(float)
        x = np.log2(rows.text.str.len().to_numpy(float))
        y = rows.judge_score.to_numpy(float)
        x_left, y_left = (sm.OLS(side, dummies).fit().resid for side in (x, y))
        varies, scored = (float(side @ side) > 1e-9 for side in (x_left, y_left))
        slope = sm.OLS(y, np.column_stack([x, dummies])).fit().params[0] if varies else None
        pearson = stats.pearsonr(x_left, y_left)[0] if varies and scored else None
        found.append(
            {
                **dict(zip(keys, key, strict=True)),
                "n": len(rows),
                "slope": slope,
                "pearson": pearson,
            }
        )
    return found


def families_of(tables: Tables) -> dict[tuple[str, str, str], tuple[bool, bool]]:
    """(benchmark, judge, model) -> is the judge itself, is of its family."""
    declared = tables.read("stg_models")
    known = {
        (row.benchmark, row.model.lower()): row.family.lower()
        for row in declared.itertuples()
        if isinstance(row.family, str)
    }
    models = tables.answers[["benchmark", "model"]].drop_duplicates()
    found = {}
    for judge in tables.judges.itertuples():
        if judge.kind not in ("judge", "recorded"):
            continue
        full = judge.alias if judge.kind == "recorded" else _model_in(judge.signature)
        for row in models[models.benchmark.isin(judge.benchmarks)].itertuples():
            own = _family(row.benchmark, full.lower(), known, judge.kind == "recorded")
            theirs = _family(row.benchmark, row.model.lower(), known, is_recorded=False)
            if own and theirs:
                same = _short(full.lower()) == _short(row.model.lower())
                found[row.benchmark, judge.judge, row.model] = (same, own == theirs)
    return found


def _model_in(signature: str) -> str:
    parts = [
        part.removeprefix("model:") for part in signature.split("|") if part.startswith("model:")
    ]
    return parts[0] if parts else ""


def _short(name: str) -> str:
    name = name.split("/")[-1]
    head, _mark, _tail = next(
        (
            (name[:at], name[at], name[at + 1 :])
            for at in range(len(name))
            if name[at] in "-:@" and _is_date(name[at + 1 :])
        ),
        (name, "", ""),
    )
    return head


def _is_date(text: str) -> bool:
    digits = text.replace("-", "")
    return digits.isdigit() and (
        (len(text) == 10 and text[4] == text[7] == "-") or (text.isdigit() and 4 <= len(text) <= 8)
    )


def _family(benchmark: str, full: str, known: dict[tuple[str, str], str], is_recorded: bool) -> str:
    name = _short(full)
    for key in (full, name):
        if (benchmark, key) in known:
            return known[benchmark, key]
    letters = "".join(
        letter
        for at, letter in enumerate(name)
        if name[: at + 1].isascii() and name[: at + 1].isalpha()
    )
    rest = name[len(letters) :].lstrip("-_ .")[: len(name)]
    rest = rest.removeprefix("v")
    return letters if not is_recorded or not name[len(letters) :] or rest[:1].isdigit() else ""


def bias_family_scores(tables: Tables) -> Rows:
    own = families_of(tables)
    keys = ["benchmark", "judge", "judge_criterion", "human_criterion"]
    found = []
    for key, rows in tables.rated.groupby(keys):
        for which, relation in enumerate(("self", "family")):
            named = [own.get((key[0], key[1], model)) for model in rows.model]
            is_own = np.array([bool(one and one[which]) for one in named])
            is_other = np.array([bool(one and not one[which]) for one in named])
            if is_own.any() and is_other.any():
                mine, others = rows[is_own], rows[is_other]
                sides = {"own_mean": mine.judge_score.mean(), "people_own_mean": mine.human_score.mean(),
                         "other_mean": others.judge_score.mean(), "people_other_mean": others.human_score.mean()}  # fmt: skip
                excess = (
                    sides["own_mean"]
                    - sides["people_own_mean"]
                    - sides["other_mean"]
                    + sides["people_other_mean"]
                )
                found.append(
                    {
                        **dict(zip(keys, key, strict=True)),
                        "relation": relation,
                        "n_own": len(mine),
                        "n_other": len(others),
                        **sides,
                        "excess": excess,
                    }
                )
    return found


def pairs_of_raters(labels: Frame) -> list[tuple[tuple[str, str, str, str], Frame]]:
    """(benchmark, rater, other rater, criterion) -> what both labelled: label_a, label_b."""
    keys = ["benchmark", "criterion", "item_id", "subject"]
    found = []
    for (benchmark, criterion), rows in labels.groupby(["benchmark", "criterion"]):
        raters = dict(iter(rows.groupby("rater")))
        for a in sorted(raters):
            for b in sorted(raters):
                both = (
                    raters[a].merge(raters[b], on=keys, suffixes=("_a", "_b"))
                    if a < b
                    else pd.DataFrame()
                )
                if len(both):
                    found.append(((benchmark, a, b, criterion), both))
    return found


def kappa_of(a: Any, b: Any, weights: str | None = None) -> float | None:
    """Cohen's kappa; None where chance is certain."""
    if len({*a, *b}) == 1:
        return None
    levels = sorted({*a, *b})
    codes = [np.array([levels.index(label) for label in side]) for side in (a, b)]
    return float(cohen_kappa_score(*codes, weights=weights))


def agreement(tables: Tables) -> Rows:
    found = []
    for (benchmark, a, b, criterion), both in pairs_of_raters(tables.coarse_labels):
        spans = [tables.spans.get((benchmark, criterion, rater)) for rater in (a, b)]
        alike = None in spans or spans[0] == spans[1]
        equal = (both.label_a == both.label_b).mean()
        found.append({"benchmark": benchmark, "judge_a": a, "judge_b": b, "criterion": criterion, "n": len(both),
                      "agreement": equal if alike else None,
                      "kappa": kappa_of([*both.label_a], [*both.label_b]) if alike else None})  # fmt: skip
    return found


def confusion(tables: Tables) -> Rows:
    found = []
    for (benchmark, a, b, criterion), both in pairs_of_raters(tables.coarse_labels):
        if max(both.label_a.nunique(), both.label_b.nunique()) > 10:
            continue
        table = pd.crosstab(both.label_a, both.label_b)
        found += [
            {"benchmark": benchmark, "judge_a": a, "judge_b": b, "criterion": criterion, "label_a": row, "label_b": column,
             "n": table.loc[row, column], "share": table.loc[row, column] / table.loc[row].sum()}
            for row in table.index for column in table.columns if table.loc[row, column]
        ]  # fmt: skip
    return found


def _graders(tables: Tables) -> Frame:
    """Sample 0 of judges all of whose scores are 0 or 1."""
    scores = tables.scores[tables.scores["sample"] == 0]
    keys = ["benchmark", "judge", "criterion"]
    is_binary = (
        scores.score_0_1.isin([0, 1]).groupby([scores[key] for key in keys]).transform("all")
    )
    return scores[is_binary].merge(
        tables.answers[[*ANSWER, "style", "sample"]].rename(columns={"sample": "drawn"}), on=ANSWER
    )


def grader_accuracy(tables: Tables) -> Rows:
    people = (
        tables.ratings.groupby([*ANSWER, "criterion"]).score_0_1.agg(["min", "max"]).reset_index()
    )
    agreed = (people["min"] == people["max"]) & people["max"].isin([0, 1])
    people = people.assign(truth=people["max"].where(agreed)).rename(
        columns={"criterion": "human_criterion"}
    )
    graded = (
        _graders(tables).rename(columns={"criterion": "judge_criterion"}).merge(people, on=ANSWER)
    )
    graded["style"] = graded["style"].fillna("(none)")
    keys = ["benchmark", "judge", "judge_criterion", "human_criterion"]
    found = []
    for key, rows in graded.groupby(keys):
        alone = {name for name in ("model", "style") if rows[name].nunique() == 1}
        for (model, style), part in with_all(rows, "model", "style").groupby(["model", "style"]):
            if ("model" in alone and model != "*") or ("style" in alone and style != "*"):
                continue
            known = part[part.truth.notna()]
            hits = [
                ((known.score_0_1 == given) & (known.truth == truth)).sum()
                for given, truth in ((1, 1), (1, 0), (0, 0), (0, 1))
            ]
            found.append({**dict(zip(keys, key, strict=True)), "model": model, "style": style, "n": len(known),
                          "n_left_out": len(part) - len(known),
                          **dict(zip(("true_positives", "false_positives", "true_negatives", "false_negatives"), hits, strict=True)),
                          "accuracy": _divide(hits[0] + hits[2], len(known)),
                          "false_positive_rate": _divide(hits[1], hits[1] + hits[2]),
                          "false_negative_rate": _divide(hits[3], hits[0] + hits[3])})  # fmt: skip
    return found


def _divide(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def superscore(tables: Tables) -> Rows:
    people = (
        tables.ratings.groupby([*ANSWER, "model", "style", "criterion"])
        .score_0_1.agg(["min", "max"])
        .reset_index()
    )
    people = people[people["min"] == people["max"]].assign(
        judge="human", score_0_1=lambda rows: rows["max"]
    )
    samples = tables.answers[[*ANSWER, "sample"]].rename(columns={"sample": "drawn"})
    scores = tables.scores[tables.scores["sample"] == 0].merge(
        tables.answers[[*ANSWER, "style"]], on=ANSWER
    )
    grades = pd.concat([scores, people], ignore_index=True).merge(samples, on=ANSWER)
    keys = ["benchmark", "judge", "criterion"]
    found = []
    for key, rows in grades.groupby(keys):
        cells = rows.pivot_table(
            index=["item_id", "model", "drawn"], columns="style", values="score_0_1", aggfunc="max"
        )
        if not {"long", "short"} <= {*cells.columns}:
            continue
        cells = cells.dropna(subset=["long", "short"]).reset_index()
        if not cells[["long", "short"]].isin([0, 1]).all().all():
            continue
        for model, part in with_all(cells, "model").groupby("model"):
            either = np.maximum(part["long"], part["short"]).mean()
            found.append(
                {
                    **dict(zip(keys, key, strict=True)),
                    "model": model,
                    "n": len(part),
                    "long": part["long"].mean(),
                    "short": part["short"].mean(),
                    "either": either,
                }
            )
    return found


def scale_use(tables: Tables) -> Rows:
    kinds = dict(zip(tables.judges.judge, tables.judges.kind, strict=True))
    judged = tables.scores[tables.scores.judge.map(kinds).isin(["judge", "recorded"])]
    rows = pd.concat([judged, tables.ratings.assign(judge="human")], ignore_index=True)
    rows = rows.merge(tables.answers[[*ANSWER, "text"]], on=ANSWER)
    keys = ["benchmark", "judge", "criterion"]
    found = []
    for key, group in rows.groupby(keys):
        is_fine = group.rating.nunique() > 21
        tenths = np.minimum(np.floor(10 * group.score_0_1 + 1e-9), 9) / 10
        group = group.assign(level=tenths if is_fine else group.rating)
        scopes = with_all(group, "model") if group.model.nunique() > 1 else group.assign(model="*")
        for model, scope in scopes.groupby("model"):
            for level, part in scope.groupby("level"):
                lengths = part.text.str.len()
                quarters = np.quantile(lengths, (0.25, 0.5, 0.75))
                found.append({**dict(zip(keys, key, strict=True)), "model": model, "level": level,
                              "level_to": level + 0.1 if is_fine else None, "n": len(part), "share": len(part) / len(scope),
                              "length_low_quarter": quarters[0], "length_median": quarters[1],
                              "length_high_quarter": quarters[2], "length_mean": lengths.mean()})  # fmt: skip
    return found


def self_consistency(tables: Tables) -> Rows:
    keys = ["benchmark", "judge", "criterion"]
    found = []
    for key, rows in tables.scores.groupby(keys):
        cells = rows.pivot_table(
            index=["item_id", "answer_id"], columns="sample", values="score_0_1"
        )
        for a in cells.columns:
            for b in cells.columns:
                both = cells[[a, b]].dropna() if a < b else pd.DataFrame()
                if len(both):
                    x, y = both[a].to_numpy(), both[b].to_numpy()
                    found.append({**dict(zip(keys, key, strict=True)), "sample_a": a, "sample_b": b, "n": len(both),
                                  "same_score": np.isclose(x, y, atol=1e-12).mean(), "pearson": pearson_of(x, y)})  # fmt: skip
    return found


def pearson_of(x: Any, y: Any) -> float | None:
    """None where a side has one value."""
    return float(stats.pearsonr(x, y)[0]) if len({*x}) > 1 and len({*y}) > 1 else None
