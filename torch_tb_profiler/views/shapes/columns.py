"""The tables of the view ``shapes``. Definitions: ``docs/views-shapes.md``."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

NO_SHAPES = "The recording holds no input shapes of operators."
NO_SHAPE = "No shape was recorded for this call."
NO_TYPE = "The recording names no type."
NO_TIME = "The recording tells no time of this call."

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
