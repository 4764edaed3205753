"""Entries of traces, decoded in bulk or one by one: Python's unpickler is the reference.

Cases: every protocol, one or several devices, keys of newer versions, frames that fall into the
middle of entries, windows that end anywhere, other keys and literal values in between.
"""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.snapshots import simulated
from torch_tb_profiler.importers.plain_pickle import machine as machine_module
from torch_tb_profiler.importers.plain_pickle import window as window_module
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow
from torch_tb_profiler.importers.snapshot.entries import Entries, EntryStore
from torch_tb_profiler.importers.snapshot.machine import SnapshotMachine
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.side_tables import SNAPSHOT_ACTIONS


def read(data: bytes) -> tuple[list[list[dict[str, Any]]], int]:
    """The entries of every device as dicts again, and how many were decoded in bulk."""
    machine = SnapshotMachine(StreamWindow(data[at : at + 999] for at in range(0, len(data), 999)))
    whole = machine.run()
    store = machine.entries
    entries = store.finish()
    return [_dicts(store, entries, trace) for trace in whole["device_traces"]], store.bulk_count


def _dicts(store: EntryStore, entries: Entries, trace: list[Any]) -> list[dict[str, Any]]:
    rows = [row for run in trace for row in range(run.start, run.end)]
    return [
        {
            "action": SNAPSHOT_ACTIONS[entries.action[row]],
            "addr": int(entries.address[row]),
            "size": int(entries.size[row]),
            "stream": int(entries.stream[row]),
            "time_us": int(entries.time_us[row]),
            "frames": _frames(store, int(entries.stack[row])),
        }
        for row in rows
    ]


def _frames(store: EntryStore, stack: int) -> list[dict[str, Any]]:
    if stack < 0:
        return []
    names = ("name", "filename", "line")
    frames = [store.stacks.frames[frame] for frame in store.stacks.stacks[stack]]
    return [dict(zip(names, frame, strict=True)) for frame in frames]


def expected(snapshot: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The entries with the keys that are decoded."""
    return [
        [
            {
                "action": entry["action"],
                "addr": entry.get("addr", entry.get("device_free")),
                **{
                    key: entry.get(key, int(ABSENT))
                    for key in ("size", "stream", "time_us")
                },
                "frames": entry["frames"],
            }
            for entry in trace
        ]
        for trace in snapshot["device_traces"]
    ]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("extra", [False, True])
def test_entries_are_those_that_python_reads(protocol: int, extra: bool) -> None:
    snapshot, _ = simulated(protocol, events=1300, devices=2, extra=extra)
    entries, bulk = read(pickle.dumps(snapshot, protocol))
    assert entries == expected(snapshot)
    assert bulk > 2000


def test_windows_and_frames_end_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, _ = simulated(1, events=3000)
    data = pickle.dumps(snapshot, 4)
    assert data.count(b"\x95") > 1
    monkeypatch.setattr(window_module, "STEP_BYTES", 9000)
    monkeypatch.setattr(StreamWindow.forward, "__defaults__", (9000,))
    monkeypatch.setattr(machine_module, "MARGIN_BYTES", 700)
    entries, bulk = read(data)
    assert entries == expected(snapshot)
    assert bulk > 1000


@examples(15)
@given(st.data())
def test_odd_entries_in_between(data: st.DataObject) -> None:
    snapshot, _ = simulated(data.draw(st.integers(0, 9)), events=120)
    trace = snapshot["device_traces"][0]
    odd = st.sampled_from(
        [
            {"action": "oom", "size": 2**40, "stream": 0, "time_us": 5, "frames": [],
             "device_free": 77},
            {"action": "alloc", "addr": 2**47, "size": 2**33, "stream": -1, "time_us": -5,
             "frames": trace[1]["frames"]},
            {"action": "snapshot", "addr": 0, "size": 0, "stream": 0, "time_us": 2**50,
             "frames": [{"name": "e(}\x94(", "filename": "u}", "line": 2**20}]},
            {"action": "alloc", "addr": 0x7D942868, "size": 1, "stream": 0, "frames": []},
        ]
    )  # fmt: skip
    for _ in range(data.draw(st.integers(1, 6))):
        trace.insert(data.draw(st.integers(0, len(trace))), dict(data.draw(odd)))
    entries, _ = read(pickle.dumps(snapshot, data.draw(st.integers(2, 5))))
    assert entries == expected(snapshot)
