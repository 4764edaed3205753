"""Memory by files of a recording without memory events: tensors of graphs, totals over time.

Definitions: ``docs/views-memory.md#as-recorded``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.memory.curve import MemoryCurve
from torch_tb_profiler.analysis.recording.missing_reasons import recorder
from torch_tb_profiler.analysis.recording.samples import samples
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.devices import PRIVATE_USE_TYPE, device_type_name
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.memory.curve import (
    PEAKS,
    downsampled,
    recorded_peak_facts,
    recorded_peak_reasons,
)
from torch_tb_profiler.views.memory.events import EVENTS
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.quality_notes import MEMORY_ISSUES, quality_notes
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.recorded import SOURCE, recorded_frame, recorded_notes, recorded_table
from torch_tb_profiler.views.schema import (
    Column,
    Fact,
    Line,
    Series,
    Table,
    TableSpec,
    View,
)

_GRAPH = Column("graph", "Graph", "integer", None, "Number of the graph.")

TENSORS = TableSpec(
    name="memory_tensors",
    title="Tensors as recorded",
    help="One row per tensor of each graph, as reported in a file of the recording. It is live "
    "from the first to the last operator, by their positions in the order in which they run.",
    columns=(
        _GRAPH,
        Column("name", "Name", "string", None, "Operator that makes it, and which output it is."),
        Column("kind", "Kind", "string", None, "Kind of the tensor, in the words of the file."),
        Column("dtype", "Data Type", "string", None, "Type of its elements."),
        Column("shape", "Shape", "string", None, "Its shape."),
        Column("format", "Format", "string", None, "Layout in memory."),
        Column("size_bytes", "Size", "integer", "bytes", "Allocated bytes, alignment included."),
        Column("first", "First Operator", "integer", None, "Position of its first operator."),
        Column("last", "Last Operator", "integer", None, "Position of its last operator."),
        Column("lifetime", "Lifetime", "string", None, "What its life depends on."),
        SOURCE,
    ),
    sort="-size_bytes",
)

OPERATORS = TableSpec(
    name="memory_operators",
    title="Memory of each operator as recorded",
    help="One row per operator of each graph, in the order in which they run.",
    columns=(
        _GRAPH,
        Column("position", "Position", "integer", None, "Position in the order, from 0."),
        Column("name", "Name", "string", None, "Name of the operator."),
        Column("mark", "Pass", "string", None, "Where the forward starts or the backward ends."),
        Column("live_bytes", "Live Memory", "integer", "bytes", "Static memory and live tensors."),
        Column("static_bytes", "Static Memory", "integer", "bytes", "Allocated throughout."),
        SOURCE,
    ),
    sort="graph,position",
)

_REASONS = {
    TENSORS.name: {
        "name": "No operator of the file has it among its outputs.",
        **dict.fromkeys(
            ("dtype", "shape", "format"),
            "framework_raw_*.csv describes no such output.",
        ),
        **dict.fromkeys(("first", "last"), "Its first or last operator is not in the file."),
    },
    OPERATORS.name: {"mark": "Neither pass starts or ends there, or the file does not say so."},
}

PASS_ENDS = (
    ("graph_forward_start", "Forward pass starts at operator", "forward start"),
    ("graph_backward_end", "Backward pass ends at operator", "backward end"),
)
"""Facts of a graph: key, title, and mark of the operator."""

_TOTAL_METRICS = (" allocated", " reserved", " active")
"""Endings of the metrics of samples that are totals of an allocator."""

NO_EVENTS = "The recording holds no memory events."
NO_CAPACITY = "The memory of this device is not recorded."

RECORDED = (TENSORS.name, OPERATORS.name, "recorded_memory_peaks")
"""The side tables that this view shows without any memory event."""


def has_recorded(trace: Trace) -> bool:
    """Whether the recording has such tables."""
    return any(name in trace.side for name in RECORDED)


def recorded_memory(trace: Trace, selection: Selection, at_operator: float | None) -> View:
    """The view of a recording without memory events; of the tensors those that are live while the
    operator at a position runs, if one is given."""
    peaks = _peaks(trace)
    reasons = dict.fromkeys(PEAKS.polars_schema(), NO_EVENTS) | recorded_peak_reasons(selection)
    reasons["device_memory_bytes"] = NO_CAPACITY
    events = Table(
        replace(EVENTS, when_empty=NO_EVENTS), pl.DataFrame(schema=EVENTS.polars_schema())
    )
    # Here the recorded peaks are the only ones.
    columns = tuple(
        replace(column, hidden=column.hidden and not column.key.startswith("recorded_"))
        for column in PEAKS.columns
    )
    spec = replace(PEAKS, columns=columns)
    tables = [Table(spec, peaks, needed(peaks, reasons)), *_tables(trace, at_operator), events]
    series = {"memory_of_operators": _of_operators(trace), "memory_totals": _totals(trace)}
    shown = [table.spec.name for table in tables if table.frame.height]
    return View(
        tables={table.spec.name: in_default_order(table) for table in tables},
        series={name: each for name, each in series.items() if each is not None},
        facts=(*recorded_peak_facts(peaks), *_device_facts(peaks), *_graph_facts(trace)),
        notes=(
            *quality_notes(trace, MEMORY_ISSUES | {"tensor_lifetime_unknown"}),
            *recorded_notes(shown, selection),
        ),
    )


def _peaks(trace: Trace) -> pl.DataFrame:
    """The rows of the table of peaks: devices whose peaks or whose memory a file states."""
    side = trace.side.get("recorded_memory_peaks")
    peaks = {} if side is None else {row[1]: row[2:] for row in side.frame.rows()}
    memory = dict(trace.devices.select("device", "memory_bytes").drop_nulls().iter_rows())
    type_name = recorder(trace).private_use or device_type_name(PRIVATE_USE_TYPE)
    rows = [
        {
            "device": f"{type_name} {device}",
            "recorded_peak_allocated_bytes": peaks.get(device, (None, None))[0],
            "recorded_peak_reserved_bytes": peaks.get(device, (None, None))[1],
            "device_memory_bytes": memory.get(device),
        }
        for device in sorted({*peaks, *memory})
    ]
    return pl.DataFrame(rows, schema=PEAKS.polars_schema())


def _tables(trace: Trace, at_operator: float | None) -> list[Table]:
    tables = []
    for spec in (TENSORS, OPERATORS):
        frame = recorded_frame(trace, spec.name)
        if frame is None:
            continue
        if spec is TENSORS and at_operator is not None:
            frame = frame.filter(pl.lit(at_operator).is_between("first", "last"))
        tables.append(recorded_table(spec, frame, _REASONS[spec.name]))
    return tables


def _graphs(trace: Trace) -> Iterator[tuple[int, pl.DataFrame]]:
    side = trace.side.get(OPERATORS.name)
    if side is not None:
        for (graph,), rows in side.frame.group_by("graph", maintain_order=True):
            yield int(str(graph)), rows


def _of_operators(trace: Trace) -> Series | None:
    lines = []
    for graph, rows in _graphs(trace):
        position, live = (rows[key].to_numpy() for key in ("position", "live_bytes"))
        points = MemoryCurve(position, position, live, np.full(len(live), ABSENT))
        drawn = downsampled(points)
        x, y = position[drawn].astype(np.float64), live[drawn].astype(np.float64)
        lines.append(Line(f"Graph {graph}", x.tolist(), y.tolist()))
    if not lines:
        return None
    return Series(
        "Memory over the operators, as recorded",
        "stair",
        "Position of the operator",
        None,
        "Live memory",
        "bytes",
        tuple(lines),
    )


def _totals(trace: Trace) -> Series | None:
    origin_ns = samples(trace).origin_ns
    lines = []
    for each in samples(trace).series:
        if each.unit != "bytes" or not each.metric.endswith(_TOTAL_METRICS):
            continue
        total = each.value.astype(np.int64)
        drawn = downsampled(MemoryCurve(total, each.time_ns, total, total))
        x = (each.time_ns[drawn] - origin_ns) / NS_PER_US
        lines.append(Line(f"{each.source} {each.metric}", x.tolist(), each.value[drawn].tolist()))
    if not lines:
        return None
    return Series(
        "Memory over time, as recorded",
        "stair",
        "Time since the first record",
        "us",
        "Memory",
        "bytes",
        tuple(lines),
    )


def _device_facts(peaks: pl.DataFrame) -> list[Fact]:
    text = "Memory of the device, as recorded."
    return [
        Fact("device_memory_bytes", "Device memory", size, "bytes", device, text)
        for device, size in peaks.select("device", "device_memory_bytes").drop_nulls().iter_rows()
    ]


def _graph_facts(trace: Trace) -> list[Fact]:
    """Of each graph its peak, and the operators at the ends of its passes."""
    facts: list[Fact] = []
    for graph, rows in _graphs(trace):
        at = rows.row(int(rows["live_bytes"].arg_max() or 0), named=True)
        peak = f"Most live memory of the graph: at operator {at['position']}, {at['name']}."
        static = "Memory of the graph that is allocated throughout."
        scope = f"Graph {graph}"
        facts += [
            Fact("graph_peak_bytes", "Peak", at["live_bytes"], "bytes", scope, peak),
            Fact("graph_static_bytes", "Static memory", at["static_bytes"], "bytes", scope, static),
        ]
        marks = dict(rows.drop_nulls("mark").select("mark", "position").iter_rows())
        facts += [
            Fact(key, title, marks[mark], None, scope, "Position of that operator in the graph.")
            for key, title, mark in PASS_ENDS
            if mark in marks
        ]
    return facts
