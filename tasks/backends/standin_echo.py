"""The stand-in as a language model: the log-probability of each token of a given text, by rule, for `/v1/completions` with `echo`.

The rule: a token's probability is (1 + n) / (2 + n) / (1 + w), where n is how often it came before in the text, in any case, and w its
number of letters and digits. So short words and repeated ones are likely, long and new ones are not. The first token has none.
"""

import math
from collections import Counter
from typing import Any

from tasks.backends.standin_rules import split_tokens


def score_text(body: dict[str, Any]) -> dict[str, Any]:
    """The choice for a request: its prompt with log-probabilities; raises ValueError where something else is asked for."""
    prompt, asked = body["prompt"], (body.get("echo"), bool(body.get("logprobs")), body.get("max_tokens"))
    if not isinstance(prompt, str) or asked != (True, True, 0):
        raise ValueError("completions only score a text: prompt a string, echo true, logprobs 1, max_tokens 0")
    tokens = split_tokens(prompt)
    logprobs, seen, offsets, place = list[float | None](), Counter[str](), list[int](), 0
    for token in tokens:
        offsets.append(place)
        logprobs.append(_score_token(token, seen) if place else None)
        seen[token.strip().lower()] += 1
        place += len(token)
    top = [None if value is None else {token: value} for token, value in zip(tokens, logprobs, strict=True)]
    listed = {"tokens": list(tokens), "token_logprobs": logprobs, "top_logprobs": top, "text_offset": offsets}
    return {"index": 0, "text": prompt, "finish_reason": "length", "logprobs": listed}


def _score_token(token: str, seen: Counter[str]) -> float:
    before, width = seen[token.strip().lower()], sum(map(str.isalnum, token))
    return math.log((1 + before) / (2 + before) / (1 + width))
