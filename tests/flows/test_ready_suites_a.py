"""The suites with recorded judges run whole through the command, and the figures of the data folder
come out by SQL.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scipy import stats

from judgelake.flows.paper_command import ask_table
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.papers.registry import list_papers
from judgelake.tasks.warehouse.warehouse import open_warehouse
from tests.flows.harness import Shell, shell_in
from tests.metrics.programs import needs_java

SUITES = Path(__file__).parents[2] / "infra" / "suites"
pytestmark = [pytest.mark.data, pytest.mark.full, pytest.mark.usefixtures("one_prefect")]


@contextmanager
def finished(
    name: str, folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Shell, Path]]:
    """A lake in which the suite `name` has run to its end, with its report."""
    monkeypatch.setenv("JUDGELAKE_DATA", str(data))
    lake = folder / "lake"
    with shell_in(folder) as shell:
        code, output = shell.run("run", str(SUITES / f"{name}.yaml"), "--lake", str(lake))
        assert code == 0, output
        assert "0 calls" in output
        assert "Coverage" in (lake / "reports" / name / "report.html").read_text()
        yield shell, lake


def coverage(shell: Shell, lake: Path) -> set[tuple[object, ...]]:
    rows = shell.select(
        lake, "select benchmark, judge, status, n from rpt_coverage where judge not like 'metric:%'"
    )
    return {tuple(row.values()) for row in rows}


def test_nq301(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with finished("nq301", tmp_path, data_folder, monkeypatch) as (shell, lake):
        text = (
            "select judge_a, judge_b, n, printf('%.4f', agreement) as a, printf('%.4f', "
            "kappa) as k from rpt_agreement where task = '*' and category = '*' and style = '*'"
        )
        found = {
            (row["judge_a"], row["judge_b"]): (row["n"], row["a"], row["k"])
            for row in shell.select(lake, text)
        }
        assert found["human:annotator1", "human:annotator2"][::2] == (1483, "0.7347")
        assert found["gpt-4", "human:label"] == (1490, "0.8470", "0.6934")
        assert found["bem", "human:label"] == (1490, "0.8060", "0.6157")
        assert coverage(shell, lake) == {
            ("nq301", "gpt-4", "ok", 1490),
            ("nq301", "bem", "ok", 1490),
        }
        # Two verdicts are blank; three rows have another answer in the judge's file than in the
        # people's.
        text = (
            "select judge, count(*) as n from recorded_verdicts where reason is not null "
            "group by judge order by judge"
        )
        assert shell.select(lake, text) == [{"judge": "bem", "n": 2}, {"judge": "gpt-4", "n": 3}]
        text = (
            "select count(*) as n, count(distinct (item_id, text)) as texts from answers "
            "where benchmark = 'nq301'"
        )
        assert shell.select(lake, text) == [{"n": 1490, "texts": 1489}]
        text = (
            "select count(distinct model) as models, count(*) as n from answers where "
            "benchmark = 'nq301_systems'"
        )
        assert shell.select(lake, text) == [{"models": 12, "n": 10 * 3610 + 2 * 301}]


@needs_java
def test_flickr8k_expert(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with finished("flickr8k_expert", tmp_path, data_folder, monkeypatch) as (shell, lake):
        text = (
            "select judge, coefficient, n, printf('%.2f', 100 * value) as value from "
            "rpt_correlation "
            "where model = '*' and human_rule = 'each' and coefficient like 'kendall%' and "
            "judge not like 'metric:%'"
        )
        found = {
            (row["judge"], row["coefficient"]): (row["n"], row["value"])
            for row in shell.select(lake, text)
        }
        assert found == {
            ("fleur-raw", "kendall_tau_c"): (16992, "34.91"),
            ("fleur", "kendall_tau_c"): (16992, "53.03"),
            ("fleur-raw", "kendall_tau_b"): (16992, "56.08"),
            ("fleur", "kendall_tau_b"): (16992, "52.67"),
        }
        assert coverage(shell, lake) == {
            ("flickr8k_expert", judge, "ok", 5664) for judge in ("fleur", "fleur-raw")
        }
        # pycocoevalcap's scores of all pairs, each (image, caption) pair a document of CIDEr.
        text = (
            "select metric, correlations.n, printf('%.2f', 100 * correlations.value) as value "
            "from rpt_correlation as correlations "
            "inner join rpt_corpus_scores as corpora using (judge, model) "
            "where model = '*' and human_rule = 'each' and coefficient = 'kendall_tau_c' order "
            "by metric"
        )
        assert [tuple(row.values()) for row in shell.select(lake, text)] == [
            ("bleu_1", 16992, "32.32"),
            ("bleu_4", 16992, "30.78"),
            ("cider", 16992, "43.89"),
            ("meteor", 16992, "41.82"),
            ("rouge_l", 16992, "32.31"),
        ]
        # HarmonicEval's Table 8 prints one decimal
        with open_warehouse(open_lake(lake), lazy=True) as connection:
            filled = ask_table(connection, list_papers()["harmoniceval"].tables[8])
        rows = zip(filled.table.rows, filled.cells, strict=True)
        differences = {row.key: cells[0].difference for row, cells in rows}
        found_there = {key: value for key, value in differences.items() if value is not None}
        assert sorted(found_there) == ["bleu_4", "cider", "fleur", "meteor", "rouge_l"]
        assert max(map(abs, found_there.values())) < 0.05
        dropped = "select n from rpt_quarantine where reason like '%drop_own%'"
        assert shell.count(lake, dropped) == 5822 - 5664
        # One image has the same caption twice: both are references, as a caption it is one row.
        assert (
            shell.count(lake, 'select sum(len("references"))::bigint as n from items') == 5 * 1000
        )
        assert shell.count(lake, "select count(*) as n from captions") == 5 * 1000 - 1


def test_vicuna_pairs(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with finished("vicuna_pairs", tmp_path, data_folder, monkeypatch) as (shell, lake):
        text = (
            "select judge_a, judge_b, n, printf('%.3f', agreement) as a, printf('%.3f', "
            "kappa) as k from rpt_agreement where task = '*' and category = '*' and style = '*'"
        )
        assert [tuple(row.values()) for row in shell.select(lake, text)] == [
            ("gpt-4", "human:human", 80, "0.525", "0.228")
        ]
        assert coverage(shell, lake) == {("vicuna_pairs", "gpt-4", "ok", 320)}
        # GPT-4 prefers gpt-3.5 to vicuna-13b, which was compared four times as often, 44 to 14
        text = (
            "select method, model, orders_differ from rpt_rankings where rater = 'gpt-4' and "
            "category = '*' and rank = 1"
        )
        assert [tuple(row.values()) for row in shell.select(lake, text)] == [
            ("bradley_terry", "gpt-3.5-turbo:20230327", True),
            ("elo", "vicuna-13b:20230322-clean-lang", True),
        ]
        text = (
            "select n, wins, ties, losses, win_rate from rpt_win_rate where judge = "
            "'human:human' and model_a like 'gpt%'"
        )
        # The file has 41 CHATGPT, 14 TIE and 25 VICUNA13B: (41 + 14 / 2) / 80 = 0.6.
        assert [tuple(row.values()) for row in shell.select(lake, text)] == [(80, 41, 14, 25, 0.6)]
        text = (
            "select count(*) as n, count(distinct cluster) as images, "
            'sum(len("references"))::bigint as n_references from items '
        )
        text += "where benchmark = 'llava_bench_coco'"
        assert shell.select(lake, text) == [{"n": 90, "images": 30, "n_references": 90}]


def test_judge_retest(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {"mt_bench_eval": (0.8357, 0.8763, 0.8412), "vicuna_eval": (0.7992, 0.8043, 0.8221)}
    with finished("judge_retest", tmp_path, data_folder, monkeypatch) as (shell, lake):
        assert coverage(shell, lake) == {
            (benchmark, "gpt-4", "ok", 3 * 320) for benchmark in expected
        }
        for benchmark, values in expected.items():
            text = (
                f"select item_id, answer_id, sample, rating from recorded_verdicts where "
                f"benchmark = '{benchmark}'"
            )
            rows = shell.select(lake, f"{text} order by all")
            runs = [
                [float(str(row["rating"])) for row in rows if row["sample"] == sample]
                for sample in range(3)
            ]
            found = [
                stats.pearsonr(runs[a], runs[b]).statistic for a, b in ((0, 1), (0, 2), (1, 2))
            ]
            assert found == pytest.approx(values, abs=5e-5)
        rubrics = (
            "select count(*) from item_rubrics inner join rubrics using (benchmark, rubric_id)"
        )
        assert shell.count(lake, f"{rubrics} where len(levels) = 5") == 320 + 80
