"""The tables of what ran in iterations: operators, and kernels, copies and sets."""

from __future__ import annotations

from torch_tb_profiler.views.iterations.columns import ITERATION
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.schema import Column, TableSpec

OPERATOR_ID = Column(
    "operator_id",
    "Operator Id",
    "string",
    None,
    "Type, direction and number of the operator: the same at every opening of the file.",
    hidden=True,
)
DIRECTION = Column(
    "direction",
    "Direction",
    "string",
    None,
    "forward or backward, where the recording tells.",
)
TYPE = Column("type", "Type", "string", None, "Kind of operator, told from its name.")
DTYPE = Column(
    "dtype",
    "Data Type",
    "string",
    None,
    "Element types of the operator's inputs.",
    hidden=True,
)
INPUT_SHAPES = Column(
    "input_shapes", "Input Shapes", "string", None, "Shapes of the operator's inputs.", hidden=True
)

ITERATION_OPERATORS = TableSpec(
    "iteration_operators",
    "Operators of iterations",
    "One row per operator of an iteration, by iteration and time: of the chosen iteration, else of "
    "all that are selected. Operators inside operators have rows of their own.",
    (
        ITERATION,
        OPERATOR_ID,
        Column("name", "Name", "string", None, "Name of the operator."),
        DIRECTION,
        TYPE,
        Column(
            "start_us",
            "Start",
            "number",
            "us",
            "Start of its first call in the iteration, since the recording's time 0.",
        ),
        Column(
            "duration_us",
            "Duration",
            "number",
            "us",
            "Time of its calls in the iteration on the host.",
            family="duration",
        ),
        Column(
            "kernels",
            "Kernels",
            "integer",
            "count",
            "Kernels launched inside it, operators inside included; copies and sets are none.",
        ),
        Column(
            "gpu_time_us",
            "GPU Time",
            "number",
            "us",
            "Summed duration of the kernels, copies and sets launched inside it, operators inside "
            "included.",
            family="duration",
        ),
        Column(
            "tensor_core_time_us",
            "Tensor Core Time",
            "number",
            "us",
            "The part of it in kernels known to use Tensor Cores (matrix units).",
            family="duration",
        ),
        DTYPE,
        INPUT_SHAPES,
        Column(
            "call_stack",
            "Call Stack",
            "string",
            None,
            "Where in the source its first call was made; the innermost frame comes first.",
            hidden=True,
        ),
        Column(
            "path",
            "Path",
            "string",
            None,
            "Names of the modules, ranges and operators around it; (2), (3) are repetitions.",
            hidden=True,
        ),
        Column("calls", "Calls", "integer", "count", "Its calls in the iteration.", additive=True),
    ),
    when_empty="No operator ran in these iterations, or operators were not profiled.",
)

ITERATION_KERNELS = TableSpec(
    "iteration_kernels",
    "Kernels of iterations",
    "One row per kernel, copy and set, by iteration and time: of the chosen iteration, else of all "
    "that are selected; of the chosen operator, else of all.",
    (
        ITERATION,
        OPERATOR_ID,
        Column("operator", "Operator", "string", None, "The innermost operator that launched it."),
        DIRECTION,
        TYPE,
        Column("kernel", "Kernel", "string", None, "Name of the kernel, copy or set."),
        Column("gpu", "GPU", "integer", None, "Number of the device, as the program counts them."),
        Column(
            "gpu_start_us",
            "GPU Start",
            "number",
            "us",
            "When it began on the device, since the recording's time 0.",
            family="start",
        ),
        Column(
            "gpu_time_us",
            "GPU Time",
            "number",
            "us",
            "Its duration.",
            family="duration",
            additive=True,
        ),
        Column(
            "api_start_us",
            "API Start",
            "number",
            "us",
            "When the host call that launched it began, since the recording's time 0.",
            family="start",
        ),
        Column(
            "api_time_us",
            "API Time",
            "number",
            "us",
            "Duration of that call; one that launched several is there in the row of each.",
            family="duration",
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether the kernel runs on Tensor Cores (matrix units), told from its name.",
        ),
        Column("grid", "Grid", "string", None, "Blocks of the launch in x, y, z."),
        Column("block", "Block", "string", None, "Threads of a block in x, y, z."),
        DTYPE,
        INPUT_SHAPES,
        Column(
            "concrete_inputs",
            "Concrete Inputs",
            "string",
            None,
            "Values of the operator's inputs that are no tensors.",
            hidden=True,
        ),
        *OTHER_NAMES,
    ),
    when_empty="No device work was launched in these iterations, devices were not profiled, or the "
    "file does not tell what launched their work.",
)
