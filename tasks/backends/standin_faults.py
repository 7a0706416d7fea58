"""Which faults the stand-in meets a request with, and when.

A fault is drawn from the seed, the request's digest and how often that request came before, so that a repeated run meets the same
faults and a retry may pass. How a fault looks on the wire lives in `tasks.backends.standin`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from tasks.errors import BackendError

FAULT_KINDS = ("truncate", "garbage", "reset", "hang", "slow", "html", "leak", "other")
"""Half a body, half a JSON, a connection cut, no answer, a body byte by byte, a web page, a 400 with the request's headers, another model."""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which faults are met how often: `chances` maps an HTTP status or one of FAULT_KINDS to a probability."""

    chances: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def draw(self, digest: str, attempt: int) -> str | None:
        """The fault that this attempt of a request meets; attempts count from 1."""
        drawn = int.from_bytes(hashlib.sha256(f"{self.seed}:{digest}:{attempt}".encode()).digest()[:8]) / 2**64
        for fault, chance in self.chances.items():
            if drawn < chance:
                return fault
            drawn -= chance
        return None


def parse_faults(entries: list[str], seed: int) -> FaultPlan:
    """A plan from entries such as `500:0.1` and `hang:0.01`."""
    chances: dict[str, float] = {}
    for entry in entries:
        kind, _, chance = entry.partition(":")
        known = kind in FAULT_KINDS or (kind.isdecimal() and 400 <= int(kind) <= 599)
        if not known or not chance.replace(".", "", 1).isdecimal():
            raise BackendError(
                f"--fault: {entry!r} is no fault; expected STATUS:PROBABILITY or one of {FAULT_KINDS} in the place of STATUS"
            )
        chances[kind] = chances.get(kind, 0.0) + float(chance)
    if sum(chances.values()) > 1 + 1e-9:
        raise BackendError(f"--fault: the probabilities sum to {sum(chances.values()):g}; expected at most 1; lower some")
    return FaultPlan(chances, seed)
