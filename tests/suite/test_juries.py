"""Juries in a suite: what they become, and what is refused with its line."""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.suite import Scope, Suite, identify_all, narrow, parse_suite, stages_of

START = """
name: s
benchmarks:
  demo: {source: demo}
judges:
  lave: {protocol: lave, backend: standin}
  harmonic: {protocol: harmonic, backend: standin}
  fleur: {protocol: fleur, backend: standin}
  pairs: {protocol: chirp, backend: standin}
  why: {protocol: failure_labels, backend: standin}
  other: {protocol: jury, members: [lave, harmonic]}
  jury: """


def parse(jury: str, start: str = START) -> Suite:
    return parse_suite(Path("suite.yaml"), f"{start}{jury}\n")


def test_a_jury_stands_after_its_members_and_needs_only_their_names() -> None:
    suite = parse("{protocol: jury, members: [lave, fleur], benchmarks: [demo]}")
    assert list(stages_of(suite)[-1].judges) == ["other", "jury"]
    alone = narrow(suite, Scope(judges=("jury",)))
    (jury,) = identify_all(alone)
    assert (jury.kind, jury.benchmarks, jury.wants.criteria) == (
        "judge",
        ("demo",),
        (("overall",),),
    )
    assert [(seat.alias, *seat.criteria) for seat in jury.wants.seats] == [
        ("lave", "correctness"),
        ("fleur", "overall"),
    ]
    assert jury.tasks == ("vqa", "document", "caption", "referring", "instruction")
    assert suite.judges["jury"].prices == {"judge": suite.judges["lave"].endpoint.known_price}


def test_a_changed_member_is_another_jury() -> None:
    jury = "{protocol: jury, members: [lave, fleur]}"
    shots = START.replace("{protocol: lave,", "{protocol: lave, shots: 2,")
    renamed = START.replace("  lave:", "  mini:").replace("[lave,", "[mini,")
    ids = [
        parse(text, start).judges["jury"].identify(()).judge_id
        for text, start in (
            (jury, START),
            (jury, shots),
            (jury.replace("lave", "mini"), renamed),
        )
    ]
    assert ids[0] == ids[2] != ids[1]


@pytest.mark.parametrize(
    ("jury", "message"),
    [
        ("members: [lave]", "members: lave; expected the names of two or more judges, each once"),
        ("members: [lave, lavv]", "members: 'lavv' is no judge of the suite; "),
        ("members: [lave, vqa_accuracy]", "members: 'vqa_accuracy' is no judge of the suite; "),
        ("members: [lave, jury]", "members: 'jury' is a jury; "),
        ("members: [lave, other]", "members: 'other' is a jury; "),
        ("members: [lave, why]", "members: 'why' gives no scores; "),
        ("members: [lave, pairs]", "members: 'lave' scores answers and 'pairs' compares pairs; "),
        ("members: [harmonic, lave], criterion: clarity", "criterion: 'clarity'; expected one "),
        ("members: [lave, fleur], min_members: 3", "min_members: 3; expected a number from 1 to 2"),
        ("members: [lave, fleur], combine: sum", "combine: 'sum'; "),
        ("members: [lave, fleur], backend: standin", "unknown key 'backend'; "),
        ("members: [lave, fleur], model: m", "unknown key 'model'; "),
        ("members: [lave, fleur], benchmarks: [dem]", "benchmarks: the suite has no 'dem'; "),
        ("members: [lave, harmonic]", "judge 'jury': has the same model, options and reading on "),
    ],
)
def test_a_jury_that_cannot_be_is_refused_with_its_line(jury: str, message: str) -> None:
    with pytest.raises(SuiteError) as refused:
        parse(f"{{protocol: jury, {jury}}}")
    assert str(refused.value).startswith(f"suite.yaml:12: {message}"), refused.value


def test_a_jury_is_left_out_with_a_member_that_lacks_a_package() -> None:
    start = START.replace("{protocol: fleur,", "{protocol: fleur, needs: [no_such_package],")
    suite = parse("{protocol: jury, members: [lave, fleur]}", start)
    assert suite.left_out == {"fleur": ("no_such_package",), "jury": ("no_such_package",)}
    assert {*suite.judges}.isdisjoint(suite.left_out)
    assert "other" in suite.judges
