"""What a person reads in recorded replies of real judges: row key -> label, 50 of each file, read
one by one. No text of the data stands here.

Each sample is random, with the odd replies of its file added on purpose (those that open, or put
their verdict, in another way).
"""

NQ301 = dict.fromkeys(
    # data row of NQ301_gpt-4.tsv, counted from 0; True: the reply opens with yes
    (3, 10, 26, 262, 343, 433, 510, 529, 578, 769, 919, 1123, 1286, 1346),
    True,
) | dict.fromkeys(
    (27, 60, 108, 149, 210, 234, 273, 287, 325, 330, 377, 446, 448, 516, 742, 787, 805, 843, 962, 969, 1095, 1186, 1275, 1276, 1340, 1425),
    False,
) | dict.fromkeys(
    # "cannot determine", "partially correct", or no word of yes and no at all
    (67, 211, 306, 353, 497, 682, 731, 931, 1037, 1175),
)  # fmt: skip

VICUNA_PAIRS = {
    # (the other model, question): score of the first, score of the second
    ("alpaca-13b", 1): (8, 9), ("alpaca-13b", 12): (8, 9), ("alpaca-13b", 19): (8, 9), ("alpaca-13b", 24): (8, 9),
    ("alpaca-13b", 42): (4, 9), ("alpaca-13b", 46): (7, 9), ("alpaca-13b", 48): (7, 8), ("alpaca-13b", 49): (6, 8),
    ("alpaca-13b", 50): (7, 9), ("alpaca-13b", 78): (8, 9), ("bard", 22): (8, 9), ("bard", 24): (8, 9), ("bard", 25): (8, 9),
    ("bard", 26): (8, 9), ("bard", 52): (8, 9), ("bard", 57): (8, 9), ("bard", 59): (8, 9), ("bard", 63): (7, 8.5),
    ("bard", 76): (9, 8.5), ("gpt35", 10): (9, 9), ("gpt35", 18): (8, 9), ("gpt35", 31): (9, 9), ("gpt35", 32): (9, 8.5),
    ("gpt35", 38): (9, 8), ("gpt35", 56): (9, 8.5), ("gpt35", 58): (9, 9), ("gpt35", 64): (8, 4), ("gpt35", 77): (9, 9),
    ("llama-13b", 10): (7, 9), ("llama-13b", 18): (8, 9), ("llama-13b", 20): (6, 9), ("llama-13b", 45): (7, 8),
    ("llama-13b", 46): (4, 8), ("llama-13b", 53): (7, 9), ("llama-13b", 58): (7, 9), ("llama-13b", 63): (6, 8),
    ("llama-13b", 73): (8, 10), ("llama-13b", 74): (0, 9),
    # the scores stand after a calculation, in four different ways
    ("alpaca-13b", 68): (1, 8), ("alpaca-13b", 69): (1, 3), ("alpaca-13b", 70): (1, 5), ("bard", 68): (10, 4),
    ("bard", 69): (10, 1), ("bard", 70): (10, 4), ("gpt35", 68): (10, 6), ("gpt35", 69): (10, 1), ("gpt35", 70): (10, 4),
    ("llama-13b", 68): (1, 7), ("llama-13b", 69): (1, 2), ("llama-13b", 70): (10, 4),
}  # fmt: skip

_ALPACA, _TURBO = "alpaca-7b", "gpt-3.5-turbo-0301"
ALPACA_EVAL = {
    # (model, record): (what the reply says, the likelier of m and M by its log-probabilities);
    # None: there is no reply
    **{(_ALPACA, row): None for row in (199, 370, 713)},
    (_TURBO, 370): None,
    (_TURBO, 214): ("Neither", "M"),
    (_TURBO, 409): ("m", "M"),
    **{(_TURBO, row): ("M", "m") for row in (439,)},
    **{(_ALPACA, row): ("M", "m") for row in (34, 640)},
    **{(_ALPACA, row): ("m", "m") for row in (41, 184, 260, 432, 468, 481, 765, 775)},
    **{(_TURBO, row): ("m", "m") for row in (22, 216, 523, 625, 646, 676)},
    **{(_ALPACA, row): ("M", "M") for row in (63, 90, 175, 282, 379, 397, 399, 484, 511, 551)},
    **{(_TURBO, row): ("M", "M") for row in (
        1, 26, 36, 130, 142, 173, 195, 200, 240, 268, 361, 378, 448, 522, 642, 654, 766,
    )},
}  # fmt: skip

JUDGE_RETEST_MARKED = {("mt_bench_eval", 37, 2): 1}
"""(file, case, run) -> the score behind `[RESULT]`: the publisher cut off all markers but this
one.
"""

JUDGE_RETEST_WORDED = {
    # a score written in other words: no reader of markers may read another one in its place
    ("mt_bench_eval", 34, 0): 5, ("mt_bench_eval", 45, 0): 4, ("mt_bench_eval", 70, 2): 5, ("mt_bench_eval", 80, 0): 2,
    ("mt_bench_eval", 169, 1): 4, ("mt_bench_eval", 185, 1): 3, ("mt_bench_eval", 191, 1): 5, ("mt_bench_eval", 205, 0): 5,
    ("mt_bench_eval", 272, 0): 5, ("mt_bench_eval", 280, 1): 5, ("vicuna_eval", 10, 0): 5, ("vicuna_eval", 29, 1): 5,
    ("vicuna_eval", 31, 1): 5, ("vicuna_eval", 39, 0): 5, ("vicuna_eval", 57, 2): 5, ("vicuna_eval", 63, 1): 5,
    ("vicuna_eval", 68, 2): 5, ("vicuna_eval", 72, 2): 5, ("vicuna_eval", 105, 0): 5, ("vicuna_eval", 150, 2): 5,
    ("vicuna_eval", 159, 1): 5, ("vicuna_eval", 178, 1): 4, ("vicuna_eval", 235, 0): 5, ("vicuna_eval", 280, 2): 5,
    ("vicuna_eval", 284, 2): 5, ("vicuna_eval", 319, 0): 5,
}  # fmt: skip

JUDGE_RETEST_SILENT = (
    # no score, though some speak of scores or hold numbers
    ("mt_bench_eval", 25, 1), ("mt_bench_eval", 26, 1), ("mt_bench_eval", 32, 2), ("mt_bench_eval", 39, 1), ("mt_bench_eval", 47, 2),
    ("mt_bench_eval", 49, 1), ("mt_bench_eval", 58, 2), ("mt_bench_eval", 64, 0), ("mt_bench_eval", 80, 2), ("mt_bench_eval", 102, 2),
    ("mt_bench_eval", 141, 2), ("mt_bench_eval", 146, 1), ("mt_bench_eval", 174, 0), ("mt_bench_eval", 174, 1),
    ("mt_bench_eval", 184, 2), ("mt_bench_eval", 249, 1), ("mt_bench_eval", 269, 1), ("mt_bench_eval", 285, 1), ("vicuna_eval", 17, 2),
    ("vicuna_eval", 26, 1), ("vicuna_eval", 77, 2), ("vicuna_eval", 124, 1), ("vicuna_eval", 301, 0),
)  # fmt: skip
