"""Reads a journal back, line by line, as far as it goes: what is damaged is passed over."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_STEPS = 100_000
"""Of steps the newest are kept: so many are told in the trace of a window."""

FIRST_STEPS = 1000
"""So many tell which are warm-up."""

MAX_BLOCK_BYTES = 1 << 20
"""A block that is none of rows is never so long."""

MAX_BLOCKS = 10_000
KEPT = frozenset(
    {"header", "settings", "missing", "loader", "timer", "window", "profiler", "cost", "end"}
)
TIMED = {"batches": "start_ns", "work": "start_ns", "samples": "time_ns"}
"""Kind of a block of rows → the column of their times."""

KIND = re.compile(rb'^\{"kind": ?"(\w+)"')
TIMES = re.compile(rb'"(?:start|time)_ns": ?\[([0-9, ]+)\]')


@dataclass(slots=True)
class Steps:
    """The steps of one phase.

    Attributes:
        count: How many.
        start_ns: Of the first, since 1970.
        end_ns: Of the last.
        durations: In ns, of the first :data:`FIRST_STEPS`.
    """

    count: int = 0
    start_ns: int | None = None
    end_ns: int | None = None
    durations: list[int] = field(default_factory=list)

    def add(self, starts: list[Any], ends: list[Any]) -> None:
        """Take the steps of a block."""
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
class Story:
    """What a journal tells, without rows of batches, work and samples.

    Attributes:
        header: The header; empty where there is none.
        blocks: All blocks that are none of rows, in order.
        steps: Lines of steps, the newest.
        phases: Phase → its steps.
        windows: Name of a trace → the last block of its window.
        reasons: (what, reason) of what was not recorded.
        cost_ns: CPU time that recording took; None where nobody told.
        has_warmup: Whether the timer told which steps are warm-up.
        end: The block of the end.
        is_cut: Whether the last line has no end.
        whole_bytes: Of all lines that have one.
    """

    header: dict[str, Any] = field(default_factory=dict)
    blocks: list[bytes] = field(default_factory=list)
    steps: deque[tuple[int, bytes]] = field(default_factory=deque)
    phases: dict[str, Steps] = field(default_factory=dict)
    windows: dict[str, dict[str, Any]] = field(default_factory=dict)
    reasons: dict[tuple[str, str], None] = field(default_factory=dict)
    cost_ns: int | None = None
    has_warmup: bool = False
    end: dict[str, Any] | None = None
    is_cut: bool = False
    whole_bytes: int = 0
    _step_count: int = 0

    def take(self, block: dict[str, Any], line: bytes) -> None:
        """Take a block that stands in a line."""
        kind = block.get("kind")
        if kind == "steps":
            self._take_steps(block, line)
            return
        if kind not in KEPT or len(line) > MAX_BLOCK_BYTES or len(self.blocks) >= MAX_BLOCKS:
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

    def _take_steps(self, block: dict[str, Any], line: bytes) -> None:
        starts, ends = block.get("start_ns"), block.get("end_ns")
        if not (isinstance(starts, list) and isinstance(ends, list)):
            return
        self.phases.setdefault(str(block.get("phase")), Steps()).add(starts, ends)
        self.steps.append((len(starts), line))
        self._step_count += len(starts)
        while self._step_count > MAX_STEPS and len(self.steps) > 1:
            self._step_count -= self.steps.popleft()[0]


def read_story(path: str) -> Story:
    """What a journal tells.

    Raises:
        OSError: it cannot be read.
    """
    story = Story()
    for line in lines_of(path):
        story.is_cut = not line.endswith(b"\n")
        story.whole_bytes += 0 if story.is_cut else len(line)
        kind = KIND.match(line)
        if kind is not None and kind[1].decode() in TIMED:
            continue
        block = block_of(line)
        if block is not None:
            story.take(block, line.strip(b" \r\n\0"))
    return story


def blocks_of_kinds(path: str, kinds: Collection[str]) -> Iterator[dict[str, Any]]:
    """The blocks of some kinds, in order.

    Raises:
        OSError: it cannot be read.
    """
    for line in lines_of(path):
        kind = KIND.match(line)
        if kind is None or kind[1].decode() in kinds:
            block = block_of(line)
            if block is not None and block.get("kind") in kinds:
                yield block


def rows_between(path: str, spans: Mapping[str, tuple[int, int]]) -> Iterator[tuple[str, bytes]]:
    """The blocks of batches, work and samples cut to stretches of time, as (name, block).

    Args:
        path: The journal.
        spans: Name → begin and end since 1970.

    Raises:
        OSError: it cannot be read.
    """
    if not spans:
        return
    earliest = min(begin for begin, _ in spans.values())
    latest = max(end for _, end in spans.values())
    for line in lines_of(path):
        kind = KIND.match(line)
        times = TIMES.search(line)
        if kind is None or times is None or kind[1].decode() not in TIMED:
            continue
        first, last = (int(each or 0) for each in _ends(times[1]))
        if last < earliest or first > latest:
            continue
        block = block_of(line)
        if block is None:
            continue
        for name, (begin, end) in spans.items():
            part = cut(block, begin, end) if first <= end and last >= begin else None
            if part is not None:
                yield name, json.dumps(part, separators=(",", ":")).encode()


def cut(block: Mapping[str, Any], begin_ns: int, end_ns: int) -> dict[str, Any] | None:
    """The rows of a block whose time lies between two; None without any."""
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


def lines_of(path: str) -> Iterator[bytes]:
    """The lines of a journal with their ends.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        yield from file


def block_of(line: bytes) -> dict[str, Any] | None:
    """The block that a line is; None where it is none."""
    try:
        block = json.loads(line.strip(b" \r\n\0"))
    except (ValueError, RecursionError):
        return None
    return block if isinstance(block, dict) else None


def _rows(value: Any, rows: list[int], size: int) -> Any:
    if isinstance(value, list) and len(value) == size:
        return [value[row] for row in rows]
    return value


def _ends(times: bytes) -> tuple[bytes, bytes]:
    return times[: times.find(b",")] if b"," in times else times, times[times.rfind(b",") + 1 :]
