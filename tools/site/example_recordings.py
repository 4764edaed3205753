"""Write a simulated recording of what no sample shows, for the pictures of the documentation.

python -m tools.site.example_recordings {job,roles,snapshot} FOLDER
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

from bench.cluster.jobs import make_case, write_case

MIB = 1 << 20
START_NS = 1_795_226_204_000_000_000
LAYERS = 12
STEPS = 4


def write_job(folder: Path) -> None:
    """Sixteen ranks, one of which has a slow link."""
    write_case(make_case(7, 16, "slow_link"), folder / "job")


def write_roles(folder: Path) -> None:
    """Reinforcement learning: four ranks generate until the longest answer, then two train."""
    for rank, share in enumerate((1.0, 0.82, 0.93, 0.61)):
        stretches = [(step * 1_000_000, 600_000, share) for step in range(STEPS)]
        _write_rank(folder / "job" / "rollout", rank, "generate_sequences", stretches)
    for rank in (0, 1):
        stretches = [(step * 1_000_000 + 600_000, 380_000, 1.0) for step in range(STEPS)]
        _write_rank(folder / "job" / "train", rank, "update_actor", stretches)


def _write_rank(
    folder: Path, rank: int, name: str, stretches: list[tuple[int, int, float]]
) -> None:
    """A rank in ranges of one name, with kernels in a share of each: start, length (µs), share."""
    events: list[dict[str, object]] = []
    host = {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1}
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "dur": 19_000}
    for start, length, share in stretches:
        events.append({**host, "ts": start, "dur": length, "args": {}})
        events += [
            {**kernel, "ts": at, "args": {"device": 0, "stream": 7}}
            for at in range(start, start + round(length * share), 20_000)
        ]
    header = {"rank": rank, "world_size": 4, "backend": "nccl"}
    trace = {"schemaVersion": 1, "distributedInfo": header, "traceEvents": events}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rank{rank}.json"
    path.write_text(json.dumps({**trace, "baseTimeNanoseconds": START_NS}), encoding="utf-8")


def write_snapshot(folder: Path) -> None:
    """The memory of a training: parameters stay, activations grow until the backward pass."""
    events: list[dict[str, object]] = []
    live: dict[int, tuple[int, str]] = {}
    base, size = 1 << 32, 512 * MIB
    events.append(_event("segment_alloc", base, size, "build_model", 0))

    def allocate(slot: int, mib: int, function: str) -> None:
        live[base + slot * 16 * MIB] = (mib * MIB, function)
        events.append(_event("alloc", base + slot * 16 * MIB, mib * MIB, function, len(events)))

    def free(slot: int) -> None:
        length, function = live.pop(base + slot * 16 * MIB)
        for action in ("free_requested", "free_completed"):
            events.append(_event(action, base + slot * 16 * MIB, length, function, len(events)))

    for layer in range(LAYERS):
        allocate(layer, 8, "build_model")
    for step in range(STEPS):
        for layer in range(LAYERS):
            allocate(LAYERS + layer, 12, "attention" if layer % 2 else "feed_forward")
        if step == STEPS - 1:
            break
        for layer in reversed(range(LAYERS)):
            free(LAYERS + layer)
    segment = {
        "device": 0, "address": base, "total_size": size, "stream": 0, "segment_type": "large",
        "segment_pool_id": (0, 0), "is_expandable": False, "frames": _frames("build_model"),
        "blocks": list(_blocks(live, base, size)),
    }  # fmt: skip
    snapshot = {"segments": [segment], "device_traces": [events], "allocator_settings": {}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "training.pickle").write_bytes(pickle.dumps(snapshot))


def _blocks(live: dict[int, tuple[int, str]], base: int, size: int) -> list[dict[str, object]]:
    """The blocks of a segment: those in use, and the free ones between them."""
    blocks: list[dict[str, object]] = []
    at = base
    for address, (length, function) in [*sorted(live.items()), (base + size, (0, ""))]:
        if address > at:
            blocks.append(_block(at, address - at, "inactive", None))
        if length:
            blocks.append(_block(address, length, "active_allocated", function))
        at = address + length
    return blocks


def _block(address: int, size: int, state: str, function: str | None) -> dict[str, object]:
    frames = [] if function is None else _frames(function)
    requested = 0 if function is None else size
    return {
        "address": address, "size": size, "requested_size": requested, "state": state,
        "frames": frames,
    }  # fmt: skip


def _event(action: str, address: int, size: int, function: str, number: int) -> dict[str, object]:
    time_us = START_NS // 1000 + 900 * number
    frames = _frames(function)
    return {
        "action": action, "addr": address, "size": size, "stream": 0, "time_us": time_us,
        "frames": frames,
    }  # fmt: skip


def _frames(function: str) -> list[dict[str, object]]:
    line = 10 + 7 * ["build_model", "attention", "feed_forward"].index(function)
    return [
        {"name": function, "filename": "/workspace/model.py", "line": line},
        {"name": "main", "filename": "/workspace/train.py", "line": 42},
    ]


RECORDINGS: dict[str, Callable[[Path], None]] = {
    "job": write_job,
    "roles": write_roles,
    "snapshot": write_snapshot,
}

if __name__ == "__main__":
    RECORDINGS[sys.argv[1]](Path(sys.argv[2]))
