"""A backend is one of several settings, chosen by `backend:`; each has keys of its own."""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.suite.suite import read_suite


def read(folder: Path, judge: str) -> None:
    file = folder / "suite.yaml"
    file.write_text(f"""name: s
benchmarks: {{b: {{source: demo}}}}
judges:
  j: {{protocol: lave, {judge}}}
""")
    read_suite(file)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (
            "backend: openai, model: m, dtype: float16",
            "suite.yaml:4: dtype: float16; expected with `backend: transformers` only; remove it",
        ),
        (
            "backend: standin, device: cpu",
            "device: cpu; expected with `backend: transformers` only; remove it",
        ),
        (
            'backend: transformers, model: m, base_url: "http://x"',
            "base_url: http://x; expected with `backend: openai` only; remove it",
        ),
        ("backend: standin, mode: batch", "mode: batch; expected with `backend: openai` only"),
        (
            "backend: openai, model: m, cassette: lake",
            "cassette: lake; expected with `backend: replay` only; remove it",
        ),
        ("backend: replay, model: m", "cassette: missing; expected the lake to replay; add it"),
        ("backend: openai", "model: missing; expected `provider/model`"),
        ("backend: opnai, model: m", "backend: 'opnai'; did you mean 'openai'?"),
        ("backend: standin, shot: 3", "unknown key 'shot'; did you mean 'shots'?"),
        ("model: m", "the key 'backend' is missing; expected one of openai, replay, standin"),
    ],
)
def test_keys_of_another_backend_and_missing_ones_are_refused(
    tmp_path: Path, judge: str, words: str
) -> None:
    with pytest.raises(SuiteError) as refused:
        read(tmp_path, judge)
    assert words in str(refused.value)
