"""A small VLM with random weights and LLaVA's architecture, for a judge that is trained from
nothing; its tokenizer is learnt from texts that are given. Nothing is fetched.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPECIAL = ["<pad>", "<s>", "</s>", "<image>"]
VOCABULARY = 1024
IMAGE_SIDE, PATCH_SIDE = 96, 32
PALE = [0.97, 0.97, 0.95]
"""The mean colour of the scenes' paper: what is no shape is about 0 for the model."""
INITIAL_STD, PLACE_STD = 0.07, 1.0
"""Of the language model's weights, and of the patches' places: CLIP's own 0.02 would be lost beside
what a patch shows, and a place is what an answer is found by.
"""
CHAT = (
    "<s>{% for message in messages %}{% for part in message.content %}{% if part.type == 'image' "
    "%}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}\n{% endfor %}"
)


def train_tokenizer(texts: Iterable[str], phrases: Sequence[str] = ()) -> Any:
    """Byte-level BPE learnt from `texts`, its words cut at blanks and digits; each of `phrases` is
    one token.
    """
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
    tokenizer.add_tokens([AddedToken(phrase, normalized=False) for phrase in phrases])
    made: Any = transformers.PreTrainedTokenizerFast
    return made(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        additional_special_tokens=["<image>"],
    )


def save_small_vlm(
    folder: Path, texts: Iterable[str], seed: int = 0, phrases: Sequence[str] = ()
) -> Path:
    """A LLaVA of two million parameters: an image of 96 x 96 pixels is nine patches, one for each
    cell of the demo's scenes.
    """
    tokenizer = train_tokenizer(texts, phrases)
    text = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        intermediate_size=384,
        max_position_embeddings=512,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=True,
        initializer_range=INITIAL_STD,
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
        size={"height": IMAGE_SIDE, "width": IMAGE_SIDE},
        do_center_crop=False,
        image_mean=PALE,
        image_std=[0.25] * 3,
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
        model: Any = transformers.LlavaForConditionalGeneration(config)
        places = model.model.vision_tower.embeddings.position_embedding.weight
        torch.nn.init.normal_(places, std=PLACE_STD)
        model.save_pretrained(folder)
    return folder
