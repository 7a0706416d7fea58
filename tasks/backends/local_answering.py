"""Requests to a loaded model, a round at a time: prompts made, planned into batches, run; a batch too large for the memory in halves.

Imports torch: only what runs a model imports this module.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch

from tasks.backends.base import make_reason
from tasks.backends.digest import request_digest
from tasks.backends.local_batches import Asked, Batch, Rules, plan_batches
from tasks.backends.local_caches import CacheKind
from tasks.backends.local_decoding import Continuing, Stopped, Wanted, Written, write_replies
from tasks.backends.local_loading import Loaded
from tasks.backends.local_models import Decoder, EncoderDecoder
from tasks.backends.local_prompts import Prompt, Prompter, Speller
from tasks.backends.transformers_local import Job
from tasks.digests import digest_json
from tasks.judging.types import Failure, Image, Reply, Request, TokenLogprobs


class _Speed(NamedTuple):
    """What a forward pass costs before its first token, in tokens, and beyond how many it gains nothing from more."""

    overhead: int
    pass_tokens: int


_CPU = _Speed(128, 2_048)
"""A pass reads the weights; what it computes on the way should stay in the processor's cache."""
_GPU = _Speed(2_048, 1 << 30)
"""A pass reads the weights and starts hundreds of kernels."""


@dataclass(frozen=True)
class _Question:
    """A request made ready."""

    job: Job
    prompt: Prompt
    wanted: Wanted


class Runner(Protocol):
    """A model with its way from prompts to a batch in the middle of its replies."""

    caches: CacheKind

    def begin(self, prompts: Sequence[Prompt], shared: Sequence[int], room: int) -> tuple[torch.Tensor, Continuing]:
        """Logits (rows, vocabulary) of the replies' first tokens, and the batch to go on with for `room` tokens."""

    def score(self, prompts: Sequence[Prompt], shared: Sequence[int]) -> list[list[float]]:
        """The log-probabilities of each prompt's scored tokens."""

    def forget(self) -> None:
        """Give up all that is kept for later batches."""


class Answerer:
    """One loaded model and what it keeps from round to round."""

    def __init__(self, loaded: Loaded, encode_image: Callable[[Image], str], is_stopping: Callable[[], bool]) -> None:
        self._loaded, self._is_stopping = loaded, is_stopping
        self._batch_tokens = loaded.settings.batch_tokens
        self._prompter, self._speller = Prompter(loaded, encode_image), Speller(loaded.tokenizer)
        self._ends = _find_ends(loaded)
        self._runner: Runner = EncoderDecoder(loaded) if loaded.kind == "seq2seq" else Decoder(loaded, self._batch_tokens)

    def answer(self, jobs: Sequence[Job]) -> None:
        """Answer all of them; those that cannot be asked get a Failure. Ends early, without outcomes, once the backend is closed."""
        ready = [one for one in map(self._prepare, jobs) if one is not None]
        kinds = ([one for one in ready if one.prompt.scored], [one for one in ready if not one.prompt.scored])
        for questions in kinds:
            for batch in self._plan(questions):
                try:
                    self._run([questions[row] for row in batch.rows], batch)
                except Stopped:
                    return

    def _plan(self, questions: Sequence[_Question]) -> list[Batch]:
        speed, caches = _CPU if self._loaded.device.type == "cpu" else _GPU, self._runner.caches
        asked = [Asked(one.prompt.key, one.wanted.most, 1 + len(one.prompt.scored), one.prompt.images_end) for one in questions]
        return plan_batches(asked, Rules(self._batch_tokens, *speed, caches.shares, caches.window))

    def _prepare(self, job: Job) -> _Question | None:
        request = job.request
        try:
            prompt = self._prompter.make(request)
            wanted = self._want(request, len(prompt.ids))
        except Exception as error:  # a template's, a tokenizer's, a processor's
            job.finish(self._fail(f"the request cannot be asked: {error}"))
            return None
        return _Question(job, prompt, wanted)

    def _want(self, request: Request, n_prompt: int) -> Wanted:
        """How the reply is drawn: what a request leaves open is as the model's own generation settings say."""
        decoding, own = request.decoding, self._loaded.model.generation_config
        most = 0 if request.scored else decoding.max_tokens
        if self._loaded.kind != "seq2seq":
            if n_prompt + min(most, 1) > self._loaded.limit:
                raise ValueError(
                    f"the prompt has {n_prompt:,} tokens; expected fewer than the {self._loaded.limit:,} that the model takes"
                )
            most = min(most, self._loaded.limit - n_prompt)
        temperature, top_p = decoding.temperature, decoding.top_p
        if temperature is None:
            temperature = (1.0 if own.temperature is None else float(own.temperature)) if own.do_sample else 0.0
            top_p = own.top_p if top_p is None else top_p
        seed = int(digest_json([request_digest(request), request.draw])[:16], 16)
        return Wanted(most, decoding.top_logprobs, temperature, 1.0 if top_p is None else top_p, np.random.default_rng(seed))

    def _run(self, questions: list[_Question], batch: Batch) -> None:
        """Run a batch, in halves where the memory does not take it; raises Stopped."""
        if self._is_stopping():
            raise Stopped
        questions = [one for one in questions if not one.job.future.cancelled()]
        if not questions:
            return
        try:
            replies = self._compute(questions, batch)
        except Stopped:
            raise
        except Exception as error:  # whatever a model's code raises
            self._mend(questions, batch, error)
            return
        for one, reply in zip(questions, replies, strict=True):
            one.job.finish(reply)

    def _mend(self, questions: list[_Question], batch: Batch, error: Exception) -> None:
        """Run a batch that failed in halves, where it was too large for the memory and can be parted; raises Stopped."""
        if not _is_memory(error) or len(questions) == 1:
            too_long = (
                f"the memory does not take one prompt of {len(questions[0].prompt.ids):,} tokens; lower the dtype or shorten it"
            )
            reason = too_long if _is_memory(error) else f"the model raised {type(error).__name__}: {error}"
            for one in questions:
                one.job.finish(self._fail(reason))
            return
        self._runner.forget()
        tokens = max(len(one.prompt.ids) + one.wanted.most for one in questions) * len(questions)
        self._batch_tokens = max(1, min(self._batch_tokens, tokens // 2))
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        half = (len(questions) + 1) // 2
        self._run(questions[:half], batch)
        self._run(questions[half:], batch)

    def _compute(self, questions: Sequence[_Question], batch: Batch) -> list[Reply]:
        prompts, wanted = [one.prompt for one in questions], [one.wanted for one in questions]
        if prompts[0].scored:
            written = [_list_scores(*pair) for pair in zip(prompts, self._runner.score(prompts, batch.shared), strict=True)]
        else:
            logits, running = self._runner.begin(prompts, batch.shared, max(one.most for one in wanted))
            written = write_replies(logits, running, wanted, self._ends, self._is_stopping)
        return [self._make_reply(*pair) for pair in zip(questions, written, strict=True)]

    def _make_reply(self, question: _Question, written: Written) -> Reply:
        return Reply(
            text=self._speller.spell(written.ids),
            finish_reason=written.finish_reason,
            top_logprobs=tuple(self._spell_alternatives(one) for one in written.top),
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


def _list_scores(prompt: Prompt, values: Sequence[float]) -> Written:
    """The scored tokens with their log-probabilities, as a reply without text."""
    tokens = prompt.scored[len(prompt.scored) - len(values) :]
    return Written([], [[pair] for pair in zip(tokens, values, strict=True)], "stop")


def _find_ends(loaded: Loaded) -> frozenset[int]:
    """The tokens that end a reply, as the model's generation settings and its tokenizer say."""
    named = loaded.model.generation_config.eos_token_id
    ends = named if isinstance(named, list) else [named]
    return frozenset(int(one) for one in [*ends, loaded.tokenizer.eos_token_id] if one is not None)


def _is_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
