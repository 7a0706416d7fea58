"""WildVision's real files by its ready suite. The golden figures are those of
../shared/data/README.md: the published leaderboard, but for two models whose published ties hold
replies without a verdict.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from judgelake.tasks.suite.suite import read_suite
from tests.conftest import CHECKOUT
from tests.lakes import query
from tests.sources.tables import ingest

COUNTS = """
    select
        answers.model,
        duels.judge,
        [
            count(*) filter (where preference_b = 1),
            count(*) filter (where preference_b = .75),
            count(*) filter (where preference_b = .5),
            count(*) filter (where preference_b = .25),
            count(*) filter (where preference_b = 0)
        ] as counts,
        count(*) filter (where status = 'unparsed') as unparsed,
        round(100 * avg((choice is not distinct from 'b')::int), 1) as win_rate
    from recorded_duels as duels
    inner join answers
        on
            duels.benchmark = answers.benchmark and duels.item_id = answers.item_id
            and duels.answer_b = answers.answer_id
    group by all
"""
WITHOUT_VERDICT = {"aria": 6, "llava-1.5-7b-hf": 20}


def read_leaderboard(file: Path) -> Mapping[str, tuple[list[int], float]]:
    """Model -> how often it was much better, better, tied, worse and much worse; its win rate."""
    lines = [line.strip("|\n").split("|") for line in file.read_text().splitlines()[2:]]
    cells = [[cell.strip() for cell in line] for line in lines]
    return {
        row[0]: ([int(float(cell)) for cell in row[5:10]], float(row[3].rstrip("%")))
        for row in cells
    }


@pytest.mark.data
def test_figures_of_wildvision(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGELAKE_DATA", str(data_folder))
    lake = ingest(read_suite(CHECKOUT / "infra" / "suites" / "wildvision.yaml"), tmp_path)
    assert query(lake, "select * from quarantine") == []
    found = {(row["judge"], row["model"]): row for row in query(lake, COUNTS)}
    published = read_leaderboard(data_folder / "wildvision" / "leaderboard.md")
    assert len(published) == 22
    for model, (counts, win_rate) in published.items():
        missing = WITHOUT_VERDICT.get(model, 0)
        better, good, tied, worse, bad = counts
        row = found["gpt-4o", model]
        assert row["counts"] == [better, good, tied - missing, worse, bad]
        assert (row["unparsed"], row["win_rate"]) == (missing, win_rate)
    # 142 of the published ties are `$ERROR$` in place of a reply, 14 replies broke off before a label
    ties = {
        judge: sum(row["counts"][2] for (of, _), row in found.items() if of == judge)
        for judge in ("gpt-4o", "gpt-4o-replies")
    }
    unread = sum(row["unparsed"] for (of, _), row in found.items() if of == "gpt-4o-replies")
    assert ties == {"gpt-4o": 984, "gpt-4o-replies": 984 - 142 - 14 - 1}  # 1: it quotes its label
    assert unread == 142 + 14 + 1 + 26 + 3  # 26 without a label; 3 that quote or deny theirs
