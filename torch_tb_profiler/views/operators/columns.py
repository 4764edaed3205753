"""The columns of the table of operators, and why their values may be null."""

from __future__ import annotations

from dataclasses import replace

from torch_tb_profiler.analysis.operators.times import MEASURES
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.shares import share_columns
from torch_tb_profiler.views.time_columns import time_columns

BY_PATH = "path"
GROUP_BYS = (
    "name",
    "name+input_shape",
    "name+call_stack",
    "name+input_shape+call_stack",
    BY_PATH,
)

NO_SHAPES = "The file gives no input shapes for these calls."
NO_STACKS = "The file gives no call stack for these calls."
NO_RULE = "No rule knows whether this operator can use Tensor Cores."
NO_KERNEL_RULE = "No rule knows whether its kernels use Tensor Cores."
UNKNOWN_SHARE = (
    "No rule knows whether its kernels use Tensor Cores, or those of too much of its device time "
    "for one number: then the share lies between the bounds."
)
NO_OPERATOR = "This row is device work outside every operator."
NO_FRAMES = "The recording holds no Python frames."
NO_LAUNCH = "The recording does not tell what launched this device work."
NO_TIME = "No device work is in the selection."
NO_TYPES = "The file gives no input types for these calls."
ONE_CALL = "One call does not vary; a row without a call of an operator has none."
NO_CALL = "No call of an operator in the selection is in this row."
NO_SHARE = "Neither time of a device nor of the host is in the selection."

NO_KNOWN_TYPE = "No rule knows the type of this operator."
SEVERAL_OPERATORS = "Operators of several places are in this row: group by path tells them apart."
NO_FORWARD = (
    "It is no backward operator, the recording does not link it to its forward one, or operators "
    "of several places are in this row."
)
NO_DIRECTION = (
    "The recording does not tell (no backward pass of this operator is linked to it), or calls of "
    "both directions are in this row."
)

_IDENTITY = (
    Column(
        "operator_id",
        "Operator ID",
        "string",
        None,
        "Type, direction and number of an operator at its place, the same at every opening of the "
        "file.",
        hidden=True,
    ),
    Column(
        "direction",
        "Direction",
        "string",
        None,
        "forward: of a forward pass that has a backward one; backward: inside an autograd node.",
        hidden=True,
    ),
    Column(
        "type",
        "Type",
        "string",
        None,
        "Kind of work, told by its name: convolution, matrix_product and so on.",
        hidden=True,
    ),
    Column(
        "dtype",
        "Data Type",
        "string",
        None,
        "The same as data_types, under the key that other tables have.",
        hidden=True,
    ),
)

_TOLD_OF_PLACES = ("direction", "type", "kernel_calls")

OPERATORS = TableSpec(
    "operators",
    "Operators",
    "One row per operator, or per operator and what it is grouped by; grouped by path, one per "
    "operator at its place. Device work that no operator launched has rows of its own, by the host "
    "call that did.",
    (
        Column(
            "name",
            "Name",
            "string",
            None,
            "Name of the operator, or of the call that launched device work outside every "
            "operator. Grouped by path: with the modules or ranges and the operators around it.",
        ),
        Column(
            "input_shape",
            "Input Shape",
            "string",
            None,
            "Shapes of its inputs, as recorded; [] inside stands for a scalar. Only when grouped "
            "by input shape.",
        ),
        Column(
            "call_stack",
            "Call Stack",
            "string",
            None,
            "Where it was called: frames joined by ';', innermost first. Only when grouped by "
            "call stack.",
        ),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "How often it was called. An operator that only wraps one call of its own name counts "
            "once.",
            additive=True,
        ),
        Column(
            "device_self_us",
            "Device Self",
            "number",
            "us",
            "Summed duration of the kernels, copies and sets it launched itself. Work that ran at "
            "the same time on several streams adds up.",
            family="device",
            additive=True,
        ),
        Column(
            "device_total_us",
            "Device Total",
            "number",
            "us",
            "Device Self of the operator and of all operators inside it, once where it calls "
            "itself.",
            family="device",
        ),
        Column(
            "host_self_us",
            "Host Self",
            "number",
            "us",
            "Time on the host outside operators inside it and outside its own device API calls.",
            family="host",
            additive=True,
        ),
        Column(
            "host_total_us",
            "Host Total",
            "number",
            "us",
            "Summed duration on the host; a call inside another one of the same row is part of "
            "that. Operators inside others count too, so rows do not add up to wall time.",
            family="host",
        ),
        Column(
            "tensor_core_eligible",
            "Tensor Cores Eligible",
            "boolean",
            None,
            "Whether it, or an operator inside it, could run on Tensor Cores (matrix units) with "
            "suitable types and shapes.",
        ),
        Column(
            "tensor_core_self_pct",
            "Tensor Cores Self",
            "number",
            "pct",
            "Share of Device Self spent in kernels that use Tensor Cores; 0 without device time. "
            "Only where nearly all of it is in kernels that rules know; else see the bounds.",
        ),
        Column(
            "tensor_core_total_pct",
            "Tensor Cores Total",
            "number",
            "pct",
            "Share of Device Total spent in kernels that use Tensor Cores; 0 without device time. "
            "Only where nearly all of it is in kernels that rules know; else see the bounds.",
        ),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "operator; call: a host call (a graph launch, say) that launched device work outside "
            "every operator; unlinked: device work whose launch the recording does not tell.",
        ),
        Column(
            "host_python_us",
            "Host Python",
            "number",
            "us",
            "Part of Host Self in Python code that the operator called itself, such as hooks and "
            "functions with a backward in Python. PyTorch's own self time is without it.",
            family="host",
            additive=True,
        ),
        *(
            Column(
                f"tensor_core_{stem}_{bound}_pct",
                f"Tensor Cores {stem.title()}, {title}",
                "number",
                "pct",
                f"The share if {which} kernel that rules do not know used Tensor Cores.",
            )
            for stem in ("self", "total")
            for bound, title, which in (("min", "at least", "no"), ("max", "at most", "every"))
        ),
        *share_columns(
            "Device Self (without device time: of Host Self)", "all rows of the selection"
        ),
        *(
            Column(
                f"call_{stem}_us",
                title,
                "number",
                "us",
                f"{text} of the durations of its calls on the host, operators inside included.",
                family="call",
                hidden=True,
            )
            for stem, title, text in (
                ("mean", "Mean Call", "Mean"),
                ("median", "Median Call", "Median"),
                ("p95", "95th Percentile Call", "95th percentile, linear between two calls,"),
                ("std", "Standard Deviation of Calls", "Standard deviation"),
            )
        ),
        Column(
            "data_types",
            "Data Types",
            "string",
            None,
            "Element types of its inputs, as recorded.",
            hidden=True,
        ),
        Column(
            "gaps_before_us",
            "Gaps Before",
            "number",
            "us",
            "Time in which a device did nothing directly before the kernels, copies and sets that "
            "it launched itself.",
            family="device",
            hidden=True,
            additive=True,
        ),
        *_IDENTITY,
        *(
            column
            for measure in MEASURES
            for column in time_columns(
                measure,
                "summed over its outermost calls",
                "its outermost calls",
                hide_total=True,
                with_total=measure not in ("cpu", "gpu"),
            )
        ),
        Column(
            "kernel_calls",
            "Kernel Calls",
            "integer",
            "count",
            "Kernels launched inside its calls, once where it calls itself.",
            hidden=True,
        ),
        Column(
            "forward_operator_id",
            "Forward Operator ID",
            "string",
            None,
            "Operator ID of the operator whose backward it is part of.",
            hidden=True,
        ),
    ),
    sort="-device_self_us,-host_self_us,name",
)

AT_THEIR_PLACES = replace(
    OPERATORS,
    columns=tuple(
        replace(column, hidden=column.hidden and column.key not in _TOLD_OF_PLACES)
        for column in OPERATORS.columns
    ),
)
"""The table of operators at their places: a forward and a backward one may have the same path."""
