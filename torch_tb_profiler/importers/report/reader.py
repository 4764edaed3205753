"""Reads a JSON report: a recording without events, whose views are a side table."""

from __future__ import annotations

from contextlib import closing

import msgspec
import polars as pl

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.once import set_up
from torch_tb_profiler.trace.columns import TABLE_COLUMNS, EventColumns, empty_table
from torch_tb_profiler.trace.info import Capability, NotRecorded, TraceInfo
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

FORMAT = "report"
TABLE = "report_views"
COMPARED_VIEWS = frozenset({"overview", "operators", "kernels", "modules", "memory"})
"""The views that a comparison reads; the others are not stored."""

TABLES_ONLY = "a report holds tables, not events"
HINT = "Write one with: torch-tb-profiler report TRACE --view all --format json > report.json"
_NOT_RECORDED: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "runtime",
    "kernels", "copies", "launches", "communication", "memory", "counters", "device_properties",
)  # fmt: skip


class _TraceRef(msgspec.Struct):
    """The recording that an answer is about; a view of a whole run names no worker."""

    run: str = ""
    worker: str | None = None
    span: str = ""


class _Answer(msgspec.Struct):
    """The head of an answer; an error in place of one has no view."""

    view: str = ""
    trace: _TraceRef = msgspec.field(default_factory=_TraceRef)


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a report.

    Raises:
        TraceFormatError: it is damaged, of several recordings, or has no view that is compared.
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: the file exceeds a limit of unpacking.
    """
    assert isinstance(source, Source), "a report is a file"
    data, most = bytearray(), UNLIMITED.count("report_bytes")
    with closing(source.unpacked()) as chunks:
        for chunk in chunks:
            data += chunk
            if len(data) > most:  # it is read whole
                message = f"{source.name} is too large ({UNLIMITED.described('report_bytes')})."
                raise TraceFormatError("too_large", message, HINT)
            reading.progress(source.taken_bytes)
    rows = _views(bytes(data), source.name)
    frame = pl.DataFrame(rows, schema=SIDE_SCHEMAS[TABLE], orient="row")
    return EventColumns(
        format=FORMAT,
        tables={name: empty_table(name) for name in TABLE_COLUMNS},
        strings=[],
        tracks=[],
        base_ns=0,
        time_unit_ns=1,
        info=TraceInfo(
            not_recorded=tuple(NotRecorded(each, TABLES_ONLY) for each in _NOT_RECORDED)
        ),
        side=(SideTable(TABLE, source.name, frame),),
    )


def _views(data: bytes, name: str) -> list[tuple[str, str]]:
    """Each view that is compared, with its answer as JSON."""
    try:
        raw = msgspec.json.decode(data, type=list[msgspec.Raw] | msgspec.Raw)
        answers = raw if isinstance(raw, list) else [raw]
        heads = [msgspec.json.decode(each, type=set_up(_Answer)) for each in answers]
    except msgspec.DecodeError as error:
        message = f"{name} is not a complete report: {error}."
        raise TraceFormatError("damaged_report", message, HINT) from None
    traces = {
        (each.trace.run, each.trace.worker, each.trace.span)
        for each in heads
        if each.view in COMPARED_VIEWS
    }
    if len(traces) > 1:
        message = f"{name} is a report of {len(traces)} recordings; a side is one."
        raise TraceFormatError("several_recordings", message, HINT)
    views = {
        head.view: bytes(answer).decode()
        for head, answer in zip(heads, answers, strict=True)
        if head.view in COMPARED_VIEWS
    }
    if "overview" not in views:
        message = f"{name} is a report without the overview, which has the steps."
        raise TraceFormatError("no_overview", message, HINT)
    return list(views.items())
