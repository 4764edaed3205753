"""The tables of the summary: those that Paddle's profiler prints, for any trace.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

from torch_tb_profiler.views import summed_rows
from torch_tb_profiler.views.call_times import STEP_TIME, call_columns, side_columns
from torch_tb_profiler.views.schema import Column, TableSpec

GROUP_BYS = ("name", "name+thread", "name+parts", "name+thread+parts")
"""Threads merged or apart; operators with or without what they are made of."""

SORT_NAMES = {
    f"{side}-{word}": f"-{side}_{figure}_us"
    for side in ("cpu", "gpu")
    for word, figure in (("total", "total"), ("avg", "mean"), ("max", "max"), ("min", "min"))
}
"""Orders under Paddle's names, longest first."""

NO_CALLS = "What the phases leave of the steps is no call."

_CALLS = Column("calls", "Calls", "integer", "count", "How often it was called.", additive=True)
_THREAD = Column(
    "thread",
    "Thread",
    "string",
    None,
    "Its thread; null: threads are merged (group_by=name+thread keeps them apart).",
)

DEVICE = TableSpec(
    "device",
    "Device Summary",
    "How much the host and each GPU were used.",
    (
        Column("device", "Device", "string", None, "CPU(Process), CPU(System), or a GPU."),
        Column(
            "utilization_pct",
            "Utilization",
            "number",
            "pct",
            "Of the process: its CPU time as share of the elapsed time, above 100 % on several "
            "cores. Of the system: busy time of all cores. Of a GPU: time of the steps in which at "
            "least one kernel ran.",
        ),
    ),
)

OVERVIEW = TableSpec(
    "overview",
    "Overview Summary",
    "One row per type of event, host and device. Types overlap, so rows do not add up.",
    summed_rows.EVENT_TYPE_COLUMNS,
    sort="-side,-time_us,type",
)

MODEL = TableSpec(
    "model",
    "Model Summary",
    "The steps and their phases; Others is what the phases leave.",
    (
        Column("name", "Name", "string", None, "The step, a phase, or what remains."),
        Column("calls", "Calls", "integer", "count", "How many there were."),
        *call_columns(STEP_TIME),
    ),
    when_empty="The selection holds no step.",
    two_sided=True,
)

DISTRIBUTED = TableSpec(
    "distributed",
    "Distributed Summary",
    "How much of the steps this worker communicated, computed, and did both.",
    (
        Column(
            "name",
            "Name",
            "string",
            None,
            "ProfileStep; Communication (calls of collectives on the host, and their kernels); "
            "Computation (other kernels); Overlap (both at once).",
        ),
        Column("total_us", "Total", "number", "us", "Time; what overlaps counts once."),
        Column("pct", "Share", "number", "pct", "Total as share of the steps."),
    ),
    when_empty="The selection holds no communication.",
)

OPERATOR = TableSpec(
    "operator",
    "Operator Summary",
    "One row per operator. With parts, below each what is directly inside: operators and parts "
    "that the recording names, then kernels, copies and sets.",
    (
        Column("name", "Name", "string", None, "Name of the operator, or of its part."),
        _THREAD,
        _CALLS,
        *call_columns(*["all operators that lie in no other, and of a part: of its operator"] * 2),
        Column("path", "Path", "string", None, "What names the row.", hidden=True),
        Column("parent", "Parent", "string", None, "Path of its operator.", hidden=True),
    ),
    sort="-cpu_total_us,name,thread",
    tree=("path", "parent"),
    when_empty="The selection holds no operator.",
    two_sided=True,
)

KERNEL = TableSpec(
    "kernel",
    "Kernel Summary",
    "One row per function of kernels: names are cut before their first < or (.",
    (
        Column("name", "Name", "string", None, "Name of the function."),
        _CALLS,
        *side_columns("gpu", "the time of all kernels"),
    ),
    sort="-gpu_total_us,name",
    when_empty="The selection holds no kernel.",
)

MEMORY_MANIPULATION = TableSpec(
    "memory_manipulation",
    "Memory Manipulation Summary",
    "One row per kind of copy or set and the call of the host that asked for it.",
    summed_rows.MEMORY_OPERATION_COLUMNS,
    sort="-cpu_total_us,-gpu_total_us,name,host_call",
    when_empty="The selection holds no copy or set of memory.",
    two_sided=True,
)

USER_DEFINED = TableSpec(
    "user_defined",
    "UserDefined Summary",
    "One row per name of a range (record_function, NVTX).",
    summed_rows.USER_RANGE_COLUMNS,
    sort="-cpu_total_us,name,thread",
    when_empty="The selection holds no range beside steps, data loading, optimizers and passes, "
    "which are event types.",
    two_sided=True,
)

MEMORY = TableSpec(
    "memory",
    "Memory Summary",
    "One row per device and event of the host that memory was allocated or released in: the "
    "innermost one. What a part of an operator does counts for the operator, too.",
    (
        Column("device", "Device", "string", None, "Where the memory lies."),
        Column("name", "Name", "string", None, "Name of the event; null: in no event."),
        Column("allocation_count", "Allocations", "integer", "count", "Allocations."),
        Column("free_count", "Releases", "integer", "count", "Releases."),
        Column("allocation_bytes", "Allocated", "integer", "bytes", "What was allocated."),
        Column("free_bytes", "Released", "integer", "bytes", "What was released."),
        Column(
            "increase_bytes", "Increase", "integer", "bytes", "What was allocated and not released."
        ),
    ),
    sort="device,-increase_bytes,name",
    when_empty="The selection holds no memory events.",
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
    MEMORY,
)
