"""Raw tables of what a recording has few of: itself, steps, devices, tracks; and arguments of
slices."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.sql.raw.table import RawTable
from torch_tb_profiler.sql.raw.values import (
    SLICE,
    coded,
    column_of,
    count,
    integer,
    label,
    measure,
    position,
    size,
    text_of_slice,
    time,
)
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import TableSpec


def _recording(trace: Trace) -> pl.DataFrame:
    meta = trace.meta
    row = {
        "format": meta.format,
        "start_ns": meta.start_ns,
        "end_ns": meta.end_ns,
        "base_ns": meta.base_ns or None,
    }
    return pl.DataFrame([row], schema_overrides={"base_ns": pl.Int64})


RECORDINGS = RawTable(
    TableSpec(
        "recordings",
        "Recordings",
        "One row per recording. Times of views are mostly since its start: "
        "`recordings.start_ns + 1000 * start_us` is in trace time.",
        (
            label("format", "Format", "What recorded it, as the reader is called."),
            time("start_ns", "Start", "First start of a slice."),
            time("end_ns", "End", "Last end of a slice."),
            time("base_ns", "Base", "Time 0, since 1970; null if unknown."),
        ),
    ),
    _recording,
)

STEPS = RawTable(
    TableSpec(
        "steps",
        "Steps",
        "One row per step, by process and in order of time.",
        (
            integer(
                "id", "Id", "Number of the step in its trace; other tables refer to it.", position
            ),
            label("name", "Name", "Number of the step as text; `0` where none is recorded."),
            integer("process_number", "Process", "Number of its process.", column_of("process")),
            integer("slice", "Slice", "Its slice: `slices.id`; null where none is recorded."),
            time("host_start_ns", "Host Start", "Start on the host."),
            time("host_end_ns", "Host End", "End on the host."),
            time("start_ns", "Start", "Start with its device work."),
            time("end_ns", "End", "End with its device work."),
            count("device_events", "Device Events", "Kernels, copies and sets in it."),
            measure(
                "is_complete",
                "Complete",
                "False for an incomplete last step, which averages exclude.",
                column_of("kept"),
                kind="boolean",
            ),
        ),
        sort="process_number,start_ns",
    ),
    lambda trace: trace.steps,
)

DEVICES = RawTable(
    TableSpec(
        "devices",
        "Devices",
        "One row per device that is declared or used.",
        (
            integer("device", "Device", "Number of the device."),
            label("name", "Name", "Name of the device."),
            size("memory_bytes", "Memory", "Memory of the device."),
            integer("compute_major", "Compute Major", "Compute capability, major."),
            integer("compute_minor", "Compute Minor", "Compute capability, minor."),
            count("sm_count", "SMs", "Streaming multiprocessors."),
            count("max_threads_per_sm", "Threads per SM", "Most threads of an SM."),
            measure("used", "Used", "Whether it ran device work.", kind="boolean"),
        ),
        sort="device",
    ),
    lambda trace: trace.devices,
)

TRACKS = RawTable(
    TableSpec(
        "tracks",
        "Tracks",
        "One row per track: a host thread, a stream of a device, or a row of counters.",
        (
            integer("track", "Track", "Number of the track; other tables refer to it."),
            label("process", "Process", "Process id, as the file writes it.", column_of("pid")),
            label("thread", "Thread", "Thread id, as the file writes it.", column_of("tid")),
            label("process_name", "Process Name", "Name of the process."),
            label("process_label", "Process Label", "Label of the process."),
            label("thread_name", "Thread Name", "Name of the thread."),
            integer(
                "process_number",
                "Process Number",
                "Number of the host process.",
                column_of("process"),
            ),
            measure("is_device", "Is Device", "Whether it is of a device.", kind="boolean"),
            integer("device", "Device", "Device: `devices.device`."),
            integer("stream", "Stream", "Stream of the device."),
            integer("sort_index", "Sort Index", "Position from top to bottom."),
        ),
        sort="sort_index",
    ),
    lambda trace: trace.tracks,
)

ARGUMENTS = RawTable(
    TableSpec(
        "arguments",
        "Arguments",
        "One row per argument of a slice that no other column models, where it was read "
        "(`--arguments`).",
        (
            integer("slice", "Slice", SLICE),
            label("slice_name", "Slice Name", "Name of the slice.", text_of_slice("name_code")),
            label("name", "Name", "Name of the argument.", coded("key_code")),
            measure("value", "Value", "Its value, where it is a number."),
            label("text", "Text", "Its value, where it is a text.", coded("text_code")),
        ),
        sort="slice,name",
    ),
    lambda trace: trace.arguments,
)
