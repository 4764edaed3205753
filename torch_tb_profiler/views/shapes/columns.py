"""The tables of the view ``shapes``. Definitions: ``docs/views-shapes.md``."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

NO_SHAPES = "The recording holds no input shapes of operators."
NO_SHAPE = "No shape was recorded for this call."
NO_TYPE = "The recording names no type."
NO_TIME = "The recording tells no time of this call."
NO_FLOPS = "No formula tells the FLOPs of these calls, or what it needs was not recorded."
NO_SPEED = "It needs FLOPs and a time that are both known."
NO_COMPILATION = "The recording tells of no compilation (torch.compile was not used, or not seen)."

_OVER_ITERATIONS = (
    Column(
        "mean_us",
        "Mean",
        "number",
        "us",
        "Mean of its time over the iterations in which it ran.",
        family="time",
    ),
    Column("min_us", "Min", "number", "us", "Its time in the fastest of them.", family="time"),
    Column("max_us", "Max", "number", "us", "Its time in the slowest of them.", family="time"),
    Column(
        "distinct_shapes",
        "Shapes",
        "integer",
        "count",
        "Different input shapes that were recorded for it in all of them. More than one: its "
        "shapes are dynamic.",
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
        "Of its calls in this iteration: device work that they launched themselves; on the host, "
        "without what they called, where nothing ran on a device. Of MindSpore's files: as told.",
        family="time",
        additive=True,
    ),
)

TYPES = TableSpec(
    "types",
    "Types of operators",
    "One row per type of operator and iteration.",
    (
        Column("type", "Type", "string", None, "Name of the operators, or their type."),
        *_ITERATION,
        *_OVER_ITERATIONS,
    ),
    sort="-mean_us",
)

INSTANCES = TableSpec(
    "instances",
    "Operators",
    "One row per operator, iteration and input shape. Calls of one name at one place of the model "
    "are one operator.",
    (
        Column("name", "Operator", "string", None, "Its path, or its name in the file."),
        Column("type", "Type", "string", None, "Its name, or its type."),
        *_ITERATION,
        Column("input_shapes", "Input Shapes", "string", None, "Shapes of its inputs there."),
        *_OVER_ITERATIONS,
    ),
    sort="-distinct_shapes,-mean_us",
)

SHAPES = TableSpec(
    "shapes",
    "Speed by shape",
    "One row per operator and input shape: how fast it computes with it, against the shape with "
    "which it computes fastest, or against its own roof where that allows less. What it would save "
    "at that speed comes first.",
    (
        Column("name", "Operator", "string", None, "Name of the operator."),
        Column("input_shapes", "Input Shapes", "string", None, "Shapes of its inputs."),
        Column("calls", "Calls", "integer", "count", "Calls with these shapes.", additive=True),
        Column(
            "time_us",
            "Time",
            "number",
            "us",
            "Device time that these calls hold; without devices their time on the host.",
            family="time",
            additive=True,
        ),
        Column(
            "mean_us", "Mean", "number", "us", "Time of a call with these shapes.", family="call"
        ),
        Column("tflops_per_s", "TFLOP/s", "number", None, "10¹² operations per second."),
        Column(
            "slower",
            "Slower",
            "number",
            "ratio",
            "How many times as fast it would be at the speed of the operator's best shape, as far "
            "as its own roof allows (see Efficiency); 1: nothing to gain. Small shapes are slow by "
            "nature; of large ones sizes that are no multiples of 8 or 16, or a layout, may be the "
            "reason.",
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
        Column("flops", "FLOPs", "number", "flops", "Of these calls.", additive=True),
    ),
    sort="-lost_us,-time_us,name",
    when_empty="The selection holds no operator with a recorded shape and time.",
)

ITERATIONS = TableSpec(
    "shapes_over_iterations",
    "Shapes over iterations",
    "One row per iteration: which shapes are new in it, and what was compiled for them.",
    (
        Column("iteration", "Iteration", "string", None, "Name of the step."),
        Column("calls", "Calls", "integer", "count", "Calls with recorded shapes.", additive=True),
        Column("time_us", "Time", "number", "us", "Their time, as in the table of types."),
        Column(
            "distinct_shapes",
            "Shapes",
            "integer",
            "count",
            "Different pairs of operator and shape in this iteration.",
        ),
        Column(
            "new_shapes",
            "New Shapes",
            "integer",
            "count",
            "Those that no earlier iteration of the selection has. In the first one all are new.",
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
            "Those among them of functions that were compiled before, for other inputs: new shapes "
            "are the usual reason.",
            additive=True,
        ),
        Column(
            "compiling_us",
            "Compiling",
            "number",
            "us",
            "Time of these compilations on the host.",
            additive=True,
        ),
    ),
    is_summary=True,
)
