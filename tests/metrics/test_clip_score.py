"""CLIPScore and RefCLIPScore beside the formula on a tiny CLIP, image by image; what stands in for
an image that cannot be read.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from judgelake.tasks.lake.images import inspect_image
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.metrics import clip_score as clip_images
from judgelake.tasks.metrics.clip_score import (
    ClipScoreSettings,
    average_harmonically,
    compute_clip_score,
    compute_ref_clip_score,
    reference_signature,
    signature,
)
from judgelake.tasks.metrics.metric import Scored
from tests.lakes import make_lake, query
from tests.metrics.models import save_clip
from tests.metrics.questions import unicode_texts

IMAGE = pa.struct([("uri", pa.string()), ("sha256", pa.string())])
ANSWERS = ["a cat on a mat", "two dogs", "a cat on a mat", "", "שלום 👩‍👩‍👧", "word " * 40]
REFERENCES = [["a red mat", "one cat"], ["a dog"], ["two dogs"], ["x"], ["a cat", ""], ["word"]]
FILES = ["wide.png", "tall.jpg", "grey.png", "clear.png", "palette.gif", "wide.png"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="module")
def chosen(folder: Path) -> ClipScoreSettings:
    return ClipScoreSettings(str(folder), batch_tokens=40)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Images of several forms and modes."""
    rng = np.random.default_rng(0)
    made = {
        "wide.png": Image.fromarray(rng.integers(0, 256, (40, 70, 3), np.uint8)),
        "tall.jpg": Image.fromarray(rng.integers(0, 256, (90, 50, 3), np.uint8)),
        "grey.png": Image.fromarray(rng.integers(0, 256, (32, 32), np.uint8)),
        "clear.png": Image.fromarray(rng.integers(0, 256, (20, 21, 4), np.uint8)),
        "palette.gif": Image.fromarray(rng.integers(0, 256, (33, 47, 3), np.uint8)).quantize(16),
    }
    folder = tmp_path / "images"
    folder.mkdir()
    for name, image in made.items():
        image.save(folder / name)
    return folder


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_lake(tmp_path)


def images_of(root: Path, *names: str | None) -> pa.StructArray:
    rows = [
        None if name is None else {"uri": name, "sha256": digest_of(root / name)} for name in names
    ]
    return pa.array(rows, IMAGE)


def digest_of(file: Path) -> str | None:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


def embed_plainly(
    folder: Path, root: Path
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Unit vectors of all texts (after the prefix) and images by transformers' own pipeline, one at
    a time.
    """
    model: Any = transformers.CLIPModel.from_pretrained(folder)
    tokenizer = transformers.CLIPTokenizer.from_pretrained(folder)
    processor = transformers.CLIPImageProcessorPil.from_pretrained(folder)

    def unit(vector: torch.Tensor) -> NDArray[Any]:
        array = vector[0].detach().double().numpy()
        scaled: NDArray[Any] = array / np.linalg.norm(array)
        return scaled

    texts, images = {}, {}
    for text in {*ANSWERS, *(one for listed in REFERENCES for one in listed)}:
        read = tokenizer(f"A photo depicts {text}", truncation=True, return_tensors="pt")
        texts[text] = unit(model.get_text_features(**read).pooler_output)
    for name in set(FILES):
        with Image.open(root / name) as image:
            pixels = processor(image.convert("RGB"), return_tensors="pt")["pixel_values"]
        images[name] = unit(model.get_image_features(pixel_values=pixels).pooler_output)
    return texts, images


def test_equal_to_the_formula(folder: Path, chosen: ClipScoreSettings, root: Path) -> None:
    texts, images = embed_plainly(folder, root)
    cosines = np.array(
        [texts[answer] @ images[name] for answer, name in zip(ANSWERS, FILES, strict=True)]
    )
    assert (cosines > 0).any()
    assert (cosines < 0).any()
    scored = compute_clip_score(pa.array(ANSWERS), images_of(root, *FILES), chosen, root)
    expected = 2.5 * np.maximum(cosines, 0)
    np.testing.assert_allclose(scored.scores, expected, rtol=0, atol=1e-5)
    assert [*scored.reasons] == [None] * 6
    assert scored.statistics.shape == (6, 0)
    nearest = np.array(
        [
            max(texts[a] @ texts[reference] for reference in listed)
            for a, listed in zip(ANSWERS, REFERENCES, strict=True)
        ]
    )
    lifted = np.maximum(nearest, 0)
    both = np.where(expected > 0, 2 * expected * lifted / (expected + lifted), 0)
    scored = compute_ref_clip_score(
        pa.array(ANSWERS), pa.array(REFERENCES), images_of(root, *FILES), chosen, root
    )
    np.testing.assert_allclose(scored.scores, both, rtol=0, atol=1e-5)


def test_harmonic_mean_by_hand() -> None:
    found = average_harmonically(np.array([2.0, 0.5, 0.0, 1.0]), np.array([0.5, 0.5, 0.0, 0.0]))
    assert found == pytest.approx([0.8, 0.5, 0.0, 0.0])  # 2 · 2 · 0.5 / 2.5


def test_an_image_that_cannot_be_used_is_a_reason(
    chosen: ClipScoreSettings, root: Path, lake: Lake
) -> None:
    good = images_of(root, "wide.png").to_pylist()[0]
    (root / "broken.png").write_bytes((root / "wide.png").read_bytes()[:200])
    (root / "notes.txt").write_text("no image")
    Image.new("RGB", (1, 300)).save(root / "thread.png")
    Image.new("RGB", (5, 5)).save(root.parent / "outside.png")
    rows = [
        (good, None),
        (None, "the item has no image"),
        ({"uri": "absent.png", "sha256": "0" * 64}, "the image is missing"),
        ({"uri": "absent.png", "sha256": None}, "the image is missing"),
        ({"uri": "tall.jpg", "sha256": "0" * 64}, "not the one that was ingested"),
        ({"uri": "tall.jpg", "sha256": None}, None),
        ({"uri": "broken.png", "sha256": digest_of(root / "broken.png")}, "truncated or damaged"),
        ({"uri": "notes.txt", "sha256": None}, "not an image"),
        ({"uri": "thread.png", "sha256": None}, "1 x 300 pixels, one side over 200 times"),
        ({"uri": "../outside.png", "sha256": None}, "outside the image folder"),
        ({"uri": "https://example.org/a.png", "sha256": None}, "a URL, which is not fetched"),
        ({"uri": "https://example.org/b.png", "sha256": "0" * 64}, "a URL, which is not fetched"),
    ]
    images = pa.array([image for image, _ in rows], IMAGE)
    for _ in range(2):  # the second time with what the lake keeps
        scored = compute_clip_score(pa.array(["a cat"] * len(rows)), images, chosen, root, lake)
        for (image, reason), score, reported in zip(
            rows, scored.scores, scored.reasons, strict=True
        ):
            assert np.isnan(score) == (reason is not None), image
            assert reported is None if reason is None else reason in str(reported), image


def test_an_image_that_passes_the_check_and_does_not_decode_is_a_reason(
    chosen: ClipScoreSettings, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = inspect_image(root, "tall.jpg")
    cut = (root / "tall.jpg").read_bytes()[:-400]
    (root / "tall.jpg").write_bytes(cut)
    monkeypatch.setattr(clip_images, "check_content", lambda *_: fact)
    images = pa.array([{"uri": "tall.jpg", "sha256": fact.sha256}], IMAGE)  # type: ignore[union-attr]
    (reason,) = compute_clip_score(pa.array(["a cat"]), images, chosen, root).reasons
    assert "cannot be decoded (image file is truncated" in str(reason)


def test_nothing_to_score_loads_no_model(root: Path) -> None:
    nowhere = ClipScoreSettings("nobody/no-such-model")
    images = images_of(root, "absent.png", None)
    scored = compute_clip_score(pa.array(["a", "b"]), images, nowhere, root)
    assert scored.reasons == ["the image is missing", "the item has no image"]
    assert (
        len(
            compute_clip_score(pa.array([], pa.string()), pa.array([], IMAGE), nowhere, root).scores
        )
        == 0
    )


def test_missing_answers_and_references_are_reasons(chosen: ClipScoreSettings, root: Path) -> None:
    answers = pa.array(["a cat", None, "a dog", "a dog"])
    references = pa.array([["cat"], ["cat"], [], [None]], pa.list_(pa.string()))
    images = images_of(root, *["wide.png"] * 4)
    assert compute_clip_score(answers, images, chosen, root).reasons == [
        None,
        "there is no answer",
        None,
        None,
    ]
    scored = compute_ref_clip_score(answers, references, images, chosen, root)
    assert scored.reasons == [
        None,
        "there is no answer",
        *["the item has no reference answers"] * 2,
    ]
    assert np.isnan(scored.scores).tolist() == [False, True, True, True]


def test_the_lake_spares_encoders_and_files(
    folder: Path, chosen: ClipScoreSettings, root: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, references, images = pa.array(ANSWERS), pa.array(REFERENCES), images_of(root, *FILES)
    whole = compute_ref_clip_score(answers, references, images, chosen, root)
    first = run_both(answers[:3], references[:3], images[:3], chosen, root, lake)
    second = run_both(answers[3:], references[3:], images[3:], chosen, root, lake)
    np.testing.assert_allclose(
        np.concatenate([first.scores, second.scores]), whole.scores, rtol=0, atol=1e-6
    )
    n_texts = len({*ANSWERS, *(one for listed in REFERENCES for one in listed)})
    assert query(lake, "select count(*) as n from raw_embeddings") == [
        {"n": n_texts + len(set(FILES))}
    ]
    for reader in ("inspect_image", "read_image"):
        monkeypatch.setattr(
            clip_images, reader, lambda *_: pytest.fail("looked at a file for nothing")
        )
    monkeypatch.setattr(
        "judgelake.tasks.metrics.clip_score.load_model",
        lambda *_: pytest.fail("loaded for nothing"),
    )
    again = run_both(answers, references, images, chosen, root, lake)
    np.testing.assert_allclose(again.scores, whole.scores, rtol=0, atol=1e-6)


def run_both(
    answers: Any, references: Any, images: Any, chosen: ClipScoreSettings, root: Path, lake: Lake
) -> Scored:
    compute_clip_score(answers, images, chosen, root, lake)
    return compute_ref_clip_score(answers, references, images, chosen, root, lake)


def test_another_prefix_is_another_text_and_the_same_image(
    folder: Path, chosen: ClipScoreSettings, root: Path, lake: Lake
) -> None:
    answers, images = (
        pa.array(["a cat on a mat", "two dogs"]),
        images_of(root, "wide.png", "tall.jpg"),
    )
    bare = ClipScoreSettings(str(folder), prefix="")
    scores = [compute_clip_score(answers, images, one, root, lake).scores for one in (chosen, bare)]
    assert (scores[0] != scores[1]).any()
    rows = query(
        lake, "select encoder_signature, count(*) as n from embeddings group by all order by all"
    )
    kinds = [(row["encoder_signature"].split("|")[0], row["n"]) for row in rows]
    assert kinds == [("clip_image", 2), ("clip_text", 2), ("clip_text", 2)]


def test_everything_that_changes_the_number_is_in_the_signature(folder: Path) -> None:
    options: list[dict[str, Any]] = [{}, {"prefix": ""}, {"dtype": "bfloat16"}]
    signatures = [
        make(ClipScoreSettings(str(folder), **one))
        for one in options
        for make in (signature, reference_signature)
    ]
    assert len(set(signatures)) == len(signatures)
    assert signature(ClipScoreSettings(str(folder), device="cpu", batch_tokens=1)) == signatures[0]
    assert "model:openai/clip-vit-base-patch32|revision:main|" in signature(ClipScoreSettings())


def test_published_weights_in_half_precision_come_near(
    folder: Path, chosen: ClipScoreSettings, root: Path
) -> None:
    images = images_of(root, *FILES)
    half = compute_clip_score(
        pa.array(ANSWERS), images, ClipScoreSettings(str(folder), dtype="bfloat16"), root
    ).scores
    np.testing.assert_allclose(
        half, compute_clip_score(pa.array(ANSWERS), images, chosen, root).scores, atol=0.1
    )


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(unicode_texts, min_size=1, max_size=6))
def test_any_text_has_a_score_within_its_range(
    texts: list[str], chosen: ClipScoreSettings, root: Path
) -> None:
    images = images_of(root, *["wide.png"] * len(texts))
    scored = compute_ref_clip_score(
        pa.array(texts), pa.array([texts] * len(texts)), images, chosen, root
    )
    plain = compute_clip_score(pa.array(texts), images, chosen, root).scores
    assert ((plain >= 0) & (plain <= 2.5 + 1e-6)).all()
    # the answer is among its references: the harmonic mean of CLIP-S and 1
    np.testing.assert_allclose(scored.scores, 2 * plain / (plain + 1), rtol=0, atol=1e-5)
