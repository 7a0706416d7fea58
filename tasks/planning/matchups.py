"""Draws which pairs of an item's answers are compared, where not all are: by a seed, balanced over
models; later draws only add pairs.

Reads and writes nothing; `tasks.planning.cases` keeps the drawn pairs.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

Pair = tuple[str, str]
Models = Mapping[str, str]


def draw_matchups(
    candidates: Mapping[str, Sequence[Pair]],
    drawn: Mapping[str, Sequence[Pair]],
    models: Models,
    k: int,
    seed: int,
) -> dict[str, list[Pair]]:
    """New pairs for each item, so that with those `drawn` earlier it has k of its `candidates` (all
    where there are fewer).

    Models are compared equally often, as far as possible: first within an item, then over all
    items; then pairs of models are. `candidates` are pairs of answer ids (a < b), `models` maps an
    answer id to its model. A model that was added after items had their k pairs gets pairs beyond
    k: as many as if k were spread over all present models. A second draw from the same input
    returns nothing.
    """
    rng = np.random.default_rng(seed)
    draw = _Draw(models, (pair for pairs in drawn.values() for pair in pairs))
    new_pairs: dict[str, list[Pair]] = {}
    for item in sorted(candidates):
        match = _Item(candidates[item], drawn.get(item, ()), draw)
        draw.add_shares(match, k)
        chosen = match.choose(
            k - len(match.held),
            dict(zip(match.answers, rng.random(len(match.answers)).tolist(), strict=True)),
        )
        if chosen:
            new_pairs[item] = chosen
    for model in draw.find_latecomers():
        _catch_up(model, candidates, drawn, new_pairs, draw, rng)
    return new_pairs


class _ModelOf(dict[str, str]):
    """Answer -> model; an answer without a known model counts as a model of its own."""

    def __missing__(self, answer: str) -> str:
        return answer


class _Draw:
    """Counts over all items: how often each model, and each pair of models, is compared. `shares`:
    how often each model should be.
    """

    def __init__(self, models: Models, pairs: Iterable[Pair]) -> None:
        self.model_of = _ModelOf(models)
        self.models: Counter[str] = Counter()
        self.pairs: Counter[Pair] = Counter()
        self.shares: dict[str, float] = {}
        for pair in pairs:
            self.count(pair)

    def count(self, pair: Pair) -> None:
        """Count one more comparison."""
        a, b = self.model_of[pair[0]], self.model_of[pair[1]]
        self.models[a] += 1
        self.models[b] += 1
        self.pairs[min(a, b), max(a, b)] += 1

    def met(self, answer: str, other: str) -> int:
        """How often the models of two answers were compared."""
        a, b = self.model_of[answer], self.model_of[other]
        return self.pairs[min(a, b), max(a, b)]

    def add_shares(self, item: "_Item", k: int) -> None:
        """Add an even share of an item's k pairs to each of its models, at most the pairs that it
        has.
        """
        possible = Counter[str]()
        for answer, pairs in item.possible.items():
            possible[self.model_of[answer]] += pairs
        share = 2 * min(k, len(item.pairs)) / max(1, len(possible))
        for model, most in possible.items():
            self.shares[model] = self.shares.get(model, 0) + min(share, most)

    def find_latecomers(self) -> list[str]:
        """Models with less than half of their share; so few has only a model that was added after
        the first draw.
        """
        return sorted(
            model for model, share in self.shares.items() if self.models[model] < share / 2
        )


class _Item:
    """One item's answers and pairs: `held` are drawn, `free` can still be drawn."""

    def __init__(self, pairs: Sequence[Pair], held: Sequence[Pair], draw: _Draw) -> None:
        self.draw, self.pairs, self.held = draw, pairs, set(held)
        self.possible = Counter(chain.from_iterable(pairs))
        self.answers = sorted(self.possible)
        self.free: dict[str, set[str]] = {answer: set() for answer in self.answers}
        for a, b in pairs:
            if (a, b) not in self.held:
                self.free[a].add(b)
                self.free[b].add(a)
        self.of_answers = Counter(answer for pair in held for answer in pair)
        self.of_models = Counter(draw.model_of[answer] for pair in held for answer in pair)

    def choose(self, n: int, lot: Mapping[str, float]) -> list[Pair]:
        """Draw n free pairs; `lot`, a random number for each answer, breaks ties."""
        n = min(n, sum(map(len, self.free.values())) // 2)
        chosen = (
            [self.take(a, b) for a, b in self._realise(self._spread(2 * n, lot), lot)]
            if n > 0
            else []
        )
        while len(chosen) < n:  # the free pairs do not admit these degrees
            left = ((a, b) for a in self.answers for b in self.free[a] if a < b)
            chosen.append(
                self.take(
                    *min(
                        left,
                        key=lambda pair: (
                            *sorted(map(self._burden, pair), reverse=True),
                            lot[pair[0]],
                        ),
                    )
                )
            )
        return chosen

    def choose_for(self, model: str) -> Pair | None:
        """Draw a free pair of one model, against the opponent compared least; None where there is
        no free pair.
        """
        own = (answer for answer in self.answers if self.draw.model_of[answer] == model)
        options = [(answer, other) for answer in own for other in self.free[answer]]
        if not options:
            return None
        return self.take(
            *min(options, key=lambda pair: (self._burden(pair[1]), self.draw.met(*pair), pair))
        )

    def take(self, a: str, b: str) -> Pair:
        """Draw a free pair."""
        self.free[a].discard(b)
        self.free[b].discard(a)
        pair = (min(a, b), max(a, b))
        self.held.add(pair)
        self.draw.count(pair)
        for answer in pair:
            self.of_answers[answer] += 1
            self.of_models[self.draw.model_of[answer]] += 1
        return pair

    def _burden(self, answer: str) -> tuple[int, int, int]:
        """How often these are compared: the answer's model in the item, the answer itself, and the
        model over all items.
        """
        model = self.draw.model_of[answer]
        return self.of_models[model], self.of_answers[answer], self.draw.models[model]

    def _spread(self, places: int, lot: Mapping[str, float]) -> dict[str, int]:
        """How often each answer is to be drawn: each of the `places` goes to the answer compared
        least that has a free opponent left.
        """
        degrees, of_model = dict.fromkeys(self.answers, 0), Counter[str]()

        def rank(answer: str) -> tuple[int, int, int, float, str]:
            model, (in_item, own, everywhere) = self.draw.model_of[answer], self._burden(answer)
            added = of_model[model]
            return in_item + added, own + degrees[answer], everywhere + added, lot[answer], answer

        queue = [rank(answer) for answer in self.answers if self.free[answer]]
        heapq.heapify(queue)
        while places and queue:
            answer = queue[0][-1]
            if queue[0] != (
                now := rank(answer)
            ):  # another answer of its model got a place meanwhile
                heapq.heapreplace(queue, now)
                continue
            degrees[answer] += 1
            of_model[self.draw.model_of[answer]] += 1
            places -= 1
            if degrees[answer] < len(self.free[answer]):
                heapq.heapreplace(queue, rank(answer))
            else:
                heapq.heappop(queue)
        return degrees

    def _realise(self, degrees: dict[str, int], lot: Mapping[str, float]) -> list[Pair]:
        """Free pairs in which each answer occurs as often as `degrees` says: the answer with the
        most places left is paired with those that have the next most (Havel 1955, Hakimi 1962).

        Of opponents with equally many places, those whose models it met least often come first.
        """
        pairs: set[Pair] = set()
        left: list[str] = []
        open_ = {answer for answer in self.answers if degrees[answer]}
        while open_:
            answer = max(open_, key=lambda node: (degrees[node], lot[node]))
            open_.discard(answer)
            needy = open_ & self.free[answer]
            ranked = sorted(
                needy, key=lambda node: (-degrees[node], self.draw.met(answer, node), lot[node])
            )
            for other in ranked[: degrees[answer]]:
                pairs.add((min(answer, other), max(answer, other)))
                degrees[other] -= 1
                if not degrees[other]:
                    open_.discard(other)
            left += [answer] * (degrees[answer] - len(ranked))
        for x, y in zip(left[::2], left[1::2], strict=False):
            self._exchange(pairs, x, y)
        return sorted(pairs)

    def _exchange(self, pairs: set[Pair], x: str, y: str) -> None:
        """Give one more pair to x and one to y, which cannot be paired with each other: a pair
        (u, v) is replaced by (x, u) and (y, v), or by (x, v) and (y, u).
        """
        for u, v in sorted(pairs):
            for end, other_end in ((u, v), (v, u)):
                new = {(min(x, end), max(x, end)), (min(y, other_end), max(y, other_end))}
                if (
                    end in self.free[x]
                    and other_end in self.free[y]
                    and len(new) == 2
                    and not new & pairs
                ):
                    pairs.discard((u, v))
                    pairs |= new
                    return


def _catch_up(
    model: str,
    candidates: Mapping[str, Sequence[Pair]],
    drawn: Mapping[str, Sequence[Pair]],
    new_pairs: dict[str, list[Pair]],
    draw: _Draw,
    rng: np.random.Generator,
) -> None:
    """Add pairs of a model to `new_pairs` until it has its share: in the items where it has fewest,
    against the opponents compared least.
    """

    def held(item: str) -> list[Pair]:
        return [*drawn.get(item, ()), *new_pairs.get(item, ())]

    def count(item: str) -> int:
        return sum(draw.model_of[answer] == model for pair in held(item) for answer in pair)

    lots = zip(sorted(candidates), rng.random(len(candidates)).tolist(), strict=True)
    queue = [(count(item), lot, item) for item, lot in lots]
    heapq.heapify(queue)
    owed = math.floor(draw.shares[model]) - draw.models[model]
    while queue and owed > 0:
        _, lot, item = heapq.heappop(queue)
        pair = _Item(candidates[item], held(item), draw).choose_for(model)
        if pair is not None:
            new_pairs.setdefault(item, []).append(pair)
            heapq.heappush(queue, (count(item), lot, item))
            owed -= 1
