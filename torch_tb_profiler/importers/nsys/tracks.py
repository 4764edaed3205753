"""The tracks of a trace: host threads by ``globalTid``, streams by process, device, context and
stream."""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.nsys.devices import DeviceNumbers
from torch_tb_profiler.importers.nsys.distinct import distinct, distinct_rows
from torch_tb_profiler.importers.nsys.identifiers import host_of, pid_of, tid_of
from torch_tb_profiler.importers.nsys.processes import ProcessNames
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64, Track

NO_STREAM = 0xFFFFFFFF
"""The ``streamId`` of a synchronization of a whole context."""

StreamKey = tuple[int, int, int, int]
"""``globalPid``, number of the device in the trace, ``contextId``, ``streamId``."""


class RangeLane(Struct, frozen=True):
    """An extra track of a thread, for ranges that do not nest."""

    thread: int
    lane: int


Key = int | StreamKey | RangeLane


class NsysTracks:
    """Tracks in the order in which they are first used."""

    def __init__(self, names: ProcessNames, devices: DeviceNumbers) -> None:
        self._names = names
        self._devices = devices
        self._rows: dict[Key, int] = {}

    def thread_tracks(self, global_tids: Int64, /) -> Int32:
        """The track of each thread."""
        known, inverse = distinct(global_tids)
        return np.array([self._row(key) for key in known.tolist()], np.int32)[inverse]

    def lane_tracks(self, global_tids: Int64, lanes: Int64, /) -> Int32:
        """The extra track of each thread and lane."""
        known, inverse = distinct_rows(global_tids, lanes)
        keys = zip(*(column.tolist() for column in known), strict=True)
        return np.array([self._row(RangeLane(*key)) for key in keys], np.int32)[inverse]

    def stream_tracks(
        self, global_pids: Int64, devices: Int64, contexts: Int64, streams: Int64
    ) -> Int32:
        """The stream track of each piece of device work.

        Args:
            global_pids: Its process.
            devices: Number of its device in the trace.
            contexts: Its ``contextId``.
            streams: Its ``streamId``.
        """
        known, inverse = distinct_rows(global_pids, devices, contexts, streams)
        keys = zip(*(column.tolist() for column in known), strict=True)
        return np.array([self._row(key) for key in keys], np.int32)[inverse]

    def tracks(self) -> list[Track]:
        """All tracks, with names."""
        hosts = {
            host_of(key[0] if isinstance(key, tuple) else _thread_of(key)) for key in self._rows
        }
        contexts = Counter((pid, device, stream) for pid, device, _, stream in self._streams())
        processes: dict[int, set[int]] = {}
        for pid, device, _, _ in self._streams():
            processes.setdefault(device, set()).add(pid)
        tracks = []
        for key in self._rows:
            if isinstance(key, tuple):
                pid, device, _, stream = key
                is_ambiguous = contexts[pid, device, stream] > 1
                tracks.append(self._stream(key, is_ambiguous, len(processes[device]) > 1))
            elif isinstance(key, RangeLane):
                tracks.append(self._range_lane(key, len(hosts) > 1))
            else:
                tracks.append(self._thread(key, len(hosts) > 1))
        return tracks

    def _streams(self) -> list[StreamKey]:
        return [key for key in self._rows if isinstance(key, tuple)]

    def _row(self, key: Key) -> int:
        return self._rows.setdefault(key, len(self._rows))

    def _thread(self, key: int, several_hosts: bool) -> Track:
        if key == ABSENT:
            return Track(pid="", tid="")
        return Track(
            pid=self.pid_text(key, several_hosts),
            tid=str(tid_of(key)),
            process_name=self._names.processes.get(key & ~0xFFFFFF),
            thread_name=self._names.threads.get(key),
        )

    def _range_lane(self, key: RangeLane, several_hosts: bool) -> Track:
        track = self._thread(key.thread, several_hosts)
        number = "" if key.lane == 0 else f" {key.lane + 1}"
        track.thread_name = f"{track.thread_name or track.tid}: start/end ranges{number}"
        track.tid = f"{track.tid} ranges{number}"
        return track

    def _stream(self, key: StreamKey, is_ambiguous: bool, shares_device: bool) -> Track:
        pid, device, context, stream = key
        labels = ["no stream" if stream in (ABSENT, NO_STREAM) else f"stream {stream}"]
        labels += [f"context {context}"] * (is_ambiguous and context != ABSENT)
        labels += [f"process {pid_of(pid)}"] * (shares_device and pid != ABSENT)
        return Track(
            pid="" if device == ABSENT else str(device),
            tid="" if stream in (ABSENT, NO_STREAM) else str(stream),
            process_name=self._devices.names.get(device),
            process_label=None if device == ABSENT else f"GPU {device}",
            thread_name=", ".join(labels),
        )

    @staticmethod
    def pid_text(key: int, several_hosts: bool) -> str:
        """The text of the process of a ``globalTid``: with its host if there are several hosts."""
        return f"{host_of(key)}.{pid_of(key)}" if several_hosts else str(pid_of(key))


def _thread_of(key: int | RangeLane) -> int:
    return key.thread if isinstance(key, RangeLane) else key
