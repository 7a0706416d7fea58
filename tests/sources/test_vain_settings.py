"""Settings of released data sets' sources that would say nothing beside the others."""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.suite import read_suite


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ("{source: images, folder: photos, column: picture}", "column: says nothing about files"),
        ("{source: fastchat, questions: q.jsonl, judge: gpt-4}", "judge: says nothing without"),
        (
            "{source: fastchat, questions: q.jsonl, human_labels: {A: m, B: n}}",
            "human_labels: says nothing without `human:`",
        ),
        (
            "{source: prometheus_vision, evaluation: [e.jsonl], judge: gpt-4}",
            "judge: says nothing without `training:`",
        ),
        ("{source: nq301, answers: a.csv, judges: {}, undecided: 0.5}", "undecided: says nothing"),
    ],
)
def test_a_setting_that_would_say_nothing_is_refused_with_its_line(
    tmp_path: Path, settings: str, refused: str
) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(f"name: s\nbenchmarks:\n  b:\n    {settings}\n")
    with pytest.raises(SuiteError) as error:
        read_suite(suite)
    assert str(error.value).startswith(f"{suite}:4: {refused}")
