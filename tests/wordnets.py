"""A WordNet of a dozen nouns in the files that nltk reads, for tests: WordNet itself is not at hand
everywhere.
"""

from collections.abc import Mapping
from pathlib import Path

ENTRIES: Mapping[str, tuple[tuple[str, ...], str | None]] = {
    "entity": (("entity",), None),
    "physical": (("physical_entity",), "entity"),
    "matter": (("matter",), "physical"),
    "food": (("food",), "matter"),
    "produce": (("vegetable", "veggie"), "food"),
    "carrot": (("carrot",), "produce"),
    "place": (("place",), "matter"),
    "field": (("field", "grassland"), "place"),
    "picture": (("film",), "place"),
    "game": (("video_game",), "place"),
}
"""Entry -> its lemmas and the entry above it."""

_EMPTY = ("cntlist.rev", "index.sense", *(f"{kind}.exc" for kind in ("adj", "adv", "noun", "verb")))
_LICENCE = "  1 WordNet 3.0 Copyright 2006  \n"


def write_wordnet(folder: Path) -> Path:
    """Write it as `corpora/wordnet` of an nltk data folder."""
    root = folder / "corpora" / "wordnet"
    root.mkdir(parents=True)
    for name in _EMPTY:
        (root / name).write_text("")
    (root / "lexnames").write_text("00\tnoun.Tops\t1\n")
    for kind in ("adj", "adv", "verb"):
        (root / f"data.{kind}").write_text(_LICENCE)
        (root / f"index.{kind}").write_text(_LICENCE)
    offsets = _place_entries()
    (root / "data.noun").write_text(
        _LICENCE + "".join(_write_entry(name, offsets) for name in ENTRIES)
    )
    lemmas = {lemma: offsets[name] for name, (names, _) in ENTRIES.items() for lemma in names}
    (root / "index.noun").write_text(
        _LICENCE + "".join(f"{lemma} n 1 0 1 0 {at:08}  \n" for lemma, at in sorted(lemmas.items()))
    )
    return folder


def _place_entries() -> dict[str, int]:
    """Where in the file each entry's line begins: offsets have eight digits, so lines are as long
    with any.
    """
    places, at, blank = dict[str, int](), len(_LICENCE), dict.fromkeys(ENTRIES, 0)
    for name in ENTRIES:
        places[name] = at
        at += len(_write_entry(name, blank))
    return places


def _write_entry(name: str, offsets: Mapping[str, int]) -> str:
    lemmas, above = ENTRIES[name]
    words = " ".join(f"{lemma} 0" for lemma in lemmas)
    pointers = "000" if above is None else f"001 @ {offsets[above]:08} n 0000"
    return f"{offsets[name]:08} 00 n {len(lemmas):02x} {words} {pointers} | {name}  \n"
