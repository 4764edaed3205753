"""The columns of the table of operators, and why their values may be null."""

from __future__ import annotations

from msgspec.structs import replace

from torch_tb_profiler.analysis.operators.times import MEASURES
from torch_tb_profiler.views.measured_columns import MEASURED_COLUMNS
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

NO_SHAPES = "No input shapes were recorded for these calls."
NO_STACKS = "No call stack was recorded for these calls."
STACKS_NEEDED = "The recording holds no call stacks (with_stack=True records them)."
NO_RULE = "It is unknown whether this operator can use Tensor Cores."
NO_KERNEL_RULE = "The Tensor Core use of its kernels is unknown."
UNKNOWN_SHARE = (
    "The Tensor Core use is unknown for too much of its device time; the bounds, if known, give "
    "the range."
)
NO_OPERATOR = "This row is device work outside all operators."
NO_FRAMES = "The recording contains no Python frames."
NO_LAUNCH = "The launch of this device work was not recorded."
NO_TIME = "No device work in the selection."
NO_TYPES = "No input types were recorded for these calls."
ONE_CALL = "Needs at least two calls of an operator."
NO_CALL = "This row has no operator call in the selection."
NO_SHARE = "The selection contains neither device time nor host time."

NO_KNOWN_TYPE = "The type of this operator is unknown."
SEVERAL_OPERATORS = (
    "This row combines operators with different paths: group by path to separate them."
)
NO_PARENT = "No operator calls it, or this row combines operators with different paths."
NO_FORWARD = (
    "It is not a backward operator, it has no recorded link to its forward operator, or this row "
    "combines operators with different paths."
)
NO_DIRECTION = (
    "Unknown: no backward pass is linked to this operator, or the row has calls in both directions."
)

_IDENTITY = (
    Column(
        "operator_id",
        "Operator ID",
        "string",
        None,
        "Type, direction and number of the operator at its path; stable each time the file is "
        "opened.",
        hidden=True,
    ),
    Column(
        "direction",
        "Direction",
        "string",
        None,
        "forward: in a forward pass that has a backward pass; backward: inside an autograd node.",
        hidden=True,
    ),
    Column(
        "type",
        "Type",
        "string",
        None,
        "Kind of work, inferred from its name: convolution, matrix_product and so on.",
        hidden=True,
    ),
    Column(
        "dtype",
        "Data Type",
        "string",
        None,
        "Same as data_types, under the key used by other tables.",
        hidden=True,
    ),
)

_SHOWN_BY_PATH = ("direction", "type", "kernel_calls")

OPERATORS = TableSpec(
    "operators",
    "Operators",
    "One row per operator, or per operator and grouping key; grouped by path, one row per "
    "operator and call path. Device work launched outside operators has separate rows, named "
    "after the host call.",
    (
        Column(
            "name",
            "Name",
            "string",
            None,
            "Name of the operator, or of the host call that launched device work outside all "
            "operators. Grouped by path: preceded by the enclosing modules or ranges and "
            "operators.",
        ),
        Column(
            "input_shape",
            "Input Shape",
            "string",
            None,
            "Shapes of its inputs as recorded; an inner [] is a scalar. Only when grouped by "
            "input shape.",
        ),
        Column(
            "call_stack",
            "Call Stack",
            "string",
            None,
            "Call stack: frames joined by ';', innermost first. Only when grouped by call stack.",
        ),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "Number of calls. An operator that only wraps one call of its own name counts once.",
            additive=True,
        ),
        Column(
            "device_self_us",
            "Device Self",
            "number",
            "us",
            "Summed duration of the kernels, copies and memsets that it launched directly. Work "
            "that ran at the same time on several streams adds up.",
            family="device",
            additive=True,
        ),
        Column(
            "device_total_us",
            "Device Total",
            "number",
            "us",
            "Device Self of the operator and all nested operators; recursive calls count once.",
            family="device",
        ),
        Column(
            "host_self_us",
            "Host Self",
            "number",
            "us",
            "Host time without nested operators and without its device API calls.",
            family="host",
            additive=True,
        ),
        Column(
            "host_total_us",
            "Host Total",
            "number",
            "us",
            "Summed duration on the host; nested calls of the same row count once. Nested "
            "operators are included, so rows do not add up to wall time.",
            family="host",
        ),
        Column(
            "tensor_core_eligible",
            "Tensor Cores Eligible",
            "boolean",
            None,
            "Whether it or a nested operator could run on Tensor Cores (matrix units) with "
            "suitable types and shapes.",
        ),
        Column(
            "tensor_core_self_pct",
            "Tensor Cores Self",
            "number",
            "pct",
            "Share of Device Self in kernels that use Tensor Cores; 0 without device time. Empty "
            "if the use is unknown for too much of the time; see the bounds then.",
        ),
        Column(
            "tensor_core_total_pct",
            "Tensor Cores Total",
            "number",
            "pct",
            "Share of Device Total in kernels that use Tensor Cores; 0 without device time. "
            "Empty if the use is unknown for too much of the time; see the bounds then.",
        ),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "operator; call: a host call, for example a graph launch, that launched device work "
            "outside all operators; unlinked: device work with no recorded launch.",
        ),
        Column(
            "host_python_us",
            "Host Python",
            "number",
            "us",
            "Part of Host Self in Python code called directly by the operator, such as hooks and "
            "autograd functions written in Python. PyTorch's own self time excludes it.",
            family="host",
            additive=True,
        ),
        *(
            Column(
                f"tensor_core_{stem}_{bound}_pct",
                f"Tensor Cores {stem.title()}, {title}",
                "number",
                "pct",
                f"The share if {which} kernel of unknown use used Tensor Cores.",
            )
            for stem in ("self", "total")
            for bound, title, which in (("min", "at least", "no"), ("max", "at most", "every"))
        ),
        *share_columns(
            "Device Self (Host Self if there is no device time)", "all rows of the selection"
        ),
        *(
            Column(
                f"call_{stem}_us",
                title,
                "number",
                "us",
                f"{text} of the host durations of its calls, nested operators included.",
                family="call",
                hidden=True,
            )
            for stem, title, text in (
                ("mean", "Mean Call", "Mean"),
                ("median", "Median Call", "Median"),
                ("p95", "95th Percentile Call", "95th percentile (linearly interpolated)"),
                ("std", "Standard Deviation of Calls", "Standard deviation"),
            )
        ),
        Column(
            "data_types",
            "Data Types",
            "string",
            None,
            "Data types of its inputs, as recorded.",
            hidden=True,
        ),
        Column(
            "gaps_before_us",
            "Gaps Before",
            "number",
            "us",
            "Idle time of the device directly before the kernels, copies and memsets that it "
            "launched directly.",
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
            "Kernels launched inside its calls; recursive calls count once.",
            hidden=True,
        ),
        Column(
            "forward_operator_id",
            "Forward Operator ID",
            "string",
            None,
            "Operator ID of the forward operator whose backward pass it belongs to.",
            hidden=True,
        ),
        Column(
            "parent_operator_id",
            "Parent Operator ID",
            "string",
            None,
            "Operator ID of the operator that calls it.",
            hidden=True,
        ),
        *MEASURED_COLUMNS,
    ),
    sort="-device_self_us,-host_self_us,name",
)

OPERATORS_BY_PATH = replace(
    OPERATORS,
    columns=tuple(
        replace(column, hidden=column.hidden and column.key not in _SHOWN_BY_PATH)
        for column in OPERATORS.columns
    ),
)
"""The table grouped by path: a forward and a backward operator may have the same path."""
