"""The status of a span: queued, parsing, ready or failed, with speed and remaining time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from torch_tb_profiler.requests.runs import SpanState, SpanStatus

READING_SHARE = 0.9
"""Part of the work that is reading; the rest (linking and summing) reports no progress."""


POLL_S = 0.1
"""Time between two progress reports; the answer itself is not delayed."""

T = TypeVar("T")


class NotReadyError(Exception):
    """The answer needs data that is not discovered or parsed yet; scanning or parsing has
    started."""

    def __init__(self, status: SpanStatus) -> None:
        super().__init__(status.state)
        self.status = status


def reading_status(
    base: SpanStatus, done_bytes: int, read_s: float, elapsed_s: float
) -> SpanStatus:
    """The status of a span that is being parsed.

    Args:
        base: Name, file and size.
        done_bytes: Bytes read so far.
        read_s: How long reading those took.
        elapsed_s: How long the parsing has taken; work remains after the last byte.
    """
    size_bytes = base.size_bytes
    part = min(1.0, done_bytes / size_bytes) if size_bytes > 0 else 1.0
    progress = part * READING_SHARE
    speed = done_bytes / read_s if read_s > 0 and done_bytes > 0 else None
    eta_s = None if speed is None else elapsed_s * (1 - progress) / progress
    return replace(
        base,
        state="parsing",
        progress=round(progress, 4),
        mb_per_s=None if speed is None else round(speed / 1e6, 3),
        eta_s=None if eta_s is None else round(eta_s, 1),
    )


def combined_status(name: str, parts: list[SpanStatus]) -> SpanStatus:
    """One status for all workers of a span; ``parts`` is not empty.

    It is ready when all workers are done (run views leave failed workers out), and failed when all
    of them have failed.
    """
    size_bytes = sum(part.size_bytes for part in parts)
    states = {part.state for part in parts}
    state: SpanState
    if "parsing" in states:
        state = "parsing"
    elif "queued" in states:
        state = "queued"
    else:
        state = "failed" if states == {"failed"} else "ready"
    done = sum(
        part.size_bytes * (1.0 if part.state in ("ready", "failed") else part.progress)
        for part in parts
    )
    speeds = [part.mb_per_s for part in parts if part.mb_per_s is not None]
    speed = sum(speeds) if speeds else None
    left_mb = (size_bytes - done) / 1e6
    return SpanStatus(
        name,
        parts[0].file if len(parts) == 1 else f"{len(parts)} files",
        next((part.format for part in parts if part.format is not None), None),
        size_bytes,
        state,
        progress=round(done / size_bytes, 4) if size_bytes else 1.0,
        mb_per_s=None if speed is None else round(speed, 3),
        eta_s=round(left_mb / speed, 1) if speed and state == "parsing" else None,
        error=next((part.error for part in parts if part.error), None)
        if state == "failed"
        else None,
        retry_s=min((part.retry_s for part in parts if part.retry_s is not None), default=None)
        if state == "failed"
        else None,
        version=parts[0].version if len(parts) == 1 else None,
    )


def when_ready(ask: Callable[[float], T], progress: Callable[[SpanStatus], object]) -> T:
    """The result of ``ask``, however long its traces take to parse.

    Args:
        ask: Called with how long it may wait, in seconds; raises NotReadyError when that was too
            short, and is called again.
        progress: Called with the parsing status about ten times a second.
    """
    while True:
        answered = _once(ask, progress)
        if answered is not None:
            return answered[0]


def _once(ask: Callable[[float], T], progress: Callable[[SpanStatus], object]) -> tuple[T] | None:
    try:
        return (ask(POLL_S),)
    except NotReadyError as pending:
        progress(pending.status)
        return None
