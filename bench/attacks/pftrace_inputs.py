"""Perfetto traces written to cost time or memory."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from gzip_inputs import zeros
from registry import attack

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.importers.protobuf.encode import field, message

PFTRACE = "recording.pftrace"
COUNT = 100_000
Value = int | float | str | bytes


def packet(*fields: tuple[int, Value]) -> bytes:
    """A packet of the first sequence."""
    return field(1, message(*fields, (10, 1)))


def operator(number: int, *more: tuple[int, Value], track: int = 5) -> bytes:
    """The begin and the end of a slice."""
    begin = message((9, 1), (11, track), (23, "op"), *more)
    end = message((9, 2), (11, track))
    return packet((8, number * 10 + 1), (11, begin)) + packet((8, number * 10 + 6), (11, end))


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


@attack("pftrace-small-packets", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(b"\x0a\x02\x50\x01" * (5_000_000 + rng.randrange(99)))


@attack("pftrace-sequences", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """A sequence of its own for every packet."""
    parts = []
    for number in range(1, 2 * COUNT + rng.randrange(99)):
        body = message((9, 1 + number % 2), (11, 5), (23, "op"))
        parts.append(field(1, message((8, number), (11, body), (10, number), (13, 1))))
    path.write_bytes(b"".join(parts))


@attack("pftrace-counter-tracks", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    parts = [operator(1)]
    for number in range(10, COUNT + rng.randrange(99)):
        track = message((1, number), (2, f"counter {number}"), (8, message((4, 1))))
        parts.append(packet((60, track)))
        parts.append(packet((8, number), (11, message((9, 4), (11, number), (30, number)))))
    path.write_bytes(b"".join(parts))


@attack("pftrace-interned", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    parts = []
    for number in range(1, COUNT + rng.randrange(99)):
        interned = message((2, message((1, number), (2, f"name {number} {rng.random()}"))))
        begin = message((9, 1), (11, 5), (10, number))
        parts.append(packet((8, number * 10), (12, interned), (11, begin), (13, 2)))
        parts.append(packet((8, number * 10 + 5), (11, message((9, 2), (11, 5)))))
    path.write_bytes(b"".join(parts))


@attack("pftrace-interned-long", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    text = rng.choice("ab<(") * 100_000_000
    interned = packet((12, message((2, message((1, 1), (2, text))))))
    begins = (
        packet((8, n * 10), (11, message((9, 1), (11, 5), (10, 1)))) + operator(n)
        for n in range(1000)
    )
    path.write_bytes(interned + b"".join(begins))


@attack("pftrace-names-long", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    letters = "ab<(:_ ,{["
    path.write_bytes(
        b"".join(
            operator(n, (23, f"{n}" + rng.choice(letters) * 3_000_000), (22, "kernel"))
            for n in range(20)
        )
    )


@attack("pftrace-clocks", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """A snapshot of many clocks before every event."""
    parts = []
    for number in range(20_000 + rng.randrange(99)):
        readings = ((1, message((1, clock), (2, number * clock))) for clock in range(1, 60))
        parts.append(packet((6, message(*readings))))
        parts.append(operator(number))
    path.write_bytes(b"".join(parts))


@attack("pftrace-clocks-chained", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """Clocks that are known only through all others."""
    parts = []
    for clock in range(64, 64 + 20_000 + rng.randrange(99)):
        pair = ((1, message((1, each), (2, clock * 5))) for each in (clock, clock + 1))
        parts.append(packet((6, message(*pair))))
        body = message((9, 3), (11, 5), (23, "op"))
        parts.append(packet((8, clock * 5), (58, clock), (11, body)))
    path.write_bytes(b"".join(parts))


@attack("pftrace-flows", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """Every slice begins and ends the same flows."""
    flows = [(36, rng.randrange(9)) for _ in range(50)] + [(42, rng.randrange(9))] * 50
    path.write_bytes(b"".join(operator(n, *flows) for n in range(20_000)))


@attack("pftrace-annotations", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """Arguments of ever other names, inside one another."""

    def argument(number: int) -> bytes:
        value = message((10, f"key {number}"), (6, f"{rng.random()}"))
        for level in range(number % 40):
            value = message((10, f"level {level}"), (11, value))
        return value

    path.write_bytes(b"".join(operator(n, (4, argument(n))) for n in range(COUNT)))


@attack("pftrace-lengths", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """Messages that claim more bytes than there are, after some that are right."""
    length = bytes([0xFF] * 8 + [0x7F])
    whole = b"".join(operator(n) for n in range(1000))
    inside = field(1, b"\x5a" + length + rng.randbytes(50))
    path.write_bytes(whole + inside * 1000 + b"\x0a" + length)


@attack("pftrace-groups", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """Groups, which nobody writes, inside one another and without an end."""
    groups = b"\x0b" * (1_000_000 + rng.randrange(99))
    path.write_bytes(operator(1) + field(1, groups) + operator(2))


@attack("pftrace-gpu-stages", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """GPUs and queues of ever other numbers."""
    parts = []
    for number in range(COUNT):
        stage = message((1, number), (2, 5), (11, rng.randrange(2**31)), (13, number), (14, number))
        parts.append(packet((8, number * 10), (53, stage)))
    path.write_bytes(operator(1) + b"".join(parts))


@attack("pftrace-gpu-counters", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    parts = []
    for number in range(COUNT):
        specs = ((1, message((1, n), (2, f"c{n}"))) for n in (number, number + 1))
        values = message((1, number), (2, rng.randrange(99)))
        parts.append(packet((8, number), (52, message((1, message(*specs)), (2, values), (3, 1)))))
    path.write_bytes(operator(1) + b"".join(parts))
