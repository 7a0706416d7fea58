"""What the tests of models in this process share: requests with a long common beginning, asking,
and transformers' own way as the oracle.
"""

import asyncio
import base64
import functools
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image as Pillow

from judgelake.tasks.backends.local.backend import LocalBackend
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.types import Decoding, Failure, Image, Message, Pending, Reply, Request

DEMOS = "question: what is on the image reference: a cat answer: a dog output: so rating=1\n\n" * 6
GREEDY = Decoding(0.0, max_tokens=5, top_logprobs=4)


def rating_request(
    number: int, decoding: Decoding = GREEDY, demos: str = DEMOS, **more: Any
) -> Request:
    """LAVE's form: the same demonstrations before questions of different length."""
    text = (
        f"{demos}question: what is {'the cat on ' * (number % 4)}{number} answer: "
        f"{'a ' * (number % 3)}dog output:"
    )
    return Request("m", (Message("user", text),), decoding, **more)


def picture(number: int) -> Image:
    """The name of a picture; `encode` paints it, in one of six sizes."""
    return Image(f"{number}.png", f"{number:064d}")


def encode(image: Image) -> str:
    number = int(image.uri.split(".")[0])
    size = (40 + 24 * (number % 3), 36 + 30 * (number % 2), 3)
    pixels = np.random.default_rng(number).integers(0, 256, size, np.uint8)
    buffer = io.BytesIO()
    Pillow.fromarray(pixels).save(buffer, "PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def ask(
    folder: Path | str, requests: Sequence[Request], apart: bool = False, **settings: Any
) -> list[Reply | Failure | Pending]:
    """All at once, or `apart`: each after the reply to the one before."""

    async def drive() -> list[Reply | Failure | Pending]:
        backend = LocalBackend(LocalModel(str(folder), **{"dtype": "float32", **settings}), encode)
        try:
            if apart:
                return [await backend.reply(request) for request in requests]
            return list(await asyncio.gather(*(backend.reply(request) for request in requests)))
        finally:
            await backend.close()

    return asyncio.run(drive())


def replies(found: Sequence[Reply | Failure | Pending]) -> list[Reply]:
    assert all(isinstance(one, Reply) for one in found), found
    return [one for one in found if isinstance(one, Reply)]


def generate_plainly(
    kind: str, folder: Path, inputs: dict[str, Any], n_tokens: int
) -> tuple[list[int], torch.Tensor]:
    """Transformers' own greedy tokens of one prompt, and the log-probabilities (tokens, vocabulary)
    at each of them.
    """
    model = _load(kind, folder)
    with torch.inference_mode():
        found = model.generate(
            **inputs,
            max_new_tokens=n_tokens,
            do_sample=False,
            output_logits=True,
            return_dict_in_generate=True,
        )
    logits = torch.cat(found.logits)
    return found.sequences[0, -len(logits) :].tolist(), logits.log_softmax(-1)


@functools.cache
def _load(kind: str, folder: Path) -> Any:
    return getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32)
