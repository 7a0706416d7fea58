"""A completion that a server sent as a stream of events, though none was asked for: put together again.

Pure; what a completion is lives in `tasks.backends.openai_format`.
"""

from typing import Any

import orjson

BEGINNINGS = (b"data:", b"event:", b":")


def join_stream(content: bytes) -> bytes:
    """The one body that the events add up to; raises ValueError where the stream broke off or is none of a completion."""
    try:
        events = [
            orjson.loads(line[5:]) for line in content.splitlines() if line.startswith(b"data:") and line[5:].strip() != b"[DONE]"
        ]
        failed = next((event for event in events if event.get("error")), None)
        return orjson.dumps(failed or _join_events(events))
    except (AttributeError, TypeError, orjson.JSONDecodeError):
        raise ValueError(f"the answer is no stream of a chat completion ({len(content)} bytes)") from None


def _join_events(events: list[dict[str, Any]]) -> dict[str, Any]:
    choices = [choice for event in events for choice in event.get("choices") or () if not choice.get("index")]
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    if not reasons:
        raise ValueError(f"the answer is a stream that broke off after {len(events)} events")
    deltas = [choice.get("delta") or {} for choice in choices]
    said = {name: "".join(delta.get(name) or "" for delta in deltas) or None for name in ("content", "refusal")}
    positions = [position for choice in choices for position in (choice.get("logprobs") or {}).get("content") or ()]
    whole = {name: value for event in events for name, value in event.items() if value is not None}
    only = {"index": 0, "finish_reason": reasons[-1], "message": {"role": "assistant", **said}}
    return {**whole, "object": "chat.completion", "choices": [only | ({"logprobs": {"content": positions}} if positions else {})]}
