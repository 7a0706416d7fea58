"""The budget of a run: a request is admitted only where the money is enough for its highest
possible cost, else it is left for a later run.

Shards of a run share the budget through small files in its work folder: what each has spent and
what it may still spend. The cost of a reply is `tasks.backends.prices`.
"""

import asyncio
import contextlib
import json
from collections.abc import Mapping

from judgelake.tasks.backends.base import Backend
from judgelake.tasks.backends.prices import Price, find_listed
from judgelake.tasks.backends.tokens import CHARS_PER_TOKEN, count_characters, guess_image_tokens
from judgelake.tasks.errors import LakeError
from judgelake.tasks.lake.storage import LakePath, list_files, read_file, write_whole
from judgelake.tasks.types import QUEUED, Failure, Pending, Reply, Request

OVER_BUDGET = Pending("over budget")
_CAUTION = 4 / 3
"""Factor on the guessed length of the first prompts, as long as none is measured."""
_ENOUGH = 20
"""Replies after which the prompts' counted tokens replace that factor."""
_SUFFIX = ".budget.json"


class Budget:
    """One shard's part of a run's budget. `reached`: a request did not fit. `share` is 1 divided by
    the number of shards that run at the same time.
    """

    def __init__(self, budget_usd: float, cases_file: LakePath, share: float = 1.0) -> None:
        self.reached = False
        self._file, self._budget_usd, self._share = (
            cases_file.with_suffix(_SUFFIX),
            budget_usd,
            share,
        )
        self._spent = _read(self._file)["spent"]  # by an attempt of this shard that was killed
        self._in_flight = 0.0
        self._settled = asyncio.Event()
        self._limit = 0.0
        self._renew()

    async def admit(self, most_usd: float) -> bool:
        """Wait until a request that may cost `most_usd` fits; False where it will not. What is free
        always fits.
        """
        while most_usd > 0 and self._spent + self._in_flight + most_usd > self._limit:
            if self._in_flight == 0 and (self.reached or not self._renew(most_usd)):
                self.reached = True
                return False
            if self._in_flight > 0:
                self._settled.clear()
                await self._settled.wait()
        self._in_flight += most_usd
        return True

    def settle(self, most_usd: float, cost_usd: float) -> None:
        """A request that was admitted is over and cost this much."""
        self._in_flight -= most_usd
        if abs(self._in_flight) < 1e-12:  # a rounding error of the additions and subtractions
            self._in_flight = 0.0
        self._spent += cost_usd
        self._settled.set()

    def close(self) -> None:
        """Give the rest of this shard's part to the run's other shards."""
        self._limit = self._spent
        self.save()

    def save(self) -> None:
        """Write this shard's part for the run's other shards."""
        part = {"spent": self._spent, "reserved": max(self._limit, self._spent)}
        with contextlib.suppress(LakeError):  # a full disk: the ledger reports it
            write_whole(self._file, json.dumps(part).encode())

    def _renew(self, wanted_usd: float = 0.0) -> bool:
        """Take this shard's share of the money that is left; returns whether `wanted_usd` then
        fits.
        """
        others = sum(
            _read(file)["reserved"]
            for file in list_files(self._file.parent, _SUFFIX)
            if file != self._file
        )
        left = max(0.0, self._budget_usd - others - self._spent)
        self._limit = self._spent + self._share * left
        self.save()
        return self._spent + wanted_usd <= self._limit


class BudgetedBackend:
    """A backend whose requests are admitted by a budget first; those that do not fit are
    pending.
    """

    def __init__(
        self,
        backend: Backend,
        budget: Budget,
        prices: Mapping[str, Price | None],
        image_max_side: int,
    ) -> None:
        self.window = backend.window
        self._backend, self._budget, self._prices = backend, budget, prices
        self._side = float(image_max_side)
        self._guessed = self._counted = 0.0
        self._n_counted = 0

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The backend's reply, or pending where it could pass the budget."""
        price = self._prices[request.endpoint]
        guessed = self._guess_prompt(request)
        most = (
            0.0 if price is None else price.cost_usd(guessed * self._caution, request.most_tokens)
        )
        if not await self._budget.admit(most):
            return OVER_BUDGET
        cost: float | None = 0.0
        try:
            reply = await self._backend.reply(request)
            if isinstance(reply, Reply):
                cost = None if price is None else price.of(reply)
                self._learn(guessed, reply.prompt_tokens)
            elif reply == QUEUED:
                cost = None
            return reply
        # a reply whose tokens are not counted, or counted only in a later run, is charged at its
        # highest possible cost
        finally:
            self._budget.settle(most, most if cost is None else cost)

    async def close(self) -> None:
        """Close the backend and write what was spent."""
        self._budget.close()
        await self._backend.close()

    @property
    def _caution(self) -> float:
        return self._counted / self._guessed if self._n_counted >= _ENOUGH else _CAUTION

    def _guess_prompt(self, request: Request) -> float:
        listed = find_listed(request.model)
        images = guess_image_tokens(
            request, listed.image if listed else (), lambda _: (self._side, self._side)
        )
        return count_characters(request) / CHARS_PER_TOKEN + images

    def _learn(self, guessed: float, counted: int | None) -> None:
        if counted is not None:
            self._guessed, self._counted, self._n_counted = (
                self._guessed + guessed,
                self._counted + counted,
                self._n_counted + 1,
            )


def _read(file: LakePath) -> dict[str, float]:
    content = read_file(file)
    return {"spent": 0.0, "reserved": 0.0} if content is None else dict(json.loads(content))
