"""Calls of the host into the CUDA runtime and driver, and what the recorder itself cost."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.enums import OVERHEADS
from torch_tb_profiler.importers.nsys.export import Export, named
from torch_tb_profiler.importers.nsys.identifiers import global_pid
from torch_tb_profiler.importers.nsys.parts import Part, Slices
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.importers.nsys.text import api_name
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64

CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
CUDA_OVERHEAD = "CUPTI_ACTIVITY_KIND_OVERHEAD"
PROFILER_OVERHEAD = "PROFILER_OVERHEAD"

DRIVER, EGL_DRIVER, WITH_BACKTRACE = 1, 13, 67
"""``eventClass`` of calls of the driver, and of rows that repeat a call for its back trace."""

_ARGUMENTS = re.compile(r"\s*\(.*", re.DOTALL)


@dataclass(slots=True)
class Calls:
    """Calls into the runtime and the driver.

    Attributes:
        part: Their slices.
        global_pid: The process of each.
    """

    part: Part
    global_pid: Int64


def read_calls(export: Export) -> Calls:
    """The calls. Where back traces were recorded, exports of before 2023 hold each call twice: the
    second one is drawn beside the calls and not counted among them."""
    rows = TimedRows(export.database, CALLS, export.quality)
    columns = rows.columns("eventClass", "globalTid", "correlationId", "nameId", "end")
    pid = global_pid(columns["globalTid"])
    event_class = columns.pop("eventClass")
    again = _told_again(event_class, pid, columns["correlationId"])
    names = export.names
    is_driver = (event_class == DRIVER) | (event_class == EGL_DRIVER)
    words = names.codes(("cuda_runtime", "cuda_driver", "cuda_backtrace"))
    category: Int8 = np.where(again, Category.HOST_OTHER, Category.RUNTIME).astype(np.int8)
    slices = Slices.of(
        category=category,
        raw_category_code=words[np.where(again, 2, is_driver.astype(np.int8))],
        name_code=named(export, columns.pop("nameId"), api_name),
        track=export.tracks.of_threads(columns.pop("globalTid")),
        start_ns=rows.start_ns,
        end_ns=columns.pop("end"),
        correlation=columns.pop("correlationId"),
    )
    return Calls(Part(slices), pid)


def _told_again(event_class: Int64, pid: Int64, correlation: Int64) -> Bools:
    """Which rows repeat another one's call."""
    again: Bools = event_class == WITH_BACKTRACE
    if not again.any():
        return again
    _, call = distinct_rows(pid, correlation)
    told: Bools = np.zeros(int(call.max(initial=-1)) + 1, np.bool_)
    told[call[~again]] = True
    repeats: Bools = again & told[call]
    return repeats


def read_overhead(export: Export) -> list[Part]:
    """What CUDA and the profiler did for themselves while the program waited."""
    return [_cuda_overhead(export), _profiler_overhead(export)]


def _cuda_overhead(export: Export) -> Part:
    rows = TimedRows(export.database, CUDA_OVERHEAD, export.quality)
    columns = rows.columns("globalTid", "correlationId", "nameId", "overheadType", "end")
    kinds = OVERHEADS.read(export.database)
    (known,), place = distinct_rows(columns["overheadType"])
    words = export.names.codes(kinds.get(kind, "CUDA overhead") for kind in known.tolist())
    code = export.names.codes_of(columns["nameId"])
    slices = Slices.of(
        category=Category.OVERHEAD,
        raw_category_code=export.names.code("overhead"),
        name_code=np.where(code < 0, words[place], code),
        track=export.tracks.of_threads(columns["globalTid"]),
        start_ns=rows.start_ns,
        end_ns=columns["end"],
        correlation=columns["correlationId"],
    )
    return Part(slices)


def _profiler_overhead(export: Export) -> Part:
    rows = TimedRows(export.database, PROFILER_OVERHEAD, export.quality)
    columns = rows.columns("globalTid", "nameId", "end")
    code = export.names.codes_of(columns["nameId"], lambda name: _ARGUMENTS.sub("", name))
    code = np.where(code < 0, export.names.code("Profiler overhead"), code)
    slices = Slices.of(
        category=Category.OVERHEAD,
        raw_category_code=export.names.code("profiler_overhead"),
        name_code=code.astype(np.int32),
        track=export.tracks.of_threads(columns["globalTid"]),
        start_ns=rows.start_ns,
        end_ns=columns["end"],
    )
    return Part(slices)
