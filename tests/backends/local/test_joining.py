"""Requests that wait take the places of replies that have ended: the same replies as alone,
whatever goes wrong on the way.
"""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from judgelake.tasks.backends.local import models as local_models
from judgelake.tasks.backends.local.backend import LocalBackend
from judgelake.tasks.backends.local.caches import RoomyLayer
from judgelake.tasks.backends.local.models import DecoderBatch
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.types import Decoding, Failure, Reply, Request
from tests.backends import tiny_vlms
from tests.backends.local.test_backend import expect_plain
from tests.backends.local.test_eyes import LOADING, load_processor, looking_request
from tests.backends.local_asking import ask, encode, generate_plainly, rating_request, replies
from tests.backends.tiny_models import save_decoder

LENGTHS = [3, 30, 9, 24, 1, 17, 40, 6, 12, 28, 2, 35, 20, 5, 8, 31]
TOKENS = 900
"""Places for 4 rows or 5."""


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_decoder(tmp_path_factory.mktemp("models") / "llama")


def ragged_requests(n: int = len(LENGTHS)) -> list[Request]:
    return [
        rating_request(number, Decoding(0.0, max_tokens=LENGTHS[number], top_logprobs=4))
        for number in range(n)
    ]


def watch_passes(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """How many rows each step has, and how many came at each joining."""
    stepped: list[int] = []
    joined: list[int] = []
    step, join = DecoderBatch.step, DecoderBatch.join

    def watch_step(self: DecoderBatch, tokens: torch.Tensor) -> torch.Tensor:
        stepped.append(len(tokens))
        return step(self, tokens)

    def watch_join(self: DecoderBatch, other: DecoderBatch, room: int) -> None:
        joined.append(len(other._mask))
        join(self, other, room)

    monkeypatch.setattr(DecoderBatch, "step", watch_step)
    monkeypatch.setattr(DecoderBatch, "join", watch_join)
    return stepped, joined


def test_those_that_wait_take_the_places_of_those_that_ended(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped, joined = watch_passes(monkeypatch)
    requests = ragged_requests()
    found = replies(ask(llama, requests, batch_tokens=TOKENS))
    tokenizer = transformers.AutoTokenizer.from_pretrained(llama)
    for request, reply in zip(requests, found, strict=True):
        inputs = tokenizer(
            request.messages[0].text, return_tensors="pt", return_token_type_ids=False
        )
        plain = generate_plainly(
            "AutoModelForCausalLM", llama, dict(inputs), request.decoding.max_tokens
        )
        expect_plain(reply, *plain, tokenizer)
    assert len(joined) >= 4
    assert max(stepped) <= 5
    # each reply's first token comes from its prompt, each further one from a row of a step; no row
    # is in a step after its end
    written = [reply.completion_tokens or 0 for reply in found]
    assert sum(stepped) == sum(written) - len(written)
    # five at a time that wait for their longest
    assert len(stepped) < 0.8 * sum(
        max(written[at : at + 5]) - 1 for at in range(0, len(written), 5)
    )


def test_rows_that_leave_and_come_keep_their_states() -> None:
    """Against plain lists of rows; each row ends in the last column, before it and before its own
    beginning nothing is asked.
    """
    rng = np.random.default_rng(0)
    made: Any = transformers.cache_utils.DynamicLayer

    def make(rows: int, length: int) -> tuple[RoomyLayer, list[list[float]]]:
        layer = RoomyLayer(made(), rows, length + 60)
        values = torch.from_numpy(rng.random((rows, 1, length, 1)))
        layer.update(values, -values)
        return layer, values[:, 0, :, 0].tolist()

    layer, expected = make(4, 7)
    for _ in range(60):
        kept = rng.permutation(len(expected))[: max(1, len(expected) - int(rng.integers(0, 3)))]
        layer.batch_select_indices(torch.from_numpy(kept))
        expected = [expected[row] for row in kept]
        other, rows = make(int(rng.integers(1, 4)), int(rng.integers(1, 9)))
        width = layer.get_seq_length()
        if len(rows[0]) > width or not layer.takes(len(expected) + len(rows), width + 1):
            dropped = width - max(map(len, expected))
            layer.move(
                dropped,
                max(width - dropped, len(rows[0])),
                len(expected) + len(rows),
                max(width, len(rows[0])) + 5,
            )
        layer.add_rows(other)
        expected = [*expected, *rows]
        new = torch.from_numpy(rng.random((len(expected), 1, 1, 1)))
        keys, values = layer.update(new, -new)
        expected = [
            [*row, *last] for row, last in zip(expected, new[:, 0, :, 0].tolist(), strict=True)
        ]
        for row, states, negated in zip(
            expected, keys[:, 0, :, 0], values[:, 0, :, 0], strict=True
        ):
            assert states[-len(row) :].tolist() == row
            assert negated[-len(row) :].tolist() == [-one for one in row]
        if len(expected) > 12:
            layer.batch_select_indices(torch.arange(2))
            expected = expected[:2]


def test_what_runs_short_of_memory_in_the_middle_is_run_again_in_parts(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = ragged_requests()
    expected = [reply.text for reply in replies(ask(llama, requests))]
    stepped, joined = watch_passes(monkeypatch)
    step = DecoderBatch.step
    failed: list[int] = []

    def fail_once(self: DecoderBatch, tokens: torch.Tensor) -> torch.Tensor:
        if len(joined) == 2 and not failed:
            failed.append(len(tokens))
            raise torch.OutOfMemoryError("CUDA out of memory")
        return step(self, tokens)

    monkeypatch.setattr(DecoderBatch, "step", fail_once)
    assert [reply.text for reply in replies(ask(llama, requests, batch_tokens=TOKENS))] == expected
    assert failed
    assert max(stepped[-10:]) <= 3  # the budget is halved for those that come later


def test_a_prompt_that_fails_beside_others_takes_none_with_it(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = local_models.Decoder.begin
    bad = "cat on the cat on the cat on 15"

    def begin(self: Any, prompts: Any, *given: Any) -> Any:
        tokenizer = self._loaded.tokenizer
        if any(bad in tokenizer.decode(prompt.ids) for prompt in prompts):
            raise ValueError("a bad image")
        return plain(self, prompts, *given)

    requests = [
        *ragged_requests(8),
        rating_request(15, Decoding(0.0, max_tokens=4), demos="question: "),
    ]
    monkeypatch.setattr(local_models.Decoder, "begin", begin)
    *fine, failure = ask(llama, requests, batch_tokens=300)
    assert isinstance(failure, Failure)
    assert failure.reason.endswith("the model raised ValueError: a bad image")
    replies(fine)


def test_what_is_asked_while_others_are_answered_comes_in(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = ragged_requests()
    expected = [reply.text for reply in replies(ask(llama, requests))]
    _, joined = watch_passes(monkeypatch)

    async def drive() -> list[Any]:
        """Four at a time, as an engine with a window of four asks."""
        backend, window = (
            LocalBackend(LocalModel(str(llama), dtype="float32", batch_tokens=TOKENS), encode),
            asyncio.Semaphore(4),
        )

        async def reply_within(request: Request) -> Any:
            async with window:
                return await backend.reply(request)

        try:
            return list(await asyncio.gather(*map(reply_within, requests)))
        finally:
            await backend.close()

    assert [reply.text for reply in asyncio.run(drive()) if isinstance(reply, Reply)] == expected
    assert joined


def test_a_model_with_axes_for_images_takes_rows_with_and_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_vlms.save_qwen_vl(tmp_path / "Qwen2VL", "Qwen2VL")
    looking = [
        looking_request(criterion, number)
        for number in (1, 2, 3)
        for criterion in ("what", "is the dog")
    ]
    mixed = [one for pair in zip(looking, ragged_requests(6), strict=True) for one in pair]
    requests = [
        Request("m", one.messages, Decoding(0.0, max_tokens=length, top_logprobs=2))
        for one, length in zip(mixed, LENGTHS, strict=False)
    ]
    with monkeypatch.context() as patch:
        patch.setattr(LOADING, "from_pretrained", load_processor)
        alone = replies(ask(folder, requests, apart=True))
        _, joined = watch_passes(patch)
        together = replies(ask(folder, requests, batch_tokens=TOKENS))
    assert joined
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(
            [[v for _, v in row] for row in one.top_logprobs],
            [[v for _, v in row] for row in other.top_logprobs],
            atol=1e-4,
        )
