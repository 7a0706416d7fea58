"""The demo benchmark: drawn twice alike, whole, and rated as the pictures themselves say."""

import re
from collections import Counter
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from judgelake.tasks.demo.captions import ask_caption, describe
from judgelake.tasks.demo.models import MODELS, answer_questions
from judgelake.tasks.demo.questions import (
    REFERENCE_COUNTS,
    Question,
    Sayings,
    draw_references,
    sort_sayings,
)
from judgelake.tasks.demo.reading_questions import ask_reading
from judgelake.tasks.demo.scene_questions import ask_referring, ask_scene, describe_uniquely
from judgelake.tasks.demo.words import COLOURS, SHAPES, misname_number, name_number
from judgelake.tasks.demo.world import (
    HEIGHT,
    WIDTH,
    Chart,
    Clock,
    Hours,
    Receipt,
    Scene,
    Sign,
    Thing,
    draw_pictures,
    outline,
)
from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.demo import ask_picture, draw_demo
from judgelake.tasks.sources.frames import SourceFrames, frame_schema

SEED, SCENES = 7, 40

# Two red circles, of different sizes, and a blue square.
SCENE = Scene(
    (
        Thing("red", "circle", "small", 0, 0, 53, 40),
        Thing("red", "circle", "large", 2, 2, 267, 200),
        Thing("blue", "square", "small", 1, 1, 160, 120),
    )
)
CHART = Chart("loaves baked", (("Monday", 6), ("Tuesday", 13), ("Wednesday", 4), ("Thursday", 9)))
HOURS = Hours("Corner Hardware", (Clock(8, 30), Clock(17, 0)), (Clock(10, 0), Clock(13, 30)))
RECEIPT = Receipt("River Florist", (("apple cake", 240), ("lemon tea", 105), ("cheese pie", 695)))
SIGN = Sign("Old Harbour", 3, "left")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[SourceFrames, Path]:
    root = tmp_path_factory.mktemp("images")
    return draw_demo(SEED, SCENES, root), root


def _judged(frames: SourceFrames) -> pl.DataFrame:
    ratings = frames.human_ratings.select("item_id", "answer_id", "rating")
    items = frames.items.select("item_id", "task", "category", "prompt", "references", "regions")
    return frames.answers.join(ratings, on=["item_id", "answer_id"]).join(items, on="item_id")


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.png"))}


def _ask_for(picture: Any, category: str, prompt: str = "") -> Sayings:
    """The sayings of the first question of a category, over as many draws as it takes to be
    asked.
    """
    for seed in range(200):
        for question in ask_picture(np.random.default_rng(seed), picture):
            if question.category == category and prompt in question.prompt:
                return question.sayings
    raise LookupError(f"no {category} question with {prompt!r}")


@pytest.mark.parametrize("seed", [0, 7])
def test_same_seed_draws_the_same_frames_and_bytes(seed: int, tmp_path: Path) -> None:
    first, second = draw_demo(seed, 9, tmp_path / "a"), draw_demo(seed, 9, tmp_path / "b")
    for table in ("items", "answers", "human_ratings", "captions"):
        assert getattr(first, table).equals(getattr(second, table)), table
    assert _files(tmp_path / "a") == _files(tmp_path / "b")


def test_other_seeds_draw_others(tmp_path: Path) -> None:
    frames = [draw_demo(seed, 9, tmp_path) for seed in (0, 1)]
    assert frames[0].captions["text"].to_list() != frames[1].captions["text"].to_list()
    files = _files(tmp_path)
    assert files["demo/0/scene-0000.png"] != files["demo/1/scene-0000.png"]


def test_present_files_are_left_alone_and_damaged_ones_mended(tmp_path: Path) -> None:
    draw_demo(3, 4, tmp_path)
    kept, damaged = (tmp_path / f"demo/3/scene-000{number}.png" for number in (0, 1))
    before, content = kept.stat().st_mtime_ns, damaged.read_bytes()
    damaged.write_bytes(b"not a picture")
    draw_demo(3, 4, tmp_path)
    assert kept.stat().st_mtime_ns == before
    assert damaged.read_bytes() == content


def test_frames_fit_together(drawn: tuple[SourceFrames, Path]) -> None:
    frames, root = drawn
    for table, columns in {
        "items": frame_schema("items"),
        "answers": frame_schema("answers"),
        "human_ratings": frame_schema("human_ratings"),
        "captions": frame_schema("captions"),
    }.items():
        assert dict(getattr(frames, table).schema) == columns
        required = getattr(frames, table).drop("regions", strict=False)
        assert sum(required.null_count().row(0)) == 0
    # Of 40 pictures 20 are scenes with 2 + 1 + 1 questions and 20 charts or panels with 2 + 1: 80 +
    # 60.
    assert frames.items["item_id"].n_unique() == frames.items.height == 140
    assert frames.answers.height == frames.human_ratings.height == 4 * 140
    keys = ["item_id", "answer_id"]
    assert frames.answers.join(frames.human_ratings, on=keys, how="anti").height == 0
    assert frames.answers.select(keys).n_unique() == 4 * 140
    assert set(frames.answers["item_id"]) == set(frames.items["item_id"])
    assert set(frames.items["cluster"]) == set(frames.captions["image_uri"]) == set(_files(root))


def test_items_name_their_image_by_its_bytes(drawn: tuple[SourceFrames, Path]) -> None:
    frames, root = drawn
    for images, cluster in frames.items.select("images", "cluster").iter_rows():
        assert images == [
            {"uri": cluster, "sha256": sha256((root / cluster).read_bytes()).hexdigest()}
        ]


def test_every_item_has_its_number_of_references(drawn: tuple[SourceFrames, Path]) -> None:
    for task, references in drawn[0].items.select("task", "references").iter_rows():
        assert len(references) == {"vqa": 10, "document": 10, "caption": 5, "referring": 3}[task]
        assert task in ("vqa", "document") or len(set(references)) == len(references)
    agreement = [
        max(Counter(refs).values())
        for refs in drawn[0].items.filter(task="vqa")["references"].to_list()
    ]
    assert len(set(agreement)) >= 4  # annotators agree on some items more than on others


@pytest.mark.parametrize("seed", [0, 7, 11])
def test_models_are_graded(seed: int, tmp_path: Path) -> None:
    means = dict(
        _judged(draw_demo(seed, SCENES, tmp_path))
        .group_by("model")
        .agg(pl.col("rating").mean())
        .iter_rows()
    )
    assert means["rule-strong"] > max(means["rule-verbose"], means["rule-terse"])
    assert min(means["rule-verbose"], means["rule-terse"]) > means["rule-weak"]


def test_every_model_errs_and_succeeds_on_every_task(drawn: tuple[SourceFrames, Path]) -> None:
    spread = _judged(drawn[0]).group_by("model", "task").agg(pl.col("rating").n_unique())
    assert spread.height == 4 * 4
    assert spread["rating"].min() >= 2  # type: ignore[operator]


def test_pools_are_drawn_by_share() -> None:
    question = Question("vqa", "colour", "?", "{}", Sayings(("a",), ("b",), ("c",), ("d",), ("e",)))
    counts = Counter(
        answer.text
        for answer in answer_questions(np.random.default_rng(0), MODELS[0], [question] * 50)
    )
    # 50 x (0.54, 0.24, 0.10, 0.06, 0.06) are whole numbers, so systematic sampling meets them
    # exactly.
    assert counts == {"a": 27, "b": 12, "c": 5, "d": 3, "e": 3}


def test_exact_match_and_likeness_are_fooled(drawn: tuple[SourceFrames, Path]) -> None:
    short = _judged(drawn[0]).filter(
        pl.col("task").is_in(["vqa", "document"]) & (pl.col("style") == "short")
    )
    missed, alike = 0, 0
    for text, rating, references in short.select("text", "rating", "references").iter_rows():
        missed += rating == 1.0 and text not in references
        alike += (
            rating == 0.0
            and max(SequenceMatcher(None, text, reference).ratio() for reference in references)
            >= 0.7
        )
    assert missed >= 20
    assert alike >= 10
    verbose = _judged(drawn[0]).filter(
        (pl.col("model") == "rule-verbose") & (pl.col("rating") == 1.0)
    )
    assert all(
        text not in references
        for text, references in verbose.select("text", "references").iter_rows()
    )


def test_pictures_hold_what_is_drawn_for_them_and_all_of_it_occurs() -> None:
    pictures = draw_pictures(np.random.default_rng(SEED), 6000)
    scenes = [picture for picture in pictures if isinstance(picture, Scene)]
    assert len(scenes) == 3000
    assert {len(scene.things) for scene in scenes} == {4, 5, 6}
    assert {len({thing.shape for thing in scene.things}) for scene in scenes} == {2, 3}
    charts = [picture for picture in pictures if isinstance(picture, Chart)]
    assert {len(chart.bars) for chart in charts} == {4, 5}
    assert {value for chart in charts for _, value in chart.bars} == {*range(3, 21)}
    receipts = [picture for picture in pictures if isinstance(picture, Receipt)]
    assert {len(receipt.lines) for receipt in receipts} == {3, 4}
    assert {cents for receipt in receipts for _, cents in receipt.lines} == {*range(105, 700, 5)}
    hours = [picture for picture in pictures if isinstance(picture, Hours)]
    for day, ends in (("weekday", ((7, 9), (17, 20))), ("saturday", ((9, 11), (13, 16)))):
        for end, (low, high) in enumerate(ends):
            assert {getattr(shop, day)[end] for shop in hours} == {
                Clock(hour, minute) for hour in range(low, high) for minute in (0, 30)
            }
    signs = [picture for picture in pictures if isinstance(picture, Sign)]
    assert {(sign.distance_km, sign.side) for sign in signs} == {
        (distance, side) for distance in range(2, 10) for side in ("left", "right")
    }
    assert {len(group) for group in (receipts, hours, signs)} == {500}


def test_images_show_their_objects(drawn: tuple[SourceFrames, Path]) -> None:
    pictures = draw_pictures(np.random.default_rng(SEED), SCENES)
    for number, picture in enumerate(pictures):
        with Image.open(drawn[1] / f"demo/{SEED}/scene-{number:04d}.png") as image:
            assert image.size == (WIDTH, HEIGHT)
            if isinstance(picture, Scene):
                _check_things(image, picture)


def _check_things(image: Image.Image, scene: Scene) -> None:
    for thing in scene.things:
        assert image.getpixel((thing.x, thing.y)) == COLOURS[thing.colour].rgb
        left, top, width, height = thing.box
        for x, y in (
            (left - 2, thing.y),
            (left + width + 2, thing.y),
            (thing.x, top - 2),
            (thing.x, top + height + 2),
        ):
            assert image.getpixel((round(x), round(y))) == scene.paper


def test_boxes_lie_inside_the_image_and_hold_the_shape(drawn: tuple[SourceFrames, Path]) -> None:
    items = drawn[0].items
    assert all(
        (task == "referring") == (len(regions) == 1)
        for task, regions in items.select("task", "regions").iter_rows()
    )
    for region in items.filter(task="referring")["regions"].explode():
        assert region["x"] >= 0
        assert region["y"] >= 0
        assert region["x"] + region["width"] <= WIDTH
        assert region["y"] + region["height"] <= HEIGHT
    # A small square has radius 15, so its sides are 15 * sqrt(2) = 21.2132.
    box = SCENE.things[2].box
    assert tuple(round(side, 4) for side in box) == (149.3934, 109.3934, 21.2132, 21.2132)
    assert len(outline(SCENE.things[2])) == 4


PHRASE = re.compile(
    r"the(?: (small|large))?(?: (\w+))?? (shape|circle|square|triangle|star|hexagon)(?: in the "
    r"([a-z ]+?))?"
)


def _count_fitting(phrase: str, things: tuple[Thing, ...]) -> list[Thing] | None:
    """A second reading of phrases, from the text alone; None for phrases in other words."""
    match = PHRASE.fullmatch(phrase)
    if match is None:
        return None
    size, colour, shape, place = match.groups()
    fitting = [
        thing for thing in things if size in (None, thing.size) and colour in (None, thing.colour)
    ]
    return [
        thing
        for thing in fitting
        if shape in ("shape", thing.shape) and place in (None, thing.place)
    ]


def test_referring_ratings_follow_from_the_phrase(drawn: tuple[SourceFrames, Path]) -> None:
    pictures = draw_pictures(np.random.default_rng(SEED), SCENES)
    judged = _judged(drawn[0]).filter(
        (pl.col("task") == "referring") & (pl.col("style") == "short")
    )
    checked = 0
    for locator, text, rating, regions in judged.select(
        "locator", "text", "rating", "regions"
    ).iter_rows():
        scene = pictures[int(locator.removeprefix("scene "))]
        assert isinstance(scene, Scene)
        target = next(thing for thing in scene.things if thing.box._asdict() == regions[0])
        fitting = _count_fitting(text, scene.things)
        if fitting is not None:
            assert rating == (
                0.0 if target not in fitting else 1.0 if len(fitting) == 1 else 0.5
            ), text
            checked += 1
    assert checked >= 40


def test_places_are_named_after_the_pixels() -> None:
    scenes = [
        picture
        for picture in draw_pictures(np.random.default_rng(SEED), SCENES)
        if isinstance(picture, Scene)
    ]
    for thing in (thing for scene in scenes for thing in scene.things):
        # The thirds of 320 x 240 end at 106.7 and 213.3, and at 80 and 160.
        assert ("left" in thing.place, "right" in thing.place) == (thing.x < 106, thing.x > 214)
        assert ("top" in thing.place, "bottom" in thing.place) == (thing.y < 80, thing.y > 160)


def test_referring_by_hand() -> None:
    sayings = next(
        question.sayings
        for seed in range(50)
        if (question := ask_referring(np.random.default_rng(seed), SCENE)).box
        == SCENE.things[0].box
    )
    # Both circles are red, so only size or place identifies the small one; the square is small too.
    assert {"the small circle", "the small red circle", "the circle in the top left"} <= set(
        sayings.usual
    )
    assert {"the shape", "the circle", "the red circle"} <= set(sayings.partly)
    assert set(sayings.wrong) == {
        "the large red circle in the bottom right",
        "the small blue square in the centre",
    }
    assert "the crimson disc, upper left part" in sayings.unusual


def test_things_are_named_without_giving_the_answer_away() -> None:
    small, large, square = SCENE.things
    assert describe_uniquely(SCENE, square).phrase() == "the square"
    assert describe_uniquely(SCENE, small).phrase() == "the small red circle"
    assert describe_uniquely(SCENE, small, hidden="colour").phrase() == "the small circle"
    assert describe_uniquely(SCENE, large, hidden="shape").phrase() == "the large red shape"


def test_scene_questions_by_hand() -> None:
    count = _ask_for(SCENE, "count", "circles")
    assert {"2", "two", "2 circles"} == set(count.usual)
    assert "a pair" in count.unusual
    assert "more than one" in count.partly
    assert {"3", "1", "none"} <= set(count.wrong)
    place = _ask_for(SCENE, "place", "small red circle")
    assert "top left" in place.usual
    assert {"at the top", "on the left"} <= set(place.partly)
    assert {"bottom right", "centre"} <= set(place.wrong)
    assert _ask_for(SCENE, "colour", "square").usual[0] == "blue"
    assert _ask_for(SCENE, "yes/no", "a red square").usual[0] == "no"
    assert _ask_for(SCENE, "yes/no", "a blue square").usual[0] == "yes"


def test_chart_by_hand() -> None:
    tuesday = _ask_for(CHART, "chart value", "Tuesday")
    assert tuesday.usual == ("13", "thirteen", "13 loaves")
    assert tuesday.partly == ("between 10 and 15", "at least 10")
    assert set(tuesday.alike) == {"thirty", "130"}
    assert set(tuesday.wrong) == {"6", "4", "9"}
    assert _ask_for(CHART, "chart bar", "highest").usual[0] == "Tuesday"
    lowest = _ask_for(CHART, "chart bar", "lowest")
    assert lowest.unusual == ("the third bar from the left",)
    assert lowest.partly == ("a bar on the right",)


def test_panels_by_hand() -> None:
    opens = _ask_for(HOURS, "opening hours", "open on a weekday")
    assert opens.usual == ("8:30", "8:30 am", "at 8:30")
    assert "half past eight" in opens.unusual
    assert "8:00" in opens.alike
    assert {"17:00", "10:00", "13:30"} <= set(opens.wrong)
    closes = _ask_for(HOURS, "opening hours", "close on a weekday")
    assert closes.usual == ("17:00", "5 pm", "at 17:00")
    total = _ask_for(RECEIPT, "total")
    # 2.40 + 1.05 + 6.95 = 10.40; its cents swapped are 10.04.
    assert total.usual == ("10.40", "$10.40", "10.40 dollars")
    assert total.unusual == ("ten dollars and forty cents",)
    assert "10.04" in total.alike
    assert _ask_for(RECEIPT, "dearest").usual[0] == "cheese pie"
    assert _ask_for(RECEIPT, "dearest").alike == ("cheese roll",)
    assert "3 km" in _ask_for(SIGN, "distance").usual
    assert "3 m" in _ask_for(SIGN, "distance").alike
    assert {"right", "to the right"} <= set(_ask_for(SIGN, "side").wrong)


WORDS = {"a": 1, "an": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
GROUP = re.compile(rf"\b({'|'.join(WORDS)}) ({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})s?\b")


@pytest.mark.parametrize("seed", range(8))
def test_scene_captions_are_rated_by_what_they_list(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scene = next(picture for picture in draw_pictures(rng, 1) if isinstance(picture, Scene))
    truth = Counter((thing.colour, thing.shape) for thing in scene.things)

    def read(saying: str) -> Counter[tuple[str, str]]:
        return Counter(
            {(colour, shape): WORDS[number] for number, colour, shape in GROUP.findall(saying)}
        )

    sayings = ask_caption(rng, scene).sayings
    assert all(read(saying) == truth for saying in sayings.usual)
    for saying in (
        sayings.partly
    ):  # never more than one group is missing or off, unless the caption lists none
        assert len(truth.items() - read(saying).items()) == 1 or not read(saying)
        assert read(saying) != truth
    for saying in (*sayings.alike, *sayings.wrong):
        assert not truth.items() & read(saying).items()


def test_truth_captions_name_everything() -> None:
    assert describe(SCENE) == (
        "Three shapes on a pale background: a small red circle in the top left, a large red "
        "circle in the bottom right "
        "and a small blue square in the centre."
    )
    assert describe(RECEIPT).endswith(
        "apple cake 2.40, lemon tea 1.05 and cheese pie 6.95, in all 10.40 dollars."
    )
    assert describe(HOURS).endswith(
        "weekdays 8:30 to 17:00, Saturday 10:00 to 13:30, Sunday closed."
    )


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_no_saying_is_both_right_and_wrong(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for picture in draw_pictures(rng, 4):
        for question in ask_picture(rng, picture):
            sayings = question.sayings
            pools = (sayings.usual, sayings.unusual, sayings.partly, sayings.alike, sayings.wrong)
            said = [saying.casefold() for pool in pools for saying in pool]
            assert all(pools), question
            assert len(set(said)) == len(said), question
            assert len(draw_references(rng, question)) == REFERENCE_COUNTS[question.task]
            assert "{" not in question.frame.format(sayings.usual[0])


def test_scene_of_twins_has_no_question_without_an_answer() -> None:
    twins = tuple(Thing(c, s, "small", row, col, 53, 40) for c, s, row, col in (
        ("red", "star", 0, 0), ("red", "star", 0, 1), ("blue", "circle", 1, 0), ("blue", "circle", 1, 1)))  # fmt: skip
    for seed in range(30):
        assert all(
            question.sayings.usual
            for question in ask_scene(np.random.default_rng(seed), Scene(twins))
        )


def test_numbers_are_spelled_and_misspelled() -> None:
    assert [name_number(number) for number in (0, 13, 20, 42, 99)] == [
        "zero",
        "thirteen",
        "twenty",
        "forty-two",
        "ninety-nine",
    ]
    assert [misname_number(number)[0] for number in (3, 4, 12, 14, 18)] == [
        "thirteen",
        "fourteen",
        "twenty",
        "forty",
        "eighty",
    ]
    assert all(name_number(number) not in misname_number(number) for number in range(1, 30))


def test_a_saying_stays_in_the_first_pool_that_has_it() -> None:
    assert sort_sayings(["6", "six"], ["Six"], ["some"], ["60"], ["6", "9", "60"]) == Sayings(
        ("6", "six"), (), ("some",), ("60",), ("9",)
    )


def test_reading_questions_about_one_picture_differ() -> None:
    for picture in (CHART, HOURS, RECEIPT, SIGN):
        prompts = [question.prompt for question in ask_reading(np.random.default_rng(1), picture)]
        assert len(set(prompts)) == 2


@pytest.mark.parametrize(
    ("seed", "scenes", "message"), [(-1, 4, "seed is -1"), (1, 0, "scenes is 0")]
)
def test_wrong_arguments_are_refused(seed: int, scenes: int, message: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=message):
        draw_demo(seed, scenes, tmp_path)


def test_an_image_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("")
    with pytest.raises(SourceError, match="writable image root"):
        draw_demo(1, 1, tmp_path / "root")
