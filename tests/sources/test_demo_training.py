"""What the demo source draws for training: foils, splits of questions, the oracle's feedback, and
shuffled verdicts.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from judgelake.tasks.errors import SuiteError
from judgelake.tasks.sources.demo import draw_demo, find_split
from judgelake.tasks.sources.frames import SourceFrames
from judgelake.tasks.sources.registry import DemoSettings
from judgelake.tasks.suite.suite import read_suite

SCENES = 150
KEYS = ["item_id", "answer_id"]


def draw(folder: Path, **settings: Any) -> SourceFrames:
    given = {"only_scenes": True, "tasks": ["vqa"], "with_foils": True, **settings}
    return draw_demo(3, SCENES, folder, **given)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> SourceFrames:
    return draw(tmp_path_factory.mktemp("images"), with_feedback=True)


def judge_by_words(frames: SourceFrames) -> float:
    """Pearson's correlation of the oracle's ratings with the mean rating of the other answers
    the same words (first two and last) to the same kind of question.
    """
    rows = (
        frames.answers.filter(style="short")
        .join(frames.items.select("item_id", "category"), on="item_id")
        .join(frames.human_ratings.select(*KEYS, "rating"), on=KEYS)
    )
    alike = pl.sum("rating").over("category", "text"), pl.len().over("category", "text")
    others = rows.filter(alike[1] > 2).with_columns(
        ((alike[0] - pl.col("rating")) / (alike[1] - 1)).alias("guess")
    )
    found = others.select(pl.corr("guess", "rating")).item()
    return float(found)


def test_who_sees_the_words_alone_cannot_tell_a_foil(drawn: SourceFrames, tmp_path: Path) -> None:
    assert judge_by_words(draw(tmp_path, with_foils=False)) > 0.6
    assert judge_by_words(drawn) < 0.35


def test_a_foil_is_the_right_answer_elsewhere(drawn: SourceFrames) -> None:
    """No answer is half right, and what is wrong in one place is right in another."""
    rated = (
        drawn.answers.filter(style="short")
        .join(drawn.items.select("item_id", "category", "prompt"), on="item_id")
        .join(drawn.human_ratings.select(*KEYS, "rating"), on=KEYS)
    )
    assert set(rated["rating"]) == {0.0, 1.0}
    right = set(rated.filter(rating=1.0)["text"])
    wrong = rated.filter(rating=0.0)["text"].to_list()
    assert sum(text in right for text in wrong) > 0.85 * len(wrong)
    on_one_item = rated.group_by("item_id", "text").agg(pl.col("rating").n_unique())
    assert on_one_item["rating"].max() == 1


def test_questions_of_the_splits_differ_in_text(drawn: SourceFrames, tmp_path: Path) -> None:
    train, test = (set(draw(tmp_path, split=split).items["prompt"]) for split in ("train", "test"))
    assert train | test == set(drawn.items["prompt"])
    assert not train & test
    assert all(find_split(prompt) == "test" for prompt in test)
    assert 0.1 < len(test) / len(train | test) < 0.4
    assert set(draw(tmp_path, split="train").items["split"]) == {"train"}


def test_the_oracle_says_what_the_picture_shows_and_what_is_right(drawn: SourceFrames) -> None:
    """Its listing has as many things as the caption of the same picture, and every one of them."""
    verdicts = (
        drawn.recorded_verdicts.join(drawn.human_ratings.select(*KEYS, people="rating"), on=KEYS)
        .join(drawn.items.select("item_id", "prompt", "images"), on="item_id")
        .join(drawn.answers.select(*KEYS, answer="text"), on=KEYS)
        .with_columns(image_uri=pl.col("images").list.first().struct.field("uri"))
        .join(drawn.captions.select("image_uri", caption="text"), on="image_uri")
    )
    assert verdicts.height == drawn.answers.height
    assert set(verdicts["judge"]) == {"oracle"}
    said_so = pl.col("text").str.contains(pl.format("answer is {}", "answer"), literal=True)
    assert verdicts.select(said_so.sum()).item() > 50
    for row in verdicts.iter_rows(named=True):
        assert row["rating"] == 1 + 4 * row["people"]
        assert row["text"].endswith(f" [RESULT] {row['rating']:.0f}")
        shows, rest = row["text"].split(". The question is about ")
        asked, right = rest.split(". A right answer is ")
        compared = shows.removeprefix("The picture shows ").removesuffix(")").split("), ")
        listed = [thing.partition(" (")[0] for thing in compared]
        told = row["caption"].partition(": ")[2].rstrip(".").replace(" and a ", ", a ")
        assert Counter(listed) == Counter(map(name_as_listed, told.split(", ")))
        assert asked == (", ".join(filter_listed(compared, row["prompt"])) or "nothing")
        if row["answer"] == right.partition(". [")[0]:
            assert row["people"] == 1.0


def filter_listed(compared: list[str], prompt: str) -> list[str]:
    """The things of which every word is true that the question says of them."""
    kept = []
    for text in compared:
        thing, _, words = text.partition(" (")
        said = [word.rsplit(" ", 1) for word in words.split(", ")]
        for word, verdict in said:
            assert word in prompt
            assert (verdict == "yes") == (f" {word} " in f" {thing} ")
        assert [verdict for _, verdict in said[:-1]] == ["yes"] * (len(said) - 1)
        kept += [thing] if said[-1][1] == "yes" else []
    return kept


def name_as_listed(told: str) -> str:
    """ "a small red star in the centre" as the feedback lists it: place first."""
    what, _, place = told.removeprefix("a ").partition(" in the ")
    return f"{place} {what}"


def test_shuffled_verdicts_say_nothing_of_their_answers(
    drawn: SourceFrames, tmp_path: Path
) -> None:
    shuffled = draw(tmp_path, shuffled=True, with_feedback=True)
    ratings = drawn.human_ratings.join(
        shuffled.human_ratings.select(*KEYS, other="rating"), on=KEYS
    )
    assert sorted(ratings["rating"]) == sorted(ratings["other"])
    assert abs(float(ratings.select(pl.corr("rating", "other")).item())) < 0.15
    verdicts = shuffled.recorded_verdicts.join(shuffled.human_ratings, on=KEYS, suffix="_people")
    assert (verdicts["rating"] == 1 + 4 * verdicts["rating_people"]).all()


def test_foils_are_of_scenes_alone(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    file.write_text("name: n\nbenchmarks:\n  b: {source: demo, foils: true}\n")
    with pytest.raises(SuiteError, match="foils: true; expected with `pictures: shapes`"):
        read_suite(file)
    assert DemoSettings(pictures="shapes", tasks=("vqa",), foils=True).foils
