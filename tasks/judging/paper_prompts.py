"""`prompts: paper`: a judge asks in the words of its paper's authors, which the user brings in a
folder of template files. Nothing of them is kept in this project; here is what each file must hold.

A template is Jinja text (`tasks.judging.templates`). It must use the fields that the case is made
of, none that the protocol does not have, and hold the markers by which its replies are read.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, TemplateError, meta

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging import chirp_pairs
from judgelake.tasks.judging.templates import read_prompt


class PaperPrompt(NamedTuple):
    """What a template file must hold: fields, and texts as they stand (in any case)."""

    fields: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()


class PaperPrompts(NamedTuple):
    """Where the authors published their prompts, what each file must hold, and which files a
    judge's options need.
    """

    published: str
    files: Mapping[str, PaperPrompt]
    list_needed: Callable[[Any], tuple[str, ...]]


def _always(*names: str) -> Callable[[Any], tuple[str, ...]]:
    return lambda _options: names


_PAIR = PaperPrompt(("first", "second", "criterion"), ("1", "2"))
_GRADES = ("correct", "incorrect")
_RATED = PaperPrompt(("text",), ("1", "5"))
_CHIRP = "CHIRP, Figures 15 to 17 (grading), 20 and 21 (pairs)"
_HARMONIC = "HarmonicEval, appendix C.1"

PAPERS: Mapping[str, PaperPrompts] = {
    "lave": PaperPrompts(
        "LAVE, section `Method`: the task instruction, the demonstrations and the tested example",
        {"lave": PaperPrompt(("question", "references", "answer", "demos"), ("rating=",))},
        _always("lave"),
    ),
    "prometheus": PaperPrompts(
        "Prometheus-Vision, appendix J.2, and the code that its footnote 1 names",
        {
            "prometheus": PaperPrompt(
                ("instruction", "response", "reference", "criterion", "levels"), ("[RESULT]",)
            )
        },
        _always("prometheus"),
    ),
    "llava_bench": PaperPrompts(
        "the repository of LLaVA, `llava/eval`",
        {"llava_bench": PaperPrompt(("question", "answer_1", "answer_2"))},
        _always("llava_bench"),
    ),
    "chirp": PaperPrompts(
        _CHIRP,
        {
            "chirp_pair": PaperPrompt(("question", *_PAIR.fields), _PAIR.markers),
            "chirp_criterion": PaperPrompt(("criterion",)),
            "chirp_pair_extraction": PaperPrompt(("evaluation",), _PAIR.markers),
            "chirp_own_answer": PaperPrompt(("question",)),
            "chirp_pair_again": _PAIR,
        },
        lambda options: chirp_pairs.PROMPTS[options.style],
    ),
    "chirp_grading": PaperPrompts(
        _CHIRP,
        {
            "chirp_grade_text": PaperPrompt(("question", "references", "response"), _GRADES),
            "chirp_grade_image": PaperPrompt(("question", "response")),
            "chirp_grade_extraction": PaperPrompt(("evaluation",), _GRADES),
            "chirp_own_answer": PaperPrompt(("question",)),
            "chirp_grade_again": PaperPrompt(("response",), _GRADES),
        },
        lambda options: options.prompts,
    ),
    "harmonic": PaperPrompts(
        _HARMONIC,
        {
            **{
                f"harmonic_{criterion}": _RATED
                for criterion in (
                    *("correctness", "completeness", "clarity", "fluency", "conciseness"),
                    "overall",
                )
            },
            "harmonic_reason": PaperPrompt(),
        },
        lambda options: options.prompts,
    ),
    "fleur": PaperPrompts(
        "the repository of FLEUR",
        {"fleur": PaperPrompt(("text",), ("0.0", "1.0")), "fleur_reason": PaperPrompt()},
        lambda options: options.prompts,
    ),
}
"""Protocol -> its paper's prompts. The other protocols have no prompt that a paper published."""


def check_paper_prompts(protocol: str, options: Any) -> None:
    """Check the folder `templates` of a judge with `prompts: paper`; raises ValueError where the
    settings lack something, SuiteError where a file is missing, or lacks a field or a marker.
    """
    if protocol not in PAPERS:
        raise ValueError(
            f"prompts: paper; expected with {', '.join(PAPERS)}, whose prompts are published; "
            f"remove it"
        )
    paper, folder = PAPERS[protocol], options.templates
    needed = paper.list_needed(options)
    if folder is None:
        files = ", ".join(f"{name}.txt" for name in needed)
        raise ValueError(
            f"prompts: paper; expected `templates`, a folder with the authors' own text in "
            f"{files} (published in: {paper.published}); make it and name it"
        )
    if protocol == "lave" and options.shots and options.demos is None:
        raise ValueError(
            "prompts: paper; expected `demos`, a JSON file with the authors' demonstrations "
            "(lists `general` and `binary`), or `shots: 0`; name it"
        )
    for name in needed:
        if not (folder / f"{name}.txt").is_file():
            raise SuiteError(
                f"{folder / name}.txt: there is no such file; expected the authors' text of this "
                f"prompt (published in: {paper.published}); add it, or remove `prompts: paper`"
            )
        _check_file(folder, name, paper)


def list_fields(name: str, folder: Path | None = None) -> frozenset[str]:
    """The fields that a template uses: ours, or that of a folder."""
    tree = Environment(autoescape=False).parse(read_prompt(name, folder))  # noqa: S701  # no HTML
    return frozenset(meta.find_undeclared_variables(tree))


def _check_file(folder: Path, name: str, paper: PaperPrompts) -> None:
    file, wanted = folder / f"{name}.txt", paper.files[name]
    known = list_fields(name) | {*wanted.fields}
    try:
        used = list_fields(name, folder)
    except TemplateError as error:
        raise SuiteError(f"{file}: {error}; expected a Jinja template; mend it") from None
    if lacks := [f"{{{{ {field} }}}}" for field in wanted.fields if field not in used]:
        raise SuiteError(
            f"{file}: has no {', '.join(lacks)}; expected these fields where the authors' text "
            f"has a placeholder for them; write them so"
        )
    if strange := sorted(used - known):
        raise SuiteError(
            f"{file}: uses the field {strange[0]!r}, which this prompt does not have; expected "
            f"some of {', '.join(sorted(known))}; rename it"
        )
    text = read_prompt(name, folder).lower()
    if lacks := [marker for marker in wanted.markers if marker.lower() not in text]:
        raise SuiteError(
            f"{file}: does not hold {', '.join(map(repr, lacks))}, by which replies are read; "
            f"expected the authors' own wording of how a reply ends; restore it"
        )
