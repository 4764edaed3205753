"""A trace and a memory snapshot of one process, from the same allocations: truth is planted.

The clocks differ by an offset, the trace lacks some memory events, the snapshot begins before the
trace, ends after it, and has lost its first events.
"""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

from msgspec import Struct

BASE_US = 1_764_000_000_000_000
ADDRESS = 139_637_976_727_552
STEP_US = 2_000
OPERATORS = ("aten::linear", "aten::relu", "aten::mm", "aten::add", "aten::softmax")


class Planted(Struct):
    """One allocation: where, how much, when (us since the base), by which operator in which step
    (None outside the trace), and whether the trace recorded it."""

    address: int
    size: int
    at: int
    operator: str | None
    step: str | None
    in_trace: bool
    end: int | None = None


class Pair(Struct):
    """The documents of both files, and the truth."""

    trace: dict[str, Any]
    snapshot: dict[str, Any]
    planted: list[Planted]

    def write(self, folder: Path, trace: str, snapshot: str) -> Path:
        """Write both files; the path of the trace."""
        for name in (trace, snapshot):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / trace).write_text(json.dumps(self.trace))
        (folder / snapshot).write_bytes(pickle.dumps(self.snapshot))
        return folder / trace


def planted_pair(
    seed: int = 0, *, offset_us: int = 350, dropped: float = 0.2, steps: int = 4,
    memory_events: bool = True, ring: int = 10,
) -> Pair:  # fmt: skip
    """A pair.

    Args:
        seed: Of the allocations.
        offset_us: How much later the clock of the trace is.
        dropped: The share of allocations that the trace did not record.
        steps: Steps of the trace.
        memory_events: Whether the trace has memory events at all.
        ring: So many of the first events of the snapshot are lost.
    """
    chance = random.Random(seed)
    planted = _planted(chance, dropped, steps)
    return Pair(_trace(planted, steps, memory_events), _snapshot(planted, offset_us, ring), planted)


def _planted(chance: random.Random, dropped: float, steps: int) -> list[Planted]:
    live: dict[int, Planted] = {}
    planted: list[Planted] = []

    def allocate(at: int, operator: str | None, step: str | None) -> None:
        free = [n for n in range(40) if ADDRESS + n * 65_536 not in live]
        address = ADDRESS + chance.choice(free) * 65_536
        is_recorded = operator is not None and chance.random() >= dropped
        one = Planted(address, chance.randrange(1, 60_000), at, operator, step, is_recorded)
        live[address] = one
        planted.append(one)

    def release(at: int) -> None:
        if live and (len(live) > 30 or chance.random() < 0.7):
            one = live.pop(chance.choice(sorted(live)))
            one.end = at

    for number in range(12):
        allocate(-400 + 20 * number, None, None)
        release(-395 + 20 * number)
    for step in range(steps):
        for number in range(60):
            at = step * STEP_US + 20 + 30 * number + chance.randrange(1, 18)
            allocate(at, OPERATORS[number % len(OPERATORS)], str(step))
            release(at + 1)
    for number in range(12):
        allocate(steps * STEP_US + 100 + 20 * number, None, None)
        release(steps * STEP_US + 105 + 20 * number)
    return planted


def _trace(planted: list[Planted], steps: int, memory_events: bool) -> dict[str, Any]:
    host = {"pid": 10, "tid": 10}
    events: list[dict[str, Any]] = []
    for step in range(steps):
        begin = step * STEP_US
        events.append({
            **host, "ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}",
            "ts": begin, "dur": STEP_US - 10, "args": {},
        })  # fmt: skip
        for number in range(60):
            ts, correlation = begin + 20 + 30 * number, step * 100 + number + 1
            given = {"External id": correlation}
            events += [
                {**host, "ph": "X", "cat": "cpu_op", "name": OPERATORS[number % 5], "ts": ts,
                 "dur": 20, "args": given},
                {**host, "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                 "ts": ts + 18, "dur": 1, "args": {**given, "correlation": correlation}},
                {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts + 25,
                 "dur": 10, "args": {**given, "correlation": correlation, "device": 0,
                                     "stream": 7}},
            ]  # fmt: skip
    marks: list[tuple[int, int, int]] = []
    for each in planted:
        size = -(-each.size // 512) * 512
        if each.in_trace:
            marks.append((each.at, size, each.address))
            if each.end is not None and each.end < steps * STEP_US:
                marks.append((each.end, -size, each.address))
    for at, size, address in sorted(marks) if memory_events else []:
        live = [each for each in planted if each.at <= at and (each.end is None or each.end > at)]
        total = sum(-(-each.size // 512) * 512 for each in live)
        events.append({
            **host, "ph": "i", "s": "t", "name": "[memory]", "ts": at,
            "args": {"Bytes": size, "Addr": address, "Device Type": 1, "Device Id": 0,
                     "Total Allocated": total, "Total Reserved": 1 << 24},
        })  # fmt: skip
    return {
        "schemaVersion": 1, "baseTimeNanoseconds": BASE_US * 1000,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 80 << 30}],
        "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events,
    }  # fmt: skip


def _snapshot(planted: list[Planted], offset_us: int, ring: int) -> dict[str, Any]:
    frames = [{"name": "forward", "filename": "/app/model.py", "line": 3}]
    entries: list[tuple[int, dict[str, Any]]] = []
    for each in planted:
        shape = {"addr": each.address, "size": each.size, "stream": 0, "frames": frames}
        entries.append((each.at, {"action": "alloc", **shape}))
        if each.end is not None:
            entries += [
                (each.end, {"action": action, **shape})
                for action in ("free_requested", "free_completed")
            ]
    entries.sort(key=lambda entry: entry[0])
    trace = [{**entry, "time_us": BASE_US + at - offset_us} for at, entry in entries][ring:]
    blocks = [
        {"address": each.address, "size": -(-each.size // 512) * 512,
         "requested_size": each.size, "state": "active_allocated", "frames": frames}
        for each in sorted(planted, key=lambda each: each.address) if each.end is None
    ]  # fmt: skip
    segment = {
        "device": 0, "address": ADDRESS, "total_size": 1 << 24, "stream": 0,
        "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
        "blocks": blocks,
    }  # fmt: skip
    return {"segments": [segment], "device_traces": [trace], "allocator_settings": {}}
