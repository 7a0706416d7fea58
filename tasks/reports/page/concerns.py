"""The first screen's question "what is wrong, or changed?": sentences on cases without a score,
rows put aside and runs that did not end well; the figures that moved since an earlier report.

Pure: rows in, sentences out; where nothing is wrong there are none. Names stand between backticks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from judgelake.tasks.reports.page.parts import Coverage

Record = Mapping[str, Any]
_SCORED = ("ok", "inconsistent")
_WELL = ("done", "running", "reporting")


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows of the view `changes` against one earlier report: when that was made, its run or name,
    and all figures, those that moved first; sentences on judges and models that one of the two
    reports lacks.
    """

    made_at: datetime
    base: str
    rows: Sequence[Record]
    come_and_gone: Sequence[str] = ()

    def name_base(self) -> str:
        """What to call the earlier report; a run's id stands between backticks."""
        if self.made_at.year <= 1970:
            return self.base
        run = f" (run `{self.base}`)" if self.base else ""
        return f"the report of {self.made_at:%Y-%m-%d %H:%M} UTC{run}"

    @property
    def moved(self) -> list[Record]:
        """The figures that moved by more than chance: by the paired test, else their intervals."""
        return [row for row in self.rows if row["has_moved"]]

    @property
    def n_paired(self) -> int:
        """How many figures were tested on the answers that were scored both times."""
        return sum(row["tested"] == "paired" for row in self.rows)

    @property
    def different(self) -> list[Record]:
        """The figures that are not what they were."""
        return [row for row in self.rows if row["difference"]]


def name_come_and_gone(rows: Sequence[Record], names: Mapping[str, str]) -> list[str]:
    """Sentences on what only one of two reports has: rows of `kind` (judge or model), `benchmark`,
    `name` and `is_new`. `names`: a metric's name in reports -> its short name.
    """
    found: dict[tuple[bool, str, str], list[str]] = {}
    for row in rows:
        key = row["is_new"], row["kind"], row["benchmark"]
        name = names.get(row["name"], row["name"]).replace("`", "'")
        found.setdefault(key, []).append(f"`{name}`")
    return [
        f"{'New' if is_new else 'Gone'} on `{benchmark}`: {kind}{'s' if len(of) > 1 else ''} "
        f"{', '.join(of)}."
        for (is_new, kind, benchmark), of in found.items()
    ]


def list_concerns(
    coverage: Coverage,
    quarantine: Sequence[Record],
    runs: Sequence[Record],
    names: Mapping[str, str],
    min_coverage: float,
    reordered: Sequence[Record] = (),
) -> list[str]:
    """Sentences, the gravest first. `min_coverage`: the share of cases with a score below which
    a judge is named; `reordered`: benchmarks and raters whose models Bradley-Terry and Elo order
    differently.
    """
    return [
        *_name_last_run(runs),
        *_name_uncovered(coverage, names, min_coverage),
        *_name_put_aside(quarantine),
        *_name_reordered(reordered, names),
    ]


def _name_last_run(runs: Sequence[Record]) -> Iterator[str]:
    if runs and runs[0]["outcome"] not in (*_WELL, None):
        yield (
            f"The last run, `{runs[0]['run_id']}`, ended as `{runs[0]['outcome']}`: figures may "
            "rest on a part of the cases."
        )


def _name_uncovered(
    coverage: Coverage, names: Mapping[str, str], min_coverage: float
) -> Iterator[str]:
    short: list[tuple[float, str]] = []
    for (benchmark, judge), counts in coverage.counts.items():
        asked = sum(counts.values())
        scored = sum(counts.get(status, 0) for status in _SCORED)
        if asked and scored < min_coverage * asked:
            lost = ", ".join(
                f"{n:,} `{status}`" for status, n in counts.items() if status not in _SCORED
            )
            share = scored / asked
            name = names.get(judge, judge)
            short.append(
                (
                    share,
                    f"`{name}` on `{benchmark}` scored {100 * share:.1f} % of {asked:,} cases: "
                    f"{lost}.",
                )
            )
    yield from (sentence for _, sentence in sorted(short))


def _name_put_aside(quarantine: Sequence[Record]) -> Iterator[str]:
    by_benchmark: dict[str, int] = {}
    for row in quarantine:
        by_benchmark[row["benchmark"]] = by_benchmark.get(row["benchmark"], 0) + row["n"]
    for benchmark, n in by_benchmark.items():
        yield (
            f"{n:,} input {'row' if n == 1 else 'rows'} of `{benchmark}` did not pass and "
            f"{'is' if n == 1 else 'are'} in no number; “Quarantine” has the reasons."
        )


def _name_reordered(reordered: Sequence[Record], names: Mapping[str, str]) -> Iterator[str]:
    raters: dict[str, list[str]] = {}
    for row in reordered:
        raters.setdefault(row["benchmark"], []).append(names.get(row["rater"], row["rater"]))
    for benchmark, of in raters.items():
        listed = ", ".join(f"`{rater}`" for rater in of)
        yield (
            f"Bradley-Terry and Elo order the models of `{benchmark}` differently by the choices "
            f"of {listed}; the ranking to read is Bradley-Terry's."
        )
