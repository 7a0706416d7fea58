"""Which judge protocols there are, and the identity of a suite's judges. What a protocol asks is
its own file.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from judgelake.tasks.digests import digest_json, judge_id
from judgelake.tasks.extensions import Registry
from judgelake.tasks.judging import (
    captions,
    chirp_grading,
    chirp_pairs,
    failure_labels,
    feedback_preference,
    fleur,
    harmonic,
    jury,
    lave,
    likelihood,
    llava_bench,
    prometheus,
)
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.types import JUDGE, AnswerForm, Identity, Models

PROTOCOLS = Registry(
    "judgelake.protocols",
    Protocol,
    [
        lave.PROTOCOL,
        prometheus.PROTOCOL,
        feedback_preference.PROTOCOL,
        llava_bench.PROTOCOL,
        captions.PROTOCOL,
        chirp_pairs.PROTOCOL,
        chirp_grading.PROTOCOL,
        likelihood.PROTOCOL,
        harmonic.PROTOCOL,
        fleur.PROTOCOL,
        failure_labels.PROTOCOL,
        jury.PROTOCOL,
    ],
)


def identify_judge(
    alias: str,
    protocol: Protocol,
    options: Any,
    models: Models,
    benchmarks: tuple[str, ...],
    image_max_side: int,
    local: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
    forms: Mapping[str, AnswerForm] = MappingProxyType({}),
    members: Sequence[Identity] = (),
) -> Identity:
    """The identity of an LLM or VLM judge, or of a jury of `members`; how images are shown is part
    of every judge's call signature that can see them.

    `local`: endpoint name -> what signs the model that runs in the worker's own process, of the
    endpoints that have one. `forms`: endpoint name -> the form of its answers.
    """
    wants = protocol.joins(options, members) if protocol.joins else protocol.wants(options)
    call, reading = protocol.call_signature(options, models), protocol.reading_signature(options)
    if hasattr(options, "image"):
        shown = {True: "true", "swapped": f"swapped-{wants.seed}"}.get(options.image, "absent")
        call |= {"image": shown} | ({} if shown == "absent" else {"image_max_side": image_max_side})
    for name, signed in local.items():
        call |= {_sign_key(name, key): value for key, value in signed.items()}
    for name, form in forms.items():
        call |= {} if form == "free" else {_sign_key(name, "answer_form"): form}
    if members:
        call["members"] = " and ".join(f"{member.judge_id}/{member.reading}" for member in members)
    return Identity(
        kind="captioner" if wants.unit == "image" else protocol.kind,
        alias=alias,
        judge_id=judge_id(call),
        reading=digest_json(reading)[:8],
        call_signature=format_signature(call),
        reading_signature=format_signature(reading),
        benchmarks=benchmarks,
        wants=wants,
    )


def _sign_key(endpoint: str, key: str) -> str:
    return key if endpoint == JUDGE else f"{endpoint}_{key}"


def format_signature(signature: Mapping[str, object]) -> str:
    """A signature as people read it beside a number: `protocol:lave|model:...|shots:8|...`."""
    return "|".join(f"{key}:{value}" for key, value in signature.items())
