"""What a model costs: the dated table `tasks/backends/prices.yaml`, and the cost of a reply by its
tokens.

What an image is in tokens lives in `tasks.backends.tokens`, what a whole suite will cost in
`tasks.planning.estimate`.
"""

import functools
import math
import os
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import yaml

from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.types import Reply

_OPENAI_HOST = "api.openai.com"
_SNAPSHOT = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{3,8}|latest|preview-\d{2}-\d{2,4}(?:-\d{4})?)")
"""How a dated snapshot's name goes on after its family's: gpt-4o-2024-08-06,
claude-3-opus-20240229, mistral-large-2411.
"""


@frozen_settings
class Price:
    """USD per million tokens; `cached_input` (None: as `input`) is for the part of a prompt that
    the provider had in its cache.
    """

    input: float
    output: float
    cached_input: float | None = None

    def __post_init__(self) -> None:
        for key in ("input", "output", "cached_input"):
            value = getattr(self, key)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(
                    f"{key}: {value}; expected USD per million tokens, 0 where it is free"
                )

    def at(self, share: float) -> "Price":
        """The price at a share of it."""
        cached = None if self.cached_input is None else self.cached_input * share
        return Price(self.input * share, self.output * share, cached)

    def cost_usd(
        self, prompt_tokens: float, completion_tokens: float, cached_tokens: float = 0
    ) -> float:
        """What so many tokens cost; `cached_tokens` are among `prompt_tokens`."""
        cached = self.input if self.cached_input is None else self.cached_input
        full = prompt_tokens - cached_tokens
        return (full * self.input + cached_tokens * cached + completion_tokens * self.output) / 1e6

    def of(self, reply: Reply) -> float | None:
        """What a reply cost in USD; None where the endpoint did not count its tokens."""
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        if self == FREE:
            return 0.0
        if prompt is None or completion is None:
            return None
        return self.cost_usd(prompt, completion, min(reply.cached_tokens or 0, prompt))


FREE = Price(0.0, 0.0)
BATCH_SHARE = 0.5
"""What a reply that came by OpenAI's Batch API costs of the usual price."""


class ListedModel(NamedTuple):
    """One line of the table. `image`: a rule's name and its numbers, see `tasks.backends.tokens`;
    () where none is known.
    """

    provider: str
    name: str
    hosts: tuple[str, ...]
    price: Price
    image: tuple[Any, ...] = ()


class PriceTable(NamedTuple):
    """The whole table and the day (ISO) whose prices it has."""

    as_of: str
    models: tuple[ListedModel, ...]


@functools.cache
def read_table() -> PriceTable:
    """The table that comes with the program."""
    text = (
        resources.files("judgelake.tasks.backends")
        .joinpath("prices.yaml")
        .read_text(encoding="utf-8")
    )
    table = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # both are safe
    return PriceTable(
        str(table["as_of"]),
        tuple(
            line
            for name, provider in table["providers"].items()
            for line in _list_models(name, provider)
        ),
    )


def _list_models(provider: str, table: Mapping[str, Any]) -> list[ListedModel]:
    lines = []
    for name, values in table["models"].items():
        image = tuple(values.get("image", ()))
        price = Price(**{key: float(value) for key, value in values.items() if key != "image"})
        lines.append(ListedModel(provider, name, tuple(table["hosts"]), price, image))
    return lines


def find_price(model: str, host: str | None = None) -> Price | None:
    """The price of a model (`gpt-4o-mini`, `openai/gpt-4o-mini-2024-07-18`), with `host` only of
    the provider there; None: not known.
    """
    line = find_listed(model, host)
    return line.price if line else None


def find_listed(model: str, host: str | None = None) -> ListedModel | None:
    """The line of the table for a model: its own, else that of the family of which it is a dated
    snapshot; the longest name wins.
    """
    fitting = [
        line
        for line in read_table().models
        if (host is None or host in line.hosts) and _is_named(line, model)
    ]
    return max(fitting, key=lambda line: len(line.name), default=None)


def _is_named(line: ListedModel, model: str) -> bool:
    provider, _, rest = model.partition("/")
    name = rest if rest and provider == line.provider else model
    return name == line.name or (
        name.startswith(line.name) and _SNAPSHOT.fullmatch(name[len(line.name) :]) is not None
    )


def find_host(base_url: str | None) -> str:
    """The host that an endpoint with this `base_url` is asked at; without one the environment's,
    else OpenAI's.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    try:
        return (urlsplit(url).hostname or "") if url else _OPENAI_HOST
    except ValueError:  # no address; the backend says so when it is asked
        return ""
