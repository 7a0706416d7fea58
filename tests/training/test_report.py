"""What the report says of trained judges: core_trainings, rpt_training, rpt_training_losses and
rpt_training_examples beside a second implementation in Python, and the chapter of the page.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.reports.build import build_report
from judgelake.tasks.reports.page.training_section import describe_training
from tests.lakes import Row, append_records, at, judge_row, make_lake, make_suite, query

N_STEPS = {"short": 1, "own": 7, "long": 731}
"""Judge -> steps: one step, fewer than the parts of the curve, and more."""


def training_row(name: str, **more: object) -> Row:
    """A training of N_STEPS[name] steps, with losses that no two judges share."""
    number = [*N_STEPS].index(name)
    losses = 0.1 + 3 * np.random.default_rng(number).random(N_STEPS[name])
    row: Row = {
        "judge_digest": f"files:{number:016x}",
        "training_id": f"{number:016x}",
        "student": f"{name} as it was called",
        "teacher": "gpt-4v",
        "base": "llava-hf/llava-1.5-7b-hf",
        "base_digest": "b" * 40,
        "data_digest": "d" * 64,
        "train": "projector",
        "learnt_part": "reply",
        "lora_rank": None,
        "lora_alpha": None,
        "epochs": 1,
        "batch_size": 32,
        "learning_rate": 1e-3,
        "warmup": 0.03,
        "held_out": 0.05,
        "seed": 7,
        "n_examples": 60,
        "n_held_out": 4 * number,
        "n_trained_weights": 1600,
    }
    reasons = [{"reason": "it is long", "n": 2}, {"reason": "it is unparsed", "n": 3}]
    row |= {
        "scores": [{"score": score, "n": 10 + number * score} for score in (5, 1, 3)],
        "left_out": reasons[:number],
        "losses": losses.tolist(),
        "held_out_loss": 1.5 if number else None,
        "seconds": 90.0 if number else None,
        "versions": "{}",
        "run_id": "run",
        "trained_at": at(1),
    }
    return {**row, **more}


def trained_judge(name: str, alias: str | None = None, **more: object) -> Row:
    """The judge that runs from the folder of a training."""
    row = training_row(name)
    signature = f"protocol:prometheus|model:./{name}|revision:{row['judge_digest']}|samples:1"
    return judge_row(alias or name, row["training_id"], call_signature=signature, **more)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = make_lake(tmp_path)
    again = training_row("own", student="again", trained_at=at(2))
    of_no_judge = training_row("own", judge_digest="files:" + "f" * 16)
    append_records(lake, "trainings", [*map(training_row, N_STEPS), again, of_no_judge])
    append_records(lake, "judges", [*map(trained_judge, N_STEPS), judge_row("other", "e" * 16)])
    return lake


def test_core_trainings_are_those_of_the_judges_whose_signature_has_their_digest(
    lake: Lake,
) -> None:
    found = query(lake, "select judge, student, n_steps from core_trainings order by n_steps")
    assert found == [
        {"judge": name, "student": f"{name} as it was called", "n_steps": n}
        for name, n in N_STEPS.items()
    ]


def test_rpt_training_is_what_a_second_implementation_says(lake: Lake) -> None:
    found = {row["judge"]: row for row in query(lake, "select * from rpt_training")}
    assert found.keys() == N_STEPS.keys()
    for name, row in found.items():
        given = training_row(name)
        tenth = max(1, math.floor(len(given["losses"]) / 10))
        assert row["first_loss"] == pytest.approx(np.mean(given["losses"][:tenth]), abs=1e-12)
        assert row["last_loss"] == pytest.approx(np.mean(given["losses"][-tenth:]), abs=1e-12)
        assert row["n_left_out"] == sum(one["n"] for one in given["left_out"])
        assert row["n_steps"] == N_STEPS[name]
        kept = row.keys() & given.keys()
        assert {key: row[key] for key in kept} == {key: given[key] for key in kept}


def test_rpt_training_losses_are_means_of_parts_that_hold_each_step_once(lake: Lake) -> None:
    for name, n_steps in N_STEPS.items():
        rows = query(
            lake, f"select * from rpt_training_losses where judge = '{name}' order by part"
        )
        given = np.array(training_row(name)["losses"])
        # numpy has the longer parts first, the view spreads them
        sizes = [row["step_to"] - row["step_from"] + 1 for row in rows]
        assert sorted(sizes) == sorted(map(len, np.array_split(given, min(200, n_steps))))
        steps = [step for row in rows for step in range(row["step_from"], row["step_to"] + 1)]
        assert steps == [*range(1, n_steps + 1)]
        means = [part.mean() for part in np.split(given, np.cumsum(sizes)[:-1])]
        assert [row["loss"] for row in rows] == pytest.approx(means, abs=1e-12)


def test_rpt_training_examples_count_what_was_learnt_held_out_and_left_out(lake: Lake) -> None:
    columns = "outcome, score, reason, n, share"
    for number, name in enumerate(N_STEPS):
        found = query(lake, f"select {columns} from rpt_training_examples where judge = '{name}'")
        expected: list[tuple[object, object, object, int]] = [
            ("learnt", score, None, 10 + number * score) for score in (1, 3, 5)
        ]
        expected += [("held_out", None, None, 4 * number)] if number else []
        # the most first
        left_out = [(2, "it is long"), (3, "it is unparsed")][:number][::-1]
        expected += [("left_out", None, reason, n) for n, reason in left_out]
        total = sum(n for *_, n in expected)
        assert [tuple(row.values()) for row in found] == [
            (*one, one[-1] / total) for one in expected
        ]


def test_the_page_has_a_chapter_on_the_trained_judges_of_its_suite_alone(lake: Lake) -> None:
    append_records(lake, "judges", [trained_judge("long", suite="other", alias="elsewhere")])
    append_records(lake, "judges", [judge_row("plain", "c" * 16, suite="bare")])
    page = build_report(lake, make_suite()).read_text()
    chapter = page[page.index('<h2 id="training">') :].partition("</section>")[0]
    # a curve each, and the scores of all
    assert chapter.count("<svg") == len(N_STEPS) + 1
    assert ">own</text>" in chapter.replace(" ", "").replace("\n", "")
    said = dict.fromkeys(re.findall(r"[0-9,]+ steps of 32 examples", chapter))
    assert [*said] == [f"{N_STEPS[name]} steps of 32 examples" for name in sorted(N_STEPS)]
    assert re.search(r"it is unparsed.{1,99}>3<", chapter, re.DOTALL)
    assert "elsewhere" not in chapter
    assert 'id="training"' not in build_report(lake, make_suite(name="bare")).read_text()


def test_settings_are_said_in_words() -> None:
    row = training_row("own", teacher="people", train="lora", lora_rank=16, epochs=2, seconds=600.0)
    row |= {"n_steps": 7, "first_loss": 2.0, "last_loss": 0.25, "learnt_part": "whole"}
    assert describe_training(row) == (
        "Loss by step. It began with llava-hf/llava-1.5-7b-hf and learnt 60 people’s ratings, each "
        "2 times: 7 steps of 32 examples, low-rank matrices (LoRA of rank 16) and the projector, "
        "where the base has one (1,600 weights) trained, learning rate 0.001 after a warm-up over "
        "3 % of the steps, seed 7. The loss is on the prompt’s text too. The loss fell from 2.000 (first tenth of the "
        "steps) to 0.250 (last tenth); dashed: 1.500 on 4 examples held out. It took 10 min."
    )
    rising = {**row, "first_loss": 0.2, "held_out_loss": None, "seconds": None}
    assert describe_training(rising).endswith(
        "The loss did not fall: 0.200 in the first tenth of the steps, 0.250 in the last; no "
        "example was held out."
    )
