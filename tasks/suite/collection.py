"""The block `collection` of a suite: over which images feedback is collected, of which model, and
how. What is asked is `tasks.collection`.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from judgelake.tasks.backends.endpoint import EndpointSettings, expect
from judgelake.tasks.collection.asking import GenerationOptions
from judgelake.tasks.collection.augmentation import AugmentationOptions, ReferenceMode
from judgelake.tasks.collection.instructions import InstructionOptions
from judgelake.tasks.collection.responses import ResponseOptions
from judgelake.tasks.collection.rubrics import RubricOptions
from judgelake.tasks.errors import nearest
from judgelake.tasks.settings import Place, SuitePath, build, entries, frozen_settings
from judgelake.tasks.suite.judges import JudgeSettings, read_endpoint
from judgelake.tasks.types import ImageMode


@frozen_settings
class CollectionOptions:
    """The defaults are those of Prometheus-Vision (section 2.1, appendix B.1).

    `benchmarks`: the benchmarks whose images are used. `augment`: the benchmarks whose items get a
    rubric, where they have none, and a reference answer that deserves its score 5: items that have
    no reference (`references: missing`), or all of these, in the place of short ones (`always`;
    appendix G.3). `file`: the JSON file of the released
    format that is written at the end; by default in the folder `collections` of the lake.
    `kinds`: whether the four examples of a prompt are general rubrics or those of a domain; with
    `both`, about half of the images get each. `seed_rubrics`: a YAML or JSON list of `{id, kind,
    criterion, levels, keywords}` in place of the 50 that are shipped. `refinements`: how often a
    rubric that does not fit its image is improved before it is given up. `instructions`: how many
    for each rubric. `most_similar`: a rubric whose ROUGE-L with a seed or an earlier rubric is as
    high is left out. `longest_ratio`: a response may be so many times as long as its reference
    answer, or as short. `image: absent` shows no image, for models that read text only.
    `templates`: a folder with prompts of your own.
    """

    benchmarks: tuple[str, ...] = ()
    augment: tuple[str, ...] = ()
    references: ReferenceMode = "missing"
    file: SuitePath | None = None
    image: ImageMode = True
    kinds: Literal["both", "general", "domain"] = "both"
    seed_rubrics: SuitePath | None = None
    refinements: int = 3
    instructions: int = 2
    most_similar: float = 0.7
    longest_ratio: float = 2.0
    temperature: float = 1.0
    top_p: float = 0.9
    max_tokens: int = 2048
    seed: int = 0
    templates: SuitePath | None = None

    def __post_init__(self) -> None:
        expect(self.image != "swapped", "image", self.image, "true or absent")
        given = bool(self.benchmarks or self.augment)
        expect(given, "benchmarks", "[]", "a benchmark of the suite here or in `augment`")
        expect(self.refinements >= 0, "refinements", self.refinements, "a whole number from 0")
        expect(self.instructions >= 1, "instructions", self.instructions, "a whole number from 1")
        expect(0 < self.most_similar <= 1, "most_similar", self.most_similar, "above 0, at most 1")
        expect(self.longest_ratio >= 1, "longest_ratio", self.longest_ratio, "a number from 1")
        expect(self.seed >= 0, "seed", self.seed, "a whole number from 0")


@dataclass(frozen=True)
class CollectionSettings:
    """The options, and the endpoint of the model that generates everything."""

    options: CollectionOptions
    endpoint: EndpointSettings

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The benchmarks whose images are used, and those whose items are augmented."""
        return tuple(dict.fromkeys((*self.options.benchmarks, *self.options.augment)))


def read_collection(
    place: Place, benchmarks: Mapping[str, object], has_budget: bool
) -> CollectionSettings:
    """Read a suite's `collection`; raises SuiteError naming the line."""
    places = entries(place)
    own = {part.name for part in dataclasses.fields(CollectionOptions)}
    asked = {*places} - own
    options = build(CollectionOptions, place, skip=asked)
    endpoint = read_endpoint(place, own)
    settings = CollectionSettings(options, endpoint)
    for key in ("benchmarks", "augment"):
        for name in getattr(options, key):
            if name not in benchmarks:
                raise places[key].fail(
                    f"{key}: the suite has no {name!r}; {nearest(name, benchmarks)}"
                )
    if has_budget and endpoint.known_price is None:
        raise places["model"].fail(
            f"collection: the price of {endpoint.model!r} is not known, and limits.budget_usd "
            f"needs it; expected its price; add `price: {{input: 0.15, output: 0.60}}` (USD per "
            f"million tokens, 0 where it is free)"
        )
    make_collectors(settings)  # a template or seed that cannot be used is an error here
    return settings


def make_collectors(settings: CollectionSettings) -> dict[str, JudgeSettings]:
    """The collectors as judges of a suite: of the three that make feedback each later one builds on
    the one before it.
    """
    given = {
        part.name: getattr(settings.options, part.name)
        for part in dataclasses.fields(CollectionOptions)
    }
    made: list[JudgeSettings] = []
    if settings.options.benchmarks:
        rubrics = _make(settings, "rubrics", RubricOptions, given)
        instructions = _make(settings, "instructions", InstructionOptions, given, rubrics)
        responses = _make(settings, "responses", ResponseOptions, given, instructions)
        made += [rubrics, instructions, responses]
    if settings.options.augment:
        made.append(_make(settings, "augmentation", AugmentationOptions, given))
    return {judge.alias: judge for judge in made}


def _make(
    settings: CollectionSettings,
    name: str,
    options: type[GenerationOptions],
    given: Mapping[str, Any],
    before: JudgeSettings | None = None,
) -> JudgeSettings:
    known = {part.name for part in dataclasses.fields(options)}
    own = {key: value for key, value in given.items() if key in known}
    if before is not None:
        identity = before.identify(settings.benchmarks)
        own["built_on"] = (identity.judge_id, identity.reading)
    benchmarks = settings.options.augment if name == "augmentation" else settings.options.benchmarks
    endpoint = dataclasses.replace(settings.endpoint, benchmarks=benchmarks)
    made = JudgeSettings(name, f"collect_{name}", endpoint, options(**own))
    made.identify(settings.benchmarks)
    return made
