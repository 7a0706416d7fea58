"""Small data sets in the formats that `infra/suites/papers` reads, with people and judges whose
agreement is planted: each judge says what people say, moved by noise of its own size.

What tables must show of them is computed in the tests, by pandas and scipy.
"""

import csv
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgelake.schemas.values import FAILURE_CATEGORIES
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.suite.suite import read_suite
from tests.conftest import CHECKOUT
from tests.lakes import Row, append_records, query
from tests.sources.tables import ingest

SUITES = CHECKOUT / "infra" / "suites" / "papers"
RESPONSE_MODELS = ("fuyu-8b", "llava-1.5-13b", "gpt-4v")
CRITERIA = ("correctness", "completeness", "clarity", "fluency", "conciseness")


def ingest_suite(name: str, folder: Path) -> Lake:
    """The lake with what a suite of papers reads; its data lie where JUDGELAKE_DATA says."""
    return ingest(read_suite(SUITES / f"{name}.yaml"), folder)


def write_csv(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_mmhe(
    data: Path, task: str, rng: np.random.Generator, n_items: int = 8
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One task of MMHE: three texts an input, three experts, five criteria. Returns the ratings and
    the choices.
    """
    models = ["gpt-4o", "llava", "qwen"]
    ratings, choices = [], []
    for number in range(n_items):
        truth = {model: rng.uniform(1, 5) for model in models}
        shared = {
            "id": f"{task}-{number}",
            "image": f"{task}-{number}.png",
            "input": f"Input {number} of {task}?",
            "references": f"the first of {number}|the second of {number}",
            **({"box": "[1, 1, 3, 3]"} if task == "reg" else {}),
        }
        for model, level in truth.items():
            for expert in ("e1", "e2", "e3"):
                rated = {
                    criterion: int(np.clip(round(level + rng.normal(0, 0.8)), 1, 5))
                    for criterion in CRITERIA
                }
                text = f"{model} on {number}"
                ratings.append(
                    {**shared, "model": model, "text": text, "annotator": expert, **rated}
                )
        for expert in ("e1", "e2", "e3"):
            best = max(models, key=lambda model: truth[model] + rng.normal(0, 0.5))
            choices.append(
                {"id": shared["id"], "models": "|".join(models), "best": best, "annotator": expert}
            )
    write_csv(data / "mmhe" / f"{task}.csv", ratings)
    write_csv(data / "mmhe" / "overall" / f"{task}.csv", choices)
    return pd.DataFrame(ratings), pd.DataFrame(choices)


def record_verdicts(lake: Lake, benchmark: str, judge: str, rows: pd.DataFrame) -> None:
    """Put a judge's ratings into the lake: item_id, answer_id, criterion, rating from 1 to 5, and
    sample, else 0.
    """
    own: Row = {"judge": judge, "benchmark": benchmark, "status": "ok"}
    own |= {"scale_low": 1.0, "scale_high": 5.0, "text": None, "reason": None}
    records = ({"sample": 0} | row | own for row in rows.to_dict("records"))
    _record(lake, "recorded_verdicts", benchmark, records)


def _record(lake: Lake, table: str, benchmark: str, rows: Iterable[Row]) -> None:
    """The rows as part of the benchmark's current ingest."""
    current = find_ingest(lake, benchmark)
    own = {"ingest_id": current, "source_file": "planted", "locator": "row"}
    append_records(lake, table, [row | own for row in rows])


@functools.cache
def find_ingest(lake: Lake, benchmark: str) -> str:
    """Planted lakes ingest a benchmark once."""
    (row,) = query(lake, f"select ingest_id from stg_ingests where benchmark = '{benchmark}'")
    return str(row["ingest_id"])


def record_scores(lake: Lake, benchmark: str, metric: str, rows: pd.DataFrame) -> None:
    """Put a metric's scores into the lake: item_id, answer_id, score."""
    own = {"metric": metric, "benchmark": benchmark}
    _record(lake, "recorded_scores", benchmark, (row | own for row in rows.to_dict("records")))


def write_lave(
    data: Path, benchmark: str, models: Sequence[str], rng: np.random.Generator, n_items: int = 40
) -> pd.DataFrame:
    """One data set of LAVE: the answers of models, each judged right or wrong by five people, and
    the failure modes of those that all five call right. Returns a row an answer.
    """
    folder = data / "lave" / benchmark
    ids = [f"q{number}" for number in range(n_items)]
    write_lines(
        folder / "questions.jsonl",
        (
            {
                "question_id": one,
                "question": f"What is {one}?",
                "answers": ["a cat", "cat", "dog"],
                "image": f"{one}.jpg",
            }
            for one in ids
        ),
    )
    write_lines(
        folder / "captions.jsonl", ({"image": f"{one}.jpg", "caption": f"Of {one}."} for one in ids)
    )
    rows = []
    for model in models:
        level = {one: rng.choice([0.05, 0.5, 0.97]) for one in ids}
        said = {one: (rng.random(5) < level[one]).astype(int).tolist() for one in ids}
        names = [f"annotator_{k}" for k in range(1, 6)]
        write_lines(
            folder / "answers" / f"{model}.jsonl",
            (
                {
                    "question_id": one,
                    "answer": f"{model} says {one}",
                    **dict(zip(names, said[one], strict=True)),
                }
                for one in ids
            ),
        )
        modes = {
            one: list(rng.choice(FAILURE_CATEGORIES, rng.integers(1, 3), replace=False))
            for one in ids
            if sum(said[one]) >= 4
        }
        write_lines(
            folder / "failures" / f"{model}.jsonl",
            (
                {"question_id": one, "categories": list(map(str, held))}
                for one, held in modes.items()
            ),
        )
        rows += [
            {
                "benchmark": benchmark,
                "model": model,
                "item_id": one,
                "votes": sum(said[one]),
                "modes": modes.get(one, []),
            }
            for one in ids
        ]
    frame = pd.DataFrame(rows)
    return frame.assign(
        answer_id=frame.model + "/short/0",
        people=frame.votes.map({5: 1.0, 4: 1.0, 3: 0.5, 2: 0.5, 1: 0.0, 0: 0.0}),
    )


def record_duels(lake: Lake, benchmark: str, judge: str, rows: pd.DataFrame) -> None:
    """Put a judge's choices (a, b) into the lake: question_id, model_a, model_b, criterion, choice;
    answers are long.
    """
    own: Row = {"judge": judge, "benchmark": benchmark, "sample": 0, "status": "ok"}
    own |= {"shown_first": "a", "score_a": None, "score_b": None, "text": None}
    own |= {"top_logprobs": [], "reason": None}
    made = (
        {
            "item_id": row.question_id,
            "answer_a": f"{row.model_a}/long/0",
            "answer_b": f"{row.model_b}/long/0",
            "criterion": row.criterion,
            "choice": row.choice,
            "preference_b": float(row.choice == "b"),
        }
        for row in rows.itertuples()
    )
    _record(lake, "recorded_duels", benchmark, (row | own for row in made))


def write_prometheus(
    data: Path, folder: str, name: str, n_items: int, n_rubrics: int, rng: np.random.Generator
) -> pd.DataFrame:
    """One benchmark of Prometheus-Vision with answers of two models, and nine people's scores of
    them; a row an answer, `people` their mean, `n_words` its length.
    """
    place, rows, scored = data / "prometheus_vision", [], []
    n_words: dict[tuple[Any, str], int] = {}
    for number in range(n_items):
        rubric = number % n_rubrics
        shared = {
            "id": f"{name}{number:03}",
            "image": f"{name}{number}.png",
            "instruction": f"Tell me of {number}.",
            "reference": f"All of {number}.",
            "rubric_id": f"r{rubric}",
            "criterion": f"Is it good at {rubric}?",
            "levels": [f"{level} of 5 at {rubric}" for level in range(1, 6)],
        }
        for model in RESPONSE_MODELS:
            level = rng.uniform(1, 5)
            scores = np.clip(np.round(level + rng.normal(0, 0.7, 9)), 1, 5).astype(int)
            said = " ".join([f"{model} on {number}", *["word"] * int(rng.integers(0, 30))])
            rows.append({**shared, "model": model, "response": said})
            n_words[shared["id"], model] = len(said.split())
            key = {"id": shared["id"], "model": model}
            scored += [{**key, "annotator": f"p{k}", "score": one} for k, one in enumerate(scores)]
    write_lines(place / folder / f"{name}.jsonl", rows)
    write_csv(place / folder / f"{name}_people.csv", scored)
    captions = [{"image": row["image"], "caption": "A picture."} for row in rows]
    write_lines(place / "captions.jsonl", captions)
    people = pd.DataFrame(scored).groupby(["id", "model"]).score.mean().rename("people")
    frame = people.reset_index()
    frame["n_words"] = [n_words[key] for key in zip(frame.id, frame.model, strict=True)]
    return frame.rename(columns={"id": "item_id", "model": "answer_id"})


def write_flickr8k(data: Path, rng: np.random.Generator, n_images: int = 24) -> pd.DataFrame:
    """Flickr8k Expert and CF in the files of their authors: each image beside captions of other
    images, three experts' ratings from 1 to 4, and the crowd's share. A row a rating: `benchmark`,
    `item_id`, `text`, `rating`, and how well the caption truly fits (`truth`, 0 to 1).
    """
    folder, rows = data / "flickr8k", []
    names = [f"{number:03}.jpg" for number in range(n_images)]
    own = {name: [f"Picture {name} seen {k} ." for k in range(3)] for name in names}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Flickr8k.token.txt").write_text(
        "".join(f"{name}#{k}\t{text}\n" for name in names for k, text in enumerate(own[name]))
    )
    experts, crowd = [], {}
    for place, name in enumerate(names):
        judged = []
        for step in (1, 2, 3):
            other, truth = names[(place + step) % n_images], float(rng.random())
            scores = np.clip(np.round(1 + 3 * truth + rng.normal(0, 0.5, 3)), 1, 4).astype(int)
            experts.append("\t".join([name, f"{other}#0", *map(str, scores)]))
            shared = {"item_id": name, "text": own[other][0], "truth": truth}
            rows += [{**shared, "benchmark": "flickr8k_expert", "rating": int(s)} for s in scores]
            share = round(float(np.clip(truth + rng.normal(0, 0.2), 0, 1)), 2)
            judged.append({"image_path": name, "caption": own[other][1], "rating": share})
            about = {"item_id": f"k{place}", "text": own[other][1], "truth": truth}
            rows.append({**about, "benchmark": "flickr8k_cf", "rating": share})
        experts.append("\t".join([name, f"{name}#1", "4", "4", "4"]))  # its own caption
        crowd[f"k{place}"] = {
            "image_path": name,
            "ground_truth": own[name],
            "human_judgement": judged,
        }
    (folder / "ExpertAnnotations.txt").write_text("\n".join(experts) + "\n")
    (folder / "crowdflower_flickr8k.json").write_text(json.dumps(crowd))
    return pd.DataFrame(rows)
