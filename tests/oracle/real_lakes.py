"""Suites over the real inputs that together fill every report view: recorded judges, metrics and
the stand-in, no network. What nobody published of them (people's ratings of OK-VQA's answers, who
chose which answer, labels) is planted by a generator, over the real items and answers.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

_TAIL = "report: {resamples: 20}\n"
N_ITEMS = {"nq301": 150, "vicuna": 40, "flickr8k": 40, "owleval": 6}
"""Lake -> how many items of each benchmark; of OK-VQA as many as something is planted for."""
N_PLANTED = 60

_SUITES = {
    "nq301": """
name: nq301
benchmarks:
  nq301:
    source: nq301
    answers: {data}/nq301/NQ301_human.tsv
    references: {data}/nq301/NQ301_BEM.tsv
    judges: {gpt-4: {data}/nq301/NQ301_gpt-4.tsv, bem: {data}/nq301/NQ301_BEM.tsv}
    undecided: 0.5
metrics: [exact_match]
""",
    "vicuna": """
name: vicuna
benchmarks:
  vicuna_pairs:
    source: fastchat
    questions: {data}/vicuna_pairs/question.jsonl
    answers: ["{data}/vicuna_pairs/answer_*.jsonl"]
    reviews: ["{data}/vicuna_pairs/review_*.jsonl"]
    judge: gpt-4
    human: {data}/vicuna_pairs/review_gpt35_vicuna-13b_human.txt
    human_labels: {CHATGPT: "gpt-3.5-turbo:20230327", VICUNA13B: "vicuna-13b:20230322-clean-lang"}
  llmbar:
    source: table
    parts:
      - file: {data}/llmbar/{subset}_{judge}_Vanilla/result.json
        columns: {item_id: input, prompt: input, category: subset}
        answers:
          - {model: output_1, text: output_1}
          - {model: output_2, text: output_2}
        preferences: {choice: label, values: {1: a, 2: b}, annotator: {constant: label}}
        judge_duels:
          - judge: {from: judge}
            shown_first: {constant: a}
            choice: "results[0].swap = False.winner"
            values: {1: a, 2: b}
          - judge: {from: judge}
            shown_first: {constant: b}
            choice: "results[0].swap = True.winner"
            values: {1: a, 2: b}
      - file: {planted}/models.csv
        models: {model: model, family: family, llm_parameters_b: size}
""",
    "flickr8k": """
name: flickr8k
benchmarks:
  flickr8k:
    source: flickr8k
    annotations: {data}/flickr8k/ExpertAnnotations.txt
    captions: {data}/flickr8k/Flickr8k.token.txt
    fleur: {data}/flickr8k/fleur_flickr8k_expert.txt
    drop_own: true
metrics: [bleu_1, bleu_4]
""",
    "owleval": """
name: owleval
images: {data}/owleval/images
benchmarks:
  owleval:
    source: owleval
    questions: {data}/owleval/questions.jsonl
    answers: ["{data}/owleval/*_answer.jsonl"]
judges:
  simple: {protocol: chirp, style: simple, criteria: [overall], backend: standin}
  simple-absent: {protocol: chirp, style: simple, criteria: [overall], image: absent, backend: standin}
  drawn: {protocol: chirp, style: reasoning, criteria: [overall], matchups: 5, both_orders: false, backend: standin}
  captions: {protocol: captions, backend: standin}
  prometheus: {protocol: prometheus, backend: standin, rubric_file: {suites}/rubrics/answers.yaml}
  prometheus-text: {protocol: prometheus, backend: standin, rubric_file: {suites}/rubrics/answers.yaml, image: absent, caption: captions}
  prometheus-swapped: {protocol: prometheus, backend: standin, rubric_file: {suites}/rubrics/answers.yaml, samples: 1, image: swapped}
  feedback: {protocol: feedback_preference, backend: standin, feedback_of: [prometheus, prometheus-text], rubric_file: {suites}/rubrics/answers.yaml}
""",
    "okvqa": """
name: okvqa
benchmarks:
  okvqa: &okvqa
    source: table
    parts:
      - file: {planted}/questions.json
        columns: {item_id: question_id, prompt: question, references: answer, category: dataset}
      - file: {planted}/VinVL.json
        columns: {item_id: question_id, answer: answer, model: {constant: gpt-3}, style: {constant: short}}
      - file: {planted}/VinVLTag.json
        columns: {item_id: question_id, answer: answer, model: {constant: gpt-3}, style: {constant: long}}
      - file: {planted}/5GT.json
        columns: {item_id: question_id, answer: answer, model: {constant: captions}, style: {constant: short}}
      - file: {planted}/ratings.csv
        columns: &one {item_id: item_id, answer_id: answer_id}
        human_ratings: {rating: correct, annotator: annotator, scale: [0, 1]}
      - file: {planted}/fluency.csv
        columns: *one
        human_ratings: {rating: rating, annotator: annotator, scale: [1, 5], criterion: fluency}
        failure_labels: {labels: why, labeller: annotator}
      - file: {planted}/judges.csv
        columns: *one
        judge_verdicts:
          - {judge: gpt-4, rating: judged, scale: [1, 5], criterion: quality}
          - {judge: grader, rating: graded, scale: [0, 1]}
      - file: {planted}/choices.csv
        columns: {item_id: item_id}
        choice_sets: {chosen: chosen, annotator: annotator, answers: {from: shown, split: "|"}, criterion: fluency}
        item_labels: {columns: {wrong: ground truth is wrong}, labeller: annotator}
      - file: {planted}/models.csv
        models: {model: model, family: family, llm_parameters_b: size}
        benchmark_scores: {model: model, scores: {mme: MME, pope: POPE}}
  okvqa_again: *okvqa
metrics: [vqa_accuracy, exact_match, soft_vqa_accuracy]
judges:
  lave: {protocol: lave, backend: standin}
  why: {protocol: failure_labels, backend: standin, image: absent, rationale: false}
report: {resamples: 20, tests: [williams, perm_both, replicates]}
""",
}


def write_suites(folder: Path, data: Path, suites: Path) -> Mapping[str, Path]:
    """Lake -> the file of its suite in `folder`, beside what is planted."""
    planted = folder / "planted"
    planted.mkdir()
    _plant(planted, data)
    places = {"{data}": data, "{planted}": planted, "{suites}": suites}
    files = {}
    for name, text in _SUITES.items():
        for place, path in places.items():
            text = text.replace(place, str(path))
        files[name] = folder / f"{name}.yaml"
        files[name].write_text(text if "report:" in text else text + _TAIL)
    return files


def _plant(folder: Path, data: Path) -> None:
    """The first items and answers of OK-VQA, and what people and recorded judges say of them."""
    rng = np.random.default_rng(5)
    questions = json.loads((data / "okvqa" / "okvqa_val_eval.json").read_text())[:N_PLANTED]
    items = [question["question_id"] for question in questions]
    _write_json(folder / "questions.json", questions)
    for name in ("VinVL", "VinVLTag", "5GT"):
        (file,) = (data / "okvqa").glob(f"coco14_promptC_gpt3_{name}_n16_*.json")
        answers = [row for row in json.loads(file.read_text()) if row["question_id"] in items]
        _write_json(folder / f"{name}.json", answers)
    ids = ["gpt-3/short/0", "gpt-3/long/0", "captions/short/0"]
    quality = {(item, answer): rng.choice((0.05, 0.5, 0.95)) for item in items for answer in ids}
    _write_csv(folder / "ratings.csv", "item_id answer_id annotator correct", [
        (*key, f"p{person}", int(rng.random() < good))
        for key, good in quality.items() for person in range(5)
    ])  # fmt: skip
    names = ["synonym", "hypernym", "broad_question", "incorrect", ""]
    _write_csv(folder / "fluency.csv", "item_id answer_id annotator rating why", [
        (*key, f"p{person}", 1 + rng.binomial(4, good), rng.choice(names))
        for key, good in quality.items() for person in range(2)
    ])  # fmt: skip
    _write_csv(folder / "judges.csv", "item_id answer_id judged graded", [
        (*key, 1 + rng.binomial(4, 0.2 + 0.6 * good), int(rng.random() < good))
        for key, good in quality.items()
    ])  # fmt: skip
    _write_csv(folder / "choices.csv", "item_id chosen shown annotator wrong", [
        (item, rng.choice(ids), "|".join(ids), f"p{person}", rng.choice(("yes", "no", "")))
        for item in items for person in range(2)
    ])  # fmt: skip
    _write_csv(folder / "models.csv", "model family size mme pope", [
        ("gpt-3", "gpt", 175, 1200.5, 80.25), ("captions", "oscar", 0.3, 900, 85.5),
        ("output_1", "one", 7, "", ""), ("output_2", "two", 13, "", ""),
    ])  # fmt: skip


def _write_json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content))


def _write_csv(file: Path, header: str, rows: Iterable[tuple[object, ...]]) -> None:
    with file.open("w", newline="") as lines:
        csv.writer(lines).writerows([header.split(), *rows])
