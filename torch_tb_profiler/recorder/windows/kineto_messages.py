"""Leaves out what Kineto prints when a profiler starts, so that stderr is the program's alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LOG_LEVEL, SILENT = "KINETO_LOG_LEVEL", "99"
"""An environment variable that Kineto reads once, when it prepares the first trace of a process."""

OF_THREAD = b"ERROR: External init callback must run in same thread as registerClient"
"""Start of a line that no level silences: the first profiler of a process starts in another thread
than the one that imported torch. It only means that no daemon can control the profiler."""

STDERR = 2
FORWARD_S = 1.0
"""How long to wait for the last lines of others; a process that was started meanwhile may write for
longer, and is forwarded for as long."""


@contextmanager
def silence() -> Iterator[None]:
    """Without Kineto's messages, unless the program sets their level."""
    if LOG_LEVEL in os.environ:
        yield
        return
    os.environ[LOG_LEVEL] = SILENT
    try:
        if threading.current_thread() is threading.main_thread():
            yield
        else:
            with _without_line(OF_THREAD):
                yield
    finally:
        os.environ.pop(LOG_LEVEL, None)


@contextmanager
def _without_line(start: bytes) -> Iterator[None]:
    """Without lines on stderr that begin so; those of other threads pass."""
    try:
        real = os.dup(STDERR)
    except OSError:  # the program has closed it
        yield
        return
    reading, writing = os.pipe()
    os.dup2(writing, STDERR)
    os.close(writing)
    forwarding = threading.Thread(target=_forward, args=(reading, real, start), daemon=True)
    forwarding.start()
    try:
        yield
    finally:
        os.dup2(real, STDERR)
        forwarding.join(FORWARD_S)


def _forward(reading: int, real: int, start: bytes) -> None:
    rest = b""
    with suppress(OSError):  # nobody reads the program's stderr
        while text := os.read(reading, 1 << 16):
            *lines, rest = (rest + text).split(b"\n")
            for line in lines:
                if not line.startswith(start):
                    os.write(real, line + b"\n")
        os.write(real, rest)
    os.close(reading)
    os.close(real)
