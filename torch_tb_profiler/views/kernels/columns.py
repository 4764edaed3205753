"""The columns of the table of kernels, and why their values may be null."""

from __future__ import annotations

from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.null_reasons import not_grouped
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.shares import share_columns

GROUP_BYS = ("name", "name+operator+launch")

NO_RULE = "No rule knows whether this kernel uses Tensor Cores."
NO_OPERATOR = (
    "Its launch is not in the recording, or lies outside every operator and range of its thread."
)
NO_OPERATOR_RULE = "It has no operator, or no rule knows whether that could use Tensor Cores."
ONE_CALL = "One call does not vary."
NO_TYPES = (
    "Its name does not tell them, and no input types are recorded of an operator that launched it."
)
NO_LIMIT = (
    "The recording lacks its launch configuration, or the rules for its device are not known: they "
    "are those of NVIDIA's GPUs, by compute capability."
)
NOT_RECORDED = "The profiler did not record this for these kernels."
NOT_GROUPED = not_grouped("operator and launch", GROUP_BYS[1])

OF_LAUNCH = (
    "operator",
    "grid",
    "block",
    "registers_per_thread",
    "shared_memory_bytes",
    "operator_tensor_core_eligible",
)
"""Columns that have values only when grouped by operator and launch."""


def _of_call(key: str, title: str, text: str) -> Column:
    """A measure of the durations of single calls that is shown when asked for."""
    return Column(key, title, "number", "us", text, family="call", hidden=True)


KERNELS = TableSpec(
    "kernels",
    "Kernels",
    "One row per kernel name, or per kernel name, operator and launch configuration.",
    (
        Column("name", "Name", "string", None, "Name of the kernel."),
        Column(
            "operator",
            "Operator",
            "string",
            None,
            "The innermost operator or range around the launch. Only when grouped by operator.",
        ),
        Column("grid", "Grid", "string", None, "Blocks of the launch in x, y, z."),
        Column("block", "Block", "string", None, "Threads of a block in x, y, z."),
        Column(
            "registers_per_thread",
            "Registers per Thread",
            "integer",
            "count",
            "Registers each thread uses.",
        ),
        Column(
            "shared_memory_bytes",
            "Shared Memory",
            "integer",
            "bytes",
            "Shared memory of a block.",
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether the kernel runs on Tensor Cores (matrix units), told from its name.",
        ),
        Column(
            "operator_tensor_core_eligible",
            "Operator Eligible",
            "boolean",
            None,
            "Whether the operator, or one inside it, could use Tensor Cores.",
        ),
        Column("calls", "Calls", "integer", "count", "How often it ran.", additive=True),
        Column(
            "total_us",
            "Total",
            "number",
            "us",
            "Summed duration.",
            family="total",
            additive=True,
        ),
        Column("mean_us", "Mean", "number", "us", "Total divided by Calls.", family="call"),
        Column("min_us", "Min", "number", "us", "Shortest duration.", family="call"),
        Column("max_us", "Max", "number", "us", "Longest duration.", family="call"),
        Column(
            "mean_blocks_per_sm",
            "Mean Blocks per SM",
            "number",
            "ratio",
            "Blocks of the launch divided by the multiprocessors of the device, weighted by "
            "duration (evenly if all durations are 0). Below 1, multiprocessors stay idle.",
        ),
        Column(
            "mean_est_achieved_occupancy_pct",
            "Mean Achieved Occupancy",
            "number",
            "pct",
            "The profiler's estimate of active warps over the most a multiprocessor can hold, "
            "weighted by duration (evenly if all durations are 0).",
            estimated=True,
        ),
        Column(
            "communication",
            "Communication",
            "boolean",
            None,
            "Whether it moves data between devices: told from its name, from what the recording "
            "says of the collective, or from the range that launched it.",
        ),
        *OTHER_NAMES,
        *share_columns("Total", "the kernel time of the selection"),
        _of_call("median_us", "Median", "Duration that half of the calls do not exceed."),
        _of_call(
            "p95_us",
            "95th Percentile",
            "Duration that 95 % of the calls do not exceed, linear between two calls.",
        ),
        _of_call(
            "std_us",
            "Standard Deviation",
            "Root of the mean squared difference of a call from Mean.",
        ),
        Column(
            "data_types",
            "Data Types",
            "string",
            None,
            "Element types told from its name; where that tells none, those of the inputs of the "
            "operators that launched it.",
            hidden=True,
        ),
        Column(
            "occupancy_limit",
            "Occupancy Limited by",
            "string",
            None,
            "What keeps a multiprocessor from holding more of its warps: registers, shared memory, "
            "block size, or the grid where the launch has fewer blocks than fit; nothing where it "
            "is full. Of several launch configurations the one with most time.",
            hidden=True,
        ),
        Column(
            "kernel_class",
            "Class",
            "string",
            None,
            "Kind of work, told from its name; other where no rule knows it.",
            hidden=True,
        ),
        Column(
            "gaps_before_us",
            "Gaps Before",
            "number",
            "us",
            "Time in which its device did nothing directly before its calls.",
            family="total",
            hidden=True,
            additive=True,
        ),
    ),
    sort="-total_us,name",
)
