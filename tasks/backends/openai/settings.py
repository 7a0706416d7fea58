"""Settings of OpenAI-compatible endpoints, live and in batches, and of the run's own stand-in."""

import dataclasses
from typing import ClassVar, Literal, Self

from judgelake.tasks.backends.base import Backend, FirstContact
from judgelake.tasks.backends.endpoint import (
    LIVE_LATENCY_S,
    BackendKind,
    BackendOrder,
    EndpointSettings,
    expect,
)
from judgelake.tasks.backends.openai.holding import BY_SCHEMA, Constraint, Holding, Prefill
from judgelake.tasks.backends.prices import BATCH_SHARE, Price, find_host, find_price
from judgelake.tasks.digests import digest_json
from judgelake.tasks.errors import JudgelakeError
from judgelake.tasks.lake.stop_flag import StopFlag
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.types import AnswerForm


@frozen_settings
class StandinSettings(EndpointSettings):
    """The stand-in endpoint that a run starts for itself: it answers by written rules, costs
    nothing and needs no network.
    """

    backend: ClassVar[str] = "standin"
    needs_standin: ClassVar[bool] = True

    timeout_s: float = 120.0
    max_attempts: int = 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", "standin/rules")
        super().__post_init__()
        _check_patience(self.timeout_s, self.max_attempts)


@frozen_settings
class OpenAISettings(EndpointSettings):
    """An OpenAI-compatible endpoint. `api_key_variable` names an environment variable; a key itself
    never stands in a suite.

    `price` goes before the price table's. `mode: batch`: requests go to the provider's Batch API,
    and a later run collects the replies; a run stays `batch_wait_s` for them. `constraint` and
    `prefill` say how the endpoint holds a model to an answer (see `holding`).
    """

    backend: ClassVar[str] = "openai"
    usual_latency_s: ClassVar[float] = LIVE_LATENCY_S

    base_url: str | None = None
    api_key_variable: str = "OPENAI_API_KEY"
    timeout_s: float = 120.0
    max_attempts: int = 6
    price: Price | None = None
    mode: Literal["live", "batch"] = "live"
    batch_wait_s: float = 0.0
    constraint: Constraint = "json_schema"
    prefill: Prefill = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_patience(self.timeout_s, self.max_attempts)
        expect(self.batch_wait_s >= 0, "batch_wait_s", self.batch_wait_s, "seconds from 0")
        waits = self.mode == "batch" or self.batch_wait_s == 0
        expect(waits, "batch_wait_s", self.batch_wait_s, "it with `mode: batch` only")

    @property
    def known_price(self) -> Price | None:
        """The suite's own price, else the price table's for the host that is asked; in a batch half
        of either.
        """
        price = self.price or find_price(self.model, find_host(self.base_url))
        return price.at(BATCH_SHARE) if price and self.mode == "batch" else price

    @property
    def holding(self) -> Holding:
        """By what the endpoint holds a model to an answer."""
        return Holding(self.constraint, self.prefill)

    def find_form(self, wanted: AnswerForm) -> AnswerForm:
        """`auto` is forced where a reply can be begun, else as the model takes it."""
        return "forced" if wanted == "auto" and self.prefill != "none" else wanted

    @property
    def host(self) -> str:
        """The host that is asked."""
        return find_host(self.base_url) or str(self.base_url)

    @property
    def longest_wait_s(self) -> float:
        """How long a run stays for its batches."""
        return self.batch_wait_s

    @property
    def live(self) -> Self:
        """The endpoint asked live, at the full price, where it is asked by batch."""
        return dataclasses.replace(self, mode="live", batch_wait_s=0.0)

    def probe(self) -> list[str]:
        """Whether this process has the endpoint's key."""
        from judgelake.tasks.backends.openai.endpoints import find_endpoint

        try:
            find_endpoint(self.model, self.base_url, self.api_key_variable)
        except JudgelakeError as error:
            return [str(error)]
        return []


def _check_patience(timeout_s: float, max_attempts: int) -> None:
    expect(timeout_s > 0, "timeout_s", timeout_s, "seconds above 0")
    expect(max_attempts >= 1, "max_attempts", max_attempts, "a whole number from 1")


def _make_live(settings: OpenAISettings, order: BackendOrder) -> Backend:
    key = settings.api_key_variable
    return _ask_live(settings, order, settings.base_url, key)


def _ask_live(
    settings: OpenAISettings | StandinSettings,
    order: BackendOrder,
    base_url: str | None,
    api_key_variable: str,
) -> Backend:
    # openai takes most of a second, which planning does not need
    from judgelake.tasks.backends.openai.client import OpenAIBackend

    backend = OpenAIBackend(
        model=settings.model,
        base_url=base_url,
        api_key_variable=api_key_variable,
        concurrency=order.concurrency,
        timeout_s=settings.timeout_s,
        requests_per_minute=order.requests_per_minute,
        max_attempts=settings.max_attempts,
        encode_image=order.encoder.encode,
        has_image=order.encoder.has,
        holding=BY_SCHEMA if isinstance(settings, StandinSettings) else settings.holding,
        health_file=order.contact_file.with_name(
            f"{digest_json([base_url, settings.model])[:16]}.health"
        ),
    )
    backend.set_limits(*order.share)
    return FirstContact(backend, order.contact_file)


def _make_batch(settings: OpenAISettings, order: BackendOrder) -> Backend:
    from judgelake.tasks.backends.openai.batch import BatchBackend
    from judgelake.tasks.backends.openai.batch_book import BatchBook

    return BatchBackend(
        model=settings.model,
        book=BatchBook(order.lake, order.judge_id, order.run_id),
        base_url=settings.base_url,
        api_key_variable=settings.api_key_variable,
        endpoint=order.name,
        window=order.concurrency,
        timeout_s=settings.timeout_s,
        max_attempts=settings.max_attempts,
        encode_image=order.encoder.encode,
        holding=settings.holding,
        should_stop=StopFlag(order.lake, order.run_id).is_set,
    )


_CLIENT = "judgelake.tasks.backends.openai.client"
BACKEND = BackendKind(
    "openai",
    OpenAISettings,
    lambda settings, order: (_make_batch if settings.mode == "batch" else _make_live)(
        settings, order
    ),
    _CLIENT,
)
STANDIN = BackendKind(
    "standin",
    StandinSettings,
    lambda settings, order: _ask_live(settings, order, order.standin, "OPENAI_API_KEY"),
    _CLIENT,
)
