"""How a body holds the model to an answer: by a constraint on its reply, or by the beginning of the
reply written for it. Which form is asked for is `tasks.judging.answer_form`.
"""

import re
from typing import Any, Literal, NamedTuple

from judgelake.tasks.types import Answer, Request

Constraint = Literal["json_schema", "structured_outputs", "regex"]
"""`json_schema`: OpenAI's `response_format`, which vLLM, SGLang, llama.cpp and Ollama take too.
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
    if request.form == "free" or answer is None:
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


def _constrain(answer: Answer, constraint: Constraint) -> dict[str, Any]:
    if constraint == "json_schema":
        return {"response_format": _make_schema(answer)}
    labels = "|".join(map(re.escape, answer.labels))
    before = rf"[\s\S]+{re.escape(answer.opening)}" if answer.explained else ""
    pattern = f"{before}({labels})"
    return {"regex": pattern} if constraint == "regex" else {constraint: {"regex": pattern}}


def _make_schema(answer: Answer) -> dict[str, Any]:
    fields: dict[str, Any] = {answer.explained: {"type": "string"}} if answer.explained else {}
    fields[answer.name] = {"type": "string", "enum": [*answer.labels]}
    schema = {
        "type": "object",
        "properties": fields,
        "required": [*fields],
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": schema},
    }
