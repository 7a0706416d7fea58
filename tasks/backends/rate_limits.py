"""What an endpoint tells of its limits in `x-ratelimit-*` headers, as a bucket that refills: how long to wait so as not to be refused.

Sending is `tasks.backends.openai_api`.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|$)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}


_LONGEST_WAIT_S = 120.0
"""Beyond this the endpoint may say so itself."""


class Allowances:
    """Limits of requests and of tokens together, by the endpoint's last word; nothing waits where it says nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._requests, self._tokens = Allowance("requests", clock), Allowance("tokens", clock)
        self._mean_tokens = 0.0

    def learn_cost(self, tokens: int) -> None:
        """Take the tokens of a reply, its prompt's among them, into the running mean."""
        self._mean_tokens += (tokens - self._mean_tokens) * (0.05 if self._mean_tokens else 1.0)

    def note(self, headers: Mapping[str, str], number: int, n_sent: int) -> None:
        """Take the headers of the answer to request `number`, when `n_sent` had gone out."""
        self._requests.note(headers, number, n_sent, 1.0)
        self._tokens.note(headers, number, n_sent, self._mean_tokens)

    async def admit(self) -> None:
        """Returns when a request of the usual cost fits."""
        wait = max(self._requests.wait_s(1.0), self._tokens.wait_s(self._mean_tokens))
        self._requests.spend(1.0)
        self._tokens.spend(self._mean_tokens)
        if 0 < wait <= _LONGEST_WAIT_S:
            await asyncio.sleep(wait)


class Allowance:
    """What is left of one limit (`requests` or `tokens`), refilled since at the rate that the endpoint's words imply.

    The rate is (limit - remaining) ÷ reset: the headers name the time until the bucket is full again, a minute's or a day's alike.
    """

    def __init__(self, kind: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._kind, self._clock = kind, clock
        self._number, self._left, self._rate, self._at_s = 0, 0.0, 0.0, 0.0

    def note(self, headers: Mapping[str, str], number: int, n_sent: int, cost: float) -> None:
        """Take the headers of the answer to request `number`; since then `n_sent - number` more went out, each at about `cost`."""
        names = ("limit", "remaining", "reset")
        limit, remaining, reset_s = (read_duration(headers.get(f"x-ratelimit-{name}-{self._kind}")) for name in names)
        if number < self._number or limit is None or remaining is None or not reset_s or limit <= remaining:
            return
        self._number, self._at_s, self._rate = number, self._clock(), (limit - remaining) / reset_s
        self._left = remaining - (n_sent - number) * cost

    def wait_s(self, cost: float) -> float:
        """Seconds until a request at `cost` fits; 0 where nothing is known."""
        if not self._rate:
            return 0.0
        left = self._left + (self._clock() - self._at_s) * self._rate
        return max(0.0, (cost - left) / self._rate)

    def spend(self, cost: float) -> None:
        """A request at `cost` goes out."""
        self._left -= cost


def read_duration(text: str | None) -> float | None:
    """Seconds of `6m0s`, `20ms`, `1.5s`, or a plain number as it is; None for anything else."""
    parts = _PART.findall(text or "")
    if not text or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
