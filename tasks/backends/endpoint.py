"""Where a model is asked: what the settings of every backend have, and what a kind of backend is.

Each backend's settings and how it is made are its own file's; which there are is
`tasks.backends.registry`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self

from judgelake.tasks.backends.base import Backend
from judgelake.tasks.backends.image_encoding import ImageEncoder
from judgelake.tasks.backends.prices import FREE, Price
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.lake.storage import LakePath
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.types import AnswerForm, Reply

Slot = Literal["ENDPOINT", "GPU"]
"""What a worker must have to ask: a share of the endpoints' limits, or a model in its process."""
ONE_EACH: Mapping[Slot, int] = MappingProxyType({"ENDPOINT": 1, "GPU": 1})
"""One slot of each kind."""
LIVE_LATENCY_S, OWN_LATENCY_S = 1.0, 0.05
"""How long a reply is guessed to take at an endpoint, and on this machine, before any has come."""
OF_THE_JUDGE = ("benchmarks", "on_unreadable", "needs", "keep_logprobs")
"""Settings of a judge as a whole, which none of its further models has."""


def expect(holds: bool, key: str, value: object, expected: str) -> None:
    """Raise the ValueError that `tasks.settings.build` puts beside the line of `key`."""
    if not holds:
        raise ValueError(f"{key}: {value}; expected {expected}")


@frozen_settings
class EndpointSettings:
    """Where a model is asked. Images larger than `image_max_side` pixels are scaled down to it when
    they are sent. `benchmarks`: those that the judge is for; by default all. `on_unreadable`: what
    happens where most of the first 20 replies cannot be read: `stop` pauses the judge, `go on` asks
    everything. `needs`: packages (by the names that Python imports) without which the judge is left
    out and named. `keep_logprobs`: whether the alternatives of each token are stored, or those of
    the places where an answer may stand.

    A backend's own settings say the rest: the `slot` that its shards need, what signs a model that
    runs in the worker, what it costs, what a worker must reach.
    """

    backend: ClassVar[str] = ""
    slot: ClassVar[Slot] = "ENDPOINT"
    usual_latency_s: ClassVar[float] = OWN_LATENCY_S
    needs_standin: ClassVar[bool] = False

    model: str = ""
    image_max_side: int = 2048
    benchmarks: tuple[str, ...] = ()
    on_unreadable: Literal["stop", "go on"] = "stop"
    needs: tuple[str, ...] = ()
    keep_logprobs: Literal["used", "all"] = "used"

    def __post_init__(self) -> None:
        expect(self.image_max_side >= 16, "image_max_side", self.image_max_side, "pixels from 16")
        if not self.model:
            raise ValueError(
                "model: missing; expected `provider/model`, such as "
                "openai/gpt-4o-mini-2024-07-18; add it"
            )

    @property
    def known_price(self) -> Price | None:
        """What a token costs; None: not known."""
        return FREE

    def find_form(self, wanted: AnswerForm) -> AnswerForm:
        """The form in which answers are asked for here, where a judge wants this one."""
        return wanted

    @property
    def host(self) -> str:
        """The provider's host, as a price list or a message names it."""
        return self.backend

    @property
    def longest_wait_s(self) -> float:
        """How many seconds a run waits for replies that a provider gives later."""
        return 0.0

    @property
    def live(self) -> Self:
        """The same endpoint, asked so that replies come at once."""
        return self

    @property
    def paths(self) -> tuple[Path, ...]:
        """Files and folders that a worker must reach."""
        return ()

    def sign(self) -> Mapping[str, object]:
        """What a judge's call signature holds beside the model's name."""
        return {}

    def probe(self) -> list[str]:
        """Reasons why this process cannot ask the endpoint, one a line; a key is never shown."""
        return []


@dataclass(frozen=True)
class BackendOrder:
    """What a backend is made with, beside its settings.

    `name`: which of the judge's endpoints it is. `concurrency` and `requests_per_minute` are the
    suite's limits, `share` is what this shard may use of them now. `contact_file` is where the
    run's shards say how the first request went; `standin` the address of the run's own stand-in.
    `read_replies` gives the stored replies of a lake, by request digest and draw.
    """

    name: str
    lake: Lake
    judge_id: str
    run_id: str
    encoder: ImageEncoder
    concurrency: int
    requests_per_minute: float | None
    share: tuple[int, float | None]
    contact_file: LakePath
    standin: str | None
    read_replies: Callable[[LakePath], Mapping[tuple[str, int], Reply]]


@dataclass(frozen=True)
class BackendKind:
    """One kind of backend, by its name in a suite: its settings, and how a backend is made of them.
    Heavy packages are imported by `make`, which only workers call; `client` is the module that
    imports them for live requests, if a run may import it while it waits for its server.
    """

    name: str
    settings: type[EndpointSettings]
    make: Callable[[Any, BackendOrder], Backend]
    client: str | None = None
