"""What a judge protocol is to those who plan, run and report it. Which ones there are is
`tasks.judging.protocols`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from judgelake.tasks.types import Case, Judge, Models, Wants


@dataclass(frozen=True)
class Protocol:
    """One way of judging: its name in a suite, its options, the cases it wants, its signatures, its
    generator, its models beside the judge's own (`endpoints`).

    An endpoint that a suite does not name is the judge's own. A protocol that
    `tells_missing_images` gives its criteria that see the text alone a verdict where an image is
    not there; of the others the whole case is `missing_image`. A `labeller` says what holds of an
    answer, not how good it is: its verdicts are no scores.
    """

    name: str
    options: type[Any]
    wants: Callable[[Any], Wants]
    call_signature: Callable[[Any, Models], dict[str, object]]
    reading_signature: Callable[[Any], dict[str, object]]
    judge: Callable[[Case, Any, Models], Judge]
    endpoints: tuple[str, ...] = ()
    tells_missing_images: bool = False
    kind: Literal["judge", "labeller"] = "judge"
