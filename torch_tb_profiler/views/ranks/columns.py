"""The declared tables of the view of all ranks."""

from __future__ import annotations

from torch_tb_profiler.analysis.parallel.coordinates import AXES
from torch_tb_profiler.views.collectives import WORKER
from torch_tb_profiler.views.schema import Column, TableSpec

_RANK = Column("rank", "Rank", "integer", None, "Rank in the job, as recorded.")
_MEMORY = Column(
    "memory_peak_bytes",
    "Memory Peak",
    "integer",
    "bytes",
    "Most memory allocated on a device at once in the steps.",
)
_KERNELS = "Kernels without communication"


def _time(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, family="step")


_PARTS = (
    _time(
        "computation_us",
        "Computation",
        "Kernels other than communication ran, alone or during communication; without any kernel, "
        "operators of the host.",
    ),
    _time(
        "exposed_communication_us",
        "Exposed Communication",
        "Communication ran and no computation did.",
    ),
    _time("idle_us", "Idle", "Neither ran."),
    _time(
        "input_wait_us",
        "Loader Wait",
        "No computation, and nothing launched, while the host loaded a batch or waited for one.",
    ),
    _time(
        "host_wait_us",
        "Host Wait",
        "No computation, because the host had not launched the next work for another reason.",
    ),
    _time(
        "pause_us",
        "Pauses",
        "No computation while the host collected garbage or wrote a checkpoint.",
    ),
)

_MEANWHILE = Column(
    "meanwhile",
    "While Others Waited",
    "string",
    None,
    "What the rank itself did before the collectives that it entered last, as shares of the "
    "others' wait: computing, launching (its host had not launched the next work), loading, "
    "paused, or device idle.",
)

RANKS = TableSpec(
    "ranks",
    "Ranks",
    "One row per rank: means over its whole steps. A rank stands out where a measure is far from "
    "the median of its peers against their spread.",
    (
        WORKER,
        _RANK,
        Column("node", "Node", "string", None, "Machine that the rank ran on."),
        Column(
            "outliers",
            "Stands Out",
            "string",
            None,
            "Measures in which the rank is far from the median of its peers, and by how much.",
        ),
        _time("step_us", "Step Time", "Mean duration of the steps."),
        _time("longest_step_us", "Longest Step", "Duration of the longest step."),
        Column(
            "utilization_pct",
            "GPU Utilization",
            "number",
            "pct",
            "Share of step time in which at least one kernel ran (communication included, copies "
            "not); mean over the GPUs of the rank that ran work.",
        ),
        *_PARTS,
        _MEMORY,
        Column("kernels", _KERNELS, "number", "count", "Per step.", hidden=True),
        Column(
            "slowest_phase",
            "Slowest Phase",
            "string",
            None,
            "Phase that takes the longest of a step on the host.",
        ),
        _time("slowest_phase_us", "Its Time", "Time of that phase per step."),
        Column(
            "pattern",
            "Pattern",
            "integer",
            None,
            "Number of its row in the table of patterns: ranks of one pattern behave alike.",
        ),
        _time(
            "others_wait_us",
            "Others' Wait",
            "Summed time that all other ranks waited in the collectives that this rank entered "
            "last; per step. Sends and receives are left out.",
        ),
        _MEANWHILE,
        Column("steps", "Steps", "integer", "count", "Steps in the means.", hidden=True),
        *(
            Column(axis, f"{axis.capitalize()} Index", "integer", None, text, hidden=True)
            for axis, text in (
                (axis, f"Index of the rank within the {axis} dimension of the job.")
                for axis in AXES
            )
        ),
    ),
)

OUTLIERS = TableSpec(
    "rank_outliers",
    "Ranks that stand out",
    "One row per rank and measure that is far from the median of its peers.",
    (
        WORKER,
        _RANK,
        Column("measure", "Measure", "string", None, "What it is."),
        Column("value_text", "Value", "string", None, "Value of the rank."),
        Column("median_text", "Median of Peers", "string", None, "Median of its peers."),
        Column("change", "Difference", "string", None, "How the value differs from the median."),
        Column("column", "Column", "string", None, "Column of the table of ranks.", hidden=True),
        Column("unit", "Unit", "string", None, "Unit of the numbers.", hidden=True),
        Column("value", "Value (number)", "number", None, "Value of the rank.", hidden=True),
        Column("median", "Median (number)", "number", None, "Median of its peers.", hidden=True),
        Column(
            "robust_z",
            "Robust z",
            "number",
            None,
            "Deviation from the median over 1.4826 times the median absolute deviation of the "
            "peers; empty where all others are equal.",
        ),
    ),
    when_empty="No rank stands out.",
)

PATTERNS = TableSpec(
    "patterns",
    "Patterns",
    "One row per group of ranks that behave alike: same time and device use of each phase, same "
    "computation, loader wait and pauses, as far as these differ by more than their spread.",
    (
        Column("pattern", "Pattern", "integer", None, "Number, largest group first."),
        Column("rank_count", "Ranks", "integer", "count", "Ranks of the pattern.", additive=True),
        Column("ranks", "Which", "string", None, "These ranks."),
        Column("nodes", "Nodes", "string", None, "Machines they ran on."),
        Column(
            "differs_in",
            "Differs In",
            "string",
            None,
            "Measures that differ from those of the first pattern; medians of both.",
        ),
        _MEANWHILE,
        _time("step_us", "Step Time", "Median of its ranks."),
        *(
            _time(
                f"{phase}_us",
                title,
                f"Host time of a step in {text}; median of its ranks.",
            )
            for phase, title, text in (
                ("dataloader", "Data Loading", "data loading"),
                ("forward", "Forward", "the forward pass"),
                ("backward", "Backward", "the backward pass"),
                ("optimizer", "Optimizer", "the optimizer"),
                ("other", "Other", "no phase that is known"),
            )
        ),
        *(
            Column(
                f"{phase}_busy_pct",
                f"{title}: Device Busy",
                "number",
                "pct",
                "Share of that time in which a device ran something; median of its ranks.",
            )
            for phase, title in (
                ("dataloader", "Data Loading"),
                ("forward", "Forward"),
                ("backward", "Backward"),
                ("optimizer", "Optimizer"),
                ("other", "Other"),
            )
        ),
    ),
)

RANK_STEPS = TableSpec(
    "rank_steps",
    "Steps of the ranks",
    "One row per step and rank.",
    (
        Column("step", "Step", "string", None, "Name of the step."),
        WORKER,
        _RANK,
        _time("step_us", "Step Time", "Duration of the step."),
        *_PARTS,
        Column("kernels", _KERNELS, "integer", "count", "That started in the step.", hidden=True),
        _MEMORY,
    ),
)
