"""The tables of the view ``groups``."""

from __future__ import annotations

from dataclasses import replace

from torch_tb_profiler.analysis.operators.hierarchies.times import MEASURES
from torch_tb_profiler.views.flame_bars import flame_columns
from torch_tb_profiler.views.schema import Column, TableSpec

FIGURES = ("total", "mean", "min", "max")
_TITLES = {
    "cpu": "CPU",
    "gpu": "GPU",
    "cpu_overhead": "CPU Overhead",
    "gpu_idle": "GPU Idle",
}
_MEANINGS = {
    "cpu": "Time the host was in it or in anything below",
    "gpu": "Time kernels, copies or sets launched in it or below ran, moments of several counted "
    "once",
    "cpu_overhead": "Part of the CPU time outside device API calls",
    "gpu_idle": "Time between first start and last end of what one call of it launched in which "
    "nothing launched in it ran",
}
_OVER = {
    "total": "all iterations added up",
    "mean": "per iteration",
    "min": "in the iteration with least (0 where it did not run in one)",
    "max": "in the iteration with most",
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
        "Calls of operators in it or below that have no operator inside.",
    ),
    _count(
        "tensor_core_eligible_operators",
        "Eligible Operators",
        "Operators in it or below that could use Tensor Cores; those of one name in one group are "
        "one.",
    ),
    _count(
        "tensor_core_using_operators",
        "Using Operators",
        "Operators in it or below that launched kernels using Tensor Cores, counted likewise.",
    ),
    *_times(),
    Column("name", "Group", "string", None, "Name of the module, the range or the frame."),
    _count("calls", "Calls", "How often it was called in the iterations."),
    _count("iterations", "Iterations", "In how many iterations it ran."),
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
        "group; outside: work in no module, range or frame, by the operator, the device call or "
        "the kernel it is.",
    ),
)

_SHOWN_FOLDED = ("cpu_mean_us", "gpu_mean_us", "name")
"""What stands beside the columns about equal siblings; the others would push those out of sight."""

GROUPS = TableSpec(
    name="groups",
    title="Groups",
    help="One row per module, user range or frame of call stacks and place in the tree, times with "
    "everything below, moments of several counted once. Work outside has rows of its own.",
    columns=(
        Column("path", "Path", "string", None, "Names from the root; unique."),
        Column("parent", "Parent", "string", None, "Path of the row above.", hidden=True),
        *_SHARED,
        _count(
            "equal_siblings",
            "Equal Siblings",
            "How many groups beside it, it included, have its class and the same structure below; "
            "1 where it is the only one.",
        ),
    ),
    tree=("path", "parent"),
    two_sided=True,
)

FOLDED = TableSpec(
    name="folded_groups",
    title="Groups, equal siblings folded",
    help="The same tree with equal siblings as one row, DecoderLayer ×24: times are those of all "
    "members added up; and which member is furthest from the others.",
    columns=(
        Column("path", "Path", "string", None, "Names from the root; unique."),
        Column("parent", "Parent", "string", None, "Path of the row above.", hidden=True),
        *(replace(column, hidden=column.key not in _SHOWN_FOLDED) for column in _SHARED),
        _count("members", "Members", "How many groups of the unfolded tree it stands for."),
        *(
            Column(
                f"member_{figure}_us",
                f"Member {figure.capitalize()}",
                "number",
                "us",
                f"{text} the members' times per iteration: GPU time where the recording has any, "
                "else CPU time.",
                family="member",
            )
            for figure, text in (
                ("mean", "Mean of"),
                ("min", "Least of"),
                ("max", "Largest of"),
            )
        ),
        Column(
            "odd_one",
            "Odd One",
            "string",
            None,
            "Path of the member whose time is furthest from the median of the others.",
        ),
        Column(
            "odd_one_pct",
            "Odd One Off By",
            "number",
            "pct",
            "How far that member's time is from the median of the others; negative: it is faster.",
        ),
    ),
    tree=("path", "parent"),
    is_summary=True,
)

HIERARCHIES = TableSpec(
    name="hierarchies",
    title="Hierarchies",
    help="What the recording can be grouped by; a domain of user ranges is one of its own.",
    columns=(
        Column("hierarchy", "Hierarchy", "string", None, "Value of group_by."),
        Column("domain", "Domain", "string", None, "Value of domain, of user ranges."),
        _count("calls", "Calls", "Calls of modules, ranges, or frames in the whole recording."),
        Column("shown", "Shown", "boolean", None, "Whether the tables are of this one."),
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
