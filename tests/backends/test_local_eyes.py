"""Families of vision models: replies, probabilities and tokens as of transformers' own loop, criteria together, pictures of any size."""

from pathlib import Path
from typing import Any

import pytest
import transformers

from tasks.backends.local_prompts import open_picture
from tasks.judging.types import Message, Request
from tests.backends import tiny_vlms
from tests.backends.local_asking import GREEDY, ask, encode, generate_plainly, picture, replies
from tests.backends.test_transformers_local import expect_plain, spy_on


def save_qwen2_vl(folder: Path) -> Path:
    return tiny_vlms.save_qwen_vl(folder, "Qwen2VL")


def save_qwen2_5_vl(folder: Path) -> Path:
    return tiny_vlms.save_qwen_vl(folder, "Qwen2_5_VL")


FAMILIES = {
    "LlavaNext": tiny_vlms.save_llava_next,
    "Idefics3": tiny_vlms.save_idefics3,
    "Gemma3": tiny_vlms.save_gemma3,
    "PaliGemma": tiny_vlms.save_paligemma,
    "Qwen2VL": save_qwen2_vl,
    "Qwen2_5_VL": save_qwen2_5_vl,
}
CRITERIA = ("what", "is the dog", "output so")
LOADING: Any = transformers.AutoProcessor
PLAIN = LOADING.from_pretrained


def load_processor(folder: Any, **options: Any) -> Any:
    return tiny_vlms.QwenLooks(Path(folder)) if "Qwen" in Path(folder).name else PLAIN(folder, **options)


def looking_request(criterion: str, *numbers: int) -> Request:
    text = f"answer: {'the cat is on a dog ' * 4}{numbers} question: {criterion}"
    return Request("m", (Message("user", text, tuple(map(picture, numbers))),), GREEDY)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # PaliGemma's processor
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_replies_as_its_own_loop_does(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Three criteria over three pictures of different sizes, and over two pictures in both orders, all asked together."""
    folder = FAMILIES[family](tmp_path / family)
    shown = [(1,), (2,), (3,), (1, 2), (2, 1)]
    requests = [looking_request(criterion, *numbers) for criterion in CRITERIA for numbers in shown]
    looked: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(LOADING, "from_pretrained", load_processor)
        spy_on(patch, getattr(transformers, f"{family}Model"), "get_image_features", looked)
        found = replies(ask(folder, requests))
    # of PaliGemma the whole prompt looks both ways, so that each is computed alone
    assert len(looked) == (len(requests) if family == "PaliGemma" else len(shown))
    processor = load_processor(folder)
    for request, reply in zip(requests, found, strict=True):
        inputs = make_inputs(processor, request)
        assert reply.prompt_tokens == inputs["input_ids"].shape[1]
        expect_plain(reply, *generate_plainly("AutoModelForImageTextToText", folder, inputs, 5), processor.tokenizer)
    assert len({reply.text for reply in found}) > 3
    ask(folder, requests[:1])  # as the next shard
    words = f"judgelake: {folder}: its prompt looks both ways; what its prompts share (demonstrations, an image and its text) is computed"
    assert capfd.readouterr().err.count(words) == (family == "PaliGemma")


def make_inputs(processor: Any, request: Request) -> dict[str, Any]:
    """A conversation as the family's own processor prepares it for `generate`."""
    (message,) = request.messages
    pictures = [open_picture(encode(image)) for image in message.images]
    turns = [{"role": "user", "content": [*({"type": "image"} for _ in pictures), {"type": "text", "text": message.text}]}]
    text = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    inputs = dict(processor(text=[text], images=pictures, return_tensors="pt", add_special_tokens=False))
    takes_kinds = isinstance(processor, transformers.Gemma3Processor | transformers.PaliGemmaProcessor)
    dropped = {"labels"} if takes_kinds else {"labels", "token_type_ids"}  # of a tokenizer that takes pairs
    return {name: value for name, value in inputs.items() if name not in dropped}
