"""The declared tables of the view of efficiency."""

from __future__ import annotations

from msgspec.structs import replace

from torch_tb_profiler.views.measured_columns import OWN_SAMPLES
from torch_tb_profiler.views.recorded import SOURCE
from torch_tb_profiler.views.schema import Column, TableSpec

GROUP_BYS = ("operator", "operator+input_shape", "module", "type", "step")

_FLOPS = Column(
    "flops",
    "FLOPs",
    "number",
    "flops",
    "Floating-point operations of all calls of the row, computed from their shapes; as recorded "
    "for one execution if read from a file. A multiply-add counts as two.",
    additive=True,
)
_TFLOPS = Column(
    "tflops_per_s",
    "TFLOP/s",
    "number",
    None,
    "10¹² operations per second of device time, over the calls with known FLOPs.",
)
_OF_THE_PEAK = Column(
    "peak_pct",
    "Peak Share",
    "number",
    "pct",
    "FLOP/s as share of the peak of the device for the data type; as recorded if read from a file.",
)
_CORES = Column(
    "kind",
    "Cores",
    "string",
    None,
    "cube or vector, if the recording distinguishes these cores.",
    hidden=True,
)

_MEASURED = (
    Column(
        "measured_gbytes_per_s",
        "Measured GB/s",
        "number",
        "gb_per_s",
        "Achieved bandwidth of the device's memory, by hardware counters: 10⁹ bytes per second, "
        "over the measured part of Device Time. Samples count what the whole device moves; see Own "
        "Samples.",
    ),
    Column(
        "measured_ratio",
        "Measured to Computed",
        "number",
        "ratio",
        "Measured bytes divided by Bytes, over the measured part of calls whose bytes are known. "
        "Below 1, caches served reads; above 1, data is read several times, or other kernels ran "
        "in the same samples.",
    ),
    replace(
        OWN_SAMPLES,
        help="Share of the measured time in samples that this row's kernels fill at least half, "
        "or in values counted of its own kernels.",
        hidden=True,
    ),
    Column(
        "measured_bytes",
        "Measured Bytes",
        "integer",
        "bytes",
        "Bytes that hardware counters saw between the device and its memory in the measured part "
        "of Device Time.",
        hidden=True,
        additive=True,
    ),
)

OPERATORS = TableSpec(
    "operators",
    "Efficiency of operators",
    "One row per operator, shape, module, type or step: how much work it does, how fast it runs, "
    "and how much time it would save at its roofline limit.",
    (
        Column("name", "Name", "string", None, "Name of the row; see Group by."),
        Column("input_shape", "Input Shape", "string", None, "Shapes of its inputs."),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "Calls with work or device time; number of executions if read from a file.",
            additive=True,
        ),
        Column(
            "kernels",
            "Kernels",
            "integer",
            "count",
            "Kernels, copies and memsets that these calls launched.",
            hidden=True,
            additive=True,
        ),
        Column(
            "device_time_us",
            "Device Time",
            "number",
            "us",
            "Duration of these kernels; each counts for one call only.",
            family="time",
            additive=True,
        ),
        Column(
            "device_time_pct",
            "Time Share",
            "number",
            "pct",
            "Share of the device time of the selection.",
            additive=True,
        ),
        _TFLOPS,
        Column(
            "bound",
            "Bound",
            "string",
            None,
            "compute or memory: the limit it would reach first; Roof Share tells how "
            "close it is. latency: its kernels are too short, or do too little work, for either "
            "limit to explain their time.",
        ),
        Column(
            "roof_pct",
            "Roof Share",
            "number",
            "pct",
            "Time for its FLOPs and bytes at the peaks of the device, as share of the actual "
            "time. Above 100 %: caches served reads counted as memory traffic, a kernel did "
            "fewer operations than counted (Winograd convolutions), or the clock was above the "
            "specified one.",
            estimated=True,
        ),
        Column(
            "recoverable_us",
            "Recoverable",
            "number",
            "us",
            "Device time minus the time at the roofline limit, per call and at least 0: what "
            "ideal kernels would save. For latency-bound rows, fewer and larger kernels save it, "
            "not faster ones.",
            estimated=True,
            family="time",
            additive=True,
        ),
        Column(
            "gbytes_per_s",
            "GB/s",
            "number",
            "gb_per_s",
            "10⁹ bytes per second of device time.",
            estimated=True,
        ),
        *_MEASURED,
        Column(
            "dtype",
            "Data Type",
            "string",
            None,
            "Data types whose peaks it is compared with, the one with the most time first. tf32: "
            "float32 rounded by matrix units.",
        ),
        _FLOPS,
        Column(
            "bytes",
            "Bytes",
            "integer",
            "bytes",
            "Bytes that the calls read and write, counting each input and output once. Caches "
            "may reduce the actual traffic; repeated reads increase it.",
            estimated=True,
            additive=True,
        ),
        Column(
            "intensity_flop_per_byte",
            "FLOP per Byte",
            "number",
            None,
            "FLOPs divided by bytes. Below the ridge point of the roofline the memory is the "
            "limit, above it arithmetic.",
            estimated=True,
        ),
        _OF_THE_PEAK,
        Column(
            "work",
            "Work",
            "string",
            None,
            "Kinds of work, the one with the most time first.",
        ),
        Column(
            "tiles_pct",
            "Tile Efficiency",
            "number",
            "pct",
            "Share of the computed tiles that are results, for matrix products whose tile size "
            "is part of the kernel name; the rest is wasted. If it is low, larger sizes up to a "
            "multiple of the tile cost no extra time.",
            estimated=True,
            hidden=True,
        ),
        Column(
            "stated_flops",
            "Recorded FLOPs",
            "number",
            "flops",
            "FLOPs recorded for these calls.",
            hidden=True,
            additive=True,
        ),
        Column(
            "stated_difference_pct",
            "Recorded Difference",
            "number",
            "pct",
            "Recorded FLOPs relative to those of the formulas for the same calls, minus 100 %.",
            hidden=True,
        ),
        _CORES,
        replace(SOURCE, hidden=True),
    ),
    sort="-recoverable_us,-device_time_us",
    when_empty="The selection contains no operators with device time or known work.",
)

_SHOWN_OF_FILES = frozenset(
    {"name", "calls", "device_time_us", "flops", "tflops_per_s", "peak_pct", "dtype", "kind"}
    | {SOURCE.key}
)

AS_RECORDED = replace(
    OPERATORS,
    help="One row per operator and kind of cores with recorded FLOPs.",
    columns=tuple(
        replace(column, hidden=column.key not in _SHOWN_OF_FILES, additive=False)
        for column in OPERATORS.columns
    ),
    sort="-flops,name",
    when_empty="The recording has no FLOPs of operators.",
)
"""The same table for FLOPs from a file of the recording."""

RECORDED_FLOPS = replace(AS_RECORDED, name="recorded_flops", title="FLOPs as recorded")
"""The same table next to computed FLOPs."""

ROOFLINE_POINTS = TableSpec(
    "roofline_points",
    "Points of the roofline",
    "A device has two limits: its arithmetic throughput and its memory bandwidth. Operators with "
    "many operations per byte are limited by arithmetic, operators with few by memory. The plot "
    "shows both limits as a roofline: rising where memory is the limit, flat where arithmetic "
    "is, with the ridge point between. Each row is a point: further right is more operations per "
    "byte, higher is faster. The further a point is below its roofline, the more can be gained. "
    "The table lists the rows with the most device time.",
    (
        Column("name", "Name", "string", None, "Name of the row."),
        Column(
            "input_shape",
            "Input Shape",
            "string",
            None,
            "Its input shapes, if rows are grouped by them.",
        ),
        Column(
            "intensity_flop_per_byte",
            "FLOP per Byte",
            "number",
            None,
            "FLOPs divided by bytes: x axis.",
        ),
        Column("tflops_per_s", "TFLOP/s", "number", None, "Achieved rate: y axis."),
        Column(
            "device_time_pct",
            "Time Share",
            "number",
            "pct",
            "Share of the device time of the selection: size of the point.",
        ),
        Column(
            "roof_pct",
            "Roof Share",
            "number",
            "pct",
            "Achieved rate as share of the roofline limit.",
        ),
        Column("bound", "Bound", "string", None, "compute, memory or latency."),
        Column("dtype", "Data Type", "string", None, "Data type of its roofline."),
        Column("row", "Row", "integer", "count", "Index of the row in the first table, from 0."),
    ),
    sort="-device_time_pct",
    is_summary=True,
    when_empty="No row has known FLOPs, bytes and device time.",
)

RECORDED_OPERATORS = TableSpec(
    "recorded_operators",
    "Operators as recorded",
    "One row per operator type or operator, as summarized in a file of the recording.",
    (
        Column("unit", "Runs on", "string", None, "AI Core, AI CPU, host CPU or library."),
        Column("type", "Type", "string", None, "Type of the operator."),
        Column(
            "name", "Name", "string", None, "Full name of the operator; null in rows of a type."
        ),
        Column("calls", "Calls", "integer", "count", "How often it ran."),
        Column("total_us", "Total", "number", "us", "Total time.", family="total"),
        Column("mean_us", "Mean", "number", "us", "Mean time per call.", family="call"),
        Column("min_us", "Min", "number", "us", "Time of the shortest call.", family="call"),
        Column("max_us", "Max", "number", "us", "Time of the longest call.", family="call"),
        Column(
            "pct",
            "Share",
            "number",
            "pct",
            "Share of the time of everything that runs on the same unit.",
        ),
        SOURCE,
    ),
    sort="-total_us",
)

RECORDED_SCOPES = TableSpec(
    "recorded_scopes",
    "FLOPs of scopes",
    "One row per scope of the program and one for the whole model, as recorded in a file.",
    (
        Column("level", "Level", "string", None, "model or scope."),
        Column("name", "Name", "string", None, "Name of the scope; null for the model."),
        Column("parent", "Inside", "string", None, "Enclosing scope."),
        replace(_FLOPS, help="Floating-point operations, as recorded.", additive=False),
        replace(_TFLOPS, help="10¹² operations per second, as recorded."),
        replace(_OF_THE_PEAK, help="FLOP/s as share of the peak of the device, as recorded."),
        replace(_CORES, hidden=False),
        SOURCE,
    ),
    sort="-flops",
)
