"""Track keys and descriptors → rows of the trace, with their process and thread."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, Interner
from torch_tb_profiler.importers.pftrace.batch import TrackKey
from torch_tb_profiler.importers.pftrace.descriptors import Descriptor
from torch_tb_profiler.trace.columns import COUNTER_PROCESS, DEVICE_LABEL, Track

MAX_PARENTS = 64
"""Maximum depth of parent tracks; parents may form a cycle."""

NO_PROCESS = 2**31 - 1
"""What PyTorch's encoder writes for -1, the pid of events without a process."""

OVERHEAD_PROCESS = "Overhead"

DEVICE_SORT_INDEX = 5_000_000
COUNTER_SORT_INDEX = 100
"""Sort indices of devices and their counters in PyTorch's JSON."""

COUNTER_PATH = re.compile(
    rf"(?:.*/)?(?:{COUNTER_PROCESS.pattern}|GPU/Counters/(?:GPU )?(\d{{1,9}}))(?:/.*)?", re.DOTALL
)
"""The names of a track and the tracks around it, outermost first, of a counter of one GPU."""

QUEUE = re.compile(r"(?:\[(?P<lane>\d{1,18})\] )?(?P<name>.*)", re.DOTALL)
"""The name of a queue as PyTorch's encoder writes it: ``[07] stream 7``."""


class TrackTable:
    """The tracks of the trace, one per process and thread.

    Attributes:
        tracks: The tracks.
        index: Per key the index of its track.
    """

    def __init__(self, keys: list[TrackKey], descriptors: dict[int, Descriptor]) -> None:
        self._descriptors = descriptors
        self._process_names = {
            each.pid: each.process_name
            for each in descriptors.values()
            if each.pid is not None and each.process_name is not None
        }
        self.tracks: list[Track] = []
        self._indices = Interner()
        self.index: list[int] = []
        for key in keys:
            track = self._track(key)
            index = self._indices[track.pid, track.tid]
            if index == len(self.tracks):
                self.tracks.append(track)
            self.index.append(index)

    def _track(self, key: TrackKey) -> Track:
        if key.kind == "queue":
            return _queue(key)
        if key.kind == "counters":
            return _counters(key.text)
        descriptor = self._descriptors.get(key.number) if key.kind == "track" else None
        if descriptor is None:
            return Track(pid="", tid=f"{key.kind} {key.number % 2**64}")
        return self._track_of(descriptor)

    def _track_of(self, descriptor: Descriptor) -> Track:
        if descriptor.is_counter:
            match = COUNTER_PATH.fullmatch("/".join(self._names_around(descriptor)))
            if match is not None:
                return _counters(str(int(match[1] or match[2])))
        pid = self._pid(descriptor)
        own_name = _truncated(descriptor.thread_name or descriptor.name)
        process_name = None if pid is None else _truncated(self._process_names.get(pid))
        shown_pid = "" if pid is None else _number(pid)
        if descriptor.is_thread and descriptor.tid is not None:
            tid = _number(descriptor.tid)
        else:
            tid = own_name or (f"track {descriptor.uuid % 2**64}" if pid is None else "")
        if process_name is not None and DEVICE_LABEL.match(process_name):
            return _device(shown_pid, tid, process_name, own_name)
        is_overhead = pid == NO_PROCESS and process_name == OVERHEAD_PROCESS
        return Track(
            shown_pid,
            tid,
            process_name=process_name,
            process_label=OVERHEAD_PROCESS if is_overhead else None,
            thread_name=own_name,
        )

    def _pid(self, descriptor: Descriptor) -> int | None:
        """The process of a track: its own, else that of the nearest ancestor."""
        return next((each.pid for each in self._lineage(descriptor) if each.pid is not None), None)

    def _names_around(self, descriptor: Descriptor) -> list[str]:
        """The names of a track and its ancestors, outermost first."""
        lineage = list(self._lineage(descriptor))[::-1]
        return [(each.name or each.process_name or "")[:MAX_TEXT_CHARS] for each in lineage]

    def _lineage(self, descriptor: Descriptor) -> Iterator[Descriptor]:
        """A track and its ancestors, innermost first."""
        parent: Descriptor | None = descriptor
        for _ in range(MAX_PARENTS):
            if parent is None:
                return
            yield parent
            parent = self._descriptors.get(parent.parent or 0)


def _queue(key: TrackKey) -> Track:
    match = QUEUE.fullmatch(key.text or "")
    assert match is not None
    lane, name = match["lane"], _truncated(match["name"])
    tid = str(int(lane)) if lane else name or ""
    return _device(str(key.number), tid, f"GPU {key.number}", name)


def _device(pid: str, tid: str, label: str, name: str | None) -> Track:
    is_number = pid.isascii() and pid.isdigit()
    return Track(
        pid,
        tid,
        process_label=label,
        thread_name=name,
        process_sort_index=DEVICE_SORT_INDEX + int(pid) if is_number else None,
        thread_sort_index=int(tid) if tid.isascii() and tid.isdigit() else None,
    )


def _counters(gpu: str | None) -> Track:
    pid = "GPU Counters" if gpu is None else f"GPU {gpu} Counters"
    index = None if gpu is None else COUNTER_SORT_INDEX + int(gpu)
    return Track(pid, "", process_sort_index=index)


def _number(value: int) -> str:
    return "-1" if value == NO_PROCESS else str(value)


def _truncated(text: str | None) -> str | None:
    return None if text is None else text[:MAX_TEXT_CHARS]
