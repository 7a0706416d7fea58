"""The failure categories of answers as a facet of the page's rows, and as the figure of failures
names them in its links.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus

Record = Mapping[str, Any]
Select = Callable[[str, Mapping[str, Any]], Sequence[Record]]

_EXAMPLES = """
select item_id, answer_id, case_kind, labelled_by, labeller, unnest(categories) as category
from rpt_failure_examples where benchmark = $benchmark and labelled_by is not null
order by all
"""


def name_failure(row: Record) -> str:
    """What kind of case it is, the category that holds of it, and who says so."""
    return f"{row['case_kind']}: {row['category']}, by {name_labeller(row)}"


def name_labeller(row: Record) -> str:
    """Who labelled: people, a rule, or a judge by its short name."""
    labeller = (row["labeller"] or "").split("|")[0]
    return " ".join(dict.fromkeys(word for word in (row["labelled_by"], labeller) if word))


def list_failures(select: Select, benchmark: str) -> dict[tuple[str, str], list[str]]:
    """(item, answer) -> the failures that hold of it."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in select(_EXAMPLES, {"benchmark": benchmark}):
        found.setdefault((row["item_id"], row["answer_id"]), []).append(name_failure(row))
    return found


def link_failure(row: Record, behind: str) -> str:
    """The filter of the rows of which a bar's category holds; `behind`: that of its benchmark."""
    return f"{behind}&failure={quote_plus(name_failure(row))}" if behind and row["n_holds"] else ""
