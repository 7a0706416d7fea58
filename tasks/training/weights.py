"""What of a model is trained, and the folder that a trained judge is: the base as it is stored, with the trained weights in their place."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from tasks.backends.local_loading import Loaded, import_torch, load
from tasks.backends.local_settings import LocalModel
from tasks.errors import BackendError

PROJECTORS = frozenset({"multi_modal_projector", "connector", "merger", "aligner"})
"""How families of transformers call what maps image features to the language model's."""


def load_base(base: LocalModel) -> Loaded:
    """A model to be trained: in bfloat16 on a GPU, else in float32, unless `dtype` says which of the two. Raises BackendError."""
    torch = import_torch()
    on_gpu = torch.cuda.is_available() and base.device != "cpu"
    dtype = base.dtype if base.dtype in ("float32", "bfloat16") else "bfloat16" if on_gpu else "float32"
    loaded = load(dataclasses.replace(base, dtype=dtype))
    from tasks.backends.local_caches import inspect_caches  # imports torch

    caches = inspect_caches(loaded.model)
    if loaded.kind == "seq2seq" or caches.window == 0 or not caches.shares:
        kind = "has an encoder of text" if loaded.kind == "seq2seq" else "is recurrent, or looks at a prompt both ways"
        raise BackendError(
            f"{base.model}: a model that {kind} is not trained here; expected a decoder such as LLaVA's; choose another"
        )
    return loaded


def free_weights(loaded: Loaded, train: Literal["projector", "all"]) -> dict[str, Any]:
    """Name -> parameter of what is trained, in single precision, everything else frozen; raises BackendError without a projector."""
    model = loaded.model.requires_grad_(False)
    chosen = {name: one for name, one in model.named_parameters() if train == "all" or PROJECTORS & {*name.split(".")}}
    if not chosen:
        raise BackendError(
            f"{loaded.settings.model}: it has no projector between a vision encoder and its language model; expected one to train; "
            "set `train: all`, with a smaller learning_rate (1e-5, say), or choose a vision model"
        )
    for one in chosen.values():
        one.data = one.data.float()  # steps of 1e-5 and less are lost in bfloat16
        one.requires_grad_(True)
    return chosen


def save_judge(folder: Path, base: LocalModel, trained: Mapping[str, Any]) -> None:
    """Write model, tokenizer and processor: the base's own weights bit for bit but for those in `trained`, in the dtype of its files."""
    stored = load(dataclasses.replace(base, dtype="auto", device="cpu", device_map=None))
    strange = stored.model.load_state_dict(dict(trained), strict=False).unexpected_keys
    if strange:
        raise BackendError(f"{base.model}: it has no weight {strange[0]!r}; expected the model that was trained; restore it")
    stored.model.save_pretrained(folder)
    (stored.processor or stored.tokenizer).save_pretrained(folder)
