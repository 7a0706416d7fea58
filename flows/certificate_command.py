"""`judgelake certificate`: makes the certificate with which the scheduler, the workers and the runs
of one cluster know each other, and the file of Dask's configuration that names it.
"""

import argparse
import os
import sys
from pathlib import Path

import yaml

from judgelake.tasks.errors import ExitCode, SuiteError

_CERTIFICATE, _KEY, _CONFIGURATION = "cert.pem", "key.pem", "dask.yaml"


def make_certificate(options: argparse.Namespace) -> int:
    """Write certificate, key and configuration into a folder; files that are there stay."""
    folder: Path = options.folder.absolute()
    files = [folder / name for name in (_CERTIFICATE, _KEY, _CONFIGURATION)]
    there = [file for file in files if file.exists()]
    if there and there != files:
        absent = ", ".join(file.name for file in files if file not in there)
        raise SuiteError(
            f"{folder}: a certificate without {absent}; expected all three files or none; remove "
            f"the rest, and make it again"
        )
    if not there:
        _write(folder)
    sys.stdout.write(
        f"{folder}: {'kept; it' if there else 'made; it'} is the password of the cluster and ends "
        f"{_read_end(files[0])}\n"
        f"Copy the folder to the same path on each machine, set DASK_CONFIG={folder} there, and\n"
        f"start `dask scheduler`, `judgelake worker` and `judgelake run` with tls://HOST:8786.\n"
    )
    return ExitCode.DONE


def _write(folder: Path) -> None:
    """The key is readable by its owner from the first byte on; the configuration comes last."""
    from distributed import Security

    # One self-signed certificate for all roles: whoever has its key belongs to the cluster.
    security = Security.temporary()
    role = {"cert": str(folder / _CERTIFICATE), "key": str(folder / _KEY)}
    tls = {
        "ca-file": role["cert"],
        **{name: dict(role) for name in ("scheduler", "worker", "client")},
    }
    settings = {
        "distributed": {
            "comm": {"require-encryption": True, "default-scheme": "tls", "tls": tls},
            # Status pages over HTTP know no certificate.
            "scheduler": {"http": {"routes": []}},
        }
    }
    texts = {
        _KEY: security.tls_worker_key,
        _CERTIFICATE: security.tls_worker_cert,
        _CONFIGURATION: yaml.safe_dump(settings, sort_keys=False),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, text in texts.items():
            made = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(made, "w") as file:
                file.write(text)
    except OSError as error:
        raise SuiteError(
            f"{folder}: cannot be written ({error.strerror}); expected a folder of yours; name "
            f"another one"
        ) from None


def _read_end(certificate: Path) -> str:
    from cryptography import x509

    try:
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
    except (OSError, ValueError) as error:
        raise SuiteError(
            f"{certificate}: is no certificate ({error}); expected a PEM file of judgelake "
            f"certificate; remove the folder, and make it again"
        ) from None
    return f"{read.not_valid_after_utc:%Y-%m-%d}"
