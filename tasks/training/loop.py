"""The training itself: examples in a drawn order, a step a batch, a checkpoint every so many steps
from which the next run goes on.

Imports torch: only what trains a model imports this module.
"""

import dataclasses
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from judgelake.tasks.backends.local.loading import Loaded, import_torch, load
from judgelake.tasks.backends.local.settings import LocalModel
from judgelake.tasks.errors import BackendError
from judgelake.tasks.lake.storage import whole_file
from judgelake.tasks.suite.training import TrainingSettings
from judgelake.tasks.training.devices import Devices
from judgelake.tasks.training.examples import Example
from judgelake.tasks.training.rows import IGNORED, Row, TrainingRowMaker, collate, cut_batches

PROJECTORS = frozenset({"multi_modal_projector", "connector", "merger", "aligner"})
"""How families of transformers call what maps image features to the language model's."""
_ENCODERS = frozenset({"vision_tower", "vision_model", "vision_encoder", "visual"})
"""How they call what makes image features."""


def load_base(base: LocalModel) -> Loaded:
    """A model to be trained: in bfloat16 on a GPU, else in float32, unless `dtype` says which of
    the two. Raises BackendError.
    """
    torch = import_torch()
    on_gpu = torch.cuda.is_available() and base.device != "cpu"
    dtype = (
        base.dtype if base.dtype in ("float32", "bfloat16") else "bfloat16" if on_gpu else "float32"
    )
    loaded = load(dataclasses.replace(base, dtype=dtype))
    from judgelake.tasks.backends.local.caches import inspect_caches  # imports torch

    caches = inspect_caches(loaded.model)
    if loaded.kind == "seq2seq" or caches.window == 0 or not caches.shares:
        kind = (
            "has an encoder of text"
            if loaded.kind == "seq2seq"
            else "is recurrent, or looks at a prompt both ways"
        )
        raise BackendError(
            f"{base.model}: a model that {kind} is not trained here; expected a decoder such "
            f"as LLaVA's; choose another"
        )
    return loaded


def free_weights(loaded: Loaded, settings: TrainingSettings) -> dict[str, Any]:
    """Name -> parameter of what is trained, in single precision, everything else frozen; raises
    BackendError without a projector.
    """
    model = loaded.model.requires_grad_(False)
    if settings.train == "lora":
        _add_lora(model, settings)
    chosen = {
        name: weight
        for name, weight in model.named_parameters()
        if settings.train == "all"
        or PROJECTORS & {*name.split(".")}
        or (settings.train == "lora" and ".lora_" in name)
    }
    if not chosen:
        raise BackendError(
            f"{loaded.settings.model}: it has no projector between a vision encoder and its "
            f"language model; expected one to train; "
            "set `train: lora`, or `train: all`, with a smaller learning_rate (1e-5, say), or "
            "choose a vision model"
        )
    for weight in chosen.values():
        weight.data = weight.data.float()  # steps of 1e-5 and less are lost in bfloat16
        weight.requires_grad_(True)
    return chosen


def _find_lora_layers(model: Any) -> list[str]:
    """The linear layers of the language model's blocks, without its output layer."""
    output = model.get_output_embeddings()
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
        and module is not output
        and not (PROJECTORS | _ENCODERS) & {*name.split(".")}
    ]


def _add_lora(model: Any, settings: TrainingSettings) -> None:
    """Put low-rank matrices beside the language model's layers, alike for a seed (peft)."""
    import peft

    torch.manual_seed(settings.seed)
    config = peft.LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        target_modules=_find_lora_layers(model),
    )
    peft.inject_adapter_in_model(config, model)


def _merge_lora(model: Any) -> None:
    """Add the low-rank matrices to the weights of their layers, and leave the plain layers."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    layers = {
        name: layer for name, layer in model.named_modules() if isinstance(layer, BaseTunerLayer)
    }
    for name, layer in layers.items():
        layer.merge(safe_merge=True)
        model.set_submodule(name, layer.get_base_layer())
    model._hf_peft_config_loaded = False  # what is saved is a whole model


def _forget_gguf(model: Any) -> None:
    """The weights of a GGUF file are plain once they are loaded; they are saved as such."""
    quantizer = getattr(model, "hf_quantizer", None)
    if quantizer is not None and quantizer.quantization_config.quant_method == "gguf":
        quantizer.remove_quantization_config(model)


def save_judge(
    folder: Path, base: LocalModel, trained: Mapping[str, Any], settings: TrainingSettings
) -> None:
    """Write model, tokenizer and processor: the base's own weights bit for bit but for those in
    `trained`, in the dtype of its files.
    """
    stored = load(dataclasses.replace(base, dtype="auto", device="cpu", device_map=None))
    if settings.train == "lora":
        _add_lora(stored.model, settings)
    strange = stored.model.load_state_dict(dict(trained), strict=False).unexpected_keys
    if strange:
        raise BackendError(
            f"{base.model}: it has no weight {strange[0]!r}; expected the model that was "
            f"trained; restore it"
        )
    if settings.train == "lora":
        _merge_lora(stored.model)
    _forget_gguf(stored.model)
    stored.model.save_pretrained(folder)
    (stored.processor or stored.tokenizer).save_pretrained(folder)


# seconds between two lines of progress
_REPORT_S = 30.0
_MOST_NORM = 1.0
"""Of the gradient: longer ones are shortened, as LLaVA's training does."""
ReportLine = Callable[[str], None]


@dataclass
class Survey:
    """Which examples (by number) the model can learn from, and how many it cannot for which
    reason.
    """

    fits: list[int]
    left_out: dict[str, int]


class Training:
    """One model on its way to a judge; it goes on from the checkpoint `file`, where there is one,
    which must be this training's.

    Of several `devices` each holds the model, learns from its part of each step's examples and adds
    its gradients to the others': the weights stay alike, and the first one writes.
    """

    def __init__(
        self,
        loaded: Loaded,
        settings: TrainingSettings,
        maker: TrainingRowMaker,
        file: Path,
        devices: Devices | None = None,
    ) -> None:
        self._devices = devices or Devices()
        self._model, self._device, self._dtype = loaded.model, loaded.device, loaded.model.dtype
        self._settings, self._maker, self._file = settings, maker, file
        self._batch_tokens = loaded.settings.batch_tokens
        self.weights: dict[str, Any] = free_weights(loaded, settings)
        self._optimizer = torch.optim.AdamW(
            self.weights.values(), lr=settings.learning_rate, weight_decay=0.0
        )
        self.survey: Survey | None = None
        self.losses: list[float] = []
        self.n_passes = 0
        self.seconds = 0.0
        if settings.gradient_checkpointing:
            _spare_activations(self._model)
        self._restore()
        self._devices.wait()  # the first one writes the next checkpoint when all have read this one

    def look_through(self, examples: Sequence[Example], report_line: ReportLine) -> Survey:
        """Find out, once, what the model can learn from; raises BackendError where that is
        nothing.
        """
        if self.survey is None:
            left_out: Counter[str] = Counter()
            fits, reported_at = [], time.monotonic()
            for number in self._devices.share(range(len(examples))):
                fault = self._maker.find_fault(examples[number])
                fits += [number] if fault is None else []
                left_out.update([fault] if fault else [])
                if time.monotonic() - reported_at > _REPORT_S:
                    report_line(f"looked through {number + 1:,} of {len(examples):,} examples")
                    reported_at = time.monotonic()
            parts = self._devices.gather((fits, left_out))
            fits = sorted(number for part, _ in parts for number in part)
            left_out = sum((part for _, part in parts), Counter())
            if all(examples[number].is_held_out for number in fits):
                reasons = (
                    "; ".join(f"{count:,} left out: {reason}" for reason, count in left_out.items())
                    or "all are held out"
                )
                raise BackendError(
                    f"no example is left to learn from ({reasons}); expected some; choose another "
                    f"base or data"
                )
            self.survey = Survey(fits, dict(left_out))
            self._save()
        return self.survey

    def run(
        self,
        examples: Sequence[Example],
        report_line: ReportLine,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take the steps that are left; raises BackendError where one example is too large for the
        memory, and KeyboardInterrupt after a checkpoint once the run `is_stopping`.
        """
        steps = plan_steps(len(examples), self._settings)
        self._model.train()
        began, done, reported_at = time.monotonic(), len(self.losses), time.monotonic()
        spent = self.seconds
        for rows in self._make_ready(examples, steps[done:]):
            self.losses.append(self._step(rows, len(self.losses), len(steps)))
            n, self.seconds = len(self.losses), spent + time.monotonic() - began
            stops = n < len(steps) and any(self._devices.add([is_stopping()]))
            if n == len(steps) or n % self._settings.checkpoint_steps == 0 or stops:
                self._save()
            if stops:
                report_line(f"stopped after step {n:,} of {len(steps):,}; run it again to go on")
                raise KeyboardInterrupt
            if n == len(steps) or time.monotonic() - reported_at > _REPORT_S:
                left_s = (time.monotonic() - began) / (n - done) * (len(steps) - n)
                report_line(
                    f"step {n:,} of {len(steps):,}, loss {self.losses[-1]:.3f}, about "
                    f"{left_s / 60:.0f} min left"
                )
                reported_at = time.monotonic()
        self._model.eval()

    @torch.no_grad()
    def measure(self, examples: Sequence[Example]) -> float | None:
        """The mean loss of a token of these examples' replies; None without any."""
        total = n_tokens = 0.0
        own = self._devices.share(examples)
        for start in range(0, len(own), self._settings.batch_size):
            rows = [
                self._maker.make(example)
                for example in own[start : start + self._settings.batch_size]
            ]
            for batch in cut_batches(rows, self._batch_tokens):
                total += float(self._sum_loss(batch))
                n_tokens += sum(len(row.target) for row in batch)
        total, n_tokens = self._devices.add([total, n_tokens])
        return total / n_tokens if n_tokens else None

    def _make_ready(
        self, examples: Sequence[Example], steps: Sequence[Sequence[int]]
    ) -> Iterator[list[Row]]:
        """This process's rows of each step, those of the next one made while the model is at this
        one's.
        """

        def make(numbers: Sequence[int]) -> list[Row]:
            return [self._maker.make(examples[number]) for number in self._devices.share(numbers)]

        with ThreadPoolExecutor(1) as executor:
            waiting = [executor.submit(make, step) for step in steps[:1]]
            for number in range(len(steps)):
                ready = waiting.pop().result()
                waiting = [executor.submit(make, step) for step in steps[number + 1 : number + 2]]
                yield ready

    def _step(self, rows: Sequence[Row], number: int, n_steps: int) -> float:
        """One step with the gradients of all devices; returns the mean loss of a token before it,
        over all their rows.
        """
        # a model's dropout: alike after a restart, another on each device
        torch.manual_seed(self._settings.seed + number + (self._devices.rank << 32))
        whole = self._settings.loss == "whole"
        n_own = sum(label != IGNORED for row in rows for label in row.label(whole))
        (n_tokens,) = self._devices.add([n_own])
        total, n_passes = self._devices.add(self._pass_rows(rows, n_tokens, whole))
        self._devices.add_gradients([*self.weights.values()])
        self.n_passes += int(n_passes)
        if not math.isfinite(total):
            raise BackendError(
                f"step {number + 1}: the loss is {total}; expected a number; lower "
                f"learning_rate and begin again"
            )
        torch.nn.utils.clip_grad_norm_(self.weights.values(), _MOST_NORM)
        for group in self._optimizer.param_groups:
            group["lr"] = self._settings.learning_rate * find_pace(
                number, n_steps, self._settings.warmup
            )
        self._optimizer.step()
        return total

    def _pass_rows(self, rows: Sequence[Row], n_tokens: float, whole: bool) -> tuple[float, int]:
        """Give the weights the gradients of rows of a step of so many tokens; returns the rows'
        part of its loss, and the passes. Where the memory does not take a pass, smaller ones are
        tried.
        """
        n_passes = 0
        while True:
            self._optimizer.zero_grad(set_to_none=True)
            batches, total = cut_batches(rows, self._batch_tokens), 0.0
            try:
                n_passes += len(batches)
                for batch in batches:
                    loss: Any = self._sum_loss(batch, whole=whole) / n_tokens
                    loss.backward()
                    total += float(loss.detach())
                return total, n_passes
            except torch.OutOfMemoryError:
                self._shrink(batches)

    def _sum_loss(self, rows: Sequence[Row], *, whole: bool = False) -> torch.Tensor:
        """The summed loss of the replies' tokens, or of `whole` rows."""
        batch = collate(rows, self._device, self._dtype, whole=whole)
        with torch.autocast(self._device.type, self._dtype, enabled=self._dtype != torch.float32):
            logits = self._model(**batch.inputs).logits[:, :-1]
        flat, labels = logits.float().flatten(0, 1), batch.labels.to(logits.device).flatten()
        return torch.nn.functional.cross_entropy(
            flat, labels, ignore_index=IGNORED, reduction="sum"
        )

    def _shrink(self, batches: Sequence[Sequence[Row]]) -> None:
        if max(map(len, batches)) == 1:
            most = max(row.n_tokens for rows in batches for row in rows)
            raise BackendError(
                f"the memory does not take a pass of one example ({most:,} tokens); expected "
                f"room for its gradients; "
                "set `gradient_checkpointing: true` and `train: projector`, or take a smaller "
                "base or a larger GPU"
            ) from None
        largest = max(len(rows) * rows[0].n_tokens for rows in batches if len(rows) > 1)
        self._batch_tokens = min(self._batch_tokens, largest) // 2
        torch.cuda.empty_cache()

    def _save(self) -> None:
        if not self._devices.is_first:
            return
        survey = self.survey
        state = {
            "fits": survey.fits if survey else [],
            "left_out": survey.left_out if survey else {},
            "losses": self.losses,
            "n_passes": self.n_passes,
            "seconds": self.seconds,
            "weights": {name: weight.detach() for name, weight in self.weights.items()},
            "optimizer": self._optimizer.state_dict(),
        }
        with whole_file(self._file) as file:
            torch.save(state, file)

    def _restore(self) -> None:
        if not self._file.exists():
            return
        state: Mapping[str, Any] = torch.load(self._file, map_location="cpu", weights_only=True)
        self.survey, self.losses = Survey(state["fits"], state["left_out"]), state["losses"]
        # checkpoints of earlier versions have neither
        self.n_passes, self.seconds = state.get("n_passes", 0), state.get("seconds", 0.0)
        with torch.no_grad():
            for name, weight in self.weights.items():
                weight.copy_(state["weights"][name])
        self._optimizer.load_state_dict(dict(state["optimizer"]))


def _spare_activations(model: Any) -> None:
    """Have a model compute its activations again in the backward pass."""
    if not model.supports_gradient_checkpointing:
        raise BackendError(
            f"a {type(model).__name__} has no gradient checkpointing; set "
            f"`gradient_checkpointing: false`"
        )
    # the name that it has had before too, for older releases of transformers 5
    enable = (
        getattr(model, "activation_checkpointing_enable", None)
        or model.gradient_checkpointing_enable
    )
    enable({"use_reentrant": False})


def plan_steps(n_examples: int, settings: TrainingSettings) -> list[list[int]]:
    """The numbers of the examples that each step learns from: every epoch all of them, in an order
    of its own.
    """
    steps = []
    for epoch in range(settings.epochs):
        order = np.random.default_rng([settings.seed, epoch]).permutation(n_examples).tolist()
        steps += [
            order[start : start + settings.batch_size]
            for start in range(0, n_examples, settings.batch_size)
        ]
    return steps


def find_pace(number: int, n_steps: int, warmup: float) -> float:
    """The share of the learning rate at step `number` (from 0): rising over the first steps, then
    half a cosine towards 0.
    """
    rising = math.ceil(warmup * n_steps)
    if number < rising:
        return (number + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * (number - rising) / (n_steps - rising)))
