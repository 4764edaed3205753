"""Reads a journal back line by line; damaged lines are skipped."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_STEPS = 100_000
"""Steps kept for the trace of a window; of more, the newest."""

FIRST_STEPS = 1000
"""Durations kept for detecting warm-up."""

MAX_BLOCK_BYTES = 1 << 20
"""Longer blocks without rows are invalid."""

MAX_BLOCKS = 10_000
METADATA_KINDS = frozenset(
    {"header", "settings", "missing", "loader", "timer", "window", "profiler", "cost", "end"}
)
TIMED = {"batches": "start_ns", "work": "start_ns", "samples": "time_ns"}
"""Kind of a block with rows → its column of times."""

KIND = re.compile(rb'^\{"kind": ?"(\w+)"')
TIMES = re.compile(rb'"(?:start|time)_ns": ?\[([0-9, ]+)\]')


@dataclass(slots=True)
class PhaseSteps:
    """The steps of one phase.

    Attributes:
        count: Number of steps.
        start_ns: Start of the first, in nanoseconds since 1970.
        end_ns: End of the last, likewise.
        durations: Durations of the first :data:`FIRST_STEPS`, in ns.
    """

    count: int = 0
    start_ns: int | None = None
    end_ns: int | None = None
    durations: list[int] = field(default_factory=list)

    def add(self, starts: list[Any], ends: list[Any]) -> None:
        """Add the steps of a block; invalid rows are skipped."""
        known = [
            (start, end)
            for start, end in zip(starts, ends, strict=False)
            if isinstance(start, int) and isinstance(end, int) and start <= end
        ]
        if known:
            first, last = min(start for start, _ in known), max(end for _, end in known)
            self.count += len(known)
            room = FIRST_STEPS - len(self.durations)
            self.durations += [end - start for start, end in known[:room]]
            self.start_ns = first if self.start_ns is None else min(first, self.start_ns)
            self.end_ns = last if self.end_ns is None else max(last, self.end_ns)


@dataclass(slots=True)
class JournalSummary:
    """The content of a journal without the rows of batches, work and samples.

    Attributes:
        header: The header; empty if there is none.
        blocks: All blocks without rows, in order.
        steps: (number of steps, line) of the newest blocks of steps.
        phases: Phase → its steps.
        windows: Name of a trace → the last state of its window.
        reasons: (what, reason) of everything that was not recorded; an ordered set.
        cost_ns: CPU time of the recorder; None if not recorded.
        has_warmup: Whether the number of warm-up steps was written.
        end: The ``end`` block.
        is_truncated: Whether the last line is incomplete.
        complete_bytes: Length of all complete lines.
    """

    header: dict[str, Any] = field(default_factory=dict)
    blocks: list[bytes] = field(default_factory=list)
    steps: deque[tuple[int, bytes]] = field(default_factory=deque)
    phases: dict[str, PhaseSteps] = field(default_factory=dict)
    windows: dict[str, dict[str, Any]] = field(default_factory=dict)
    reasons: dict[tuple[str, str], None] = field(default_factory=dict)
    cost_ns: int | None = None
    has_warmup: bool = False
    end: dict[str, Any] | None = None
    is_truncated: bool = False
    complete_bytes: int = 0
    _step_count: int = 0

    def add_block(self, block: dict[str, Any], line: bytes) -> None:
        """Add a block and the line that holds it."""
        kind = block.get("kind")
        if kind == "steps":
            self._add_steps(block, line)
            return
        if (
            kind not in METADATA_KINDS
            or len(line) > MAX_BLOCK_BYTES
            or len(self.blocks) >= MAX_BLOCKS
        ):
            return
        self.blocks.append(line)
        if kind == "header":
            self.header = self.header or block
        elif kind == "window" and isinstance(block.get("trace"), str):
            before = self.windows.get(block["trace"], {})
            known = {key: value for key, value in block.items() if value is not None}
            self.windows[block["trace"]] = before | known
        elif kind == "missing":
            self.reasons[str(block.get("what")), str(block.get("reason"))] = None
        elif kind == "cost" and isinstance(block.get("cpu_ns"), int):
            self.cost_ns = (self.cost_ns or 0) + block["cpu_ns"]
        elif kind == "timer":
            self.has_warmup = self.has_warmup or isinstance(block.get("warmup_steps"), int)
        elif kind == "end":
            self.end = block

    def _add_steps(self, block: dict[str, Any], line: bytes) -> None:
        starts, ends = block.get("start_ns"), block.get("end_ns")
        if not (isinstance(starts, list) and isinstance(ends, list)):
            return
        self.phases.setdefault(str(block.get("phase")), PhaseSteps()).add(starts, ends)
        self.steps.append((len(starts), line))
        self._step_count += len(starts)
        while self._step_count > MAX_STEPS and len(self.steps) > 1:
            self._step_count -= self.steps.popleft()[0]


def summarize_journal(path: str) -> JournalSummary:
    """Read the summary of a journal.

    Raises:
        OSError: it cannot be read.
    """
    summary = JournalSummary()
    for line in journal_lines(path):
        summary.is_truncated = not line.endswith(b"\n")
        summary.complete_bytes += 0 if summary.is_truncated else len(line)
        kind = KIND.match(line)
        if kind is not None and kind[1].decode() in TIMED:
            continue
        block = parse_block(line)
        if block is not None:
            summary.add_block(block, line.strip(b" \r\n\0"))
    return summary


def blocks_of_kinds(path: str, kinds: Collection[str]) -> Iterator[dict[str, Any]]:
    """The blocks of the given kinds, in order.

    Raises:
        OSError: it cannot be read.
    """
    for line in journal_lines(path):
        kind = KIND.match(line)
        if kind is None or kind[1].decode() in kinds:
            block = parse_block(line)
            if block is not None and block.get("kind") in kinds:
                yield block


def rows_in_spans(path: str, spans: Mapping[str, tuple[int, int]]) -> Iterator[tuple[str, bytes]]:
    """The blocks of batches, work and samples restricted to time spans, as (name, block).

    Args:
        path: The journal.
        spans: Name → start and end, in nanoseconds since 1970.

    Raises:
        OSError: it cannot be read.
    """
    if not spans:
        return
    earliest = min(begin for begin, _ in spans.values())
    latest = max(end for _, end in spans.values())
    for line in journal_lines(path):
        kind = KIND.match(line)
        times = TIMES.search(line)
        if kind is None or times is None or kind[1].decode() not in TIMED:
            continue
        first, last = (int(each or 0) for each in _first_and_last(times[1]))
        if last < earliest or first > latest:
            continue
        block = parse_block(line)
        if block is None:
            continue
        for name, (begin, end) in spans.items():
            part = rows_in_range(block, begin, end) if first <= end and last >= begin else None
            if part is not None:
                yield name, json.dumps(part, separators=(",", ":")).encode()


def rows_in_range(block: Mapping[str, Any], begin_ns: int, end_ns: int) -> dict[str, Any] | None:
    """The block with only the rows in a time range; None if there are none."""
    times = block.get(TIMED.get(str(block.get("kind")), ""))
    if not isinstance(times, list):
        return None
    rows = [row for row, at in enumerate(times) if isinstance(at, int) and begin_ns <= at <= end_ns]
    if not rows:
        return None
    part = {key: _rows(value, rows, len(times)) for key, value in block.items()}
    metrics = block.get("metrics")
    if isinstance(metrics, dict):
        part["metrics"] = {
            name: {key: _rows(value, rows, len(times)) for key, value in metric.items()}
            for name, metric in metrics.items()
            if isinstance(metric, dict)
        }
    return part


def journal_lines(path: str) -> Iterator[bytes]:
    """The lines of a journal with their line ends.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        yield from file


def parse_block(line: bytes) -> dict[str, Any] | None:
    """Parse the block in a line; None if it is damaged."""
    try:
        block = json.loads(line.strip(b" \r\n\0"))
    except (ValueError, RecursionError):
        return None
    return block if isinstance(block, dict) else None


def _rows(value: Any, rows: list[int], size: int) -> Any:
    if isinstance(value, list) and len(value) == size:
        return [value[row] for row in rows]
    return value


def _first_and_last(times: bytes) -> tuple[bytes, bytes]:
    return times[: times.find(b",")] if b"," in times else times, times[times.rfind(b",") + 1 :]
