"""A part of a file equals the whole reading of a file that holds the part's events alone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.kineto.part import read_part
from torch_tb_profiler.importers.kineto.reader import read_file
from torch_tb_profiler.importers.parts import RecordingPart
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.trace.columns import EventColumns

Event = dict[str, Any]

EPOCH_US = 1_700_000_000_000_000
PIECE_BYTES = 700
"""Some events, so that a file has many pieces."""
PART_ISSUES = ("part_read", "part_edges")


class Index:
    """Keeps an index in memory, and counts the looks at it."""

    def __init__(self) -> None:
        self.stored: bytes | None = None
        self.saves = 0

    def load(self) -> bytes | None:
        return self.stored

    def save(self, index: bytes) -> None:
        self.stored = index
        self.saves += 1


def random_events(seed: int) -> list[Event]:
    """Operators, calls and steps on two threads, work on two streams, and other events."""
    choice = random.Random(seed)
    base = EPOCH_US if seed % 2 else choice.randrange(1000)
    events: list[Event] = []
    for tid in (1, 2):
        time = base + choice.randrange(50)
        for number in range(choice.randrange(2, 6)):
            length = choice.randrange(1, 400)
            if tid == 1:
                events.append(
                    complete("user_annotation", f"ProfilerStep#{number + 3}", time, length, tid)
                )
            inner = time
            while inner < time + length:
                dur = choice.choice([0, 1, choice.randrange(60)])
                events.append(complete("cpu_op", f"aten::op{dur % 5}", inner, dur, tid))
                correlation = len(events)
                call = complete("cuda_runtime", "cudaLaunchKernel", inner, 0.5, tid)
                events.append({**call, "args": {"correlation": correlation}})
                later = inner + choice.choice([2, 50, 900])
                work = complete("kernel", f"k{dur % 3}", later, choice.randrange(40), 7)
                events.append({**work, "pid": 0, "args": {"correlation": correlation}})
                inner += dur + choice.randrange(1, 90)
            time += length + choice.randrange(30)
    for _ in range(choice.randrange(10)):
        time = base + choice.randrange(900)
        events.append(
            {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": time, "s": "t",
             "args": {"Device Type": 0, "Device Id": -1, "Addr": 5, "Bytes": 8}}
        )  # fmt: skip
        events.append({"ph": "C", "name": "busy", "pid": 1, "ts": time, "args": {"a": time % 7}})
        events.append(
            {"ph": choice.choice("sf"), "id": 4, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1,
             "ts": time}
        )  # fmt: skip
    if seed % 3:
        choice.shuffle(events)  # else nearly in order of time, as Kineto writes them
    for tid, name in ((1, "main"), (7, "stream 7")):
        declared = {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}
        events.insert(choice.randrange(len(events)), {**declared, "ts": base})
    return events


def complete(cat: str, name: str, ts: float, dur: float, tid: int) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur}


def written(path: Path, events: list[Event]) -> str:
    header = {"schemaVersion": 1, "deviceProperties": [], "traceName": "x"}
    path.write_text(json.dumps({"traceEvents": events, **header}, indent=1))
    return str(path)


def slices_of(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if event["ph"] == "X"]


def in_time(events: list[Event], start: float, end: float, device_end: float = -1) -> list[Event]:
    """The rule in plain words: what overlaps the part, and what its calls launched until then."""

    def overlaps(event: Event) -> bool:
        if event["ph"] == "M":
            return True
        begin, stop = float(event["ts"]), float(event["ts"] + event.get("dur", 0))
        if event["ph"] != "X":
            return start <= begin < end
        return begin < end and (stop > start or begin == start)

    kept = [event for event in events if overlaps(event)]
    calls = {
        event["args"]["correlation"] for event in slices_of(kept) if event["cat"] == "cuda_runtime"
    }
    return [
        event
        for event in events
        if overlaps(event)
        or (
            event.get("cat") == "kernel"
            and event["args"]["correlation"] in calls
            and end <= event["ts"] < device_end
        )
    ]


def in_steps(events: list[Event], first: int, last: int) -> list[Event]:
    steps = [event for event in slices_of(events) if event["name"].startswith("ProfilerStep")]
    chosen = [each for each in steps if first <= int(each["name"].partition("#")[2]) <= last]
    start = min(each["ts"] for each in chosen)
    end = max(each["ts"] + each["dur"] for each in chosen)
    later = sorted((each["ts"], each["ts"] + each["dur"]) for each in steps if each["ts"] >= end)
    return in_time(events, start, end, later[0][1] if later else 1e18)


def content(columns: EventColumns) -> dict[str, list[tuple[Any, ...]]]:
    """Rows of all tables, with texts, tracks and absolute times, and details beside their slice."""
    tables: dict[str, list[tuple[Any, ...]]] = {}
    for name, table in columns.tables.items():
        plain: list[list[Any]] = []
        for column, values in table.items():
            cells: list[Any] = values.tolist()
            if column.endswith("_code"):
                cells = [None if code < 0 else columns.strings[code] for code in cells]
            elif column == "track":
                cells = [(columns.tracks[at].pid, columns.tracks[at].tid) for at in cells]
            elif column in ("start_ns", "time_ns"):
                cells = [columns.base_ns + each for each in cells]
            plain.append(cells)
        tables[name] = [tuple(map(str, row)) for row in zip(*plain, strict=True)]
    names = {(track.pid, track.tid): track.thread_name for track in columns.tracks}
    tables["tracks"] = [tuple(map(str, row)) for row in sorted(names.items())]
    return tables


def compare(part: EventColumns, alone: EventColumns) -> None:
    found, expected = content(part), content(alone)
    for name, rows in expected.items():
        assert found[name] == rows, name
    counts = {k: v for k, v in part.quality.counts.items() if k not in PART_ISSUES}
    assert counts == alone.quality.counts


@pytest.mark.parametrize("seed", range(60))
def test_times_of_random_files(tmp_path: Path, seed: int) -> None:
    events = random_events(seed)
    path = written(tmp_path / "whole.json", events)
    choice = random.Random(seed)
    first = min(event["ts"] for event in slices_of(events))
    index = Index()
    for _ in range(4):
        start = choice.randrange(600)
        end = start + choice.randrange(1, 300)
        part = RecordingPart.parse("us", f"{start}:{end}")
        chosen = in_time(events, first + start, first + end)
        reading = Reading(index=index)
        if all(event["ph"] == "M" for event in chosen):
            with pytest.raises(TraceFormatError, match="part"):
                read_part(path, part, name="x", reading=reading, piece_bytes=PIECE_BYTES)
            continue
        read = read_part(path, part, name="x", reading=reading, piece_bytes=PIECE_BYTES)
        compare(read, read_file(written(tmp_path / "alone.json", chosen), name="x"))
        assert read.quality.counts["part_read"] == 1
        edges = sum(
            event["ts"] < first + start or event["ts"] + event["dur"] > first + end
            for event in slices_of(chosen)
        )
        assert read.quality.counts.get("part_edges", 0) == edges
    assert index.saves == 1


@pytest.mark.parametrize("seed", range(40))
def test_steps_of_random_files(tmp_path: Path, seed: int) -> None:
    events = random_events(seed)
    path = written(tmp_path / "whole.json", events)
    for text, first, last in (("3", 3, 3), ("3:4", 3, 4), ("4:90", 4, 90)):
        part = RecordingPart.parse("steps", text)
        read = read_part(path, part, name="x", reading=Reading(), piece_bytes=PIECE_BYTES)
        alone = written(tmp_path / "alone.json", in_steps(events, first, last))
        compare(read, read_file(alone, name="x"))
