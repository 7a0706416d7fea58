"""Tests of this folder need a GPU that torch can use; elsewhere they are skipped, with the
reason.
"""

import pytest


@pytest.fixture(autouse=True)
def needs_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU that torch can use is here")
