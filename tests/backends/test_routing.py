import asyncio

from judgelake.tasks.backends.base import RoutingBackend
from judgelake.tasks.types import Failure, Message, Pending, Reply, Request


class Named:
    """Answers with its name and counts its ends."""

    def __init__(self, name: str, window: int) -> None:
        self.name, self.window, self.n_closed = name, window, 0

    async def reply(self, request: Request) -> Reply | Failure | Pending:
        return Reply(f"{self.name} heard {request.messages[0].text}")

    async def close(self) -> None:
        self.n_closed += 1


def test_each_request_goes_to_the_endpoint_it_names_and_each_backend_is_closed_once() -> None:
    text, vision = Named("text", 4), Named("vision", 9)
    backend = RoutingBackend({"judge": text, "extractor": text, "vlm": vision})

    async def ask() -> list[object]:
        requests = [
            Request("m", (Message("user", "hi"),), endpoint=name)
            for name in ("judge", "vlm", "extractor")
        ]
        replies = [await backend.reply(request) for request in requests]
        await backend.close()
        return list(replies)

    assert [reply.text for reply in asyncio.run(ask()) if isinstance(reply, Reply)] == [
        "text heard hi", "vision heard hi", "text heard hi",
    ]  # fmt: skip
    assert (backend.window, text.n_closed, vision.n_closed) == (9, 1, 1)
