"""Which judge protocols there are, and the identity of a suite's judges. What a protocol asks is
its own file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from judgelake.tasks.digests import digest_json, judge_id
from judgelake.tasks.judging import (
    captions,
    chirp_grading,
    chirp_pairs,
    failure_labels,
    feedback_preference,
    fleur,
    harmonic,
    lave,
    likelihood,
    prometheus,
)
from judgelake.tasks.judging import llava_bench as two_numbers
from judgelake.tasks.judging.captions import CaptionsOptions
from judgelake.tasks.judging.chirp_grading import ChirpGradingOptions
from judgelake.tasks.judging.chirp_pairs import ChirpOptions
from judgelake.tasks.judging.failure_labels import FailureLabelsOptions
from judgelake.tasks.judging.feedback_preference import FeedbackPreferenceOptions
from judgelake.tasks.judging.fleur import FleurOptions
from judgelake.tasks.judging.harmonic import HarmonicOptions
from judgelake.tasks.judging.lave import LaveOptions
from judgelake.tasks.judging.likelihood import LikelihoodOptions
from judgelake.tasks.judging.llava_bench import LlavaBenchOptions
from judgelake.tasks.judging.prometheus import PrometheusOptions
from judgelake.tasks.types import JUDGE, Case, Identity, Judge, Models, Wants


@dataclass(frozen=True)
class Protocol:
    """One way of judging: its options, the cases it wants, its signatures, its generator, its
    models beside the judge's own (`endpoints`).

    An endpoint that a suite does not name is the judge's own. A protocol that
    `tells_missing_images` gives its criteria that see the text alone a verdict where an image is
    not there; of the others the whole case is `missing_image`. A `labeller` says what holds of an
    answer, not how good it is: its verdicts are no scores.
    """

    options: type[Any]
    wants: Callable[[Any], Wants]
    call_signature: Callable[[Any, Models], dict[str, object]]
    reading_signature: Callable[[Any], dict[str, object]]
    judge: Callable[[Case, Any, Models], Judge]
    endpoints: tuple[str, ...] = ()
    tells_missing_images: bool = False
    kind: Literal["judge", "labeller"] = "judge"


PROTOCOLS: Mapping[str, Protocol] = {
    "lave": Protocol(
        LaveOptions, lave.list_wants, lave.call_signature, lave.reading_signature, lave.judge
    ),
    "prometheus": Protocol(
        PrometheusOptions,
        prometheus.list_wants,
        prometheus.call_signature,
        prometheus.reading_signature,
        prometheus.judge,
    ),
    "feedback_preference": Protocol(
        FeedbackPreferenceOptions,
        feedback_preference.list_wants,
        feedback_preference.call_signature,
        feedback_preference.reading_signature,
        feedback_preference.judge,
    ),
    "llava_bench": Protocol(
        LlavaBenchOptions,
        two_numbers.list_wants,
        two_numbers.call_signature,
        two_numbers.reading_signature,
        two_numbers.judge,
    ),
    "captions": Protocol(
        CaptionsOptions,
        captions.list_wants,
        captions.call_signature,
        captions.reading_signature,
        captions.judge,
    ),
    "chirp": Protocol(
        ChirpOptions,
        chirp_pairs.list_wants,
        chirp_pairs.call_signature,
        chirp_pairs.reading_signature,
        chirp_pairs.judge,
        chirp_pairs.ENDPOINTS,
    ),
    "chirp_grading": Protocol(
        ChirpGradingOptions,
        chirp_grading.list_wants,
        chirp_grading.call_signature,
        chirp_grading.reading_signature,
        chirp_grading.judge,
        chirp_grading.ENDPOINTS,
    ),
    "likelihood": Protocol(
        LikelihoodOptions,
        likelihood.list_wants,
        likelihood.call_signature,
        likelihood.reading_signature,
        likelihood.judge,
    ),
    "harmonic": Protocol(
        HarmonicOptions,
        harmonic.list_wants,
        harmonic.call_signature,
        harmonic.reading_signature,
        harmonic.judge,
        tells_missing_images=True,
    ),
    "fleur": Protocol(
        FleurOptions, fleur.list_wants, fleur.call_signature, fleur.reading_signature, fleur.judge
    ),
    "failure_labels": Protocol(
        FailureLabelsOptions,
        failure_labels.list_wants,
        failure_labels.call_signature,
        failure_labels.reading_signature,
        failure_labels.judge,
        kind="labeller",
    ),
}


def identify_judge(
    alias: str,
    protocol_name: str,
    options: Any,
    models: Models,
    benchmarks: tuple[str, ...],
    image_max_side: int,
    local: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> Identity:
    """The identity of an LLM or VLM judge; how images are shown is part of every judge's call
    signature that can see them.

    `local`: endpoint name -> what signs the model that runs in the worker's own process, of the
    endpoints that have one.
    """
    protocol = PROTOCOLS[protocol_name]
    wants = protocol.wants(options)
    call, reading = protocol.call_signature(options, models), protocol.reading_signature(options)
    if hasattr(options, "image"):
        shown = {True: "true", "swapped": f"swapped-{wants.seed}"}.get(options.image, "absent")
        call |= {"image": shown} | ({} if shown == "absent" else {"image_max_side": image_max_side})
    for name, signed in local.items():
        call |= {key if name == JUDGE else f"{name}_{key}": value for key, value in signed.items()}
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


def format_signature(signature: Mapping[str, object]) -> str:
    """A signature as people read it beside a number: `protocol:lave|model:...|shots:8|...`."""
    return "|".join(f"{key}:{value}" for key, value in signature.items())
