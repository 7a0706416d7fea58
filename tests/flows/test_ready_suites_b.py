"""The ready suites `alpaca_eval`, `owleval`, `visit_bench`, `prometheus_vision` and `okvqa` through
the command; figures by SQL.

The golden figures are those of ../shared/data/README.md.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.flows.harness import Shell, shell_in

pytestmark = [pytest.mark.data, pytest.mark.full, pytest.mark.usefixtures("one_prefect")]

SUITES = Path(__file__).parents[2] / "infra" / "suites"
Rows = list[tuple[object, ...]]


class Ran:
    """A finished run of a suite, of all stages or one."""

    def __init__(self, shell: Shell, suite: str, lake: Path, command: str) -> None:
        self.shell, self.suite, self.lake, self.command = shell, suite, lake, command

    def run(self) -> str:
        code, output = self.shell.run(
            self.command, str(SUITES / f"{self.suite}.yaml"), "--lake", str(self.lake)
        )
        assert code == 0, output
        return output

    def select(self, query: str) -> Rows:
        return [tuple(row.values()) for row in self.shell.select(self.lake, query)]


@contextmanager
def ran(
    suite: str, folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch, command: str = "ingest"
) -> Iterator[Ran]:
    monkeypatch.setenv("JUDGELAKE_DATA", str(data))
    with shell_in(folder) as shell:
        run = Ran(shell, suite, folder / "lake", command)
        run.run()
        yield run
        assert "nothing to do" in run.run()
        assert shell.list_left() == []


def test_alpaca_eval(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ran("alpaca_eval", tmp_path, data_folder, monkeypatch, "run") as run:
        rates = run.select(
            "select judge, model_a, n, printf('%.6g', 100 * win_rate) from rpt_win_rate where "
            "model_b in ('text_davinci_003', "
            "'gpt4_1106_preview') and model_a in ('alpaca-7b', 'gpt-3.5-turbo-0301') and "
            "benchmark = 'alpaca_eval' order by all"
        )
        gpt4, turbo = "alpaca_eval_gpt4", "weighted_alpaca_eval_gpt4_turbo"
        assert rates == [
            (gpt4, "alpaca-7b", 805, "26.4596"),
            (gpt4, "gpt-3.5-turbo-0301", 804, "89.3657"),  # one null dropped
            (turbo, "alpaca-7b", 805, "2.59145"),
            (turbo, "gpt-3.5-turbo-0301", 805, "9.62245"),
        ]
        published = (
            "select count(*) from rpt_win_rate as r join benchmark_scores as s on r.judge = "
            "s.published_benchmark and "
            "r.model_a = s.model and abs(100 * r.win_rate - s.score) < 1e-5 where r.model_b in "
            "('text_davinci_003', 'gpt4_1106_preview')"
        )
        assert run.select(published) == [(7,)]  # every file's rate is the published one
        assert run.select("select count(*), count(choice) from recorded_duels") == [
            (7 * 805, 7 * 805 - 2)
        ]
        coverage = run.select("select judge, status, n from rpt_coverage order by all")
        assert coverage == [(gpt4, "failed", 2), (gpt4, "ok", 5 * 805 - 2), (turbo, "ok", 2 * 805)]
        # ties: coded 0 in three files (16 + 2 + 9), 1.5 in three (5 + 3 + 1)
        ties = (
            "select judge, count(*) from recorded_duels where choice = 'tie' group by judge "
            "order by judge"
        )
        assert run.select(ties) == [(gpt4, 16 + 2 + 9 + 5), (turbo, 3 + 1)]
        kept = (
            "select judge, count(text), count(*) filter (len(top_logprobs) = 1 and "
            "len(top_logprobs[1]) >= 5) from recorded_duels "
            "group by judge order by judge"
        )
        assert run.select(kept) == [(gpt4, 0, 0), (turbo, 2 * 805 - 4, 2 * 805 - 4)]
        bare = (
            "select b.model, count(*) from recorded_duels as d join answers as b on "
            "d.answer_b = b.answer_id and d.item_id = b.item_id "
        )
        assert run.select(
            bare + f"where judge = '{turbo}' and d.text is null group by 1 order by 1"
        ) == [
            ("alpaca-7b", 3),
            ("gpt-3.5-turbo-0301", 1),
        ]
        repeats = (
            "select model, min(n_repeats), max(n_repeats), count(*) from answers where "
            "n_repeats > 2 group by model"
        )
        assert run.select(repeats) == [
            ("text_davinci_003", 5, 5, 805)
        ]  # the baseline's answers in five files
        assert run.select("select count(*), count(distinct category) from items") == [(805, 5)]
        assert run.select("select count(*) from quarantine") == [(0,)]


def test_owleval(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ran("owleval", tmp_path, data_folder, monkeypatch) as run:
        counts = run.select("select model, count(*) from answers group by model order by model")
        models = [
            "BLIP2",
            "MMreact",
            "llava-13b",
            "mPLUG_Owl_7b:v1",
            "minigpt4_13b",
            "openflanmingo",
        ]
        assert counts == [(model, 82) for model in models]
        images = run.select(
            "select distinct unnest(images, recursive := true) from items order by 1"
        )
        files = sorted((data_folder / "owleval" / "images").iterdir(), key=lambda file: file.name)
        assert images == [
            (file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files
        ]
        assert len(images) == 50
        query = "select count(*) > 0 from answers where text like '无法回溯%' and model = 'MMreact'"
        assert run.select(query) == [(True,)]
        assert run.select("select count(*) from items where category like 'a,%'") == [(82,)]
        assert run.select("select count(*) from quarantine") == [(0,)]


def test_visit_bench(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ran("visit_bench", tmp_path, data_folder, monkeypatch) as run:
        sizes = run.select(
            "select benchmark, len(images), count(*) from items group by all order by all"
        )
        many = [
            ("visit_bench", size, n) for size, n in ((2, 50), (4, 20), (5, 10), (7, 10), (10, 10))
        ]
        assert sizes == [*many, ("visit_bench_examples", 1, 10)]
        rated = run.select(
            "select annotator, rating, count(*) from human_ratings group by all order by all"
        )
        assert rated == [("visit_bench", 0.0, 37), ("visit_bench", 1.0, 63)]
        assert run.select(
            "select len(\"references\"), count(*) from items where benchmark = 'visit_bench' "
            "group by all order by all"
        ) == [
            (0, 30),
            (1, 70),
        ]
        urls = (
            "select count(*) from (select unnest(images) as image from items) where "
            "image.uri like 'https://%' and image.sha256 is null"
        )
        assert run.select(urls) == [(50 * 2 + 20 * 4 + 10 * 5 + 10 * 7 + 10 * 10 + 10,)]
        assert run.select("select count(*) from quarantine") == [(0,)]


def test_prometheus_vision(
    tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ran("prometheus_vision", tmp_path, data_folder, monkeypatch) as run:
        assert run.select("select split, count(*) from items group by split order by split") == [
            ("evaluation", 3),
            ("train", 1),
        ]
        assert run.select("select count(*), count(distinct answer_id) from answers") == [(6, 6)]
        verdicts = (
            "select judge, criterion, rating, scale_low, scale_high from "
            "recorded_verdicts order by rating"
        )
        assert run.select(verdicts) == [
            ("gpt-4v", "rubric", rating, 1.0, 5.0) for rating in (1.0, 2.0, 3.0)
        ]
        scores = "select score_0_1 from core_scores where judge = 'gpt-4v' order by 1"
        assert run.select(scores) == [(0.0,), (0.25,), (0.5,)]
        rubrics = (
            "select count(*), min(len(levels)), max(len(levels)) from rubrics join "
            "item_rubrics using (benchmark, rubric_id)"
        )
        assert run.select(rubrics) == [(4, 5, 5)]
        quarantined = run.select("select table_name, value from quarantine")
        assert quarantined == [
            ("images", "4 images")
        ]  # the release has no images: one row reports it


def test_okvqa(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean VQA accuracy of three GPT-3 files, of raw strings and of the official normaliser;
    the images that are missing are reported once.
    """
    monkeypatch.setenv("JUDGELAKE_DATA", str(data_folder))
    with shell_in(tmp_path) as shell:
        suite, lake = SUITES / "okvqa.yaml", tmp_path / "lake"
        asked = ("--judge", "vqa_accuracy", "--judge", "vqa_accuracy_raw")
        code, output = shell.run("run", str(suite), "--lake", str(lake), *asked)
        assert code == 0, output
        text = (
            "select metric, model, n, n_missing, printf('%.6f', 100 * mean) as mean from "
            "rpt_metrics where model <> '*' and n > 0"
        )
        found = {(row["metric"], row["model"]): row["mean"] for row in shell.select(lake, text)}
        assert found == {
            ("vqa_accuracy_raw", "VinVL"): "46.809354",
            ("vqa_accuracy_raw", "VinVLTag"): "47.934998",
            ("vqa_accuracy_raw", "5GT"): "53.246136",
            ("vqa_accuracy", "VinVL"): "46.860880",
            ("vqa_accuracy", "VinVLTag"): "48.030123",
            ("vqa_accuracy", "5GT"): "53.297662",
        }
        [row] = shell.select(lake, "select source_file, locator, value, reason from quarantine")
        assert (row["locator"], row["value"]) == ("5046 items", "5033 images")
        assert str(row["reason"]).startswith(
            "the image folder is absent: 5,033 images are missing under "
        )
        code, output = shell.run("ingest", str(suite), "--lake", str(lake))
        assert (code, "nothing to do" in output) == (0, True), output
