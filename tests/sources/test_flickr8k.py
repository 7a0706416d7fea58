"""Flickr8k Expert: pairs, own captions, three ratings, the recorded judge. The real figures are
tests/flows.
"""

from pathlib import Path

import pytest

from judgelake.tasks.errors import SourceError
from judgelake.tasks.sources.flickr8k import Flickr8kSettings, read_flickr8k, source_files

CAPTIONS = (
    "a.jpg#0\tA cat .\na.jpg#1\tOne cat .\nb.jpg#0\tA dog .\nb.jpg#1\tOne dog "
    ".\nc.jpg.1#0\tA cow .\n"
)
PAIRS = "a.jpg\tb.jpg#0\t1\t2\t4\na.jpg\ta.jpg#1\t4\t4\t4\nb.jpg\tc.jpg.1#0\t1\t1\t2\n"
FLEUR = """image file : Flickr8k_Dataset/a.jpg
caption : A dog .
model score : 0.0
our score : 0.25

image file : Flickr8k_Dataset/b.jpg
caption : A cow .
model score : none
our score : 0.5

image file : Flickr8k_Dataset/a.jpg
caption : One cat .
model score : 0.9
our score : 0.8

image file : Flickr8k_Dataset/a.jpg
caption : A ship .
model score : 0.1
our score : 0.2
"""


@pytest.fixture
def settings(tmp_path: Path) -> Flickr8kSettings:
    (tmp_path / "expert.txt").write_text(PAIRS)
    (tmp_path / "token.txt").write_text(CAPTIONS)
    (tmp_path / "fleur.txt").write_text(FLEUR)
    return Flickr8kSettings(tmp_path / "expert.txt", tmp_path / "token.txt", tmp_path / "fleur.txt")


def test_images_are_items_and_their_own_captions_the_references(settings: Flickr8kSettings) -> None:
    frames = read_flickr8k(settings)
    assert frames.items.select("item_id", "task", "references", "cluster").rows() == [
        ("a.jpg", "caption", ["A cat .", "One cat ."], "a.jpg"),
        ("b.jpg", "caption", ["A dog .", "One dog ."], "b.jpg"),
    ]
    assert frames.captions.select("image_uri", "captioner", "text").rows()[:2] == [
        ("a.jpg", "dataset", "A cat ."),
        ("a.jpg", "dataset", "One cat ."),
    ]
    assert frames.answers.select("item_id", "answer_id", "model", "text").rows() == [
        ("a.jpg", "b.jpg#0", None, "A dog ."),
        ("b.jpg", "c.jpg.1#0", None, "A cow ."),
    ]
    assert frames.human_ratings.select("answer_id", "annotator", "rating", "scale_low", "scale_high").rows()[:3] == [
        ("b.jpg#0", "expert1", 1.0, 1.0, 4.0), ("b.jpg#0", "expert2", 2.0, 1.0, 4.0), ("b.jpg#0", "expert3", 4.0, 1.0, 4.0),
    ]  # fmt: skip


def test_pairs_of_an_image_with_its_own_caption_are_dropped_and_counted(
    settings: Flickr8kSettings,
) -> None:
    dropped = [row for row in read_flickr8k(settings).rejected if row.table_name == "answers"]
    assert [(row.locator, row.value) for row in dropped] == [("line 2", "a.jpg#1")]
    kept = read_flickr8k(
        Flickr8kSettings(settings.annotations, settings.captions, settings.fleur, drop_own=False)
    )
    assert kept.answers["answer_id"].to_list() == ["b.jpg#0", "a.jpg#1", "c.jpg.1#0"]
    assert [row.table_name for row in kept.rejected] == ["recorded_verdicts"]


def test_the_recorded_judge_is_found_by_image_and_caption(settings: Flickr8kSettings) -> None:
    frames = read_flickr8k(settings)
    assert frames.recorded_verdicts.select(
        "answer_id", "judge", "status", "rating", "text"
    ).rows() == [
        ("b.jpg#0", "fleur-raw", "ok", 0.0, "0.0"),
        ("b.jpg#0", "fleur", "ok", 0.25, "0.25"),
        ("c.jpg.1#0", "fleur-raw", "unparsed", None, "none"),
        ("c.jpg.1#0", "fleur", "ok", 0.5, "0.5"),
    ]
    unknown = [row for row in frames.rejected if row.table_name == "recorded_verdicts"]
    assert [(row.locator, row.value) for row in unknown] == [("line 16", "a.jpg: A ship .")]


def test_lines_that_do_not_fit_are_reported(settings: Flickr8kSettings) -> None:
    bad = "a.jpg\tb.jpg#0\t1\t2\na.jpg\tb.jpg#1\t1\tx\t2\na.jpg\tz.jpg#0\t1\t1\t1\nz.jpg\ta.jpg#0\t1\t1\t1\n"
    settings.annotations.write_text(PAIRS + bad)
    settings.captions.write_text(CAPTIONS + "no tab here\na.jpg#0\tTwice .\n")
    frames = read_flickr8k(settings)
    assert frames.answers.height == 2
    assert [(row.source_file, row.locator, row.value) for row in frames.rejected if row.source_file != "fleur.txt"] == [
        ("token.txt", "line 6", "no tab here"), ("token.txt", "line 7", "a.jpg#0"),
        ("expert.txt", "line 4", "a.jpg\tb.jpg#0\t1\t2"), ("expert.txt", "line 5", "x"),
        ("expert.txt", "line 6", "z.jpg#0"), ("expert.txt", "line 7", "z.jpg"), ("expert.txt", "line 2", "a.jpg#1"),
    ]  # fmt: skip


def test_an_absent_file_is_an_error(settings: Flickr8kSettings, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no such file"):
        source_files(Flickr8kSettings(settings.annotations, tmp_path / "none.txt"))


def test_judgements_of_the_crowd_are_refused(settings: Flickr8kSettings) -> None:
    rows = ("0.333333333333333\t1\t2", "0\t0\t3", "1\t3\t0", "0.6\t3\t2")
    lines = "".join(f"a.jpg\tb.jpg#0\t{row}\n" for row in rows)
    settings.annotations.write_text(lines)
    with pytest.raises(SourceError) as error:
        read_flickr8k(settings)
    assert str(error.value).startswith(
        f"{settings.annotations}:1: holds shares and counts of yes and no, as CrowdFlower"
    )
    # any three ratings from 1 to 4 are no share of two counts
    ratings = [(a, b, c) for a in range(1, 5) for b in range(1, 5) for c in range(1, 5)]
    settings.annotations.write_text(
        "".join(f"a.jpg\tb.jpg#0\t{a}\t{b}\t{c}\n" for a, b, c in ratings)
    )
    assert read_flickr8k(settings).human_ratings.height == 3 * 4**3
