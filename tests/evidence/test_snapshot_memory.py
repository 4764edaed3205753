"""A snapshot's page about time says what the snapshot holds instead of nothing.

Truth: the segments of the file summed, and what the simulated allocator had in use.
"""

from __future__ import annotations

import pickle

import pytest

from tests.helpers.snapshots import simulated, trace_of
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.loading.queries.views import trace_view
from torch_tb_profiler.views.registry import view_named


@pytest.mark.parametrize("seed", range(3))
def test_what_each_device_reserves_and_held_at_most(seed: int) -> None:
    snapshot, in_use = simulated(seed, devices=2)
    trace = trace_of(pickle.dumps(snapshot))
    (note,) = run_detectors(trace, Selection()).notes
    assert note.text.startswith(
        "The recording is a memory snapshot, which records memory, not time"
    )
    rows = note.evidence["rows"]
    assert isinstance(rows, list)
    by_device = {row["device"]: row for row in rows}
    for device in range(2):
        row = by_device[f"GPU {device}"]
        segments = [each for each in snapshot["segments"] if each["device"] == device]
        assert row["reserved_bytes"] == sum(each["total_size"] for each in segments)
        assert row["peak_allocated_bytes"] == max(sum(held.values()) for held in in_use[device])
    shown = trace_view(view_named("overview"), trace, Selection())
    assert [each.code for each in shown.notes if each.kind == "advice"] == ["snapshot_memory"]
    # No check has data of a snapshot, so none passed.
    assert shown.answer is not None
    assert shown.answer.startswith("GPU ")
    assert "Memory > Snapshot says which code holds it." in note.text
