import pytest

from judgelake.tasks.stats import kernel_choice


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled loops from the first number on, which few rows would be computed without."""
    monkeypatch.setattr(kernel_choice, "MOST_NS", -1)
