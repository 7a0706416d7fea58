"""AlpacaEval's files: what each record becomes, ties and missing verdicts, and what is said of a
record that becomes nothing.
"""

import json
from pathlib import Path

import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.lake.lake import Lake, open_lake
from judgelake.tasks.sources.alpaca_eval import AlpacaEvalSettings, read_alpaca_eval, source_files
from judgelake.tasks.sources.ingestion import IngestSummary, ingest_benchmark
from judgelake.tasks.sources.registry import BenchmarkSettings
from tests.lakes import query

Record = dict[str, object]


def record(preference: object = 2, instruction: str = "Say hi.", **more: object) -> Record:
    row: Record = {
        "instruction": instruction,
        "output_1": "hi",
        "generator_1": "base",
        "dataset": "koala",
    }
    return {
        **row,
        "output_2": "hello",
        "generator_2": "model",
        "annotator": "judge",
        "preference": preference,
        **more,
    }


def write(folder: Path, name: str, *records: object) -> AlpacaEvalSettings:
    (folder / name).write_text(json.dumps(list(records)))
    return AlpacaEvalSettings((folder / "*__*.json",))


def ingest(settings: AlpacaEvalSettings, folder: Path) -> tuple[Lake, IngestSummary]:
    lake = open_lake(folder / "lake", create=True)
    return lake, ingest_benchmark(
        lake, BenchmarkSettings("alpaca", "alpaca_eval", settings), folder / "images", None
    )


@pytest.mark.parametrize(
    ("preference", "choice", "share"),
    [
        (1, "a", 0.0),
        (2, "b", 1.0),
        (2.0, "b", 1.0),
        (0, "tie", 0.5),
        (0.0, "tie", 0.5),
        (1.5, "tie", 0.5),
        (1.25, "a", 0.25),
        (1.75, "b", 0.75),
    ],
)
def test_a_preference_is_a_share_of_the_win(
    tmp_path: Path, preference: float, choice: str, share: float
) -> None:
    duels = read_alpaca_eval(
        write(tmp_path, "model__judge.json", record(preference))
    ).recorded_duels
    [row] = duels.to_dicts()
    assert (row["choice"], row["preference_b"], row["status"]) == (choice, share, "ok")
    assert (row["judge"], row["criterion"], row["text"], row["top_logprobs"]) == (
        "judge",
        "overall",
        None,
        [],
    )
    assert (row["answer_a"].split("/")[0], row["answer_b"].split("/")[0]) == ("base", "model")


@pytest.mark.parametrize(("raw", "status"), [(None, "failed"), ("I cannot say.", "unparsed")])
def test_a_null_is_a_missing_verdict(tmp_path: Path, raw: str | None, status: str) -> None:
    rows = [record(2), record(None, "Say no.", raw_completion=raw)]
    lake, _ = ingest(write(tmp_path, "model__judge.json", *rows), tmp_path)
    held = query(
        lake,
        "select status, choice, preference_b, text, reason from recorded_duels where status != 'ok'",
    )
    reason = "the file holds no verdict (preference is null)"
    assert held == [
        {"status": status, "choice": None, "preference_b": None, "text": raw, "reason": reason}
    ]
    rates = query(
        lake,
        "select model_a, n, wins, ties, losses, win_rate from rpt_win_rate where model_a = 'model'",
    )
    assert rates == [
        {"model_a": "model", "n": 1, "wins": 1, "ties": 0, "losses": 0, "win_rate": 1.0}
    ]


@pytest.mark.parametrize("preference", [3, -1, 0.5, 2.01, True, "2", [1], 1e400])
def test_any_other_preference_is_reported(tmp_path: Path, preference: object) -> None:
    if preference == 1e400:
        (tmp_path / "model__judge.json").write_text(
            json.dumps([record()]).replace('"preference": 2', '"preference": 1e400')
        )
        settings = AlpacaEvalSettings((tmp_path / "*.json",))
        with pytest.raises(SourceError, match=r"model__judge\.json:1:\d+: is not valid JSON"):
            read_alpaca_eval(settings)
        return
    frames = read_alpaca_eval(write(tmp_path, "model__judge.json", record(preference)))
    assert (frames.answers.height, frames.recorded_duels.height) == (2, 0)
    [rejected] = frames.rejected
    assert (rejected.locator, rejected.column_name, rejected.value) == (
        "record 0",
        "preference",
        str(preference),
    )


def test_a_reply_keeps_its_text_and_log_probabilities(tmp_path: Path) -> None:
    position = {
        "token": "M",
        "logprob": -0.5,
        "top_logprobs": [{"token": "M", "logprob": -0.5}, {"token": "m", "logprob": -1}],
    }
    cut = {"token": "?", "logprob": -9.0, "top_logprobs": [{"token": "M", "logprob": -0.1}]}
    whole = {"message": {"content": "M"}, "text": "M", "logprobs": {"content": [position, cut]}}
    odd = [
        {"message": {"content": "m"}},
        {"text": 7, "logprobs": {"content": None}},
        "m",
        7,
        {"logprobs": {"content": [None, {}]}},
    ]
    records = [
        record(1.9, str(number), raw_completion=raw) for number, raw in enumerate([whole, *odd])
    ]
    duels = read_alpaca_eval(write(tmp_path, "model__judge.json", *records)).recorded_duels
    assert duels["text"].to_list() == ["M", "m", None, "m", None, None]
    first = [{"token": "M", "logprob": -0.5}, {"token": "m", "logprob": -1.0}]
    assert duels["top_logprobs"].to_list()[0] == [
        first,
        [{"token": "?", "logprob": -9.0}, {"token": "M", "logprob": -0.1}],
    ]
    assert duels["top_logprobs"].to_list()[1:] == [[], [], [], [], [[]]]


def test_answers_repeat_across_files_and_different_texts_stay_apart(tmp_path: Path) -> None:
    """The baseline's text is in all three files; the model's differs in the last: five answers
    reported, three kept.
    """
    write(tmp_path, "model__judge.json", record(2))
    write(tmp_path, "model__other.json", record(1))
    settings = write(tmp_path, "model__third.json", record(1, output_2="good day"))
    lake, summary = ingest(settings, tmp_path)
    assert summary == IngestSummary("alpaca", n_items=1, n_answers=3, n_quarantined=0)
    held = query(lake, "select model, text, n_repeats from answers order by model, text")
    assert [tuple(row.values()) for row in held] == [
        ("base", "hi", 3),
        ("model", "good day", 1),
        ("model", "hello", 2),
    ]
    seen = query(
        lake,
        "select judge, b.text as text from recorded_duels d join answers b on b.answer_id = "
        "d.answer_b order by judge",
    )
    assert [tuple(row.values()) for row in seen] == [
        ("judge", "hello"),
        ("other", "hello"),
        ("third", "good day"),
    ]


def test_an_instruction_that_stands_twice(tmp_path: Path) -> None:
    """Equal records are one; other answers to it are another duel; another verdict on the same
    answers is reported, since one must be wrong.
    """
    rows = [record(2), record(2), record(1, output_2="bye"), record(1, dataset="oasst")]
    lake, summary = ingest(write(tmp_path, "model__judge.json", *rows), tmp_path)
    assert (summary.n_items, summary.n_quarantined) == (2, 0)
    assert query(lake, "select count(*) as n from recorded_duels") == [{"n": 3}]
    _, summary = ingest(
        write(tmp_path, "model__judge.json", record(2), record(1), record(2, "Say no.")), tmp_path
    )
    assert (summary.n_items, summary.n_answers, summary.n_quarantined) == (2, 4, 2)


def test_records_in_any_order_make_the_same_rows(tmp_path: Path) -> None:
    rows = [record(1 + k % 2, f"Say {k}.", output_2=f"text {k}") for k in range(5)]
    one = read_alpaca_eval(write(tmp_path, "model__judge.json", *rows))
    two = read_alpaca_eval(write(tmp_path, "model__judge.json", *reversed(rows)))
    for (name, first), (_, second) in zip(one.tables(), two.tables(), strict=True):
        keys = [
            column
            for column in first.columns
            if column not in ("locator", "images", "regions", "references", "top_logprobs")
        ]
        assert first.select(keys).sort(keys).equals(second.select(keys).sort(keys)), name


def test_a_record_without_its_texts_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    rows = [record(), record(output_2=None), "text", {"instruction": "x"}]
    frames = read_alpaca_eval(write(tmp_path, "model__judge.json", *rows))
    assert [(one.locator, one.column_name) for one in frames.rejected] == [
        ("record 1", "output_2"),
        ("record 2", None),
        ("record 3", "output_1"),
    ]
    assert frames.recorded_duels.height == 1


def test_leaderboards_are_published_scores(tmp_path: Path) -> None:
    write(tmp_path, "model__judge.json", record())
    (tmp_path / "judge_leaderboard.csv").write_text(
        ",win_rate,length_controlled_winrate\nm,50.5,40\nn,x,\no,1\n"
    )
    settings = AlpacaEvalSettings((tmp_path / "*__*.json",), (tmp_path / "*.csv",))
    frames = read_alpaca_eval(settings)
    scores = [tuple(row) for row in frames.benchmark_scores.iter_rows()]
    place = ("judge_leaderboard.csv", "line 2")
    assert scores == [("m", "judge", 50.5, *place), ("m", "judge:length_controlled", 40.0, *place)]
    assert [(one.locator, one.column_name, one.value) for one in frames.rejected] == [
        ("line 3", "win_rate", "x"),
        ("line 4", None, "o,1"),
    ]
    assert [file.name for file in source_files(settings)] == [
        "model__judge.json",
        "judge_leaderboard.csv",
    ]


def test_file_names_say_the_judge(tmp_path: Path) -> None:
    write(tmp_path, "model.json", record())
    with pytest.raises(
        SourceError,
        match=r"model\.json: its name says no judge; expected <model>__<judge>\.json; rename it",
    ):
        source_files(AlpacaEvalSettings((tmp_path / "*.json",)))
    with pytest.raises(SourceError, match="no file matches"):
        source_files(AlpacaEvalSettings((tmp_path / "*__*.json",)))
    (tmp_path / "m__j.json").write_text("[]")
    (tmp_path / "board.csv").write_text(",win_rate\n")
    with pytest.raises(SourceError, match=r"board\.csv: its name says no judge"):
        source_files(AlpacaEvalSettings((tmp_path / "m__j.json",), (tmp_path / "board.csv",)))
    (tmp_path / "x_leaderboard.csv").write_text("model,rate\n")
    with pytest.raises(SourceError, match="header lacks '', 'win_rate'"):
        read_alpaca_eval(
            AlpacaEvalSettings((tmp_path / "m__j.json",), (tmp_path / "x_leaderboard.csv",))
        )
