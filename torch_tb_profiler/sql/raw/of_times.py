"""Raw tables with a row per moment: flows, counters, samples, memory events, instants."""

from __future__ import annotations

from torch_tb_profiler.sql.raw.table import RawTable
from torch_tb_profiler.sql.raw.values import (
    TRACK_COLUMNS,
    coded,
    column_of,
    integer,
    label,
    measure,
    of_track,
    size,
    time,
    truth,
)
from torch_tb_profiler.views.schema import TableSpec

_TRACK = integer("track", "Track", "Its track: `tracks.track`.")

FLOWS = RawTable(
    TableSpec(
        "flows",
        "Flows",
        "One row per end of an arrow from forward to backward. Launches are `device_work.launch`.",
        (
            label(
                "recorded_category",
                "Recorded Category",
                "Category as the file writes it.",
                coded("raw_category_code"),
            ),
            label("flow_id", "Flow Id", "Id that both ends share.", coded("flow_id_code")),
            measure(
                "is_start",
                "Is Start",
                "Whether the arrow begins here.",
                truth("is_start"),
                kind="boolean",
            ),
            time("at_ns", "Time", "Moment in trace time.", column_of("time_ns")),
            _TRACK,
            *TRACK_COLUMNS,
        ),
        sort="at_ns",
    ),
    lambda trace: trace.flows,
)

COUNTERS = RawTable(
    TableSpec(
        "counters",
        "Counters",
        "One row per value of a counter on the timeline.",
        (
            label("name", "Name", "Name of the counter.", coded("name_code")),
            label("series", "Series", "Series of the counter.", coded("series_code")),
            time("at_ns", "Time", "Moment in trace time.", column_of("time_ns")),
            measure("value", "Value", "Value, in the counter's own unit."),
            _TRACK,
            *TRACK_COLUMNS,
            integer("device", "Device", "Device of its track.", of_track("device")),
        ),
        sort="name,series,at_ns",
    ),
    lambda trace: trace.counters,
)

SAMPLES = RawTable(
    TableSpec(
        "samples",
        "Samples",
        "One row per sample that a recorder took of host or device.",
        (
            label("source", "Source", "What was sampled: `GPU 0`, `host`.", coded("source_code")),
            label("metric", "Metric", "What was measured.", coded("metric_code")),
            label("unit", "Unit", "Unit of the value.", coded("unit_code")),
            time("at_ns", "Time", "Moment in trace time.", column_of("time_ns")),
            measure("value", "Value", "Value, in the unit of its row."),
        ),
        sort="source,metric,at_ns",
    ),
    lambda trace: trace.samples,
)

MEMORY = RawTable(
    TableSpec(
        "memory",
        "Memory Events",
        "One row per allocation and release that the allocator reported.",
        (
            time("at_ns", "Time", "Moment in trace time.", column_of("time_ns")),
            integer("device_type", "Device Type", "Type of the device in PyTorch: 0 CPU, 1 CUDA."),
            integer("device", "Device", "Device."),
            integer("address", "Address", "Address; negative from 2^63 on."),
            size("bytes", "Bytes", "Size; negative where it is released."),
            size("total_allocated_bytes", "Allocated", "Allocated on the device afterwards."),
            size("total_reserved_bytes", "Reserved", "Reserved on the device afterwards."),
            measure(
                "is_oom",
                "Out of Memory",
                "Whether the allocation failed.",
                truth("is_oom"),
                kind="boolean",
            ),
            integer("owner", "Owner", "Operator or range around it: `slices.id`."),
            integer("frame", "Frame", "Innermost Python frame around it: `slices.id`."),
            _TRACK,
            *TRACK_COLUMNS,
        ),
        sort="at_ns",
    ),
    lambda trace: trace.memory,
)

INSTANTS = RawTable(
    TableSpec(
        "instants",
        "Instants",
        "One row per event without a duration that is no memory event.",
        (
            label("name", "Name", "Name.", coded("name_code")),
            time("at_ns", "Time", "Moment in trace time.", column_of("time_ns")),
            _TRACK,
            *TRACK_COLUMNS,
        ),
        sort="at_ns",
    ),
    lambda trace: trace.instants,
)
