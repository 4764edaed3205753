"""The tables of the view ``shapes``. Definitions: ``docs/views-shapes.md``."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

NO_SHAPES = "The recording contains no input shapes of operators."
NO_SHAPE = "No shape was recorded for this call."
NO_TYPE = "No type was recorded."
NO_TIME = "No time was recorded for this call."
NO_FLOPS = "No formula for the FLOPs of these calls, or its inputs were not recorded."
NO_SPEED = "Needs known FLOPs and time."
NO_COMPILATION = "No compilations were recorded (torch.compile was not used or not traced)."

_OVER_ITERATIONS = (
    Column(
        "mean_us",
        "Mean per Iteration",
        "number",
        "us",
        "Mean time per iteration, over the iterations in which it ran.",
        family="time",
    ),
    Column(
        "min_us", "Min", "number", "us", "Time in the fastest of these iterations.", family="time"
    ),
    Column(
        "max_us", "Max", "number", "us", "Time in the slowest of these iterations.", family="time"
    ),
    Column(
        "distinct_shapes",
        "Shapes",
        "integer",
        "count",
        "Number of different input shapes over all iterations. More than one: its shapes are "
        "dynamic.",
    ),
)

_ITERATION = (
    Column("iteration", "Iteration", "string", None, "Name of the step."),
    Column("calls", "Calls", "integer", "count", "Calls in this iteration.", additive=True),
    Column(
        "time_us",
        "Time",
        "number",
        "us",
        "Device self time of its calls in this iteration, or host self time if nothing ran on a "
        "device; as recorded in MindSpore files.",
        family="time",
        additive=True,
    ),
    Column(
        "call_mean_us",
        "Mean per Call",
        "number",
        "us",
        "Mean time of a call in this iteration, over the calls with a recorded time.",
        family="time",
    ),
)

TYPES = TableSpec(
    "types",
    "Operator types",
    "One row per type of operator and iteration.",
    (
        Column("type", "Type", "string", None, "Operator name or type."),
        *_ITERATION,
        *_OVER_ITERATIONS,
    ),
    sort="-mean_us",
)

INSTANCES = TableSpec(
    "instances",
    "Operators",
    "One row per operator, iteration and input shape. Calls with the same name and path in the "
    "model are one operator.",
    (
        Column(
            "name", "Operator", "string", None, "Path of the operator, or its name in the file."
        ),
        Column("type", "Type", "string", None, "Operator name or type."),
        *_ITERATION,
        Column("input_shapes", "Input Shapes", "string", None, "Input shapes in this iteration."),
        *_OVER_ITERATIONS,
    ),
    sort="-distinct_shapes,-mean_us",
)

SHAPES = TableSpec(
    "shapes",
    "Speed by shape",
    "One row per operator and input shape: its speed compared with the fastest shape of the "
    "operator, or with its own roofline limit if that is lower. The largest possible saving "
    "comes first.",
    (
        Column("name", "Operator", "string", None, "Name of the operator."),
        Column("input_shapes", "Input Shapes", "string", None, "Shapes of its inputs."),
        Column("calls", "Calls", "integer", "count", "Calls with these shapes.", additive=True),
        Column(
            "time_us",
            "Time",
            "number",
            "us",
            "Device time of these calls, or host time if there is no device.",
            family="time",
            additive=True,
        ),
        Column(
            "mean_us",
            "Mean",
            "number",
            "us",
            "Mean time of a call with these shapes.",
            family="call",
        ),
        Column("tflops_per_s", "TFLOP/s", "number", None, "10¹² operations per second."),
        Column(
            "slower",
            "Slower",
            "number",
            "ratio",
            "How many times faster it would be at the speed of the operator's best shape, "
            "limited by its own roofline (see Efficiency); 1: nothing to gain. Small shapes are "
            "inherently slow; for large ones the reason may be sizes that are not multiples of 8 "
            "or 16, or the memory layout.",
        ),
        Column(
            "lost_us",
            "Lost",
            "number",
            "us",
            "Time that these calls would save at that speed.",
            estimated=True,
            family="time",
            additive=True,
        ),
        Column("flops", "FLOPs", "number", "flops", "FLOPs of these calls.", additive=True),
    ),
    sort="-lost_us,-time_us,name",
    when_empty="The selection contains no operators with recorded shape and time.",
)

ITERATIONS = TableSpec(
    "shapes_over_iterations",
    "Shapes over iterations",
    "One row per iteration: new shapes and compilations.",
    (
        Column("iteration", "Iteration", "string", None, "Name of the step."),
        Column("calls", "Calls", "integer", "count", "Calls with recorded shapes.", additive=True),
        Column(
            "time_us",
            "Time",
            "number",
            "us",
            "Time of these calls, as in the table of operator types.",
        ),
        Column(
            "distinct_shapes",
            "Shapes",
            "integer",
            "count",
            "Number of different pairs of operator and shape in this iteration.",
        ),
        Column(
            "new_shapes",
            "New Shapes",
            "integer",
            "count",
            "Pairs that no earlier iteration of the selection has. In the first iteration all "
            "are new.",
        ),
        Column(
            "compilations",
            "Compilations",
            "integer",
            "count",
            "Compilations of torch.compile that began in this iteration.",
            additive=True,
        ),
        Column(
            "recompilations",
            "Recompilations",
            "integer",
            "count",
            "Compilations of functions that had been compiled before for other inputs; new "
            "shapes are the usual reason.",
            additive=True,
        ),
        Column(
            "compiling_us",
            "Compiling",
            "number",
            "us",
            "Host time of these compilations.",
            additive=True,
        ),
    ),
    is_summary=True,
)
