"""The name of a request in the lake: with its draw it is the key of the `replies` table.

The digest is part of the lake's format. Changing what goes into it, or the field names below, orphans every stored reply.
"""

import functools
import hashlib

import orjson

from tasks.digests import digest_json, dump_json
from tasks.judging.types import Decoding, Image, Message, Request


def request_digest(request: Request) -> str:
    """Sha256 (hex) of the canonical JSON of model, messages and decoding; the draw is left out, images count by their sha256."""
    messages = [_message_fields(message) for message in request.messages]
    told = {"model": request.model, "scored": request.scored} if request.scored else {"model": request.model}
    if not any(image.boxes for message in request.messages for image in message.images):
        try:  # texts alone: the same bytes as canonical JSON, several times faster
            parts = (_dump_decoding(request.decoding), orjson.dumps(messages), orjson.dumps(told)[1:])
            return hashlib.sha256(b'{"decoding":%b,"messages":%b,%b' % parts).hexdigest()
        except orjson.JSONEncodeError:  # half a surrogate pair
            pass
    return digest_json({"decoding": _decoding_fields(request.decoding), "messages": messages, **told})


@functools.lru_cache
def _dump_decoding(decoding: Decoding) -> bytes:
    return dump_json(_decoding_fields(decoding))


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
