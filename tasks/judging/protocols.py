"""Which judge protocols there are, and the identity of a suite's judges and metrics. What a protocol asks is its own file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tasks.digests import digest_json, judge_id
from tasks.judging import lave
from tasks.judging.lave import LaveOptions
from tasks.judging.types import Case, Judge
from tasks.metrics.registry import resolve_metric

Options = LaveOptions


@dataclass(frozen=True)
class Protocol:
    """One way of judging: its options, the item tasks it is for, its criterion, its signatures and its generator."""

    options: type[Options]
    tasks: tuple[str, ...]
    criterion: str
    call_signature: Callable[[Options, str], dict[str, object]]
    reading_signature: Callable[[], dict[str, object]]
    judge: Callable[[Case, Options, str], Judge]


PROTOCOLS: Mapping[str, Protocol] = {
    "lave": Protocol(LaveOptions, lave.TASKS, lave.CRITERION, lave.call_signature, lave.reading_signature, lave.judge),
}
READING_OF_METRICS = "score"


@dataclass(frozen=True)
class Identity:
    """What the lake calls a judge or metric, and what it is for; `captioner` is whose caption it is shown ('' for none)."""

    kind: str
    alias: str
    judge_id: str
    reading: str
    call_signature: str
    reading_signature: str
    tasks: tuple[str, ...]
    benchmarks: tuple[str, ...]
    criterion: str
    captioner: str = ""


def identify_judge(alias: str, protocol_name: str, options: Options, model: str, benchmarks: tuple[str, ...]) -> Identity:
    """The identity of an LLM or VLM judge."""
    protocol = PROTOCOLS[protocol_name]
    call, reading = protocol.call_signature(options, model), protocol.reading_signature()
    return Identity(
        kind="judge",
        alias=alias,
        judge_id=judge_id(call),
        reading=digest_json(reading)[:8],
        call_signature=format_signature(call),
        reading_signature=format_signature(reading),
        tasks=protocol.tasks,
        benchmarks=benchmarks,
        criterion=protocol.criterion,
        captioner=options.caption or "",
    )


def format_signature(signature: Mapping[str, object]) -> str:
    """A signature as people read it beside a number: `protocol:lave|model:...|shots:8|...`."""
    return "|".join(f"{key}:{value}" for key, value in signature.items())


def identify_metric(name: str, benchmarks: tuple[str, ...]) -> Identity:
    """The identity of a reference metric, `metric:<signature>` in reports."""
    metric = resolve_metric(name)
    own_id = judge_id({"metric": metric.signature})
    return Identity("metric", name, own_id, READING_OF_METRICS, metric.signature, "", metric.tasks, benchmarks, "overall")
