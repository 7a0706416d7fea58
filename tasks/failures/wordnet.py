"""WordNet as the failure rules ask it, through nltk where nltk and its corpus are installed. What
senses are compared for is elsewhere.

Neither is a dependency: `pip install nltk`, then `python -m nltk.downloader wordnet` (10 MB) where
there is a network.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

_PLACES = {
    "corpora/wordnet": "corpora/wordnet",
    "corpora/wordnet.zip": "corpora/wordnet.zip/wordnet/",
}
"""File or folder of nltk's data -> what nltk calls the corpus in it."""
_LEAST_DEPTH = 3
"""Nouns nearer the root (entity, object, abstraction) are above every sense, related or not."""


class WordNet(Protocol):
    """Senses of phrases, and the senses above a sense."""

    @property
    def version(self) -> str:
        """Which WordNet it is."""
        ...

    def find_senses(self, phrase: str) -> frozenset[str]:
        """Names of the senses of a phrase of lower-case words; inflected forms count as their base
        form.
        """
        ...

    def find_ancestors(self, sense: str) -> frozenset[str]:
        """Names of all senses above one, the most general left out."""
        ...


@dataclass(frozen=True)
class NltkWordNet:
    """The corpus reader of nltk."""

    reader: Any

    @property
    def version(self) -> str:
        """As the corpus says."""
        return str(self.reader.get_version())

    @lru_cache(maxsize=1 << 16)  # noqa: B019  # one reader a process
    def find_senses(self, phrase: str) -> frozenset[str]:
        """Of all parts of speech."""
        return frozenset(synset.name() for synset in self.reader.synsets(phrase.replace(" ", "_")))

    @lru_cache(maxsize=1 << 16)  # noqa: B019
    def find_ancestors(self, sense: str) -> frozenset[str]:
        """On every path to a root."""
        above = {
            synset for path in self.reader.synset(sense).hypernym_paths() for synset in path[:-1]
        }
        return frozenset(
            synset.name()
            for synset in above
            if synset.pos() != "n" or synset.min_depth() >= _LEAST_DEPTH
        )


@cache
def load_wordnet() -> WordNet | None:
    """The installed WordNet; None where nltk or its corpus is not there. Only with a corpus is nltk
    imported, which takes two seconds.
    """
    installed = [
        (folder, name)
        for folder in _list_folders()
        for file, name in _PLACES.items()
        if (folder / file).exists()
    ]
    if not installed:
        return None
    try:
        data, corpora = import_module("nltk.data"), import_module("nltk.corpus.reader.wordnet")
    except ImportError:
        return None
    folder, name = installed[0]
    if (
        str(folder) not in data.path
    ):  # the reader looks there itself, and nltk read NLTK_DATA when it was first imported
        data.path.insert(0, str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has no other languages
        return NltkWordNet(corpora.WordNetCorpusReader(data.find(name, [str(folder)]), None))


def _list_folders() -> Iterator[Path]:
    """Where nltk looks for its data."""
    yield from (
        Path(folder).expanduser()
        for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep)
        if folder
    )
    roots = (Path("~").expanduser(), *(Path(sys.prefix) / part for part in ("", "share", "lib")))
    yield from (root / "nltk_data" for root in roots)
    yield from (
        Path(root) / "nltk_data"
        for root in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib")
    )
