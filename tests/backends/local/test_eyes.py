"""Families of vision models: replies, probabilities and tokens as of transformers' own loop,
criteria together, pictures of any size.
"""

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import transformers

from judgelake.tasks.backends.local.prompts import open_picture
from judgelake.tasks.types import Message, Request
from tests.backends import tiny_tiled_vlms, tiny_vlms
from tests.backends.local.test_backend import expect_plain, spy_on
from tests.backends.local_asking import GREEDY, ask, encode, generate_plainly, picture, replies


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
OWN_PROCESSORS: dict[str, Callable[[Path], Path]] = {
    **{
        f"{kind}Model": partial(tiny_tiled_vlms.save_qwen, kind=kind)
        for kind in ("Qwen2VL", "Qwen2_5_VL", "Qwen3VL", "Qwen3_5")
    },
    "SmolVLMModel": tiny_tiled_vlms.save_smolvlm,
    "InternVLModel": tiny_tiled_vlms.save_internvl,
    "LlavaModel": partial(tiny_tiled_vlms.save_pixtral, kind="Llava"),
    "Mistral3Model": partial(tiny_tiled_vlms.save_pixtral, kind="Mistral3"),
    "LlavaOnevisionModel": tiny_tiled_vlms.save_llava_onevision,
    "Llama4ForConditionalGeneration": tiny_tiled_vlms.save_llama4,
    "Gemma4Model": tiny_tiled_vlms.save_gemma4,
}
CRITERIA = ("what", "is the dog")
LOADING: Any = transformers.AutoProcessor
PLAIN = LOADING.from_pretrained


def load_processor(folder: Any, **options: Any) -> Any:
    return (
        tiny_vlms.QwenLooks(Path(folder))
        if "Qwen" in Path(folder).name
        else PLAIN(folder, **options)
    )


def looking_request(criterion: str, *numbers: int) -> Request:
    text = f"answer: {'the cat is on a dog ' * 4}{numbers} question: {criterion}"
    return Request("m", (Message("user", text, tuple(map(picture, numbers))),), GREEDY)


@pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)  # PaliGemma's processor
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_replies_as_its_own_loop_does(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = FAMILIES[family](tmp_path / family)
    monkeypatch.setattr(LOADING, "from_pretrained", load_processor)
    # of PaliGemma the whole prompt's tokens attend in both directions, so that each is computed alone
    expect_own_loop(folder, f"{family}Model", monkeypatch, shares=family != "PaliGemma")
    ask(folder, [looking_request(CRITERIA[0], 1)])  # as the next shard
    words = (
        f"judgelake: {folder}: its prompt's tokens attend in both directions; what its prompts share "
        f"(demonstrations, an image and its text) is computed"
    )
    assert capfd.readouterr().err.count(words) == (family == "PaliGemma")


@pytest.mark.parametrize("owner", OWN_PROCESSORS)
def test_a_family_with_its_own_processor_replies_as_its_own_loop_does(
    owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("torchvision", "num2words") if owner == "SmolVLMModel" else ("torchvision",):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"its processor needs {package}, which is not installed")
    expect_own_loop(OWN_PROCESSORS[owner](tmp_path / owner), owner, monkeypatch)


def expect_own_loop(
    folder: Path, owner: str, monkeypatch: pytest.MonkeyPatch, shares: bool = True
) -> None:
    """Two criteria over three pictures of different sizes, and over two pictures in both orders,
    all asked together.
    """
    shown = [(1,), (2,), (3,), (1, 2), (2, 1)]
    requests = [looking_request(criterion, *numbers) for criterion in CRITERIA for numbers in shown]
    looked: list[Any] = []
    with monkeypatch.context() as patch:
        spy_on(patch, getattr(transformers, owner), "get_image_features", looked)
        found = replies(ask(folder, requests))
    assert len(looked) == (len(shown) if shares else len(requests))
    processor = LOADING.from_pretrained(folder)
    for request, reply in zip(requests, found, strict=True):
        inputs = make_inputs(processor, request)
        assert reply.prompt_tokens == inputs["input_ids"].shape[1]
        expect_plain(
            reply,
            *generate_plainly("AutoModelForImageTextToText", folder, inputs, 5),
            processor.tokenizer,
        )
    assert len({reply.text for reply in found}) > 3


def make_inputs(processor: Any, request: Request) -> dict[str, Any]:
    """A conversation as the family's own processor prepares it for `generate`."""
    (message,) = request.messages
    pictures = [open_picture(encode(image)) for image in message.images]
    turns = [
        {
            "role": "user",
            "content": [
                *({"type": "image"} for _ in pictures),
                {"type": "text", "text": message.text},
            ],
        }
    ]
    text = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    inputs = dict(
        processor(text=[text], images=pictures, return_tensors="pt", add_special_tokens=False)
    )
    takes_kinds = isinstance(
        processor, transformers.Gemma3Processor | transformers.PaliGemmaProcessor
    )
    dropped = (
        {"labels"} if takes_kinds else {"labels", "token_type_ids"}
    )  # of a tokenizer that takes pairs
    kept = {name: value for name, value in inputs.items() if name not in dropped}
    return {
        name: value.float() if value.is_floating_point() else value for name, value in kept.items()
    }  # Llama 4's are bfloat16
