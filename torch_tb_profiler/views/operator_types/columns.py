"""The table of types of operators, and why its values may be null."""

from __future__ import annotations

from torch_tb_profiler.analysis.operators.times import MEASURES
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.time_columns import time_columns

NO_RULE = "No rule knows whether operators of this type can use Tensor Cores."
NO_KERNEL_RULE = "No rule knows whether the kernels launched inside use Tensor Cores."
NO_CALL = "No call of an operator of this type is in the selection."
NO_HOST_CALL = "The recording does not tell which call of the host launched this device work."
UNKNOWN_TYPE = "No rule knows the type of these operators (custom ones, compiled regions)."
NO_WHOLE = "Neither time of a device nor of the host is in the selection."

OPERATOR_TYPES = TableSpec(
    "operator_types",
    "Operator types",
    "One row per type of operator (convolution, matrix_product and so on); operators whose type "
    "nobody knows are one row without a type. Device work outside every operator is of the type "
    "unassociated_ with the name of the host call, or of the kernel where that is not known.",
    (
        Column(
            "type",
            "Type",
            "string",
            None,
            "Kind of work, told by the names of operators.",
        ),
        Column(
            "operators",
            "Operators",
            "integer",
            "count",
            "Operators of the type at their places (group_by=path of the view Operators); of "
            "unassociated work 1.",
            additive=True,
        ),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "How often they were called, nested calls too.",
            additive=True,
        ),
        Column(
            "tensor_core_eligible",
            "Tensor Cores Eligible",
            "boolean",
            None,
            "Whether one of them could run on Tensor Cores (matrix units).",
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether a kernel launched inside uses Tensor Cores.",
        ),
        *(
            column
            for measure in MEASURES
            for column in time_columns(
                measure,
                "summed over calls that are in no other call of the type; device work that "
                "overlaps inside one counts once"
                if measure.startswith("gpu")
                else "summed over calls that are in no other call of the type",
                "calls that are in no other call of the type",
            )
        ),
        Column(
            "pct",
            "Share",
            "number",
            "pct",
            "Device work that operators of the type launched themselves (where there is none: "
            "their own time on the host) as share of that of all rows.",
            additive=True,
        ),
    ),
    sort="-pct,-cpu_total_us,type",
)
