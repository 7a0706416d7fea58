"""The cases that one judge wants, as the table `wanted_cases` of a connection. What is left of them is `tasks.planning`'s matter."""

import duckdb
import polars as pl

from tasks.judging.matchups import draw_matchups
from tasks.judging.protocols import Identity
from tasks.judging.wants import Unit, Wants
from tasks.reports.warehouse import keep_result, select_file, select_frame

_QUERIES: dict[Unit, str] = {
    "answer": "wanted_answers",
    "pair": "wanted_pairs",
    "image": "wanted_images",
    "feedback": "wanted_feedbacks",
}
_PAIR = ("benchmark", "item_id", "answer_a", "answer_b")


def keep_wanted(
    connection: duckdb.DuckDBPyConnection, identity: Identity, suite: str, benchmarks: list[str], item_limit: int | None
) -> pl.DataFrame:
    """Leave `wanted_cases` in the connection; returns the matchups that were drawn for it, which the lake does not hold yet."""
    wants = identity.wants
    place = {"suite": suite, "benchmarks": benchmarks, "item_limit": item_limit, "judge_id": identity.judge_id}
    parameters = list_parameters(wants) | place
    keep_result(connection, "queries/wanted_contexts.sql", "wanted_contexts", parameters)
    drawn = _keep_matchups(connection, wants, parameters) if wants.unit == "pair" else _no_matchups()
    keep_result(connection, f"queries/{_QUERIES[wants.unit]}.sql", "wanted_cases", parameters)
    if wants.failures:
        keep_result(connection, "queries/wanted_failures.sql", "wanted_cases", {})
    return drawn


def list_parameters(wants: Wants) -> dict[str, object]:
    """What the queries of cases take of a judge's wants."""
    return {
        "tasks": [*wants.tasks],
        "captioner": wants.captioner,
        "image": "true" if wants.image is True else wants.image,
        "seed": str(wants.seed),
        "regions": wants.regions,
        "rubrics": wants.rubrics,
        "criteria": [[*group] for group in wants.criteria],
        "samples": wants.samples,
        "styles": [*wants.styles],
        "matchups": str(wants.matchups),
        "both_orders": wants.both_orders,
        "feedback_of": [*wants.feedback_of],
    }


def name_plan(wants: Wants) -> str:
    """The name under which drawn matchups are kept: judges with the same number, seed and styles compare the same pairs."""
    styles = f"-{'+'.join(sorted(wants.styles))}" if wants.styles else ""
    return f"{wants.matchups}-of-an-item-seed-{wants.seed}{styles}"


def _keep_matchups(connection: duckdb.DuckDBPyConnection, wants: Wants, parameters: dict[str, object]) -> pl.DataFrame:
    """Leave `wanted_matchups` in the connection; returns the new ones."""
    new = _no_matchups()
    if wants.matchups == "human":
        pairs = select_file(connection, "queries/human_matchups.sql", _used(parameters, "benchmarks"))
    elif wants.matchups == "reference":
        pairs = new
    else:
        pairs = select_file(connection, "queries/all_matchups.sql", _used(parameters, "benchmarks", "styles"))
        if isinstance(wants.matchups, int):
            text = "select benchmark, item_id, answer_a, answer_b from stg_matchups where plan = $plan"
            held = select_frame(connection, text, "drawn matchups", {"plan": name_plan(wants)})
            held = held.join(pairs, on=_PAIR, how="semi")
            new = _draw(pairs, held, wants).with_columns(plan=pl.lit(name_plan(wants)))
            pairs = pl.concat([held.select(_PAIR), new.select(_PAIR)])
    connection.register("given_matchups", pairs.select(_PAIR).to_arrow())
    connection.execute("create or replace temp table wanted_matchups as select * from given_matchups")
    connection.unregister("given_matchups")
    return new


def _draw(pairs: pl.DataFrame, held: pl.DataFrame, wants: Wants) -> pl.DataFrame:
    rows: list[tuple[str, str, str, str]] = []
    held_of = {str(key[0]): part for key, part in held.group_by("benchmark")}
    for key, part in pairs.sort(_PAIR).group_by("benchmark", maintain_order=True):
        benchmark = str(key[0])
        models = dict(zip(part["answer_a"], part["model_a"], strict=True)) | dict(
            zip(part["answer_b"], part["model_b"], strict=True)
        )
        before = held_of.get(benchmark, held.clear())
        drawn = draw_matchups(_by_item(part), _by_item(before), models, int(wants.matchups), wants.seed)
        rows += [(benchmark, item, a, b) for item, chosen in drawn.items() for a, b in chosen]
    return pl.DataFrame(rows, schema=dict.fromkeys(_PAIR, pl.String), orient="row")


def _by_item(pairs: pl.DataFrame) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for item, a, b in pairs.select("item_id", "answer_a", "answer_b").iter_rows():
        found.setdefault(item, []).append((a, b))
    return found


def _used(parameters: dict[str, object], *names: str) -> dict[str, object]:
    return {name: parameters[name] for name in names}


def _no_matchups() -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys((*_PAIR, "plan"), pl.String))
