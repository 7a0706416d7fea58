"""`python -m tests.bench.bench_training [FOLDER [PART ...]]`: proves `judgelake train` on a small VLM
that begins with random weights and learns from drawn scenes what the oracle says of answers.

A wrong answer is the right one of another scene, so that it cannot be told without the picture. The
judge is tested on scenes of another seed and on questions whose texts it has never seen, beside the
reference metrics. It must agree with the oracle (Spearman 0.8), agree more than every metric, and
agree no more than a guess where it gets no image or another one, or has learnt shuffled verdicts.

Everything is kept in FOLDER: a part that was stopped goes on, and a finished one is only read.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import judgelake
from judgelake.tasks.training.card import write_card
from judgelake.tasks.training.judge_training import MANIFEST
from tests.bench.small_vlm import save_small_vlm
from tests.conftest import CHECKOUT

SCENE = "source: demo, pictures: shapes, tasks: [vqa], foils: true"
PHRASES = (
    "The picture shows",
    "The question is about",
    "A right answer is",
    "The response says",
    "So the overall score is",
    " [RESULT]",
    "\n[RESULT]",
)
TEMPLATE = "{{ instruction }} {{ response }}"
RUBRIC = """
- id: correctness
  criterion: Is the answer true of the picture?
  levels: [wrong, nearly wrong, half right, nearly right, right]
"""
HEAD = """
name: scenes
images: {folder}/images
benchmarks: {{{benchmarks}}}
judges:
  small: {{{judge}}}
"""
JUDGE = (
    "protocol: prometheus, backend: transformers, model: {folder}/judge, templates: {folder}, "
    "rubric_file: {folder}/rubric.yaml, samples: 1, temperature: 0.0, max_tokens: 200"
)
LEARNT = "learnt: {{{scene}, seed: {seed}, scenes: {scenes}, split: train, feedback: true{more}}}"
TESTED = "tested: {{{scene}, seed: 202, scenes: 300, split: test}}"
TRAINING = (
    "training: {{student: small, teacher: oracle, base: {folder}/base, benchmarks: [learnt], "
    "train: all, held_out: 0.01, gradient_checkpointing: false, epochs: 1, batch_size: 16, "
    "learning_rate: 1.5e-3, checkpoint_steps: 200, seed: {seed}, loss: {loss}}}\n"
)
ABLATIONS = (
    "  blind: {{{judge}, image: absent, on_unreadable: go on}}\n"
    "  misled: {{{judge}, image: swapped, on_unreadable: go on}}\n"
)
# a judge without its image may write on without an end: that is a figure, and no fault of the run
REST = (
    "metrics: [exact_match, vqa_accuracy, soft_vqa_accuracy, sbert_score]\n"
    "report: {min_coverage: 0.0}\n"
)
QUESTION = """
select alias, count(*) as n, count(judge) as scored, round(spearman(judge, human), 3) as rho
from scores_with_people where benchmark = 'tested' group by all order by all
"""
LEAST = 0.8
SHIPPED = CHECKOUT / "tasks" / "demo" / "judge"
CARD = """
It judges answers to questions about the demo's drawn scenes, and nothing else. Spearman's rho with
the oracle is {rho} on scenes and questions that it was not trained on.

Made by `python -m tests.bench.bench_training FOLDER proof ship`. sha256 of `model.safetensors`:
`{digest}`.
"""
JUDGES = ("small", "blind", "misled")


@dataclass(frozen=True)
class Part:
    """One training: its scenes, and the seeds of scenes, weights and order."""

    scenes: int
    seed: int
    more: str = ""
    loss: str = "reply"

    def write_suites(self, folder: Path) -> None:
        """What is learnt, and what is judged."""
        judge = JUDGE.format(folder=folder)
        learnt = LEARNT.format(
            scene=SCENE, seed=100 + self.seed, scenes=self.scenes, more=self.more
        )
        tested = TESTED.format(scene=SCENE)
        training = TRAINING.format(folder=folder, seed=6 + self.seed, loss=self.loss)
        (folder / "prometheus.txt").write_text(TEMPLATE)
        (folder / "rubric.yaml").write_text(RUBRIC)
        first = HEAD.format(folder=folder, benchmarks=learnt, judge=judge)
        (folder / "train.yaml").write_text(first + training)
        second = HEAD.format(folder=folder, benchmarks=tested, judge=judge)
        (folder / "test.yaml").write_text(second + ABLATIONS.format(judge=judge) + REST)


PARTS = {
    "proof": Part(10_000, 1),
    "seed_2": Part(5000, 2),
    "seed_3": Part(5000, 3),
    "labels_shuffled": Part(5000, 1, ", shuffled: true"),
    "prompt_loss": Part(5000, 2, loss="whole"),
}


def call(*words: object) -> None:
    """A command of judgelake, with at most two threads; its lines go to stderr."""
    threads = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"}
    command = [sys.executable, "-m", "judgelake.flows.cli", *map(str, words)]
    subprocess.run(command, check=True, stdout=sys.stderr, env=os.environ | threads)


def save_base(lake: Path, folder: Path, seed: int) -> None:
    """The untrained model; its tokenizer learns from what is asked, answered and said of it."""
    found = judgelake.open(str(lake))
    said = found.sql(
        "select distinct prompt, text from core_answers where benchmark = 'learnt' order by all"
    ).polars()
    verdicts = found.sql("select distinct text from stg_recorded_verdicts order by all").polars()
    texts = [f"{prompt} {text}" for prompt, text in said.iter_rows()]
    save_small_vlm(folder, texts + verdicts["text"].to_list(), seed, PHRASES)


def measure(folder: Path, part: Part) -> dict[str, float]:
    """Train and judge what is not done yet; Spearman's rho with the oracle of each judge and
    metric.
    """
    folder.mkdir(parents=True, exist_ok=True)
    part.write_suites(folder)
    lake, suite = folder / "lake", folder / "train.yaml"
    call("ingest", suite, "--lake", lake)
    if not (folder / "base").exists():
        save_base(lake, folder / "base", part.seed - 1)
    with timed("training"):
        call("train", suite, "--lake", lake)
    with timed("judging"):
        call("run", folder / "test.yaml", "--lake", lake)
    found = judgelake.open(str(lake))
    both = found.sql(
        "select count(*) from (select prompt from core_answers where benchmark = 'learnt' "
        "intersect select prompt from core_answers where benchmark = 'tested')"
    ).polars()
    assert both.item() == 0, "a question that was learnt is tested"
    rows = found.sql(QUESTION).polars()
    print(rows)
    return {alias: rho or 0.0 for alias, *_, rho in rows.iter_rows()}


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Prints the seconds of a block, and those of the processors in the commands that it calls."""
    began, used = time.perf_counter(), _count_cpu_s()
    yield
    wall_s, cpu_s = time.perf_counter() - began, _count_cpu_s() - used
    print(f"{what}: {wall_s:.0f} s, {cpu_s:.0f} s of processors", flush=True)


def _count_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def list_claims(name: str, all_rho: Mapping[str, dict[str, float]]) -> Iterator[tuple[str, bool]]:
    """What a part must show, and whether it does; `all_rho` holds it and the parts before it."""
    rho = all_rho[name]
    own, others = rho["small"], {alias: rho[alias] for alias in rho if alias not in JUDGES}
    if name == "labels_shuffled":
        yield f"shuffled verdicts leave |{own}| < 0.2", abs(own) < 0.2
        return
    if name == "prompt_loss":
        if "seed_2" in all_rho:  # the same with the loss of the verdict alone
            usual = all_rho["seed_2"]["small"]
            yield f"a loss on the prompt too leaves {own} < {usual}, without it", own < usual
        return
    best = max(others, key=lambda alias: others[alias])
    if name == "proof":
        yield f"rho {own} >= {LEAST}", own >= LEAST
    yield f"rho {own} > {others[best]} of {best}, the best metric", own > others[best]
    yield f"no image leaves {rho['blind']} < {own} / 2", rho["blind"] < own / 2
    yield f"another image leaves {rho['misled']} < {own} / 2", rho["misled"] < own / 2


def ship(judge: Path, rho: float) -> None:
    """Put a trained judge into the package, with a card that names no folder of this machine."""
    shutil.rmtree(SHIPPED, ignore_errors=True)
    shutil.copytree(judge, SHIPPED, copy_function=shutil.copyfile)
    manifest = json.loads((SHIPPED / MANIFEST).read_text())
    manifest["base"] = manifest["settings"]["base"] = "random weights of tests/bench/small_vlm.py"
    manifest["loss_by_step"] = [round(loss, 4) for loss in manifest["loss_by_step"]]
    (SHIPPED / MANIFEST).write_text(json.dumps(manifest, indent=1))
    write_card(SHIPPED, manifest)
    digest = sha256((SHIPPED / "model.safetensors").read_bytes()).hexdigest()
    card = (SHIPPED / "README.md").read_text() + CARD.format(rho=rho, digest=digest)
    (SHIPPED / "README.md").write_text(card)


def main() -> None:
    """Run the parts that are named, or all; `ship` puts the judge of `proof` into the package."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()).resolve()
    all_rho: dict[str, dict[str, float]] = {}
    failed = []
    for name in sys.argv[2:] or PARTS:
        if name == "ship":
            ship(folder / "proof" / "judge", all_rho["proof"]["small"])
            continue
        print(f"--- {name}: {PARTS[name]}", flush=True)
        all_rho[name] = measure(folder / name, PARTS[name])
        for claim, holds in list_claims(name, all_rho):
            print(f"{'holds' if holds else 'FAILS'}: {claim}", flush=True)
            failed += [] if holds else [claim]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
