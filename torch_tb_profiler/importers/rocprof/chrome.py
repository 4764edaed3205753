"""The Chrome JSON that rocmProfileData converts its databases to.

Its events become the tables of a recording, as those of an ``.rpd`` do: both are the same trace,
but for the whole microseconds that the JSON has, and the values that it leaves out (sizes of
launches and copies). The counters that the conversion derives are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.importers.kineto import reader
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.dialect import Dialect, SliceArguments
from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.structs import ArgumentField, ArgumentFields, decoder
from torch_tb_profiler.importers.kineto.values import Interner, text_codes
from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.nvtx import MARK, PUSH_POP
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.rocprof.assemble import RecordingFile, assemble
from torch_tb_profiler.importers.rocprof.chrome_links import link_operations
from torch_tb_profiler.importers.rocprof.chrome_samples import gpu_number, monitored
from torch_tb_profiler.importers.rocprof.recording import Agent, KernelSymbols, ProcessRecording
from torch_tb_profiler.importers.rocprof.rpd_names import (
    FILLS,
    call_category,
    library_name,
    operation_category,
)
from torch_tb_profiler.importers.source import AnySource
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, EventColumns, Int64, Track
from torch_tb_profiler.trace.quality import QualityReport

RECORDER = "rocmProfileData"
DESCRIPTIONS = "rpd_descriptions"
"""Extra table: what the argument ``desc`` of a slice says."""

GPU_NAME = re.compile(r"GPU(\d{1,3})")
"""Name of the process of a GPU's operations."""

FRAME = "UserMarker frame"
"""Beginning of the description of a range that is projected onto a queue."""

_DESCRIPTION: ArgumentFields = {"text": ArgumentField("desc", None)}
_DECODER = decoder("RpdSlice", _DESCRIPTION)
_OF_THE_FORMAT = ("string_time", "empty_event")
"""Quality notes about what every file has: numbers as texts, and one empty event."""


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read the trace of a file.

    Raises:
        TraceFormatError: the text has no event array.
        StorageError, OSError: the file cannot be read.
    """
    return reader.read(source, reading, DIALECT)


def read_slices(
    kind: EventKind,  # noqa: ARG001 - the protocol's
    raws: list[msgspec.Raw],
    rows: Int64,
    strings: Interner,
    quality: QualityReport,
) -> SliceArguments:
    """Read the descriptions of slices."""
    arguments = decode_args(_DECODER, raws, quality)
    codes = text_codes([each.text for each in arguments], strings)
    absent = np.full(len(rows), ABSENT, np.int64)
    return SliceArguments(absent, {DESCRIPTIONS: {"slice": rows, "text_code": codes}})


def with_device(track: Track) -> Track:
    """The row with the number of its GPU as label, if it is one of a GPU."""
    match = GPU_NAME.fullmatch(track.process_name or "")
    return track if match is None else replace(track, process_label=f"GPU {match[1]}")


def category(track: Track, _name: str) -> Category:
    """A category until the descriptions are known: nothing is work of a device yet."""
    return Category.DEVICE_OTHER if track.process_label else Category.HOST_OTHER


def never_detected(_header: Mapping[str, Any], _tracks: Sequence[Track]) -> bool:
    """Always false: files of this format are read with this dialect from the start."""
    return False


class _Slices(Struct, frozen=True):
    """The slices of a file; arrays are aligned.

    Attributes:
        columns: Their columns.
        pid: Their process.
        tid: Their thread, or the queue of a GPU.
        on_gpu: Whether they are in a row of a GPU.
        description: The code of their description, -1 for none.
        strings: The texts of the file.
    """

    columns: ColumnArrays
    pid: Int64
    tid: Int64
    on_gpu: Bools
    description: Int64
    strings: Sequence[str]

    @property
    def end(self) -> Int64:
        """Their ends."""
        end: Int64 = self.columns["start_ns"] + self.columns["dur_ns"]
        return end


def rebuild(columns: EventColumns, own: Mapping[str, ColumnArrays]) -> None:
    """Replace the events of a file by the trace of the recording that they tell of, in place."""
    slices = _slices(columns, own)
    texts = TextCodes()
    codes = texts.codes(columns.strings).astype(np.int64)
    recording = ProcessRecording()
    recording.agents = {
        number: Agent(True, number=number)
        for track in columns.tracks
        if track.process_label and (number := gpu_number(track.pid)) != ABSENT
    }
    categories, is_range = _classify_host(slices)
    is_call = ~slices.on_gpu & ~is_range
    call = link_operations(columns, slices.columns, is_call, slices.on_gpu)
    categories[call[call >= 0]] = Category.RUNTIME
    _add_host(recording, slices, codes, categories, is_range=is_range, texts=texts)
    _add_operations(recording, slices, codes, call)
    _add_marks(recording, columns, codes)
    counters = monitored(columns, recording, texts)
    for code in _OF_THE_FORMAT:
        columns.quality.counts.pop(code, None)
        columns.quality.examples.pop(code, None)
    rebuilt = assemble([recording], texts, RecordingFile(RECORDER), columns.quality)
    tracks = {(track.pid, track.tid): row for row, track in enumerate(rebuilt.tracks)}
    for row in np.unique(counters["track"]).tolist():
        track = columns.tracks[row]
        if (track.pid, track.tid) not in tracks:
            tracks[track.pid, track.tid] = len(rebuilt.tracks)
            rebuilt.tracks.append(track)
    new_track = [tracks.get((track.pid, track.tid), -1) for track in columns.tracks]
    counters["track"] = np.array([*new_track, -1], np.int32)[counters["track"]]
    rebuilt.tables["counters"] = counters
    for name in ("tables", "strings", "tracks", "info", "launch"):
        setattr(columns, name, getattr(rebuilt, name))


def _slices(columns: EventColumns, own: Mapping[str, ColumnArrays]) -> _Slices:
    slices = columns.tables["slices"]
    description = np.full(len(slices["start_ns"]), -1, np.int64)
    if DESCRIPTIONS in own:
        description[own[DESCRIPTIONS]["slice"]] = own[DESCRIPTIONS]["text_code"]
    tracks, track = columns.tracks, slices["track"]
    pid, tid = (
        np.array([_number(getattr(each, name)) for each in tracks], np.int64)[track]
        for name in ("pid", "tid")
    )
    on_gpu = np.array([each.process_label is not None for each in tracks], np.bool_)[track]
    return _Slices(slices, pid, tid, on_gpu, description, columns.strings)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else int(ABSENT)


def _classify_host(slices: _Slices) -> tuple[Int64, Bools]:
    """Per slice of the host its category by its name, and whether it is a range: the name of one is
    its description."""
    name_code = slices.columns["name_code"]
    by_name = np.full(len(slices.strings) + 1, int(Category.HOST_OTHER), np.int64)
    for code in np.unique(name_code[~slices.on_gpu & (name_code >= 0)]).tolist():
        by_name[code] = int(call_category(slices.strings[code]))
    categories = by_name[name_code]
    is_range: Bools = ~slices.on_gpu & (categories == Category.HOST_OTHER)
    is_range &= (name_code == slices.description) & (name_code >= 0)
    return categories, is_range


def _add_host(
    recording: ProcessRecording,
    slices: _Slices,
    codes: Int64,
    categories: Int64,
    *,
    is_range: Bools,
    texts: TextCodes,
) -> None:
    """Add calls and ranges."""
    name_code = slices.columns["name_code"]
    for table, mask in (("calls", ~slices.on_gpu & ~is_range), ("markers", is_range)):
        rows = np.flatnonzero(mask)
        known, inverse = distinct(name_code[rows].astype(np.int64))
        kinds = texts.codes(library_name(slices.strings[each]) for each in known.tolist())
        recording.add(
            table,
            len(rows),
            pid=slices.pid[rows],
            thread=slices.tid[rows],
            category=categories[rows],
            kind=kinds.astype(np.int64)[inverse],
            name=codes[name_code[rows]],
            text=codes[name_code[rows]],
            event_type=np.full(len(rows), PUSH_POP[0]),
            correlation=rows + 1,
            start=slices.columns["start_ns"][rows],
            end=slices.end[rows],
        )


def _add_operations(
    recording: ProcessRecording, slices: _Slices, codes: Int64, call: Int64
) -> None:
    """Add the work of GPUs; ``call`` is the slice that launched each, -1 for none."""
    kinds = np.full(len(slices.strings) + 1, int(Category.DEVICE_ANNOTATION), np.int64)
    for code in np.unique(slices.description[slices.on_gpu]).tolist():
        if code >= 0 and not slices.strings[code].startswith(FRAME):
            kinds[code] = int(operation_category(slices.strings[code]))
    category_of = kinds[slices.description]
    fills = [code for code, text in enumerate(slices.strings) if text in FILLS]
    is_fill = np.isin(slices.columns["name_code"], fills) & (category_of == Category.MEMCPY)
    category_of[is_fill] = int(Category.MEMSET)
    common = {
        "pid": np.where(call >= 0, slices.pid[call], ABSENT),
        "thread": np.where(call >= 0, slices.tid[call], ABSENT),
        "agent": slices.pid,
        "queue": slices.tid,
        "correlation": np.where(call >= 0, call + 1, ABSENT),
        "start": slices.columns["start_ns"],
        "end": slices.end,
        "category": category_of,
        "name": codes[slices.columns["name_code"]],
        "kernel": slices.columns["name_code"].astype(np.int64),
    }
    known = np.unique(common["kernel"])
    names = [slices.strings[code] if code >= 0 else None for code in known.tolist()]
    recording.kernels = KernelSymbols.build(known, names, np.full(len(known), ABSENT))
    is_kernel = slices.on_gpu & (category_of == Category.KERNEL)
    for table, mask in (
        ("dispatches", is_kernel),
        ("operations", slices.on_gpu & ~is_kernel),
    ):
        rows = np.flatnonzero(mask)
        recording.add(table, len(rows), **{name: values[rows] for name, values in common.items()})


def _add_marks(recording: ProcessRecording, columns: EventColumns, codes: Int64) -> None:
    instants, tracks = columns.tables["instants"], columns.tracks
    pid, tid = (
        np.array([_number(getattr(each, name)) for each in tracks], np.int64)[instants["track"]]
        for name in ("pid", "tid")
    )
    recording.add(
        "markers",
        len(pid),
        pid=pid,
        thread=tid,
        event_type=np.full(len(pid), MARK[0]),
        text=codes[instants["name_code"]],
        start=instants["time_ns"],
        end=instants["time_ns"],
    )


DIALECT = Dialect(
    None,
    never_detected,
    format="rocprof",
    infer_category=category,
    thread_of=with_device,
    read_slices=read_slices,
    known_keys=frozenset(field.key for field in _DESCRIPTION.values()),
    extra_tables=(DESCRIPTIONS,),
    recorder=RECORDER,
    finalize=rebuild,
)
