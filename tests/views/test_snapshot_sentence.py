"""The answer of a snapshot, of worked files: sizes and shares are sums of the blocks in them."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tests.helpers.snapshots import START_US, trace_of
from tests.helpers.traces import op
from tests.helpers.traces import trace as built
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.queries.views import trace_view, view_spec
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.snapshot_sentence import snapshot_sentence

MIB = 2**20


def stack(name: str, line: int) -> list[dict[str, Any]]:
    return [{"name": name, "filename": "/app/net.py", "line": line}]


def event(action: str, at: int, mib: int, us: int, frames: list[dict[str, Any]]) -> dict[str, Any]:
    return {"action": action, "addr": at, "size": mib * MIB, "stream": 0, "frames": frames,
            "time_us": START_US + us}  # fmt: skip


def snapshot(*events: dict[str, Any], older_mib: int = 0, in_use_mib: int = 6) -> Trace:
    """A segment of 64 MiB: 6 MiB of ``forward`` in use at the end. Before that it held 3 MiB of
    ``attention`` too, and ``older_mib`` that were there before the first event."""
    forward, attention = stack("forward", 12), stack("attention", 40)
    releases = [event("free_completed", 0x90000000, older_mib, 30, stack("step", 7))]
    trace = [
        event("alloc", 0x10000000, 6, 10, forward),
        event("alloc", 0x20000000, 3, 20, attention),
        *(releases if older_mib else []),
        event("free_completed", 0x20000000, 3, 40, attention),
        *events,
    ]
    state = {"state": "active_allocated", "frames": forward}
    blocks = [
        state | {"address": 0x10000000, "size": 6 * MIB, "requested_size": 6 * MIB},
        state | {"address": 0x40000000, "size": 58 * MIB, "state": "inactive", "frames": []},
    ]
    segment = {"device": 0, "address": 0x10000000, "total_size": 64 * MIB, "stream": 0,
               "blocks": blocks, "segment_type": "large", "frames": []}  # fmt: skip
    return trace_of(pickle.dumps({"segments": [segment], "device_traces": [trace]}, 4))


def test_the_code_that_holds_most_at_the_peak() -> None:
    assert snapshot_sentence(snapshot()) == (
        "GPU 0 uses 6.00 MiB of 64.0 MiB reserved memory. At its peak, net.py:12 forward holds "
        "the most: 6.00 MiB (66.7 %)."
    )


@pytest.mark.parametrize(
    ("older_mib", "says"),
    [
        # Peaks of 6 + 3 + older MiB.
        (
            11,
            "11.0 MiB (55.0 %) were allocated before the recording, by unknown code; of the rest, "
            "net.py:12 forward holds the most: 6.00 MiB (30.0 %).",
        ),
        (1, "net.py:12 forward holds the most: 6.00 MiB (60.0 %)."),
    ],
)
def test_what_is_older_than_the_recording_leads_where_it_is_more(older_mib: int, says: str) -> None:
    trace = snapshot(older_mib=older_mib)
    assert snapshot_sentence(trace) == (
        f"GPU 0 uses 6.00 MiB of 64.0 MiB reserved memory. At its peak, {says}"
    )
    rows = trace_view(view_spec("snapshot"), trace, Selection()).tables["by_stack"].frame
    at_peak = {
        row["frame"]: row["size_bytes"] for row in rows.rows(named=True) if row["moment"] == "peak"
    }
    assert at_peak == {
        "<allocated before the recording>": older_mib * MIB,
        "/app/net.py:12 forward": 6 * MIB,
        "/app/net.py:40 attention": 3 * MIB,
    }


def test_a_failed_allocation_is_said_instead() -> None:
    failed = {"action": "oom", "device_free": 5, "size": 2**31, "stream": 0, "frames": []}
    trace = snapshot(failed | {"time_us": START_US + 50})
    assert snapshot_sentence(trace) == (
        "GPU 0 uses 6.00 MiB of 64.0 MiB reserved memory. 1 allocation failed; the last one "
        "requested 2.00 GiB."
    )


def test_the_overview_and_the_view_of_a_snapshot_say_it() -> None:
    trace = snapshot(older_mib=11)
    for name in ("overview", "snapshot"):
        view = trace_view(view_spec(name), trace, Selection())
        assert view.answer == snapshot_sentence(trace)


def test_other_recordings_have_none() -> None:
    assert snapshot_sentence(built([op("aten::mm", 0, 9)])) is None
