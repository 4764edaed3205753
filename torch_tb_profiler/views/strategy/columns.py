"""The declared tables of the strategy view."""

from __future__ import annotations

from torch_tb_profiler.analysis.parallel.coordinates import AXES
from torch_tb_profiler.views.collectives import WORKER
from torch_tb_profiler.views.schema import Column, TableSpec

_DIMENSION = Column(
    "dimension",
    "Dimension",
    "string",
    None,
    "What the groups divide the job along: data, sharded (data parallel with sharded parameters), "
    "tensor, pipeline, expert, context; all ranks: of a job that its other groups divide; unknown: "
    "neither a name, nor traffic, nor a given strategy decides.",
)
_SOURCE = Column(
    "source",
    "Known From",
    "string",
    None,
    "What decided the dimension: given (--parallel), name of the groups, traffic (their calls), "
    "members (their ranks).",
)

DIMENSIONS = TableSpec(
    "dimensions",
    "Dimensions",
    "One row per dimension of the parallel strategy; times are means per rank and step.",
    (
        _DIMENSION,
        Column("size", "Size", "integer", "count", "Ranks of a group; of the largest one."),
        Column("groups", "Groups", "integer", "count", "Process groups of this dimension."),
        _SOURCE,
        Column(
            "calls_per_step",
            "Calls per Step",
            "number",
            "count",
            "Collectives and transfers of a rank in a step, mean.",
        ),
        Column(
            "step_bytes",
            "Bytes per Step",
            "number",
            "bytes",
            "Bytes that a rank passes to them in a step, mean, of the calls whose size is known.",
        ),
        Column(
            "total_us",
            "Time",
            "number",
            "us",
            "In which a call of this dimension ran.",
            family="time",
        ),
        Column(
            "transfer_us",
            "Transfer",
            "number",
            "us",
            "In which data moved, as in the table Transfer and wait of Distributed.",
            estimated=True,
            family="time",
        ),
        Column(
            "wait_us",
            "Wait",
            "number",
            "us",
            "Rest of the calls' time: other ranks had not arrived.",
            estimated=True,
            family="time",
        ),
        Column(
            "exposed_us",
            "Exposed",
            "number",
            "us",
            "Communication ran and no computation did. Where several dimensions communicate at "
            "once, the time is shared between them equally, so that the rows add up.",
            family="time",
            additive=True,
        ),
        Column("exposed_pct", "Exposed Share", "number", "pct", "Exposed over the step."),
        Column(
            "hidden_us",
            "Hidden",
            "number",
            "us",
            "Calls of this dimension ran during computation.",
            family="time",
        ),
        Column("reason", "Reason", "string", None, "Why the dimension of groups is unknown."),
    ),
)

GROUPS = TableSpec(
    "groups",
    "Process groups",
    "One row per process group of the job.",
    (
        Column("group", "Group", "string", None, "Name and description of the group."),
        _DIMENSION,
        _SOURCE,
        Column("size", "Size", "integer", "count", "Its ranks."),
        Column("ranks", "Ranks", "string", None, "Its ranks; 0-12/4 is every fourth."),
        Column("recorded", "Recorded", "integer", "count", "Ranks with a recording."),
        Column(
            "collectives",
            "Collectives",
            "string",
            None,
            "What was called, the most frequent first.",
        ),
        Column("calls", "Calls", "integer", "count", "Calls of all its ranks.", additive=True),
        Column(
            "total_bytes",
            "Total Bytes",
            "integer",
            "bytes",
            "Bytes that all its ranks passed to these calls; of the calls whose size is known.",
            additive=True,
        ),
        Column(
            "bus_bandwidth_gb_per_s",
            "Bus Bandwidth",
            "number",
            "gb_per_s",
            "Bytes over transfer time, times the factor that NCCL tests define; of matched calls "
            "of known size.",
            estimated=True,
        ),
        Column("reason", "Reason", "string", None, "Why the dimension is unknown."),
    ),
    sort="dimension,group",
)

_COORDINATES = tuple(
    Column(
        axis,
        axis.capitalize(),
        "integer",
        None,
        f"Index of the rank within the {axis} dimension; empty where the job is not divided along "
        "it, or its groups do not say.",
    )
    for axis in AXES
)

MEASURE_COLUMNS = {
    "computation": Column(
        "computation_us",
        "Computation",
        "number",
        "us",
        "Kernels ran that do not communicate, per step.",
        family="step",
    ),
    "exposed_communication": Column(
        "exposed_communication_us",
        "Exposed Communication",
        "number",
        "us",
        "Communication ran and no computation did, per step.",
        family="step",
    ),
    "wait": Column(
        "wait_us",
        "Wait",
        "number",
        "us",
        "In calls, until the last rank had arrived, per step.",
        estimated=True,
        family="step",
    ),
    "idle": Column(
        "idle_us",
        "Idle",
        "number",
        "us",
        "Neither computation nor communication ran, per step.",
        family="step",
    ),
    "step": Column("step_us", "Step", "number", "us", "Mean step time.", family="step"),
    "input_wait": Column(
        "input_wait_us",
        "Input Wait",
        "number",
        "us",
        "No computation while the host loaded or waited for a batch, per step.",
        family="step",
    ),
    "host_wait": Column(
        "host_wait_us",
        "Host Wait",
        "number",
        "us",
        "No computation as the host had not launched the next work, per step.",
        family="step",
    ),
    "busy": Column(
        "busy_pct", "GPU Busy", "number", "pct", "Share of the step in which any kernel ran."
    ),
    "memory_peak": Column(
        "memory_peak_bytes", "Memory Peak", "integer", "bytes", "Most that was allocated at once."
    ),
}

RANK_MATRIX = TableSpec(
    "rank_matrix",
    "Ranks",
    "One row per rank: where it stands in the strategy, and its measures.",
    (
        WORKER,
        Column("rank", "Rank", "integer", None, "Rank of the worker; empty: not recorded."),
        Column("node", "Node", "string", None, "Machine that it ran on, where that is known."),
        *_COORDINATES,
        *MEASURE_COLUMNS.values(),
        Column(
            "is_outlier",
            "Outlier",
            "boolean",
            None,
            "The chosen measure differs from the median of its pipeline stage (else of all ranks) "
            "by more than 3.5 scaled median absolute deviations and 5 %.",
        ),
    ),
)

MATRIX_LINES = TableSpec(
    "matrix_lines",
    "Rows and columns",
    "One row per index of each dimension: the chosen measure of its ranks beside all others.",
    (
        Column("dimension", "Dimension", "string", None, "Dimension of the strategy, or node."),
        Column("index", "Index", "string", None, "Index within the dimension, or the node."),
        Column("ranks", "Ranks", "integer", "count", "Its ranks that have the measure."),
        Column("measure", "Measure", "string", None, "What is compared."),
        Column("median_text", "Median", "string", None, "Median of its ranks."),
        Column("others_text", "Others", "string", None, "Median of all other ranks."),
        Column("median", "Median (number)", "number", None, "Median of its ranks.", hidden=True),
        Column("others", "Others (number)", "number", None, "Median of the others.", hidden=True),
        Column("unit", "Unit", "string", None, "Of both numbers.", hidden=True),
        Column("deviation_pct", "Deviation", "number", "pct", "Median from that of the others."),
        Column(
            "is_outlier",
            "Outlier",
            "boolean",
            None,
            "Differs from the others by more than 3.5 of their scaled median absolute deviations "
            "and 5 %.",
        ),
    ),
)

BUBBLES = TableSpec(
    "bubbles",
    "Pipeline stages",
    "One row per pipeline stage: means per step over its ranks.",
    (
        Column("stage", "Stage", "integer", None, "Index within the pipeline dimension."),
        Column("ranks", "Ranks", "integer", "count", "Ranks of this stage with recordings."),
        Column(
            "schedule",
            "Schedule",
            "string",
            None,
            "By the order of the passes on every stage; other: none that is known.",
        ),
        Column("microbatches", "Microbatches", "integer", "count", "Per step, median."),
        Column(
            "span_us",
            "Pipeline",
            "number",
            "us",
            "From the first pass to the last one, of the stage of the pipeline with the longest.",
            family="time",
        ),
        Column("forward_us", "Forward", "number", "us", "In forward passes.", family="time"),
        Column(
            "backward_us",
            "Backward",
            "number",
            "us",
            "In all other passes: backward for inputs and weights.",
            family="time",
        ),
        Column(
            "bubble_us",
            "Bubble",
            "number",
            "us",
            "Of the pipeline's time, outside of the passes of this stage.",
            family="time",
        ),
        Column("bubble_pct", "Bubble Share", "number", "pct", "Bubble over Pipeline."),
        Column(
            "minimum_pct",
            "Minimum",
            "number",
            "pct",
            "Share that the schedule itself cannot avoid where all passes of a kind take equally "
            "long: (p-1)/(m+p-1) for GPipe and 1F1B, (p-1)/(m*v+p-1) with v stages per rank.",
        ),
    ),
    when_empty="No passes of microbatches are recognized: the job has no pipeline, or neither "
    "ranges of its schedule nor sends and receives between its computation are recorded.",
)

PIPELINE = TableSpec(
    "pipeline",
    "Passes of a step",
    "One row per pass of a microbatch, in the pipeline and step whose length is the median one.",
    (
        Column("step", "Step", "string", None, "Number of the step."),
        Column("stage", "Stage", "integer", None, "Index within the pipeline dimension."),
        Column("rank", "Rank", "integer", None, "Rank that ran it."),
        WORKER,
        Column(
            "chunk",
            "Model Stage",
            "integer",
            None,
            "Stage of the model, where ranges name it: a rank may hold several.",
        ),
        Column("kind", "Pass", "string", None, "forward, backward, input or weight (backward of)."),
        Column(
            "microbatch",
            "Microbatch",
            "integer",
            None,
            "As a range names it, else the order among the passes of its kind.",
        ),
        Column(
            "start_us",
            "Start",
            "number",
            "us",
            "From the first pass of the step, on the clock of the first rank.",
        ),
        Column("duration_us", "Duration", "number", "us", "From its first kernel to its last one."),
    ),
    sort="start_us",
    when_empty=BUBBLES.when_empty,
)
