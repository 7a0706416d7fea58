"""The line that a person sees while judges work, from planted progress files."""

import json
from pathlib import Path

from judgelake.flows.progress import describe_progress


def plant(
    folder: Path,
    plan: dict[str, int],
    cost: float = 0.0,
    unpriced: int = 0,
    **shards: dict[str, int],
) -> Path:
    """A run's scratch: its plan, and a progress file a shard with its statuses, 1,000 tokens, and
    what they cost.
    """
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    for name, statuses in shards.items():
        reported = {
            "calls": 1,
            "reused": 0,
            "cases": sum(statuses.values()),
            "statuses": statuses,
            "tokens": 1000,
        }
        reported |= {"cost_usd": cost, "unpriced": unpriced}
        (folder / f"{name}.progress.json").write_text(json.dumps(reported))
    return file


def test_shards_are_added_up_and_the_most_frequent_status_stands_first(tmp_path: Path) -> None:
    plan = plant(
        tmp_path,
        {"lave": 1500, "few": 500},
        a={"unparsed": 2, "ok": 900},
        b={"ok": 300, "failed": 48},
    )
    # 900 + 300 + 2 + 48 = 1,250 of 2,000 in 10 s
    assert (
        describe_progress(plan, 10.0)
        == "judging 1,250/2,000  125/s  1,200 ok, 48 failed, 2 unparsed  2,000 tokens"
    )


def test_money_is_reported_as_far_as_it_is_known(tmp_path: Path) -> None:
    plan = plant(tmp_path, {"lave": 4}, cost=0.75, unpriced=3, a={"ok": 1}, b={"ok": 1})
    assert (
        describe_progress(plan, 1.0)
        == "judging 2/4  2/s  2 ok  2,000 tokens  1.50 USD  6 calls of unknown price"
    )


def test_before_the_first_verdict_it_is_starting(tmp_path: Path) -> None:
    assert (
        describe_progress(plant(tmp_path, {"lave": 40}), 0.0)
        == "judging 0/40  0/s  starting  0 tokens"
    )


def test_with_nothing_to_judge_there_is_no_line(tmp_path: Path) -> None:
    assert describe_progress(plant(tmp_path, {"lave": 0}), 5.0) == ""
    assert describe_progress(plant(tmp_path, {}), 5.0) == ""


def test_a_folder_that_is_being_removed_is_no_error(tmp_path: Path) -> None:
    assert describe_progress(tmp_path / "plan.json", 5.0) == ""
    plan = plant(tmp_path, {"lave": 4})
    (tmp_path / "a.progress.json").write_text("")
    assert describe_progress(plan, 5.0) == ""
