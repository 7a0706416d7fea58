"""`python -m tests.bench.bench_memory [requests]`: memory of one worker that judges shard after
shard, a 100 kB image a request.

Limit: 1 GiB at 200,000 requests. Beside what the worker holds after each shard: what it held when
it had judged none.
"""

import hashlib
import io
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

from judgelake.tasks.backends.openai.settings import OpenAISettings
from judgelake.tasks.engine.shard import ShardOrder, run_judge_shard
from judgelake.tasks.judging.fleur import FleurOptions
from judgelake.tasks.lake.lake import Lake
from judgelake.tasks.planning.cases import register_judges, write_work
from judgelake.tasks.suite.judges import JudgeSettings
from judgelake.tasks.suite.suite import LimitSettings, Scope
from tests.lakes import answer, ingest, item, make_lake, make_suite

LIMIT_MIB = 1024.0
N_IMAGES, SIDE = 3000, 180
"""180 x 180 pixels of noise are 97 kB as PNG; all of them, encoded, are more than a worker
keeps.
"""


def draw_images(folder: Path) -> list[dict[str, str]]:
    folder.mkdir(parents=True)
    rng, images = np.random.default_rng(5), []
    for number in range(N_IMAGES):
        buffer = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)).save(
            buffer, "PNG", compress_level=0
        )
        (folder / f"{number}.png").write_bytes(buffer.getvalue())
        images.append(
            {"uri": f"{number}.png", "sha256": hashlib.sha256(buffer.getvalue()).hexdigest()}
        )
    return images


def plan_shards(lake: Lake, n_requests: int, url: str) -> list[ShardOrder]:
    images = draw_images(Path(str(lake.root)) / "images")
    rows = [
        item(f"i{n:06}", f"Describe picture {n}.", images=[images[n % N_IMAGES]])
        for n in range(n_requests)
    ]
    ingest(lake, rows, [answer(f"i{n:06}", f"a picture of thing {n}") for n in range(n_requests)])
    judge = JudgeSettings(
        "fleur", "fleur", OpenAISettings("standin/rules", base_url=url), FleurOptions()
    )
    suite = make_suite(judge, limits=LimitSettings(concurrency=64))
    register_judges(lake, suite)
    (work,) = write_work(
        lake, suite, Scope(), "run", slots={"ENDPOINT": max(1, n_requests // 5000), "GPU": 1}
    )
    fixed = (lake, "run", judge, work.identity, suite.limits)
    return [ShardOrder(*fixed, file, lake.root / "images") for file in work.shards]


def make_reply() -> bytes:
    """`0.8` and a reason of 20 tokens, with twenty alternatives at each position."""
    tops = [{"token": f" word{n}", "logprob": -0.1 * n, "bytes": None} for n in range(20)]
    tokens = [
        {"token": token, "logprob": 0.0, "bytes": None, "top_logprobs": tops}
        for token in ("0", ".", "8", *[" word"] * 20)
    ]
    message = {"role": "assistant", "content": "0.8" + " word" * 20}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "stop",
        "logprobs": {"content": tokens},
    }
    usage = {"prompt_tokens": 900, "completion_tokens": 23, "total_tokens": 923}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "standin/rules",
        "choices": [choice],
        "usage": usage,
    }
    return json.dumps(body).encode()


def work(
    orders: Sequence[ShardOrder], results: "multiprocessing.Queue[tuple[int, float, float]]"
) -> None:
    """What a Dask worker does: one shard after the other; prints requests, MiB held, seconds of
    CPU.
    """
    process, done = psutil.Process(), 0
    results.put((0, process.memory_info().rss / 2**20, 0.0))
    for order in orders:
        done += run_judge_shard(order).n_calls
        results.put((done, process.memory_info().rss / 2**20, time.process_time()))


def main() -> None:
    n_requests = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        reply = Path(folder) / "reply.json"
        reply.write_bytes(make_reply())
        words = [sys.executable, "-m", "tests.bench.canned_server", "5", str(reply)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            orders = plan_shards(make_lake(Path(folder)), n_requests, url)
            context = multiprocessing.get_context("spawn")
            results = context.Queue()
            worker = context.Process(target=work, args=(orders, results))
            worker.start()
            held = [results.get()]
            for _ in orders:
                held.append(results.get())
                done, mib, cpu_s = held[-1]
                print(
                    f"{done:>8,} requests: {mib:7.0f} MiB, started with {held[0][1]:.0f}; "
                    f"{1000 * cpu_s / done:.2f} ms of CPU each",
                    flush=True,
                )
            worker.join()
            server.communicate()
    worst = max(mib for _, mib, _ in held)
    print(f"most: {worst:.0f} MiB, {worst / LIMIT_MIB:.2f} of the limit")


if __name__ == "__main__":
    main()
