"""What there is: runs with their workers and spans, and how far each span is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch_tb_profiler.requests.errors import Problem

SpanState = Literal["queued", "parsing", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class SpanStatus:
    """One trace file; ``format`` is null until known, ``retry_s`` where trying again is no use.

    Attributes:
        name: The span.
        file: Base name of its file.
        format: Input format once it is known, else None.
        size_bytes: Size of the file.
        state: What happens to it.
        progress: Done part of the work, 0 to 1.
        mb_per_s: Speed of reading in 10⁶ file bytes per second; None before there is one.
        eta_s: Seconds left; None when unknown.
        error: Why it failed, else None.
        retry_s: Seconds until it is tried again when somebody asks, where the file is not to blame;
            None where only another file helps.
        version: Another text whenever the content of the file may be another one; None for the
            status of several files.
    """

    name: str
    file: str
    format: str | None
    size_bytes: int
    state: SpanState
    progress: float = 0.0
    mb_per_s: float | None = None
    eta_s: float | None = None
    error: Problem | None = None
    retry_s: float | None = None
    version: str | None = None
