"""Snapshots that end in the middle: the copy has the figures of what importers read of it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.helpers import snapshots
from torch_tb_profiler import scrub
from torch_tb_profiler.loading.opening.open_file import open_trace_file
from torch_tb_profiler.scrubbing.same_numbers import first_difference
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace


def _opened(path: Path) -> Trace:
    return open_trace_file(open_location(str(path)), None, cache=None).trace


@pytest.mark.parametrize("missing_bytes", [40, 55, 70, 90, 120])
def test_a_cut_snapshot(missing_bytes: int, tmp_path: Path) -> None:
    whole = snapshots.simulated(1)[0]
    whole = {"segments": whole["segments"], "device_traces": whole["device_traces"]}
    data = pickle.dumps(whole)
    (tmp_path / "cut.pickle").write_bytes(data[:-missing_bytes])
    result = scrub(tmp_path / "cut.pickle", tmp_path / "copy.pickle")
    assert result.files[0].notes == ("truncated: 1",)
    copy = pickle.loads((tmp_path / "copy.pickle").read_bytes())
    assert sum(map(len, copy["device_traces"])) > 0
    traces = [_opened(tmp_path / name) for name in ("cut.pickle", "copy.pickle")]
    assert first_difference(traces[:1], traces[1:]) is None
