"""Writes a replayed recording as torch.profiler would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.diagnosis.model import Rank, Recording, Span
from bench.diagnosis.replay import Times

FIRST_US = 1_000_000.0
"""Trace time of the first moment."""
LEAD_US = 20.0
"""How much earlier the profiler starts, and how much later it ends."""


def write(recording: Recording, times: list[Times], folder: Path) -> list[Path]:
    """Write every rank to a file of ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, (rank, when) in enumerate(zip(recording, times, strict=True)):
        path = folder / f"rank{number}.pt.trace.json"
        path.write_text(json.dumps({**rank.head, "traceEvents": events(rank, when)}))
        paths.append(path)
    return paths


def events(rank: Rank, times: Times) -> list[dict[str, Any]]:
    """The events of a rank."""
    written = [dict(event) for event in rank.names]
    begins: dict[Span, float] = {}
    for moment in rank.moments:
        at = times.moments[moment]
        if moment.kind == "begin":
            begins[moment.span] = at
        elif moment.kind == "end":
            written.append(_slice(moment.span, begins.pop(moment.span), at))
        else:
            written.append(_slice(moment.span, at, at))
    for work, (start, end) in times.works.items():
        device, stream = work.stream
        args = work.args | {"device": device, "stream": stream}
        span = Span(work.name, work.category, device, stream, args)
        written.append(_slice(span, start, end))
    written.append(_recording(times.end))
    return written


def _slice(span: Span, start: float, end: float) -> dict[str, Any]:
    event = {
        "ph": span.phase,
        "cat": span.category,
        "name": span.name,
        "pid": span.pid,
        "tid": span.tid,
        "ts": round(FIRST_US + start, 3),
        **span.extra,
        "args": span.args,
    }
    if span.phase == "X":
        event["dur"] = round(FIRST_US + end, 3) - event["ts"]
        event["dur"] = round(event["dur"], 3)
    return event


def _recording(end: float) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "Trace",
        "name": "PyTorch Profiler (0)",
        "pid": "Spans",
        "tid": "PyTorch Profiler",
        "ts": FIRST_US - LEAD_US,
        "dur": round(end + 2 * LEAD_US, 3),
        "args": {"Op count": 0},
    }
