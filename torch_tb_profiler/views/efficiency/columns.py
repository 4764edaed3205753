"""The declared tables of the view of efficiency."""

from __future__ import annotations

from dataclasses import replace

from torch_tb_profiler.views.recorded import SOURCE
from torch_tb_profiler.views.schema import Column, TableSpec

GROUP_BYS = ("operator", "operator+input_shape", "module", "type", "step")

_FLOPS = Column(
    "flops",
    "FLOPs",
    "number",
    "flops",
    "Floating point operations: of all calls of the row by their shapes; of a file: of one "
    "execution, as recorded. A multiplication and an addition are two.",
    additive=True,
)
_TFLOPS = Column(
    "tflops_per_s",
    "TFLOP/s",
    "number",
    None,
    "10¹² operations per second of device time, of the calls whose FLOPs are known.",
)
_OF_THE_PEAK = Column(
    "peak_pct",
    "Of the Peak",
    "number",
    "pct",
    "FLOP/s over the peak of the device in the type it computes with; of a file: as recorded.",
)
_CORES = Column(
    "kind",
    "Cores",
    "string",
    None,
    "cube or vector, where the recording tells these kinds of cores apart.",
    hidden=True,
)

OPERATORS = TableSpec(
    "operators",
    "Efficiency of operators",
    "One row per operator, shape, module, type or step: how much work it was, how fast it ran, and "
    "how much time would be left over if it ran as fast as its device allows.",
    (
        Column("name", "Name", "string", None, "What the row is: see Group by."),
        Column("input_shape", "Input Shape", "string", None, "Shapes of its inputs."),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "Calls that work or device time belongs to; of a file: how often it ran.",
            additive=True,
        ),
        Column(
            "kernels",
            "Kernels",
            "integer",
            "count",
            "Kernels, copies and sets that these calls launched.",
            hidden=True,
            additive=True,
        ),
        Column(
            "device_time_us",
            "Device Time",
            "number",
            "us",
            "Duration of these kernels; each belongs to one call only.",
            family="time",
            additive=True,
        ),
        Column(
            "device_time_pct",
            "Of All",
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
            "compute or memory: which of the two roofs it would meet first; Of the Roof says how "
            "near it is. latency: its kernels are so short, or have so little to do, that neither "
            "explains their time.",
        ),
        Column(
            "roof_pct",
            "Of the Roof",
            "number",
            "pct",
            "Time that FLOPs and bytes take at the peaks of the device, over the time it took. "
            "More than 100: caches served what counts as read from memory, a kernel made fewer "
            "operations than counted (Winograd's convolutions), or the clock was above the "
            "vendor's.",
            estimated=True,
        ),
        Column(
            "recoverable_us",
            "Recoverable",
            "number",
            "us",
            "Device time less the time at the roof, of each call, not below 0: what perfect "
            "kernels would save. Of rows bound by latency fewer and larger kernels save it, not "
            "faster ones.",
            estimated=True,
            family="time",
            additive=True,
        ),
        Column(
            "gbytes_per_s",
            "GB/s",
            "number",
            "gb_per_s",
            "10⁹ of these bytes per second of device time.",
            estimated=True,
        ),
        Column(
            "dtype",
            "Data Type",
            "string",
            None,
            "Types whose peak it is compared with, that with most time first. tf32: float32 that "
            "matrix units round.",
        ),
        _FLOPS,
        Column(
            "bytes",
            "Bytes",
            "integer",
            "bytes",
            "What the calls read and write: every input and output once. Caches may save some, "
            "kernels that read twice take more.",
            estimated=True,
            additive=True,
        ),
        Column(
            "intensity_flop_per_byte",
            "FLOP per Byte",
            "number",
            None,
            "FLOPs over bytes. Below the ridge of the roofline memory sets the pace, above it "
            "arithmetic does.",
            estimated=True,
        ),
        _OF_THE_PEAK,
        Column(
            "work",
            "Work",
            "string",
            None,
            "What kinds of work it is, that with most time first.",
        ),
        Column(
            "tiles_pct",
            "Of Tiles",
            "number",
            "pct",
            "Which part of the tiles that blocks compute are results, of products whose kernels' "
            "names tell the tile: the rest is computed for nothing. Less: other sizes, or padding "
            "them to multiples of the tile, would cost no more.",
            estimated=True,
            hidden=True,
        ),
        Column(
            "stated_flops",
            "Stated FLOPs",
            "number",
            "flops",
            "FLOPs that the recording states of these calls itself.",
            hidden=True,
            additive=True,
        ),
        Column(
            "stated_difference_pct",
            "Stated Difference",
            "number",
            "pct",
            "Stated FLOPs over those of the formulas for the same calls, less 100 %.",
            hidden=True,
        ),
        _CORES,
        replace(SOURCE, hidden=True),
    ),
    sort="-recoverable_us,-device_time_us",
    when_empty="The selection holds no operator with device time or known work.",
)

_SHOWN_OF_FILES = frozenset(
    {"name", "calls", "device_time_us", "flops", "tflops_per_s", "peak_pct", "dtype", "kind"}
    | {SOURCE.key}
)

AS_RECORDED = replace(
    OPERATORS,
    help="One row per operator, and kind of cores, of which the recording tells FLOPs.",
    columns=tuple(
        replace(column, hidden=column.key not in _SHOWN_OF_FILES, additive=False)
        for column in OPERATORS.columns
    ),
    sort="-flops,name",
    when_empty="The recording tells no FLOPs of operators.",
)
"""The same table, of what a file of the recording tells."""

RECORDED_FLOPS = replace(AS_RECORDED, name="recorded_flops", title="FLOPs as recorded")
"""The same beside operators that are counted."""

ROOFLINE_POINTS = TableSpec(
    "roofline_points",
    "Points of the roofline",
    "A device has two limits: how much it computes per second, and how much its memory delivers. "
    "An operator that computes much for each byte it moves is held by the first, one that computes "
    "little by the second. The plot draws both as a roof: rising where memory is the limit, level "
    "where arithmetic is, with the ridge between. Each row is a point: right is more computation "
    "per byte, up is faster. The farther a point is below its roof, the more can be gained; here "
    "are the rows with most device time.",
    (
        Column("name", "Name", "string", None, "Name of the row."),
        Column("input_shape", "Input Shape", "string", None, "Its input shapes, if grouped by."),
        Column("intensity_flop_per_byte", "FLOP per Byte", "number", None, "FLOPs over bytes: x."),
        Column("tflops_per_s", "TFLOP/s", "number", None, "How fast it ran: y."),
        Column(
            "device_time_pct",
            "Of All",
            "number",
            "pct",
            "Share of the device time of the selection: size.",
        ),
        Column("roof_pct", "Of the Roof", "number", "pct", "Height over that of its roof."),
        Column("bound", "Bound", "string", None, "compute, memory or latency."),
        Column("dtype", "Data Type", "string", None, "The type whose roof it is below."),
        Column("row", "Row", "integer", "count", "Place of the row in the first table, from 0."),
    ),
    sort="-device_time_pct",
    is_summary=True,
    when_empty="No row has FLOPs, bytes and device time that are all known.",
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
        replace(_FLOPS, help="Floating point operations, as recorded.", additive=False),
        replace(_TFLOPS, help="10¹² operations per second, as recorded."),
        replace(_OF_THE_PEAK, help="FLOP/s over the peak of the device, as recorded."),
        replace(_CORES, hidden=False),
        SOURCE,
    ),
    sort="-flops",
)
