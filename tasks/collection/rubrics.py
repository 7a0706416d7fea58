"""Collector `collect_rubrics`: three rubrics for an image, each checked against the image and
refined while it does not fit (Prometheus-Vision, appendix B.1, step 2, and J.1).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from judgelake.tasks.collection.asking import TASKS, GenerationOptions, ask, sign_generation
from judgelake.tasks.collection.generations import Drafted, read_alignment, read_rubrics
from judgelake.tasks.collection.seeds import draw_examples, draw_kind, load_seeds, spell_rubric
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import SuiteError
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.reading import check_reply
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import (
    Case,
    Failure,
    Judge,
    Models,
    Reply,
    Rubric,
    Verdict,
    Wants,
)

VERSION = 1
N_RUBRICS = 3
BRAINSTORM, ALIGN, REFINE = PROMPTS = (
    "collect_rubrics",
    "collect_alignment",
    "collect_refinement",
)


@frozen_settings
class RubricOptions(GenerationOptions):
    """`kinds`: whether the examples are general rubrics, those of a domain, or for about half of
    the images each (`both`). `image: absent` asks models that read text only.
    """

    kinds: Literal["both", "general", "domain"] = "both"
    seed_rubrics: SuitePath | None = None
    refinements: int = 3

    def __post_init__(self) -> None:
        """Seeds that cannot be used are an error before anything starts."""
        of_kind = load_seeds(self.seed_rubrics).of_kind
        for kind in of_kind if self.kinds == "both" else (self.kinds,):
            if not of_kind[kind]:
                raise SuiteError(
                    f"{self.seed_rubrics}: has no rubric of the kind {kind}; expected at least "
                    f"four; add some, or set `kinds`"
                )


def list_wants(options: RubricOptions) -> Wants:
    """A case an image."""
    names = tuple(f"rubric-{number}" for number in range(1, N_RUBRICS + 1))
    return Wants(TASKS, unit="rubrics", criteria=(names,), image=True, seed=options.seed)


def call_signature(options: RubricOptions, models: Models) -> dict[str, object]:
    """Everything that changes what is asked."""
    return {
        **sign_generation("collect_rubrics", VERSION, PROMPTS, options, models),
        "seeds": load_seeds(options.seed_rubrics).digest,
        "kinds": options.kinds,
        "refinements": options.refinements,
        "seed": options.seed,
    }


def reading_signature(_options: RubricOptions) -> dict[str, object]:
    """How replies are read: JSON objects with a criterion and five levels."""
    return {"reader": "json-rubrics", "version": 1}


@dataclass(frozen=True)
class _Candidate:
    """One of an image's rubrics: `verdict` once it is settled."""

    name: str
    kind: str
    drafted: Drafted | None = None
    n_refined: int = 0
    is_misaligned: bool = False
    verdict: Verdict | None = None

    def settle(self, verdict: Verdict) -> "_Candidate":
        """With a verdict that holds what was made so far."""
        made: dict[str, object] = {"kind": self.kind, "n_refined": self.n_refined}
        if self.drafted is not None:
            made |= describe(self.drafted)
        return replace(self, verdict=replace(verdict, criterion=self.name, made=made))


def describe(drafted: Drafted) -> dict[str, object]:
    """The columns of a rubric."""
    rubric = drafted.rubric
    return {
        "rubric_id": name_rubric(rubric),
        "description": rubric.criterion,
        "levels": [*rubric.levels],
        "keywords": [*drafted.keywords],
    }


def name_rubric(rubric: Rubric) -> str:
    """16 hex digits of a rubric's content."""
    return digest_json([rubric.criterion, rubric.levels])[:16]


def collect(case: Case, options: RubricOptions, models: Models) -> Judge:
    """Brainstorm, then check and refine all three at a time until each fits or is given up."""
    kind = draw_kind(case.context_digest, options.kinds, options.seed)
    examples = draw_examples(
        load_seeds(options.seed_rubrics), kind, case.context_digest, options.seed
    )
    fields = {"examples": [spell_rubric(seed) for seed in examples], "n": len(case.criteria)}
    (reply,) = yield [ask(BRAINSTORM, fields, case, options, models)]
    candidates = [*_read_candidates(reply, case.criteria, kind)]
    while waiting := [candidate for candidate in candidates if candidate.verdict is None]:
        # an odd step asks whether the rubrics fit, an even one for better ones where they do not
        prompt = REFINE if waiting[0].is_misaligned else ALIGN
        asked = [
            candidate
            for candidate in waiting
            if candidate.is_misaligned == waiting[0].is_misaligned
        ]
        replies = yield [
            ask(prompt, {"rubric": spell_rubric(candidate.drafted)}, case, options, models)
            for candidate in asked
            if candidate.drafted
        ]
        read = _read_refinement if waiting[0].is_misaligned else _read_alignment
        after = {
            candidate.name: read(candidate, reply, options.refinements)
            for candidate, reply in zip(asked, replies, strict=True)
        }
        candidates = [after.get(candidate.name, candidate) for candidate in candidates]
    return [candidate.verdict for candidate in candidates if candidate.verdict is not None]


def _read_candidates(
    reply: Reply | Failure, names: tuple[str, ...], kind: str
) -> Iterator[_Candidate]:
    """A candidate for each wanted rubric; those that the reply does not hold are settled."""
    replied = check_reply(reply)
    drafts = [] if isinstance(replied, Verdict) else read_rubrics(replied.text)
    for place, name in enumerate(names):
        candidate = _Candidate(name, kind)
        if isinstance(replied, Verdict):
            yield candidate.settle(replied)
        elif place >= len(drafts):
            reason = f"the reply holds {len(drafts)} rubrics; expected {len(names)}"
            yield candidate.settle(Verdict("unparsed", reason=reason))
        elif isinstance(drafted := drafts[place], str):
            yield candidate.settle(Verdict("unparsed", reason=drafted))
        else:
            yield replace(candidate, drafted=drafted)


def _read_alignment(candidate: _Candidate, reply: Reply | Failure, refinements: int) -> _Candidate:
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return candidate.settle(replied)
    aligned = read_alignment(replied.text)
    if aligned is None:
        reason = "the reply says neither `align` nor `misalign`"
        return candidate.settle(Verdict("unparsed", reason=reason))
    if aligned:
        return candidate.settle(Verdict("ok"))
    if candidate.n_refined >= refinements:
        reason = f"the rubric does not fit the image after {candidate.n_refined} refinements"
        return candidate.settle(Verdict("rejected", reason=reason))
    return replace(candidate, is_misaligned=True)


def _read_refinement(candidate: _Candidate, reply: Reply | Failure, _: int) -> _Candidate:
    refined = replace(candidate, n_refined=candidate.n_refined + 1, is_misaligned=False)
    replied = check_reply(reply)
    if isinstance(replied, Verdict):
        return refined.settle(replied)
    drafts = read_rubrics(replied.text)
    if len(drafts) != 1:
        reason = f"the refinement holds {len(drafts)} rubrics; expected one"
        return refined.settle(Verdict("unparsed", reason=reason))
    drafted = drafts[0]
    if isinstance(drafted, str):
        return refined.settle(Verdict("unparsed", reason=drafted))
    words = drafted.keywords or (candidate.drafted.keywords if candidate.drafted else ())
    return replace(refined, drafted=drafted._replace(keywords=words))


COLLECTOR = Protocol(
    "collect_rubrics",
    RubricOptions,
    list_wants,
    call_signature,
    reading_signature,
    collect,
    kind="collector",
)
