"""Memory snapshots as PyTorch writes them, of a small allocator that is simulated here."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

START_US = 1_750_000_000_000_000
ADDRESS = 139_637_976_727_552

Snapshot = dict[str, Any]


def simulated(
    seed: int = 0, *, events: int = 300, devices: int = 1, ring: int | None = None,
    extra: bool = False,
) -> tuple[Snapshot, list[list[dict[int, int]]]]:  # fmt: skip
    """A snapshot, and per device what was in use after each of its events that it still holds
    (address → bytes that were asked for).

    Args:
        seed: Of what happens.
        events: Per device.
        devices: How many.
        ring: So many events of each device are kept, the last ones; None: all.
        extra: With the keys that newer versions write.
    """
    chance = random.Random(seed)
    frames = [
        {"name": f"f{number}", "filename": f"/app/m{number % 3}.py", "line": number}
        for number in range(12)
    ]
    segments, traces, states = [], [], []
    for device in range(devices):
        trace, course, segment = _device(chance, device, events, frames, extra)
        kept = len(trace) if ring is None else ring
        traces.append(trace[-kept:])
        states.append(course[-kept:])
        segments.append(segment)
    whole = {"segments": segments, "device_traces": traces, "allocator_settings": {"x": True}}
    return whole, states


def _device(
    chance: random.Random, device: int, events: int, frames: list[Any], extra: bool
) -> tuple[list[Any], list[dict[int, int]], Snapshot]:
    base = ADDRESS + device * (1 << 30)
    live: dict[int, int] = {}
    stacks: dict[int, list[Any]] = {}
    trace: list[Any] = []
    course: list[dict[int, int]] = []
    clock = _clock(chance)

    def add(action: str, address: int, size: int, stack: list[Any]) -> None:
        entry = {"action": action, "addr": address, "size": size, "stream": 0}
        entry["time_us"] = next(clock)
        if extra:
            # Texts of their own each, as pybind makes them.
            entry |= {"compile_context": "".join(["N", "/A"]), "user_metadata": ""}
        trace.append(entry | {"frames": stack})
        course.append(dict(live))

    add("segment_alloc", base, 1 << 26, [])
    while len(trace) < events:
        if live and chance.random() < 0.45:
            address = chance.choice(sorted(live))
            size = live[address]
            add("free_requested", address, size, stacks[address])
            del live[address]
            add("free_completed", address, size, stacks[address])
            continue
        address = base + 4096 * chance.choice(
            [n for n in range(900) if base + 4096 * n not in live]
        )
        live[address] = chance.choice((1, 200, 513, 4000))
        stacks[address] = chance.choices(frames, k=chance.randrange(1, 6))
        add("alloc", address, live[address], stacks[address])
    blocks = [
        {
            "address": address,
            "size": -(-live[address] // 512) * 512,
            "requested_size": live[address],
            "state": "active_allocated",
            "frames": stacks[address],
        }
        for address in sorted(live)
    ]
    segment = {
        "device": device, "address": base, "total_size": 1 << 26, "stream": 0,
        "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
        "blocks": blocks,
    }  # fmt: skip
    return trace, course, segment


def _clock(chance: random.Random) -> Iterator[int]:
    time_us = START_US
    while True:
        time_us += chance.randrange(1, 90)
        yield time_us


def trace_of(data: bytes, name: str = "snapshot.pickle") -> Trace:
    """The trace of a snapshot file."""
    return build_trace(import_trace(iter([data]), name=name))
