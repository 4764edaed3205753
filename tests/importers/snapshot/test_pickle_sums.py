"""Sums per device, action and stack against a second reader: Python's own unpickler."""

from __future__ import annotations

import gzip
import pickle
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.snapshots import simulated, trace_of
from tests.helpers.sums import Sums, add_up
from tests.importers.snapshot import pickle_sums
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SNAPSHOT_ACTIONS

REJECTED = {"hostile_global.pickle", "not_a_snapshot.pickle"}
CUT = {"truncated.pickle"}
"""What is left of it is in ``test_reader.py``: the second reader gives nothing."""


def rows(trace: Trace, table: str, *columns: str) -> list[Any]:
    return trace.side[table].frame.select(columns).rows()


def events(trace: Trace) -> Sums:
    return add_up(
        ((device, SNAPSHOT_ACTIONS[action]), size)
        for device, action, size in rows(trace, "snapshot_events", "device", "action", "size_bytes")
    )


def allocations(trace: Trace) -> Sums:
    texts = [*trace.side["snapshot_stacks"].frame["frames"], ""]
    stacks = [text if re.search(r"\.py(:\d+)? ", text) else "" for text in texts]
    columns = ("device", "action", "stack", "size_bytes")
    return add_up(
        ((device, stacks[stack]), size)
        for device, action, stack, size in rows(trace, "snapshot_events", *columns)
        if SNAPSHOT_ACTIONS[action] == "alloc"
    )


def segments(trace: Trace) -> Sums:
    found = rows(trace, "snapshot_segments", "device", "total_bytes")
    return add_up(((device,), size) for device, size in found)


def blocks(trace: Trace) -> Sums:
    found = rows(trace, "snapshot_blocks", "device", "state", "size_bytes")
    return add_up(((device, state != "inactive"), size) for device, state, size in found)


def peaks(trace: Trace) -> dict[int, int]:
    by_device = trace.side["snapshot_events"].frame.group_by("device")
    return dict(by_device.agg(pl.col("allocated_bytes").max()).iter_rows())


def assert_same_sums(data: bytes) -> None:
    trace, snapshot = trace_of(data), pickle_sums.read(data)
    assert events(trace) == pickle_sums.events(snapshot)
    assert allocations(trace) == pickle_sums.allocations(snapshot)
    assert segments(trace) == pickle_sums.segments(snapshot)
    assert blocks(trace) == pickle_sums.blocks(snapshot)
    assert peaks(trace) == pickle_sums.peaks(snapshot)


def test_every_snapshot_of_the_corpus(corpus: Path) -> None:
    files = [*corpus.rglob("*.pickle"), *corpus.rglob("*.pkl")]
    assert len(files) >= 12
    for path in files:
        data = path.read_bytes()
        if path.name in REJECTED:
            with pytest.raises(TraceFormatError):
                trace_of(data)
        elif path.name not in CUT:
            assert_same_sums(data)


SIMULATED = st.fixed_dictionaries(
    {"seed": st.integers(0, 2**16), "events": st.integers(10, 120), "devices": st.integers(1, 3),
     "ring": st.none() | st.integers(5, 60), "extra": st.booleans()}
)  # fmt: skip


@given(
    options=SIMULATED, protocol=st.integers(2, 5), is_packed=st.booleans(), has_host=st.booleans()
)
def test_random_snapshots(
    options: dict[str, Any], protocol: int, is_packed: bool, has_host: bool
) -> None:
    snapshot, _ = simulated(**options)
    if has_host:  # pinned memory of the host
        snapshot["host_traces"] = [snapshot["device_traces"].pop()]
        snapshot["host_segments"] = [snapshot["segments"].pop()]
    data = pickle.dumps(snapshot, protocol)
    assert_same_sums(gzip.compress(data) if is_packed else data)
