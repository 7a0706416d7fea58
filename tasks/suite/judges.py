"""A judge of a suite: its protocol with options, and where its models are asked. What a protocol's
options do is the protocol's matter.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from judgelake.tasks.backends.local.settings import (
    DEFAULT_BATCH_TOKENS,
    Dtype,
    LocalModel,
    Quantization,
)
from judgelake.tasks.backends.prices import BATCH_SHARE, FREE, Price, find_host, find_price
from judgelake.tasks.errors import nearest
from judgelake.tasks.judging.protocols import PROTOCOLS, identify_judge
from judgelake.tasks.metrics.registry import METRICS
from judgelake.tasks.settings import (
    NAME,
    Place,
    SuitePath,
    build,
    entries,
    frozen_settings,
    read_kind,
)
from judgelake.tasks.types import JUDGE, Identity, Models

LOCAL_KEYS = ("revision", "dtype", "device", "device_map", "quantization", "batch_tokens")
REMOTE_KEYS = ("base_url", "api_key_variable", "timeout_s", "max_attempts", "price")


def expect(holds: bool, key: str, value: object, expected: str) -> None:
    """Raise the ValueError that `tasks.settings.build` puts beside the line of `key`."""
    if not holds:
        raise ValueError(f"{key}: {value}; expected {expected}")


@frozen_settings
class EndpointSettings:
    """Where a model is asked. `api_key_variable` names an environment variable; a key itself never
    stands in a suite.

    `backend: replay` answers from the replies in the lake `cassette` and asks nobody. Images larger
    than `image_max_side` pixels are scaled down to it when they are sent. `price` goes before the
    price table's. With `backend: transformers` the model (a hub id or a folder) runs in the
    worker's own process; the keys from `revision` to `batch_tokens` are for it alone. `mode:
    batch`: requests go to the provider's Batch API, and a later run collects the replies; a run
    stays `batch_wait_s` for them.
    """

    backend: Literal["openai", "replay", "standin", "transformers"]
    model: str = ""
    base_url: str | None = None
    api_key_variable: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    max_attempts: int = 6
    image_max_side: int = 2048
    benchmarks: tuple[str, ...] = ()
    cassette: SuitePath | None = None
    price: Price | None = None
    revision: str | None = None
    dtype: Dtype = "auto"
    device: str = "auto"
    device_map: str | None = None
    quantization: Quantization | None = None
    batch_tokens: int = DEFAULT_BATCH_TOKENS
    mode: Literal["live", "batch"] = "live"
    batch_wait_s: float = 0.0

    def __post_init__(self) -> None:
        expect(self.timeout_s > 0, "timeout_s", self.timeout_s, "seconds above 0")
        expect(self.max_attempts >= 1, "max_attempts", self.max_attempts, "a whole number from 1")
        expect(self.image_max_side >= 16, "image_max_side", self.image_max_side, "pixels from 16")
        expect(self.batch_wait_s >= 0, "batch_wait_s", self.batch_wait_s, "seconds from 0")
        expect(
            self.mode == "live" or self.backend == "openai",
            "mode",
            self.mode,
            "`batch` with `backend: openai` only",
        )
        expect(
            self.mode == "batch" or self.batch_wait_s == 0,
            "batch_wait_s",
            self.batch_wait_s,
            "it with `mode: batch` only",
        )
        if self.backend == "standin":
            object.__setattr__(self, "model", "standin/rules")
        if (self.backend == "replay") != (self.cassette is not None):
            raise ValueError(
                "cassette: the lake to replay; expected with `backend: replay` and only there; "
                "add or remove it"
            )
        if not self.model:
            raise ValueError(
                "model: missing; expected `provider/model`, such as "
                "openai/gpt-4o-mini-2024-07-18; add it"
            )
        self._refuse_strangers(REMOTE_KEYS if self.is_local else LOCAL_KEYS)

    def _refuse_strangers(self, keys: tuple[str, ...]) -> None:
        """Raise ValueError where a key is set that this backend has no use for."""
        for one in dataclasses.fields(self):
            if one.name in keys and getattr(self, one.name) != one.default:
                where = (
                    "without `backend: transformers`"
                    if self.is_local
                    else "with `backend: transformers` only"
                )
                raise ValueError(
                    f"{one.name}: {getattr(self, one.name)}; expected {where}; remove it"
                )
        if self.is_local:
            _ = self.local

    @property
    def is_local(self) -> bool:
        """Whether the model runs in the worker's own process."""
        return self.backend == "transformers"

    @property
    def local(self) -> LocalModel:
        """The model that runs in the worker's own process; raises ValueError for settings that do
        not go together.
        """
        return LocalModel(
            self.model,
            self.revision,
            self.dtype,
            self.device,
            self.device_map,
            self.quantization,
            self.batch_tokens,
        )

    @property
    def known_price(self) -> Price | None:
        """The suite's own price, nothing where nobody is paid, else the price table's for the host
        that is asked; None: not known.

        In a batch it is half of either.
        """
        if self.backend != "openai":
            return FREE
        price = self.price or find_price(self.model, find_host(self.base_url))
        return price.at(BATCH_SHARE) if price and self.mode == "batch" else price


@dataclass(frozen=True)
class JudgeSettings:
    """One judge of a suite; `others` are the endpoints of its protocol's further models, as far as
    the suite names them.
    """

    alias: str
    protocol: str
    endpoint: EndpointSettings
    options: Any
    others: Mapping[str, EndpointSettings] = field(default_factory=dict)

    @property
    def endpoints(self) -> dict[str, EndpointSettings]:
        """Endpoint name -> where it is asked, of all that the protocol has."""
        named = {
            name: self.others.get(name, self.endpoint)
            for name in PROTOCOLS[self.protocol].endpoints
        }
        return {JUDGE: self.endpoint, **named}

    @property
    def prices(self) -> dict[str, Price | None]:
        """Endpoint name -> what it costs (None: not known)."""
        return {name: endpoint.known_price for name, endpoint in self.endpoints.items()}

    @property
    def runs_models(self) -> bool:
        """Whether a worker runs a model of it in its own process."""
        return any(endpoint.is_local for endpoint in self.endpoints.values())

    @property
    def models(self) -> Models:
        """Endpoint name -> requested model."""
        return {name: endpoint.model for name, endpoint in self.endpoints.items()}

    def identify(self, every: tuple[str, ...]) -> Identity:
        """What the lake calls it; `every` are the suite's benchmarks, which it judges unless it
        names some.
        """
        benchmarks = self.endpoint.benchmarks or every
        signed = {
            name: endpoint.local.sign()
            for name, endpoint in self.endpoints.items()
            if endpoint.is_local
        }
        return identify_judge(
            self.alias,
            self.protocol,
            self.options,
            self.models,
            benchmarks,
            self.endpoint.image_max_side,
            signed,
        )


def read_judge(alias: str, place: Place, benchmarks: Mapping[str, object]) -> JudgeSettings:
    """Read one entry of a suite's `judges`; raises SuiteError naming the line."""
    if not NAME.fullmatch(alias) or alias in METRICS:
        what = "is a metric's name" if alias in METRICS else "is no alias"
        raise place.fail(
            f"judge {alias!r} {what}; expected lower-case letters, digits, '_', '.', '-' and "
            f"no metric's name; rename it"
        )
    protocol = read_kind(place, "protocol", PROTOCOLS)
    options_type, names = PROTOCOLS[protocol].options, PROTOCOLS[protocol].endpoints
    own = {part.name for part in dataclasses.fields(options_type)}
    shared = {part.name for part in dataclasses.fields(EndpointSettings)} | {"protocol", *names}
    endpoint = build(EndpointSettings, place, skip=own | {"protocol", *names})
    found = entries(place)
    for name in endpoint.benchmarks:
        if name not in benchmarks:
            raise found["benchmarks"].fail(
                f"benchmarks: the suite has no {name!r}; {nearest(name, benchmarks)}"
            )
    others = {
        name: build(EndpointSettings, found[name], skip=("benchmarks",))
        for name in names
        if name in found
    }
    judge = JudgeSettings(
        alias, protocol, endpoint, build(options_type, place, skip=shared), others
    )
    # so that templates, rubrics and demonstrations that cannot be read are told before anything
    # starts
    judge.identify(tuple(benchmarks))
    return judge


def expect_prices(judges: Mapping[str, JudgeSettings], place: Place) -> None:
    """Raise the SuiteError, naming the line, where a model of `judges` (which stand at `place`) has
    no known price.
    """
    for alias, judge in judges.items():
        for name, endpoint in judge.endpoints.items():
            if endpoint.known_price is None:
                found = entries(entries(place)[alias])
                where = entries(found[name]) if name in judge.others else found
                raise where["model"].fail(
                    f"judge {alias!r}: the price of {endpoint.model!r} at "
                    f"{find_host(endpoint.base_url) or endpoint.base_url} is not "
                    "known, and limits.budget_usd needs it; expected a model of the price "
                    "table, or its price; "
                    "add `price: {input: 0.15, output: 0.60}` (USD per million tokens, 0 where "
                    "it is free)"
                )
