"""The tables of the view ``groups``."""

from __future__ import annotations

from msgspec.structs import replace

from torch_tb_profiler.analysis.operators.hierarchies.times import MEASURES
from torch_tb_profiler.views.flame_bars import flame_columns
from torch_tb_profiler.views.measured_columns import MEASURED_COLUMNS
from torch_tb_profiler.views.schema import Column, TableSpec

FIGURES = ("total", "mean", "min", "max")
_TITLES = {
    "cpu": "CPU",
    "gpu": "GPU",
    "cpu_overhead": "CPU Overhead",
    "gpu_idle": "GPU Idle",
}
_MEANINGS = {
    "cpu": "Time that the host spent in the group or anything below it",
    "gpu": "Time in which kernels, copies or memsets launched in the group or below ran; overlaps "
    "count once",
    "cpu_overhead": "CPU time outside device API calls",
    "gpu_idle": "Time between the first start and the last end of the device work of one "
    "call in which "
    "none of that work ran",
}
_OVER = {
    "total": "all iterations added up",
    "mean": "per iteration",
    "min": "in the iteration with the least (0 if it did not run in some iteration)",
    "max": "in the iteration with the most",
}


def _times() -> tuple[Column, ...]:
    return tuple(
        Column(
            f"{measure}_{figure}_us",
            f"{_TITLES[measure]} {figure.capitalize()}",
            "number",
            "us",
            f"{_MEANINGS[measure]}; {_OVER[figure]}.",
            family=measure,
            hidden=measure not in ("cpu", "gpu") and figure != "mean",
        )
        for measure in MEASURES
        for figure in FIGURES
    )


def _count(key: str, title: str, text: str) -> Column:
    return Column(key, title, "integer", "count", text)


_SHARED = (
    _count(
        "operator_calls",
        "Operator Calls",
        "Calls of operators in the group or below that contain no other operator.",
    ),
    _count(
        "tensor_core_eligible_operators",
        "Eligible Operators",
        "Operators in the group or below that could use Tensor Cores; equal names in one group "
        "count once.",
    ),
    _count(
        "tensor_core_using_operators",
        "Using Operators",
        "Operators in the group or below that launched kernels using Tensor Cores; equal names "
        "in one group count once.",
    ),
    *_times(),
    Column(
        "communication_us",
        "GPU Communication",
        "number",
        "us",
        "Time in which communication kernels launched in the group or below ran, the part of GPU "
        "Total that moves data between devices; overlaps count once; all iterations added up.",
        family="gpu",
    ),
    Column("name", "Group", "string", None, "Name of the module, the range or the frame."),
    _count("calls", "Calls", "Number of calls in the iterations."),
    _count("iterations", "Iterations", "Number of iterations in which it ran."),
    Column(
        "gpu_pct",
        "GPU Share",
        "number",
        "pct",
        "GPU total as share of the time in which any device work of the iterations ran.",
    ),
    Column(
        "kind",
        "Kind",
        "string",
        None,
        "group; outside: work outside all modules, ranges and frames, by operator, device call "
        "or kernel.",
    ),
)

_SHOWN_FOLDED = ("cpu_mean_us", "gpu_mean_us", "name")
"""Columns shown with those about equal siblings; the others are hidden."""

GROUPS = TableSpec(
    name="groups",
    title="Groups",
    help="One row per module, user range or call-stack frame and position in the tree; times "
    "include everything below, overlaps count once. Work outside has separate rows.",
    columns=(
        Column("path", "Path", "string", None, "Names from the root; unique."),
        Column("parent", "Parent", "string", None, "Path of the row above.", hidden=True),
        *_SHARED,
        _count(
            "equal_siblings",
            "Equal Siblings",
            "Number of siblings with the same class and the same structure below, including "
            "itself.",
        ),
        *MEASURED_COLUMNS,
    ),
    tree=("path", "parent"),
    two_sided=True,
)

FOLDED = TableSpec(
    name="folded_groups",
    title="Groups, equal siblings folded",
    help="The same tree with equal siblings in one row (DecoderLayer ×24): times are sums over "
    "all members. Shows which member is an outlier.",
    columns=(
        Column("path", "Path", "string", None, "Names from the root; unique."),
        Column("parent", "Parent", "string", None, "Path of the row above.", hidden=True),
        *(replace(column, hidden=column.key not in _SHOWN_FOLDED) for column in _SHARED),
        _count("members", "Members", "Number of groups of the unfolded tree in this row."),
        *(
            Column(
                f"member_{figure}_us",
                f"Member {figure.capitalize()}",
                "number",
                "us",
                f"{text} the members' times per iteration: GPU time if recorded, else CPU time.",
                family="member",
            )
            for figure, text in (
                ("mean", "Mean of"),
                ("min", "Smallest of"),
                ("max", "Largest of"),
            )
        ),
        Column(
            "odd_one",
            "Outlier",
            "string",
            None,
            "Path of the member whose time is furthest from the median of the others.",
        ),
        Column(
            "odd_one_pct",
            "Outlier Deviation",
            "number",
            "pct",
            "Difference of that member's time from the median of the others; negative: faster.",
        ),
        *(replace(column, hidden=True) for column in MEASURED_COLUMNS),
    ),
    tree=("path", "parent"),
    is_summary=True,
)

HIERARCHIES = TableSpec(
    name="hierarchies",
    title="Hierarchies",
    help="Hierarchies by which the recording can be grouped; each domain of user ranges is one.",
    columns=(
        Column("hierarchy", "Hierarchy", "string", None, "Value of group_by."),
        Column("domain", "Domain", "string", None, "Value of domain (user ranges only)."),
        _count("calls", "Calls", "Calls of modules, ranges, or frames in the whole recording."),
        Column("shown", "Shown", "boolean", None, "Whether the tables show this hierarchy."),
    ),
    is_summary=True,
)

FLAME = TableSpec(
    name="group_flame",
    title="Flame graph",
    help="One bar per group of the tree, widths being CPU or GPU total, laid out left to right.",
    columns=flame_columns("group"),
    tree=("path", "parent"),
    is_summary=True,
)
