"""Tiny judges of real architectures with random weights, saved as their users save them; nothing is
fetched.

Their tokenizer knows every byte and has a token for each digit and for some words, with the blank
before them.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

torch.set_num_threads(1)  # more are slower on models so small

SPECIAL = ["<pad>", "<s>", "</s>", "<image>", "<|user|>", "<|assistant|>", "<|system|>"]
WORDS = [
    "rating",
    "question",
    "answer",
    "candidate",
    "reference",
    "image",
    "cat",
    "dog",
    "what",
    "is",
    "the",
    "on",
    "a",
    "output",
    "so",
]
CHAT = (
    "{% for message in messages %}{% if message.role == 'system' and not loop.first %}{{ "
    "raise_exception('system first') }}{% endif %}"
    "<|{{ message.role }}|>\n{{ message.content }}\n{% endfor %}{% if add_generation_prompt "
    "%}<|assistant|>\n{% endif %}"
)
CHAT_WITHOUT_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT
)
LOOKING_CHAT = (
    "<s>{% for message in messages %}<|{{ message.role }}|>\n{% for part in message.content %}"
    "{% if part.type == 'image' %}<image>\n{% else %}{{ part.text }}{% endif %}{% endfor "
    "%}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
SIZES: Any = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 2048,
    "initializer_range": 0.4,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
VISION: Any = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}


def make_tokenizer(begins: bool = True, ends: bool = False, **more: Any) -> Any:
    """Byte-pair encoding; `begins`: `<s>` before each text, `ends`: `</s>` after it."""
    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges: list[tuple[str, str]] = []
    for word in ["Ġ" + word for word in WORDS]:
        for end in range(2, len(word) + 1):
            if word[:end] not in pieces:
                pieces.append(word[:end])
                merges.append((word[: end - 1], word[end - 1]))
    tokenizer = Tokenizer(
        models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=merges)
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    single = ("<s> " if begins else "") + "$A" + (" </s>" if ends else "")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    named = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "additional_special_tokens": SPECIAL[3:],
    }
    made: Any = transformers.PreTrainedTokenizerFast
    return made(tokenizer_object=tokenizer, **named, **more)


def save_decoder(
    folder: Path, kind: str = "Llama", chat: str | None = None, seed: int = 0, **more: Any
) -> Path:
    """A decoder-only model of the family `kind` (Llama, Qwen2, Mistral, ...)."""
    tokenizer = make_tokenizer()
    tokenizer.chat_template = chat
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(tokenizer), **{**SIZES, **more})
    return save_model(folder, getattr(transformers, f"{kind}ForCausalLM"), config, tokenizer, seed)


def save_t5(folder: Path, seed: int = 0, **more: Any) -> Path:
    """A T5."""
    tokenizer = make_tokenizer(begins=False, ends=True)
    sizes: Any = {
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 48,
        "num_layers": 2,
        "num_heads": 4,
        "initializer_factor": 0.5,
        **more,
    }
    sizes |= {
        "pad_token_id": 0,
        "eos_token_id": 2,
        "decoder_start_token_id": 0,
        "tie_word_embeddings": False,
    }
    config = transformers.T5Config(vocab_size=len(tokenizer), **sizes)
    return save_model(folder, transformers.T5ForConditionalGeneration, config, tokenizer, seed)


def save_llava(
    folder: Path,
    sizes: Mapping[str, Any] = MappingProxyType({}),
    image_size: int = 32,
    seed: int = 0,
) -> Path:
    """A LLaVA with a CLIP of square images in patches of 8 pixels; `sizes` are its language
    model's.
    """
    tokenizer = make_tokenizer()
    text = transformers.LlamaConfig(vocab_size=len(tokenizer), **{**SIZES, **sizes})
    vision = transformers.CLIPVisionConfig(**{**VISION, "image_size": image_size})
    more: Any = {"image_token_index": 3, "vision_feature_layer": -2, "initializer_range": 0.4}
    config = transformers.LlavaConfig(vision_config=vision, text_config=text, **more)
    pictures = transformers.CLIPImageProcessorPil(
        size={"shortest_edge": image_size}, crop_size={"height": image_size, "width": image_size}
    )
    made: Any = transformers.LlavaProcessor
    processor = made(
        pictures,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=LOOKING_CHAT,
    )
    processor.save_pretrained(folder)
    return save_model(folder, transformers.LlavaForConditionalGeneration, config, seed=seed)


def save_model(folder: Path, kind: Any, config: Any, tokenizer: Any = None, seed: int = 0) -> Path:
    """A model of a class with random weights, and its tokenizer where its processor has not saved
    it.
    """
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        kind(config).eval().save_pretrained(folder)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder
