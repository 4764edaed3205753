"""The databases that are made to be measured are like those of Nsight Systems: all is linked."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from torch_tb_profiler.api import open_trace

ROOT = Path(__file__).resolve().parent.parent.parent
KERNELS = 400


@pytest.mark.parametrize("graphs", [False, True])
def test_every_kernel_has_its_launch_and_operator(
    graphs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("make_nsys", ROOT / "bench" / "make_nsys.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OUT", tmp_path)
    trace = open_trace(module.nsys_database(KERNELS, graphs), cache=False).trace
    work = trace.device_work
    assert work.height == KERNELS
    assert work["launch"].null_count() == 0
    assert work["device"].unique().sort().to_list() == [0, 1]
    assert work["launch"].n_unique() == (KERNELS // 50 if graphs else KERNELS)
    if not graphs:
        assert work["owner"].null_count() == 0
        assert work["owner"].n_unique() == KERNELS // 5
    assert "overlapping_slices" not in trace.quality.counts
