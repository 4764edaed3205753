"""Writes a memory snapshot of a given size and measures how it is opened.

    .venv/bin/python bench/snapshot.py                 # 1 GB
    .venv/bin/python bench/snapshot.py --mb 100 --keep /tmp/snapshot.pickle

The file has the layout that ``torch.cuda.memory._dump_snapshot`` gives it with protocol 4: Python's
pickler, frames shared through the memo, a stack of 60 frames with every allocation, lists in
batches of a thousand, and a FRAME opcode every 64 KB, wherever that falls. It is written opcode by
opcode, as the objects of a gigabyte would not fit into memory; ``--check`` writes a small one and
compares what is read with what Python's own unpickler makes of it.
"""

from __future__ import annotations

import argparse
import pickle
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

from figures import Figure, add_options, tell

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.api import open_trace
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow
from torch_tb_profiler.importers.snapshot.machine import SnapshotMachine
from torch_tb_profiler.loading.processes.memory_release import retain_buffers
from torch_tb_profiler.views.snapshot.view import snapshot

FRAME_BYTES = 64 << 10
BATCH = 1000
DISTINCT_FRAMES, DISTINCT_STACKS, STACK_DEPTH = 4000, 20_000, 60
SEGMENTS, BLOCKS = 200, 50
LIVE = 3000
START_US = 1_750_000_000_000_000
START_ADDRESS = 139_637_976_727_552
MAX_SECONDS, MAX_MB, MAX_VIEW_MS = 10, 1500, 150


class Writer:
    """Writes the opcodes of a pickle in frames."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.parts: list[bytes] = []
        self.size = 0
        self.written = 0
        self.count = 0
        self.texts: dict[str, bytes] = {}
        file.write(b"\x80\x04")

    def put(self, data: bytes) -> None:
        """Add opcodes; a frame ends behind them where it is long enough."""
        self.parts.append(data)
        self.size += len(data)
        if self.size >= FRAME_BYTES:
            self.end_frame()

    def end_frame(self) -> None:
        """Write the frame that is open."""
        self.file.write(b"\x95" + struct.pack("<Q", self.size) + b"".join(self.parts))
        self.written += self.size + 9
        self.parts, self.size = [], 0

    def memoized(self) -> bytes:
        """How what is memoized next is referred to."""
        index, self.count = self.count, self.count + 1
        return b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)

    def text(self, value: str) -> bytes:
        """The opcodes of a text: itself the first time, then what refers to it."""
        known = self.texts.get(value)
        if known is not None:
            return known
        self.texts[value] = self.memoized()
        data = value.encode()
        return b"\x8c" + bytes([len(data)]) + data + b"\x94"


def integer(value: int) -> bytes:
    """The opcodes of a number."""
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def write_snapshot(path: Path, size_bytes: int) -> int:
    """Write a snapshot of about so many bytes; the number of its events."""
    with path.open("wb") as file:
        out = Writer(file)
        random.seed(7)
        out.memoized()
        out.put(b"}\x94(" + out.text("segments"))
        _segments(out)
        out.put(out.text("device_traces"))
        out.memoized()
        out.put(b"]\x94")
        out.memoized()
        out.put(b"]\x94")
        frames = [_frame_maker(out, number) for number in range(DISTINCT_FRAMES)]
        events = _events(out, frames, size_bytes)
        out.put(b"a" + out.text("allocator_settings"))
        out.memoized()
        out.put(b"}\x94u.")
        out.end_frame()
    return events


def _segments(out: Writer) -> None:
    out.memoized()
    out.put(b"]\x94(")
    for segment in range(SEGMENTS):
        out.memoized()
        out.put(b"}\x94(" + out.text("device") + integer(0))
        out.put(out.text("address") + integer(START_ADDRESS + segment * (2 << 20)))
        out.put(out.text("total_size") + integer(2 << 20) + out.text("stream") + integer(0))
        out.put(out.text("segment_type") + out.text("large") + out.text("blocks"))
        out.memoized()
        out.put(b"]\x94(")
        size = (2 << 20) // BLOCKS
        for block in range(BLOCKS):
            out.memoized()
            address = START_ADDRESS + segment * (2 << 20) + block * size
            out.put(b"}\x94(" + out.text("address") + integer(address) + out.text("size"))
            out.put(integer(size) + out.text("requested_size") + integer(size - 100))
            out.put(out.text("state") + out.text("inactive") + b"u")
        out.put(b"eu")
    out.put(b"e")


def _frame_maker(out: Writer, number: int) -> Callable[[], bytes]:
    """The opcodes of a frame: itself where it is met first, then what refers to it."""
    known: list[bytes] = []

    def frame() -> bytes:
        if known:
            return known[0]
        known.append(out.memoized())
        return b"".join(
            (
                b"}\x94(", out.text("name"), out.text(f"function_{number % 997}"),
                out.text("filename"), out.text(f"/app/model_{number % 61}.py"),
                out.text("line"), integer(number), b"u",
            )
        )  # fmt: skip

    return frame


def _events(out: Writer, frames: list[Callable[[], bytes]], size_bytes: int) -> int:
    """Allocations, each with a list of frames, and their releases, which share it."""
    stacks = [random.choices(frames, k=STACK_DEPTH) for _ in range(DISTINCT_STACKS)]
    live: list[tuple[bytes, bytes, bytes]] = []
    count, time_us = 0, START_US

    def entries() -> Iterator[tuple[str, bytes, bytes, bytes | None]]:
        place = 0
        while out.written < size_bytes:
            place += 1
            address = integer(START_ADDRESS + place * 4096)
            size = integer(random.choice((512, 3000, 70_000, 1 << 20, 9 << 20)))
            yield "alloc", address, size, None
            live.append((address, size, last[0]))
            if len(live) > LIVE:
                address, size, stack = live.pop(random.randrange(len(live)))
                yield "free_requested", address, size, stack
                yield "free_completed", address, size, stack

    last = [b""]
    for action, address, size, stack in entries():
        if count % BATCH == 0:
            out.put((b"e" if count else b"") + b"(")
        count += 1
        time_us += 7
        out.memoized()
        out.put(b"}\x94(" + out.text("action") + out.text(action) + out.text("addr") + address)
        out.put(out.text("size") + size + out.text("stream") + integer(0))
        out.put(out.text("time_us") + integer(time_us) + out.text("frames"))
        if stack is None:
            last[0] = out.memoized()
            chosen = random.choice(stacks)
            out.put(b"]\x94(" + b"".join([frame() for frame in chosen]) + b"e")
        else:
            out.put(stack)
        out.put(b"u")
    out.put(b"e")
    return count


def measure(path: Path, options: argparse.Namespace) -> None:
    """Open it in this process as the command line does, and ask for its view: how long that takes,
    and the most memory that is used."""
    retain_buffers()
    start, start_cpu = time.perf_counter(), time.process_time()
    trace = open_trace(path, cache=False).trace
    opening_s, cpu_s = time.perf_counter() - start, time.process_time() - start_cpu
    opening_mb = _peak_mb()
    events = trace.side["snapshot_events"].frame
    middle_us = events["time_ns"][events.height // 2] / 1000
    views_ms = []
    for at_us in (None, None, Decimal(str(middle_us))):
        start = time.perf_counter()
        snapshot(trace, Selection(), at_us=at_us)
        views_ms.append((time.perf_counter() - start) * 1000)
    figures = [
        Figure(
            "opening and the first view, wall", opening_s + views_ms[0] / 1000, "s", MAX_SECONDS
        ),
        Figure("opening, CPU time", cpu_s, "s"),
        Figure("opening, peak memory", opening_mb, "MB"),
        Figure("opening and views, peak memory", _peak_mb(), "MB", MAX_MB),
        Figure("the view again", views_ms[1], "ms", MAX_VIEW_MS),
        Figure("the view of a chosen moment", views_ms[2], "ms", MAX_VIEW_MS),
    ]
    subject = f"{events.height:,} events, {path.stat().st_size / 1e6:,.0f} MB"
    tell("snapshot", subject, figures, options)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def check(path: Path) -> None:
    """Whether Python's own unpickler reads the same events out of such a file."""

    with path.open("rb") as file:
        expected = pickle.load(file)["device_traces"][0]
    machine = SnapshotMachine(StreamWindow(iter([path.read_bytes()])))
    machine.run()
    entries, stacks = machine.entries.finish(), machine.entries.stacks
    assert entries.size.tolist() == [entry["size"] for entry in expected]
    assert entries.time_us.tolist() == [entry["time_us"] for entry in expected]
    for number, entry in zip(entries.stack.tolist(), expected, strict=True):
        lines = [stacks.frames[frame][2] for frame in stacks.stacks[number]]
        assert lines == [frame["line"] for frame in entry["frames"]]
    print(f"{len(expected):,} events as Python reads them; {machine.entries.bulk_count:,} at once")


def main() -> None:
    """Write, then measure in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="write it there, and leave it")
    parser.add_argument("--open", type=Path, help="only measure this one")
    parser.add_argument("--check", action="store_true", help="compare with Python's unpickler")
    add_options(parser)
    options = parser.parse_args()
    if options.open:
        measure(options.open, options)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder) / "snapshot.pickle"
        start = time.perf_counter()
        events = write_snapshot(path, (3 if options.check else options.mb) * 10**6)
        size_mb = path.stat().st_size / 1e6
        print(f"wrote {events:,} events, {size_mb:,.0f} MB, {time.perf_counter() - start:.0f} s")
        if options.check:
            check(path)
            return
        more = ["--write"] if options.write else []
        more += ["--json", str(options.json)] if options.json else []
        subprocess.run([sys.executable, __file__, "--open", str(path), *more], check=True)


if __name__ == "__main__":
    main()
