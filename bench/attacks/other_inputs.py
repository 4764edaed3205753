"""Recordings of the other formats made to cost time or memory."""

from __future__ import annotations

import gzip
import random
import sys
from pathlib import Path

from kineto_inputs import zeros
from registry import attack

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.importers.protobuf.encode import field, message

PFTRACE = "recording.pftrace"
JOURNAL = "host_1.1700000000000.record.jsonl"


@attack("journal-gzip-lines", JOURNAL + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"\n")


@attack("journal-gzip-objects", JOURNAL + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 2 << 30, b"{}\n")


@attack("journal-objects", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    path.write_text('{"kind":"step"}\n' * (3_000_000 + rng.randrange(99)))


@attack("pftrace-gzip-bomb", PFTRACE + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30)


@attack("pftrace-gzip-bomb-inside", PFTRACE)
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"\x0a\x00")


@attack("pftrace-empty-packets", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(b"\x0a\x00" * (20_000_000 + rng.randrange(99)))


@attack("pftrace-nested", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    value = b""
    for _ in range(3000 + rng.randrange(99)):
        value = message((9, message((12, value))))
    path.write_bytes(b"".join(field(1, message((11, value))) for _ in range(100)))


@attack("pftrace-tracks", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    parts = []
    for number in range(1, 100_000 + rng.randrange(99)):
        thread = message((1, 77), (2, number), (5, f"thread {number}"))
        parts.append(field(1, message((60, message((1, number), (4, thread))), (10, 1))))
        for kind in (1, 2):
            body = message((9, kind), (11, number), (23, f"op{number}"))
            parts.append(field(1, message((8, number * 10 + kind), (11, body), (10, 1))))
    path.write_bytes(b"".join(parts))


@attack("pftrace-deep", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    depth = 100_000 + rng.randrange(99)
    parts = []
    for number in range(2 * depth):
        body = message((9, 1 if number < depth else 2), (11, 5), (23, "op"))
        parts.append(field(1, message((8, number + 1), (11, body), (10, 1))))
    path.write_bytes(b"".join(parts))


@attack("pftrace-parents", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """Tracks inside one another, and one that is its own ancestor."""
    count = 50_000 + rng.randrange(99)
    parts = [
        field(1, message((60, message((1, n), (5, n - 1 or count), (2, f"t{n}"))), (10, 1)))
        for n in range(1, count)
    ]
    for kind in (1, 2):
        body = message((9, kind), (11, count - 1), (23, "op"))
        parts.append(field(1, message((8, kind), (11, body), (10, 1))))
    path.write_bytes(b"".join(parts))


@attack("paddle-json-deep", "paddle_trace.json")
def _(path: Path, rng: random.Random) -> None:
    path.write_text('{"traceEvents":' + "[" * (2_000_000 + rng.randrange(99)))


@attack("text-gzip-bomb", "trace.json.gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b" ", b'{"traceEvents":[')


@attack("nested-gzip", "trace.json.gz")
def _(path: Path, rng: random.Random) -> None:
    data = b"[" * (1 << 24)
    for _ in range(10 + rng.randrange(3)):
        data = gzip.compress(data)
    path.write_bytes(data)
