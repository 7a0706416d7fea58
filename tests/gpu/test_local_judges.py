"""Judges on a GPU: the replies of the processor, in half precision too; what does not fit is run in
halves; memory is measured.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from judgelake.tasks.backends.local.loading import give_back, measure_free, take_model
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.types import Decoding, Failure, Message, Request
from tests.backends.local.test_backend import looking_request
from tests.backends.local.test_joining import TOKENS, ragged_requests, watch_passes
from tests.backends.local_asking import ask, rating_request, replies
from tests.backends.tiny_models import CHAT, save_decoder, save_llava, save_t5

SAVED: dict[str, Any] = {"llama": save_decoder, "t5": save_t5, "llava": save_llava}
GREEDY = Decoding(0.0, max_tokens=8, top_logprobs=4)


@pytest.mark.parametrize("which", ["llama", "t5", "llava"])
def test_a_gpu_gives_the_processors_probabilities(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    save: Callable[[Path], Path] = SAVED[which]
    saved = save(tmp_path / which)
    requests = [rating_request(number, GREEDY) for number in range(8)]
    requests += (
        [looking_request(number % 2, "what") for number in range(4)] if which == "llava" else []
    )
    here, there = (
        replies(ask(saved, requests, device="cpu")),
        replies(ask(saved, requests, device="cuda")),
    )
    for one, other in zip(here, there, strict=True):
        assert one.text == other.text
        for position, same in zip(one.top_logprobs, other.top_logprobs, strict=True):
            np.testing.assert_allclose(
                np.exp([v for _, v in position]), np.exp([v for _, v in same]), atol=1e-4
            )


def test_half_precision_is_loaded_as_such(tmp_path: Path) -> None:
    model = save_decoder(tmp_path / "qwen", "Qwen2", CHAT)
    settings = LocalModel(str(model), dtype="bfloat16")
    loaded = take_model(settings)
    try:
        assert loaded.device.type == "cuda"
        assert loaded.model.dtype == torch.bfloat16
    finally:
        give_back(loaded)


def test_a_prompt_larger_than_the_memory_is_a_failure_and_the_others_are_answered(
    tmp_path: Path,
) -> None:
    model = save_decoder(
        tmp_path / "llama", num_hidden_layers=1, max_position_embeddings=10_000_000
    )
    held = torch.empty(
        int(0.97 * measure_free("cuda", spread=False)), dtype=torch.uint8, device="cuda"
    )
    try:
        long = Request(
            "m", (Message("user", "the cat is on a dog " * 400_000),), Decoding(0.0, max_tokens=1)
        )
        first, *rest = ask(
            model,
            [long, *(rating_request(number, GREEDY) for number in range(4))],
            batch_tokens=10**9,
        )
    finally:
        del held
    assert isinstance(first, Failure)
    assert "the memory does not take one prompt of" in first.reason
    replies(rest)


def test_places_are_taken_again_on_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", False)
    model, requests = save_decoder(tmp_path / "llama"), ragged_requests()
    alone = replies(ask(model, requests, apart=True, device="cpu"))
    _, joined = watch_passes(monkeypatch)
    together = replies(ask(model, requests, batch_tokens=TOKENS, device="cuda"))
    assert joined
    assert [reply.text for reply in together] == [reply.text for reply in alone]


@pytest.mark.skipif(
    importlib.util.find_spec("bitsandbytes") is None, reason="bitsandbytes is not installed here"
)
def test_a_quantised_model_replies(tmp_path: Path) -> None:
    model = save_decoder(tmp_path / "llama", hidden_size=64, intermediate_size=128)
    (reply,) = replies(ask(model, [rating_request(1, GREEDY)], quantization="8bit"))
    assert len(reply.top_logprobs) > 0
