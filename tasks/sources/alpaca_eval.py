"""Source `alpaca_eval`: AlpacaEval's annotation files, each a judge's verdicts on one model against
the baseline, and its leaderboards.

Format: github.com/tatsu-lab/alpaca_eval, `annotations.json` and `leaderboard.csv`; here named
`<model>__<judge>.json` and `<judge>_leaderboard.csv`. A duel's answer a is `output_1` (the
baseline), b is `output_2` (the model that is evaluated).
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SourceError
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.sources.frames import SourceFrames, frame_schema
from judgelake.tasks.sources.kind import Source
from judgelake.tasks.sources.readers.delimited import read_csv_rows
from judgelake.tasks.sources.readers.json_records import read_records
from judgelake.tasks.sources.readers.lines import Rejects, find_files

VERSION = 1
CRITERION = "overall"
_LEADERBOARD = "_leaderboard.csv"
_RATES = {"win_rate": "", "length_controlled_winrate": ":length_controlled"}
_REMEDY = "correct the record in the file and ingest again"
_Row = dict[str, object]


@frozen_settings
class AlpacaEvalSettings:
    """`verdicts` and `leaderboards` are paths, globs too; a leaderboard's file name says whose
    verdicts its win rates are.
    """

    verdicts: tuple[SuitePath, ...]
    leaderboards: tuple[SuitePath, ...] = ()


class _DuelVerdict(NamedTuple):
    status: str
    choice: str | None
    preference_b: float | None
    reason: str | None


def source_files(settings: AlpacaEvalSettings) -> list[Path]:
    """All files this source reads; raises SourceError for a path that finds none, or a name that
    says no judge.
    """
    verdicts = find_files(settings.verdicts, "annotations named <model>__<judge>.json")
    leaderboards = find_files(settings.leaderboards, "leaderboards named <judge>_leaderboard.csv")
    for file in verdicts:
        _judge_of(file)
    for file in leaderboards:
        if not file.name.endswith(_LEADERBOARD):
            raise SourceError(
                f"{file}: its name says no judge; expected <judge>{_LEADERBOARD}; rename it"
            )
    return [*verdicts, *leaderboards]


def read_alpaca_eval(settings: AlpacaEvalSettings) -> SourceFrames:
    """Instructions, both models' answers, the duels and the published win rates.

    An answer's id is its model and the digest of its text: the baseline's answer is one row however
    many files repeat it, and two files that give one model different texts for an instruction keep
    both, each duel with the text that its judge saw.
    """
    rejects = Rejects()
    items: dict[str, _Row] = {}
    answers: list[_Row] = []
    duels: list[_Row] = []
    for file in find_files(settings.verdicts, "annotations"):
        for place, record in _records(file, rejects):
            row = {"source_file": place[0], "locator": place[1]}
            item = _item(record)
            items.setdefault(str(item["item_id"]), item | row)
            sides = [_answer(str(item["item_id"]), record, side) | row for side in ("1", "2")]
            answers += sides
            if duel := _duel(_judge_of(file), sides, record, place, rejects):
                duels.append(duel | row)
    tables = {"items": list(items.values()), "answers": answers, "recorded_duels": duels}
    tables["benchmark_scores"] = [
        row
        for file in find_files(settings.leaderboards, "leaderboards")
        for row in _scores(file, rejects)
    ]
    frames = {name: pl.DataFrame(rows, schema=frame_schema(name)) for name, rows in tables.items()}
    return SourceFrames(**frames, rejected=tuple(rejects), notes=())


def _judge_of(file: Path) -> str:
    _, mark, judge = file.stem.rpartition("__")
    if not mark or not judge:
        raise SourceError(
            f"{file}: its name says no judge; expected <model>__<judge>.json; rename it"
        )
    return judge


def _records(file: Path, rejects: Rejects) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    """Records whose texts are all there, with their places; the others go to `rejects`."""
    for number, record in enumerate(read_records(file, "annotations")):
        place = (file.name, f"record {number}")
        if not isinstance(record, dict):
            rejects.add(
                "recorded_duels", place, None, record, "the record is no object with keys", _REMEDY
            )
            continue
        bad = next((key for key in _TEXTS if not isinstance(record.get(key), str)), None)
        if bad is not None:
            rejects.add(
                "recorded_duels",
                place,
                bad,
                record.get(bad),
                f"the {bad} is missing or not text",
                _REMEDY,
            )
        else:
            yield place, record


_TEXTS = ("instruction", "output_1", "output_2", "generator_1", "generator_2")


def _item(record: Mapping[str, Any]) -> _Row:
    """An instruction; its id is the digest of data set and instruction, so every file names it
    alike, in any order.
    """
    category = str(record["dataset"]) if record.get("dataset") is not None else None
    item_id = digest_json([category, record["instruction"]])[:16]
    bare: _Row = {"references": [], "images": [], "regions": [], "split": None}
    named: _Row = {
        "item_id": item_id,
        "task": "instruction",
        "prompt": record["instruction"],
        "category": category,
    }
    return {**named, **bare, "cluster": f"item:{item_id}"}


def _answer(item_id: str, record: Mapping[str, Any], side: str) -> _Row:
    model, text = record[f"generator_{side}"], record[f"output_{side}"]
    answer_id = f"{model}/{digest_json(text)[:12]}"
    return {
        "item_id": item_id,
        "answer_id": answer_id,
        "model": model,
        "style": "long",
        "sample": 0,
        "text": text,
    }


def _duel(
    judge: str,
    sides: list[_Row],
    record: Mapping[str, Any],
    place: tuple[str, str],
    rejects: Rejects,
) -> _Row | None:
    text, logprobs = _read_reply(record.get("raw_completion"))
    verdict = _read_preference(record.get("preference"), text)
    if verdict is None:
        reason = "the preference is neither 0, nor from 1 to 2, nor null"
        rejects.add(
            "recorded_duels", place, "preference", record.get("preference"), reason, _REMEDY
        )
        return None
    pair: _Row = {
        "item_id": sides[0]["item_id"],
        "answer_a": sides[0]["answer_id"],
        "answer_b": sides[1]["answer_id"],
    }
    reply: _Row = {
        "judge": judge,
        "criterion": CRITERION,
        "sample": 0,
        "text": text,
        "top_logprobs": logprobs,
    }
    return {
        **pair,
        **reply,
        **verdict._asdict(),
        "shown_first": None,
        "score_a": None,
        "score_b": None,
    }


def _read_preference(preference: object, text: str | None) -> _DuelVerdict | None:
    """1: `output_1` is preferred, 2: `output_2`, between them a share; 0 (in old files) or 1.5: a
    tie; null: no verdict. Else None.
    """
    if preference is None:
        return _DuelVerdict(
            "unparsed" if text else "failed",
            None,
            None,
            "the file holds no verdict (preference is null)",
        )
    if (
        isinstance(preference, bool)
        or not isinstance(preference, int | float)
        or not math.isfinite(preference)
    ):
        return None
    share = 0.5 if preference == 0 else preference - 1.0
    if not 0 <= share <= 1:
        return None
    return _DuelVerdict("ok", "tie" if share == 0.5 else "b" if share > 0.5 else "a", share, None)


def _read_reply(raw: object) -> tuple[str | None, list[list[_Row]]]:
    """The reply's text and, position by position, its tokens' log-probabilities; as an OpenAI
    choice or as text alone.
    """
    if not isinstance(raw, dict):
        return (raw if isinstance(raw, str) else None), []
    message, logprobs = raw.get("message"), raw.get("logprobs")
    text = raw.get("text", message.get("content") if isinstance(message, dict) else None)
    positions = logprobs.get("content") if isinstance(logprobs, dict) else None
    return (text if isinstance(text, str) else None), [
        _alternatives(position) for position in positions or [] if isinstance(position, dict)
    ]


def _alternatives(position: Mapping[str, Any]) -> list[_Row]:
    """The tokens at one position, the chosen one first."""
    logprobs = {
        entry.get("token"): entry.get("logprob")
        for entry in (position, *(position.get("top_logprobs") or ()))
        if isinstance(entry, dict)
    }
    return [
        {"token": token, "logprob": float(value)}
        for token, value in logprobs.items()
        if isinstance(value, int | float)
    ]


def _scores(file: Path, rejects: Rejects) -> Iterator[_Row]:
    """Win rates in per cent as published; the leaderboard's first column, without a name, is the
    model.
    """
    judge = file.name.removesuffix(_LEADERBOARD)
    for place, cells in read_csv_rows(file, ("", "win_rate"), "benchmark_scores", rejects):
        for column, suffix in _RATES.items():
            text = cells.get(column, "").strip()
            if not text:
                continue
            try:
                score = float(text)
            except ValueError:
                rejects.add("benchmark_scores", place, column, text, "the score is not a number")
                continue
            yield {
                "model": cells[""],
                "published_benchmark": judge + suffix,
                "score": score,
                "source_file": place[0],
                "locator": place[1],
            }


SOURCE = Source(
    "alpaca_eval",
    AlpacaEvalSettings,
    VERSION,
    source_files,
    lambda settings, _: read_alpaca_eval(settings),
)
