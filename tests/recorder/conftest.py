"""Resets per-process state before each test: the recording, and the wrapped ``step`` of
optimizers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from torch_tb_profiler.recorder import session


@pytest.fixture(autouse=True)
def _a_new_process() -> Iterator[None]:
    session.end("a test")
    _unwrap_optimizers()
    yield
    session.end("a test")


def _unwrap_optimizers() -> None:
    """Restore the optimizer classes to their state before the first instance."""
    torch: Any = sys.modules.get("torch")
    kinds = [] if torch is None else [torch.optim.Optimizer]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        step = vars(kind).get("step")
        while getattr(step, "hooked", False):
            step = step.__wrapped__
            kind.step = step
