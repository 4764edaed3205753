"""The tables of the summary: those that Paddle's profiler prints, for any trace.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from torch_tb_profiler.views import summed_rows
from torch_tb_profiler.views.call_times import STEP_TIME, call_columns, side_columns
from torch_tb_profiler.views.schema import Column, TableSpec

GROUP_BYS = ("name", "name+thread", "name+parts", "name+thread+parts")
"""Threads merged or apart; operators with or without what they are made of."""

_FIGURES = {"Total": "-total", "Avg": "-mean", "Max": "-max", "Min": "min"}
_ORDERS = {
    (side, word): f"{'-' * figure.startswith('-')}{side.lower()}_{figure.removeprefix('-')}_us"
    for side in ("CPU", "GPU")
    for word, figure in _FIGURES.items()
}
SORT_NAMES = {f"{side}-{word}".lower(): order for (side, word), order in _ORDERS.items()} | {
    f"{side}{word}": order for (side, word), order in _ORDERS.items()
}
"""Orders under the names of Paddle's ``SortedKeys``: longest first, for the minimum shortest."""

NO_CALLS = "Others is the rest of the steps, not a call."
NOT_OF_HOST = "Kernels, copies and memsets take no host time."
NOT_RECORDED = "CPU utilization was not recorded (Paddle recordings have it)."
NO_FLOPS = "The recording does not say what the operator computes, or no formula is known for it."
PROCESS, SYSTEM = "CPU(Process)", "CPU(System)"
PART = " / "
"""Stands between the parts of a path."""

_CALLS = Column("calls", "Calls", "integer", "count", "How often it was called.", additive=True)
_RANK = Column(
    "rank",
    "Rank",
    "integer",
    None,
    "Place of the row's first call, which orders rows of equal times.",
    hidden=True,
)
_THREAD = Column(
    "thread",
    "Thread",
    "string",
    None,
    "Thread; null: threads are merged (use group_by=name+thread to separate them).",
)

DEVICE = TableSpec(
    "device",
    "Device Summary",
    "Utilization of the host and each GPU.",
    (
        Column("device", "Device", "string", None, "CPU(Process), CPU(System), or a GPU."),
        Column(
            "utilization_pct",
            "Utilization",
            "number",
            "pct",
            "Process: CPU time as share of elapsed time, above 100 % on several cores. System: "
            "busy time of all cores. GPU: share of step time in which at least one kernel ran.",
        ),
    ),
)

OVERVIEW = TableSpec(
    "overview",
    "Overview Summary",
    "One row per event type on host and device. Types overlap, so rows do not add up.",
    summed_rows.EVENT_TYPE_COLUMNS,
    sort="-side,-time_us,type",
)

MODEL = TableSpec(
    "model",
    "Model Summary",
    "Steps and their phases; Others is the rest.",
    (
        Column("name", "Name", "string", None, "Step, phase, or Others."),
        Column("calls", "Calls", "integer", "count", "Number of calls."),
        *call_columns(STEP_TIME),
    ),
    when_empty="The selection contains no step.",
    two_sided=True,
)

DISTRIBUTED = TableSpec(
    "distributed",
    "Distributed Summary",
    "Time of the steps in which this worker communicated, computed, or did both.",
    (
        Column(
            "name",
            "Name",
            "string",
            None,
            "ProfileStep; Communication (calls of collectives on the host, and their kernels); "
            "Computation (other kernels); Overlap (both at once).",
        ),
        Column("total_us", "Total", "number", "us", "Time; overlapping time counts once."),
        Column("pct", "Share", "number", "pct", "Total as share of step time."),
    ),
    when_empty="The selection contains no communication.",
)

OPERATOR = TableSpec(
    "operator",
    "Operator Summary",
    "One row per operator. With parts, each operator is followed by its direct children: "
    "operators and recorded parts, then kernels, copies and memsets.",
    (
        Column("name", "Name", "string", None, "Name of the operator, or of its part."),
        _THREAD,
        _CALLS,
        *call_columns(*["all top-level operators; for a part, of its operator"] * 2),
        Column(
            "flops",
            "FLOPs",
            "number",
            "flops",
            "Floating point operations of all calls, counted from recorded input shapes.",
        ),
        _RANK,
        Column("path", "Path", "string", None, "Path of the row.", hidden=True),
        Column("parent", "Parent", "string", None, "Path of the parent operator.", hidden=True),
    ),
    sort="thread,-cpu_total_us,name",
    tree=("path", "parent"),
    when_empty="The selection contains no operators.",
    two_sided=True,
)

KERNEL = TableSpec(
    "kernel",
    "Kernel Summary",
    "One row per kernel function: the name up to the first < or (.",
    (
        Column("name", "Name", "string", None, "Name of the kernel function."),
        _CALLS,
        *side_columns("gpu", "the time of all kernels"),
    ),
    sort="-gpu_total_us,name",
    when_empty="The selection contains no kernels.",
)

MEMORY_MANIPULATION = TableSpec(
    "memory_manipulation",
    "Memory Manipulation Summary",
    "One row per kind of copy or memset and the host call that requested it.",
    summed_rows.MEMORY_OPERATION_COLUMNS,
    sort="-cpu_total_us,-gpu_total_us,name,host_call",
    when_empty="The selection contains no copies or memsets.",
    two_sided=True,
)

USER_DEFINED = TableSpec(
    "user_defined",
    "UserDefined Summary",
    "One row per name of a range (record_function, NVTX).",
    (*summed_rows.USER_RANGE_COLUMNS, _RANK),
    sort="thread,-cpu_total_us,name",
    when_empty="The selection contains no ranges other than steps, data loading, optimizers and "
    "passes, which are listed as event types.",
    two_sided=True,
)

MEMORY_PEAKS = TableSpec(
    "memory_peaks",
    "Peak Memory",
    "One row per device with memory events.",
    (
        Column("device", "Device", "string", None, "Device of the memory."),
        Column(
            "peak_allocated_bytes",
            "Peak Allocated Memory",
            "integer",
            "bytes",
            "Largest total of live allocations.",
            family="memory",
        ),
        Column(
            "peak_reserved_bytes",
            "Peak Reserved Memory",
            "integer",
            "bytes",
            "Largest total that the allocator took from the device, in use or cached.",
            family="memory",
        ),
    ),
    sort="device",
    when_empty="The selection contains no memory events.",
)

MEMORY = TableSpec(
    "memory",
    "Memory Summary",
    "One row per device and innermost host event in which memory was allocated or released. "
    "Allocations in a part of an operator also count for the operator.",
    (
        Column("device", "Device", "string", None, "Device of the memory."),
        Column(
            "type",
            "Type",
            "string",
            None,
            "Allocated: handed to the program; Reserved: taken by the allocator from the device.",
        ),
        Column("name", "Name", "string", None, "Name of the event; null: outside all events."),
        Column("allocation_count", "Allocations", "integer", "count", "Allocations."),
        Column("free_count", "Releases", "integer", "count", "Releases."),
        Column("allocation_bytes", "Allocated", "integer", "bytes", "Allocated bytes."),
        Column("free_bytes", "Released", "integer", "bytes", "Released bytes."),
        Column("increase_bytes", "Increase", "integer", "bytes", "Allocated minus released bytes."),
    ),
    sort="device,type,-increase_bytes",
    when_empty="The selection contains no memory events.",
)

TABLES = (
    DEVICE,
    OVERVIEW,
    MODEL,
    DISTRIBUTED,
    KERNEL,
    OPERATOR,
    MEMORY_MANIPULATION,
    USER_DEFINED,
    MEMORY_PEAKS,
    MEMORY,
)
