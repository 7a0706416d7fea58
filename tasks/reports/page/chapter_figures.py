"""The figures of each chapter of the page, for one benchmark: which rows of the report views are
drawn, and how.

Pure but for the queries' text: `render` reads the rows. How things are drawn lives in `figures`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from judgelake.tasks.reports.page.failure_facets import link_failure, name_labeller
from judgelake.tasks.reports.page.figures import (
    Dot,
    Point,
    draw_curves,
    draw_estimates,
    draw_heatmap,
    draw_points,
    draw_preferences,
    draw_shares,
)
from judgelake.tasks.reports.page.size_figures import draw_scaling

Record = Mapping[str, Any]

_ROWS_DRAWN = 24
_CURVES_DRAWN = 6
_MODELS_DRAWN = 16
_LEAST_OF_A_TENTH = 5


class Drawing(NamedTuple):
    """A figure of a chapter with the words that stand under it."""

    chapter: str
    caption: str
    svg: str


class Link(Protocol):
    """Finds the rows behind a mark."""

    def __call__(
        self, judge: str | None, model: str | None = None, criterion: str | None = None
    ) -> str:
        """Their filter, '' where the page has none of them."""


def link_statuses(
    counts: Mapping[str, Mapping[str, int]], link: Link
) -> dict[tuple[str, str], str]:
    """(judge, status) -> the filter of its rows. `inconsistent` is of two orders together, and a
    row is of one: it has none.
    """
    return {
        (judge, status): f"{behind}&status={status}"
        for judge, n in counts.items()
        for status in n
        if status != "inconsistent" and (behind := link(judge))
    }


def draw_chapters(
    rows: Mapping[str, Sequence[Record]],
    agreements: Mapping[str, float],
    names: Mapping[str, str],
    prefix: str,
    link: Link,
) -> Iterator[Drawing]:
    """Figures of one benchmark from rows by the names of `FIGURE_QUERIES`; `agreements`: judge (as
    it is shown) -> its Spearman correlation; `names`: view's name of a metric -> its short name.
    """
    if not rows:
        return
    yield from _draw_failures(rows["modes"], f"{prefix}-modes", link)
    yield from _draw_biases(rows, names, prefix, link)
    yield from _draw_calibration(rows["calibration"], names, prefix, link)
    yield from _draw_models(rows, names, prefix, link)
    yield from _draw_size(rows["attributes"], names, f"{prefix}-size", link)
    yield from _draw_scaling(rows["sizes"], names, f"{prefix}-scaling", link)
    yield from _draw_cost(rows["costs"], agreements, f"{prefix}-cost", link)
    yield from _draw_raters(rows["reliability"], names, f"{prefix}-raters")


def _draw_failures(modes: Sequence[Record], figure_id: str, link: Link) -> Iterator[Drawing]:
    """LAVE, Figure 4: by people where they labelled, else by the labeller with most categories."""
    if not modes:
        return
    categories = Counter((row["labelled_by"], row["labeller"]) for row in modes)
    most = max(
        modes,
        key=lambda row: (
            row["labelled_by"] == "human",
            categories[row["labelled_by"], row["labeller"]],
            row["n"],
        ),
    )
    chosen = [
        row
        for row in modes
        if (row["labelled_by"], row["labeller"]) == (most["labelled_by"], most["labeller"])
        and row["share"] is not None
    ]
    by_share: dict[str, float] = {}
    for row in chosen:
        by_share[row["category"]] = max(by_share.get(row["category"], 0.0), row["share"])
    order = sorted(by_share, key=lambda category: (-by_share[category], category))
    dots = [
        _dot(row["category"], row["case_kind"], row, 100, "share")._replace(
            rows=link_failure(row, link(None)) or None
        )
        for row in sorted(chosen, key=lambda row: order.index(row["category"]))
    ]
    yield Drawing(
        "failing",
        f"Why string matching fails: share of the cases of which each category holds, labelled by "
        f"{name_labeller(most)}.",
        draw_estimates(dots, "share of labelled cases, %", figure_id, span=(0.0, 0.0)),
    )


def _draw_biases(
    rows: Mapping[str, Sequence[Record]], names: Mapping[str, str], prefix: str, link: Link
) -> Iterator[Drawing]:
    for name, label, caption, middle in (
        (
            "leniency",
            "judge’s mean less people’s, × 100",
            "Leniency: right of the line a judge gives more than people do.",
            0.0,
        ),
        (
            "length",
            "score for an answer of twice the length, × 100",
            "Length: what an answer of twice the length gets more, people’s score being the same.",
            0.0,
        ),
        (
            "position",
            "pairs won by the answer shown first, %",
            "Position: how often the answer that is shown first wins.",
            50.0,
        ),
        (
            "longer",
            "pairs won by the longer answer, %",
            "Length in pairs: how often the longer answer wins. People’s row says what of it may "
            "be deserved.",
            50.0,
        ),
    ):
        if dots := _name_dots(_keep_own_criterion(rows[name]), names, link):
            svg = draw_estimates(dots, label, f"{prefix}-{name}", (middle, middle), middle)
            yield Drawing("bias", caption, svg)


def _draw_calibration(
    bins: Sequence[Record], names: Mapping[str, str], prefix: str, link: Link
) -> Iterator[Drawing]:
    by_judge: dict[str, list[Record]] = {}
    own = _keep_own_criterion(bins)
    for row, name in zip(own, _name_rows(own, names), strict=True):
        by_judge.setdefault(name, []).append(row)
    metrics = {names.get(row["judge"], row["judge"]) for row in own if _is_metric(row["judge"])}
    judges = {name: found for name, found in by_judge.items() if name not in metrics} or by_judge
    chosen = dict(list(judges.items())[:_CURVES_DRAWN])
    if not chosen:
        return
    curves = {
        name: [
            Point(name, row["judge_mean"], row["human_mean"], _link_tenth(row, names, link))
            for row in sorted(found, key=lambda row: row["judge_mean"])
            if row["judge_mean"] is not None
            and row["human_mean"] is not None
            and row["n"] >= _LEAST_OF_A_TENTH
        ]
        for name, found in chosen.items()
    }
    curves = {name: points for name, points in curves.items() if len(points) > 1}
    if curves:
        yield Drawing(
            "calibrated",
            "Reliability: people’s mean score of the answers to which a judge gave a score in a "
            f"tenth of its scale, where these are {_LEAST_OF_A_TENTH} or more.",
            draw_curves(
                curves, "judge’s mean score", "people’s mean score", f"{prefix}-reliability"
            ),
        )
    tenths = [f"{k / 10:.1f}–{(k + 1) / 10:.1f}" for k in range(10)]
    shares = {
        name: {tenths[_place_tenth(row)]: row["n"] for row in found}
        for name, found in chosen.items()
    }
    behind = {
        (name, tenths[_place_tenth(row)]): found_there
        for name, found in chosen.items()
        for row in found
        if (found_there := _link_tenth(row, names, link))
    }
    shades = {tenth: _shade(k / 9) for k, tenth in enumerate(tenths)}
    yield Drawing(
        "calibrated",
        "Scores that each judge gave, by tenths of its scale.",
        draw_shares(
            shares,
            shades,
            "share of answers, %",
            f"{prefix}-scores",
            is_hatched=False,
            links=behind,
        ),
    )


def _place_tenth(row: Record) -> int:
    return min(9, int(10 * row["score_from"] + 0.5))


def _link_tenth(row: Record, names: Mapping[str, str], link: Link) -> str:
    """The filter of the rows of a judge's criterion in a tenth of its scale, as the page's search
    names it.
    """
    behind = link(names.get(row["judge"], row["judge"]), None, row["judge_criterion"])
    k = _place_tenth(row)
    ends = [f"{end / 10:g}" for end in (k, k + 1)]
    return f"{behind}&tenth={'+to+'.join(ends)}" if behind else ""


def _draw_models(
    rows: Mapping[str, Sequence[Record]], names: Mapping[str, str], prefix: str, link: Link
) -> Iterator[Drawing]:
    ratings = [row for row in rows["rankings"] if row["rating"] is not None]
    own = _keep_overall(ratings, "rater")
    order = list(
        dict.fromkeys(
            row["model"]
            for row in sorted(own, key=lambda r: (not _is_people(r["rater"]), r["rank"]))
        )
    )
    if dots := [
        Dot(
            row["model"],
            names.get(row["rater"], row["rater"]),
            *_ends(row, "rating"),
            link(names.get(row["rater"], row["rater"]), row["model"]) or None,
        )
        for row in sorted(own, key=lambda r: order.index(r["model"]))
        if row["model"] in order[:_ROWS_DRAWN]
    ]:
        yield Drawing(
            "models",
            "Bradley-Terry ratings by rater, with 95 % intervals.",
            draw_estimates(dots, "rating", f"{prefix}-ratings"),
        )
    wins = _keep_overall([r for r in rows["winrates"] if r["win_rate"] is not None], "judge")
    if not wins:
        return
    rater = _choose_rater(wins, "judge")
    shares = {(r["model_a"], r["model_b"]): r["win_rate"] for r in wins if r["judge"] == rater}
    models = _order_models(order, shares)[:_MODELS_DRAWN]
    cells = {pair: share for pair, share in shares.items() if {*pair} <= {*models}}
    by = f"by {names.get(rater, rater)}"
    yield Drawing(
        "models",
        f"Win rates in per cent, row against column, {by}. Blue and above 50: the row wins.",
        draw_heatmap(
            models,
            cells,
            "against",
            f"{prefix}-wins",
            {model: link(names.get(rater, rater), model) for model in models},
        ),
    )
    edges = {pair: 2 * share - 1 for pair, share in cells.items() if share > 0.5}
    if len(models) > 2 and edges:
        yield Drawing(
            "models",
            f"Preferences {by}: an arrow leads to the preferred of two models, wider and darker "
            "the more often it wins.",
            draw_preferences(models, edges, f"{prefix}-preferences"),
        )


def _draw_size(
    rows: Sequence[Record], names: Mapping[str, str], figure_id: str, link: Link
) -> Iterator[Drawing]:
    dots = [
        _dot(
            names.get(row["judge"], row["judge"]), f"{row['prefers']} {row['attribute']}", row
        )._replace(rows=link(names.get(row["judge"], row["judge"])) or None)
        for row in _keep_overall(rows, "judge")
        if row["value"] is not None
    ]
    if dots:
        yield Drawing(
            "size",
            "How often each rater gives the win to the model with more (or less) of an attribute.",
            draw_estimates(
                dots[:_ROWS_DRAWN], "share of pairs, %", figure_id, span=(50.0, 50.0), mark=50.0
            ),
        )


def _draw_scaling(
    rows: Sequence[Record], names: Mapping[str, str], figure_id: str, link: Link
) -> Iterator[Drawing]:
    own = _keep_overall(rows, "rater")
    if not own:
        return
    rater = _choose_rater(own, "rater")
    rated = [row for row in own if row["rater"] == rater]
    name = names.get(rater, rater)
    behind = {row["model"]: link(name, row["model"]) for row in rated}
    for caption, svg in draw_scaling(rated, name, figure_id, behind):
        yield Drawing("size", caption, svg)


def _draw_cost(
    costs: Sequence[Record], agreements: Mapping[str, float], figure_id: str, link: Link
) -> Iterator[Drawing]:
    points = [
        Point(row["judge"], row["usd"], agreements[row["judge"]], link(row["judge"]))
        for row in costs
        if row["judge"] in agreements
    ]
    if len(points) < 2:
        return
    frontier: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda p: (p.x, -p.y)):
        if not frontier or point.y > frontier[-1][1]:
            frontier.append((point.x, point.y))
    yield Drawing(
        "cost",
        "Agreement with people against the price. The line joins the judges than which none is "
        "both cheaper and closer to people.",
        draw_points(
            points,
            "US dollars for 1,000 verdicts",
            "Spearman correlation with people",
            figure_id,
            frontier,
            is_log=True,
        ),
    )


def _draw_raters(
    rows: Sequence[Record], names: Mapping[str, str], figure_id: str
) -> Iterator[Drawing]:
    dots = [
        _dot(names.get(row["raters"], row["raters"]), row["criterion"], row, 1)
        for row in rows
        if row["value"] is not None
    ]
    if dots:
        yield Drawing(
            "raters",
            "Krippendorff’s alpha of people, of people with one judge more, and of the judges.",
            draw_estimates(dots[:_ROWS_DRAWN], "Krippendorff’s alpha", figure_id, span=(0.0, 1.0)),
        )


def _name_dots(rows: Sequence[Record], names: Mapping[str, str], link: Link) -> list[Dot]:
    valued = [row for row in rows if row["value"] is not None]
    kept = sorted(
        zip(valued, _name_rows(valued, names), strict=True), key=lambda pair: -pair[0]["value"]
    )
    dots = []
    for row, name in kept[:_ROWS_DRAWN]:
        criterion = row.get("judge_criterion") or row.get("criterion")
        behind = link(names.get(row["judge"], row["judge"]), None, criterion)
        dots.append(_dot(name, "", row)._replace(rows=behind or None))
    return dots


def _name_rows(rows: Sequence[Record], names: Mapping[str, str]) -> list[str]:
    """Judges' names, each with its criterion where the judge has several."""
    fields = ("judge_criterion", "criterion")
    criteria: dict[str, set[str]] = {}
    for row in rows:
        criteria.setdefault(row["judge"], set()).add(next(row[f] for f in fields if f in row))
    return [
        f"{names.get(row['judge'], row['judge'])}"
        + (
            f", {next(row[f] for f in fields if f in row)}"
            if len(criteria[row["judge"]]) > 1
            else ""
        )
        for row in rows
    ]


def _keep_own_criterion(rows: Sequence[Record]) -> list[Record]:
    """Rows on the criterion that people rated, for the judges that have such; of others, all."""
    if not rows or "human_criterion" not in rows[0]:
        return _keep_overall(rows, "judge")
    matched = {r["judge"] for r in rows if r["judge_criterion"] == r["human_criterion"]}
    return [
        r for r in rows if r["judge"] not in matched or r["judge_criterion"] == r["human_criterion"]
    ]


def _keep_overall(rows: Sequence[Record], rater: str) -> list[Record]:
    """Rows on all criteria together (`*`, `overall`), for the raters that have such; of others,
    their first criterion.
    """
    criteria: dict[str, list[str]] = {}
    for row in rows:
        criteria.setdefault(row[rater], []).append(row["criterion"])
    kept = {
        name: next((c for c in ("*", "overall") if c in found), found[0])
        for name, found in criteria.items()
    }
    return [row for row in rows if row["criterion"] == kept[row[rater]]]


def _order_models(order: Sequence[str], shares: Mapping[tuple[str, str], float]) -> list[str]:
    """Models by place; those without one after them, by their mean win rate."""
    models = {model for pair in shares for model in pair}
    means = {
        model: sum(found) / len(found)
        for model in models
        if (found := [share for (row, _), share in shares.items() if row == model])
    }
    placed = [model for model in order if model in models]
    return placed + sorted(models.difference(placed), key=lambda m: (-means.get(m, 0.0), m))


def _is_people(rater: str) -> bool:
    return rater == "human" or rater.startswith("human:")


def _is_metric(judge: str) -> bool:
    return judge.startswith("metric:")


def _choose_rater(rows: Sequence[Record], rater: str) -> str:
    """People, else the rater of most duels."""
    n: Counter[str] = Counter()
    for row in rows:
        n[row[rater]] += row.get("n", 1)
    return min(n, key=lambda name: (not _is_people(name), -n[name], name))


def _dot(name: str, series: str, row: Record, factor: float = 100, field: str = "value") -> Dot:
    return Dot(name, series, *_ends(row, field, factor))


def _ends(row: Record, field: str, factor: float = 1) -> tuple[float, float | None, float | None]:
    low, high = (None if row[end] is None else factor * row[end] for end in ("low", "high"))
    return factor * row[field], low, high


def _shade(share: float) -> str:
    """From light to dark blue."""
    ends = [tuple(int(c[k : k + 2], 16) for k in (1, 3, 5)) for c in ("#d8e6f5", "#123f73")]
    mixed = (round(a + (b - a) * share) for a, b in zip(*ends, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
