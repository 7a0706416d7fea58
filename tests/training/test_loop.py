"""The tensors of a pass, by hand and against transformers' own loss; which weights change; that a
restart changes nothing.
"""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.errors import BackendError
from judgelake.tasks.suite.training import TrainingSettings
from judgelake.tasks.training import loop
from judgelake.tasks.training.examples import Example
from judgelake.tasks.training.loop import Training, find_pace, load_base, plan_steps
from judgelake.tasks.training.rows import IGNORED, TrainingRowMaker, collate, cut_batches
from judgelake.tasks.types import Decoding, Message, Request
from tests.backends import tiny_vlms
from tests.backends.local.test_eyes import load_processor, save_qwen2_vl
from tests.backends.local_asking import encode, picture
from tests.backends.tiny_models import save_decoder, save_llava, save_t5

TARGET = "the cat is on a dog So the overall score is {}.\n[RESULT] {}"


def make_example(number: int, *pictures: int, words: int = 3) -> Example:
    message = Message(
        "user", f"question: {'what is the cat ' * words}{number}", tuple(map(picture, pictures))
    )
    score = 1 + number % 5
    request = Request("m", (message,), Decoding(0.0, max_tokens=200))
    return Example(
        request, TARGET.format(score, score), score, "b", f"i{number}", is_held_out=False
    )


def begin(
    folder: Path,
    checkpoint: Path | None = None,
    dtype: Any = "float32",
    batch_tokens: int = 4096,
    **settings: Any,
) -> Training:
    base = LocalModel(str(folder), dtype=dtype, batch_tokens=batch_tokens)
    loaded = load_base(base)
    given: dict[str, Any] = {
        "batch_size": 2,
        "learning_rate": 0.01,
        "gradient_checkpointing": False,
        **settings,
    }
    chosen = TrainingSettings("student", "teacher", str(folder), **given)
    return Training(
        loaded,
        chosen,
        TrainingRowMaker(loaded, encode),
        checkpoint or folder.parent / "run.checkpoint",
    )


def quiet(_: str) -> None:
    return


def train(
    training: Training, examples: list[Example], report: Callable[[str], None] = quiet
) -> dict[str, torch.Tensor]:
    training.look_through(examples, report)
    training.run(examples, report)
    return {name: one.detach().clone() for name, one in training.weights.items()}


# ---- the order and the pace


def test_the_pace_rises_then_falls_as_half_a_cosine() -> None:
    """10 steps, a fifth to rise: 1/2, 1, then (1 + cos(pi k / 8)) / 2 for k = 0 ... 7; k = 4 is
    half way.
    """
    paces = [find_pace(number, 10, 0.2) for number in range(10)]
    assert paces[:3] == [0.5, 1.0, 1.0]
    assert paces[6] == pytest.approx(0.5)
    assert paces[9] == pytest.approx((1 + math.cos(7 * math.pi / 8)) / 2)
    assert find_pace(0, 1, 0.0) == 1.0


def test_every_epoch_takes_each_example_once_in_an_order_of_its_own() -> None:
    settings = TrainingSettings("s", "t", "m", epochs=2, batch_size=3, seed=0)
    steps = plan_steps(7, settings)
    assert [len(step) for step in steps] == [3, 3, 1] * 2
    first, second = [*itertools.chain(*steps[:3])], [*itertools.chain(*steps[3:])]
    assert sorted(first) == sorted(second) == list(range(7))
    assert first != second
    assert steps == plan_steps(7, settings)


# ---- rows and passes


def test_only_the_reply_is_learnt_and_its_end_with_it(tmp_path: Path) -> None:
    """`<s>`, then the prompt; the labels are the target's own ids and `</s>` (2), each at the place
    of the token before it.
    """
    loaded = load_base(LocalModel(str(save_decoder(tmp_path / "m")), dtype="float32"))
    maker = TrainingRowMaker(loaded, encode)
    rows = [maker.make(make_example(1)), maker.make(make_example(2, words=9))]
    prompts = [
        loaded.tokenizer(f"question: {'what is the cat ' * words}{n}")["input_ids"]
        for n, words in ((1, 3), (2, 9))
    ]
    targets = [
        loaded.tokenizer(TARGET.format(n, n), add_special_tokens=False)["input_ids"] + [2]
        for n in (2, 3)
    ]
    assert [list(row.prompt.ids) for row in rows] == prompts
    batch = collate(rows, torch.device("cpu"), torch.float32)
    kept = batch.inputs["logits_to_keep"] - 1
    assert batch.labels.shape == (2, kept)
    for at, (prompt, target) in enumerate(zip(prompts, targets, strict=True)):
        whole = [*prompt, *target]
        # the column before a label is the one whose logits are to give it
        first = batch.inputs["input_ids"].shape[1] - kept
        expected = [IGNORED] * (len(prompt) - first) + target
        expected += [IGNORED] * (kept - len(expected))
        assert batch.labels[at].tolist() == expected
        assert batch.inputs["input_ids"][at, : len(whole)].tolist() == whole
        assert batch.inputs["attention_mask"][at].sum() == len(whole)


def test_a_whole_row_is_learnt_but_for_its_image_and_first_token(tmp_path: Path) -> None:
    loaded = load_base(LocalModel(str(save_llava(tmp_path / "m")), dtype="float32"))
    maker = TrainingRowMaker(loaded, encode)
    rows = [maker.make(make_example(1, 4)), maker.make(make_example(2, 4, words=9))]
    batch = collate(rows, torch.device("cpu"), torch.float32, whole=True)
    assert batch.inputs["logits_to_keep"] - 1 == batch.labels.shape[1]
    mark = loaded.processor.image_token_id
    for at, row in enumerate(rows):
        whole = [*row.prompt.ids, *row.target]
        labels = batch.labels[at].tolist()
        wanted = [IGNORED if token == mark else token for token in whole[1:]]
        assert labels == wanted + [IGNORED] * (len(labels) - len(wanted))
        assert IGNORED in wanted
    learning = begin(tmp_path / "m", loss="whole")
    plain = begin(tmp_path / "m", tmp_path / "other.checkpoint")
    for training in (learning, plain):
        train(training, [make_example(1, 4), make_example(2, 4, words=9)])
    assert learning.losses[0] != plain.losses[0]


def test_passes_hold_so_many_padded_tokens(tmp_path: Path) -> None:
    loaded = load_base(LocalModel(str(save_decoder(tmp_path / "m")), dtype="float32"))
    maker = TrainingRowMaker(loaded, encode)
    rows = [maker.make(make_example(number, words=number)) for number in range(6)]
    for most in (1, rows[5].n_tokens * 2, rows[5].n_tokens * 3 + 1, 10_000):
        batches = cut_batches(rows, most)
        assert sorted(row.n_tokens for batch in batches for row in batch) == [
            row.n_tokens for row in rows
        ]
        assert all(
            len(batch) == 1 or len(batch) * max(row.n_tokens for row in batch) <= most
            for batch in batches
        )
    assert [len(batch) for batch in cut_batches(rows, rows[5].n_tokens * 3)] == [3, 3]


def test_images_that_examples_share_are_in_memory_once(tmp_path: Path) -> None:
    loaded = load_base(LocalModel(str(save_llava(tmp_path / "m")), dtype="float32"))
    maker = TrainingRowMaker(loaded, encode)
    first, second, other = (
        maker.make(make_example(number, shown)).prompt.media["pixel_values"]
        for number, shown in ((0, 4), (1, 4), (2, 5))
    )
    assert first is second
    assert first is not other
    alone = TrainingRowMaker(loaded, encode).make(make_example(2, 5)).prompt.media["pixel_values"]
    assert torch.equal(other, alone)
    assert not torch.equal(other, first)


FAMILIES: dict[str, Callable[[Path], Path]] = {
    "Llama": save_decoder,
    "Llava": save_llava,
    "LlavaNext": tiny_vlms.save_llava_next,
    "Idefics3": tiny_vlms.save_idefics3,
    "Gemma3": tiny_vlms.save_gemma3,
    "Qwen2VL": save_qwen2_vl,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_loss_of_many_is_that_of_each_alone_by_the_model_s_own_code(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures of different sizes, prompts of different lengths; the oracle is transformers' loss
    of one row with `labels`.
    """
    folder = FAMILIES[family](tmp_path / family)
    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", load_processor)
    training = begin(folder, train="all")
    examples = [make_example(n, *([] if family == "Llama" else [n]), words=n) for n in range(1, 5)]
    loaded = load_base(LocalModel(str(folder), dtype="float32"))
    maker = TrainingRowMaker(loaded, encode)
    total = n_tokens = 0.0
    for example in examples:
        row = maker.make(example)
        inputs = collate([row], loaded.device, torch.float32).inputs
        positions = inputs.pop("position_ids")
        assert positions.shape[-1] == row.n_tokens
        del inputs["logits_to_keep"]
        labels = torch.tensor([[IGNORED] * len(row.prompt.ids) + list(row.target)])
        with torch.no_grad():
            total += float(loaded.model(**inputs, labels=labels).loss) * len(row.target)
        n_tokens += len(row.target)
    assert training.measure(examples) == pytest.approx(total / n_tokens, rel=1e-5)


# ---- training


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_projector_learns_and_nothing_else_changes(tmp_path: Path, dtype: str) -> None:
    folder = save_llava(tmp_path / "m")
    training = begin(folder, dtype=dtype, epochs=8, gradient_checkpointing=True)
    assert {name.split(".")[-3] for name in training.weights} == {"multi_modal_projector"}
    assert {one.dtype for one in training.weights.values()} == {torch.float32}
    model: Any = training._model
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    examples = [make_example(number, number) for number in range(4)]
    start = training.measure(examples)
    train(training, examples)
    end = training.measure(examples)
    assert start is not None
    assert end is not None
    assert end < 0.97 * start
    changed = {name for name, one in model.named_parameters() if not torch.equal(one, before[name])}
    assert changed == {*training.weights}


def test_a_run_that_was_killed_goes_on_to_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_decoder(tmp_path / "m", attention_dropout=0.1)
    examples = [make_example(number) for number in range(6)]
    settings: dict[str, Any] = {"train": "all", "epochs": 2, "checkpoint_steps": 2}
    whole = train(begin(folder, tmp_path / "whole.checkpoint", **settings), examples)
    broken = begin(folder, tmp_path / "broken.checkpoint", **settings)
    take, taken = broken._step, 0

    def die(*given: Any) -> float:
        nonlocal taken
        taken += 1
        if taken == 4:
            raise KeyboardInterrupt
        return take(*given)

    monkeypatch.setattr(broken, "_step", die)
    with pytest.raises(KeyboardInterrupt):
        train(broken, examples)
    resumed = begin(folder, tmp_path / "broken.checkpoint", **settings)
    assert len(resumed.losses) == 2  # of six steps three were taken, and the third is lost
    again = train(resumed, examples)
    assert len(resumed.losses) == 6
    assert all(torch.equal(whole[name], again[name]) for name in whole)


def test_a_pass_too_large_for_the_memory_is_taken_in_smaller_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same weights come out; with room for not even one example the error says what to do."""
    folder = save_decoder(tmp_path / "m")
    examples = [make_example(number) for number in range(4)]
    settings: dict[str, Any] = {"train": "all", "batch_size": 4}
    whole = train(begin(folder, tmp_path / "a", **settings), examples)
    most = 1

    def refuse(rows: Any, *given: Any, whole: bool = False) -> Any:
        if len(rows) > most:
            raise torch.OutOfMemoryError
        return collate(rows, *given, whole=whole)

    monkeypatch.setattr(loop, "collate", refuse)
    apart = train(begin(folder, tmp_path / "b", **settings), examples)
    assert all(torch.allclose(whole[name], apart[name], atol=1e-4) for name in whole)
    most = 0
    with pytest.raises(
        BackendError,
        match=r"the memory does not take a pass of one example \([0-9]+ tokens\); expected room",
    ):
        train(begin(folder, tmp_path / "c", **settings), examples)


def test_what_the_model_cannot_take_is_left_out_and_counted(tmp_path: Path) -> None:
    """A limit of 160 tokens, of which the feedback takes some 50; two pictures are no fault of a
    model without eyes alone.
    """
    training = begin(save_decoder(tmp_path / "m", max_position_embeddings=160), train="all")
    long = make_example(1)._replace(target=f"{'x' * 220} {TARGET.format(2, 2)}")
    short_budget = make_example(1)._replace(
        request=Request("m", make_example(1).request.messages, Decoding(0.0, max_tokens=9))
    )
    survey = training.look_through([make_example(0), long, make_example(2, 1), short_budget], quiet)
    assert survey.fits == [0]
    assert survey.left_out == {
        "it is longer than the 160 tokens that the model takes": 1,
        "its prompt or image cannot be made ready (ValueError)": 1,
        "its feedback is longer than the judge's max_tokens of 9": 1,
    }


def test_bases_that_cannot_be_trained_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        BackendError,
        match=r"has no projector .*; set `train: lora`, or `train: all`, with a smaller",
    ):
        begin(save_decoder(tmp_path / "decoder"))
    with pytest.raises(
        BackendError, match="a model that has an encoder of text is not trained here"
    ):
        begin(save_t5(tmp_path / "t5"))
    with pytest.raises(
        BackendError,
        match="a model that is recurrent, or looks at a prompt both ways is not trained here",
    ):
        begin(tiny_vlms.save_paligemma(tmp_path / "paligemma"))


def test_a_loss_that_is_no_number_ends_the_training_before_it_spoils_the_weights(
    tmp_path: Path,
) -> None:
    training = begin(save_decoder(tmp_path / "m"), train="all")
    name = next(iter(training.weights))
    with torch.no_grad():
        training.weights[name].fill_(math.nan)
    with pytest.raises(
        BackendError, match="step 1: the loss is nan; expected a number; lower learning_rate"
    ):
        train(training, [make_example(0)])
    assert training.losses == []
