"""The tracks of a trace: host threads, and streams or queues of GPUs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.nsys.distinct import distinct, distinct_rows
from torch_tb_profiler.importers.rocprof.devices import GpuNumbers
from torch_tb_profiler.importers.rocprof.recording import ProcessRecording
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int32, Int64, Track


class _Thread(Struct, frozen=True):
    recording: int
    pid: int
    thread: int


class _Lane(Struct, frozen=True):
    thread: _Thread
    lane: int


class _Stream(Struct, frozen=True):
    recording: int
    pid: int
    device: int
    number: int
    is_queue: bool


class RocprofTracks:
    """Tracks in the order in which they are first used.

    Args:
        recordings: The recordings of the trace.
        gpus: Numbers of the GPUs.
    """

    def __init__(self, recordings: Sequence[ProcessRecording], gpus: GpuNumbers) -> None:
        self._recordings = recordings
        self._gpus = gpus
        self._threads: dict[_Thread, int] = {}
        self._rows: dict[_Thread | _Lane | _Stream, int] = {}
        self._shared_pids: set[int] = set()  # of several machines

    def thread_numbers(self, recording: int, pids: Int64, threads: Int64) -> Int64:
        """The number of each thread among all threads of the trace.

        Args:
            recording: Number of the recording.
            pids: Its process.
            threads: Its thread id.
        """
        known, inverse = distinct_rows(pids, threads)
        keys = [_Thread(recording, *key) for key in _pairs(known)]
        numbers = [self._threads.setdefault(key, len(self._threads)) for key in keys]
        return np.array(numbers, np.int64)[inverse]

    def thread_tracks(self, threads: Int64, /) -> Int32:
        """The track of each thread number."""
        known, inverse = distinct(threads)
        by_number = list(self._threads)
        return np.array([self._row(by_number[each]) for each in known.tolist()], np.int32)[inverse]

    def lane_tracks(self, threads: Int64, lanes: Int64, /) -> Int32:
        """The extra track of each thread number and lane, for ranges that do not nest."""
        known, inverse = distinct_rows(threads, lanes)
        by_number = list(self._threads)
        keys = [_Lane(by_number[thread], lane) for thread, lane in _pairs(known)]
        return np.array([self._row(key) for key in keys], np.int32)[inverse]

    def stream_tracks(
        self, recording: int, pids: Int64, devices: Int64, queues: Int64, streams: Int64
    ) -> tuple[Int32, Int64]:
        """The track of each piece of device work, and the number of its stream.

        Work is on the streams of HIP where a recording tells several of them apart, else on the
        queues of the device.

        Args:
            recording: Number of the recording.
            pids: Its process.
            devices: Number of its GPU in the trace.
            queues: Id of its queue.
            streams: Id of its stream.
        """
        has_stream = _has_streams(devices, streams, queues)
        number = np.where(has_stream, streams, queues)
        known, inverse = distinct_rows(pids, devices, number, (~has_stream).astype(np.int64))
        rows = [
            self._row(_Stream(recording, pid, device, lane, is_queue == 1))
            for pid, device, lane, is_queue in zip(*(each.tolist() for each in known), strict=True)
        ]
        return np.array(rows, np.int32)[inverse], number

    def tracks(self) -> list[Track]:
        """All tracks, with names."""
        processes: dict[int, set[tuple[int, int]]] = {}
        for key in self._rows:
            if isinstance(key, _Stream):
                processes.setdefault(key.device, set()).add((key.recording, key.pid))
        recordings: dict[int, set[int]] = {}
        for thread in self._threads:
            recordings.setdefault(thread.pid, set()).add(thread.recording)
        self._shared_pids = {pid for pid, each in recordings.items() if len(each) > 1}
        tracks: list[Track] = []
        for key in self._rows:
            if isinstance(key, _Stream):
                tracks.append(self._stream(key, len(processes[key.device]) > 1))
            elif isinstance(key, _Lane):
                tracks.append(self._lane(key))
            else:
                tracks.append(self._thread(key))
        return tracks

    def _row(self, key: _Thread | _Lane | _Stream) -> int:
        return self._rows.setdefault(key, len(self._rows))

    def _thread(self, key: _Thread) -> Track:
        names = self._recordings[key.recording].thread_names
        pid = _text(key.pid)
        return Track(
            pid=f"{key.recording + 1}.{pid}" if key.pid in self._shared_pids else pid,
            tid=_text(key.thread),
            thread_name=names.get((key.pid, key.thread)),
        )

    def _lane(self, key: _Lane) -> Track:
        track = self._thread(key.thread)
        number = "" if key.lane == 0 else f" {key.lane + 1}"
        track.thread_name = f"{track.thread_name or track.tid}: start/end ranges{number}"
        track.tid = f"{track.tid} ranges{number}"
        return track

    def _stream(self, key: _Stream, shares_device: bool) -> Track:
        recording = self._recordings[key.recording]
        names = recording.queue_names if key.is_queue else recording.stream_names
        kind = "queue" if key.is_queue else "stream"
        name = names.get(key.number) or f"{kind} {key.number}"
        labels = [f"no {kind}" if key.number == ABSENT else name]
        labels += [f"process {key.pid}"] * (shares_device and key.pid != ABSENT)
        return Track(
            pid=_text(key.device),
            tid=_text(key.number),
            process_name=self._gpus.name(key.device),
            process_label=None if key.device == ABSENT else f"GPU {key.device}",
            thread_name=", ".join(labels),
        )


def _has_streams(devices: Int64, streams: Int64, queues: Int64) -> Bools:
    """Per piece of work whether the work of its device is told apart by streams: one of them is not
    the default stream, or there is only one queue."""
    known, inverse = distinct(devices)
    is_by_stream = []
    for number in range(len(known)):
        rows = inverse == number
        used = streams[rows]
        has_other = bool((used > 0).any())
        one_queue = len(distinct(queues[rows])[0]) == 1 and bool((used != ABSENT).any())
        is_by_stream.append(has_other or one_queue)
    result: Bools = np.array(is_by_stream, np.bool_)[inverse]
    result &= streams != ABSENT
    return result


def _pairs(columns: list[Int64]) -> list[tuple[int, int]]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _text(number: int) -> str:
    return "" if number == ABSENT else str(number)
