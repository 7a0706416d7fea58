"""A small VLM with random weights and LLaVA's architecture, for a judge that is trained from
nothing; its tokenizer is learnt from texts that are given. Nothing is fetched.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPECIAL = ["<pad>", "<s>", "</s>", "<image>"]
VOCABULARY = 1024
IMAGE_SIDE, PATCH_SIDE = 48, 16
CHAT = (
    "<s>{% for message in messages %}{% for part in message.content %}{% if part.type == 'image' "
    "%}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}\n{% endfor %}"
)


def train_tokenizer(texts: Iterable[str]) -> Any:
    """Byte-level BPE learnt from `texts`, its words cut at blanks and digits."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    learner = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, learner)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    made: Any = transformers.PreTrainedTokenizerFast
    return made(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        additional_special_tokens=["<image>"],
    )


def save_small_vlm(folder: Path, texts: Iterable[str], seed: int = 0) -> Path:
    """A LLaVA of two million parameters: an image of 48 x 48 pixels is nine patches, one for each
    cell of the demo's scenes.
    """
    tokenizer = train_tokenizer(texts)
    text = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=192,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=6,
        intermediate_size=384,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=True,
    )
    vision = transformers.CLIPVisionConfig(
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=1,
        num_attention_heads=4,
        image_size=IMAGE_SIDE,
        patch_size=PATCH_SIDE,
    )
    config = transformers.LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=3, vision_feature_layer=-1
    )
    config.tie_word_embeddings = True
    pictures = transformers.CLIPImageProcessorPil(
        size={"height": IMAGE_SIDE, "width": IMAGE_SIDE}, do_center_crop=False
    )
    made: Any = transformers.LlavaProcessor
    processor = made(
        pictures,
        tokenizer,
        patch_size=PATCH_SIDE,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=CHAT,
    )
    processor.save_pretrained(folder)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    return folder
