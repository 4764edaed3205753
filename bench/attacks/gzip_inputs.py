"""Packed files of several formats that unpack to far more than they are."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

from kineto_inputs import JSON, event
from registry import attack
from text_inputs import JOURNAL


def zeros(path: Path, size: int, byte: bytes = b"\0", head: bytes = b"") -> None:
    """A gzip file that unpacks to ``head`` and ``size`` times ``byte``."""
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(head)
        block = byte * (1 << 24)
        for _ in range(size >> 24):
            file.write(block)


@attack("journal-gzip-lines", JOURNAL + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"\n")


@attack("journal-gzip-objects", JOURNAL + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 2 << 30, b"{}\n")


@attack("text-gzip-bomb", "trace.json.gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b" ", b'{"traceEvents":[')


@attack("nested-gzip", "trace.json.gz")
def _(path: Path, rng: random.Random) -> None:
    data = b"[" * (1 << 24)
    for _ in range(10 + rng.randrange(3)):
        data = gzip.compress(data)
    path.write_bytes(data)


@attack("gzip-many-members", JSON + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    text = json.dumps({"traceEvents": [event("aten::mm", n, 1) for n in range(20_000)]}).encode()
    with path.open("wb") as file:
        for byte in text:
            file.write(gzip.compress(bytes([byte]), 1))


@attack("gzip-blank", JSON + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"\n")


@attack("gzip-events", JSON + ".gz")
def _(path: Path, rng: random.Random) -> None:
    """Nine million events in three megabytes, just below the limit of unpacking."""
    text = json.dumps(event("a", rng.randrange(9), 1)).encode() + b","
    noise = rng.randbytes(2_600_000)
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b'{"noise":"' + noise.hex().encode()[:2_600_000] + b'","traceEvents":[')
        block = text * 1000
        for _ in range(6000):
            file.write(block)
        file.write(text[:-1] + b"]}")
