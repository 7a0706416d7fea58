"""Tiny models with eyes of families whose own processors need torchvision, each with that
processor, its part for films too.

Random weights, saved as their users save them. Families whose processors need no torchvision are in
`tests.backends.tiny_vlms`.
"""

from pathlib import Path
from typing import Any

import transformers

from tests.backends.tiny_models import LOOKING_CHAT, SIZES, VISION, make_tokenizer, save_model

_SCALE: Any = {"initializer_range": 0.4}
_SQUARE = {"height": 32, "width": 32}
_GRID = [[32, 32], [32, 64], [64, 32], [64, 64]]
_QWEN_MARKS = {
    "image_token": "<|image_pad|>",
    "video_token": "<|video_pad|>",
    "vision_start_token": "<|vision_start|>",
    "vision_end_token": "<|vision_end|>",
}
_WIDTHS: Any = {"hidden_size": 16, "intermediate_size": 24, "out_hidden_size": 32}
_QWEN_EYES: Any = {
    "Qwen2VL": {"embed_dim": 16, "hidden_size": 32, "mlp_ratio": 2},
    "Qwen2_5_VL": {**_WIDTHS, "window_size": 32, "fullatt_block_indexes": [1]},
    "Qwen3VL": {**_WIDTHS, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
    "Qwen3_5": {**_WIDTHS, "num_position_embeddings": 64, "deepstack_visual_indexes": []},
}
_LLAMA4_MARKS = [
    "<|image|>",
    "<|patch|>",
    "<|image_start|>",
    "<|image_end|>",
    "<|tile_x_separator|>",
    "<|tile_y_separator|>",
]


def make(name: str) -> Any:
    """A class of transformers, untyped."""
    return getattr(transformers, name)


def save_qwen(folder: Path, kind: str) -> Path:
    """As many patches as the picture has, positions of three axes; Qwen3-VL looks into several
    layers, Qwen3.5 has recurrent ones.
    """
    tokenizer = make_tokenizer(extra_special_tokens=_QWEN_MARKS)
    is_third = kind.startswith("Qwen3")
    size: Any = {
        "patch_size": 8,
        "merge_size": 2,
        "size": {"shortest_edge": 256, "longest_edge": 4096},
    }
    parts = (
        make("Qwen2VLImageProcessor")(**size),
        tokenizer,
        make(f"Qwen{3 if is_third else 2}VLVideoProcessor")(**size),
    )
    chat = LOOKING_CHAT.replace("<image>", "<|vision_start|><|image_pad|><|vision_end|>")
    make("Qwen3VLProcessor" if is_third else f"{kind}Processor")(
        *parts, chat_template=chat
    ).save_pretrained(folder)
    rope: Any = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0}
    text: Any = {
        **SIZES,
        "vocab_size": len(tokenizer),
        "rope_parameters": rope,
        **({"head_dim": 8} if is_third else {}),
    }
    if kind == "Qwen3_5":
        rope |= {"partial_rotary_factor": 1.0}
        text |= {
            "layer_types": ["linear_attention", "full_attention"],
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
        }
        text |= {"linear_key_head_dim": 8, "linear_value_head_dim": 8}
    ids: Any = {
        f"{name}_id": tokenizer.convert_tokens_to_ids(token) for name, token in _QWEN_MARKS.items()
    }
    vision: Any = {"depth": 2, "num_heads": 2, "patch_size": 8, **_QWEN_EYES[kind], **_SCALE}
    config = make(f"{kind}Config")(text_config=text, vision_config=vision, **ids, **_SCALE)
    return save_model(folder, make(f"{kind}ForConditionalGeneration"), config)


def save_smolvlm(folder: Path) -> Path:
    """Idefics3's way with a part for films."""
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens(
        {"additional_special_tokens": ["<fake_token_around_image>", "<global-img>", "<video>"]}
    )
    edges: Any = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}
    pictures, moving = (
        make("SmolVLMImageProcessor")(**edges),
        make("SmolVLMVideoProcessor")(**edges),
    )
    processor = make("SmolVLMProcessor")(
        pictures, tokenizer, moving, image_seq_len=4, chat_template=LOOKING_CHAT
    )
    processor.save_pretrained(folder)
    text = transformers.LlamaConfig(vocab_size=len(tokenizer), **SIZES)
    vision = make("SmolVLMVisionConfig")(**VISION, **_SCALE)
    more: Any = {
        "image_token_id": processor.image_token_id,
        "scale_factor": 2,
        "pad_token_id": 0,
        **_SCALE,
    }
    config = make("SmolVLMConfig")(vision_config=vision, text_config=text, **more)
    return save_model(folder, make("SmolVLMForConditionalGeneration"), config)


def save_internvl(folder: Path) -> Path:
    """A picture in tiles of one size, as many as its shape asks for."""
    names = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = make_tokenizer(extra_special_tokens=names)
    pictures, moving = (
        make("GotOcr2ImageProcessor")(size=_SQUARE, max_patches=4),
        make("InternVLVideoProcessor")(size=_SQUARE),
    )
    chat = LOOKING_CHAT.replace("<image>", "<IMG_CONTEXT>")
    processor = make("InternVLProcessor")(
        pictures, tokenizer, moving, image_seq_length=4, chat_template=chat
    )
    processor.save_pretrained(folder)
    text = transformers.Qwen2Config(vocab_size=len(tokenizer), **SIZES)
    vision = make("InternVLVisionConfig")(**VISION, **_SCALE)
    more: Any = {"image_token_id": processor.image_token_id, "image_seq_length": 4, **_SCALE}
    config = make("InternVLConfig")(vision_config=vision, text_config=text, **more)
    return save_model(folder, make("InternVLForConditionalGeneration"), config)


def save_pixtral(folder: Path, kind: str) -> Path:
    """Pixtral (a LLaVA with eyes for any size) or Mistral 3: rows of patches, each with its own
    end.
    """
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens(
        {"additional_special_tokens": ["[IMG]", "[IMG_BREAK]", "[IMG_END]"]}
    )
    merge = 2 if kind == "Mistral3" else 1
    pictures = make("PixtralImageProcessor")(size={"longest_edge": 64}, patch_size=8)
    chat = LOOKING_CHAT.replace("<image>", "[IMG]")
    more: Any = {"patch_size": 8, "spatial_merge_size": merge, "chat_template": chat}
    processor = make("PixtralProcessor")(pictures, tokenizer, **more)
    processor.save_pretrained(folder)
    text = transformers.MistralConfig(
        vocab_size=len(tokenizer), sliding_window=None, head_dim=8, **SIZES
    )
    vision = make("PixtralVisionConfig")(**{**VISION, "image_size": 64}, **_SCALE)
    rest: Any = {
        "image_token_index": processor.image_token_id,
        "vision_feature_layer": -1,
        **_SCALE,
    }
    rest |= (
        {"spatial_merge_size": merge}
        if kind == "Mistral3"
        else {"vision_feature_select_strategy": "full"}
    )
    config = make(f"{kind}Config")(vision_config=vision, text_config=text, **rest)
    return save_model(folder, make(f"{kind}ForConditionalGeneration"), config)


def save_llava_onevision(folder: Path) -> Path:
    """A picture as a whole and in tiles; several pictures without tiles."""
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<video>"]})
    pictures = make("LlavaOnevisionImageProcessor")(size=_SQUARE, image_grid_pinpoints=_GRID)
    moving = make("LlavaOnevisionVideoProcessor")(size=_SQUARE)
    more: Any = {
        "num_image_tokens": 16,
        "vision_feature_select_strategy": "full",
        "chat_template": LOOKING_CHAT,
    }
    processor = make("LlavaOnevisionProcessor")(pictures, tokenizer, moving, **more)
    processor.save_pretrained(folder)
    text = transformers.Qwen2Config(vocab_size=len(tokenizer), **SIZES)
    vision = transformers.SiglipVisionConfig(**VISION, vision_use_head=False)
    ids: Any = {
        "image_token_index": processor.image_token_id,
        "video_token_index": processor.video_token_id,
    }
    config = make("LlavaOnevisionConfig")(
        vision_config=vision, text_config=text, image_grid_pinpoints=_GRID, **ids, **_SCALE
    )
    return save_model(folder, make("LlavaOnevisionForConditionalGeneration"), config)


def save_llama4(folder: Path) -> Path:
    """Tiles with separators, experts, and layers that look back over a chunk alone."""
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": _LLAMA4_MARKS})
    pictures = make("Llama4ImageProcessor")(size=_SQUARE, max_patches=4)
    chat = LOOKING_CHAT.replace("<image>", "<|image|>")
    make("Llama4Processor")(pictures, tokenizer, patch_size=8, chat_template=chat).save_pretrained(
        folder
    )
    sizes: Any = {
        **SIZES,
        "head_dim": 8,
        "intermediate_size_mlp": 48,
        "num_local_experts": 2,
        "attention_chunk_size": 64,
    }
    text = make("Llama4TextConfig")(vocab_size=len(tokenizer), **sizes)
    eyes: Any = {
        **VISION,
        "intermediate_size": 64,
        "vision_output_dim": 24,
        "projector_input_dim": 24,
        "projector_output_dim": 24,
        **_SCALE,
    }
    numbers = tokenizer.convert_tokens_to_ids(_LLAMA4_MARKS[1:4])
    ids: Any = dict(
        zip(("image_token_index", "boi_token_index", "eoi_token_index"), numbers, strict=True)
    )
    config = make("Llama4Config")(
        vision_config=make("Llama4VisionConfig")(**eyes), text_config=text, **ids
    )
    return save_model(folder, make("Llama4ForConditionalGeneration"), config)


def save_gemma4(folder: Path) -> Path:
    """As many patches as the picture has, an input of its own for each layer, a sliding window,
    layers with others' keys and values.
    """
    names = {"boi_token": "<boi>", "eoi_token": "<eoi>", "image_token": "<|image|>"}
    names |= {"boa_token": "<boa>", "eoa_token": "<eoa>", "audio_token": "<|audio|>"}
    tokenizer = make_tokenizer(extra_special_tokens=names)
    patches: Any = {"patch_size": 8, "pooling_kernel_size": 2, "max_soft_tokens": 70}
    parts = (
        make("Gemma4AudioFeatureExtractor")(),
        make("Gemma4ImageProcessor")(**patches),
        tokenizer,
    )
    chat = LOOKING_CHAT.replace("<image>", "<|image|>")
    processor = make("Gemma4Processor")(
        *parts, make("Gemma4VideoProcessor")(**patches), chat_template=chat
    )
    processor.save_pretrained(folder)
    more: Any = {
        **SIZES,
        "head_dim": 8,
        "global_head_dim": 8,
        "sliding_window": 48,
        "hidden_size_per_layer_input": 4,
    }
    more |= {"num_hidden_layers": 4, "num_kv_shared_layers": 2}
    more |= {
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "vocab_size_per_layer_input": len(processor.tokenizer),
    }
    text = make("Gemma4TextConfig")(vocab_size=len(processor.tokenizer), **more)
    eyes: Any = {
        **VISION,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "pooling_kernel_size": 2,
        "position_embedding_size": 64,
        **_SCALE,
    }
    ids: Any = {
        f"{name}_id": tokenizer.convert_tokens_to_ids(token)
        for name, token in names.items()
        if name != "eoa_token"
    }
    config = make("Gemma4Config")(
        text_config=text, vision_config=make("Gemma4VisionConfig")(**eyes), audio_config=None, **ids
    )
    return save_model(folder, make("Gemma4ForConditionalGeneration"), config)
