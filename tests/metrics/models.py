"""Tiny models of the real architectures with random weights, saved as their users save them, for
tests that load them by their folder.

Each folder holds config, weights and a real tokenizer that knows every byte or a few words; nothing
is fetched.
"""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers.pre_tokenizers import ByteLevel

torch.set_num_threads(1)  # more are slower on models so small

WORDS = "a the cat dog puppy sat sits on red blue mat runs is no yes two photo depicts beach in of"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,!?'-"
MERGES = [
    ("Ġ", "c"),
    ("Ġc", "a"),
    ("Ġca", "t"),
    ("Ġ", "d"),
    ("o", "g"),
    ("Ġd", "og"),
    ("t", "h"),
    ("th", "e"),
    ("Ġ", "a"),
]
SIZES: Any = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
BART_SIZES: Any = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
}


def save_bert(folder: Path, seed: int = 0) -> Path:
    """A BERT with a word-piece tokenizer of 40 tokens a text."""
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *dict.fromkeys(WORDS.split()),
        *LETTERS,
        *(f"##{x}" for x in LETTERS),
    ]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), max_position_embeddings=40, initializer_range=0.5, **SIZES
    )
    tokenizer = transformers.BertTokenizer(vocab=vocabulary, model_max_length=40)
    return _save(folder, seed, transformers.BertModel, config, tokenizer)


def save_roberta(folder: Path, seed: int = 0) -> Path:
    """A RoBERTa whose tokenizer names no limit."""
    tokenizer = transformers.RobertaTokenizer(
        **_byte_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    )
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=42,
        initializer_range=0.5,
        type_vocab_size=1,
        **SIZES,
    )
    return _save(folder, seed, transformers.RobertaModel, config, tokenizer)


def save_bart(folder: Path, seed: int = 0) -> Path:
    """A BART for generation; weights wide enough that its token probabilities differ."""
    tokenizer = transformers.BartTokenizer(
        **_byte_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"]), model_max_length=48
    )
    config = transformers.BartConfig(
        vocab_size=len(tokenizer), max_position_embeddings=48, init_std=0.5, **BART_SIZES
    )
    return _save(folder, seed, transformers.BartForConditionalGeneration, config, tokenizer)


def save_clip(folder: Path, seed: int = 0) -> Path:
    """A CLIP of 32 x 32 pixels in patches of 8, with its image processor."""
    letters = sorted(ByteLevel.alphabet())
    pieces = [*letters, *(f"{x}</w>" for x in letters), "<|startoftext|>", "<|endoftext|>"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = transformers.CLIPTokenizer(vocab=vocabulary, merges=[], model_max_length=30)
    ends = {
        "bos_token_id": vocabulary["<|startoftext|>"],
        "eos_token_id": vocabulary["<|endoftext|>"],
    }
    text: Any = {
        "vocab_size": len(vocabulary),
        "max_position_embeddings": 30,
        "initializer_factor": 4.0,
        **SIZES,
        **ends,
    }
    config = transformers.CLIPConfig(
        text_config=text,
        vision_config={"image_size": 32, "patch_size": 8, "initializer_factor": 4.0, **SIZES},
        projection_dim=12,
        initializer_factor=4.0,
    )
    processor = transformers.CLIPImageProcessorPil(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    processor.save_pretrained(folder)
    return _save(folder, seed, transformers.CLIPModel, config, tokenizer)


def _byte_pairs(special: list[str]) -> dict[str, Any]:
    pieces = [*special, *sorted(ByteLevel.alphabet()), *("".join(pair) for pair in MERGES)]
    return {"vocab": {piece: number for number, piece in enumerate(pieces)}, "merges": MERGES}


def _save(folder: Path, seed: int, kind: Any, config: Any, tokenizer: Any) -> Path:
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        kind(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
