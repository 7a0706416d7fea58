"""The page's tables about a collection of feedback (Prometheus-Vision, Table 2, appendices B and
C.1). What a table is: `parts`; the others: `sections`.
"""

from judgelake.tasks.reports.page.parts import PageColumn, Section

_BENCHMARK, _N = PageColumn("benchmark", "Benchmark"), PageColumn("n", "n", "count")

COLLECTION_SECTIONS: tuple[Section, ...] = (
    Section(
        "collectedsizes",
        "Size of the collection",
        "rpt_collected_sizes",
        "What was collected and kept, in all and for each image.",
        (
            _BENCHMARK,
            PageColumn("component", "What"),
            _N,
            PageColumn("n_per_image", "For each image", "number"),
        ),
    ),
    Section(
        "collectedscores",
        "Balance of scores and lengths",
        "rpt_collected_scores",
        "Kept responses of each score and their lengths in words. A judge that learns from them "
        "leans to no score where the shares are equal, and not to length where the lengths are. "
        "The last column is the mean length divided by that of the reference answer.",
        (
            _BENCHMARK,
            PageColumn("score", "Score", "key"),
            _N,
            PageColumn("share", "Share × 100", "percent"),
            PageColumn("mean_words", "Mean words", "number"),
            PageColumn("median_words", "Median words", "number"),
            PageColumn("low_words", "5 % are shorter", "number"),
            PageColumn("high_words", "5 % are longer", "number"),
            PageColumn("mean_ratio", "Of the reference", "number"),
        ),
    ),
    Section(
        "collectedfigures",
        "Rubrics of the collection",
        "collection_figures",
        "`mean_overlap`: the mean ROUGE-L of pairs of rubrics, within the collection or with those "
        "of the benchmark in the third column. `unseen`: the share of that benchmark’s rubrics "
        "that repeat none of the collection. `sentiment`: from -1 to 1, of what rubrics say of the "
        "score in the fourth column. `decisive`: the share of rubrics whose score 5 sounds better "
        "than their score 1.",
        (
            PageColumn("figure", "Figure", "key"),
            _BENCHMARK,
            PageColumn("compared_with", "Compared with"),
            PageColumn("level", "Score", "key"),
            PageColumn("value", "Value", "number"),
            _N,
        ),
        where="figure <> 'overlap'",
    ),
    Section(
        "collectedoverlaps",
        "Overlap of rubrics",
        "collection_figures",
        "How many per cent of the pairs of rubrics have a ROUGE-L from this value up to 0.05 more.",
        (
            _BENCHMARK,
            PageColumn("compared_with", "Compared with"),
            PageColumn("level", "ROUGE-L from", "key"),
            PageColumn("value", "Share × 100", "percent"),
        ),
        where="figure = 'overlap' and value > 0",
    ),
    Section(
        "collectedkeywords",
        "Keywords of rubrics",
        "rpt_collected_keywords",
        "How many kept rubrics have a keyword, where at least two have it.",
        (
            _BENCHMARK,
            PageColumn("kind", "Rubrics"),
            PageColumn("keyword", "Keyword"),
            _N,
        ),
        where="n > 1",
    ),
    Section(
        "collectedoutcomes",
        "Kept or not, and why not",
        "rpt_collected_outcomes",
        "Generations by table and outcome, with the reason why they were not kept. Numbers in a "
        "reason are written as #.",
        (
            _BENCHMARK,
            PageColumn("table_name", "Table", "code"),
            PageColumn("outcome", "Outcome", "key"),
            PageColumn("reason", "Reason"),
            _N,
            PageColumn("share", "Share × 100", "percent"),
        ),
    ),
)
