"""Requests as token ids: through the model's chat template where it has one, with its images
prepared; and token ids as text again.

Nothing is computed with the model's weights here (`tasks.backends.local.decoding`).
"""

import base64
import inspect
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from judgelake.tasks.backends.local.control_tokens import ControlTokens
from judgelake.tasks.backends.local.loading import Loaded
from judgelake.tasks.types import Answer, Image, Message, Request

# opened pictures that stay in memory: criteria and samples of a case share theirs
_PICTURES = 256
# tokens are spelled behind a letter, so that the tokenizer keeps their leading space
_ANCHOR = "a"


@dataclass(frozen=True)
class Prompt:
    """What goes into the model. `key` has a negative number where `ids` has an image's placeholder,
    one for each different picture.

    `tail`: ids after which, and before which, something is read, of a decoder-only model the last
    ones of `ids`; `read`: (how many of them come before, token) of each log-probability that is
    read, none where a reply is written. `labels`: each answer that ends here, and which of `read`
    make up its joint log-probability. `media`: tensors of the images; `per_token` and `positions`
    (axes, tokens): what the model wants beside each token, where it wants more than its place in
    the row.
    """

    ids: tuple[int, ...]
    key: tuple[int, ...]
    tail: tuple[int, ...] = ()
    read: tuple[tuple[int, int], ...] = ()
    labels: tuple[tuple[str, tuple[int, ...]], ...] = ()
    images_end: int = 0
    media: dict[str, Any] = field(default_factory=dict)
    per_token: dict[str, Any] = field(default_factory=dict)
    positions: Any = None
    adapted: str | None = None


class Prompter:
    """Makes prompts for one model; `encode_image` gives an image as a data URL."""

    def __init__(self, loaded: Loaded, encode_image: Callable[[Image], str]) -> None:
        self._loaded, self._tokenizer = loaded, loaded.tokenizer
        self._template = loaded.processor if loaded.processor is not None else loaded.tokenizer
        self._open = lru_cache(_PICTURES)(lambda image: open_picture(encode_image(image)))
        self._numbers: dict[Image, int] = {}
        self._takes = set(inspect.signature(loaded.model.forward).parameters) - {
            "labels"
        }  # PaliGemma's processor makes them
        self._mark = _find_mark(loaded)
        self._control = ControlTokens(loaded.tokenizer, loaded.processor)

    def make_rows(self, request: Request) -> list[Prompt]:
        """The prompt of a request, several where it is held to answers whose tokens need rows of
        their own; raises ValueError as `make`.
        """
        if request.form == "free" or request.answer is None:
            return [self.make(request)]
        text, images, is_templated, adapted = self._write(request)
        return self._hold(text, request.answer, images, adapted, special=not is_templated)

    def make(self, request: Request) -> Prompt:
        """The prompt of a request; raises ValueError where this model cannot be asked it."""
        text, images, is_templated, adapted = self._write(request)
        if images:
            return self._look(text, images, adapted)
        ids, scored = self._tokenise(
            text, self._control.break_spelling(request.scored), special=not is_templated
        )
        if not ids:
            raise ValueError("the prompt is empty; expected at least one token")
        n_before = 1 if self._loaded.kind == "seq2seq" else len(ids) - len(scored)
        tail = scored if n_before else scored[1:]
        return Prompt(ids, ids, tail, tuple(enumerate(tail)), adapted=adapted)

    def _write(self, request: Request) -> tuple[str, list[Image], bool, str | None]:
        """The conversation's text and its images, and what `_render` says of it."""
        images = [image for message in request.messages for image in message.images]
        if images and self._loaded.processor is None:
            raise ValueError(
                f"the model sees no images, and the request has {len(images)}; expected a "
                f"vision model"
            )
        if images and request.scored:
            raise ValueError(
                "a text cannot be scored after images; expected messages without images"
            )
        text, is_templated, adapted = self._render(self._control.break_messages(request.messages))
        return text, images, is_templated, adapted

    def _hold(
        self,
        text: str,
        answer: Answer,
        images: Sequence[Image],
        adapted: str | None,
        *,
        special: bool,
    ) -> list[Prompt]:
        """The prompts at whose ends the answers' last tokens are read, the opening before them."""
        opening = self._control.break_spelling(answer.opening.rstrip())
        space = answer.opening[len(answer.opening.rstrip()) :]
        if self._loaded.kind == "seq2seq":
            prompt = Prompt(*2 * (self._tokenise(text, "", special=special)[0],), adapted=adapted)
            begun = self._tokenise_alone(opening)
        else:
            prompt = (
                self._look(text + opening, images, adapted)
                if images
                else Prompt(
                    *2 * (self._tokenise(text + opening, "", special=special)[0],), adapted=adapted
                )
            )
            begun = ()
        spelled = {label: self._continue(opening, space + label) for label in answer.labels}
        stems = {ids[:-1] for ids in spelled.values()}
        ends = [stem for stem in stems if not any(_begins(stem, other) for other in stems)]
        return [self._read_after(prompt, begun, stem, spelled) for stem in sorted(ends)]

    def _read_after(
        self,
        prompt: Prompt,
        begun: tuple[int, ...],
        stem: tuple[int, ...],
        spelled: Mapping[str, tuple[int, ...]],
    ) -> Prompt:
        """The prompt with the tokens `stem` after it, and the answers that can be read along it."""
        tail, read = (*begun, *stem), list[tuple[int, int]]()
        labels = list[tuple[str, tuple[int, ...]]]()
        for label, ids in spelled.items():
            if ids[:-1] == stem[: len(ids) - 1]:
                labels.append((label, tuple(range(len(read), len(read) + len(ids)))))
                read += [(len(begun) + at, token) for at, token in enumerate(ids)]
        if self._loaded.kind != "seq2seq":
            prompt = _lengthen(prompt, stem)
        return replace(prompt, tail=tail, read=tuple(read), labels=tuple(labels))

    def _continue(self, opening: str, text: str) -> tuple[int, ...]:
        """The tokens of `text` as it stands after `opening`."""
        before, whole = self._tokenise_alone(opening), self._tokenise_alone(opening + text)
        ids = whole[len(before) :] if _begins(before, whole) else self._tokenise_alone(text)
        if not ids:
            raise ValueError(f"the answer {text!r} has no token; expected a text")
        return ids

    def _tokenise_alone(self, text: str) -> tuple[int, ...]:
        ids = self._tokenizer(text, add_special_tokens=False)["input_ids"] if text else ()
        return self._drop_breaks(ids)

    def _render(self, messages: Sequence[Message]) -> tuple[str, bool, str | None]:
        """The text of a conversation, whether a template made it, and what had to be changed for
        it.
        """
        if not getattr(self._template, "chat_template", None):
            marks = getattr(self._loaded.processor, "image_token", "")
            return (
                "\n".join(
                    f"{marks}\n" * len(message.images) + message.text for message in messages
                ),
                False,
                None,
            )
        try:
            return self._apply_template(messages), True, None
        except Exception as error:  # jinja's, of whatever the template objects to
            merged = _merge_system(messages)
            if merged == messages:
                raise ValueError(f"its chat template refuses the conversation: {error}") from None
        return self._apply_template(merged), True, "system message in the user's"

    def _apply_template(self, messages: Sequence[Message]) -> str:
        sees = self._loaded.processor is not None
        turns = [
            {"role": message.role, "content": _list_parts(message) if sees else message.text}
            for message in messages
        ]
        return str(
            self._template.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        )

    def _tokenise(
        self, text: str, scored: str, *, special: bool
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        tokenizer = self._tokenizer
        if self._loaded.kind == "seq2seq":
            decoded = tokenizer(scored, add_special_tokens=False)["input_ids"] if scored else ()
            ids = tokenizer(text, add_special_tokens=special)["input_ids"]
            return self._drop_breaks(ids), self._drop_breaks(decoded)
        if scored and not tokenizer.is_fast:
            head, tail = (
                tokenizer(text, add_special_tokens=special)["input_ids"],
                tokenizer(scored, add_special_tokens=False)["input_ids"],
            )
            tail = self._drop_breaks(tail)
            return (*self._drop_breaks(head), *tail), tail
        encoded = tokenizer(
            text + scored, add_special_tokens=special, return_offsets_mapping=bool(scored)
        )
        ids = tuple(encoded["input_ids"])
        if (
            len(ids) > 1
            and ids[-1] == tokenizer.eos_token_id
            and not text.endswith(tokenizer.eos_token)
        ):
            ids = ids[
                :-1
            ]  # some tokenizers end each text so, after which a model writes something else
        if not scored:
            return self._drop_breaks(ids), ()
        first = next(
            (at for at, (_, end) in enumerate(encoded["offset_mapping"]) if end > len(text)),
            len(ids),
        )
        return self._drop_breaks(ids), self._drop_breaks(ids[first:])

    def _drop_breaks(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(ids[at] for at in self._control.find_kept(ids))

    def _look(self, text: str, images: Sequence[Image], adapted: str | None) -> Prompt:
        processor = self._loaded.processor
        begins = bool(self._tokenizer.bos_token) and text.startswith(self._tokenizer.bos_token)
        pictures = [self._open(image) for image in images]
        inputs = dict(
            processor(
                text=[text], images=pictures, return_tensors="pt", add_special_tokens=not begins
            )
        )
        kept = self._control.find_kept(inputs["input_ids"][0].tolist())
        if len(kept) < inputs["input_ids"].shape[1]:
            whole = inputs["input_ids"].shape
            inputs = {
                name: value[:, kept] if value.shape == whole else value
                for name, value in inputs.items()
            }
        ids, mask = inputs.pop("input_ids"), inputs.pop("attention_mask", None)
        per_token = {name: value for name, value in inputs.items() if value.shape == ids.shape}
        media = {name: value for name, value in inputs.items() if name not in per_token}
        positions = self._find_positions(ids, mask, inputs)
        listed = tuple(ids[0].tolist())
        places = [at for at, token in enumerate(listed) if token == self._mark]
        if not places:
            raise ValueError(
                f"its processor puts no image into the prompt; expected the token {self._mark}"
            )
        return Prompt(
            listed,
            self._key(listed, places, images),
            images_end=places[-1] + 1,
            media={name: value for name, value in media.items() if name in self._takes},
            per_token={name: value for name, value in per_token.items() if name in self._takes},
            positions=positions,
            adapted=adapted,
        )

    def _key(
        self, ids: tuple[int, ...], places: Sequence[int], images: Sequence[Image]
    ) -> tuple[int, ...]:
        """The ids with a number for all the pictures together at each placeholder: prompts share
        them all or none.
        """
        seen = Image(
            "|".join(f"{image.uri}#{image.sha256}#{image.boxes}" for image in images), None
        )
        number = -1 - self._numbers.setdefault(seen, len(self._numbers))
        key = list(ids)
        for place in places:
            key[place] = number
        return tuple(key)

    def _find_positions(self, ids: Any, mask: Any, inputs: dict[str, Any]) -> Any:
        """Positions of several axes, where the model's rotary embedding has them for images
        (Qwen2-VL's and its kin).
        """
        compute = getattr(self._loaded.model.base_model, "get_rope_index", None)
        if compute is None:
            return None
        wanted = inspect.signature(compute).parameters
        given = {
            name: value
            for name, value in {**inputs, "input_ids": ids, "attention_mask": mask}.items()
            if name in wanted
        }
        return compute(**given)[0][:, 0]


class Speller:
    """Token ids as text: a reply whole, a token alone as it stands after another one."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # a processor that adds marks of its own (Idefics 3's) takes the others out of the list of
        # special ids
        marks = {
            number for number, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        self._special = marks | set(tokenizer.all_special_ids)
        self._anchor = tokenizer(_ANCHOR, add_special_tokens=False)["input_ids"][-1:]
        self._before = self._decode(self._anchor)
        self._known: dict[int, str] = {}

    def spell(self, ids: Sequence[int]) -> str:
        """The text of a reply, without special tokens."""
        return self._decode([token for token in ids if token not in self._special])

    def spell_token(self, token: int) -> str:
        """One token, its blank before it kept; a special one by its name."""
        if token not in self._known:
            self._known[token] = self._spell_alone(token)
        return self._known[token]

    def _spell_alone(self, token: int) -> str:
        if token in self._special:
            return str(self._tokenizer.convert_ids_to_tokens(token))
        behind = self._decode([*self._anchor, token])
        return (
            behind.removeprefix(self._before)
            if self._before and behind.startswith(self._before)
            else self._decode([token])
        )

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))


def _begins(ids: tuple[int, ...], others: tuple[int, ...]) -> bool:
    """Whether `others` go on where `ids` end."""
    return len(ids) < len(others) and others[: len(ids)] == ids


def _lengthen(prompt: Prompt, ids: tuple[int, ...]) -> Prompt:
    """The prompt with tokens of text after it; what stands beside each token goes on as beside the
    last.
    """
    longer = replace(prompt, ids=prompt.ids + ids, key=prompt.key + ids)
    if not ids or (prompt.positions is None and not prompt.per_token):
        return longer
    import torch

    positions = prompt.positions
    if positions is not None:
        after = positions[..., -1:].amax(0) + torch.arange(1, len(ids) + 1)
        positions = torch.cat([positions, after.expand(len(positions), -1)], -1)
    per_token = {
        name: torch.cat([value, value[:, -1:].expand(-1, len(ids))], 1)
        for name, value in prompt.per_token.items()
    }
    return replace(longer, positions=positions, per_token=per_token)


def _find_mark(loaded: Loaded) -> int | None:
    """The token at whose places the model puts an image's features; a processor's own mark may be
    another one (Gemma 3's).
    """
    config = loaded.model.config
    named = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
    return next(
        (token for token in named if token is not None),
        getattr(loaded.processor, "image_token_id", None),
    )


def _list_parts(message: Message) -> list[dict[str, str]]:
    return [*({"type": "image"} for _ in message.images), {"type": "text", "text": message.text}]


def _merge_system(messages: Sequence[Message]) -> Sequence[Message]:
    """The system messages' texts at the beginning of the first user message."""
    system = "\n\n".join(message.text for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if not system or not rest or rest[0].role != "user":
        return messages
    return [Message("user", f"{system}\n\n{rest[0].text}", rest[0].images), *rest[1:]]


def open_picture(url: str) -> Any:
    """A data URL as an RGB picture; raises ValueError for an address."""
    from PIL import Image as Pillow

    head, _, content = url.partition(";base64,")
    if not head.startswith("data:"):
        raise ValueError(
            f"image {url}: lies elsewhere; expected a file under the suite's `images` for a "
            f"model that runs here"
        )
    with Pillow.open(io.BytesIO(base64.b64decode(content))) as picture:
        return picture.convert("RGB")
