"""Lists of protocols, sources, metrics and backends: ours, and those that installed packages add
through entry points. What such an object is, each list's own module says.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from judgelake.tasks.errors import JudgelakeError

GROUPS = ("judgelake.protocols", "judgelake.sources", "judgelake.metrics", "judgelake.backends")


class Named(Protocol):
    """What a list holds: an object with the name that a suite calls it by."""

    @property
    def name(self) -> str:
        """The name in a suite."""
        ...


def list_names(item: Named) -> set[str]:
    """All names that an object takes: its own, and those of its `choices`, where it has some."""
    return {item.name, *getattr(item, "choices", ())}


T = TypeVar("T", bound=Named)


class Registry(Mapping[str, T], Generic[T]):
    """Name -> object: our `own`, then those of the entry points in `group`, each of type `kind`.

    Packages are looked up when the list is first asked for a name that is not ours, or for all.
    Raises JudgelakeError where an entry point cannot be loaded, is of another type, or has a name
    that is taken.
    """

    def __init__(self, group: str, kind: type[T], own: Iterable[T]) -> None:
        self._group, self._kind = group, kind
        self.own: dict[str, T] = {extension.name: extension for extension in own}

    def __getitem__(self, name: str) -> T:
        return self.own[name] if name in self.own else self._added[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.own, **self._added})

    def __len__(self) -> int:
        return len({**self.own, **self._added})

    @cached_property
    def _added(self) -> Mapping[str, T]:
        added: dict[str, T] = {}
        taken = {name for item in self.own.values() for name in list_names(item)}
        for point in find_entry_points(self._group):
            loaded = self._load(point)
            twice = sorted(taken & list_names(loaded))
            if twice:
                raise JudgelakeError(
                    f"{_describe(point)}: the name {twice[0]!r} is taken; expected another; "
                    "rename it there, or uninstall one of the two packages"
                )
            taken |= list_names(loaded)
            added[loaded.name] = loaded
        return added

    def _load(self, point: EntryPoint) -> T:
        try:
            loaded = point.load()
        except Exception as error:
            raise JudgelakeError(
                f"{_describe(point)}: cannot be loaded ({type(error).__name__}: {error}); expected "
                f"an object of {self._kind.__name__}; mend or uninstall the package"
            ) from error
        if not isinstance(loaded, self._kind):
            raise JudgelakeError(
                f"{_describe(point)}: is {loaded!r}; expected an object of {self._kind.__name__}; "
                "mend or uninstall the package"
            )
        return loaded


@cache
def find_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """What installed packages add to a group, by name."""
    return tuple(sorted(entry_points(group=group), key=lambda point: (point.name, point.value)))


def list_packages() -> Mapping[str, str]:
    """Name -> version of the installed packages that add something."""
    points = (point for group in GROUPS for point in find_entry_points(group))
    return {point.dist.name: point.dist.version for point in points if point.dist is not None}


def _describe(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unknown package"
    return f"{package}: entry point {point.group}: {point.name} = {point.value}"
