"""What the recomputed views read, in pandas: current tables of a lake and the rows of scores,
answers, judges and duels, brought into the shapes that several views share.

Nothing is taken from the views that are recomputed, nor from judgelake's statistics.
"""

import re
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import pandas as pd

Frame = Any  # pandas comes without types
Rows = list[dict[str, Any]]
ANSWER = ["benchmark", "item_id", "answer_id"]
PAIR = ["benchmark", "item_id", "answer_a", "answer_b"]
_OTHER_SIDE = {"a": "b", "b": "a"}
_SHARES = {"a": 0.0, "b": 1.0, "tie": 0.5}


class Tables:
    """The tables of a lake."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def read(self, name: str) -> Frame:
        return self._connection.sql(f"select * from {name}").to_arrow_table().to_pandas()

    @cached_property
    def answers(self) -> Frame:
        return self.read("core_answers")

    @cached_property
    def judges(self) -> Frame:
        return self.read("core_judges")

    @cached_property
    def all_scores(self) -> Frame:
        return self.read("core_scores")

    @cached_property
    def scores(self) -> Frame:
        return self.all_scores[self.all_scores.status == "ok"]

    @cached_property
    def ratings(self) -> Frame:
        """Each annotator's rating of an answer that is there."""
        about = self.answers[[*ANSWER, "model", "cluster", "style"]]
        return self.read("stg_human_ratings").merge(about, on=ANSWER)

    @cached_property
    def people(self) -> Frame:
        """The mean of an answer's annotators by criterion."""
        keys = [*ANSWER, "criterion"]
        found = self.ratings.groupby(keys).score_0_1.agg(["mean", "size"]).reset_index()
        return found.rename(
            columns={"mean": "human_score", "size": "n_annotators", "criterion": "human_criterion"}
        )

    @cached_property
    def rated(self) -> Frame:
        """Answers that a judge and people scored, each criterion with its namesake or with all."""
        keys = [*ANSWER, "model", "cluster", "judge", "criterion"]
        judged = self.scores.groupby(keys).score_0_1.mean().reset_index()
        judged = judged.rename(columns={"criterion": "judge_criterion", "score_0_1": "judge_score"})
        both = judged.merge(self.people, on=ANSWER)
        named = self.people.groupby("benchmark").human_criterion.agg(set)
        has_namesake = [
            criterion in named[benchmark]
            for benchmark, criterion in zip(both.benchmark, both.judge_criterion, strict=True)
        ]
        return both[
            (both.judge_criterion == both.human_criterion) | ~np.array(has_namesake, dtype=bool)
        ]

    @cached_property
    def ordered_choices(self) -> Frame:
        """One row for each order in which a rater saw a pair; answer_a is the lesser id."""
        recorded = self.read("stg_recorded_duels").rename(columns={"judge": "rater"})
        human = self.read("stg_human_preferences")
        human = human.assign(
            rater="human:" + human.annotator.astype(str),
            sample=0,
            status=np.where(human.choice.isna(), "missing", "ok"),
            preference_b=np.nan,
        )
        columns = [
            *PAIR,
            "rater",
            "criterion",
            "sample",
            "shown_first",
            "status",
            "choice",
            "preference_b",
        ]
        outside = pd.concat([recorded[columns], human[columns]], ignore_index=True)
        outside["preference_b"] = outside.preference_b.astype(float).fillna(
            outside.choice.map(_SHARES)
        )
        turned = outside.answer_a > outside.answer_b
        outside.loc[turned, ["answer_a", "answer_b"]] = outside.loc[
            turned, ["answer_b", "answer_a"]
        ].to_numpy()
        outside.loc[turned, "preference_b"] = 1 - outside.loc[turned, "preference_b"]
        for name in ("shown_first", "choice"):
            sides = outside.loc[turned, name]
            outside.loc[turned, name] = sides.map(_OTHER_SIDE).fillna(sides)
        about = self.answers[[*ANSWER, "model", "cluster"]]
        for side in "ab":
            own = about.rename(columns={"answer_id": f"answer_{side}", "model": f"model_{side}"})
            own = own if side == "a" else own.drop(columns="cluster")
            outside = outside.merge(own, on=["benchmark", "item_id", f"answer_{side}"])
        ours = self.read("core_duels").rename(columns={"judge": "rater"})
        return pd.concat([outside, ours[outside.columns]], ignore_index=True)

    @cached_property
    def choices(self) -> Frame:
        """Both orders together: orders that differ are `inconsistent`, half a win each."""
        keys = [*PAIR, "model_a", "model_b", "cluster", "rater", "criterion", "sample"]
        rows = []
        for key, group in self.ordered_choices.groupby(keys):
            failed = group.status[group.status != "ok"]
            status = "ok" if failed.empty else failed.min()
            if status == "ok" and group.choice.nunique() > 1:
                status = "inconsistent"
            shares = {"ok": group.preference_b.mean(), "inconsistent": 0.5}
            choice = group.choice.iloc[0] if status == "ok" else None
            rows.append((*key, status, choice, shares.get(status, np.nan)))
        return pd.DataFrame(rows, columns=[*keys, "status", "choice", "preference_b"])

    @cached_property
    def labels(self) -> Frame:
        """What raters of sample 0 gave: a score of an answer, or a choice between two."""
        judged = self.scores[
            (self.scores["sample"] == 0) & ~self.scores.judge.str.startswith("metric:")
        ]
        judged = judged.assign(rater=judged.judge)
        human = self.ratings.assign(rater="human:" + self.ratings.annotator.astype(str))
        scored = pd.concat([judged, human], ignore_index=True).assign(
            subject=lambda rows: rows.answer_id
        )
        scored["label"] = [str(float(score)) for score in scored.score_0_1]
        chosen = self.choices[(self.choices.status == "ok") & (self.choices["sample"] == 0)]
        chosen = chosen.assign(
            subject=chosen.answer_a + " / " + chosen.answer_b, label=chosen.choice, score_0_1=np.nan
        )
        columns = [
            "benchmark",
            "item_id",
            "subject",
            "cluster",
            "rater",
            "criterion",
            "label",
            "score_0_1",
        ]
        return pd.concat([scored[columns], chosen[columns]], ignore_index=True)

    @cached_property
    def coarse_labels(self) -> Frame:
        """Labels of raters who give 21 different ones or fewer."""
        many = self.labels.groupby(["benchmark", "rater", "criterion"]).label.transform("nunique")
        return self.labels[many <= 21]

    @cached_property
    def spans(self) -> dict[tuple[str, str, str], float]:
        """(benchmark, criterion, rater) -> how far apart the ends of its scale are, where known."""
        spans: dict[tuple[str, str, str], float] = {}
        judged = self.scores[~self.scores.judge.str.startswith("metric:")]
        for key, rows in judged.groupby(["benchmark", "criterion", "judge"]):
            rating, score = rows.rating.to_numpy(float), rows.score_0_1.to_numpy(float)
            if (
                len(set(score)) > 1
                and len(set(rating)) > 1
                and np.corrcoef(rating, score)[0, 1] ** 2 > 0.999999
            ):
                spans[key] = round(float(np.polyfit(score, rating, 1)[0]), 4)
            elif len(set(rating)) == 1 and (declared := self._declared_span(key)) is not None:
                spans[key] = declared
        for (benchmark, criterion, annotator), rows in self.ratings.groupby(
            ["benchmark", "criterion", "annotator"]
        ):
            spans[benchmark, criterion, f"human:{annotator}"] = float(
                (rows.scale_high - rows.scale_low).max()
            )
        return spans

    def _declared_span(self, key: tuple[str, str, str]) -> float | None:
        """What a judge that gave one rating alone declares, or its record."""
        benchmark, criterion, name = key
        (judge,) = self.judges[self.judges.judge == name].itertuples()
        if judge.kind == "recorded":
            kept = self.read("stg_recorded_verdicts")
            kept = kept[(kept.benchmark == benchmark) & (kept.criterion == criterion)]
            kept = kept[kept.judge == judge.alias]
            return float((kept.scale_high - kept.scale_low).max())
        ends = re.search(r"(?:^|\|)scale:([0-9.]+)-([0-9.]+)(?:\||$)", judge.reading_signature)
        return float(ends[2]) - float(ends[1]) if ends else None

    @cached_property
    def aliases(self) -> dict[str, str]:
        return dict(zip(self.judges.judge, self.judges.alias, strict=True))


def with_all(rows: Frame, *columns: str) -> Frame:
    """The rows once more with '*' in each of the columns, and in all combinations of them."""
    for column in columns:
        rows = pd.concat([rows, rows.assign(**{column: "*"})], ignore_index=True)
    return rows


def records(rows: Rows | Frame) -> Rows:
    return rows if isinstance(rows, list) else rows.to_dict("records")
