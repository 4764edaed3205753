"""Traces of the samples, opened once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.opening import open_file
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace


@pytest.fixture(scope="session")
def sample_traces(samples: Path) -> list[Trace]:
    """The first file of every sample."""
    files = [
        next(iter(sorted(folder.glob("*.json*"))), None) for folder in sorted(samples.iterdir())
    ]
    return [open_file(open_location(str(file)), cache=None) for file in files if file is not None]
