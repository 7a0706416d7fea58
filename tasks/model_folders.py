"""Models named by a hub id or by a local folder: which of the two, and what a folder holds. Loading is each user's own matter."""

from pathlib import Path

FileStates = tuple[tuple[str, int, int], ...]
"""Path, size in bytes and time of change (ns) of each file: a cache key for what is computed from the files' content."""


def find_folder(model: str) -> Path | None:
    """The local folder, where `model` names one."""
    path = Path(model).expanduser()
    return path if path.is_dir() else None


def list_states(folder: Path) -> FileStates:
    """The files of a model's folder, by path."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)


def check_numbers(batch_tokens: int, revision: str | None, folder: Path | None) -> None:
    """Raise ValueError for a batch of no token, or for a revision of a folder."""
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens: {batch_tokens}; expected a whole number from 1")
    if revision is not None and folder:
        raise ValueError(f"revision: {revision!r}; expected none for a local folder, whose files say what it is")
