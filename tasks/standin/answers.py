"""Which rule of the stand-in answers a prompt. The rules live in `standin_rules` and its
neighbours, one file a kind of prompt.

The rule: a token's probability is (1 + n) / (2 + n) / (1 + w), where n is how often it came before
in the text, in any case, and w its number of letters and digits. So short words and repeated ones
are likely, long and new ones are not. The first token has none.

None hold of a candidate that equals a reference under the official normaliser. Else same stem,
specificity or verbosity and unknown hold by `tasks.failures.rules`, and a broad question where the
candidate has none but very general words. Where none of these holds, it is one of multiple answers
if the image (without one, a description of it) bears out at least half of the candidate's content
words, else incorrect.
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from judgelake.tasks.failures.rules import label_answer
from judgelake.tasks.metrics.vqa_accuracy import normalise_official, strip_official
from judgelake.tasks.standin.answering import answer_item
from judgelake.tasks.standin.chirp import judge_chirp
from judgelake.tasks.standin.collection import collect_feedback
from judgelake.tasks.standin.harmonic import rate_criterion, score_text
from judgelake.tasks.standin.prometheus import (
    grade_response,
    prefer_feedback,
    score_two,
    write_caption,
)
from judgelake.tasks.standin.rules import (
    Asked,
    TokenReply,
    content_words,
    rate_answer,
    share_borne_out,
    split_tokens,
)

# words of the prompt of `failure_labels`, by which it is known
_ASKS = re.compile(r"line that begins with `Categories:` and gives the names of the reasons\b")
# its fields, at the end of the prompt
_CASE = re.compile(
    r"^(?:Image description: (?P<caption>.*)\n)?Question: .*\nReferences: "
    r"(?P<references>.*)\nCandidate: (?P<candidate>.*)\Z",
    re.MULTILINE,
)
# an answer of these words alone is too general
_GENERAL = frozenset(
    content_words("a lot of many several some few various things stuff something object place")
)


def name_failures(asked: Asked) -> TokenReply | None:
    """The answer to a prompt that asks for failure categories; None to any other."""
    case = _CASE.search(asked.text)
    if case is None or not _ASKS.search(asked.text):
        return None
    names = _find_categories(
        case["candidate"], case["references"].split("; "), case["caption"], asked.images
    )
    verdict = f"Categories: {', '.join(names) or 'none'}"
    if "Explain your choice first." not in asked.text:
        return TokenReply(split_tokens(verdict), {})
    return TokenReply(
        split_tokens(
            f"Compared with the {case['references'].count('; ') + 1} references word by "
            f"word.\n{verdict}"
        ),
        {},
    )


def _find_categories(
    candidate: str, references: list[str], caption: str | None, images: tuple[str, ...]
) -> list[str]:
    answer, *known = normalise_official(strip_official([candidate, *references]))
    if answer in known:
        return []
    categories = [
        name for name, holds in label_answer(candidate, references, None).items() if holds
    ]
    words = content_words(candidate)
    if words and words <= _GENERAL:
        categories.append("broad_question")
    if categories:
        return categories
    share = share_borne_out(words, images, None if caption is None else content_words(caption))
    return ["multiple_answers" if share is not None and share >= 0.5 else "incorrect"]


NO_RULE = "The stand-in has no rule for a prompt of this kind."

RULES: tuple[Callable[[Asked], TokenReply | None], ...] = (
    grade_response,
    prefer_feedback,
    score_two,
    write_caption,
    rate_criterion,
    score_text,
    name_failures,
    rate_answer,
    judge_chirp,
    collect_feedback,
    answer_item,
)
"""Asked in this order; the first that knows the prompt answers."""


def answer_request(asked: Asked) -> TokenReply:
    """What the stand-in says."""
    for rule in RULES:
        answer = rule(asked)
        if answer is not None:
            return answer
    return TokenReply(split_tokens(NO_RULE), {})


def score_echo(body: dict[str, Any]) -> dict[str, Any]:
    """The choice for a request: its prompt with log-probabilities; raises ValueError where
    something else is asked for.
    """
    prompt, asked = (
        body["prompt"],
        (body.get("echo"), bool(body.get("logprobs")), body.get("max_tokens")),
    )
    if not isinstance(prompt, str) or asked != (True, True, 0):
        raise ValueError(
            "completions only score a text: prompt a string, echo true, logprobs 1, max_tokens 0"
        )
    tokens = split_tokens(prompt)
    logprobs, seen, offsets, place = list[float | None](), Counter[str](), list[int](), 0
    for token in tokens:
        offsets.append(place)
        logprobs.append(_score_token(token, seen) if place else None)
        seen[token.strip().lower()] += 1
        place += len(token)
    top = [
        None if value is None else {token: value}
        for token, value in zip(tokens, logprobs, strict=True)
    ]
    listed = {
        "tokens": list(tokens),
        "token_logprobs": logprobs,
        "top_logprobs": top,
        "text_offset": offsets,
    }
    return {"index": 0, "text": prompt, "finish_reason": "length", "logprobs": listed}


def _score_token(token: str, seen: Counter[str]) -> float:
    before, width = seen[token.strip().lower()], sum(map(str.isalnum, token))
    return math.log((1 + before) / (2 + before) / (1 + width))
