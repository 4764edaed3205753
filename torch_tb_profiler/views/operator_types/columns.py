"""The table of types of operators, and why its values may be null."""

from __future__ import annotations

from torch_tb_profiler.analysis.operators.times import MEASURES
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.time_columns import time_columns

NO_RULE = "It is unknown whether operators of this type can use Tensor Cores."
NO_KERNEL_RULE = "The Tensor Core use of the kernels launched inside is unknown."
NO_CALL = "No operator of this type is called in the selection."
NO_HOST_CALL = "No host call that launched this device work is recorded."
UNKNOWN_TYPE = (
    "The type of these operators is unknown (for example custom operators or compiled regions)."
)
NO_WHOLE = "The selection contains neither device time nor host time."

OPERATOR_TYPES = TableSpec(
    "operator_types",
    "Operator types",
    "One row per type of operator (convolution, matrix_product and so on); operators of unknown "
    "type form one row without a type. Device work outside all operators has the type "
    "unassociated_ followed by the name of the host call, or of the kernel if the call is "
    "unknown.",
    (
        Column(
            "type",
            "Type",
            "string",
            None,
            "Kind of work, inferred from operator names.",
        ),
        Column(
            "operators",
            "Operators",
            "integer",
            "count",
            "Number of operators of the type, counted per path (group_by=path of the view "
            "Operators); 1 for unassociated work.",
            additive=True,
        ),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "Number of calls, nested calls included.",
            additive=True,
        ),
        Column(
            "timed_calls",
            "Outermost Calls",
            "integer",
            "count",
            "Number of calls that are not inside another one of the type: those that the times are "
            "of, so that the mean times this number is the total.",
            additive=True,
        ),
        Column(
            "tensor_core_eligible",
            "Tensor Cores Eligible",
            "boolean",
            None,
            "Whether at least one of them could run on Tensor Cores (matrix units).",
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether at least one kernel launched inside uses Tensor Cores.",
        ),
        *(
            column
            for measure in MEASURES
            for column in time_columns(
                measure,
                "summed over the outermost calls of the type; overlapping device work inside a "
                "call counts once"
                if measure.startswith("gpu")
                else "summed over the outermost calls of the type",
                "the outermost calls of the type",
            )
        ),
        Column(
            "pct",
            "Share",
            "number",
            "pct",
            "Device self time of the type (host self time if there is no device work) as share "
            "of that of all rows.",
            additive=True,
        ),
    ),
    sort="-pct,-cpu_total_us,type",
)
