"""Tables of the page on failure modes of string matching and on the biases of judges. Their place
on the page is `sections`.
"""

from judgelake.tasks.reports.page.parts import PageColumn, Section

_BENCHMARK, _CRITERION, _N = (
    PageColumn("benchmark", "Benchmark"),
    PageColumn("criterion", "Criterion"),
    PageColumn("n", "n", "count"),
)
_JUDGE, _METRIC = PageColumn("judge", "Judge"), PageColumn("metric", "Judge or metric")
_CRITERIA = (
    PageColumn("judge_criterion", "Its criterion"),
    PageColumn("human_criterion", "People’s criterion"),
)
_INTERVAL = ("low", "high")
_KIND = PageColumn("case_kind", "Cases")
_LABELLER = (PageColumn("labelled_by", "Labelled by"), PageColumn("labeller", "Labeller"))

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
            PageColumn("model", "Model"),
            PageColumn("metric", "Metric"),
            _N,
            PageColumn("n_cases", "Cases", "count"),
            PageColumn("share", "Share × 100", "percent"),
        ),
    ),
    Section(
        "failuremodes",
        "Failure modes",
        "rpt_failure_modes",
        "Why: share of the labelled cases of which each of LAVE’s categories holds. Several "
        "may hold of one. By model, and over all benchmarks, in the view. Rules decide same stem, "
        "specificity or verbosity and unknown; synonym and hypernym too where nltk and its "
        "WordNet are installed.",
        (
            _BENCHMARK,
            _KIND,
            *_LABELLER,
            PageColumn("category", "Category"),
            PageColumn("n", "Labelled", "count"),
            PageColumn("n_holds", "Holds of", "count"),
            PageColumn("share", "Share × 100", "percent", _INTERVAL, "reason"),
        ),
        where="model = '*' and benchmark <> '*'",
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
            PageColumn("category", "Category"),
            _METRIC,
            _CRITERION,
            _N,
            PageColumn("n_missing", "Missing", "count"),
            PageColumn("mean", "Mean", "number", _INTERVAL, "reason"),
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
            PageColumn("judge_mean", "Mean", "number"),
            PageColumn("human_mean", "People’s mean", "number"),
            PageColumn("difference", "Difference", "number", _INTERVAL, "reason"),
        ),
        where="model = '*'",
    ),
    Section(
        "calibration",
        "Calibration",
        "rpt_calibration",
        "People’s mean score of the answers to which a judge gave a score in this tenth: where the "
        "two means differ, the score does not mean what it says. The error is the mean size of the "
        "differences; the form says how the judge’s answers were asked for.",
        (
            _BENCHMARK,
            _METRIC,
            PageColumn("answer_form", "Form"),
            *_CRITERIA,
            PageColumn("score_from", "Score from", "number"),
            _N,
            PageColumn("judge_mean", "Mean", "number"),
            PageColumn("human_mean", "People’s mean", "number"),
            PageColumn("difference", "Difference", "number", _INTERVAL, "reason"),
            PageColumn("calibration_error", "Error", "number"),
        ),
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
            PageColumn("slope", "Per doubling", "number", _INTERVAL, "reason"),
            PageColumn("pearson", "Pearson", "number"),
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
            PageColumn("share_longer", "Longer wins × 100", "percent", _INTERVAL, "reason"),
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
            PageColumn("ties", "Ties", "count"),
            PageColumn("share_first", "First wins × 100", "percent", _INTERVAL, "reason"),
            PageColumn("balance", "Balance", "number"),
            PageColumn("n_both_orders", "In both orders", "count"),
            PageColumn("share_inconsistent", "Inconsistent × 100", "percent"),
            PageColumn("n_always_first", "Always first", "count"),
            PageColumn("n_always_second", "Always second", "count"),
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
            PageColumn("relation", "Own"),
            PageColumn("judge_family", "Family"),
            _N,
            PageColumn("share", "Own wins × 100", "percent", _INTERVAL, "reason"),
            PageColumn("n_people", "n of both", "count"),
            PageColumn("share_beside_people", "Judge’s × 100", "percent"),
            PageColumn("people_share", "People’s × 100", "percent"),
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
            PageColumn("relation", "Own"),
            PageColumn("judge_family", "Family"),
            PageColumn("n_own", "n own", "count"),
            PageColumn("n_other", "n others’", "count"),
            PageColumn("own_mean", "Own", "number"),
            PageColumn("people_own_mean", "People’s", "number"),
            PageColumn("other_mean", "Others’", "number"),
            PageColumn("people_other_mean", "People’s", "number"),
            PageColumn("excess", "Excess", "number", _INTERVAL, "reason"),
        ),
    ),
    Section(
        "scale",
        "Use of the scale",
        "rpt_scale_use",
        "How often each rating was given, by judges and by people (`human`), and how long the "
        "answers with it are, in characters. Fine scores "
        "are counted in tenths: from a rating up to the next. By model in the view.",
        (
            _BENCHMARK,
            _JUDGE,
            _CRITERION,
            PageColumn("level", "Rating"),
            PageColumn("level_to", "Up to", "number"),
            _N,
            PageColumn("share", "Share × 100", "percent"),
            PageColumn("length_low_quarter", "Length, lower quarter", "number"),
            PageColumn("length_median", "Median", "number"),
            PageColumn("length_high_quarter", "Upper quarter", "number"),
            PageColumn("length_mean", "Mean", "number"),
        ),
        where="model = '*'",
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
            PageColumn("model", "Model"),
            PageColumn("n_cases", "Cases", "count"),
            PageColumn("share_without", "Without × 100", "percent"),
            PageColumn("n_refused", "Refused", "count"),
            PageColumn("n_filtered", "Filtered", "count"),
            PageColumn("n_truncated", "Truncated", "count"),
            PageColumn("n_unparsed", "Unparsed", "count"),
            PageColumn("n_failed", "Failed", "count"),
            PageColumn("n_missing_image", "No image", "count"),
            PageColumn("n_not_asked", "Not asked", "count"),
        ),
        where="n_ok < n_cases",
    ),
)
