"""Recordings of the other formats written to cost time or memory."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

from kineto_inputs import zeros
from registry import attack

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
