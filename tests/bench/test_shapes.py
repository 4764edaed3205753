"""The benchmark's shapes are valid traces: twice the recording, with nothing damaged or lost."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, EventColumns

KERNELS = {"compact": 60, "rocm": 60, "mtia": 60, "graph": 1800}


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module; the programs import each other by their names alone."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return import_module("shapes")


def columns_of(shapes: Any, name: str, copies: int, folder: Path) -> EventColumns:
    path = folder / f"{copies}.json"
    shapes.UNIT_BYTES = 1
    shapes.make_shape(name, 1, path)
    shapes.UNIT_BYTES = copies * path.stat().st_size
    shapes.make_shape(name, 1, path)
    return import_trace([path.read_bytes()], name=name)


@pytest.mark.parametrize("name", KERNELS)
def test_twice_the_recording(shapes: Any, name: str, tmp_path: Path) -> None:
    one = columns_of(shapes, name, 1, tmp_path)
    two = columns_of(shapes, name, 2, tmp_path)

    kernels = two.tables["slices"]["category"] == Category.KERNEL
    assert kernels.sum() == 2 * KERNELS[name]
    starts = two.tables["slices"]["start_ns"]
    assert len(np.unique(starts[kernels])) == 2 * KERNELS[name]
    for table in ("slices", "python", "operator", "memory"):
        once, twice = one.tables[table], two.tables[table]
        assert len(next(iter(twice.values()))) >= 2 * len(next(iter(once.values()))) - 1, table
    frames = two.tables["python"]["python_id"]
    assert len(np.unique(frames[frames != ABSENT])) == (frames != ABSENT).sum()
    assert two.quality.counts == {k: 2 * n for k, n in one.quality.counts.items()}


def test_a_graph_launch_owns_its_kernels(shapes: Any, tmp_path: Path) -> None:
    columns = columns_of(shapes, "graph", 2, tmp_path)

    slices = columns.tables["slices"]
    of_kernels = slices["correlation"][slices["category"] == Category.KERNEL]
    assert len(np.unique(of_kernels)) == 2
    assert (columns.tables["device"]["graph_node"] != ABSENT).sum() == 2 * KERNELS["graph"]


def test_times_are_written_as_their_writers_do(shapes: Any) -> None:
    assert shapes.three_decimals(5_000_000_000_000_050, True) == b"5000000000000.050"
    assert shapes.shortest(1_700_000_000_000_000_123, True) == b"1700000000000000.0"
    assert shapes.shortest(12_050, False) == b"12.05"
