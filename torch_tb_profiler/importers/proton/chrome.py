"""Proton's Chrome traces: a dialect of Kineto's JSON.

Old files have one object per stream, whose number is the thread, and no process. Newer ones number
lanes: threads of the host from 0, scopes of graphs from 100000, streams from 200000, a million for
each device. A kernel names the scopes around it in ``call_stack``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
import numpy as np

from torch_tb_profiler.importers.event_query import EventArguments, EventQuery, SearchLimits
from torch_tb_profiler.importers.kineto import find_event
from torch_tb_profiler.importers.kineto import reader as kineto
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.dialect import Dialect, SliceArguments
from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.structs import ArgumentField, ArgumentFields, decoder
from torch_tb_profiler.importers.kineto.values import Interner, text_codes
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.proton.reader import NO_HOST, RECORDER
from torch_tb_profiler.importers.scope_ranges import MAX_SCOPES, scope_ranges
from torch_tb_profiler.importers.source import AnySource
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    EventColumns,
    Int32,
    Int64,
    Track,
    absent_table,
)
from torch_tb_profiler.trace.info import Capability, NotRecorded
from torch_tb_profiler.trace.quality import QualityReport

FORMAT = "proton"
STACKS = "proton_call_stacks"
"""The table of this dialect: slices and the code of the scopes around them."""

SEPARATOR = "\n"
SCOPE_CATEGORY = "proton/scope"
"""Raw category of ranges around kernels; what follows the prefix is their domain."""

GRAPH_LANES, GPU_LANES, LANES_OF_DEVICE = 100_000, 200_000, 1_000_000
GRAPH_LABEL = "graph"
UNCATEGORIZED = (int(Category.HOST_OTHER), int(Category.DEVICE_OTHER))
"""Categories of slices that are counted as unknown already."""


NO_LAUNCHES = "Proton's Chrome trace names the scopes of a kernel, not the call that launched it."
NOT_RECORDED: tuple[tuple[Capability, str], ...] = (
    ("operators", NO_HOST),
    ("input_shapes", NO_HOST),
    ("launches", NO_LAUNCHES),
    ("runtime", NO_LAUNCHES),
    ("python", "Proton's scopes stand for Python code: it records no frames."),
    ("modules", "Proton's scopes stand for modules: Groups has them."),
    ("occupancy", "Proton records no occupancy of kernels."),
    ("blocks_per_sm", "Proton records no blocks of kernels."),
    ("memory", "Proton records no memory."),
)

_METRICS = re.compile(r"(.+?): (?:<[^<>]*, [^<>]*>(?:, )?)+", re.DOTALL)
_DIGITS = re.compile(r"\d{1,12}")
_WARP = re.compile(r"warp \d{1,12}(?: \(line \d{1,12}\))?")
"""Rows of parts of kernels, whose category is the name of the kernel, ``kernel`` too."""

_FIELDS: ArgumentFields = {"call_stack": ArgumentField("call_stack", None)}
_ARGS = decoder("ProtonSlice", _FIELDS)


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a Chrome trace of Proton.

    Raises:
        TraceFormatError: it has no event array.
        StorageError, OSError: it cannot be read.
    """
    columns = kineto.read(source, reading, DIALECT)
    reasons = tuple(NotRecorded(each, reason) for each, reason in NOT_RECORDED)
    columns.info = msgspec.structs.replace(columns.info, not_recorded=reasons)
    return columns


def find(source: AnySource, query: EventQuery, limits: SearchLimits) -> EventArguments:
    """Read the arguments of one event.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    return find_event.find(source, query, limits, DIALECT)


def lane_of(track: Track) -> Track:
    """The track of a lane: a stream of a device, the scopes of a graph, or a thread."""
    if not _DIGITS.fullmatch(track.tid):
        return track
    number = int(track.tid)
    if track.pid == "":
        return _stream(0, number)
    if number >= GPU_LANES:
        return _stream(*divmod(number - GPU_LANES, LANES_OF_DEVICE))
    if number >= GRAPH_LANES:
        name = f"scopes of graphs, stream {number - GRAPH_LANES}"
        return Track(GRAPH_LABEL, track.tid, process_name="Graphs", thread_name=name)
    return track


def _stream(device: int, stream: int) -> Track:
    label = f"GPU {device}"
    return Track(
        str(device), str(stream), process_name=label, process_label=label,
        thread_name=f"stream {stream}",
    )  # fmt: skip


def without_metrics(name: str) -> str:
    """``"layer: <flops, 10.0>"`` → ``"layer"``: the name of a scope that has metrics."""
    match = _METRICS.fullmatch(name)
    return name if match is None else match[1]


def read_slices(
    _kind: EventKind,
    raws: list[msgspec.Raw],
    rows: Int64,
    strings: Interner,
    quality: QualityReport,
) -> SliceArguments:
    """Decode the call stacks of slices."""
    args = decode_args(_ARGS, raws, quality)
    code = text_codes([_scopes(arg.call_stack) for arg in args], strings)
    named = code >= 0
    table: ColumnArrays = {"slice": rows[named], "stack_code": code[named]}
    return SliceArguments(np.full(len(rows), ABSENT, np.int64), {STACKS: table})


def _scopes(stack: object) -> str | None:
    """The scopes of a call stack, without its root and the slice itself."""
    if not isinstance(stack, list) or len(stack) < 3:
        return None
    return SEPARATOR.join(str(name) for name in stack[1:-1][:MAX_SCOPES]) or None


def add_scopes(columns: EventColumns, own: Mapping[str, ColumnArrays]) -> None:
    """Add the ranges of the scopes of kernels, which own them; scopes of graphs are those of
    devices."""
    slices = columns.tables["slices"]
    graphs = [at for at, track in enumerate(columns.tracks) if track.pid == GRAPH_LABEL]
    slices["category"][np.isin(slices["track"], graphs)] = Category.DEVICE_ANNOTATION
    warps = [at for at, track in enumerate(columns.tracks) if _WARP.fullmatch(track.tid)]
    inside = np.flatnonzero(np.isin(slices["track"], warps))
    is_counted = np.isin(slices["category"][inside], UNCATEGORIZED)
    columns.quality.add("unknown_category", int((~is_counted).sum()))
    slices["category"][inside] = Category.DEVICE_OTHER
    if STACKS not in own:
        return
    count = slices["start_ns"].size
    stack = np.full(count, -1, np.int32)
    stack[own[STACKS]["slice"]] = own[STACKS]["stack_code"]
    kernels = np.flatnonzero((slices["category"] == Category.KERNEL) & (stack >= 0))
    strings = _Strings(columns.strings)
    owner = np.full(count, ABSENT)
    added: list[ColumnArrays] = []
    for track in np.unique(slices["track"][kernels]).tolist():
        rows = kernels[slices["track"][kernels] == track]
        rows = rows[np.argsort(slices["start_ns"][rows], kind="stable")]
        start = slices["start_ns"][rows]
        levels = _levels(stack[rows], strings)
        ranges = scope_ranges(levels, start, start + slices["dur_ns"][rows], np.zeros_like(start))
        first = count + sum(part["start_ns"].size for part in added)
        owner[rows] = np.where(ranges.innermost >= 0, first + ranges.innermost, ABSENT)
        on = columns.tracks[track]
        columns.tracks.append(
            Track("scopes", f"{on.pid}/{on.tid}", process_name="Scopes of kernels",
                  thread_name=f"{on.process_name}, {on.thread_name}")
        )  # fmt: skip
        size = ranges.code.size
        added.append(
            absent_table("slices", size)
            | {
                "category": np.full(size, Category.ANNOTATION, np.int8),
                "raw_category_code": np.full(size, strings[SCOPE_CATEGORY], np.int32),
                "name_code": ranges.code,
                "track": np.full(size, len(columns.tracks) - 1, np.int32),
                "start_ns": ranges.start_ns,
                "dur_ns": ranges.dur_ns,
            }
        )
    columns.tables["slices"] = {
        name: np.concatenate([values, *(part[name].astype(values.dtype) for part in added)])
        for name, values in slices.items()
    }
    total = columns.tables["slices"]["start_ns"].size
    columns.owner = np.concatenate([owner, np.full(total - count, ABSENT)])


class _Strings:
    """Codes of texts among the strings of a trace, to which new ones are appended; names that were
    shortened may stand there twice."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self._known = {text: code for code, text in enumerate(texts)}

    def __getitem__(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(text)
        return self._known[text]


def _levels(stack: Int32, strings: _Strings) -> Int32:
    """Per kernel the code of its scope on each level, -1 below the last."""
    distinct, inverse = np.unique(stack, return_inverse=True)
    names = [strings.texts[code].split(SEPARATOR) for code in distinct.tolist()]
    table = np.full((distinct.size, max(map(len, names), default=0)), -1, np.int32)
    for row, scopes in enumerate(names):
        table[row, : len(scopes)] = [strings[name] for name in scopes]
    levels: Int32 = table[inverse]
    return levels


DIALECT = Dialect(
    None,
    lambda _header, _tracks: False,
    format=FORMAT,
    rename=without_metrics,
    categories={"scope": Category.ANNOTATION, "metric": Category.ANNOTATION},
    thread_of=lane_of,
    read_slices=read_slices,
    extra_tables=(STACKS,),
    recorder=RECORDER,
    finalize=add_scopes,
)
