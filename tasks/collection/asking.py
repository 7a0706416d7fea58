"""What all collectors share: how a model is asked, and what of it signs a collector."""

from collections.abc import Mapping
from pathlib import Path

from judgelake.tasks.digests import digest_json
from judgelake.tasks.judging.templates import digest_prompts, read_prompt, render_prompt
from judgelake.tasks.settings import SuitePath, frozen_settings
from judgelake.tasks.types import JUDGE, Case, Decoding, ImageMode, Models, Request

PROMPTS = (
    "collect_rubrics",
    "collect_alignment",
    "collect_refinement",
    "collect_instruction",
    "collect_response",
    "collect_augmentation",
)
TASKS = ("vqa", "caption", "document", "referring", "instruction")
"""Images of every kind of item are used; what was asked about them is not."""


@frozen_settings
class GenerationOptions:
    """Decoding, and whether the model sees the image; `templates` is a folder with prompts of your
    own, for all collectors together. `seed` is that of our own draws.
    """

    image: ImageMode = True
    temperature: float = 1.0
    top_p: float = 0.9
    max_tokens: int = 2048
    seed: int = 0
    templates: SuitePath | None = None


def ask(
    prompt: str,
    fields: Mapping[str, object],
    case: Case,
    options: GenerationOptions,
    models: Models,
) -> Request:
    """The request of a prompt about the image of a case."""
    images = case.images if options.image is True else ()
    messages = render_prompt(prompt, options.templates, dict(fields), images)
    decoding = Decoding(options.temperature, options.top_p, options.max_tokens)
    return Request(models[JUDGE], messages, decoding)


def sign_generation(
    name: str, version: int, prompts: tuple[str, ...], options: GenerationOptions, models: Models
) -> dict[str, object]:
    """What changes the requests of any collector."""
    return {
        "protocol": name,
        "version": version,
        "model": models[JUDGE],
        "prompt": _digest_own(prompts, options.templates),
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
    }


def _digest_own(prompts: tuple[str, ...], folder: Path | None) -> str:
    """The digest of a collector's own prompts; a file of the folder that replaces no collector's is
    refused.
    """
    digest_prompts(PROMPTS, folder)
    return digest_json([[name, read_prompt(name, folder)] for name in prompts])[:16]
