"""The collectors of feedback in their order, beside the protocols of judges."""

from judgelake.tasks.collection import instructions, responses, rubrics
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.protocols import PROTOCOLS

COLLECTORS = {
    one.name: one for one in (rubrics.COLLECTOR, instructions.COLLECTOR, responses.COLLECTOR)
}
"""Name -> collector. A suite names none of them: its block `collection` means all three."""


def find_protocol(name: str) -> Protocol:
    """A judge's protocol or a collector, by name."""
    return COLLECTORS[name] if name in COLLECTORS else PROTOCOLS[name]
