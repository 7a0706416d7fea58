"""Several models behind one judge: each request goes to the endpoint that it names. What an endpoint does is its own backend's matter."""

from collections.abc import Mapping

from tasks.backends.base import Backend, Batching, Limited
from tasks.backends.first_contact import FirstContact
from tasks.judging.types import Failure, Pending, Reply, Request


class RoutingBackend:
    """Backends by endpoint name; names that share a backend share its limits."""

    def __init__(self, backends: Mapping[str, Backend]) -> None:
        self._backends = backends
        self.window = max(backend.window for backend in backends.values())

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        """The reply of the endpoint that the request names."""
        return await self._backends[request.endpoint].reply(request)

    @property
    def refusal(self) -> str:
        """The words of an endpoint that takes no request, '' where each takes some."""
        return next((one.refusal for one in self._each() if isinstance(one, FirstContact) and one.refusal), "")

    def set_limits(self, concurrency: int, requests_per_minute: float | None) -> None:
        """Tells each endpoint that is asked live its share of the run's limits."""
        for backend in self._each():
            if isinstance(backend, Limited):
                backend.set_limits(concurrency, requests_per_minute)

    async def submit(self) -> None:
        """Sends what waits for a batch."""
        for backend in self._each():
            if isinstance(backend, Batching):
                await backend.submit()

    async def close(self) -> None:
        """Closes each backend once."""
        for backend in self._each():
            await backend.close()

    def _each(self) -> list[Backend]:
        return list({id(backend): backend for backend in self._backends.values()}.values())
