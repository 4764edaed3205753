"""A process has one recording, and torch wraps a class of optimizers once: each test begins as a
new process does, whatever ran before it."""

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
    """Have classes of optimizers as they are before the first of them is made."""
    torch: Any = sys.modules.get("torch")
    kinds = [] if torch is None else [torch.optim.Optimizer]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        step = vars(kind).get("step")
        while getattr(step, "hooked", False):
            step = step.__wrapped__
            kind.step = step
