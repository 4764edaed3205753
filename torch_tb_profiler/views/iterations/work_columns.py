"""The tables of what ran in iterations: operators, and kernels, copies and memsets."""

from __future__ import annotations

from torch_tb_profiler.views.iterations.columns import ITERATION
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.schema import Column, TableSpec

OPERATOR_ID = Column(
    "operator_id",
    "Operator Id",
    "string",
    None,
    "Type, direction and number of the operator: a stable id within the file.",
    hidden=True,
)
DIRECTION = Column(
    "direction",
    "Direction",
    "string",
    None,
    "forward or backward, where known.",
)
TYPE = Column("type", "Type", "string", None, "Kind of operator, derived from its name.")
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
    "One row per operator and iteration, in time order: of the chosen iteration, else of all "
    "selected ones. Nested operators have separate rows.",
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
            "Start of its first call in the iteration, since the start of the recording.",
        ),
        Column(
            "duration_us",
            "Duration",
            "number",
            "us",
            "Host time of its calls in the iteration.",
            family="duration",
        ),
        Column(
            "kernels",
            "Kernels",
            "integer",
            "count",
            "Kernels launched by it and nested operators, without copies and memsets.",
        ),
        Column(
            "gpu_time_us",
            "GPU Time",
            "number",
            "us",
            "Summed duration of the kernels, copies and memsets launched by it and nested ones.",
            family="duration",
        ),
        Column(
            "tensor_core_time_us",
            "Tensor Core Time",
            "number",
            "us",
            "Part of GPU Time in kernels that are known to use Tensor Cores (matrix units).",
            family="duration",
        ),
        DTYPE,
        INPUT_SHAPES,
        Column(
            "call_stack",
            "Call Stack",
            "string",
            None,
            "Call stack of its first call, innermost frame first.",
            hidden=True,
        ),
        Column(
            "path",
            "Path",
            "string",
            None,
            "Enclosing modules, ranges and operators; (2), (3) mark repetitions.",
            hidden=True,
        ),
        Column(
            "calls", "Calls", "integer", "count", "Number of calls in the iteration.", additive=True
        ),
    ),
    when_empty="No operator ran in these iterations, or operators were not recorded.",
)

ITERATION_KERNELS = TableSpec(
    "iteration_kernels",
    "Kernels of iterations",
    "One row per kernel, copy and memset, by iteration and time: of the chosen iteration, else of "
    "all selected ones; of the chosen operator, else of all.",
    (
        ITERATION,
        OPERATOR_ID,
        Column("operator", "Operator", "string", None, "Innermost operator that launched it."),
        DIRECTION,
        TYPE,
        Column("kernel", "Kernel", "string", None, "Name of the kernel, copy or memset."),
        Column("gpu", "GPU", "integer", None, "Device number, as in the program."),
        Column(
            "gpu_start_us",
            "GPU Start",
            "number",
            "us",
            "Start on the device, in trace time, as on the timeline.",
            family="start",
        ),
        Column(
            "gpu_start_since_first_us",
            "GPU Start since First Event",
            "number",
            "us",
            "Start on the device, since the first event of the recording.",
            family="start",
            hidden=True,
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
            "Start of the launching host call, in trace time, as on the timeline.",
            family="start",
        ),
        Column(
            "api_start_since_first_us",
            "API Start since First Event",
            "number",
            "us",
            "Start of the launching host call, since the first event of the recording.",
            family="start",
            hidden=True,
        ),
        Column(
            "api_time_us",
            "API Time",
            "number",
            "us",
            "Duration of the launching host call; if it launched several kernels, it is repeated "
            "in each row.",
            family="duration",
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether the kernel uses Tensor Cores (matrix units), derived from its name.",
        ),
        Column("grid", "Grid", "string", None, "Thread blocks of the launch in x, y, z."),
        Column("block", "Block", "string", None, "Threads per block in x, y, z."),
        DTYPE,
        INPUT_SHAPES,
        Column(
            "concrete_inputs",
            "Concrete Inputs",
            "string",
            None,
            "Values of the operator's non-tensor inputs.",
            hidden=True,
        ),
        *OTHER_NAMES,
    ),
    when_empty="No device work was launched in these iterations, or devices or launches were not "
    "recorded.",
)
