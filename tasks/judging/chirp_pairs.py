"""CHIRP's pairwise judge (2025, sections 3.3 and 4, Figures 20 and 21): a VLM says which of two
responses to a question is better.

A case is a pair, shown in one order, and one criterion. `better` always means preferred: of
hallucinations, the response with fewer. The structure is the paper's, the wording our own. Which
pairs are compared is drawn by `tasks.planning.matchups`.
"""

from collections.abc import Callable

from judgelake.tasks.judging.chirp import (
    EXTRACTOR,
    CaseAsker,
    FinalReply,
    Style,
    Turns,
    clean,
)
from judgelake.tasks.judging.chirp_reading import settle_choice
from judgelake.tasks.judging.claims import give_reason
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.templates import digest_prompts, render_prompt
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    JUDGE,
    Answer,
    AnswerForm,
    Case,
    Choice,
    Decoding,
    ImageMode,
    Judge,
    Matchups,
    Message,
    Models,
    Verdict,
    Wants,
)

VERSION = 1
TASKS = ("vqa", "caption", "document", "referring", "instruction")
CRITERIA = ("overall", "relevance", "understanding", "hallucinations", "details")
"""The paper's five: overall preference, relevance and completeness, understanding and reasoning,
hallucinations, details (C.2.1).
"""
ENDPOINTS = (EXTRACTOR,)
PROMPTS: dict[Style, tuple[str, ...]] = {
    "simple": ("chirp_pair", "chirp_criterion"),
    "reasoning": ("chirp_pair", "chirp_criterion", "chirp_pair_extraction"),
    "two_turn": ("chirp_own_answer", "chirp_pair_again", "chirp_criterion"),
}

_CHOICE = Answer("Answer: ", ("1", "2"), "answer", marked=False)
_CHOICE_OR_TIE = _CHOICE._replace(labels=("1", "2", "Tie"))


@frozen_settings
class ChirpOptions:
    """How pairs are judged and which. `style`: simple (GPT-4V (S) of the paper), reasoning (GPT-4V
    (R)) or two_turn (LLaVA-34B).

    `matchups` and, where not `both_orders`, the order of each pair are drawn by `seed`, and so is
    another image (`image: swapped`).
    """

    style: Style = "reasoning"
    criteria: tuple[str, ...] = CRITERIA
    ties: bool = False
    both_orders: bool = True
    matchups: Matchups = "all"
    image: ImageMode = True
    styles: tuple[str, ...] = ()
    samples: int = 1
    temperature: float | None = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    seed: int = 0
    answer_form: AnswerForm = "free"
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        if (
            not self.criteria
            or len({*self.criteria}) < len(self.criteria)
            or not {*self.criteria} <= {*CRITERIA}
        ):
            raise ValueError(
                f"criteria: {', '.join(self.criteria) or 'none'}; expected some of "
                f"{', '.join(CRITERIA)}, each once"
            )
        if isinstance(self.matchups, int) and self.matchups < 1:
            raise ValueError(
                f"matchups: {self.matchups}; expected all, human, reference or a number an "
                f"item from 1"
            )
        for name in ("samples", "max_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: {getattr(self, name)}; expected a whole number from 1")


def list_wants(options: ChirpOptions) -> Wants:
    """One case a pair, order and criterion."""
    return Wants(
        TASKS,
        unit="pair",
        criteria=tuple((criterion,) for criterion in options.criteria),
        samples=options.samples,
        image=options.image,
        styles=options.styles,
        matchups=options.matchups,
        both_orders=options.both_orders,
        seed=options.seed,
    )


def call_signature(options: ChirpOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked of a case; which pairs, orders and criteria there are
    does not.
    """
    extractor = {"extractor": models[EXTRACTOR]} if options.style == "reasoning" else {}
    return {
        "protocol": "chirp",
        "version": VERSION,
        "model": models[JUDGE],
        **extractor,
        "prompt": digest_prompts(PROMPTS[options.style], options.templates),
        "style": options.style,
        "ties": options.ties,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
    }


def reading_signature(_options: ChirpOptions) -> dict[str, object]:
    """How replies are read."""
    return {"reader": "chirp-choice", "version": 4}


def judge(case: Case, options: ChirpOptions, models: Models) -> Judge:
    """Ask for the better response on one criterion. A reply without a clear choice is `unparsed`,
    never a tie.
    """
    decoding = Decoding(options.temperature, options.top_p, options.max_tokens)
    answer = _CHOICE_OR_TIE if options.ties else _CHOICE
    final = yield from _ask(case, options, CaseAsker(models, decoding, case.sample, answer))
    return [final if isinstance(final, Verdict) else read_verdict(final, case, options)]


def read_verdict(final: FinalReply, case: Case, options: ChirpOptions) -> Verdict:
    """A verdict in terms of a and b, whichever was shown first."""
    settled = settle_choice(final.text, options.ties)
    if settled.mark is None:
        wanted = "1, 2 or Tie" if options.ties else "1 or 2"
        reason = give_reason(f"the reply does not clearly choose {wanted}", settled)
        return Verdict("unparsed", rationale=final.rationale, reason=reason)
    shown = settled.mark.value
    first: Choice = "b" if case.shown_first == "b" else "a"
    choice: Choice = (
        "tie" if shown == "tie" else first if shown == "first" else "a" if first == "b" else "b"
    )
    return Verdict("ok", choice=choice, rationale=final.rationale)


def _ask(case: Case, options: ChirpOptions, asker: CaseAsker) -> Turns:
    fields = _fields(case, options)
    if options.style == "two_turn":
        question = render_prompt("chirp_own_answer", options.templates, fields, case.images)
        return asker.ask_after_own_answer(
            question, render_prompt("chirp_pair_again", options.templates, fields)
        )
    messages = render_prompt("chirp_pair", options.templates, fields, case.images)
    return (
        asker.ask_and_extract(messages, _extraction(options))
        if options.style == "reasoning"
        else asker.ask(messages)
    )


def _fields(case: Case, options: ChirpOptions) -> dict[str, object]:
    shown = (case.answer, case.other_answer or "")
    first, second = shown[::-1] if case.shown_first == "b" else shown
    (criterion,) = render_prompt(
        "chirp_criterion", options.templates, {"criterion": case.criterion}
    )
    return {
        "question": clean(case.prompt),
        "first": clean(first),
        "second": clean(second),
        "criterion": criterion.text,
        "ties": options.ties,
        "reasoning": options.style == "reasoning",
        "image": options.image != "absent",
    }


def _extraction(options: ChirpOptions) -> Callable[[str], tuple[Message, ...]]:
    return lambda text: render_prompt(
        "chirp_pair_extraction", options.templates, {"evaluation": text, "ties": options.ties}
    )


PROTOCOL = Protocol(
    "chirp", ChirpOptions, list_wants, call_signature, reading_signature, judge, endpoints=ENDPOINTS
)
