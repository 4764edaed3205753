"""Recordings in which much work lies deep, and those that take long for nothing."""

from __future__ import annotations

import gzip
import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from kineto_inputs import JSON, event, kernel, write
from nsys_inputs import NSYS
from registry import attack
from text_inputs import JOURNAL

LEVELS = 990
"""Less than are left out whatever is in them."""

THREAD = 1 << 48 | 1000 << 24 | 1001


def launched(count: int) -> Iterator[dict[str, Any]]:
    """Operators with a launch and a kernel each, from 2000 µs on."""
    for number in range(1, count + 1):
        at = 2000 + number * 20
        yield event("aten::mm", at, 18, args={"External id": number})
        yield event("cudaLaunchKernel", at + 1, 1, "cuda_runtime", args={"correlation": number})
        yield kernel(number, ts=at + 5, dur=5)


def around(category: str, name: str, count: int) -> Iterator[dict[str, Any]]:
    """Slices inside one another around the operators."""
    for level in range(LEVELS):
        ids = {"Python id": level + 1, "Python parent id": level, "Python module id": level}
        end = 10**7 + count * 20 - level
        yield event(name.format(level), level, end - level, category, args=ids)


@attack("ranges-around-launches", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 15_000 + rng.randrange(99)
    write(path, [*around("user_annotation", "range{}", count), *launched(count)])


@attack("frames-around-launches", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 30_000 + rng.randrange(99)
    write(path, [*around("python_function", "net{0}.py({0}): f", count), *launched(count)])


@attack("modules-around-launches", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 30_000 + rng.randrange(99)
    write(path, [*around("python_function", "nn.Module: Layer{}_0", count), *launched(count)])


@attack("names-of-long-templates", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 5000 + rng.randrange(99)
    opened, closed = "at::native::f<" * 300, ">" * 300
    write(
        path,
        (
            kernel(n, ts=n * 10, dur=5, name=f"void {opened}int{n}{closed}({'int,' * 500})")
            for n in range(count)
        ),
    )


@attack("gzip-empty-events", JSON + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    path.write_bytes(gzip.compress(b'{"traceEvents":[' + b"{}," * 20_000_000 + b"{}]}"))


@attack("journal-with-a-hole", JOURNAL)
def _(path: Path, _rng: random.Random) -> None:
    path.write_text('{"kind":"header","version":1,"pid":1,"program":"train.py"}\n')
    os.truncate(path, 20 << 30)


@attack("nsys-ranges-around-launches", NSYS)
def _(path: Path, rng: random.Random) -> None:
    count, levels = 40_000 + rng.randrange(99), 5000
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE StringIds (id, value)")
        file.execute("INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'gemm')")
        file.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)")
        file.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, 0)",
            ((n, 10**8 - n, f"range{n}", THREAD) for n in range(levels)),
        )
        file.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
            "(start, end, nameId, globalTid, correlationId)"
        )
        file.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL "
            "(start, end, deviceId, streamId, correlationId, globalPid, demangledName)"
        )
        starts = [6000 + n * 100 for n in range(count)]
        file.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, ?, ?)",
            ((start, start + 20, THREAD, n) for n, start in enumerate(starts)),
        )
        file.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, 2)",
            ((s + 30, s + 80, n, THREAD >> 24 << 24) for n, s in enumerate(starts)),
        )
        file.commit()
