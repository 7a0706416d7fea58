"""The block `answerers` of a suite: the models that answer its items, and how each is asked.

The prompts are `tasks.answering`.
"""

import dataclasses
from collections.abc import Iterator, Mapping

from judgelake.tasks.answering.answerer import NAME as PROTOCOL
from judgelake.tasks.answering.answerer import STYLE_OF, AnswerOptions
from judgelake.tasks.errors import nearest
from judgelake.tasks.settings import NAME, Place, build, entries
from judgelake.tasks.suite.judges import JudgeSettings, expect_prices, read_endpoint


def read_answerers(
    place: Place, benchmarks: Mapping[str, object], has_budget: bool
) -> dict[str, JudgeSettings]:
    """Read a suite's `answerers`; raises SuiteError naming the line."""
    places = entries(place)
    answerers = {alias: _read_answerer(alias, part, benchmarks) for alias, part in places.items()}
    recorded: dict[tuple[str, str, str], str] = {}
    for alias, answerer in answerers.items():
        for key in _list_recorded(answerer, tuple(benchmarks)):
            other = recorded.setdefault(key, alias)
            if other != alias:
                model, style, benchmark = key
                raise places[alias].fail(
                    f"answerer {alias!r}: its answers to {benchmark} would be recorded as {style} "
                    f"answers of {model}, as those of {other!r} are; expected another model, style "
                    f"or benchmark; give it a `recorded_as` or `style` of its own"
                )
    if has_budget:
        expect_prices(answerers, place)
    return answerers


def _read_answerer(alias: str, place: Place, benchmarks: Mapping[str, object]) -> JudgeSettings:
    if not NAME.fullmatch(alias):
        raise place.fail(
            f"answerer {alias!r} is not a valid name; expected lower-case letters, digits, '_', "
            f"'.', '-'; rename it"
        )
    own = {part.name for part in dataclasses.fields(AnswerOptions)}
    endpoint = read_endpoint(place, own)
    places = entries(place)
    for name in endpoint.benchmarks:
        if name not in benchmarks:
            raise places["benchmarks"].fail(
                f"benchmarks: the suite has no {name!r}; {nearest(name, benchmarks)}"
            )
    options = build(AnswerOptions, place, skip={*places} - own)
    answerer = JudgeSettings(alias, PROTOCOL, endpoint, options)
    answerer.identify(tuple(benchmarks))  # a template that cannot be used is an error here
    return answerer


def _list_recorded(
    answerer: JudgeSettings, every: tuple[str, ...]
) -> Iterator[tuple[str, str, str]]:
    """The model, style and benchmark that its answers may be recorded under."""
    options: AnswerOptions = answerer.options
    model = options.recorded_as or answerer.endpoint.model
    for style in dict.fromkeys(map(options.find_style, STYLE_OF)):
        for benchmark in answerer.endpoint.benchmarks or every:
            yield model, style, benchmark
