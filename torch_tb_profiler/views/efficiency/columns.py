"""The declared tables of the view of efficiency."""

from __future__ import annotations

from torch_tb_profiler.views.recorded import SOURCE
from torch_tb_profiler.views.schema import Column, TableSpec

_FLOPS = Column(
    "flops", "FLOPs", "number", "flops", "Floating point operations of one execution, as recorded."
)
_KIND = Column(
    "kind",
    "Cores",
    "string",
    None,
    "cube or vector, where the recording tells these kinds of cores apart.",
)

OPERATORS = TableSpec(
    "operators",
    "Efficiency of operators",
    "One row per operator, and kind of cores, of which the recording tells FLOPs.",
    (
        Column("name", "Name", "string", None, "Full name of the operator."),
        Column("calls", "Calls", "integer", "count", "How often it ran, as recorded."),
        Column("device_time_us", "Device Time", "number", "us", "Its time on the device."),
        _FLOPS,
        Column("bytes", "Bytes", "integer", "bytes", "What it reads and writes.", hidden=True),
        Column("tflops_per_s", "TFLOP/s", "number", None, "10¹² operations per second."),
        Column("gbytes_per_s", "GB/s", "number", None, "10⁹ bytes per second.", hidden=True),
        Column(
            "intensity_flop_per_byte",
            "FLOP per Byte",
            "number",
            None,
            "FLOPs over Bytes.",
            hidden=True,
        ),
        Column(
            "bound",
            "Bound",
            "string",
            None,
            "compute, memory or latency: what limits it.",
            hidden=True,
        ),
        Column(
            "roof_pct",
            "Of the Roof",
            "number",
            "pct",
            "Share of what its intensity allows.",
            hidden=True,
        ),
        Column(
            "peak_pct",
            "Of the Peak",
            "number",
            "pct",
            "FLOP/s over the peak of the device, as recorded.",
        ),
        Column(
            "recoverable_us",
            "Recoverable",
            "number",
            "us",
            "Time that would be left at the roof, less than it takes now.",
            estimated=True,
            hidden=True,
        ),
        Column("dtype", "Data Type", "string", None, "What it computes with.", hidden=True),
        _KIND,
        SOURCE,
    ),
    sort="-flops,name",
    when_empty="The recording tells no FLOPs of operators.",
)

RECORDED_OPERATORS = TableSpec(
    "recorded_operators",
    "Operators as recorded",
    "One row per type of operator, or per operator, as a file of the recording sums them.",
    (
        Column("unit", "Runs on", "string", None, "AI Core, AI CPU, host CPU or library."),
        Column("type", "Type", "string", None, "Type of the operator."),
        Column("name", "Name", "string", None, "Its full name; null in the sum of a type."),
        Column("calls", "Calls", "integer", "count", "How often it ran."),
        Column("total_us", "Total", "number", "us", "Its time in all.", family="total"),
        Column("mean_us", "Mean", "number", "us", "Of a call.", family="call"),
        Column("min_us", "Min", "number", "us", "Of the shortest call.", family="call"),
        Column("max_us", "Max", "number", "us", "Of the longest call.", family="call"),
        Column("pct", "Share", "number", "pct", "Of the time of all that runs on the same."),
        SOURCE,
    ),
    sort="-total_us",
)

RECORDED_SCOPES = TableSpec(
    "recorded_scopes",
    "FLOPs of scopes",
    "One row per scope of the program, and of the model as a whole, as a file of the recording "
    "tells.",
    (
        Column("level", "Level", "string", None, "model, or scope."),
        Column("name", "Name", "string", None, "Of the scope; null of the model."),
        Column("parent", "Inside", "string", None, "The scope around it."),
        _FLOPS,
        Column("tflops_per_s", "TFLOP/s", "number", None, "10¹² operations per second."),
        Column(
            "peak_pct",
            "Of the Peak",
            "number",
            "pct",
            "FLOP/s over the peak of the device, as recorded.",
        ),
        _KIND,
        SOURCE,
    ),
    sort="-flops",
)
