"""Fixtures every test may use."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# What a developer's own rules say of kernels is no matter of tests.
os.environ.pop("TORCH_TB_PROFILER_RULES", None)
os.environ.pop("TORCH_TB_PROFILER_DOCS_URL", None)
os.environ["XDG_CONFIG_HOME"] = os.path.join(tempfile.gettempdir(), "no-settings-of-a-user")

ROOT = Path(__file__).resolve().parent.parent

# A busy machine is no reason for a test to fail, and what one run finds every run shall find;
# `pytest -m hypothesis --hypothesis-profile=search` looks at examples nobody saw before, and at
# many more (see helpers/examples.py).
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=15)
# `test_recipes.py` runs tests again in copies of the project: a few examples do there.
settings.register_profile("brief", deadline=None, derandomize=True, max_examples=3)
settings.register_profile("search", deadline=None, max_examples=300)
settings.load_profile("repeatable")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Packed bytes hold the second they were made in, and processes must collect equal names."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and not val.isascii() else None


@pytest.fixture(scope="session")
def samples() -> Path:
    """The sample traces that belong to the repository."""
    return ROOT / "samples"


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The larger corpus that stands beside a developer's checkout; skips where it is absent."""
    folder = ROOT.parent / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("needs the shared corpus beside the checkout")
    return folder


@pytest.fixture(scope="session")
def write_trace() -> Callable[..., Path]:
    """``write_trace(path, names)``: a Kineto file, one operator of 10 µs per name, 20 µs apart."""

    def write(path: Path, names: tuple[str, ...] = ("aten::mm",), **header: Any) -> Path:
        events = [
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 20 * i, "dur": 10}
            for i, name in enumerate(names)
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"schemaVersion": 1, **header, "traceEvents": events}))
        return path

    return write
