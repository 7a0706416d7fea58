"""Keeps text that spells a control token, such as `<|im_end|>` in an answer, from becoming that
token: an answer must not end the user's turn, or put another image into the prompt.

A character that no text has is put into the spelling before the tokenizer sees it, and its tokens
are taken out again: the model reads the spelling letter by letter. What a tokenizer's normaliser
makes a spelling of (`＜end＞`) is found by the ids that it gives.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from judgelake.tasks.types import Message

_BREAK = "\ufdd0"
"""A noncharacter of Unicode: it is in no text, and no tokenizer has learnt it."""
_BLANK = " "
"""Breaks a spelling where a tokenizer's normaliser drops the noncharacter."""
_ANCHOR = "a"


class ControlTokens:
    """The control tokens of a tokenizer, a chat template and a processor."""

    def __init__(self, tokenizer: Any, processor: Any) -> None:
        self._tokenizer = tokenizer
        template = str(getattr(processor or tokenizer, "chat_template", None) or "")
        marks = {
            token.content
            for token in tokenizer.added_tokens_decoder.values()
            # others, such as runs of blanks or `<table>`, are ordinary text
            if token.special or token.content in template
        }
        own = vars(processor) if processor is not None else {}  # such as image_token
        marks |= {str(mark) for name, mark in own.items() if name.endswith("_token") and mark}
        marks = {mark for mark in marks if mark.strip()}
        # The longest spelling first: one may begin another.
        words = "|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True))
        self._marks = re.compile(words) if words else None
        self._ids = self._find_ids(marks)
        self._break_ids = self._find_break_ids()
        self._break_one = lru_cache(None)(self._find_broken)

    def break_spelling(self, text: str) -> str:
        """`text` in which no control token is spelled; raises ValueError where it cannot be."""
        if self._marks is None:
            return text
        text = self._marks.sub(lambda mark: self._break_one(mark[0]), text.replace(_BREAK, ""))
        for part in (_BREAK.join, _BLANK.join, lambda _: _BLANK):
            places = self._find_control(text)
            if not places:
                return text
            for start, end in reversed(places):
                text = text[:start] + part(text[start:end]) + text[end:]
        if self._find_control(text):
            raise ValueError(
                "the text gives control tokens of the model's tokenizer; expected one that can be "
                "kept apart from them; use a model with a fast tokenizer"
            )
        return text

    def break_messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The messages in whose texts no control token is spelled."""
        return tuple(
            Message(message.role, self.break_spelling(message.text), message.images)
            for message in messages
        )

    def find_kept(self, ids: Sequence[int]) -> list[int]:
        """The places of the ids that are not the break's own."""
        size, places, at = len(self._break_ids), list[int](), 0
        if not size or self._break_ids[0] not in ids:
            return [*range(len(ids))]
        while at < len(ids):
            if size and tuple(ids[at : at + size]) == self._break_ids:
                at += size
            else:
                places.append(at)
                at += 1
        return places

    def tokenise(self, text: str) -> list[int]:
        """The ids of a text without any control token; raises ValueError as `break_spelling`."""
        ids = self._tokenise(self.break_spelling(text))
        return [ids[at] for at in self.find_kept(ids)]

    def _find_control(self, text: str) -> list[tuple[int, int]]:
        """Where the tokenizer makes control tokens of a text; (0, 0) where it says no places."""
        is_fast = self._tokenizer.is_fast
        encoded = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=is_fast)
        ids = encoded["input_ids"]
        places = encoded["offset_mapping"] if is_fast else [(0, 0)] * len(ids)
        found = (place for number, place in zip(ids, places, strict=True) if number in self._ids)
        return sorted(set(found))

    def _find_ids(self, marks: Iterable[str]) -> set[int]:
        """The ids of the control tokens. `<unk>`, which any sign gives that the tokenizer has not
        learnt, is among them only where it begins or ends texts as well.
        """
        tokenizer = self._tokenizer
        harmless = {tokenizer.unk_token_id} - {tokenizer.bos_token_id, tokenizer.eos_token_id}
        return {tokenizer.convert_tokens_to_ids(mark) for mark in marks} - harmless

    def _find_broken(self, mark: str) -> str:
        broken = mark[0] + _BREAK + mark[1:]
        number = self._tokenizer.convert_tokens_to_ids(mark)
        if number not in self._tokenise(broken):
            return broken
        return mark[0] + _BLANK + mark[1:] if len(mark) > 1 else _BLANK

    def _find_break_ids(self) -> tuple[int, ...]:
        """The tokens of the break between two letters; none where they cannot be known apart."""
        if not self._tokenizer.is_fast:
            return ()
        encoded = self._tokenizer(
            _ANCHOR + _BREAK + _ANCHOR, add_special_tokens=False, return_offsets_mapping=True
        )
        ids = tuple(
            number
            for number, place in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
            if place == (1, 2)
        )
        return () if self._tokenizer.unk_token_id in ids else ids

    def _tokenise(self, text: str) -> list[int]:
        ids = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return [int(number) for number in ids]
