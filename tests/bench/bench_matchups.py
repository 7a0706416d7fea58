"""`python -m tests.bench.bench_matchups`: balanced matchups beside a draw without balance (numpy's
choice of pairs, item by item).

Prints what balance costs in time and what it gives: the largest difference of how often models are
compared, in an item and over all.
"""

import itertools
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from judgelake.tasks.planning.matchups import Pair, draw_matchups

ITEMS, MODELS = 5_000, [f"model-{number:02}" for number in range(20)]
Drawn = Mapping[str, Sequence[Pair]]


def draw_unbalanced(candidates: Drawn, k: int) -> Drawn:
    rng = np.random.default_rng(0)
    return {
        item: [pairs[at] for at in rng.choice(len(pairs), k, replace=False)]
        for item, pairs in candidates.items()
    }


def spread(pairs: Sequence[Pair]) -> int:
    counts = Counter(itertools.chain.from_iterable(pairs))
    return max(counts[model] for model in MODELS) - min(counts[model] for model in MODELS)


def print_balance(name: str, drawn: Drawn, seconds: float) -> None:
    everywhere = spread([pair for pairs in drawn.values() for pair in pairs])
    print(
        f"{name:44} {seconds:6.2f} s   in an item {max(map(spread, drawn.values())):3}   over "
        f"all {everywhere:5}"
    )


def main() -> None:
    candidates = {
        f"item-{number}": list(itertools.combinations(MODELS, 2)) for number in range(ITEMS)
    }
    before = {item: list(itertools.combinations(MODELS[:-1], 2)) for item in candidates}
    own = {model: model for model in MODELS}
    for k in (25, 50):
        start = time.process_time()
        peer = draw_unbalanced(candidates, k)
        print_balance(f"{k} of 190, numpy's choice", peer, time.process_time() - start)
        start = time.process_time()
        drawn = draw_matchups(candidates, {}, own, k, 0)
        print_balance(f"{k} of 190, balanced", drawn, time.process_time() - start)
    first = draw_matchups(before, {}, own, 25, 0)
    start = time.process_time()
    added = draw_matchups(candidates, first, own, 25, 0)
    print_balance(
        "25 of 171 and then a twentieth model",
        {item: [*first[item], *added.get(item, [])] for item in first},
        time.process_time() - start,
    )


if __name__ == "__main__":
    main()
