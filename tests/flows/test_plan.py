"""`judgelake plan` as a user meets it: without a lake, with an old ingest, after a run; nothing is
asked, nothing is written.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from judgelake.flows.cli import make_parser
from judgelake.flows.plan_command import as_text, plan_suite, run_plan
from judgelake.tasks.backends.openai.settings import StandinSettings
from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.sources.ingestion import ingest_benchmark
from judgelake.tasks.standin.process import start_standin
from judgelake.tasks.suite.suite import Scope, read_suite
from tests.engine.test_budget import BILLED, Billing, billing_endpoint
from tests.flows.harness import shell_in, write_benchmark, write_suite

N = 40


@pytest.fixture
def suite_file(tmp_path: Path) -> Path:
    write_benchmark(tmp_path, N)
    return write_suite(tmp_path, "http://127.0.0.1:1/v1", concurrency=4)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests run; one that needs another width sets it."""
    monkeypatch.setenv("COLUMNS", "400")


def plan(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert run_plan(make_parser().parse_args(["plan", *map(str, words)])) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plan(capsys, *words, "--format", "json"))
    return found


def counts(expected: dict[str, Any]) -> list[int]:
    (one,) = expected["judges"]
    return [
        one[name]
        for name in ("n_items", "n_answers", "n_wanted", "n_present", "n_pending", "n_calls")
    ]


def test_without_a_lake_the_sources_are_read_and_no_lake_is_made(
    suite_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = suite_file.parent / "lake"
    output = as_json(capsys, suite_file, "--lake", lake)
    # two models answer each question, never alike: 80 answers, 80 cases; the questions differ by
    # their number
    assert counts(output) == [N, 2 * N, 2 * N, 0, 2 * N, 2 * N]
    assert output["n_scores"] == 3 * 2 * N
    assert (output["total"]["n_calls"], output["total"]["cost_usd"]) == (2 * N, None)
    assert counts(as_json(capsys, suite_file, "--lake", lake, "--limit", 5)) == [
        5,
        10,
        10,
        0,
        10,
        10,
    ]
    assert not lake.exists()


def test_an_item_s_id_gives_a_terminal_no_command(suite_file: Path) -> None:
    suite, estimate = plan_suite(suite_file, str(suite_file.parent / "lake"), Scope())
    note = "no score: 1 of 2 items (i\x1b[2J\x9b31m\r\ni): the item has no image"
    judges = tuple(replace(judge, notes=(note,)) for judge in estimate.judges)
    shown = as_text(replace(estimate, judges=judges), suite)
    assert r"(i\x1b[2J\x9b31m i): the item has no image" in shown
    assert not {"\x1b", "\x9b", "\r"} & {*shown}


def test_what_was_judged_is_present_though_the_answers_have_changed_since(
    suite_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, suite = open_lake(suite_file.parent / "lake", create=True), read_suite(suite_file)
    ingest_benchmark(lake, suite.benchmarks["small"], suite.image_root(lake.root), None)
    register_judges(lake, suite)
    (work,) = write_work(lake, suite, Scope(limit=10), "run-1")
    with start_standin() as standin:
        judge = suite.judges["lave"]
        endpoint = StandinSettings()
        order = ShardOrder(
            lake,
            "run-1",
            judge,
            work.identity,
            suite.limits,
            work.shards[0],
            lake.root / "images",
            standin.base_url,
        )
        assert run_judge_shard(_at(order, endpoint)).n_calls == 20
    assert counts(as_json(capsys, suite_file, "--lake", lake.root)) == [N, 2 * N, 2 * N, 20, 60, 60]
    before = sorted(file for file in lake.root.rglob("*"))
    write_benchmark(suite_file.parent, N + 2)  # two more questions
    assert counts(as_json(capsys, suite_file, "--lake", lake.root)) == [
        N + 2,
        2 * N + 4,
        2 * N + 4,
        20,
        64,
        64,
    ]
    assert sorted(file for file in lake.root.rglob("*")) == before


def _at(order: ShardOrder, endpoint: Any) -> ShardOrder:
    """The same judge, its model asked at the stand-in."""
    return replace(order, judge=replace(order.judge, endpoint=endpoint))


def test_the_table_says_what_it_knows_and_what_not(
    suite_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = plan(capsys, suite_file, "--lake", suite_file.parent / "lake")
    head, row = output.splitlines()[:2]
    assert head.split()[:6] == ["judge", "model", "items", "answers", "cases", "present"]
    assert row.split()[:9] == ["lave", "standin/rules", "40", "80", "80", "0", "80", "0", "80"]
    assert "not known" in row
    assert "metrics: 240 scores to compute here; they send no request" in output
    assert "cost: the price of standin/rules is not known" in output
    assert "time of standin/rules: at 1 s a reply" in output


def test_it_says_why_cases_are_fewer_than_answers_what_items_lack_and_which_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five questions: of one both models say the same, one has no reference, two no rubric, one is
    a caption's; none has an image (`queries/left_out.sql`, `queries/lacking_cases.sql`,
    `queries/lacking_scores.sql`).
    """
    records: list[dict[str, Any]] = [
        {"id": f"q{n}", "q": "What?", "task": "caption" if n == 4 else "vqa", "m1": "x", "m2": "y"}
        for n in range(5)
    ]
    for number, record in enumerate(records):
        record |= {"refs": [] if number == 1 else ["cat"], "levels": ["bad", "good", "a", "b", "c"]}
    records[0]["m2"] = "x"
    records[2]["levels"] = records[3]["levels"] = None
    (tmp_path / "a.json").write_text(json.dumps(records))
    rubric = [record for record in records if record["levels"]]
    (tmp_path / "r.json").write_text(json.dumps(rubric))
    (tmp_path / "suite.yaml").write_text("""
name: s
benchmarks:
  b:
    source: table
    parts:
      - file: a.json
        columns: {item_id: id, prompt: q, references: refs, task: task}
        answers: [{model: m1, text: m1}, {model: m2, text: m2}]
      - {file: r.json, columns: {item_id: id}, rubrics: {criterion: {constant: good}, levels: levels}}
judges:
  lave: {protocol: lave, backend: openai, model: openai/gpt-4o-mini, api_key_variable: NO_SUCH_KEY}
  looks: {protocol: prometheus, backend: standin}
  reads: {protocol: prometheus, backend: standin, image: absent}
  partly: {protocol: harmonic, backend: standin}
metrics: [exact_match, bleu_4, clip_score]
""")
    lines = plan(capsys, tmp_path / "suite.yaml", "--lake", tmp_path / "lake").splitlines()
    lave = (
        "cases: 1 items are of the task caption, which lave does not judge (it judges vqa, document) "
        "(lave)"
    )
    assert lave in lines
    assert "cases: 1 answers equal another answer to their item, and share its verdict" in " ".join(
        lines
    )
    (references,) = [line for line in lines if line.startswith("no score: 1 of 4 items (q1)")]
    assert "the item has no reference answers; LAVE rates against references (lave)" in references
    (key,) = [line for line in lines if line.startswith("key: ")]
    assert "NO_SUCH_KEY is not set" in key
    (rubrics,) = [line for line in lines if "the item has no rubric" in line]
    assert rubrics.startswith("no score: 2 of 5 items (q2, q3)")
    assert rubrics.endswith("(looks, reads)")
    found = [line for line in lines if "the item has no image" in line]
    of_metric, of_criteria, of_prometheus = sorted(found)
    every = "5 of 5 items (q0, q1, q2, ...): the item has no image"
    assert of_metric == f"no score of clip_score: {every}"
    assert of_prometheus == f"no score: {every}; the judge looks at one (looks)"
    # clarity, fluency and conciseness see the text alone
    assert of_criteria == (
        f"no score of correctness, completeness, overall: {every}; the judge looks at one (partly)"
    )
    unreferred = "1 of 4 items (q1): the item has no reference answers"
    assert f"no score of exact_match: {unreferred}" in lines
    assert f"no score of bleu_4: {unreferred.replace('of 4', 'of 5')}" in lines


def test_it_names_items_whose_image_file_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of seven items one has its image, one none, four name files that are not there, one a URL."""
    uris = ["here.png", None, *(f"gone{n}.png" for n in range(4)), "https://example.org/x.png"]
    records = [{"id": f"q{n}", "image": uri, "a": "cat"} for n, uri in enumerate(uris)]
    (tmp_path / "a.json").write_text(json.dumps(records))
    Image.new("L", (8, 8)).save(tmp_path / "here.png")
    (tmp_path / "suite.yaml").write_text("""
name: s
benchmarks:
  b:
    source: table
    file: a.json
    task: caption
    columns: {item_id: id, images: image, answer: a, model: {constant: m}}
images: .
metrics: [clip_score, ref_clip_score, bleu_4]
""")
    lines = plan(capsys, tmp_path / "suite.yaml", "--lake", tmp_path / "lake").splitlines()
    clip = [line for line in lines if line.startswith("no score of clip_score, ref_clip_score: ")]
    assert [line.partition(": ")[2] for line in clip] == [
        "5 of 7 items (q2, q3, q4, ...): its image is not there or is damaged (see the quarantine), "
        "or is a URL, which metrics do not fetch",
        "1 of 7 items (q1): the item has no image",
    ]
    assert [line for line in lines if "bleu_4: 5 of" in line] == []


@pytest.mark.parametrize("width", [80, 120])
def test_the_plan_is_no_wider_than_the_terminal(
    suite_file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = plan(capsys, suite_file, "--lake", suite_file.parent / "lake").splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join("\n".join(lines).split()).startswith("judge lave model standin/rules items 40")
    assert "calls          80" in lines


def test_a_budget_is_held_against_the_estimate(
    suite_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = suite_file.read_text().replace(
        "max_attempts: 3}", "max_attempts: 3, price: {input: 10, output: 100}}"
    )

    def budget_line(budget: str) -> str:
        suite_file.write_text(
            text.replace("concurrency: 4", f"concurrency: 4, budget_usd: {budget}")
        )
        return plan(capsys, suite_file, "--lake", suite_file.parent / "lake").splitlines()[-1]

    # 80 calls of some 700 and 20 tokens: 80 x (0.007 + 0.002) = 0.7; at worst 256 tokens each: 80 x
    # 0.033 = 2.7
    assert budget_line("100") == "budget: $100.00 a run, which is enough"
    assert budget_line("1.5") == "budget: $1.50 a run, which should be enough"
    assert (
        budget_line("0.1")
        == "budget: $0.1 a run, which is not enough; the run stops there with exit code 4"
    )


def test_a_budget_without_a_price_is_refused(suite_file: Path) -> None:
    suite_file.write_text(
        suite_file.read_text().replace("concurrency: 4", "concurrency: 4, budget_usd: 1")
    )
    with pytest.raises(SuiteError, match="the price of 'standin/rules' at 127"):
        run_plan(
            make_parser().parse_args(
                ["plan", str(suite_file), "--lake", str(suite_file.parent / "lake")]
            )
        )


@pytest.mark.full
@pytest.mark.usefixtures("one_prefect")
def test_a_run_over_its_budget_ends_with_4_keeps_what_it_paid_for_and_goes_on(
    tmp_path: Path,
) -> None:
    write_benchmark(tmp_path, N)
    billing = Billing()
    with billing_endpoint(billing) as url, shell_in(tmp_path) as shell:
        suite_file, lake = write_suite(tmp_path, url, concurrency=4), tmp_path / "lake"
        text = suite_file.read_text().replace(
            "max_attempts: 3}", "max_attempts: 3, max_tokens: 50, price: {input: 10, output: 1000}}"
        )
        text = text.replace("metrics: [vqa_accuracy, exact_match, soft_vqa_accuracy]\n", "")
        suite_file.write_text(
            text.replace("concurrency: 4", "concurrency: 4, budget_usd: 0.6")
        )  # 20 of 80 replies at 0.03
        code, output = shell.run("run", str(suite_file), "--lake", str(lake))
        assert code == 4, output
        assert "budget: reached" in output
        (run,) = shell.select(
            lake, "select outcome, n_calls, round(cost_usd, 2) as usd from core_runs"
        )
        paid = shell.count(lake, "select count(*) from replies")
        assert run == {"outcome": "over budget", "n_calls": paid, "usd": round(BILLED * paid, 2)}
        assert f"{BILLED * paid:.2f} USD" in output
        assert 0.53 <= BILLED * paid <= 0.6
        suite_file.write_text(text)
        shell.run("run", str(suite_file), "--lake", str(lake))
        assert shell.count(lake, "select count(*) from replies") == 2 * N
