"""Settings of a judge whose model runs in the worker's own process, and how its backend is made."""

from collections.abc import Mapping
from typing import ClassVar

from judgelake.tasks.backends.base import Backend
from judgelake.tasks.backends.endpoint import BackendKind, BackendOrder, EndpointSettings, Slot
from judgelake.tasks.backends.local.settings import (
    DEFAULT_BATCH_TOKENS,
    Dtype,
    LocalModel,
    Quantization,
)
from judgelake.tasks.settings import frozen_settings
from judgelake.tasks.types import AnswerForm


@frozen_settings
class LocalSettings(EndpointSettings):
    """A model (a hub id, a folder, a GGUF file or `package:<name>` of one) that runs in the
    worker's own process, by transformers. `revision`, `dtype` and `quantization` are part of the
    judge's identity; `device`, `device_map` and `batch_tokens` say how it runs.
    """

    backend: ClassVar[str] = "transformers"
    slot: ClassVar[Slot] = "GPU"

    revision: str | None = None
    dtype: Dtype = "auto"
    device: str = "auto"
    device_map: str | None = None
    quantization: Quantization | None = None
    batch_tokens: int = DEFAULT_BATCH_TOKENS

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.local

    @property
    def local(self) -> LocalModel:
        """The model; raises ValueError for settings that do not go together."""
        return LocalModel(
            self.model,
            self.revision,
            self.dtype,
            self.device,
            self.device_map,
            self.quantization,
            self.batch_tokens,
        )

    def find_form(self, wanted: AnswerForm) -> AnswerForm:
        """A model that runs here is held to any answer, without a constraint on what it writes."""
        return "free" if wanted == "free" else "forced"

    def sign(self) -> Mapping[str, object]:
        """What changes the numbers of a reply."""
        return self.local.sign()


def _make(settings: LocalSettings, order: BackendOrder) -> Backend:
    from judgelake.tasks.backends.local.backend import LocalBackend  # torch and transformers

    return LocalBackend(settings.local, order.encoder.encode)


BACKEND = BackendKind("transformers", LocalSettings, _make)
