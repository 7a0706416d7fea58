"""`prompts: paper`: the authors' texts are the user's, checked when the suite is read, and part of what
signs a judge.
"""

import json
from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging.paper_prompts import PAPERS, list_fields
from judgelake.tasks.judging.protocols import PROTOCOLS
from judgelake.tasks.judging.templates import read_prompt
from judgelake.tasks.suite.suite import Suite, parse_suite

GOOD = {
    "lave": "{% for demo in demos %}{{ demo.answer }}{% endfor %} {{ question }} {{ references }} "
    "{{ answer }} So rating=",
    "prometheus": "{{ instruction }} {{ response }} {{ reference }} {{ criterion }} "
    "{% for level in levels %}{{ level }}{% endfor %} Feedback: [RESULT]",
    "fleur": "{{ text }} from 0.0 to 1.0",
    "harmonic_clarity": "{{ text }} from 1 to 5",
    "chirp_pair": "{{ question }} {{ first }} {{ second }} {{ criterion }} 1 or 2",
    "chirp_criterion": "{{ criterion }}",
}


def read(folder: Path, judge: str, **files: str) -> Suite:
    """A suite with one judge, whose `templates` are these files."""
    (folder / "authors").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "authors" / f"{name}.txt").write_text(text)
    text = f"name: s\nbenchmarks: {{d: {{source: demo}}}}\njudges:\n  j: {{backend: standin, {judge}}}\n"
    return parse_suite(folder / "suite.yaml", text)


def refuse(folder: Path, judge: str, **files: str) -> str:
    with pytest.raises(SuiteError) as error:
        read(folder, judge, **files)
    return str(error.value)


@pytest.mark.parametrize(
    ("judge", "names"),
    [
        ("protocol: lave, shots: 0", ["lave"]),
        ("protocol: prometheus, rubric_file: r.yaml", ["prometheus"]),
        ("protocol: fleur", ["fleur"]),
        ("protocol: harmonic, criteria: [clarity]", ["harmonic_clarity"]),
        ("protocol: chirp, style: simple", ["chirp_pair", "chirp_criterion"]),
    ],
)
def test_whole_files_are_taken_and_sign_the_judge(
    tmp_path: Path, judge: str, names: list[str]
) -> None:
    rubric = {"id": "a", "criterion": "Is it?", "levels": list("abcde")}
    (tmp_path / "r.yaml").write_text(json.dumps([rubric]))
    files = {name: GOOD[name] for name in names}
    folder = f"{judge}, templates: authors"
    paper = read(tmp_path, f"{folder}, prompts: paper", **files).judges["j"].identify(("d",))
    own = read(tmp_path, f"{folder}, prompts: own", **files).judges["j"].identify(("d",))
    assert "|prompts:paper" in paper.call_signature
    assert own.call_signature == paper.call_signature.replace("|prompts:paper", "")
    assert own.judge_id == read(tmp_path, folder).judges["j"].identify(("d",)).judge_id
    changed = {name: f"Please. {text}" for name, text in files.items()}
    templates_cleared = tmp_path / "other"
    templates_cleared.mkdir()
    (templates_cleared / "r.yaml").write_text(json.dumps([rubric]))
    other = read(templates_cleared, f"{folder}, prompts: paper", **changed).judges["j"]
    assert other.identify(("d",)).judge_id != paper.judge_id


@pytest.mark.parametrize(
    ("judge", "files", "wrong"),
    [
        (
            "protocol: fleur, prompts: paper",
            {},
            "suite.yaml:4: prompts: paper; expected `templates`, a folder with the authors' own "
            "text in fleur.txt (published in: the repository of FLEUR)",
        ),
        (
            "protocol: fleur, templates: authors, prompts: paper",
            {},
            "authors/fleur.txt: there is no such file; expected the authors' text",
        ),
        (
            "protocol: lave, templates: authors, prompts: paper",
            {"lave": GOOD["lave"]},
            "expected `demos`, a JSON file with the authors' demonstrations",
        ),
        (
            "protocol: lave, shots: 0, templates: authors, prompts: paper",
            {"lave": GOOD["lave"].replace("{{ question }}", "{question}")},
            "authors/lave.txt: has no {{ question }}; expected these fields",
        ),
        (
            "protocol: prometheus, templates: authors, prompts: paper",
            {"prometheus": GOOD["prometheus"].replace("[RESULT]", "the score")},
            "does not hold '[RESULT]', by which replies are read",
        ),
        (
            "protocol: fleur, templates: authors, prompts: paper",
            {"fleur": GOOD["fleur"] + "{{ caption }}"},
            "uses the field 'caption', which this prompt does not have",
        ),
        (
            "protocol: fleur, templates: authors, prompts: paper",
            {"fleur": GOOD["fleur"] + "{% if %}"},
            "expected a Jinja template; mend it",
        ),
        (
            "protocol: chirp, style: reasoning, templates: authors, prompts: paper",
            {name: GOOD[name] for name in ("chirp_pair", "chirp_criterion")},
            "authors/chirp_pair_extraction.txt: there is no such file",
        ),
        ("protocol: captions, prompts: paper", {}, "expected with lave, prometheus"),
        ("protocol: fleur, prompts: theirs", {}, "prompts: 'theirs'"),
    ],
)
def test_what_is_missing_is_said(
    tmp_path: Path, judge: str, files: dict[str, str], wrong: str
) -> None:
    assert wrong in refuse(tmp_path, judge, **files)


def test_our_own_prompts_keep_what_is_asked_of_the_papers() -> None:
    """Fields and markers are those that the project's own prompts use."""
    for protocol, paper in PAPERS.items():
        assert protocol in PROTOCOLS
        for name, wanted in paper.files.items():
            assert {*wanted.fields} <= list_fields(name), name
            text = read_prompt(name, None).lower()
            assert [marker for marker in wanted.markers if marker.lower() not in text] == []
