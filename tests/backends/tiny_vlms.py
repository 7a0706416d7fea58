"""Tiny models with eyes of families beside LLaVA, each with its own processor: tiles, one square,
patches as many as the picture has.

Random weights, saved as their users save them. LLaVA itself is in `tests.backends.tiny_models`.
"""

import re
from pathlib import Path
from typing import Any

import transformers

from tests.backends.tiny_models import LOOKING_CHAT, SIZES, VISION, make_tokenizer, save_model

_SCALE: Any = {"initializer_range": 0.4}
_SIGLIP: Any = {**VISION, "vision_use_head": False}
_MARKED_CHAT = LOOKING_CHAT.replace("<image>", "<start_of_image>")
_QWEN_MARKS = ["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"]
_PADDED_CHAT = LOOKING_CHAT.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")


def save_llava_next(folder: Path) -> Path:
    """A picture as a whole and in tiles, unpadded by its sizes."""
    tokenizer = make_tokenizer()
    text, vision = (
        transformers.LlamaConfig(vocab_size=len(tokenizer), **SIZES),
        transformers.CLIPVisionConfig(**VISION),
    )
    grid = [[32, 64], [64, 32], [64, 64]]
    more: Any = {
        "image_token_index": 3,
        "vision_feature_layer": -2,
        "image_grid_pinpoints": grid,
        **_SCALE,
    }
    pictures = transformers.LlavaNextImageProcessorPil(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}, image_grid_pinpoints=grid
    )
    made: Any = transformers.LlavaNextProcessor
    rest: Any = {
        "patch_size": 8,
        "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
    }
    made(pictures, tokenizer, chat_template=LOOKING_CHAT, **rest).save_pretrained(folder)
    config = transformers.LlavaNextConfig(vision_config=vision, text_config=text, **more)
    return save_model(folder, transformers.LlavaNextForConditionalGeneration, config)


def save_idefics3(folder: Path) -> Path:
    """As many tiles as the picture is large, each between marks of its row and column (SmolVLM's
    way too).
    """
    tokenizer = make_tokenizer()
    made: Any = transformers.Idefics3Processor
    pictures = transformers.Idefics3ImageProcessorPil(
        size={"longest_edge": 64}, max_image_size={"longest_edge": 32}
    )
    processor = made(pictures, tokenizer, image_seq_len=4, chat_template=LOOKING_CHAT)
    processor.save_pretrained(folder)
    text = transformers.LlamaConfig(vocab_size=len(tokenizer), **SIZES)
    vision = transformers.Idefics3VisionConfig(**VISION, **_SCALE)
    more: Any = {
        "image_token_id": processor.image_token_id,
        "scale_factor": 2,
        "pad_token_id": 0,
        **_SCALE,
    }
    config = transformers.Idefics3Config(vision_config=vision, text_config=text, **more)
    return save_model(folder, transformers.Idefics3ForConditionalGeneration, config)


def save_gemma3(folder: Path) -> Path:
    """An image's tokens look at one another both ways; layers with a sliding window; the text's
    mark is not the image's token.
    """
    names = {
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    }
    tokenizer = make_tokenizer(extra_special_tokens=names)
    pictures = transformers.Gemma3ImageProcessorPil(size={"height": 32, "width": 32})
    made: Any = transformers.Gemma3Processor
    made(pictures, tokenizer, image_seq_length=4, chat_template=_MARKED_CHAT).save_pretrained(
        folder
    )
    sizes: Any = {**SIZES, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 48}
    kinds = ["sliding_attention", "full_attention"]
    text = transformers.Gemma3TextConfig(vocab_size=len(tokenizer), layer_types=kinds, **sizes)
    ids: Any = {
        f"{name}_index": tokenizer.convert_tokens_to_ids(token) for name, token in names.items()
    }
    vision = transformers.SiglipVisionConfig(**_SIGLIP)
    config = transformers.Gemma3Config(
        vision_config=vision, text_config=text, mm_tokens_per_image=4, **ids, **_SCALE
    )
    return save_model(folder, transformers.Gemma3ForConditionalGeneration, config)


def save_paligemma(folder: Path) -> Path:
    """The whole prompt looks at itself both ways, so that no beginning of it can be computed
    alone.
    """
    tokenizer = make_tokenizer()
    pictures = transformers.SiglipImageProcessorPil(
        size={"height": 32, "width": 32}, image_seq_length=16
    )
    made: Any = transformers.PaliGemmaProcessor
    processor = made(pictures, tokenizer, chat_template=LOOKING_CHAT)
    processor.save_pretrained(folder)
    text = transformers.GemmaConfig(vocab_size=len(tokenizer), head_dim=8, **SIZES)
    vision = transformers.SiglipVisionConfig(**_SIGLIP)
    more: Any = {
        "image_token_index": processor.image_token_id,
        "projection_dim": 32,
        "hidden_size": 32,
        **_SCALE,
    }
    config = transformers.PaliGemmaConfig(vision_config=vision, text_config=text, **more)
    return save_model(folder, transformers.PaliGemmaForConditionalGeneration, config)


def save_qwen_vl(folder: Path, kind: str) -> Path:
    """As many patches as the picture has, and positions of three axes. Its processor is
    `QwenLooks`: its own one needs torchvision.
    """
    tokenizer = make_tokenizer(chat_template=_PADDED_CHAT)
    tokenizer.add_special_tokens({"additional_special_tokens": _QWEN_MARKS})
    tokenizer.save_pretrained(folder)
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0}
    text: Any = {**SIZES, "vocab_size": len(tokenizer), "rope_parameters": rope}
    vision: Any = {"depth": 2, "num_heads": 2, "patch_size": 8, **_SCALE}
    if kind == "Qwen2_5_VL":
        vision |= {
            "hidden_size": 16,
            "intermediate_size": 24,
            "out_hidden_size": 32,
            "window_size": 32,
            "fullatt_block_indexes": [1],
        }
    else:
        vision |= {"embed_dim": 16, "hidden_size": 32, "mlp_ratio": 2}
    ids: Any = dict(
        zip(
            ("image_token_id", "video_token_id", "vision_start_token_id"),
            tokenizer.convert_tokens_to_ids(_QWEN_MARKS),
            strict=False,
        )
    )
    config = getattr(transformers, f"{kind}Config")(
        text_config=text, vision_config=vision, **ids, **_SCALE
    )
    return save_model(folder, getattr(transformers, f"{kind}ForConditionalGeneration"), config)


class QwenLooks:
    """What Qwen2-VL's processor does with pictures, from transformers' own parts, without the part
    for films.
    """

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.chat_template, self.apply_chat_template = (
            self.tokenizer.chat_template,
            self.tokenizer.apply_chat_template,
        )
        self._pictures = transformers.Qwen2VLImageProcessorPil(
            patch_size=8, merge_size=2, min_pixels=256, max_pixels=4096
        )

    def __call__(self, text: list[str], images: list[Any], **options: Any) -> dict[str, Any]:
        found = self._pictures(images=images, return_tensors="pt")
        counts = iter(int(grid.prod()) // 4 for grid in found["image_grid_thw"])
        filled = [
            re.sub(re.escape(_QWEN_MARKS[0]), lambda mark: mark[0] * next(counts), one)
            for one in text
        ]
        said = self.tokenizer(filled, **options)
        kinds = (said["input_ids"] == self.tokenizer.convert_tokens_to_ids(_QWEN_MARKS[0])).long()
        return {**said, "mm_token_type_ids": kinds, **found}
