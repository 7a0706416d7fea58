"""The statistics as SQL aggregates: `spearman(x, y)` and `spearman_ci(x, y, cluster)` and so on,
for every one of `tasks.stats.signatures`.

A macro gathers a group's rows into one list, a function called for many groups at once hands each
list to the statistic. A macro is no aggregate to DuckDB: it takes no `filter`, no `distinct`,
computes each row anew with `over`, and cannot stand in `pivot ... using`.
"""

import functools
import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType

from judgelake.tasks.stats.signatures import SIGNATURES, Signature

if TYPE_CHECKING:
    from judgelake.tasks.stats.model_ratings import Rated
    from judgelake.tasks.stats.statistics import Measured

_SQL_TYPES = {float: "double", int: "bigint", str: "varchar"}
_ESTIMATED = {"resamples": 1000, "seed": 0}
"""Options of every `_ci` form."""


def macro_texts() -> dict[str, str]:
    """Name -> the statement that creates its macro: the plain form and the `_ci` form of each
    statistic.
    """
    return {
        name: text
        for statistic in SIGNATURES.values()
        for name, text in (
            (statistic.name, _write_macro(statistic, is_estimate=False)),
            (f"{statistic.name}_ci", _write_macro(statistic, is_estimate=True)),
        )
    }


def describe_functions() -> dict[str, str]:
    """Call as SQL has it -> what it gives, of the forms without an interval."""
    return {
        f"{statistic.name}({_write_parameters(statistic, is_estimate=False)})": statistic.says
        for statistic in SIGNATURES.values()
    }


def add_functions(connection: duckdb.DuckDBPyConnection) -> None:
    """Give a connection what the macros call."""
    for name, kernel, given, result in _list_kernels():
        connection.create_function(
            name,
            kernel,
            given,
            result,
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )


class _Kernel(NamedTuple):
    """What one macro calls: its name, the function, and the types it takes and gives."""

    name: str
    call: Callable[[Any, Any], Any]
    given: list[Any]
    result: Any


@functools.cache
def _list_kernels() -> tuple[_Kernel, ...]:
    """Types are parsed and signatures read once a process: for each connection anew they take a
    fifth of the time that opens a warehouse.
    """
    return tuple(
        _Kernel(
            _kernel_name(statistic, is_estimate),
            _make_kernel(statistic, is_estimate),
            [
                duckdb.dtype(f"struct({_list_fields(_columns_of(statistic, is_estimate))})[]"),
                duckdb.dtype(f"struct({_list_fields(_option_types(statistic, is_estimate))})"),
            ],
            duckdb.dtype(_result_type(statistic, is_estimate)),
        )
        for statistic in SIGNATURES.values()
        for is_estimate in (False, True)
    )


def _make_kernel(statistic: Signature, is_estimate: bool) -> Callable[[Any, Any], Any]:
    def kernel(rows: Any, options: Any) -> Any:
        return _call(statistic, is_estimate, rows, options)

    # found by `inspect.signature` at once
    kernel.__signature__ = inspect.signature(kernel)  # type: ignore[attr-defined]
    return kernel


_INNER = re.compile(r"^\w+: ")
"""Which function of the statistic found the error, in place of which its name in SQL is shown."""
_RAISED = re.compile(r"[\w ]+: Python exception occurred while executing the UDF: ValueError: ")
"""What DuckDB writes before the message of an error of a statistic."""


_NAMES = rf"(?P<name>{'|'.join(SIGNATURES)})(?P<ci>_ci)?"
# a call of either form, in any case, also in a string, which only costs time
_CALL = re.compile(rf"\b{_NAMES}\s*\(", re.IGNORECASE)
# what DuckDB says where the arguments are not those of the macro
_OTHER_ARGUMENTS = re.compile(rf"\bMacro {_NAMES}\(\) does not support", re.IGNORECASE)
# what it says of `filter`, `distinct` or `order by` in a macro
_AS_AGGREGATE = re.compile(rf'Function "{_NAMES}" is a Macro Function', re.IGNORECASE)
# what it says where the cast of a macro fails; beside a cast that the user wrote it shows the line
_TEXT_GIVEN = re.compile(
    r"Could not convert string '(?P<text>.*)' to DOUBLE "
    r"when casting from source column (?P<name>\S+)$",
    re.DOTALL,
)
# what it says of a macro in `pivot ... using`
_IN_A_PIVOT = "within the aggregate of a PIVOT expression"


def explain(error: duckdb.Error) -> str:
    """The error's message; of a statistic's own only what the statistic says, and for what DuckDB
    does not take of a macro, what to write.
    """
    text = str(error)
    if call := _OTHER_ARGUMENTS.search(text):
        statistic, is_estimate = SIGNATURES[call["name"].lower()], bool(call["ci"])
        name = statistic.name + ("_ci" if is_estimate else "")
        whole = f"{name}({_write_parameters(statistic, is_estimate=is_estimate)})"
        return f"{name}: does not take these arguments; expected {whole}; write it so"
    if call := _AS_AGGREGATE.search(text):
        name = call["name"] + (call["ci"] or "")
        return (
            f"{name}: takes no filter, distinct or order by; expected columns alone; choose rows "
            f"by where, or write case when ... then x end"
        )
    if given := _TEXT_GIVEN.search(text):
        column = given["name"]
        return (
            f"{column}: a statistic was given the text {given['text']!r}; expected numbers; name a "
            f"column of numbers, or write try_cast({column} as double), which makes null of texts"
        )
    if _IN_A_PIVOT in text and (call := _CALL.search(text)):
        name = call["name"] + (call["ci"] or "")
        return (
            f"{name}: cannot stand in pivot ... using; expected an aggregate of DuckDB's own; "
            f"pivot a grouped subquery: pivot (select ..., {name}(...) as f from ... group by all) "
            f"on ... using first(f)"
        )
    return _RAISED.sub("", text, count=1)


def calls_functions(statement: str) -> bool:
    """Whether a statement may call one of them; the first connection takes a moment to add them."""
    return _CALL.search(statement) is not None


def _kernel_name(statistic: Signature, is_estimate: bool) -> str:
    return f"{'estimate' if is_estimate else 'measure'}_{statistic.name}"


def _options_of(statistic: Signature, is_estimate: bool) -> dict[str, Any]:
    return {**statistic.options, **(_ESTIMATED if is_estimate else {})}


def _columns_of(statistic: Signature, is_estimate: bool) -> dict[str, str]:
    kinds = {
        name: "double" if kind == "number" else "varchar"
        for name, kind in statistic.columns.items()
    }
    return {**kinds, "cluster": "varchar"} if is_estimate else kinds


def _option_types(statistic: Signature, is_estimate: bool) -> dict[str, str]:
    options = _options_of(statistic, is_estimate)
    return {name: _SQL_TYPES[type(default)] for name, default in options.items()}


def _list_fields(types: Mapping[str, str]) -> str:
    """Fields of a struct; one that has no use where there is none."""
    return ", ".join(f"{name} {kind}" for name, kind in types.items()) or "nothing boolean"


_ESTIMATE_TYPE = (
    "struct(value double, low double, high double, n bigint, n_clusters bigint, "
    "n_undefined bigint, n_missing bigint, method varchar, reason varchar)"
)
_RATED_TYPE = _ESTIMATE_TYPE.replace("struct(", "struct(model varchar, ", 1) + "[]"


def _result_type(statistic: Signature, is_estimate: bool) -> str:
    if statistic.rates_models:
        return _RATED_TYPE if is_estimate else "map(varchar, double)"
    return _ESTIMATE_TYPE if is_estimate else "double"


def _write_parameters(statistic: Signature, *, is_estimate: bool) -> str:
    options = _options_of(statistic, is_estimate).items()
    defaults = [f"{name} := {_write_constant(default)}" for name, default in options]
    return ", ".join([*_columns_of(statistic, is_estimate), *defaults])


def _write_constant(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def _write_macro(statistic: Signature, *, is_estimate: bool) -> str:
    name = f"{statistic.name}_ci" if is_estimate else statistic.name
    rows = _pack(_columns_of(statistic, is_estimate))
    options = _pack(_option_types(statistic, is_estimate))
    call = f"{_kernel_name(statistic, is_estimate)}(list({rows}), {options})"
    parameters = _write_parameters(statistic, is_estimate=is_estimate)
    return f"create or replace macro {name}({parameters}) as {call}"


def _pack(types: Mapping[str, str]) -> str:
    fields = ", ".join(f"{name} := {name}::{kind}" for name, kind in types.items())
    return f"struct_pack({fields or 'nothing := false'})"


def _call(statistic: Signature, is_estimate: bool, rows: Any, options: Any) -> Any:
    """The results of many groups, of an Arrow list of rows and a struct of options each."""
    import pyarrow as pa  # takes a fifth of a second

    groups = _split_groups(statistic, is_estimate, rows)
    try:
        results = [
            _find(statistic, is_estimate, columns, chosen)
            for columns, chosen in zip(groups, options.to_pylist(), strict=True)
        ]
    except ValueError as error:
        name = f"{statistic.name}_ci" if is_estimate else statistic.name
        raise ValueError(f"{name}: {_INNER.sub('', str(error))}") from error
    return pa.array(results, type=_arrow_type(_result_type(statistic, is_estimate)))


@functools.cache
def _arrow_type(kind: str) -> Any:
    with duckdb.connect() as connection:
        return connection.sql(f"select null::{kind} as x").to_arrow_table().schema.field(0).type


def _split_groups(
    statistic: Signature, is_estimate: bool, rows: Any
) -> Iterator[Mapping[str, Any]]:
    """The columns of each group."""
    from judgelake.tasks.stats.texts import Texts  # imports numpy

    columns = _columns_of(statistic, is_estimate)
    for chunk in rows.chunks:
        offsets = chunk.offsets.to_numpy()
        held = {name: chunk.values.field(name) for name in columns}
        whole = {
            name: _read_numbers(column) if columns[name] == "double" else _read_texts(column)
            for name, column in held.items()
        }
        for start, stop in itertools.pairwise(offsets.tolist()):
            part = slice(start, stop)
            yield {
                name: column._replace(codes=column.codes[part])
                if isinstance(column, Texts)
                else column[part]
                for name, column in whole.items()
            }


def _read_numbers(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False).astype("float64", copy=False)


def _read_texts(column: Any) -> Any:
    from judgelake.tasks.stats.texts import sort_texts

    coded = column.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype("int64")
    return sort_texts(coded.dictionary.to_pylist(), codes)


def _find(
    statistic: Signature, is_estimate: bool, columns: Mapping[str, Any], options: dict[str, Any]
) -> Any:
    from judgelake.tasks.stats.statistics import estimate, measure

    options.pop("nothing", None)
    _need_options(statistic, is_estimate, options)
    if not is_estimate:
        measured = measure(statistic.name, columns, options)
        if statistic.rates_models:
            return [(model, _null(value)) for model, value in measured.items()]
        return _null(measured)
    resamples, seed = options.pop("resamples"), options.pop("seed")
    measured = estimate(statistic.name, columns, columns["cluster"], resamples, seed, options)
    return (
        [_describe(rated) for rated in measured] if statistic.rates_models else _describe(measured)
    )


def _need_options(statistic: Signature, is_estimate: bool, options: Mapping[str, object]) -> None:
    for name, default in _options_of(statistic, is_estimate).items():
        if options[name] is None:
            kind = "a text" if isinstance(default, str) else "a number"
            raise ValueError(
                f"{name} := null; expected {kind}; leave it out for {_write_constant(default)}"
            )


def _describe(measured: "Measured | Rated") -> dict[str, Any]:
    return {
        name: _null(value) if isinstance(value, float) else value
        for name, value in measured._asdict().items()
    }


def _null(value: float) -> float | None:
    return value if math.isfinite(value) else None
