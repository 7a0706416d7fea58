"""A judge of a suite: its protocol with options, and the endpoints of its models. What a protocol's
options do is in the protocol's own module.
"""

import dataclasses
import importlib.util
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from judgelake.tasks.backends.endpoint import OF_THE_JUDGE, BackendKind, EndpointSettings, Slot
from judgelake.tasks.backends.prices import Price
from judgelake.tasks.backends.registry import BACKENDS
from judgelake.tasks.collection.collectors import find_protocol
from judgelake.tasks.errors import nearest
from judgelake.tasks.judging.paper_prompts import check_paper_prompts
from judgelake.tasks.judging.protocols import PROTOCOLS, identify_judge
from judgelake.tasks.metrics.registry import METRICS
from judgelake.tasks.settings import (
    NAME,
    Place,
    build,
    entries,
    expand,
    frozen_settings,
    read_kind,
    read_value,
)
from judgelake.tasks.types import JUDGE, AnswerForm, Identity, Models


@frozen_settings
class NoEndpoint(EndpointSettings):
    """What a judge that asks no model has in place of an endpoint: of its settings only
    `benchmarks` can be given.
    """

    def __post_init__(self) -> None:
        """There is no model to miss."""


Prompts = Literal["own", "paper"]


@dataclass(frozen=True)
class JudgeSettings:
    """One judge of a suite. `others`: endpoints of the protocol's further models (an extractor, for
    example) that the suite sets; the rest use `endpoint`. `members`: the judges of a jury.
    `prompts: paper`: it asks in its paper's words, which are the user's (`templates`).
    """

    alias: str
    protocol: str
    endpoint: EndpointSettings
    options: Any
    others: Mapping[str, EndpointSettings] = field(default_factory=dict)
    members: "tuple[JudgeSettings, ...]" = ()
    prompts: Prompts = "own"

    @property
    def asks(self) -> bool:
        """Whether it asks a model."""
        return find_protocol(self.protocol).joins is None

    @property
    def endpoints(self) -> dict[str, EndpointSettings]:
        """Endpoint name -> its settings, for every endpoint of the protocol."""
        named = {
            name: self.others.get(name, self.endpoint)
            for name in find_protocol(self.protocol).endpoints
        }
        return {JUDGE: self.endpoint, **named}

    @property
    def live(self) -> "JudgeSettings":
        """The same judge with all its endpoints asked live."""
        others = {name: endpoint.live for name, endpoint in self.others.items()}
        return dataclasses.replace(self, endpoint=self.endpoint.live, others=others)

    @property
    def prices(self) -> dict[str, Price | None]:
        """Endpoint name -> the price of its model (None: not known)."""
        return {name: endpoint.known_price for name, endpoint in self.endpoints.items()}

    @property
    def slot(self) -> Slot:
        """The kind of worker slot that the judge needs: `GPU` where one of its models runs on a
        GPU.
        """
        slots = {endpoint.slot for endpoint in self.endpoints.values()}
        return "GPU" if "GPU" in slots else "ENDPOINT"

    @property
    def models(self) -> Models:
        """Endpoint name -> requested model."""
        return {name: endpoint.model for name, endpoint in self.endpoints.items()}

    @property
    def forms(self) -> dict[str, AnswerForm]:
        """Endpoint name -> the form in which its answers are asked for."""
        form: AnswerForm = getattr(self.options, "answer_form", "free")
        return {name: endpoint.find_form(form) for name, endpoint in self.endpoints.items()}

    def identify(self, every: tuple[str, ...]) -> Identity:
        """The judge's identity in the lake. `every`: the suite's benchmarks, all of which it judges
        unless it names some.
        """
        benchmarks = self.endpoint.benchmarks or every
        signed = {name: endpoint.sign() for name, endpoint in self.endpoints.items()}
        if find_protocol(self.protocol).kind == "answerer":  # an answer says where it is from
            signed[JUDGE] = {"backend": self.endpoint.backend, **signed[JUDGE]}
        if self.prompts == "paper":
            signed[JUDGE] = {"prompts": "paper", **signed[JUDGE]}
        return identify_judge(
            self.alias,
            find_protocol(self.protocol),
            self.options,
            self.models,
            benchmarks,
            self.endpoint.image_max_side,
            signed,
            self.forms,
            [member.identify(every) for member in self.members],
        )


PEOPLE = "human"
"""People in the column of judges of a report."""


def read_judge(alias: str, place: Place, benchmarks: Mapping[str, object]) -> JudgeSettings:
    """Read one entry of a suite's `judges`; raises SuiteError naming the line."""
    if not NAME.fullmatch(alias) or alias in METRICS or alias == PEOPLE:
        what = "is a metric's name" if alias in METRICS else "is not a valid alias"
        what = "is what reports call people" if alias == PEOPLE else what
        raise place.fail(
            f"judge {alias!r} {what}; expected lower-case letters, digits, '_', '.', '-' and "
            f"no metric's name; rename it"
        )
    protocol = read_kind(place, "protocol", PROTOCOLS)
    options_type, names = PROTOCOLS[protocol].options, PROTOCOLS[protocol].endpoints
    own = {part.name for part in dataclasses.fields(options_type)} | {"protocol", *names}
    own.add("prompts")
    places = entries(place)
    asks = PROTOCOLS[protocol].joins is None
    endpoint: EndpointSettings
    if asks:
        endpoint = read_endpoint(place, own)
        settings = {part.name for part in dataclasses.fields(endpoint)}
        shared = settings | {"protocol", "backend", "prompts", *names}
    else:
        endpoint = build(NoEndpoint, place, skip={*places} - {"benchmarks"})
        shared = {"protocol", "benchmarks"}
    for name in endpoint.benchmarks:
        if name not in benchmarks:
            raise places["benchmarks"].fail(
                f"benchmarks: the suite has no {name!r}; {nearest(name, benchmarks)}"
            )
    others = {
        name: read_endpoint(places[name], {*OF_THE_JUDGE}) for name in names if name in places
    }
    options = build(options_type, place, skip=shared)
    prompts = read_prompts(places["prompts"], protocol, options) if "prompts" in places else "own"
    judge = JudgeSettings(alias, protocol, endpoint, options, others, prompts=prompts)
    # a template, rubric or demonstration that cannot be read is an error here, before anything
    # starts
    if asks:
        judge.identify(tuple(benchmarks))
    return judge


def read_prompts(place: Place, protocol: str, options: Any) -> Prompts:
    """Whose words a judge asks in; raises SuiteError where those of the paper are not there."""
    prompts: Prompts = read_value(Prompts, place, "prompts")
    try:
        if prompts == "paper":
            check_paper_prompts(protocol, options)
    except ValueError as error:
        raise place.fail(str(error)) from None
    return prompts


def seat_juries(
    judges: Mapping[str, JudgeSettings], places: Mapping[str, Place]
) -> dict[str, JudgeSettings]:
    """The judges, juries with their members; `places` are theirs in the suite. Raises SuiteError
    where a jury cannot be made of its members.
    """
    asked = {alias: judge for alias, judge in judges.items() if judge.asks}
    return {
        alias: judge if judge.asks else _seat_jury(judge, asked, places)
        for alias, judge in judges.items()
    }


def _seat_jury(
    jury: JudgeSettings, asked: Mapping[str, JudgeSettings], places: Mapping[str, Place]
) -> JudgeSettings:
    own = entries(places[jury.alias])
    for name in jury.options.members:
        if name not in asked:
            what = "is a jury" if name in places else "is no judge of the suite"
            raise own["members"].fail(f"members: {name!r} {what}; {nearest(name, asked)}")
    seated = dataclasses.replace(jury, members=tuple(asked[name] for name in jury.options.members))
    try:
        seated.identify(())
    except ValueError as error:
        raise own.get(str(error).partition(":")[0], places[jury.alias]).fail(str(error)) from None
    return seated


def find_left_out(places: Mapping[str, Place]) -> dict[str, tuple[str, ...]]:
    """Judge -> the packages that it says it needs and that are not installed, of those that lack
    any; a jury lacks what its members lack. The other settings of such a judge are not read, since
    they may name files of a package.
    """
    lacks = {alias: _find_lacks(place) for alias, place in places.items()}
    for alias, place in places.items():
        of_members = (
            package for name in _list_names(place, "members") for package in lacks.get(name, ())
        )
        lacks[alias] = tuple(dict.fromkeys([*lacks[alias], *of_members]))
    return {alias: packages for alias, packages in lacks.items() if packages}


def _find_lacks(place: Place) -> tuple[str, ...]:
    names = _list_names(place, "needs")
    return tuple(name for name in names if importlib.util.find_spec(name) is None)


def _list_names(place: Place, key: str) -> list[str]:
    """The texts of a list among a judge's settings; none where it is no list."""
    given = entries(place).get(key)
    if given is None or not isinstance(given.node, yaml.SequenceNode):
        return []
    return [expand(Place(place.file, node)) for node in given.node.value]


def read_endpoint(place: Place, others: Collection[str]) -> EndpointSettings:
    """The settings of the backend that a mapping names; `others` are keys of other settings."""
    kind = BACKENDS[read_kind(place, "backend", BACKENDS)]
    own = {part.name for part in dataclasses.fields(kind.settings)}
    for key, value in entries(place).items():
        if key not in own and key not in others:
            takers = [known.name for known in BACKENDS.values() if _has_key(known, key)]
            if takers:
                text = expand(value) if isinstance(value.node, yaml.ScalarNode) else "given"
                raise value.fail(
                    f"{key}: {text}; expected with `backend: {' or '.join(takers)}` only; remove it"
                )
    return build(kind.settings, place, skip={*others, "backend"})


def _has_key(kind: BackendKind, key: str) -> bool:
    return any(part.name == key for part in dataclasses.fields(kind.settings))


def expect_prices(judges: Mapping[str, JudgeSettings], place: Place) -> None:
    """Raise a SuiteError that names the line where a model of `judges`, the mapping at `place`, has
    no known price.
    """
    for alias, judge in judges.items():
        for name, endpoint in judge.endpoints.items():
            if endpoint.known_price is None:
                judge_places = entries(entries(place)[alias])
                where = entries(judge_places[name]) if name in judge.others else judge_places
                raise where["model"].fail(
                    f"judge {alias!r}: the price of {endpoint.model!r} at "
                    f"{endpoint.host} is not "
                    "known, and limits.budget_usd needs it; expected a model of the price "
                    "table, or its price; "
                    "add `price: {input: 0.15, output: 0.60}` (USD per million tokens, 0 where "
                    "it is free)"
                )


def list_clients(judges: Mapping[str, JudgeSettings]) -> list[str]:
    """The modules by which judges are asked live. A judge that asks nobody has no backend."""
    endpoints = [
        endpoint for judge in judges.values() if judge.asks for endpoint in judge.endpoints.values()
    ]
    return sorted({BACKENDS[endpoint.backend].client or "" for endpoint in endpoints} - {""})
