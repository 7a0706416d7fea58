"""GGUF files, which transformers reads: it parses one three times (for its configuration, tokenizer
and weights) and makes the map of its tensors' names for each module of the model. Here both are
done once, since each takes seconds.
"""

import functools
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

from judgelake.tasks.errors import BackendError


@contextmanager
def read_gguf_once(model: str) -> Iterator[None]:
    """While this is open, a file is parsed once and no bar is shown, for which transformers has no
    switch; raises BackendError where the package that reads such files is missing.
    """
    if importlib.util.find_spec("gguf") is None:
        raise BackendError(f"{model}: a GGUF file needs the package gguf; run pip install gguf")
    gguf: Any = import_module("gguf")
    reading: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    silent = functools.partial(import_module("tqdm").tqdm, disable=True)
    with (
        patch.object(gguf, "GGUFReader", functools.cache(gguf.GGUFReader)),
        patch.object(gguf, "get_tensor_name_map", functools.cache(gguf.get_tensor_name_map)),
        patch.object(reading, "tqdm", silent),
    ):
        yield
