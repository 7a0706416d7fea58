"""Tables of the page on failure modes of string matching and on the biases of judges. Their place
on the page is `sections`.
"""

from judgelake.tasks.reports.page.parts import Column, Section

_BENCHMARK, _CRITERION, _N = (
    Column("benchmark", "Benchmark"),
    Column("criterion", "Criterion"),
    Column("n", "n", "count"),
)
_JUDGE, _METRIC = Column("judge", "Judge"), Column("metric", "Judge or metric")
_CRITERIA = (
    Column("judge_criterion", "Its criterion"),
    Column("human_criterion", "People’s criterion"),
)
_INTERVAL = ("low", "high")
_KIND = Column("case_kind", "Cases")
_LABELLER = (Column("labelled_by", "Labelled by"), Column("labeller", "Labeller"))

FAILURE_SECTIONS: tuple[Section, ...] = (
    Section(
        "failures",
        "Where string matching fails",
        "rpt_failure_cases",
        "Answers on which people and string matching differ: `missed`, the metric is below 0.5 "
        "and at least 4 of 5 people say correct; "
        "`reverse`, it is above 0.5 and at most 1 of 5 says so. n answers were rated by people "
        "and scored. `*` is all models.",
        (
            _BENCHMARK,
            _KIND,
            Column("model", "Model"),
            Column("metric", "Metric"),
            _N,
            Column("n_cases", "Cases", "count"),
            Column("share", "Share × 100", "percent"),
        ),
    ),
    Section(
        "failuremodes",
        "Failure modes",
        "rpt_failure_modes",
        "Why: share of the labelled cases of which each of LAVE’s categories holds. Several "
        "may hold of one. Rules decide same stem, "
        "specificity or verbosity and unknown; synonym and hypernym too where nltk and its "
        "WordNet are installed.",
        (
            _BENCHMARK,
            _KIND,
            *_LABELLER,
            Column("category", "Category"),
            Column("n", "Labelled", "count"),
            Column("n_holds", "Holds of", "count"),
            Column("share", "Share × 100", "percent", _INTERVAL),
        ),
    ),
    Section(
        "failurescores",
        "Scores by failure mode",
        "rpt_failure_scores",
        "Mean score of every judge and metric on the cases of which a category holds; `*` is "
        "all of them. On missed cases people say "
        "correct, so who sides with them scores 1.",
        (
            _BENCHMARK,
            _KIND,
            *_LABELLER,
            Column("category", "Category"),
            _METRIC,
            _CRITERION,
            _N,
            Column("n_missing", "Missing", "count"),
            Column("mean", "Mean", "number", _INTERVAL),
        ),
    ),
)

BIAS_SECTIONS: tuple[Section, ...] = (
    Section(
        "leniency",
        "Leniency",
        "rpt_leniency",
        "Mean score less people’s on the same answers: above 0 a judge is more lenient than "
        "people. By model in the view.",
        (
            _BENCHMARK,
            _METRIC,
            *_CRITERIA,
            _N,
            Column("judge_mean", "Mean", "number"),
            Column("human_mean", "People’s mean", "number"),
            Column("difference", "Difference", "number", _INTERVAL),
        ),
        where="model = '*'",
    ),
    Section(
        "length",
        "Length and score",
        "rpt_bias_length",
        "What an answer of twice the length (in characters) gets more, among answers that "
        "people scored alike.",
        (
            _BENCHMARK,
            _METRIC,
            *_CRITERIA,
            _N,
            Column("slope", "Per doubling", "number", _INTERVAL),
            Column("pearson", "Pearson", "number"),
        ),
    ),
    Section(
        "longer",
        "Length and preference",
        "rpt_bias_longer",
        "How often the longer answer of a pair is preferred. People (`human:…`) say what of it "
        "may be deserved.",
        (
            _BENCHMARK,
            _JUDGE,
            _CRITERION,
            _N,
            Column("share_longer", "Longer wins × 100", "percent", _INTERVAL),
        ),
    ),
    Section(
        "position",
        "Position",
        "rpt_bias_position",
        "How often the answer shown first wins, ties left out. Where balance is below 1, some "
        "models were shown first more often "
        "than others, and how good they are shows too. Inconsistent: the share of pairs shown "
        "in both orders that got different choices.",
        (
            _BENCHMARK,
            _JUDGE,
            _CRITERION,
            _N,
            Column("ties", "Ties", "count"),
            Column("share_first", "First wins × 100", "percent", _INTERVAL),
            Column("balance", "Balance", "number"),
            Column("n_both_orders", "In both orders", "count"),
            Column("share_inconsistent", "Inconsistent × 100", "percent"),
            Column("n_always_first", "Always first", "count"),
            Column("n_always_second", "Always second", "count"),
        ),
    ),
    Section(
        "family",
        "Own family, pairs",
        "rpt_bias_family",
        "Share of the win that answers of the judge itself (self), or of its family, get "
        "against others’, and what people gave them on "
        "the pairs both judged. A family is what the table `models` says, else the letters "
        "with which a model’s name begins.",
        (
            _BENCHMARK,
            _JUDGE,
            _CRITERION,
            Column("relation", "Own"),
            Column("judge_family", "Family"),
            _N,
            Column("share", "Own wins × 100", "percent", _INTERVAL),
            Column("n_people", "n of both", "count"),
            Column("share_beside_people", "Judge’s × 100", "percent"),
            Column("people_share", "People’s × 100", "percent"),
        ),
    ),
    Section(
        "familyscores",
        "Own family, scores",
        "rpt_bias_family_scores",
        "By how much more a judge overrates answers of its own than others’, people’s scores "
        "of the same answers being the measure.",
        (
            _BENCHMARK,
            _JUDGE,
            *_CRITERIA,
            Column("relation", "Own"),
            Column("judge_family", "Family"),
            Column("n_own", "n own", "count"),
            Column("n_other", "n others’", "count"),
            Column("own_mean", "Own", "number"),
            Column("people_own_mean", "People’s", "number"),
            Column("other_mean", "Others’", "number"),
            Column("people_other_mean", "People’s", "number"),
            Column("excess", "Excess", "number", _INTERVAL),
        ),
    ),
    Section(
        "scale",
        "Use of the scale",
        "rpt_scale_use",
        "How often each rating was given, by judges and by people (`human`), and how long the "
        "answers with it are, in characters. Fine scores "
        "are counted in tenths: from a rating up to the next.",
        (
            _BENCHMARK,
            _JUDGE,
            _CRITERION,
            Column("level", "Rating"),
            Column("level_to", "Up to", "number"),
            _N,
            Column("share", "Share × 100", "percent"),
            Column("length_low_quarter", "Length, lower quarter", "number"),
            Column("length_median", "Median", "number"),
            Column("length_high_quarter", "Upper quarter", "number"),
            Column("length_mean", "Mean", "number"),
        ),
    ),
    Section(
        "refusals",
        "Refusals and failures",
        "rpt_refusals",
        "Whose answers a judge gave no verdict on, and why; a pair is a case of each of its "
        "models. `*` is all models.",
        (
            _BENCHMARK,
            _JUDGE,
            Column("model", "Model"),
            Column("n_cases", "Cases", "count"),
            Column("share_without", "Without × 100", "percent"),
            Column("n_refused", "Refused", "count"),
            Column("n_filtered", "Filtered", "count"),
            Column("n_truncated", "Truncated", "count"),
            Column("n_unparsed", "Unparsed", "count"),
            Column("n_failed", "Failed", "count"),
            Column("n_missing_image", "No image", "count"),
            Column("n_not_asked", "Not asked", "count"),
        ),
        where="n_ok < n_cases",
    ),
)
