"""Memory snapshots (pickles) made to cost time or memory."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

from kineto_inputs import zeros
from registry import attack

PICKLE = "snapshot.pickle"
COUNT = 20_000_000
PROTOCOL = b"\x80\x04"


def snapshot(entries: int, frames: int = 3) -> dict[str, Any]:
    """A small snapshot as torch writes it."""
    stack = [{"filename": "a.py", "line": n, "name": f"f{n}"} for n in range(frames)]
    trace = [
        {
            "action": "alloc",
            "addr": n * 512,
            "size": 512,
            "stream": 0,
            "time_us": n,
            "frames": stack,
        }
        for n in range(entries)
    ]
    return {"segments": [], "device_traces": [trace], "allocator_settings": {}}


@attack("snapshot-nested", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    count = COUNT + rng.randrange(99)
    path.write_bytes(PROTOCOL + b"]" * count + b"a" * (count - 1) + b".")


@attack("snapshot-marks", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(PROTOCOL + b"(" * (COUNT + rng.randrange(99)) + b".")


@attack("snapshot-references", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    count = COUNT + rng.randrange(99)
    path.write_bytes(PROTOCOL + b"]\x94(" + b"h\x00" * count + b"e.")


@attack("snapshot-duplicates", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(PROTOCOL + b"]" + b"2" * (COUNT + rng.randrange(99)) + b".")


@attack("snapshot-doubling", PICKLE)
def _(path: Path, _rng: random.Random) -> None:
    """A list that holds twice the one before, 60 deep: 2**60 if it were written out."""
    parts = [PROTOCOL, b"]\x94"]
    for level in range(60):
        parts += [b"](", *[b"h" + bytes([level])] * 2, b"e\x94"]
    path.write_bytes(b"".join(parts) + b".")


@attack("snapshot-memo", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(PROTOCOL + b"]" + b"\x94" * (COUNT + rng.randrange(99)) + b".")


@attack("snapshot-long-text", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    value = snapshot(1000)
    for entry in value["device_traces"][0]:
        entry["frames"] = [{"filename": "x" * 30_000 + str(rng.random()), "line": 1, "name": "f"}]
    path.write_bytes(pickle.dumps(value, 4))


@attack("snapshot-devices", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    value = snapshot(3)
    value["device_traces"] *= 100_000 + rng.randrange(99)
    path.write_bytes(pickle.dumps(value, 4))


@attack("snapshot-shared-trace", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """One trace of a thousand events, a thousand times by reference."""
    value = snapshot(10_000)
    value["device_traces"] *= 1000 + rng.randrange(9)
    path.write_bytes(pickle.dumps(value, 4))


@attack("snapshot-stacks", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    value = snapshot(20_000, 20_000 + rng.randrange(9))
    path.write_bytes(pickle.dumps(value, 4))


@attack("snapshot-segments", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    block = {"size": 512, "requested_size": 500, "address": 1, "state": "active_allocated"}
    segment = {
        "device": 0, "address": 1, "total_size": 1 << 20, "allocated_size": 1, "active_size": 1,
        "stream": 0, "segment_type": "large", "blocks": [block] * 1000,
    }  # fmt: skip
    value = {**snapshot(10), "segments": [segment] * (5000 + rng.randrange(9))}
    path.write_bytes(pickle.dumps(value, 4))


@attack("snapshot-gzip-bomb", PICKLE + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"]", PROTOCOL)


@attack("snapshot-gzip-bomb-inside", PICKLE)
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"2", PROTOCOL + b"]")


@attack("snapshot-integer", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    size = 8_000_000 + rng.randrange(99)
    path.write_bytes(PROTOCOL + b"\x8b" + size.to_bytes(4, "little") + b"\x7f" * size + b".")


@attack("snapshot-decimal", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(b"\x80\x02" + b"L" + b"7" * (4_000_000 + rng.randrange(99)) + b"L\n.")
