"""A judge of a suite: its protocol with options, and where its models are asked. What a protocol's options do is the protocol's matter."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tasks.judging.protocols import PROTOCOLS, Identity, identify_judge
from tasks.judging.types import JUDGE, Models
from tasks.metrics.registry import METRICS
from tasks.settings import Place, build, entries, nearest, read_kind

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


def expect(holds: bool, key: str, value: object, expected: str) -> None:
    """Raise the ValueError that `tasks.settings.build` puts beside the line of `key`."""
    if not holds:
        raise ValueError(f"{key}: {value}; expected {expected}")


@dataclass(frozen=True)
class EndpointSettings:
    """Where a model is asked. `api_key_variable` names an environment variable; a key itself never stands in a suite.

    `backend: replay` answers from the replies in the lake `cassette` and asks nobody. Images larger than `image_max_side` pixels are
    scaled down to it when they are sent.
    """

    backend: Literal["openai", "replay", "standin"]
    model: str = ""
    base_url: str | None = None
    api_key_variable: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    max_attempts: int = 6
    image_max_side: int = 2048
    benchmarks: tuple[str, ...] = ()
    cassette: Path | None = None

    def __post_init__(self) -> None:
        expect(self.timeout_s > 0, "timeout_s", self.timeout_s, "seconds above 0")
        expect(self.max_attempts >= 1, "max_attempts", self.max_attempts, "a whole number from 1")
        expect(self.image_max_side >= 16, "image_max_side", self.image_max_side, "pixels from 16")
        if self.backend == "standin":
            object.__setattr__(self, "model", "standin/rules")
        if (self.backend == "replay") != (self.cassette is not None):
            raise ValueError("cassette: the lake to replay; expected with `backend: replay` and only there; add or remove it")
        if not self.model:
            raise ValueError("model: missing; expected `provider/model`, such as openai/gpt-4o-mini-2024-07-18; add it")


@dataclass(frozen=True)
class JudgeSettings:
    """One judge of a suite; `others` are the endpoints of its protocol's further models, as far as the suite names them."""

    alias: str
    protocol: str
    endpoint: EndpointSettings
    options: Any
    others: Mapping[str, EndpointSettings] = field(default_factory=dict)

    @property
    def endpoints(self) -> dict[str, EndpointSettings]:
        """Endpoint name -> where it is asked, of all that the protocol has."""
        named = {name: self.others.get(name, self.endpoint) for name in PROTOCOLS[self.protocol].endpoints}
        return {JUDGE: self.endpoint, **named}

    @property
    def models(self) -> Models:
        """Endpoint name -> requested model."""
        return {name: endpoint.model for name, endpoint in self.endpoints.items()}

    def identify(self, every: tuple[str, ...]) -> Identity:
        """What the lake calls it; `every` are the suite's benchmarks, which it judges unless it names some."""
        benchmarks = self.endpoint.benchmarks or every
        return identify_judge(self.alias, self.protocol, self.options, self.models, benchmarks, self.endpoint.image_max_side)


def read_judge(alias: str, place: Place, benchmarks: Mapping[str, object]) -> JudgeSettings:
    """Read one entry of a suite's `judges`; raises SuiteError naming the line."""
    if not NAME.fullmatch(alias) or alias in METRICS:
        what = "is a metric's name" if alias in METRICS else "is no alias"
        raise place.fail(
            f"judge {alias!r} {what}; expected lower-case letters, digits, '_', '.', '-' and no metric's name; rename it"
        )
    protocol = read_kind(place, "protocol", PROTOCOLS)
    options_type, names = PROTOCOLS[protocol].options, PROTOCOLS[protocol].endpoints
    own = {part.name for part in dataclasses.fields(options_type)}
    shared = {part.name for part in dataclasses.fields(EndpointSettings)} | {"protocol", *names}
    endpoint = build(EndpointSettings, place, skip=own | {"protocol", *names})
    found = entries(place)
    for name in endpoint.benchmarks:
        if name not in benchmarks:
            raise found["benchmarks"].fail(f"benchmarks: the suite has no {name!r}; {nearest(name, benchmarks)}")
    others = {name: build(EndpointSettings, found[name], skip=("benchmarks",)) for name in names if name in found}
    judge = JudgeSettings(alias, protocol, endpoint, build(options_type, place, skip=shared), others)
    judge.identify(
        tuple(benchmarks)
    )  # so that templates, rubrics and demonstrations that cannot be read are told before anything starts
    return judge
