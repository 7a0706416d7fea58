"""Judges in this process: the same replies as transformers' own loop, however requests come, share
and are put together.
"""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from judgelake.tasks.backends.local import models as local_models
from judgelake.tasks.backends.local.caches import CacheKind, inspect_caches
from judgelake.tasks.backends.local.models import Decoder
from judgelake.tasks.backends.local.prompts import open_picture
from judgelake.tasks.types import Decoding, Failure, Message, Reply, Request
from tests.backends import tiny_models
from tests.backends.local_asking import (
    GREEDY,
    ask,
    encode,
    generate_plainly,
    picture,
    rating_request,
    replies,
)
from tests.backends.tiny_models import CHAT, CHAT_WITHOUT_SYSTEM, save_decoder, save_llava, save_t5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def llama(folder: Path) -> Path:
    return save_decoder(folder / "llama")


@pytest.fixture(scope="module")
def qwen(folder: Path) -> Path:
    return save_decoder(folder / "qwen", "Qwen2", CHAT)


@pytest.fixture(scope="module")
def t5(folder: Path) -> Path:
    return save_t5(folder / "t5")


@pytest.fixture(scope="module")
def llava(folder: Path) -> Path:
    return save_llava(folder / "llava")


def expect_plain(reply: Reply, ids: list[int], logprobs: torch.Tensor, tokenizer: Any) -> None:
    """The reply is what `generate` wrote: its text, its end, and its probabilities to 1e-5."""
    ended = ids[-1] == tokenizer.eos_token_id
    said = ids[:-1] if ended else ids
    assert reply.text == tokenizer.decode(said, skip_special_tokens=True)
    assert reply.finish_reason == ("stop" if ended else "length")
    assert reply.completion_tokens == len(ids)
    assert len(reply.top_logprobs) == len(said)
    for position, token, row in zip(reply.top_logprobs, said, logprobs, strict=False):
        found = np.exp([value for _, value in position])
        np.testing.assert_allclose(found[:4], row.exp().topk(4).values, rtol=0, atol=1e-5)
        assert np.abs(np.exp(row[token].item()) - found).min() < 1e-5


def is_a_mix(found: list[Reply]) -> bool:
    """Whether some replies ended by themselves and some by the limit, so that both were tried."""
    return {reply.finish_reason for reply in found} == {"stop", "length"}


def test_a_decoder_replies_as_its_own_loop_does(llama: Path) -> None:
    requests = [
        rating_request(number, Decoding(0.0, max_tokens=40, top_logprobs=4)) for number in range(8)
    ]
    found = replies(ask(llama, requests))
    tokenizer = transformers.AutoTokenizer.from_pretrained(llama)
    for request, reply in zip(requests, found, strict=True):
        inputs = tokenizer(
            request.messages[0].text, return_tensors="pt", return_token_type_ids=False
        )
        assert reply.prompt_tokens == inputs["input_ids"].shape[1]
        expect_plain(
            reply, *generate_plainly("AutoModelForCausalLM", llama, dict(inputs), 40), tokenizer
        )
    assert is_a_mix(found)


RECURRENT: dict[str, Any] = {
    "Lfm2": {"layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False},
    "Qwen3Next": {
        "layer_types": ["linear_attention", "full_attention"],
        "head_dim": 8,
        "num_experts": 0,
        "linear_num_key_heads": 2,
    }
    | {"linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8},
    "Jamba": {
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "num_experts": 1,
        "mamba_d_state": 4,
        "use_mamba_kernels": False,
    },
}


@pytest.mark.parametrize("kind", RECURRENT)
def test_a_recurrent_model_shares_beginnings_where_it_goes_on_from_its_state(
    kind: str, folder: Path
) -> None:
    place = save_decoder(folder / kind, kind, **RECURRENT[kind])
    requests = [rating_request(number) for number in range(6)]
    found = replies(ask(place, requests))
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    for request, reply in zip(requests, found, strict=True):
        inputs = tokenizer(
            request.messages[0].text, return_tensors="pt", return_token_type_ids=False
        )
        expect_plain(
            reply, *generate_plainly("AutoModelForCausalLM", place, dict(inputs), 5), tokenizer
        )
    # Jamba's layers begin anew wherever several tokens come at once
    model = transformers.AutoModelForCausalLM.from_pretrained(place)
    assert inspect_caches(model)[:2] == CacheKind(0, shares=kind != "Jamba")[:2]


def test_a_layer_without_keys_of_its_own_lets_beginnings_be_shared() -> None:
    """Gemma 4's last layers read the keys and values of earlier ones."""
    kinds = ["sliding_attention", "full_attention"] * 2
    sizes: Any = {
        **tiny_models.SIZES,
        "num_hidden_layers": 4,
        "head_dim": 8,
        "global_head_dim": 8,
        "hidden_size_per_layer_input": 4,
    }
    sizes |= {
        "vocab_size": 99,
        "vocab_size_per_layer_input": 99,
        "layer_types": kinds,
        "sliding_window": 48,
        "num_kv_shared_layers": 2,
    }
    model = transformers.Gemma4ForCausalLM(transformers.Gemma4TextConfig(**sizes))
    assert inspect_caches(model) == CacheKind(48, shares=True)


def test_a_chat_model_is_asked_through_its_template(qwen: Path) -> None:
    turns = (
        Message("system", "so"),
        Message("user", "what is it"),
        Message("assistant", "a cat"),
        Message("user", "rating"),
    )
    (reply,) = replies(ask(qwen, [Request("m", turns, GREEDY)]))
    tokenizer = transformers.AutoTokenizer.from_pretrained(qwen)
    text = (
        "<|system|>\nso\n<|user|>\nwhat is it\n<|assistant|>\na "
        "cat\n<|user|>\nrating\n<|assistant|>\n"
    )
    inputs = tokenizer(
        text, return_tensors="pt", add_special_tokens=False, return_token_type_ids=False
    )
    expect_plain(reply, *generate_plainly("AutoModelForCausalLM", qwen, dict(inputs), 5), tokenizer)


def test_a_template_without_system_messages_gets_them_in_the_users(
    folder: Path, qwen: Path
) -> None:
    plain = save_decoder(folder / "no-system", "Qwen2", CHAT_WITHOUT_SYSTEM)
    apart = Request("m", (Message("system", "so"), Message("user", "rating")), GREEDY)
    merged = Request("m", (Message("user", "so\n\nrating"),), GREEDY)
    reported, same = replies(ask(plain, [apart, merged]))
    assert reported.text == same.text
    assert reported.adapted == "system message in the user's"
    assert same.adapted is None


def test_an_encoder_decoder_replies_as_its_own_loop_does(t5: Path) -> None:
    requests = [
        rating_request(number, demos="question: what " * (number % 5)) for number in range(10)
    ]
    found = replies(ask(t5, requests))
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    for request, reply in zip(requests, found, strict=True):
        inputs = tokenizer(
            request.messages[0].text, return_tensors="pt", return_token_type_ids=False
        )
        expect_plain(
            reply, *generate_plainly("AutoModelForSeq2SeqLM", t5, dict(inputs), 5), tokenizer
        )


def spy_on(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, seen: list[Any]) -> None:
    """Put the keywords of each call of a method into `seen`."""
    plain = getattr(owner, name)

    @functools.wraps(plain)
    def spy(self: Any, *given: Any, **named: Any) -> Any:
        seen.append(named)
        return plain(self, *given, **named)

    monkeypatch.setattr(owner, name, spy)


def looking_request(number: int, criterion: str) -> Request:
    """HarmonicEval's form: the image and the text first, the criterion last."""
    text = f"answer: {'the cat is on a dog ' * 4}{number} question: {criterion}"
    return Request("m", (Message("user", text, (picture(number),)),), GREEDY)


def test_a_model_with_eyes_replies_as_its_own_loop_does(llava: Path) -> None:
    requests = [
        looking_request(number, criterion)
        for criterion in ("what", "is the dog", "output so")
        for number in (1, 2)
    ]
    requests.append(rating_request(1))
    found = replies(ask(llava, requests))
    loading: Any = transformers.AutoProcessor
    processor = loading.from_pretrained(llava)
    for request, reply in zip(requests[:-1], found, strict=False):
        image = open_picture(encode(request.messages[0].images[0]))
        text = f"<s><|user|>\n<image>\n{request.messages[0].text}<|assistant|>\n"
        inputs = processor(
            text=[text], images=[image], return_tensors="pt", add_special_tokens=False
        )
        inputs.pop("token_type_ids", None)
        assert reply.prompt_tokens == inputs["input_ids"].shape[1] > 16
        expect_plain(
            reply,
            *generate_plainly("AutoModelForImageTextToText", llava, dict(inputs), 5),
            processor.tokenizer,
        )
    assert len({reply.text for reply in found}) > 3


def test_an_image_is_looked_at_once_for_all_its_criteria(
    llava: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Any] = []
    spy_on(monkeypatch, transformers.LlavaModel, "get_image_features", looked)
    replies(
        ask(
            llava,
            [
                looking_request(number, criterion)
                for criterion in ("what", "is", "on", "a", "so")
                for number in (1, 2)
            ],
        )
    )
    assert len(looked) == 2
    looked.clear()
    replies(
        ask(
            llava, [looking_request(7, criterion) for criterion in ("what", "is", "on")], apart=True
        )
    )
    assert len(looked) == 1


@pytest.mark.parametrize("which", ["llama", "t5", "llava"])
def test_replies_do_not_depend_on_what_runs_beside(
    which: str, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(which)
    decodings = [
        Decoding(0.0, max_tokens=1 + number % 7, top_logprobs=number % 4) for number in range(10)
    ]
    requests = [rating_request(number, decoding) for number, decoding in enumerate(decodings)]
    together, apart = replies(ask(model, requests)), replies(ask(model, requests, apart=True))
    narrow = replies(ask(model, requests, batch_tokens=500))
    for one, other, third in zip(together, apart, narrow, strict=True):
        assert (
            (one.text, one.finish_reason)
            == (other.text, other.finish_reason)
            == (third.text, third.finish_reason)
        )
    assert [
        len(reply.top_logprobs[:1] and reply.top_logprobs[0])
        for reply in together
        if reply.completion_tokens
    ] == [number % 4 for number in range(10) if together[number].completion_tokens]


def test_demonstrations_are_computed_once(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[Any] = []
    spy_on(monkeypatch, transformers.LlamaForCausalLM, "forward", passes)
    requests = [rating_request(number, Decoding(0.0, max_tokens=1)) for number in range(20)]
    found = replies(ask(llama, requests))
    whole = [reply.prompt_tokens or 0 for reply in found]
    seen = [given["input_ids"].numel() for given in passes]
    assert max(seen) >= 0.7 * min(whole)  # the demonstrations, in one row
    assert sum(seen) < 0.35 * sum(whole)


def test_draws_differ_and_come_again(llama: Path) -> None:
    decoding = Decoding(1.0, max_tokens=8, seed=0)
    requests = [rating_request(3, decoding, draw=draw) for draw in range(6)]
    first, again = (
        replies(ask(llama, requests)),
        replies(ask(llama, requests[::-1], apart=True))[::-1],
    )
    assert [reply.text for reply in first] == [reply.text for reply in again]
    assert len({reply.text for reply in first}) == 6
    (other,) = replies(ask(llama, [rating_request(3, Decoding(1.0, max_tokens=8, seed=1))]))
    assert other.text not in {reply.text for reply in first}


def test_draws_are_as_frequent_as_their_probabilities(llama: Path) -> None:
    requests = [
        rating_request(1, Decoding(1.0, max_tokens=1, top_logprobs=20), draw=draw)
        for draw in range(400)
    ]
    found = replies(ask(llama, requests))
    best, logprob = found[0].top_logprobs[0][0]
    share, n = np.exp(logprob), len(found)
    counted = sum(reply.text == best for reply in found)
    assert 0.05 < share < 0.95
    assert abs(counted - n * share) < 4 * np.sqrt(n * share * (1 - share))
    nucleus = replies(
        ask(llama, [rating_request(1, Decoding(1.0, 1e-6, 1), draw=draw) for draw in range(20)])
    )
    assert {reply.text for reply in nucleus} == {best}


@pytest.mark.parametrize("chat", [None, CHAT])
def test_a_given_text_is_scored_token_by_token(folder: Path, chat: str | None) -> None:
    model = save_decoder(folder / f"scorer-{chat is None}", chat=chat)
    texts = (" a cat", " the dog is on the cat", " rating")
    requests = [
        Request("m", (Message("user", "question: what is it answer:"),), scored=text)
        for text in texts
    ]
    found = replies(ask(model, requests))
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    plain: Any = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    for request, reply in zip(requests, found, strict=True):
        before = request.messages[0].text
        text = before if chat is None else f"<|user|>\n{before}\n<|assistant|>\n"
        head = tokenizer(text, add_special_tokens=chat is None)["input_ids"]
        ids = head + tokenizer(request.scored, add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            logprobs = plain(torch.tensor([ids])).logits[0].log_softmax(-1)
        expected = [logprobs[at - 1, ids[at]].item() for at in range(len(head), len(ids))]
        assert [len(position) for position in reply.top_logprobs] == [1] * len(expected)
        np.testing.assert_allclose(
            [position[0][1] for position in reply.top_logprobs], expected, atol=2e-4
        )
        assert "".join(position[0][0] for position in reply.top_logprobs) == request.scored
        assert (reply.text, reply.completion_tokens) == ("", 0)


def test_an_encoder_decoder_scores_a_given_text(t5: Path) -> None:
    requests = [
        Request("m", (Message("user", "question: what" * n),), scored=" a cat") for n in (1, 3)
    ]
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5)
    plain: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(t5, dtype=torch.float32)
    for request, reply in zip(requests, replies(ask(t5, requests)), strict=True):
        labels = tokenizer(request.scored, add_special_tokens=False, return_tensors="pt")[
            "input_ids"
        ]
        with torch.inference_mode():
            inputs = tokenizer(request.messages[0].text, return_tensors="pt")["input_ids"]
            logprobs = plain(input_ids=inputs, labels=labels).logits[0].log_softmax(-1)
        expected = logprobs[torch.arange(labels.shape[1]), labels[0]].numpy()
        np.testing.assert_allclose(
            [position[0][1] for position in reply.top_logprobs], expected, atol=2e-4
        )


def test_what_does_not_fit_or_cannot_be_seen_is_a_failure(llama: Path, llava: Path) -> None:
    long = Request("m", (Message("user", "cat " * 3000),), GREEDY)
    looking = looking_request(1, "what")
    too_long, blind, fine = ask(llama, [long, looking, rating_request(1)])
    assert isinstance(too_long, Failure)
    assert "expected fewer than the 2,048 that the model takes" in too_long.reason
    assert isinstance(blind, Failure)
    assert "sees no images" in blind.reason
    assert isinstance(fine, Reply)
    (scored,) = ask(llava, [Request("m", looking.messages, scored=" a")])
    assert isinstance(scored, Failure)


def test_a_batch_too_large_for_the_memory_runs_in_halves(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    plain = local_models.Decoder.begin

    def begin(self: Decoder, prompts: list[Any], *given: Any) -> Any:
        sizes.append(len(prompts))
        if len(prompts) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return plain(self, prompts, *given)

    requests = [rating_request(number) for number in range(20)]
    expected = [reply.text for reply in replies(ask(llama, requests))]
    monkeypatch.setattr(local_models.Decoder, "begin", begin)
    assert [reply.text for reply in replies(ask(llama, requests))] == expected
    assert max(sizes) > 3
    assert sizes[-1] <= 3
    monkeypatch.setattr(local_models.Decoder, "begin", lambda *given: begin(*given[:1], [0] * 9))
    (failure,) = ask(llama, requests[:1])
    assert isinstance(failure, Failure)
    assert "the memory does not take one prompt of" in failure.reason


def test_layers_with_a_window_reply_as_their_own_loop_does(folder: Path) -> None:
    model = save_decoder(folder / "mistral", "Mistral", sliding_window=40)
    requests = [rating_request(number, demos=tiny_models.WORDS[0] * 3) for number in range(8)]
    requests += [rating_request(number) for number in range(4)]  # longer than the window
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    for request, reply in zip(requests, replies(ask(model, requests)), strict=True):
        inputs = tokenizer(
            request.messages[0].text, return_tensors="pt", return_token_type_ids=False
        )
        expect_plain(
            reply, *generate_plainly("AutoModelForCausalLM", model, dict(inputs), 5), tokenizer
        )
