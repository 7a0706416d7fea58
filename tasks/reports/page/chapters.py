"""The chapters of the page, by the question that each answers: which tables are folded in it, and
how its figures are read.

Every table of `sections`, and those that `tables.html` lays out itself, stands in one chapter.
Figures are drawn in `chapter_figures`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Chapter:
    """One question; `tables` are names of sections, in their order. One without content is left
    out.
    """

    name: str
    question: str
    how_to_read: str
    tables: tuple[str, ...]


CHAPTERS: tuple[Chapter, ...] = (
    Chapter(
        "people",
        "Whom does each judge agree with?",
        "Each dot is the Spearman correlation of a judge with people, 1 being their order exactly "
        "and 0 no relation; the line is its 95 % interval. Two judges whose intervals overlap may "
        "still differ: “Which judge is best” compares them on the same answers.",
        (
            "comparison",
            "correlation",
            "overall",
            "ceiling",
            "systems",
            "criteria",
            "tests",
            "graders",
            "choices",
            "agreement",
            "confusion",
        ),
    ),
    Chapter(
        "failing",
        "Where does it fail?",
        "`missed` are answers that people call correct and string matching does not, `reverse` the "
        "other way round; each dot is the share of them of which the category holds. Several "
        "categories may hold of one answer, so the shares of a kind need not sum to 100.",
        ("failures", "failuremodes", "failurescores"),
    ),
    Chapter(
        "bias",
        "Is it biased?",
        "A dot away from the vertical line is a preference that the quality of the answers does "
        "not explain, where its interval does not reach the line. Leniency and length are in "
        "points of 100; position and longer answers in per cent of the pairs, 50 being none.",
        ("leniency", "length", "longer", "position", "family", "familyscores", "looking"),
    ),
    Chapter(
        "calibrated",
        "Is it calibrated?",
        "A point above the diagonal: people score the answers higher than the judge does; below "
        "it, lower. The bars show which tenths of its scale a judge uses at all.",
        ("calibration", "scale"),
    ),
    Chapter(
        "models",
        "Who beats whom?",
        "A cell is the share of pairs that the model of its row wins against the model of its "
        "column, ties being half. Of two models with overlapping intervals neither is surely "
        "better.",
        (
            "means",
            "rankings",
            "winrates",
            "overlaps",
            "contradictions",
            "corpus",
            "superscores",
            "scaled",
        ),
    ),
    Chapter(
        "size",
        "What does size buy?",
        "The share of pairs that the model with more of an attribute wins; 50 per cent is what "
        "chance gives. An interval above the line says that more is preferred. In a plane each "
        "mark is a model, placed by its size on a logarithmic axis.",
        ("attributes",),
    ),
    Chapter(
        "cost",
        "What does it cost?",
        "Up is closer to people, left is cheaper. A judge with another above and to the left of it "
        "costs more and agrees less.",
        ("costs",),
    ),
    Chapter(
        "training",
        "How was the judge trained?",
        "The line is the loss of a token at each step, or the mean of some steps; the dashed line "
        "is that of the examples that were held out, after the last step. A dashed line far above "
        "the end of the curve says that the judge knows its examples by heart.",
        ("trainings", "learnt"),
    ),
    Chapter(
        "raters",
        "Do raters agree among themselves?",
        "Alpha and kappa are 1 where raters always give the same label and 0 where they agree as "
        "often as by chance. A judge that lowers people’s figure is less like them than they are "
        "like each other.",
        ("reliability", "kappas", "retest", "feedback", "itemlabels"),
    ),
    Chapter(
        "collection",
        "What was collected to train a judge on?",
        "Feedback that a model generated from images. A judge learns well from scores that are "
        "equally many and responses that are equally long.",
        (
            "collectedsizes",
            "collectedscores",
            "collectedfigures",
            "collectedoverlaps",
            "collectedkeywords",
            "collectedoutcomes",
        ),
    ),
    Chapter(
        "complete",
        "Is the data complete?",
        "A case without a score is in no mean: where many are missing, a mean says little of the "
        "rest. The bars show the judges that lack a score.",
        ("coverage", "refusals", "quarantine", "judges", "runs"),
    ),
)
