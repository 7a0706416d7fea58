"""Protocol `captions`: a VLM describes each image once, for judges that read text only
(Prometheus-Vision, appendix G.1).

What it wrote is a caption in the lake under this judge's alias and signature; judges name it with
`caption: <alias>`.
"""

from typing import Literal

from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply
from judgelake.tasks.judging.templates import digest_prompts, render_prompt
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Case,
    Decoding,
    Failure,
    Judge,
    Models,
    Reply,
    Request,
    Verdict,
    Wants,
)

VERSION = 1
TASKS = ("vqa", "caption", "document", "referring", "instruction")
CRITERION = "caption"
PROMPT = "captions"


@frozen_settings
class CaptionsOptions:
    """Greedy decoding by default. A captioner always looks at the image; `templates` is a folder
    with a `captions.txt` of your own.
    """

    image: Literal[True] = True
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 512
    seed: int | None = None
    templates: SuitePath | None = None


def list_wants(_options: CaptionsOptions) -> Wants:
    """A case an image."""
    return Wants(TASKS, unit="image", criteria=((CRITERION,),), image=True)


def call_signature(options: CaptionsOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked."""
    return {
        "protocol": "captions",
        "version": VERSION,
        "model": models[JUDGE],
        "prompt": digest_prompts((PROMPT,), options.templates),
        "temperature": options.temperature,
        "top_p": "none" if options.top_p is None else options.top_p,
        "max_tokens": options.max_tokens,
        "seed": "none" if options.seed is None else options.seed,
    }


def reading_signature(_options: CaptionsOptions) -> dict[str, object]:
    """How replies are read: as they are, without blanks around them."""
    return {"reader": "whole-text", "version": 1}


def judge(case: Case, options: CaptionsOptions, models: Models) -> Judge:
    """Ask once; the whole reply is the caption."""
    messages = render_prompt(PROMPT, options.templates, {"image": len(case.images)}, case.images)
    decoding = Decoding(options.temperature, options.top_p, options.max_tokens, seed=options.seed)
    (reply,) = yield [Request(models[JUDGE], messages, decoding, draw=case.sample)]
    return [read_verdict(reply)]


def read_verdict(reply: Reply | Failure) -> Verdict:
    """The caption; an empty reply is none."""
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return replied
    text = replied.text.strip()
    return (
        Verdict("ok", text=text)
        if text
        else Verdict("unparsed", rationale=replied.text, reason="the reply is empty")
    )


PROTOCOL = Protocol(
    "captions", CaptionsOptions, list_wants, call_signature, reading_signature, judge
)
