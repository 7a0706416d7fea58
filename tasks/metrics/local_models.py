"""Models and tokenizers that metrics run themselves: which one, whether it is whole, loaded once a
process; text as padded batches.

What is computed with a model is each metric's own file. torch and transformers are imported when
the first model is asked for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from judgelake.tasks.backends.local.settings import (
    FileStates,
    check_numbers,
    find_folder,
    list_states,
)
from judgelake.tasks.digests import digest_json, file_digest
from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics.pairs import Ids
from judgelake.tasks.settings import frozen_settings

if TYPE_CHECKING:
    import torch

Dtype = Literal["float32", "bfloat16", "float16"]
Device = Literal["auto", "cpu", "cuda"]
Tokens = npt.NDArray[np.int64]

# strings tokenised at a time, which bounds memory
STRINGS_PER_CHUNK = 8_192
_ANY_LENGTH = 1_000_000
"""Tokenizers that know no limit of their model give a far larger number."""
_SHIFTED = ("roberta", "xlm-roberta", "camembert")
"""Models whose first positions are taken by the padding, so that two fewer tokens fit than they
have positions.
"""


@frozen_settings
class ModelSettings:
    """A model by its hub id or its folder, whose path is taken as it is (not from the suite's
    place).

    `batch_tokens`: padded tokens of one forward pass; it and `device` change a score by rounding
    alone and are in no signature.
    """

    model: str
    revision: str | None = None
    dtype: Dtype = "float32"
    device: Device = "auto"
    batch_tokens: int = 8_192

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise ValueError(f"model: {self.model!r}; expected a model's hub id or its folder")
        for key, value, known in (("dtype", self.dtype, Dtype), ("device", self.device, Device)):
            if value not in get_args(known):
                raise ValueError(f"{key}: {value!r}; expected one of {', '.join(get_args(known))}")
        check_numbers(self.batch_tokens, self.revision, self.folder)

    @property
    def folder(self) -> Path | None:
        """The local folder, where `model` names one."""
        return find_folder(self.model)


def identify_model(settings: ModelSettings) -> str:
    """What can change a model's numbers, as a part of a signature: a folder counts by its files'
    content, not by where it lies.
    """
    program = f"transformers:{_read_version('transformers')}"
    if settings.folder is None:
        revision = settings.revision or "main"
        return f"model:{settings.model}|revision:{revision}|dtype:{settings.dtype}|{program}"
    files = _digest_files(list_states(settings.folder))
    return f"model:{settings.folder.name}|files:{files}|dtype:{settings.dtype}|{program}"


def import_torch() -> Any:
    """The module torch; raises MetricError with the install line where it or transformers is
    missing.
    """
    try:
        import torch
        import transformers  # noqa: F401  # every user of torch here loads models with it
    except ImportError as error:
        raise _explain_missing(error.name or str(error)) from None
    return torch


def load_tokenizer(settings: ModelSettings) -> Any:
    """The model's tokenizer, loaded once a process."""
    return _load_part("AutoTokenizer", settings.model, settings.revision, identify_model(settings))


def load_config(settings: ModelSettings) -> Any:
    """What the model says of itself, without its weights."""
    return _load_part("AutoConfig", settings.model, settings.revision, identify_model(settings))


def load_image_processor(settings: ModelSettings) -> Any:
    """The model's image preparation in its Pillow form, which needs no torchvision and gives the
    same pixels with and without it.
    """
    return _load_part(
        "CLIPImageProcessorPil", settings.model, settings.revision, identify_model(settings)
    )


def load_model(settings: ModelSettings, kind: str, layers: int | None = None) -> Any:
    """The model of the transformers class `kind`, loaded once a process, on its device; `layers`:
    only so many of its first ones.
    """
    identity, device = identify_model(settings), resolve_device(settings.device)
    return _load_model(
        kind, settings.model, settings.revision, identity, settings.dtype, device, layers
    )


def resolve_device(device: Device) -> str:
    """`cuda` where it is there and not ruled out, else `cpu`; raises MetricError where it was asked
    for and is not there.
    """
    there = import_torch().cuda.is_available()
    if device == "cuda" and not there:
        raise MetricError(
            "device: 'cuda' is not available here; expected a GPU that torch can use; set "
            "device to auto or cpu"
        )
    return "cuda" if there and device != "cpu" else "cpu"


def find_token_limit(tokenizer: Any, config: Any) -> int:
    """How many tokens of a string the model reads: as the tokenizer says, else as many as the model
    has positions.
    """
    if tokenizer.model_max_length < _ANY_LENGTH:
        return int(tokenizer.model_max_length)
    positions = int(getattr(config, "max_position_embeddings", _ANY_LENGTH))
    return positions - 2 if config.model_type in _SHIFTED else positions


class TokenTexts(NamedTuple):
    """Texts as token ids: text i is `tokens[offsets[i] : offsets[i + 1]]`."""

    tokens: Tokens
    offsets: Ids

    @property
    def lengths(self) -> Ids:
        """Tokens of each text, special ones included."""
        return np.diff(self.offsets)

    def pad(self, ids: Ids, padding: int) -> tuple["torch.Tensor", "torch.Tensor"]:
        """Input ids and attention mask of a batch of texts, both (texts, longest)."""
        torch = import_torch()
        starts, lengths = self.offsets[ids][:, None], self.lengths[ids][:, None]
        columns = np.arange(lengths.max())
        mask = columns < lengths
        padded = np.where(mask, self.tokens[np.where(mask, starts + columns, 0)], padding)
        return torch.from_numpy(padded), torch.from_numpy(mask.astype(np.int64))


def tokenise_texts(tokenizer: Any, texts: Sequence[str], limit: int) -> TokenTexts:
    """Token ids with the model's special tokens, cut at `limit`."""
    parts, lengths = [np.empty(0, np.int64)], [0]
    for start in range(0, len(texts), STRINGS_PER_CHUNK):
        chunk = list(texts[start : start + STRINGS_PER_CHUNK])
        encoded = tokenizer(
            chunk,
            truncation=True,
            max_length=limit,
            return_attention_mask=False,
            return_token_type_ids=False,
        )
        lengths += [len(ids) for ids in encoded["input_ids"]]
        parts.append(np.fromiter(chain.from_iterable(encoded["input_ids"]), np.int64))
    return TokenTexts(np.concatenate(parts), np.cumsum(lengths))


def batch_by_length(ids: Ids, lengths: Ids, batch_tokens: int) -> Iterator[Ids]:
    """`ids` (each with its length) in batches of like length, the longest first: at most
    `batch_tokens` with padding, or one text.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        count = max(1, batch_tokens // max(1, int(lengths[order[start]])))
        yield ids[order[start : start + count]]
        start += count


@cache
def _read_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise _explain_missing(package) from None


@cache
def _digest_files(states: FileStates) -> str:
    """16 hex digits over names and contents; a file is read again only when its size or time
    changed.
    """
    return digest_json([[Path(name).name, file_digest(Path(name))] for name, _, _ in states])[:16]


@cache
def _load_part(kind: str, model: str, revision: str | None, _identity: str) -> Any:
    import_torch()
    import transformers

    with loading(model, revision):
        return getattr(transformers, kind).from_pretrained(
            place_model(model), revision=revision or "main"
        )


@cache
def _load_model(
    kind: str,
    model: str,
    revision: str | None,
    _identity: str,
    dtype: Dtype,
    device: str,
    layers: int | None,
) -> Any:
    torch = import_torch()
    import transformers

    with loading(model, revision):
        config = transformers.AutoConfig.from_pretrained(
            place_model(model), revision=revision or "main"
        )
        if layers is not None:
            _cut_layers(config, layers, model)
        options = {"revision": revision or "main", "config": config, "dtype": getattr(torch, dtype)}
        loaded, loading_info = getattr(transformers, kind).from_pretrained(
            place_model(model), **options, output_loading_info=True
        )
    missing = sorted(
        key for key in loading_info["missing_keys"] if "pooler" not in key
    )  # BERT's pooler is not used by any metric
    if missing:
        lacks = (
            f"{model}: its files lack {len(missing)} weights of a {type(loaded).__name__} "
            f"({missing[0]}, ...)"
        )
        raise MetricError(
            f"{lacks}; expected all of them, else its numbers would be random; choose another model"
        )
    return loaded.eval().to(device)


def _cut_layers(config: Any, layers: int, model: str) -> None:
    there = config.num_hidden_layers
    if layers > there:
        raise MetricError(
            f"{model}: layer {layers}; expected at most {there}, the layers it has; choose one "
            f"of them"
        )
    config.num_hidden_layers = layers


@contextmanager
def loading(model: str, revision: str | None) -> Iterator[None]:
    """Turn what loading raises into one line, and keep its progress bars and notes of unused
    weights to itself.
    """
    from transformers.utils import logging

    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError) as error:
        tried = (
            "as a local folder"
            if find_folder(model)
            else f"from the hub, revision {revision or 'main'}"
        )
        reason = " ".join(str(error).split())[:300]
        expected = (
            "expected a hub id or a folder with config, weights and tokenizer of the "
            "right kind of model"
        )
        todo = "check the name; offline, fetch it beforehand (`hf download`) or name a local folder"
        raise MetricError(
            f"{model}: cannot be loaded {tried} ({reason}); {expected}; {todo}"
        ) from None
    finally:
        logging.set_verbosity(verbosity)


def place_model(model: str) -> str:
    """The path of a model's folder, or its hub id."""
    return str(find_folder(model) or model)


def _explain_missing(package: str) -> MetricError:
    return MetricError(
        f"package {package} is missing; expected torch and transformers; run pip install "
        f"'judgelake[local]'"
    )
