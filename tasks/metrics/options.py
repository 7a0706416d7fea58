"""What can be chosen of each kind of metric. Every option that changes a number stands in the metric's signature."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tasks.settings import Place, convert, expand


@dataclass(frozen=True)
class NoOptions:
    """A metric in one form only."""


@dataclass(frozen=True)
class DocumentSource:
    """Where a metric counts before it scores: in the references of the benchmark, or of `file` (`tasks.metrics.documents`)."""

    file: Path | None = None

    @classmethod
    def from_yaml(cls, place: Place, key: str) -> DocumentSource:
        """`references`, or the path of a file, relative to the suite file."""
        return cls(None if expand(place) == "references" else convert(Path, place, key))


@dataclass(frozen=True)
class BleuOptions:
    """BLEU-`order` as pycocoevalcap (`coco`) or sacrebleu computes it; their own tokenizers are `ptb` and `13a`."""

    order: Literal[1, 2, 3, 4] = 4
    style: Literal["coco", "sacrebleu"] = "coco"
    tokenizer: Literal["ptb", "13a", "intl", "char", "none"] | None = None

    @property
    def used_tokenizer(self) -> str:
        """The tokenizer chosen, else the style's own."""
        return self.tokenizer or {"coco": "ptb", "sacrebleu": "13a"}[self.style]


@dataclass(frozen=True)
class RougeOptions:
    """ROUGE-`variant` as pycocoevalcap (`coco`) or rouge_score computes it; `stemmer` is rouge_score's."""

    variant: Literal[1, "l"] = "l"
    style: Literal["coco", "rouge_score"] = "coco"
    stemmer: bool = False

    def __post_init__(self) -> None:
        if self.stemmer and self.style != "rouge_score":
            raise ValueError(f"stemmer: true; expected with `style: rouge_score` only, {self.style} has none; remove it")

    @property
    def used_tokenizer(self) -> str:
        """The style's own tokenizer."""
        return {"coco": "ptb", "rouge_score": "rouge_stem" if self.stemmer else "rouge"}[self.style]


@dataclass(frozen=True)
class CiderOptions:
    """CIDEr-D (`d`), which is what pycocoevalcap and the papers that use it call CIDEr, or CIDEr without its clipping and penalty.

    Document frequencies are those of `df`: in `references`, a document is the references of one answer of the benchmark, so that an
    item counts as often as it is answered, as when pycocoevalcap is run over all answers at once.
    """

    variant: Literal["d", "plain"] = "d"
    df: DocumentSource = DocumentSource()
    tokenizer: Literal["ptb", "13a", "none"] = "ptb"
