"""Keys stay in the environment: a whole run with recognisable ones, then all that it wrote, said,
stored and sent is searched for them.
"""

import base64
import pickle
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import pytest
from distributed.protocol import pickle as wire

from judgelake.tasks.backends.openai.client import OpenAIBackend
from judgelake.tasks.engine.shard import ShardOrder
from judgelake.tasks.errors import BackendError
from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.standin.process import start_standin
from judgelake.tasks.suite.suite import read_suite
from tests.bucket_server import KEY as BUCKET_KEY
from tests.bucket_server import SECRET, Bucket
from tests.flows.harness import Shell, shell_in, wait_until, write_benchmark, write_suite
from tests.flows.services import dask_scheduler, free_port, prefect, worker
from tests.flows.test_whole_runs import ONE_EACH

KEY = "sk-recognisable-5f0c2a9e71b84d36"
FILE_KEY = "recognisable-too/7d1e+90b3c8a2f46"
SECRETS = (KEY, FILE_KEY, SECRET)
SECOND = """
  two: {{protocol: lave, backend: openai, model: standin/rules, base_url: "{url}", api_key_variable: SECOND_KEY, shots: 2, max_attempts: 1}}
limits: {{concurrency: 8}}
"""


def test_parameters_and_errors_hold_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_benchmark(tmp_path, 4)
    lake = open_lake(tmp_path / "lake", create=True)
    suite = read_suite(write_suite(tmp_path, "https://judge.example.org/v1"))
    judge = suite.judges["lave"]
    order = ShardOrder(
        lake,
        "run",
        judge,
        judge.identify(tuple(suite.benchmarks)),
        suite.limits,
        tmp_path / "x",
        tmp_path,
    )
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY} with a blank")
    with pytest.raises(BackendError) as refused:
        OpenAIBackend("openai/gpt-4o-mini")
    dump: Callable[[object], bytes] = wire.dumps  # as Dask sends it
    for one in (suite, order, refused.value):
        assert KEY.encode() not in dump(one) + pickle.dumps(one)
        assert KEY not in repr(one) + str(one)


def test_the_search_finds_a_key_that_is_there(tmp_path: Path) -> None:
    pl.DataFrame({"reason": [f"not for {KEY}"] * 1000}).write_parquet(
        tmp_path / "a.parquet", compression="zstd"
    )
    (tmp_path / "b.log").write_bytes(b"\x00..." + FILE_KEY.encode() + b"...")
    (tmp_path / "c.log").write_bytes(b"Basic " + base64.b64encode(SECRET.encode()))
    (tmp_path / "d.log").write_text("sk-another")
    assert [file.name for file in sorted(list_files(tmp_path)) if holds_secret(file)] == [
        "a.parquet",
        "b.log",
        "c.log",
    ]


@pytest.mark.full
def test_no_key_anywhere(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, home_folder: Path
) -> None:
    """A bucket's secret, a key of the environment and one of `./.env`; an endpoint that repeats the
    headers of what it refuses.
    """
    write_benchmark(tmp_path, 20)
    (tmp_path / ".env").write_text(f'SECOND_KEY="{FILE_KEY}"\n')
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "OPENAI_API_KEY": KEY,
        "PREFECT_LOGGING_TO_API_ENABLED": "true",
        "PREFECT_LOGGING_LEVEL": "DEBUG",
    }.items():
        monkeypatch.setenv(name, value)
    lake, said, sent = f"{bucket.url}/a/lake", tmp_path / "said", tmp_path / "sent.bin"
    said.mkdir()
    with start_standin(faults={"leak": 0.3}, seed=3) as standin, shell_in(tmp_path) as shell:
        text = write_suite(tmp_path, standin.base_url).read_text().partition("limits:")[0]
        (tmp_path / "suite.yaml").write_text(text + SECOND.format(url=standin.base_url))
        with (
            prefect(shell, f"sqlite+aiosqlite:///{tmp_path}/prefect.db") as url,
            recorded_scheduler(shell, sent) as address,
        ):
            monkeypatch.setenv("PREFECT_API_URL", url)
            plain = "--without-tls"  # so that the wire can be read
            with (
                worker(shell, address, "a", "--metric", "1", plain),
                worker(shell, address, "b", plain),
            ):
                run = shell.start(
                    "run",
                    "suite.yaml",
                    "--lake",
                    lake,
                    "--scheduler",
                    address,
                    plain,
                    "--log-format",
                    "json",
                )
                commands = watch_commands(shell, run)
                assert run.poll() == 3, shell.output.read_text()  # some are refused
                shell.output.rename(said / "run")
        assert shell.count(lake, ONE_EACH) == 0
        reasons = {
            str(row["reason"])
            for row in shell.select(lake, "select reason from verdicts where status = 'failed'")
        }
        assert any("***" in reason for reason in reasons), reasons
        assert (
            len(shell.select(lake, "select distinct judge_id from verdicts where status = 'ok'"))
            == 2
        )  # both keys were read
        for words in (
            ["status", "--format", "json"],
            ["check"],
            ["sql", "select * from raw_verdicts", "--format", "json"],
        ):
            (said / words[0]).write_text(shell.run(*words, "--lake", lake)[1])
    bucket.place("a").fs.get(f"{bucket.name}/a", str(tmp_path / "bucket"), recursive=True)
    (tmp_path / ".env").unlink()
    (tmp_path / "commands").write_text("\n".join(commands))
    searched = [*list_files(tmp_path), *list_files(home_folder)]
    names = {file.suffix for file in searched} | {file.name for file in searched}
    assert {
        "run",
        "worker-a.log",
        "commands",
        "prefect.db",
        "report.html",
        ".csv",
        ".parquet",
        "sent.bin",
    } <= names
    assert b"nightly-evaluation" in (tmp_path / "prefect.db").read_bytes()
    assert b"judge_shard" in sent.read_bytes()  # the pickles went through here
    assert [str(file) for file in searched if holds_secret(file)] == []
    assert not any(BUCKET_KEY in command for command in commands)


def list_files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def holds_secret(file: Path) -> bool:
    content = file.read_bytes()
    if file.suffix == ".parquet":  # compressed; the file's own metadata are plain
        content += repr(pl.read_parquet(file, hive_partitioning=False).to_dicts()).encode()
    plain = [secret.encode() for secret in SECRETS]
    return any(one in content for one in [*plain, *map(base64.b64encode, plain)])


def watch_commands(shell: Shell, run: "subprocess.Popen[bytes]") -> set[str]:
    """The command lines, as `ps` shows them to everybody, of all that lives while a run does."""
    seen: set[str] = set()

    def look() -> bool:
        for process in shell.living():
            with suppress(Exception):
                seen.add(" ".join(process.cmdline()))
        return run.poll() is not None

    assert wait_until(look)
    return seen


@contextmanager
def recorded_scheduler(shell: Shell, file: Path) -> Iterator[str]:
    """The address of a Dask scheduler behind a wire tap: every byte to and from it is also in
    `file`.
    """
    port = free_port()
    with (
        dask_scheduler(shell, port, tls=False),
        socket.create_server(("127.0.0.1", 0)) as listener,
        file.open("wb", buffering=0) as tape,
    ):

        def pump(source: socket.socket, sink: socket.socket) -> None:
            with suppress(OSError, ValueError):  # one of the three is closed
                while content := source.recv(65536):
                    tape.write(content)
                    sink.sendall(content)
            for end in (sink, source):
                end.close()

        def accept() -> None:
            with suppress(OSError):
                while True:
                    near, _ = listener.accept()
                    far = socket.create_connection(("127.0.0.1", port))
                    for pair in ((near, far), (far, near)):
                        threading.Thread(target=pump, args=pair, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
