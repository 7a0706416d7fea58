"""A Prefect server: `python -P -m judgelake.flows.prefect_server HOST:PORT` until a signal, as a
child that ends with its parent.

A child gets the number of a socket that it inherits and a pipe as its standard input.
`flows.runners` and infra/compose.yaml start servers. PREFECT_API_DATABASE_CONNECTION_URL names the
database.
"""

import os
import socket
import sys
import threading
from typing import TYPE_CHECKING

from judgelake.flows.process_start import without_collections

if TYPE_CHECKING:
    import uvicorn


def main() -> None:
    """Serve at the argument's address, or on the inherited socket of that number until standard
    input closes.
    """
    host, _, port = sys.argv[1].rpartition(":")
    if host:
        _refuse_open_door(host)
        listener = socket.create_server((host, int(port)))
    else:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        listener = socket.socket(fileno=int(port))
    with listener:
        _make_server(listener).run(sockets=[listener])


def _make_server(listener: socket.socket) -> "uvicorn.Server":
    """A server for the names under which a request may reach `listener`."""
    with without_collections():
        import uvicorn
        from prefect.server.api.server import create_app
        from starlette.middleware.trustedhost import TrustedHostMiddleware

        app = TrustedHostMiddleware(create_app(), allowed_hosts=_list_hosts(listener))
    config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=2)
    return uvicorn.Server(config)


def _refuse_open_door(host: str) -> None:
    """Whoever may use the server may have it run anything."""
    is_local = host == "localhost" or host.startswith("127.")
    if not is_local and not os.environ.get("PREFECT_SERVER_API_AUTH_STRING"):
        raise SystemExit(
            f"prefect server {host}: whoever reaches it could have it run anything; expected a "
            f"password; set PREFECT_SERVER_API_AUTH_STRING=judgelake:PASSWORD for it, and the "
            f"same as PREFECT_API_AUTH_STRING for those that use it"
        )


def _list_hosts(listener: socket.socket) -> list[str]:
    """The names that a request may address: a page of another site that has its own name point
    here is refused. On all interfaces the server has names that it cannot know.
    """
    host = listener.getsockname()[0]
    return ["*"] if host in ("0.0.0.0", "::") else [host, "localhost"]  # noqa: S104  # compared


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
