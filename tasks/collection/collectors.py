"""The collectors of feedback in their order, and every protocol by its name: those of judges, of
collectors and of answerers.
"""

from judgelake.tasks.answering.answerer import ANSWERER
from judgelake.tasks.collection import augmentation, instructions, responses, rubrics
from judgelake.tasks.judging.protocol import Protocol
from judgelake.tasks.judging.protocols import PROTOCOLS

COLLECTORS = {
    module.COLLECTOR.name: module.COLLECTOR
    for module in (rubrics, instructions, responses, augmentation)
}
"""Name -> collector. A suite names none of them: its block `collection` means them."""
GENERATORS = {**COLLECTORS, ANSWERER.name: ANSWERER}


def find_protocol(name: str) -> Protocol:
    """A judge's protocol, a collector or the protocol of answerers, by name."""
    return GENERATORS[name] if name in GENERATORS else PROTOCOLS[name]
