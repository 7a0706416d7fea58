"""Models that run in this process: which class loads one, whether its memory is there, loaded once
and dropped before another comes.

What is asked of a loaded model is `tasks.backends.local.decoding`. torch and transformers are
imported when the first one is loaded.
"""

import gc
import importlib.util
import inspect
import os
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judgelake.tasks.backends.local.gguf_files import read_gguf_once
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.errors import BackendError

_BITS = {"8bit": 8.5, "4bit": 4.6}
"""Bits a weight, with what bitsandbytes keeps beside them."""
_KINDS = {
    "seq2seq": "AutoModelForSeq2SeqLM",
    "vision": "AutoModelForImageTextToText",
    "causal": "AutoModelForCausalLM",
}
_ADVICE = re.compile(r" (Check out|You can install|Install it|Please) ")
"""Where transformers' advice on installing a package begins: the reason ends there."""
_guard = threading.Lock()
_held: dict[LocalModel, "Loaded"] = {}


@dataclass
class Loaded:
    """A model with its tokenizer, ready on its device; `kind` is a key of the classes above,
    `processor` is a vision model's.
    """

    settings: LocalModel
    kind: str
    model: Any
    tokenizer: Any
    processor: Any
    snapshot: str
    users: int = field(default=0)

    @property
    def device(self) -> Any:
        """Where its inputs go."""
        return self.model.get_input_embeddings().weight.device

    @property
    def limit(self) -> int:
        """How many tokens a prompt and its reply may have together."""
        config = self.model.config.get_text_config(decoder=True)
        return int(getattr(config, "max_position_embeddings", None) or 1_000_000_000)


def take_model(settings: LocalModel) -> Loaded:
    """The model, loaded once a process; others that nobody uses any more are dropped first. Raises
    BackendError where it cannot be loaded.
    """
    with _guard:
        if settings not in _held:
            if unused := [other for other, loaded in _held.items() if not loaded.users]:
                for other in unused:
                    del _held[other]
                _free_memory()
            _held[settings] = load(settings)
        _held[settings].users += 1
        return _held[settings]


def give_back(loaded: Loaded) -> None:
    """It stays loaded until another one is asked for."""
    with _guard:
        loaded.users -= 1


def load(settings: LocalModel) -> Loaded:
    """A model with its tokenizer; raises BackendError where it, a package, or the memory is not
    there.
    """
    torch = import_torch()
    import transformers

    place, revision = settings.place, settings.revision or "main"
    device = find_device(settings)
    given: dict[str, Any] = {"revision": revision}
    reading: AbstractContextManager[None] = nullcontext()
    if settings.file is not None:
        reading, given["gguf_file"] = read_gguf_once(settings.model), settings.file.name
    if device == "cpu":
        _take_threads(torch)
    with reading, _loading(settings):
        config = transformers.AutoConfig.from_pretrained(place, **given)
        kind = find_kind(config)
        options: dict[str, Any] = {
            **given,
            "config": config,
            "dtype": _name_dtype(settings, torch),
        }
        options |= _quantise(settings, device) | (
            {"device_map": settings.device_map} if settings.device_map else {}
        )
        check_memory(settings, kind, config, device)
        processors: Any = transformers.AutoProcessor
        processor = (
            processors.from_pretrained(place, revision=revision) if kind == "vision" else None
        )
        tokenizer = getattr(
            processor, "tokenizer", None
        ) or transformers.AutoTokenizer.from_pretrained(place, **given)
        model, loading_info = getattr(transformers, _KINDS[kind]).from_pretrained(
            place, **options, output_loading_info=True
        )
    if loading_info["missing_keys"]:
        missing = sorted(loading_info["missing_keys"])
        lacks = (
            f"its files lack {len(missing)} weights of a {type(model).__name__} ({missing[0]}, ...)"
        )
        raise BackendError(
            f"{settings.model}: {lacks}; expected all of them, else it would reply at random; "
            f"choose another model"
        )
    if not settings.device_map and not settings.quantization:
        model = model.to(device)
    commit = getattr(config, "_commit_hash", None)
    return Loaded(
        settings,
        kind,
        model.eval(),
        tokenizer,
        processor,
        f"{settings.model}@{commit or settings.snapshot}",
    )


def find_kind(config: Any) -> str:
    """Which of the classes loads it; raises BackendError for a model that none of them does."""
    from transformers.models.auto import modeling_auto as auto

    if getattr(config.get_text_config(), "cross_attention_layers", None):  # Llama 3.2 Vision
        raise BackendError(
            f"a model of the type {config.model_type} looks at images beside its tokens, which "
            f"is not done here; expected one that has them "
            "among its tokens; serve it (vLLM, SGLang, ...) and give the judge `backend: "
            "openai` with its base_url"
        )
    has_eyes, encodes = (
        getattr(config, "vision_config", None) is not None,
        config.is_encoder_decoder,
    )
    classes: dict[str, dict[str, Any]] = {
        "vision": {}
        if encodes or not has_eyes
        else auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        "seq2seq": {}
        if has_eyes or not encodes
        else auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        "causal": {} if has_eyes or encodes else auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }
    for kind, named in classes.items():
        if config.model_type in named:
            _check_steps(config.model_type, kind, named[config.model_type])
            return kind
    raise BackendError(
        f"a model of the type {config.model_type} cannot be a judge; expected a language model "
        f"with a decoder, with or without an encoder, or "
        "one that sees images and has no encoder of text"
    )


def _check_steps(model_type: str, kind: str, name: str) -> None:
    """Raise BackendError for a model that would drop, without a word, what each step of a reply
    hands it (BLIP-2, Mamba).
    """
    import transformers

    needed = {"past_key_values", "position_ids"} if kind == "vision" else {"past_key_values"}
    lacks = sorted(needed - set(inspect.signature(getattr(transformers, name).forward).parameters))
    if lacks:
        raise BackendError(
            f"a model of the type {model_type} takes no {' and no '.join(lacks)}; expected one "
            f"that goes on with a reply from them; "
            "serve it (vLLM, SGLang, ...) and give the judge `backend: openai` with its base_url"
        )


def check_memory(settings: LocalModel, kind: str, config: Any, device: str) -> None:
    """Raise BackendError where the weights alone are more than the memory that is free."""
    needed, free = (
        measure_weights(settings, kind, config),
        measure_free(device, spread=settings.device_map is not None),
    )
    if needed > free:
        raise BackendError(
            f"{settings.model}: its weights take {needed / 1e9:.1f} GB, and {free / 1e9:.1f} "
            f"GB of memory are free on {device}; expected room "
            "for them; use a smaller dtype, `quantization: 8bit` or 4bit, `device_map: auto` "
            "over several GPUs, or a smaller model"
        )


def measure_weights(settings: LocalModel, kind: str, config: Any) -> float:
    """Bytes of the weights as they will be loaded, from the configuration alone."""
    torch = import_torch()
    import transformers

    with torch.device("meta"):
        empty = getattr(transformers, _KINDS[kind]).from_config(config)
    weights = sum(part.numel() for part in empty.parameters())
    if settings.quantization:
        return float(weights) * _BITS[settings.quantization] / 8
    dtype = _name_dtype(settings, torch)
    stored = getattr(config, "dtype", None)
    width = (
        dtype
        if dtype != "auto"
        else getattr(torch, stored)
        if isinstance(stored, str)
        else stored or torch.float32
    )
    return float(weights * torch.empty(0, dtype=width).element_size())


def measure_free(device: str, *, spread: bool) -> float:
    """Bytes that are free where the model goes: of all GPUs where it is spread over them; else what
    the kernel and the container leave.
    """
    torch = import_torch()
    if device.startswith("cuda"):
        devices = range(torch.cuda.device_count()) if spread else [device]
        return float(sum(torch.cuda.mem_get_info(gpu)[0] for gpu in devices))
    lines = (
        line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    )
    free = next(
        (1024.0 * int(words[1]) for words in lines if words[0] == "MemAvailable:"), float("inf")
    )
    group = Path("/sys/fs/cgroup")
    try:
        most, used = (
            (group / name).read_text(encoding="ascii").strip()
            for name in ("memory.max", "memory.current")
        )
    except OSError:
        return free
    return free if most == "max" else min(free, float(most) - float(used))


def find_device(settings: LocalModel) -> str:
    """The device by name; raises BackendError where it was asked for and is not there."""
    torch = import_torch()
    there = torch.cuda.is_available()
    if settings.device.startswith("cuda") and not there:
        raise BackendError(
            f"device: {settings.device!r} is not available here; expected a GPU that torch can "
            f"use; set auto or cpu"
        )
    if settings.device_map and importlib.util.find_spec("accelerate") is None:
        raise BackendError(
            f"device_map: {settings.device_map!r} needs the package accelerate; run pip "
            f"install accelerate"
        )
    return ("cuda" if there else "cpu") if settings.device == "auto" else settings.device


def import_torch() -> Any:
    """The module torch; raises BackendError with the install line where it or transformers is
    missing.
    """
    try:
        import torch
        import transformers  # noqa: F401  # every user of torch here loads models with it
    except ImportError as error:
        raise BackendError(
            f"package {error.name or error} is missing; expected torch and transformers; run "
            f"pip install 'judgelake[local]'"
        ) from None
    return torch


def _take_threads(torch: Any) -> None:
    """The threads that the environment names, also where torch was imported before it did."""
    named = os.environ.get("OMP_NUM_THREADS", "")
    if named.isdecimal() and int(named) > 0:
        torch.set_num_threads(int(named))


def _name_dtype(settings: LocalModel, torch: Any) -> Any:
    return "auto" if settings.dtype == "auto" else getattr(torch, settings.dtype)


def _quantise(settings: LocalModel, device: str) -> dict[str, Any]:
    if settings.quantization is None:
        return {}
    if (
        importlib.util.find_spec("bitsandbytes") is None
        or importlib.util.find_spec("accelerate") is None
    ):
        raise BackendError(
            f"quantization: {settings.quantization} needs the packages bitsandbytes and "
            f"accelerate; run pip install bitsandbytes accelerate"
        )
    import transformers

    chosen = {"load_in_8bit": True} if settings.quantization == "8bit" else {"load_in_4bit": True}
    config = transformers.BitsAndBytesConfig(**chosen)  # type: ignore[no-untyped-call]
    return {"quantization_config": config} | (
        {} if settings.device_map else {"device_map": {"": device}}
    )


def _name_package(error: BaseException) -> str | None:
    """What the error says of a package that the model's code needs and that is not installed, or
    of a torchvision that was built for another torch; None for other errors.
    """
    lacks = isinstance(error, ImportError)
    while (
        error.__cause__ is not None
    ):  # transformers names the module that fails; the reason is in the cause
        error = error.__cause__
    reason = _ADVICE.split(" ".join(str(error).split()))[0].rstrip(".")
    if "torchvision" in reason.lower():
        version, _, build = import_torch().__version__.partition("+")
        index = f" --index-url https://download.pytorch.org/whl/{build}" if build else ""
        return (
            f"it needs the package torchvision ({reason}); expected the build that goes with "
            f"torch {version}; "
            f"run pip install torchvision torch=={version}{index}"
        )
    return (
        f"a package is missing ({reason}); expected all that its code imports; install it"
        if lacks
        else None
    )


def _free_memory() -> None:
    torch = import_torch()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


@contextmanager
def _loading(settings: LocalModel) -> Iterator[None]:
    """Turn what loading raises into one line, and keep its progress bars and notes to itself."""
    from transformers.utils import logging

    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    except BackendError as error:
        raise (
            error
            if str(error).startswith(settings.model)
            else BackendError(f"{settings.model}: {error}")
        ) from None
    except (
        ImportError,
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
        AttributeError,
        TypeError,
    ) as error:
        if lacking := _name_package(error):
            raise BackendError(f"{settings.model}: {lacking}") from None
        tried = (
            "as a GGUF file"
            if settings.file
            else "as a local folder"
            if settings.folder
            else f"from the hub, revision {settings.revision or 'main'}"
        )
        reason = " ".join(str(error).split())[:300]
        raise BackendError(
            f"{settings.model}: cannot be loaded {tried} ({reason}); expected a hub id or a "
            f"folder with config, weights and tokenizer that "
            "needs no remote code; check the name; offline, fetch it beforehand (`hf "
            "download`) or name a local folder"
        ) from None
    finally:
        logging.set_verbosity(verbosity)
