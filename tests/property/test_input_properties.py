"""Properties of reading: whatever a file holds, it is read, reported with its place, or refused as a
user's mistake; never a crash.
"""

import json
import tempfile
from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import JudgelakeError, SourceError, SuiteError, nearest
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.sources.registry import BenchmarkSettings
from judgelake.tasks.sources.vqa import VqaSettings, read_vqa
from judgelake.tasks.suite.suite import read_suite
from tests.lakes import query
from tests.rows import write_json

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
KEYS = (
    "question_id",
    "question",
    "answer",
    "answers",
    "image",
    "image_id",
    "question_type",
    "caption",
)
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=6) | ANYTHING, max_size=6
)
FILES = (
    RECORDS
    | st.dictionaries(
        st.sampled_from(["annotations", "questions", "results", "data_type", "data_subtype"]),
        RECORDS,
    )
    | ANYTHING
)
SUITE_WORDS = st.sampled_from(
    [
        "name",
        "benchmarks",
        "judges",
        "metrics",
        "report",
        "limits",
        "source",
        "demo",
        "vqa",
        "protocol",
        "lave",
        "backend",
        "shots",
        "x",
    ]
)
SUITES = st.recursive(
    SCALARS | SUITE_WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SUITE_WORDS, inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=60)
@given(FILES, FILES, st.none() | FILES, st.none() | FILES)
def test_vqa_reads_anything_or_names_the_file(
    references: object, results: object, questions: object, captions: object
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        settings = VqaSettings(
            write_json(root / "references.json", references),
            write_json(root / "results" / "m.json", results).parent / "{model}.json",
            None if questions is None else write_json(root / "questions.json", questions),
            None if captions is None else write_json(root / "captions.json", captions),
        )
        frames, refusal = None, ""
        try:
            frames = read_vqa(settings)
        except SourceError as error:
            refusal = str(error)
    if frames is None:
        assert refusal.startswith(folder)
        assert "; expected a " in refusal
    else:
        rejected = {row.locator for row in frames.rejected if row.table_name == "answers"}
        assert len(rejected) + frames.answers.height == count_records(results)


@settings(max_examples=5)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(["a", "b", None])), min_size=4, max_size=12
    )
)
def test_every_answer_of_a_file_is_in_the_lake_or_in_quarantine(
    given_answers: list[tuple[int, str | None]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        items = [{"question_id": number, "question": "?", "answer": ["a"]} for number in range(4)]
        write_json(
            root / "results" / "m.json",
            [{"question_id": key, "answer": text} for key, text in given_answers],
        )
        vqa = VqaSettings(
            write_json(root / "references.json", items), root / "results" / "{model}.json"
        )
        lake = open_lake(root / "lake", create=True)
        summary = ingest_benchmark(lake, BenchmarkSettings("bench", "vqa", vqa), root, None)
        held = "(select coalesce(sum(n_repeats), 0)::int from answers) as held"
        quarantined = "(select count(distinct locator) from quarantine) as n_rejected"
        (counts,) = query(lake, f"select {held}, {quarantined}")
    assert counts["held"] + counts["n_rejected"] == len(given_answers)
    assert summary.n_quarantined == counts["n_rejected"]


@given(SUITES)
def test_any_yaml_is_a_suite_or_is_refused_with_its_file(content: object) -> None:
    read_or_refuse(yaml.safe_dump(content, allow_unicode=True))


@given(st.text(alphabet="name: benchmarks\n-{}[]&*!|>'\"#,?%@`\t\0x1", max_size=60))
def test_any_text_is_a_suite_or_is_refused_with_its_file(text: str) -> None:
    read_or_refuse(text)


@given(st.text(max_size=8), st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_hint_names_only_what_is_valid(name: str, valid: list[str]) -> None:
    hint = nearest(name, valid)
    assert hint in {f"did you mean {one!r}?" for one in valid} | {
        f"expected one of {', '.join(sorted(valid))}"
    }


@given(st.dictionaries(st.text(max_size=4), ANYTHING, max_size=4))
def test_digest_of_json_does_not_see_the_order_of_keys(value: dict[str, object]) -> None:
    assert (
        digest_json(value)
        == digest_json(dict(reversed(value.items())))
        == digest_json(json.loads(json.dumps(value)))
    )


def count_records(content: object) -> int:
    """How many records a result file holds, counted without the reader."""
    if isinstance(content, dict):
        content = content["annotations"] if "annotations" in content else content["results"]
    assert isinstance(content, list)
    return len(content)


def read_or_refuse(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "suite.yaml"
        file.write_text(text, encoding="utf-8")
        refusal: JudgelakeError | None = None
        try:
            read_suite(file)
        except JudgelakeError as error:
            refusal = error
    assert refusal is None or (
        isinstance(refusal, SuiteError) and str(refusal).startswith(str(file))
    )
