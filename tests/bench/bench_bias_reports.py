"""Reports on failures and biases over a million scores and half a million duels; beside the length
slope's peer, statsmodels' least squares.

`python -m tests.bench.bench_bias_reports`. The rows are planted as the materialised core tables that a report reads.
"""

import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import statsmodels.api as sm

from judgelake.tasks.lake.lake import open_lake
from judgelake.tasks.warehouse.warehouse import open_warehouse

N_ANSWERS, N_JUDGES, N_DUELS = 100_000, 10, 500_000
VIEWS = (
    "rpt_failure_cases", "rpt_failure_modes", "rpt_failure_scores", "rpt_failure_examples", "rpt_leniency", "rpt_bias_length",
    "rpt_bias_longer", "rpt_bias_position", "rpt_bias_family", "rpt_bias_family_scores", "rpt_scale_use", "rpt_refusals",
)  # fmt: skip
CORE = {
    "core_judges": f"""
        select 'judge' || k as judge, 'gpt-' || k as alias, 'judge' || k as judge_id, 'r' as reading,
            case k when 0 then 'metric' else 'judge' end as kind,
            case k when 0 then 'vqa_accuracy|x' else 'protocol:p|model:openai/gpt-' || k || '|x' end as signature,
            ['b'] as benchmarks
        from range({N_JUDGES}) as judges (k)
    """,
    "core_answers": f"""
        select 'b' as benchmark, 'i' || n // 4 as item_id, 'a' || n % 4 as answer_id,
            ['gpt-1', 'llava', 'gpt-3', 'qwen'][1 + n % 4] as model, 'i' || n // 4 as cluster, 'q' as prompt, ['r'] as "references",
            repeat('x', (1 + 200 * random())::integer) as text, 'd' || n as content_digest
        from range({N_ANSWERS}) as answers (n)
    """,
    "core_scores": """
        select * exclude (rating), case status when 'ok' then rating end as rating, case status when 'ok' then rating / 2 end as score_0_1
        from (
            select answers.benchmark, answers.item_id, answers.answer_id, answers.model, answers.cluster, judges.judge, judges.alias,
                'correctness' as criterion, 0 as sample, case when random() < 0.01 then 'unparsed' else 'ok' end as status,
                floor(3 * random()) as rating
            from core_answers as answers cross join core_judges as judges
        )
    """,
    "core_human": """
        select benchmark, item_id, answer_id, 'correctness' as criterion, 'mean' as human_rule,
            floor(6 * random()) / 5 as score_0_1, 5 as n_annotators
        from core_answers
    """,
    "core_failure_labels": """
        select cases.benchmark, cases.item_id, cases.answer_id, 'imported' as labelled_by, 'ann' as labeller, category, 'ok' as status,
            random() < 0.2 as holds
        from core_failure_cases as cases cross join range(9) as categories (category)
    """,
    "core_duels": f"""
        select 'b' as benchmark, 'i' || n // 20 as item_id, 'a' || (n // 2) % 2 as answer_a, 'a2' as answer_b,
            ['gpt-1', 'llava'][1 + (n // 2) % 2] as model_a, 'gpt-3' as model_b, 'i' || n // 20 as cluster,
            'judge' || 1 + (n // 4) % 5 as judge, 'overall' as criterion, 0 as sample, ['a', 'b'][1 + n % 2] as shown_first,
            'ok' as status, choice, case choice when 'a' then 0.0 when 'b' then 1.0 else 0.5 end as preference_b
        from (select n, ['a', 'b', 'tie'][1 + (3 * random())::integer % 3] as choice from range({N_DUELS}) as duels (n))
    """,
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        connection = open_warehouse(open_lake(Path(folder), create=True))
        plant(connection)
        for view in VIEWS:
            start = time.perf_counter()
            rows = connection.execute(f"select * from {view}").fetchall()
            print(f"{view:25} {time.perf_counter() - start:6.2f} s, {len(rows):,} rows")
        compare_slope(connection)


def plant(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("select setseed(0.5)")
    for name, text in CORE.items():
        connection.execute(f"create temp table {name} as {text}")
        if name == "core_human":
            for made in ("core_rated_scores", "core_failure_cases", "core_families"):
                connection.execute(f"create temp table {made} as select * from {made}")
    for made in ("core_ordered_choices", "core_choices"):
        connection.execute(f"create temp table {made} as select * from {made}")


def compare_slope(connection: duckdb.DuckDBPyConnection) -> None:
    """One judge's slope: within the tenths by SQL, and with a dummy a tenth by statsmodels."""
    start = time.perf_counter()
    text = "select slope from rpt_bias_length where judge = 'judge1'"
    (slope,) = connection.execute(text).fetchone() or (np.nan,)
    ours = time.perf_counter() - start
    frame = connection.execute("""
        select judge_score, log2(length(text)) as x, least(floor(10 * human_score + 1e-9), 9) as tenth, cluster
        from core_rated_scores inner join core_answers using (benchmark, item_id, answer_id, cluster) where judge = 'judge1'
    """).fetchnumpy()
    start = time.perf_counter()
    clusters = np.unique(frame["cluster"].astype(str), return_inverse=True)[1]
    design = np.column_stack(
        [frame["x"], *(frame["tenth"] == level for level in np.unique(frame["tenth"]))]
    )
    fitted = sm.OLS(frame["judge_score"], design).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}
    )
    theirs = time.perf_counter() - start
    print(
        f"slope of one judge: here {ours:.2f} s, statsmodels {theirs:.2f} s: "
        f"{theirs / ours:.1f}x, difference {slope - fitted.params[0]:.1e}"
    )


if __name__ == "__main__":
    main()
