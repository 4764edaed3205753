"""The table of kernels: its columns, and how each follows from the summed rows.

Definitions: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.kernels.tensor_core_time import NO_KERNEL_TIME
from torch_tb_profiler.analysis.recording.arguments import argument_values
from torch_tb_profiler.analysis.recording.kernel_kinds import RecognizedBy, kernel_name_kinds
from torch_tb_profiler.analysis.recording.missing_reasons import AnyCapability
from torch_tb_profiler.knowledge.kernels import COMMUNICATION, OTHER
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.argument_columns import with_arguments
from torch_tb_profiler.views.filling import Rows, fill, microseconds, text, verdict
from torch_tb_profiler.views.kernels.rows import kernel_rows, row_keys
from torch_tb_profiler.views.measured_columns import MEASURED_COLUMNS, measured_reason
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Grouping, Table, TableSpec
from torch_tb_profiler.views.shares import share_columns, with_shares

BY_LAUNCH = Grouping("name+operator+launch", "operator and launch")
GROUP_BYS = ("name", BY_LAUNCH.group_by)

NO_RULE = "The Tensor Core use of this kernel is unknown."
NO_OPERATOR = "Its launch was not recorded, or is outside all operators and ranges of its thread."
NO_OPERATOR_RULE = (
    "It has no operator, or it is unknown whether that operator could use Tensor Cores."
)
ONE_CALL = "Needs at least two calls."
NO_TYPES = (
    "The data types are not part of the name, and no input types were recorded for the operators "
    "that launched it."
)
NO_LIMIT = (
    "The launch configuration was not recorded, or the occupancy rules of the device are unknown."
)
NOT_RECORDED = "The profiler did not record this for these kernels."


NOT_RECOGNIZED = (
    "Neither its name nor what launched it shows what it does, and no rule of yours names it."
)
_SOURCES = {
    RecognizedBy.USER_RULE: "your rule",
    RecognizedBy.COLLECTIVE: "recorded collective",
    RecognizedBy.RANGE: "launching range",
    RecognizedBy.NAME: "name",
    RecognizedBy.OPERATOR: "operator",
    RecognizedBy.NOTHING: None,
}


def _unless_recorded(what: AnyCapability) -> Callable[[Trace], str]:
    """Why the recording lacks ``what``, or that the profiler did not record it of some kernels."""
    return lambda trace: missing_reason(trace, what, NOT_RECORDED)


def _no_types(trace: Trace) -> str:
    return missing_reason(trace, "input_types", NO_TYPES)


def _classes(rows: Rows) -> pl.Series:
    """The kind of work that each name stands for; communication where only what launched the
    kernel, or its metadata, says so."""
    known = kernel_name_kinds(rows.trace)
    kinds = [known.kinds[known.index[code]].kind for code in rows["name_code"].to_list()]
    kinds = [
        COMMUNICATION if kind == OTHER and communicates else kind
        for kind, communicates in zip(kinds, rows["communication"], strict=True)
    ]
    return pl.Series(kinds, dtype=pl.String)


def _sources(rows: Rows) -> pl.Series:
    """The strongest source of what is known of each kernel."""
    texts = [_SOURCES[RecognizedBy(source)] for source in rows["recognized_by"].to_list()]
    return pl.Series(texts, dtype=pl.String)


def _of_call(key: str, title: str, help_text: str, null_reason: str | None = None) -> Column:
    """A measure of the durations of single calls, hidden by default."""
    value = microseconds(key.replace("_us", "_ns"))
    return Column(
        key,
        title,
        "number",
        "us",
        help_text,
        family="call",
        hidden=True,
        value=value,
        null_reason=null_reason,
    )


KERNELS = TableSpec(
    "kernels",
    "Kernels",
    "One row per kernel name, or per kernel name, operator and launch configuration.",
    (
        Column("name", "Name", "string", None, "Name of the kernel.", value=text("name_code")),
        Column(
            "operator",
            "Operator",
            "string",
            None,
            "Innermost operator or range around the launch. Only when grouped by operator.",
            value=text("operator_code"),
            null_reason=NO_OPERATOR,
            only_grouped=BY_LAUNCH,
        ),
        Column(
            "grid",
            "Grid",
            "string",
            None,
            "Blocks of the launch in x, y, z.",
            value=text("grid_code"),
            null_reason=_unless_recorded("launches"),
            only_grouped=BY_LAUNCH,
        ),
        Column(
            "block",
            "Block",
            "string",
            None,
            "Threads of a block in x, y, z.",
            value=text("block_code"),
            null_reason=_unless_recorded("launches"),
            only_grouped=BY_LAUNCH,
        ),
        Column(
            "registers_per_thread",
            "Registers per Thread",
            "integer",
            "count",
            "Registers used per thread.",
            null_reason=_unless_recorded("registers"),
            only_grouped=BY_LAUNCH,
        ),
        Column(
            "shared_memory_bytes",
            "Shared Memory",
            "integer",
            "bytes",
            "Shared memory per block.",
            null_reason=_unless_recorded("shared_memory"),
            only_grouped=BY_LAUNCH,
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether the kernel runs on Tensor Cores (matrix units), inferred from its name.",
            value=verdict("tensor_core"),
            null_reason=NO_RULE,
        ),
        Column(
            "operator_tensor_core_eligible",
            "Operator Eligible",
            "boolean",
            None,
            "Whether the operator or a nested one could use Tensor Cores.",
            value=verdict("eligible"),
            null_reason=NO_OPERATOR_RULE,
            only_grouped=BY_LAUNCH,
        ),
        Column("calls", "Calls", "integer", "count", "Number of executions.", additive=True),
        Column(
            "total_us",
            "Total",
            "number",
            "us",
            "Summed duration.",
            family="total",
            additive=True,
            value=microseconds("total_ns"),
        ),
        Column(
            "mean_us",
            "Mean",
            "number",
            "us",
            "Total divided by Calls.",
            family="call",
            value=microseconds("total_ns", divisor="calls"),
        ),
        Column(
            "min_us",
            "Min",
            "number",
            "us",
            "Shortest duration.",
            family="call",
            value=microseconds("min_ns"),
        ),
        Column(
            "max_us",
            "Max",
            "number",
            "us",
            "Longest duration.",
            family="call",
            value=microseconds("max_ns"),
        ),
        Column(
            "mean_blocks_per_sm",
            "Mean Blocks per SM",
            "number",
            "ratio",
            "Blocks of the launch divided by the multiprocessors of the device, weighted by "
            "duration (evenly if all durations are 0). Below 1, some multiprocessors stay idle.",
            null_reason=_unless_recorded("blocks_per_sm"),
        ),
        Column(
            "mean_est_achieved_occupancy_pct",
            "Mean Achieved Occupancy",
            "number",
            "pct",
            "Estimate of active warps over the most a multiprocessor can hold, weighted by "
            "duration (evenly if all durations are 0): the profiler's own, or, where it has none, "
            "from the launch, registers, shared memory and the rules of the device.",
            estimated=True,
            null_reason=_unless_recorded("occupancy"),
        ),
        Column(
            "communication",
            "Communication",
            "boolean",
            None,
            "Whether it moves data between devices: inferred from its name, the recorded "
            "collective, or the range that launched it.",
            null_reason=NOT_RECOGNIZED,
        ),
        *OTHER_NAMES,
        *share_columns("Total", "the kernel time of the selection"),
        _of_call("median_us", "Median", "Duration that half of the calls do not exceed."),
        _of_call(
            "p95_us",
            "95th Percentile",
            "Duration that 95 % of the calls do not exceed (linearly interpolated).",
        ),
        _of_call(
            "std_us",
            "Standard Deviation",
            "Standard deviation of the duration of a call.",
            ONE_CALL,
        ),
        Column(
            "data_types",
            "Data Types",
            "string",
            None,
            "Data types inferred from its name, or else the input types of the operators that "
            "launched it.",
            hidden=True,
            null_reason=_no_types,
        ),
        Column(
            "occupancy_limit",
            "Occupancy Limited by",
            "string",
            None,
            "What limits the warps per multiprocessor: registers, shared memory, block size, or "
            "the grid if the launch has fewer blocks than fit; nothing at full occupancy. With "
            "several launch configurations, that of the one with the most time.",
            hidden=True,
            value=lambda rows: rows["limit"],
            null_reason=NO_LIMIT,
        ),
        Column(
            "kernel_class",
            "Class",
            "string",
            None,
            "Kind of work, inferred from its name; other if unknown.",
            hidden=True,
            value=_classes,
        ),
        Column(
            "recognized_by",
            "Recognized by",
            "string",
            None,
            "Strongest source of what it does and whether it communicates: your rule, the recorded "
            "collective, the range that launched it, or its name; operator if that only shows that "
            "it does not communicate.",
            hidden=True,
            value=_sources,
            null_reason=NOT_RECOGNIZED,
        ),
        Column(
            "gaps_before_us",
            "Gaps Before",
            "number",
            "us",
            "Idle time of the device directly before its executions.",
            family="total",
            hidden=True,
            additive=True,
            value=microseconds("gaps_before_ns"),
        ),
        *(replace(column, null_reason=measured_reason) for column in MEASURED_COLUMNS),
    ),
    sort="-total_us,name",
)


def kernels_table(trace: Trace, calls: pl.DataFrame, group_by: str) -> Table:
    """The rows of :data:`KERNELS`, in default order.

    Args:
        trace: The trace.
        calls: The selected rows of ``kernel_calls`` joined with those of ``kernel_details``.
        group_by: One of :data:`GROUP_BYS`.
    """
    by_launch = group_by == BY_LAUNCH.group_by
    rows, keys = kernel_rows(trace, calls, by_launch=by_launch), row_keys(by_launch=by_launch)
    values = argument_values(trace, calls.select("slice", *keys))
    table = with_arguments(trace, fill(KERNELS, Rows(trace, rows, group_by)), values, rows, keys)
    return with_shares(in_default_order(table), "total_us", NO_KERNEL_TIME)
