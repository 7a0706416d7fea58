"""`python -m tests.bench.bench_readers`: the CPU time of each reader of replies on its dearest text,
of the length that is still read and of 1 MB.
"""

import time
from collections.abc import Callable

from judgelake.tasks.judging.claims import LONGEST_CHARS
from tests.judging.test_hard_replies import OTHERS, READERS

PIECES = (
    "a", " ", "\n", "The answer is short. ", "Response 1 is better. ", "Response 1 is ", '"', "`", "'a ", "> a\n", "[RESULT] ",
    "[RESULT] 5 ", "So rating=3 ", "1 ", "1", "*", ".", "Assistant 1: 9\n", "scores (8, 9) ", "Categories: synonym\n", "a, ",
    "verdict: ", "and so correct, but ", "correct ", "final answer is 1, ", "not ", "8 9\n", "yes no ",
)  # fmt: skip


def main() -> None:
    print("ms, and the text that takes longest")
    for name, read in {**READERS, **OTHERS}.items():
        cells = [
            "{} chars: {:5.1f} ({!r})".format(f"{size:,}", *max(_time(read, size)))
            for size in (LONGEST_CHARS, 2**20)
        ]
        print(f"{name:14} {'   '.join(cells)}", flush=True)


def _time(read: Callable[[str], object], size: int) -> list[tuple[float, str]]:
    found = []
    for piece in PIECES:
        text = (piece * (size // len(piece) + 1))[:size]
        began = time.process_time()
        read(text)
        found.append((1000 * (time.process_time() - began), piece))
    return found


if __name__ == "__main__":
    main()
