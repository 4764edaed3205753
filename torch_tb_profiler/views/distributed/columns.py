"""The declared tables of the distributed view."""

from __future__ import annotations

from torch_tb_profiler.views.collectives import WORKER
from torch_tb_profiler.views.device_properties import COMPUTE_CAPABILITY, DEVICE_MEMORY
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.shares import share_columns

_STEP = Column(
    "step", "Step", "string", None, "Number of the step; all: the mean over whole steps."
)

OVERLAP = TableSpec(
    "overlap",
    "Computation and communication",
    "Breakdown of the step time per step and worker; the four parts add up to the step.",
    (
        _STEP,
        WORKER,
        Column(
            "computation_us",
            "Computation",
            "number",
            "us",
            "Compute kernels ran and no communication did. Recordings without compute kernels "
            "use host operators that neither communicate nor wait.",
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
            "Exposed communication: communication ran and no computation did.",
            family="step",
        ),
        Column("other_us", "Other", "number", "us", "Neither ran.", family="step"),
    ),
)

WAIT = TableSpec(
    "wait",
    "Transfer and wait",
    "Duration of the collectives per step and worker, split into transfer and waiting for other "
    "workers.",
    (
        _STEP,
        WORKER,
        Column(
            "transfer_us",
            "Transfer",
            "number",
            "us",
            "Time in which data moved: as a file of the recording states it, else the shortest "
            "duration of each collective among its workers, because the worker that arrives last "
            "does not wait.",
            estimated=True,
            family="time",
        ),
        Column(
            "wait_us",
            "Wait",
            "number",
            "us",
            "Rest of the collectives' time: waiting for workers that arrived later, and where a "
            "file states transfers, what else moved no data.",
            estimated=True,
            family="time",
        ),
        Column(
            "unmatched_calls",
            "Unmatched",
            "integer",
            "count",
            "Calls without a counterpart on another worker of the run; not part of transfer and "
            "wait.",
        ),
    ),
)

COLLECTIVES = TableSpec(
    "collectives",
    "Collectives",
    "One row per worker, collective and process group.",
    (
        WORKER,
        Column("name", "Name", "string", None, "Name of the collective in the backend."),
        Column("group", "Group", "string", None, "Process group, with its description."),
        Column("calls", "Calls", "integer", "count", "Number of calls.", additive=True),
        Column(
            "total_bytes",
            "Total Size",
            "integer",
            "bytes",
            "Input bytes of the Sized Calls.",
            additive=True,
        ),
        Column("mean_bytes", "Mean Size", "number", "bytes", "Total Size divided by Sized Calls."),
        Column(
            "total_us",
            "Total Time",
            "number",
            "us",
            "Time in which it ran; overlapping calls count once.",
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
            "Part of Total Time in which data moved, without waiting for other workers; matched "
            "calls only.",
            estimated=True,
            family="total",
        ),
        Column(
            "mean_transfer_us",
            "Mean Transfer Time",
            "number",
            "us",
            "Transfer Time divided by the matched calls.",
            estimated=True,
            family="call",
        ),
        Column("collective", "Kind", "string", None, "Common name of the collective."),
        Column("group_size", "Ranks", "integer", "count", "Ranks in the process group."),
        Column(
            "mean_call_us",
            "Mean Call",
            "number",
            "us",
            "Mean duration of one call, including waiting.",
            family="call",
        ),
        Column(
            "algorithm_bandwidth_gb_per_s",
            "Algorithm Bandwidth",
            "number",
            "gb_per_s",
            "Size divided by duration, including waiting (algbw of nccl-tests).",
            family="bandwidth",
        ),
        Column(
            "bus_bandwidth_gb_per_s",
            "Bus Bandwidth",
            "number",
            "gb_per_s",
            "Algorithm bandwidth times the factor of the collective (busbw of nccl-tests): "
            "comparable with the link speed.",
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
            "Calls with a recorded size.",
            additive=True,
        ),
        Column(
            "untimed_calls",
            "Untimed Calls",
            "integer",
            "count",
            "Calls whose device work was not recorded, so they have no time.",
            additive=True,
        ),
        Column(
            "unmatched_calls",
            "Unmatched Calls",
            "integer",
            "count",
            "Calls without a counterpart on another worker of the run, so their transfer time is "
            "unknown unless a file states it.",
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
    "One row per device that a worker used.",
    (
        Column(
            "node",
            "Node",
            "string",
            None,
            "Machine: as recorded, else from the worker's name.",
        ),
        Column(
            "process",
            "Process",
            "string",
            None,
            "Rank of the process: as recorded, else from the worker's name.",
        ),
        Column("gpu", "GPU", "integer", None, "Device number within the process."),
        Column("name", "Name", "string", None, "Model."),
        DEVICE_MEMORY,
        COMPUTE_CAPABILITY,
        Column("worker", "Worker", "string", None, "Worker that used the device."),
    ),
    when_empty="No worker used a device, or devices were not profiled.",
)

UNMATCHED = TableSpec(
    "unmatched",
    "Unmatched calls",
    "Calls that could not be matched with calls of other workers; they have no transfer and wait "
    "times.",
    (
        WORKER,
        Column("step", "Step", "string", None, "Step of the call."),
        Column("name", "Name", "string", None, "Name of the collective in the backend."),
        Column("group", "Group", "string", None, "Process group, with its description."),
        Column("sequence", "Sequence", "integer", None, "Sequence number within the group."),
        Column(
            "start_us",
            "Start",
            "number",
            "us",
            "Start of the call since the start of the recording.",
        ),
        Column("duration_us", "Duration", "number", "us", "Time in which it ran."),
        Column("input_bytes", "Size", "integer", "bytes", "Input bytes."),
        Column("reason", "Reason", "string", None, "Why the call has no match."),
        *OTHER_NAMES,
    ),
    when_empty="Every call was matched with those of the other workers.",
)
