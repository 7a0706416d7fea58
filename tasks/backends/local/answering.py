"""Requests to a loaded model, a round at a time: prompts made, planned into batches, run; a batch
too large for the memory in halves.

What waits, and what is asked in the meantime, takes the places of replies that have ended.
transformers' continuous batching does as much, and on a processor in 2.7 times the time of these
batches (48 rationales of 5 to 200 tokens after 850 that they share; its masks grow with the square
of the rows where there is no flash attention); it gives one log-probability a token, and its draws
depend on what runs beside.

Imports torch: only what runs a model imports this module.
"""

import asyncio
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from judgelake.tasks.backends.base import make_reason, request_digest
from judgelake.tasks.backends.local.batches import PlannedPrompt, Rules, plan_batches
from judgelake.tasks.backends.local.caches import CacheKind
from judgelake.tasks.backends.local.decoding import (
    Continuing,
    Joined,
    Stopped,
    Wanted,
    Written,
    choose_label,
    write_replies,
)
from judgelake.tasks.backends.local.loading import Loaded
from judgelake.tasks.backends.local.models import Decoder, DecoderBatch, EncoderDecoder
from judgelake.tasks.backends.local.prompts import Prompt, Prompter, Speller
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import BackendError
from judgelake.tasks.types import Failure, Image, Reply, Request, TokenLogprobs

Outcome = Reply | Failure | BackendError


@dataclass
class Job:
    """A request, and the future in which its reply is awaited."""

    request: Request
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Reply | Failure]"
    asked_at: float = field(default_factory=time.perf_counter)

    def finish(self, outcome: Outcome) -> None:
        """Hand the outcome over to the loop that waits for it, in whatever thread this is."""
        try:
            self.loop.call_soon_threadsafe(self._set, outcome)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    def _set(self, outcome: Outcome) -> None:
        if self.future.done():
            return
        if isinstance(outcome, BackendError):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class _Speed(NamedTuple):
    """What a forward pass costs before its first token, in tokens, and beyond how many it gains
    nothing from more.
    """

    overhead: int
    pass_tokens: int


_CPU = _Speed(128, 2_048)
"""A pass reads the weights; what it computes on the way should stay in the processor's cache."""
_GPU = _Speed(2_048, 1 << 30)
"""A pass reads the weights and starts hundreds of kernels."""


@dataclass
class _Held:
    """What is read of a request's answers: the rows still to be run, and the log-probability of
    each answer so far.
    """

    n_open: int
    logprobs: dict[str, float] = field(default_factory=dict)


@dataclass(eq=False)
class _Question:
    """A request made ready, or a row of one."""

    job: Job
    prompt: Prompt
    wanted: Wanted
    held: _Held
    is_answered: bool = False


@dataclass(frozen=True)
class _Group:
    """Questions that begin together, after the beginnings that they share."""

    questions: list[_Question]
    shared: tuple[int, ...]

    def leave_out(self, is_out: Callable[[_Question], bool]) -> "_Group":
        """The group without some of them."""
        return _Group(
            [question for question in self.questions if not is_out(question)], self.shared
        )

    def halve(self) -> "list[_Group]":
        """Two groups; one is the larger where it cannot be otherwise."""
        half = (len(self.questions) + 1) // 2
        return [
            _Group(some, self.shared) for some in (self.questions[:half], self.questions[half:])
        ]


class Runner(Protocol):
    """A model with its way from prompts to a batch in the middle of its replies."""

    caches: CacheKind

    def begin(
        self, prompts: Sequence[Prompt], shared: Sequence[int], room: int
    ) -> tuple[torch.Tensor, Continuing]:
        """Logits (rows, vocabulary) of the replies' first tokens, and the batch to go on with for
        `room` tokens.
        """

    def score(self, prompts: Sequence[Prompt], shared: Sequence[int]) -> list[list[float]]:
        """The log-probabilities of each prompt's scored tokens."""

    def forget(self) -> None:
        """Give up all that is kept for later batches."""


class Answerer:
    """One loaded model and what it keeps from round to round."""

    def __init__(
        self, loaded: Loaded, encode_image: Callable[[Image], str], is_stopping: Callable[[], bool]
    ) -> None:
        self._loaded, self._is_stopping = loaded, is_stopping
        self._batch_tokens = loaded.settings.batch_tokens
        self._prompter, self._speller = Prompter(loaded, encode_image), Speller(loaded.tokenizer)
        self._ends = _find_ends(loaded)
        self._more: Callable[[], Sequence[Job]] = tuple
        self._later: list[_Question] = []
        self._runner: Runner = (
            EncoderDecoder(loaded)
            if loaded.kind == "seq2seq"
            else Decoder(loaded, self._batch_tokens)
        )
        if self._runner.caches.why_not:
            _print_once(f"{loaded.settings.model}: {self._runner.caches.why_not}")

    def answer(self, jobs: Sequence[Job], more: Callable[[], Sequence[Job]] = tuple) -> None:
        """Answer all of them, and what `more` has when replies have ended and left room; those that
        cannot be asked get a Failure.

        Ends early, without outcomes, once the backend is closed.
        """
        self._more, self._later = more, []
        try:
            self._run_all(self._sort(jobs))
            self._run_all(self._later)
        except Stopped:
            return

    def _run_all(self, questions: Sequence[_Question]) -> None:
        waiting = self._plan(questions)
        while waiting:
            self._run(waiting.popleft(), waiting)

    def _sort(self, jobs: Sequence[Job]) -> list[_Question]:
        """The questions to which replies are written; those whose texts are scored are for
        later.
        """
        ready = [question for job in jobs for question in self._prepare(job)]
        self._later += [question for question in ready if question.prompt.read]
        return [question for question in ready if not question.prompt.read]

    def _plan(self, questions: Sequence[_Question]) -> deque[_Group]:
        speed, caches = _CPU if self._loaded.device.type == "cpu" else _GPU, self._runner.caches
        asked = [
            PlannedPrompt(
                question.prompt.key,
                question.wanted.most,
                1 + len(question.prompt.tail),
                question.prompt.images_end,
            )
            for question in questions
        ]
        batches = plan_batches(
            asked, Rules(self._batch_tokens, *speed, caches.shares, caches.window)
        )
        return deque(
            _Group([questions[row] for row in batch.rows], batch.shared) for batch in batches
        )

    def _prepare(self, job: Job) -> list[_Question]:
        """A request's rows, nearly always one; none where it cannot be asked."""
        try:
            prompts = self._prompter.make_rows(job.request)
            if any(prompt.labels and prompt.tail for prompt in prompts) and (
                self._runner.caches.looks_ahead
            ):
                raise ValueError(
                    f"{self._runner.caches.why_not}, so that an answer of several tokens has no "
                    "joint probability; expected answers of one token each; use `answer_form: free`"
                )
            wanted = [self._want(job.request, len(prompt.ids)) for prompt in prompts]
        except Exception as error:  # a template's, a tokenizer's, a processor's
            job.finish(self._fail(f"the request cannot be asked: {error}"))
            return []
        held = _Held(len(prompts))
        return [
            _Question(job, prompt, how, held) for prompt, how in zip(prompts, wanted, strict=True)
        ]

    def _want(self, request: Request, n_prompt: int) -> Wanted:
        """How the reply is drawn: what a request leaves open is as the model's own generation
        settings say.
        """
        decoding, own = request.decoding, self._loaded.model.generation_config
        most = 0 if request.scored or request.form != "free" else decoding.max_tokens
        if self._loaded.kind != "seq2seq":
            if n_prompt + min(most, 1) > self._loaded.limit:
                raise ValueError(
                    f"the prompt has {n_prompt:,} tokens; expected fewer than the "
                    f"{self._loaded.limit:,} that the model takes"
                )
            most = min(most, self._loaded.limit - n_prompt)
        temperature, top_p = decoding.temperature, decoding.top_p
        if temperature is None:
            temperature = (
                (1.0 if own.temperature is None else float(own.temperature))
                if own.do_sample
                else 0.0
            )
            top_p = own.top_p if top_p is None else top_p
        seed = int(digest_json([request_digest(request), request.draw])[:16], 16)
        return Wanted(
            most,
            decoding.top_logprobs,
            temperature,
            1.0 if top_p is None else top_p,
            np.random.default_rng(seed),
        )

    def _run(self, group: _Group, waiting: deque[_Group]) -> None:
        """Run a group, and of those that wait what comes into the places of replies that have
        ended; raises Stopped.
        """
        if self._is_stopping():
            raise Stopped
        group = group.leave_out(lambda question: question.job.future.cancelled())
        if not group.questions:
            return
        begun, failed = [group], None
        try:
            self._compute(begun, waiting)
        except Stopped:
            raise
        except Exception as error:  # whatever a model's code raises
            failed = error.with_traceback(None)  # its frames would hold the memory of the batch
        if failed is not None:
            self._mend(begun, failed)

    def _mend(self, begun: Sequence[_Group], error: Exception) -> None:
        """Run what failed again in smaller parts, in halves where it was too large for the memory;
        a single question that fails gets a Failure. Raises Stopped.
        """
        is_memory, n_begun = _is_memory(error), sum(len(group.questions) for group in begun)
        left = [group.leave_out(lambda question: question.is_answered) for group in begun]
        if n_begun == 1 or (len(begun) == 1 and not is_memory):
            for question in left[0].questions:
                question.job.finish(self._fail(_explain(question, error)))
            return
        if is_memory:
            self._runner.forget()
            tokens = [
                len(question.prompt.ids) + question.wanted.most
                for group in left
                for question in group.questions
            ]
            self._batch_tokens = max(1, min(self._batch_tokens, len(tokens) * max(tokens) // 2))
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
        for group in left:
            for part in group.halve() if len(begun) == 1 else [group]:
                self._run(part, deque())

    def _compute(self, begun: list[_Group], waiting: deque[_Group]) -> None:
        """Answer the only group of `begun`, to which those are added that come beside it."""
        (group,) = begun
        questions = list(group.questions)
        if questions[0].prompt.read:
            scores = self._runner.score([question.prompt for question in questions], group.shared)
            for question, values in zip(questions, scores, strict=True):
                self._finish_read(question, values)
            return
        logits, running = self._begin(group, max(question.wanted.most for question in questions))

        def join(n_rows: int, room: int) -> Joined | None:
            if not isinstance(running, DecoderBatch) or not running.joins:
                return None
            joining = self._take(waiting, n_rows, running.width, room)
            if joining is None:
                return None
            begun.append(joining)
            questions.extend(joining.questions)
            logits, other = self._begin(joining, 0)
            running.join(
                other, max(room, *(question.wanted.most for question in joining.questions))
            )
            return Joined(logits, [question.wanted for question in joining.questions])

        first = Joined(logits, [question.wanted for question in questions])
        for number, written in write_replies(first, running, self._ends, self._is_stopping, join):
            self._finish(questions[number], written)

    def _begin(self, group: _Group, room: int) -> tuple[torch.Tensor, Any]:
        return self._runner.begin(
            [question.prompt for question in group.questions], group.shared, room
        )

    def _take(self, waiting: deque[_Group], n_rows: int, width: int, room: int) -> _Group | None:
        """Those that wait and fit beside `n_rows`, where an eighth of all places is free and the
        padding is less than the prompts.
        """
        if not waiting:
            waiting += self._plan(self._sort(self._more()))
        if not waiting:
            return None
        group = waiting[0]
        longest, most = (
            max(values)
            for values in zip(
                *((len(question.prompt.ids), question.wanted.most) for question in group.questions),
                strict=True,
            )
        )
        places = self._batch_tokens // (max(width, longest) + max(room, most))
        n_free = places - n_rows
        if (
            n_free < 1 or 8 * n_free < places or max(width, longest) > 2 * min(width, longest)
        ):  # to begin costs a pass of its own
            return None
        waiting.popleft()
        if n_free < len(group.questions):
            waiting.appendleft(_Group(group.questions[n_free:], group.shared))
        taken = _Group(group.questions[:n_free], group.shared).leave_out(
            lambda question: question.job.future.cancelled()
        )
        return taken if taken.questions else None

    def _finish(self, question: _Question, written: Written) -> None:
        question.job.finish(self._make_reply(question, written))
        question.is_answered = True

    def _finish_read(self, question: _Question, values: Sequence[float]) -> None:
        """A scored text's log-probabilities, or those of the answers once all rows have theirs."""
        if not question.prompt.labels:
            tokens = [token for _, token in question.prompt.read]
            scored = [[pair] for pair in zip(tokens, values, strict=True)]
            self._finish(question, Written([], scored, "stop"))
            return
        question.is_answered = True
        held, answer = question.held, question.job.request.answer
        held.logprobs |= {
            label: math.fsum(values[at] for at in places)
            for label, places in question.prompt.labels
        }
        held.n_open -= 1
        if held.n_open or answer is None:
            return
        listed = tuple((label, held.logprobs[label]) for label in answer.labels)
        chosen = choose_label([value for _, value in listed], question.wanted)
        reply = self._make_reply(question, Written([], [], "stop", 1))
        question.job.finish(replace(reply, text=answer.labels[chosen], top_logprobs=(listed,)))

    def _make_reply(self, question: _Question, written: Written) -> Reply:
        return Reply(
            text=self._speller.spell(written.ids),
            finish_reason=written.finish_reason,
            top_logprobs=tuple(self._spell_alternatives(top) for top in written.top),
            resolved_model=self._loaded.snapshot,
            prompt_tokens=len(question.prompt.ids),
            completion_tokens=written.n_tokens,
            latency_ms=1000 * (time.perf_counter() - question.job.asked_at),
            adapted=question.prompt.adapted,
        )

    def _spell_alternatives(self, alternatives: Sequence[tuple[int, float]]) -> TokenLogprobs:
        return tuple((self._speller.spell_token(token), value) for token, value in alternatives)

    def _fail(self, reason: str) -> Failure:
        return Failure(make_reason(f"{self._loaded.settings.model}: {reason}"))


@cache
def _print_once(words: str) -> None:
    """Print a line on standard error, once a process."""
    unshared = (
        "what its prompts share (demonstrations, an image and its text) is computed "
        "anew for each of them"
    )
    sys.stderr.write(f"judgelake: {words}; {unshared}: slower, the replies are the same\n")


def _find_ends(loaded: Loaded) -> frozenset[int]:
    """The tokens that end a reply, as the model's generation settings and its tokenizer say."""
    named = loaded.model.generation_config.eos_token_id
    ends = named if isinstance(named, list) else [named]
    return frozenset(int(end) for end in [*ends, loaded.tokenizer.eos_token_id] if end is not None)


def _explain(question: _Question, error: Exception) -> str:
    if _is_memory(error):
        return (
            f"the memory does not take one prompt of {len(question.prompt.ids):,} tokens; "
            f"lower the dtype or shorten it"
        )
    return f"the model raised {type(error).__name__}: {error}"


def _is_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
