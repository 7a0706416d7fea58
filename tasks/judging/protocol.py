"""What a judge protocol offers to planning, runs and reports. The list of protocols is in
`tasks.judging.protocols`.
"""

import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from judgelake.tasks.types import Case, Identity, Judge, Models, Wants


class StartJudge(typing.Protocol):
    """A protocol's generator function; a shard gives it the options and models by name, once."""

    def __call__(self, case: Case, options: Any, models: Models) -> Judge:
        """The running protocol of one case."""


@dataclass(frozen=True)
class Protocol:
    """One way of judging: its name in a suite, its options, the cases it wants, its signatures, its
    generator, its models beside the judge's own (`endpoints`).

    An endpoint that a suite does not name is the judge's own. Where an image is missing, a protocol
    that `handles_missing_images` still judges the criteria that see the text alone; for others the
    whole case is `missing_image`. A `labeller` says what holds of an answer, not how good it is:
    its verdicts are no scores. A `collector` generates feedback to train on, an `answerer` the
    answers that are judged. A protocol that `joins` asks no model and has no endpoint: its cases
    follow from its options and the identities of the judges that they name as `members`.
    """

    name: str
    options: type[Any]
    wants: Callable[[Any], Wants]
    call_signature: Callable[[Any, Models], dict[str, object]]
    reading_signature: Callable[[Any], dict[str, object]]
    judge: StartJudge
    endpoints: tuple[str, ...] = ()
    handles_missing_images: bool = False
    kind: Literal["judge", "labeller", "collector", "answerer"] = "judge"
    joins: Callable[[Any, Sequence[Identity]], Wants] | None = None
