"""Memory snapshots (pickles) written to cost time or memory."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

from gzip_inputs import zeros
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


@attack("snapshot-pops", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(PROTOCOL + b"]" + b"]0" * (COUNT // 2 + rng.randrange(99)) + b".")


@attack("snapshot-nothing-appended", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(PROTOCOL + b"]" + b"(e" * (COUNT // 2 + rng.randrange(99)) + b".")


@attack("snapshot-headers", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(PROTOCOL * (COUNT // 2 + rng.randrange(99)) + b"].")


@attack("snapshot-frames", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    frame = b"\x95" + bytes(8)
    path.write_bytes(PROTOCOL + frame * (3_000_000 + rng.randrange(99)) + b"].")


@attack("snapshot-frame-length", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    length = rng.randrange(2**63, 2**64).to_bytes(8, "little")
    path.write_bytes(PROTOCOL + b"\x95" + length + pickle.dumps(snapshot(1000), 2)[2:])


@attack("snapshot-lengths", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Texts and bytes that claim more than there is, after data that is right."""
    length = rng.randrange(2**40, 2**62).to_bytes(8, "little")
    whole = pickle.dumps(snapshot(1000), 4)[:-1]
    path.write_bytes(whole + b"\x8e" + length + b"\x8d" + length)


@attack("snapshot-tuples-deep", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(PROTOCOL + b"]" + b"\x85" * (COUNT + rng.randrange(99)) + b".")


@attack("snapshot-memo-far", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    puts = (
        b"r" + rng.randrange(2**31, 2**32).to_bytes(4, "little") + b"j" + rng.randbytes(4)
        for _ in range(2_000_000)
    )
    path.write_bytes(PROTOCOL + b"](" + b"".join(puts) + b"e.")


@attack("snapshot-items", PICKLE)
def _(path: Path, _rng: random.Random) -> None:
    path.write_bytes(PROTOCOL + b"]" + (b"(" + b"N" * 999 + b"e") * (COUNT // 1000) + b".")


@attack("snapshot-keys", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    keys = dict.fromkeys(range(3000000 + rng.randrange(99)))
    path.write_bytes(pickle.dumps({**snapshot(1000), "allocator_settings": keys}, 4))


@attack("snapshot-integers", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    value = snapshot(100_000)
    for entry in value["device_traces"][0]:
        entry["addr"] = entry["size"] = rng.choice([2**500, -(2**500), 2**64, -(2**63), 2**63])
        entry["time_us"] = rng.choice([2**63, -1, 2**52, 0, 2**500])
    path.write_bytes(pickle.dumps(value, 4))


@attack("snapshot-stack-texts", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Few frames with long names, in ever other stacks: each is written out in each stack."""
    value = snapshot(100_000 + rng.randrange(99))
    frames = [
        {"filename": f"/{n}" + "a" * 900 + ".py", "line": n, "name": f"{n}" + "f" * 900}
        for n in range(100)
    ]
    for entry in value["device_traces"][0]:
        entry["frames"] = rng.choices(frames, k=60)
    path.write_bytes(pickle.dumps(value, 4))


@attack("snapshot-annotations", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Ranges inside one another that never end."""
    marks = [
        {"stage": "START", "name": f"range{n}_{rng.random()}", "device": 0, "time_us": n + 1}
        for n in range(300_000)
    ]
    path.write_bytes(pickle.dumps({**snapshot(1000), "external_annotations": marks}, 4))


@attack("snapshot-odd-types", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Every value of another type than it has."""
    odd: list[Any] = [
        None,
        True,
        -1,
        2**70,
        1e308,
        float("nan"),
        "x",
        b"x",
        [],
        {},
        (),
        [[]],
        {"a": 1},
    ]
    value = snapshot(0)
    trace: list[Any] = value["device_traces"][0]
    keys = ("action", "addr", "size", "stream", "time_us", "frames", "device_free")
    trace += [{key: rng.choice(odd) for key in keys} for _ in range(5000)]
    segment = ("device", "address", "total_size", "allocated_size", "stream", "blocks", "frames")
    block = ("size", "requested_size", "address", "state", "frames", "history")
    value["segments"] = [
        {key: rng.choice(odd) for key in segment}
        | {"total_size": 5, "blocks": [{key: rng.choice(odd) for key in block}]}
        for _ in range(5000)
    ]
    value["external_annotations"] = [
        {key: rng.choice(odd) for key in ("stage", "name", "device", "time_us")} for _ in range(99)
    ]
    path.write_bytes(pickle.dumps(value, 4))
