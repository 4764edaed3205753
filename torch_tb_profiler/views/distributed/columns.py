"""The declared tables of the distributed view."""

from __future__ import annotations

from torch_tb_profiler.views.collectives import WORKER
from torch_tb_profiler.views.device_properties import COMPUTE_CAPABILITY, DEVICE_MEMORY
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.shares import share_columns

_STEP = Column(
    "step", "Step", "string", None, "Number of the step; all is the mean over whole steps."
)

OVERLAP = TableSpec(
    "overlap",
    "Computation and communication",
    "Per step and worker, how its time divides; the four parts add up to the step.",
    (
        _STEP,
        WORKER,
        Column(
            "computation_us",
            "Computation",
            "number",
            "us",
            "Kernels other than communication ran and no communication did; on recordings "
            "without such kernels operators of the host that neither communicate nor wait stand "
            "for them.",
            family="step",
        ),
        Column(
            "overlap_us",
            "Overlap",
            "number",
            "us",
            "Computation and communication ran together.",
            family="step",
        ),
        Column(
            "communication_us",
            "Communication",
            "number",
            "us",
            "Communication ran and no computation did: its exposed part.",
            family="step",
        ),
        Column("other_us", "Other", "number", "us", "Neither ran.", family="step"),
    ),
)

WAIT = TableSpec(
    "wait",
    "Transfer and wait",
    "Per step and worker, how long its collectives lasted and how much of that was waiting for "
    "other workers.",
    (
        _STEP,
        WORKER,
        Column(
            "transfer_us",
            "Transfer",
            "number",
            "us",
            "Time in which data moved. Of each collective the shortest duration among its workers: "
            "it ends for all together, so who arrives last does not wait.",
            estimated=True,
            family="time",
        ),
        Column(
            "wait_us",
            "Wait",
            "number",
            "us",
            "The rest of the collectives' time: waiting for workers that arrived later.",
            estimated=True,
            family="time",
        ),
        Column(
            "unmatched_calls",
            "Unmatched",
            "integer",
            "count",
            "Calls that no other worker of the run has; neither transfer nor wait counts them.",
        ),
    ),
)

COLLECTIVES = TableSpec(
    "collectives",
    "Collectives",
    "One row per worker, collective and process group.",
    (
        WORKER,
        Column("name", "Name", "string", None, "The collective as the backend calls it."),
        Column("group", "Group", "string", None, "Process group, with its description."),
        Column("calls", "Calls", "integer", "count", "How often it ran.", additive=True),
        Column(
            "total_bytes",
            "Total Size",
            "integer",
            "bytes",
            "Bytes of the inputs of the Sized Calls.",
            additive=True,
        ),
        Column("mean_bytes", "Mean Size", "number", "bytes", "Total Size divided by Sized Calls."),
        Column(
            "total_us",
            "Total Time",
            "number",
            "us",
            "Time in which it ran; calls that run at the same time count once.",
            family="total",
        ),
        Column(
            "mean_us", "Mean Time", "number", "us", "Total Time divided by Calls.", family="call"
        ),
        Column(
            "transfer_us",
            "Transfer Time",
            "number",
            "us",
            "Part of Total Time in which data moved, without waiting for other workers; of the "
            "calls that could be matched.",
            estimated=True,
            family="total",
        ),
        Column(
            "mean_transfer_us",
            "Mean Transfer Time",
            "number",
            "us",
            "Transfer Time divided by the calls that could be matched.",
            estimated=True,
            family="call",
        ),
        Column("collective", "Kind", "string", None, "The collective under its common name."),
        Column("group_size", "Ranks", "integer", "count", "Ranks in the process group."),
        Column(
            "mean_call_us",
            "Mean Call",
            "number",
            "us",
            "Mean duration of a call by itself, waiting included.",
            family="call",
        ),
        Column(
            "algorithm_bandwidth_gb_per_s",
            "Algorithm Bandwidth",
            "number",
            "gb_per_s",
            "Size divided by duration, waiting included (NCCL tests' algbw).",
            family="bandwidth",
        ),
        Column(
            "bus_bandwidth_gb_per_s",
            "Bus Bandwidth",
            "number",
            "gb_per_s",
            "Algorithm bandwidth times the factor of the collective (NCCL tests' busbw): "
            "comparable with the speed of the links.",
            family="bandwidth",
        ),
        Column(
            "transfer_bus_bandwidth_gb_per_s",
            "Transfer Bus Bandwidth",
            "number",
            "gb_per_s",
            "Bus bandwidth over transfer time only, without waiting.",
            estimated=True,
            family="bandwidth",
        ),
        Column(
            "sized_calls",
            "Sized Calls",
            "integer",
            "count",
            "Calls whose size the recording gives.",
            additive=True,
        ),
        Column(
            "untimed_calls",
            "Untimed Calls",
            "integer",
            "count",
            "Calls whose work on the device is not in the recording; they have no time.",
            additive=True,
        ),
        Column(
            "unmatched_calls",
            "Unmatched Calls",
            "integer",
            "count",
            "Calls whose transfer time is unknown: no other worker of the run has them.",
            additive=True,
        ),
        *share_columns("Total Time", "the sum of the Total Times of all rows"),
        *OTHER_NAMES,
    ),
    sort="-total_us",
)

DEVICES = TableSpec(
    "devices",
    "Devices",
    "One row per device a worker used.",
    (
        Column(
            "node",
            "Node",
            "string",
            None,
            "Machine, as the recording says; where it does not, as the worker's name does.",
        ),
        Column(
            "process",
            "Process",
            "string",
            None,
            "Rank of the process, as the recording says; where it does not, what the worker's name "
            "says.",
        ),
        Column("gpu", "GPU", "integer", None, "Number of the device in its process."),
        Column("name", "Name", "string", None, "Model."),
        DEVICE_MEMORY,
        COMPUTE_CAPABILITY,
        Column("worker", "Worker", "string", None, "The worker that used it."),
    ),
    when_empty="No worker used a device, or devices were not profiled.",
)

UNMATCHED = TableSpec(
    "unmatched",
    "Unmatched calls",
    "Calls that could not be matched with calls of other workers; they have no transfer or wait.",
    (
        WORKER,
        Column("step", "Step", "string", None, "Step it was made in."),
        Column("name", "Name", "string", None, "The collective as the backend calls it."),
        Column("group", "Group", "string", None, "Process group, with its description."),
        Column("sequence", "Sequence", "integer", None, "Sequence number within the group."),
        Column("start_us", "Start", "number", "us", "Start of the call since the recording began."),
        Column("duration_us", "Duration", "number", "us", "Time in which it ran."),
        Column("input_bytes", "Size", "integer", "bytes", "Bytes of its inputs."),
        Column("reason", "Reason", "string", None, "Why it has no match."),
        *OTHER_NAMES,
    ),
    when_empty="Every call was matched with those of the other workers.",
)
