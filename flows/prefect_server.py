"""A Prefect server as a child process that ends with its parent: `python -m flows.prefect_server PORT_FILE`, its standard input a pipe.

Who starts it and for how long is `flows.runners`.
"""

import os
import socket
import sys
import threading
from pathlib import Path


def main() -> None:
    """Serve on a free port of the loopback, tell it in the file named, end when standard input closes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import uvicorn
    from prefect.server.api.server import create_app

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port_file = Path(sys.argv[1])
        beside = port_file.with_suffix(".tmp")
        beside.write_text(str(listener.getsockname()[1]))
        beside.replace(port_file)
        config = uvicorn.Config(create_app(), log_level="error", lifespan="on", timeout_graceful_shutdown=2)
        uvicorn.Server(config).run(sockets=[listener])


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
