"""The name of a request in the lake: with its draw it is the key of the `replies` table.

The digest is part of the lake's format. Changing what goes into it, or the field names below, orphans every stored reply.
"""

from tasks.digests import digest_json
from tasks.judging.types import Decoding, Image, Message, Request


def request_digest(request: Request) -> str:
    """Sha256 (hex) of the canonical JSON of model, messages and decoding; the draw is left out, images count by their sha256."""
    asked: dict[str, object] = {
        "decoding": _decoding_fields(request.decoding),
        "messages": [_message_fields(message) for message in request.messages],
        "model": request.model,
    }
    if request.scored:
        asked["scored"] = request.scored
    return digest_json(asked)


def _decoding_fields(decoding: Decoding) -> dict[str, float | int | None]:
    return {
        "max_tokens": decoding.max_tokens,
        "seed": decoding.seed,
        "temperature": None if decoding.temperature is None else float(decoding.temperature),
        "top_logprobs": decoding.top_logprobs,
        "top_p": None if decoding.top_p is None else float(decoding.top_p),
    }


def _message_fields(message: Message) -> dict[str, object]:
    return {"images": [_image_fields(image) for image in message.images], "role": message.role, "text": message.text}


def _image_fields(image: Image) -> dict[str, object]:
    named: dict[str, object] = {"sha256": image.sha256} if image.sha256 else {"uri": image.uri}
    return named | ({"boxes": [list(map(float, box)) for box in image.boxes]} if image.boxes else {})
