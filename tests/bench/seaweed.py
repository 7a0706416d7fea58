"""SeaweedFS's S3 server as a process on loopback, for the benches that moto is too slow for; its
program is the user's to bring.
"""

import json
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_START_S = 60.0
_PORTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
)
_SETTINGS = (
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-s3",
    "-s3.iam=false",
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
)
_SMALL = ("-master.telemetry=false", "-master.volumeSizeLimitMB=256", "-volume.max=20")


@contextmanager
def seaweed(program: str, key: str, secret: str) -> Iterator[str]:
    """The address of a server of its own, over a temporary folder, that lets these credentials do
    all.
    """
    with tempfile.TemporaryDirectory(prefix="seaweed-") as name:
        folder = Path(name)
        (folder / "data").mkdir()
        who = {
            "name": "bench",
            "credentials": [{"accessKey": key, "secretKey": secret}],
            "actions": ["Admin"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [who]}))
        ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
        words = [
            program,
            "server",
            f"-dir={folder / 'data'}",
            f"-s3.config={folder / 's3.json'}",
            *_SETTINGS,
            *_SMALL,
        ]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [*words, *(f"-{name}={port}" for name, port in ports.items())],
                stdout=log,
                stderr=log,
            )
        try:
            url = f"http://127.0.0.1:{ports['s3.port']}"
            _wait_until_ready(server, url, folder / "log")
            yield url
        finally:
            server.kill()
            server.wait()


def _free_ports(n: int) -> list[int]:
    with ExitStack() as stack:
        return [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            for _ in range(n)
        ]


def _wait_until_ready(server: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except urllib.error.HTTPError:  # it asks for a signature
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(
        f"seaweedfs: no answer at {url} within {_START_S:.0f} s\n{log.read_text()[-2000:]}"
    )
