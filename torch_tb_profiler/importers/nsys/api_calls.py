"""Calls into the CUDA runtime and driver, and the overhead of CUDA and of the profiler."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.enums import OVERHEADS
from torch_tb_profiler.importers.nsys.export import Export, required_names
from torch_tb_profiler.importers.nsys.identifiers import global_pid
from torch_tb_profiler.importers.nsys.parts import SliceColumns, SlicePart
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.importers.nsys.text import api_name
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64

CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
CUDA_OVERHEAD = "CUPTI_ACTIVITY_KIND_OVERHEAD"
PROFILER_OVERHEAD = "PROFILER_OVERHEAD"

DRIVER, EGL_DRIVER, WITH_BACKTRACE = 1, 13, 67
"""``eventClass`` of driver calls, and of rows that repeat a call for its backtrace."""

_ARGUMENTS = re.compile(r"\s*\(.*", re.DOTALL)


class ApiCalls(Struct):
    """Calls into the CUDA runtime and driver.

    Attributes:
        part: Their slices.
        global_pid: Process of each call.
    """

    part: SlicePart
    global_pid: Int64


def read_calls(export: Export) -> ApiCalls:
    """Read the calls. With backtraces, exports from before 2023 have each call twice: the
    repetition gets the category HOST_OTHER and does not count as a call."""
    rows = TimedRows(export.database, CALLS, export.quality)
    columns = rows.columns("eventClass", "globalTid", "correlationId", "nameId", "end")
    pid = global_pid(columns["globalTid"])
    event_class = columns.pop("eventClass")
    is_repetition = _is_repetition(event_class, pid, columns["correlationId"])
    names = export.names
    is_driver = (event_class == DRIVER) | (event_class == EGL_DRIVER)
    label_codes = names.codes(("cuda_runtime", "cuda_driver", "cuda_backtrace"))
    category: Int8 = np.where(is_repetition, Category.HOST_OTHER, Category.RUNTIME).astype(np.int8)
    slices = SliceColumns.build(
        category=category,
        raw_category_code=label_codes[np.where(is_repetition, 2, is_driver.astype(np.int8))],
        name_code=required_names(export, columns.pop("nameId"), api_name),
        track=export.tracks.thread_tracks(columns.pop("globalTid")),
        start_ns=rows.start_ns,
        end_ns=columns.pop("end"),
        correlation=columns.pop("correlationId"),
    )
    return ApiCalls(SlicePart(slices), pid)


def _is_repetition(event_class: Int64, pid: Int64, correlation: Int64) -> Bools:
    """Whether a row repeats the call of another row."""
    is_repetition: Bools = event_class == WITH_BACKTRACE
    if not is_repetition.any():
        return is_repetition
    _, call = distinct_rows(pid, correlation)
    has_original: Bools = np.zeros(int(call.max(initial=-1)) + 1, np.bool_)
    has_original[call[~is_repetition]] = True
    repeats_original: Bools = is_repetition & has_original[call]
    return repeats_original


def read_overhead(export: Export) -> list[SlicePart]:
    """Read the time that CUDA and the profiler spent on their own work while the program waited."""
    return [_cuda_overhead(export), _profiler_overhead(export)]


def _cuda_overhead(export: Export) -> SlicePart:
    rows = TimedRows(export.database, CUDA_OVERHEAD, export.quality)
    columns = rows.columns("globalTid", "correlationId", "nameId", "overheadType", "end")
    kinds = OVERHEADS.read(export.database)
    (known,), inverse = distinct_rows(columns["overheadType"])
    label_codes = export.names.codes(kinds.get(kind, "CUDA overhead") for kind in known.tolist())
    code = export.names.codes_of(columns["nameId"])
    slices = SliceColumns.build(
        category=Category.OVERHEAD,
        raw_category_code=export.names.code("overhead"),
        name_code=np.where(code < 0, label_codes[inverse], code),
        track=export.tracks.thread_tracks(columns["globalTid"]),
        start_ns=rows.start_ns,
        end_ns=columns["end"],
        correlation=columns["correlationId"],
    )
    return SlicePart(slices)


def _profiler_overhead(export: Export) -> SlicePart:
    rows = TimedRows(export.database, PROFILER_OVERHEAD, export.quality)
    columns = rows.columns("globalTid", "nameId", "end")
    code = export.names.codes_of(columns["nameId"], lambda name: _ARGUMENTS.sub("", name))
    code = np.where(code < 0, export.names.code("Profiler overhead"), code)
    slices = SliceColumns.build(
        category=Category.OVERHEAD,
        raw_category_code=export.names.code("profiler_overhead"),
        name_code=code.astype(np.int32),
        track=export.tracks.thread_tracks(columns["globalTid"]),
        start_ns=rows.start_ns,
        end_ns=columns["end"],
    )
    return SlicePart(slices)
