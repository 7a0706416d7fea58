"""The tokenisers of the reference metrics by the names that signatures carry; each gives the tokens
of many strings.

The PTB rules and the Java program behind `ptb` have modules of their own; what is counted on tokens
belongs to the metrics.
"""

import re
import string
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module

from judgelake.tasks.errors import MetricError
from judgelake.tasks.metrics.ptb_tokenizer import tokenise_ptb

Tokenise = Callable[[Sequence[str]], list[list[str]]]

# the order of mteval-v13a: `&quot;` before `&amp;`
_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
# mteval-v13a: all ASCII punctuation but the apostrophe, comma, hyphen and period
_SYMBOL = re.compile(r"""[!-&(-+/:-@[-`{-~]""")
# mteval-v13a: a period or comma stays only between two digits
_MARK_AFTER_OTHER, _MARK_BEFORE_OTHER = re.compile(r"([^0-9])([.,])"), re.compile(r"([.,])([^0-9])")
# mteval-v13a: a hyphen is split off only behind a digit
_DASH_AFTER_DIGIT = re.compile(r"([0-9])-")
_DROP_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")  # SQuAD's rule
# rouge_score drops every other character
_ALPHANUMERIC = re.compile(r"[a-z0-9]+")


def normalise_squad(text: str) -> str:
    """Lower case, then no ASCII punctuation, no English articles, single spaces."""
    bare = text.lower().translate(_DROP_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def tokenise_13a(texts: Sequence[str]) -> list[list[str]]:
    """The tokens of NIST's mteval-v13a, as sacrebleu's BLEU gives them (Post 2018)."""
    return [_split_13a(text) for text in texts]


def _split_13a(text: str) -> list[str]:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, mark in _ENTITIES if "&" in text else ():
        text = text.replace(entity, mark)
    text = _SYMBOL.sub(r" \g<0> ", f" {text} ")
    text = _MARK_AFTER_OTHER.sub(r"\1 \2 ", text)
    text = _MARK_BEFORE_OTHER.sub(r" \1 \2", text)
    return _DASH_AFTER_DIGIT.sub(r"\1 - ", text).split()


def tokenise_intl(texts: Sequence[str]) -> list[list[str]]:
    """The tokens of mteval-v14's international rules, as sacrebleu's BLEU gives them: marks of any
    script stand alone.
    """
    after, before, symbol = _compile_intl()
    return [
        symbol.sub(r" \g<0> ", before.sub(r" \1 \2", after.sub(r"\1 \2 ", text.rstrip()))).split()
        for text in texts
    ]


@cache
def _compile_intl() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    kinds: dict[str, list[str]] = {"N": [], "P": [], "S": []}
    for character in map(chr, range(sys.maxunicode + 1)):
        kinds.get(unicodedata.category(character)[0], []).append(character)
    numbers, marks, symbols = (re.escape("".join(kinds[kind])) for kind in "NPS")
    return (
        # mteval's international rules: a mark apart from what is no number before it, and after
        # it; each symbol apart
        re.compile(f"([^{numbers}])([{marks}])"),
        re.compile(f"([{marks}])([^{numbers}])"),
        re.compile(f"[{symbols}]"),
    )


def tokenise_characters(texts: Sequence[str]) -> list[list[str]]:
    """Every character but spaces."""
    return [list("".join(text.split())) for text in texts]


def tokenise_spaces(texts: Sequence[str]) -> list[list[str]]:
    """What stands between spaces, for texts that are tokens already."""
    return [text.split() for text in texts]


def tokenise_rouge(texts: Sequence[str]) -> list[list[str]]:
    """Runs of ASCII letters and digits in lower case, rouge_score's default."""
    return [_ALPHANUMERIC.findall(text.lower()) for text in texts]


def tokenise_rouge_stems(texts: Sequence[str]) -> list[list[str]]:
    """The same with the Porter stems of words longer than three letters, rouge_score's
    `use_stemmer`.
    """
    stem = _load_stemmer()
    return [[stem(word) for word in words] for words in tokenise_rouge(texts)]


@cache
def _load_stemmer() -> Callable[[str], str]:
    try:
        porter = import_module("nltk.stem.porter")
    except ImportError as error:
        raise MetricError(
            "rouge_stem: the package nltk is missing; expected its Porter stemmer; run `pip "
            "install nltk`"
        ) from error
    stem = porter.PorterStemmer().stem
    return lru_cache(maxsize=1 << 18)(lambda word: stem(word) if len(word) > 3 else word)


def tokenise_squad(texts: Sequence[str]) -> list[list[str]]:
    """Words of SQuAD's normalised answer (Rajpurkar et al. 2016)."""
    return [normalise_squad(text).split() for text in texts]


TOKENIZERS: Mapping[str, Tokenise] = {
    "ptb": tokenise_ptb,
    "13a": tokenise_13a,
    "intl": tokenise_intl,
    "char": tokenise_characters,
    "none": tokenise_spaces,
    "rouge": tokenise_rouge,
    "rouge_stem": tokenise_rouge_stems,
    "squad": tokenise_squad,
}
"""Names as signatures carry them. `ptb` gives tokens that may hold a no-break space, as in `1 1/2`,
where pycocoevalcap's BLEU and CIDEr split once more and its ROUGE-L does not."""
