"""Statistics as SQL functions over a million rows and over a filtered part of them, beside pandas
with scipy on the same rows.
"""

import time
from collections.abc import Callable
from functools import partial

import duckdb
import pandas as pd
from scipy import stats

from judgelake.tasks.warehouse.functions import add_functions, macro_texts

ROWS, GROUPS, CLUSTERS, PART = 1_000_000, 7, 5_000, 20_000
COEFFICIENTS: dict[str, Callable[..., object]] = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall_tau_b": stats.kendalltau,
}


def main() -> None:
    """Print seconds, and how many times faster the SQL function is than the peer."""
    with duckdb.connect() as connection:
        add_functions(connection)
        for text in macro_texts().values():
            connection.execute(text)
        connection.execute(
            f"create table scores as select k % {GROUPS} as category, "
            f"round(5 * random()) / 5 as judge, round(5 * random()) / 5 as human, "
            f"'image ' || (k % {CLUSTERS}) as cluster, k < {PART} as is_chosen "
            f"from range({ROWS}) as t(k)"
        )
        frame = connection.sql("from scores").df()
        connection.sql("select spearman_ci(judge, human, cluster) from scores limit 1").fetchall()
        print(f"{ROWS:,} rows in {GROUPS} groups            SQL     pandas + scipy")
        for name, peer in COEFFICIENTS.items():
            text = f"select category, {name}(judge, human) from scores group by category"
            own = clock(partial(ask, connection, text))
            other = clock(partial(group, frame, peer))
            print(f"{name:32} {own:6.2f} s {other:10.2f} s  {other / own:6.1f}x")
        text = (
            "select category, spearman_ci(judge, human, cluster) from scores where is_chosen "
            "group by category"
        )
        print(
            f"spearman_ci of {PART:,} rows, 1,000 resamples "
            f"{clock(partial(ask, connection, text)):.2f} s  (limit 1 s)"
        )


def clock(work: Callable[[], object]) -> float:
    """The best of three, in seconds."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def ask(connection: duckdb.DuckDBPyConnection, text: str) -> object:
    """The rows of one statement."""
    return connection.sql(text).fetchall()


def group(frame: pd.DataFrame, peer: Callable[..., object]) -> object:
    """The peer's coefficient of each group."""
    return frame.groupby("category")[["judge", "human"]].apply(
        lambda rows: peer(rows["judge"], rows["human"])
    )


if __name__ == "__main__":
    main()
