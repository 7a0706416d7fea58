"""How a body holds the model to an answer: by a constraint on its reply, or by the beginning of the
reply written for it. Which form is asked for is `tasks.judging.answer_form`.
"""

import re
from typing import Any, Literal, NamedTuple

from judgelake.tasks.types import Answer, Reply, Request

Constraint = Literal["json_schema", "json_object", "structured_outputs", "regex"]
"""`json_schema`: OpenAI's `response_format`, which vLLM, SGLang, llama.cpp and Ollama take too.
`json_object`: the same with the schema beside the type (llama-cpp-python's server).
`structured_outputs`: vLLM's own, from 0.11. `regex`: SGLang's.
"""
Prefill = Literal["none", "assistant", "continue_final_message"]
"""How an endpoint goes on with a reply that was begun: not at all, wherever the last message is the
assistant's (llama.cpp), or with vLLM's and SGLang's `continue_final_message`.
"""


class Holding(NamedTuple):
    """By what an endpoint holds a model to an answer."""

    constraint: Constraint = "json_schema"
    prefill: Prefill = "none"


BY_SCHEMA = Holding()
"""What most endpoints offer."""
CONSTRAINTS = ("response_format", "structured_outputs", "regex")
"""The settings of a body that constrain a reply."""
# a label is a token or two; a blank may come before it
_FORCED_TOKENS = 4


def hold(body: dict[str, Any], request: Request, holding: Holding) -> dict[str, Any]:
    """The body, changed to the request's form; raises ValueError for a forced one where the
    endpoint cannot go on with a reply.
    """
    answer = request.answer
    if answer is None:
        return body
    if request.form != "forced":
        return body | _constrain(answer, holding.constraint)
    if holding.prefill == "none":
        raise ValueError(
            "answer_form: forced; expected for a model that runs here, or with `prefill` for an "
            "endpoint that goes on with a reply that was begun; use `structured` or `auto`"
        )
    begun = [{"role": "assistant", "content": answer.opening.rstrip()}]
    limit = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
    held = body | {"messages": body["messages"] + begun, limit: _FORCED_TOKENS}
    if holding.prefill == "continue_final_message":
        held |= {"continue_final_message": True, "add_generation_prompt": False}
    return held


def find_unheeded(request: Request, holding: Holding, reply: Reply) -> str | None:
    """The constraint that the reply does not follow, as an endpoint took the setting and ignored
    it; None where it holds, or none was asked for.
    """
    answer, text = request.answer, reply.text.strip()
    if request.form not in ("structured", "auto") or answer is None or not text:
        return None
    if holding.constraint in ("json_schema", "json_object"):
        return None if text.startswith("{") else "response_format"
    ends = text.endswith(answer.labels) or reply.finish_reason == "length"
    return None if ends else holding.constraint


def _constrain(answer: Answer, constraint: Constraint) -> dict[str, Any]:
    if constraint == "json_schema":
        named = {"name": "verdict", "strict": True, "schema": _make_schema(answer)}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    if constraint == "json_object":
        return {"response_format": {"type": "json_object", "schema": _make_schema(answer)}}
    labels = "|".join(map(re.escape, answer.labels))
    before = rf"[\s\S]+{re.escape(answer.opening)}" if answer.explained else ""
    pattern = f"{before}({labels})"
    return {"regex": pattern} if constraint == "regex" else {constraint: {"regex": pattern}}


def _make_schema(answer: Answer) -> dict[str, Any]:
    fields: dict[str, Any] = {answer.explained: {"type": "string"}} if answer.explained else {}
    fields[answer.name] = {"type": "string", "enum": [*answer.labels]}
    return {
        "type": "object",
        "properties": fields,
        "required": [*fields],
        "additionalProperties": False,
    }
