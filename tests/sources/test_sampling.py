"""Random samples of a benchmark's items: stable whatever the order, kept in the lake, and said."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgelake.flows.plan_command import as_plain, as_text, plan_suite
from judgelake.flows.preview_command import _preview
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.sources.sampling import SampleSettings, draw_sample
from judgelake.tasks.suite.suite import Scope, Suite, parse_suite
from tests.lakes import make_lake, query

IDS = [f"q{number}" for number in range(200)]


def write_items(folder: Path, ids: list[str], sample: str) -> Suite:
    """A suite over a table with an item and two answers an id."""
    rows = [f"{one},What is {one}?,{one},{model},{one} of {model}" for one in ids for model in "ab"]
    (folder / "items.csv").write_text("\n".join(["id,q,r,m,a", *rows]))
    text = f"""
name: sampled
benchmarks:
  own:
    source: table
    file: items.csv
    columns: {{item_id: id, prompt: q, references: r, model: m, answer: a}}
    sample: {sample}
judges:
  lave: {{protocol: lave, backend: standin}}
"""
    (folder / "suite.yaml").write_text(text)
    return parse_suite(folder / "suite.yaml", text)


def ingest(lake: Lake, suite: Suite, limit: int | None = None) -> bool:
    """Whether an ingest read anything."""
    images = lake.root / "images"
    return not ingest_benchmark(lake, suite.benchmarks["own"], images, limit).skipped


def items_of(lake: Lake) -> set[str]:
    return {str(row["item_id"]) for row in query(lake, "select item_id from items")}


@given(st.sets(st.text(max_size=5)), st.integers(1, 30), st.integers(0, 5), st.randoms())
def test_the_draw_does_not_depend_on_order(
    ids: set[str], n: int, seed: int, rng: random.Random
) -> None:
    shuffled = sorted(ids)
    rng.shuffle(shuffled)
    drawn = draw_sample(shuffled, SampleSettings(n, seed))
    assert drawn == draw_sample(sorted(ids), SampleSettings(n, seed))
    assert (len(drawn.items), drawn.n_source) == (min(n, len(ids)), len(ids))
    assert {*draw_sample(ids, SampleSettings(n + 3, seed)).items} >= {*drawn.items}
    kept = shuffled[: n // 2]
    assert {*draw_sample(ids, SampleSettings(n, seed), kept).items} >= {*kept}


def test_every_item_is_drawn_alike() -> None:
    """Over 400 seeds each of 20 items is among 5 about 100 times (s = 8.7)."""
    counts = dict.fromkeys(range(20), 0)
    for seed in range(400):
        for one in draw_sample(map(str, counts), SampleSettings(5, seed)).items:
            counts[int(one)] += 1
    assert all(65 < count < 135 for count in counts.values())
    first = draw_sample(IDS, SampleSettings(20, 1)).items
    assert {*first} != {*draw_sample(IDS, SampleSettings(20, 2)).items}


def test_an_ingest_takes_the_sample_and_the_rows_about_it(tmp_path: Path) -> None:
    lake, suite = make_lake(tmp_path), write_items(tmp_path, IDS, "{items: 30, seed: 7}")
    assert ingest(lake, suite)
    drawn = {*draw_sample(IDS, SampleSettings(30, 7)).items}
    assert items_of(lake) == drawn
    assert query(lake, "select count(*)::int as n from answers") == [{"n": 60}]
    assert query(lake, "select n_items, n_source_items, sample_seed from stg_ingests") == [
        {"n_items": 30, "n_source_items": 200, "sample_seed": 7}
    ]
    assert not ingest(lake, suite)  # nothing has changed
    kept = query(lake, "select item_id, seed from item_samples where benchmark = 'own'")
    assert {row["item_id"] for row in kept} == drawn
    assert {row["seed"] for row in kept} == {7}


def test_a_file_in_another_order_gives_the_same_sample(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, write_items(tmp_path, IDS, "{items: 30, seed: 7}"))
    first = items_of(lake)
    assert ingest(lake, write_items(tmp_path, IDS[::-1], "{items: 30, seed: 7}"))
    assert items_of(lake) == first


def test_what_was_drawn_stays_and_is_filled_up(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    ingest(lake, write_items(tmp_path, IDS[:60], "{items: 30, seed: 7}"))
    first = items_of(lake)
    # a draw from all 200 without what was kept would be another one
    assert {*draw_sample(IDS, SampleSettings(30, 7)).items} != first
    ingest(lake, write_items(tmp_path, IDS, "{items: 30, seed: 7}"))
    assert items_of(lake) == first
    gone = sorted(first)[:4]
    ingest(
        lake, write_items(tmp_path, [one for one in IDS if one not in gone], "{items: 30, seed: 7}")
    )
    assert len(items_of(lake)) == 30
    assert items_of(lake) > first - {*gone}
    ingest(lake, write_items(tmp_path, IDS, "{items: 50, seed: 7}"))
    assert items_of(lake) > first
    ingest(lake, write_items(tmp_path, IDS, "{items: 30, seed: 8}"))
    assert items_of(lake) == {*draw_sample(IDS, SampleSettings(30, 8)).items}


def test_a_limit_takes_the_first_items_of_the_sample_which_is_kept_whole(tmp_path: Path) -> None:
    lake, suite = make_lake(tmp_path), write_items(tmp_path, IDS, "{items: 30, seed: 7}")
    ingest(lake, suite, limit=5)
    drawn = {*draw_sample(IDS, SampleSettings(30, 7)).items}
    assert items_of(lake) == {*sorted(drawn)[:5]}
    assert query(lake, "select count(*)::int as n from item_samples") == [{"n": 30}]
    assert ingest(lake, suite)
    assert items_of(lake) == drawn


def test_plan_and_preview_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = write_items(tmp_path, IDS, "{items: 30, seed: 7}")
    line = "sample: own has 30 of 200 items, drawn at random with the seed 7"
    planned, estimate = plan_suite(suite.file, str(tmp_path / "lake"), Scope())
    assert line in as_text(estimate, planned)
    assert as_plain(estimate, planned)["samples"] == [line]
    assert estimate.judges[0].n_items == 30
    _preview(suite, suite.benchmarks["own"], None, tmp_path)
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sample", "wrong"),
    [
        ("{items: 0}", "items: 0; expected a whole number from 1"),
        ("{items: 5, seed: -1}", "seed: -1; expected a whole number from 0"),
        ("{item: 5}", "unknown key 'item'; did you mean 'items'?"),
        ("{seed: 5}", "the key 'items' is missing"),
        ("5", "expected keys with values"),
    ],
)
def test_wrong_settings_name_the_key(tmp_path: Path, sample: str, wrong: str) -> None:
    with pytest.raises(SuiteError) as error:
        write_items(tmp_path, IDS[:1], sample)
    assert wrong in str(error.value)
