"""Operators: what each framework operator costs on the host and on the device.

Definitions: ``docs/metrics.md#operators``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.call_stacks import call_stacks
from torch_tb_profiler.analysis.device_links import no_device_time
from torch_tb_profiler.analysis.operator_calls import (
    operator_calls,
    operator_groups,
    selected_operator_calls,
)
from torch_tb_profiler.analysis.selection import Selection, chosen_group_by
from torch_tb_profiler.analysis.work_outside import UNKNOWN_LAUNCH, launches_outside
from torch_tb_profiler.knowledge.kernels import kernel_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed, not_grouped
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

GROUP_BYS = ("name", "name+input_shape", "name+call_stack", "name+input_shape+call_stack")

NO_SHAPES = "The file gives no input shapes for these calls (record_shapes=True records them)."
NO_STACKS = "The file gives no call stack for these calls (with_stack=True records them)."
NO_RULE = "No rule knows whether this operator can use Tensor Cores."
NO_KERNEL_RULE = "No rule knows whether its kernels use Tensor Cores."
UNKNOWN_SHARE = (
    "No rule knows whether its kernels use Tensor Cores, or those of too much of its device time "
    "for one number: then the share lies between the bounds."
)
NO_OPERATOR = "This row is device work outside every operator."
NO_FRAMES = "The recording holds no Python frames (with_stack=True records them)."
NO_LAUNCH = "The recording does not tell what launched this device work."
NO_TIME = "No device work is in the selection."

_TIMES = ("device_self_ns", "device_total_ns", "host_self_ns", "host_total_ns")
_BOUNDS = tuple(
    f"tensor_core_{stem}_{bound}_pct" for stem in ("self", "total") for bound in ("min", "max")
)
_SHARES = ("tensor_core_self_pct", "tensor_core_total_pct")
_OF_DEVICE = ("device_self_us", "device_total_us", *_SHARES, *_BOUNDS)

OPERATORS = TableSpec(
    "operators",
    "Operators",
    "One row per operator, or per operator and what it is grouped by. Device work that no operator "
    "launched has rows of its own, by the host call that did.",
    (
        Column(
            "name",
            "Name",
            "string",
            None,
            "Name of the operator, or of the call that launched device work outside every "
            "operator.",
        ),
        Column(
            "input_shape",
            "Input Shape",
            "string",
            None,
            "Shapes of its inputs, as recorded; [] inside stands for a scalar. Only when grouped "
            "by input shape.",
        ),
        Column(
            "call_stack",
            "Call Stack",
            "string",
            None,
            "Where it was called: frames joined by ';', innermost first. Only when grouped by "
            "call stack.",
        ),
        Column(
            "calls",
            "Calls",
            "integer",
            "count",
            "How often it was called. An operator that only wraps one call of its own name counts "
            "once.",
            additive=True,
        ),
        Column(
            "device_self_us",
            "Device Self",
            "number",
            "us",
            "Summed duration of the kernels, copies and sets it launched itself. Work that ran at "
            "the same time on several streams adds up.",
            family="device",
            additive=True,
        ),
        Column(
            "device_total_us",
            "Device Total",
            "number",
            "us",
            "Device Self of the operator and of all operators inside it, once where it calls "
            "itself.",
            family="device",
        ),
        Column(
            "host_self_us",
            "Host Self",
            "number",
            "us",
            "Time on the host outside operators inside it and outside its own device API calls.",
            family="host",
            additive=True,
        ),
        Column(
            "host_total_us",
            "Host Total",
            "number",
            "us",
            "Summed duration on the host; a call inside another one of the same row is part of "
            "that. Operators inside others count too, so rows do not add up to wall time.",
            family="host",
        ),
        Column(
            "tensor_core_eligible",
            "Tensor Cores Eligible",
            "boolean",
            None,
            "Whether it, or an operator inside it, could run on Tensor Cores (matrix units) with "
            "suitable types and shapes.",
        ),
        Column(
            "tensor_core_self_pct",
            "Tensor Cores Self",
            "number",
            "pct",
            "Share of Device Self spent in kernels that use Tensor Cores; 0 without device time. "
            "Only where nearly all of it is in kernels that rules know; else see the bounds.",
        ),
        Column(
            "tensor_core_total_pct",
            "Tensor Cores Total",
            "number",
            "pct",
            "Share of Device Total spent in kernels that use Tensor Cores; 0 without device time. "
            "Only where nearly all of it is in kernels that rules know; else see the bounds.",
        ),
        Column(
            "kind",
            "Kind",
            "string",
            None,
            "operator; call: a host call (a graph launch, say) that launched device work outside "
            "every operator; unlinked: device work whose launch the recording does not tell.",
        ),
        Column(
            "host_python_us",
            "Host Python",
            "number",
            "us",
            "Part of Host Self in Python code that the operator called itself, such as hooks and "
            "functions with a backward in Python. PyTorch's own self time is without it.",
            family="host",
            additive=True,
        ),
        *(
            Column(
                f"tensor_core_{stem}_{bound}_pct",
                f"Tensor Cores {stem.title()}, {title}",
                "number",
                "pct",
                f"The share if {which} kernel that rules do not know used Tensor Cores.",
            )
            for stem in ("self", "total")
            for bound, title, which in (("min", "at least", "no"), ("max", "at most", "every"))
        ),
    ),
    sort="-device_self_us,-host_self_us,name",
)


def operators(trace: Trace, selection: Selection) -> View:
    """The operators of a selection.

    Raises:
        SelectionError: steps or grouping make no sense for this trace.
    """
    group_by = chosen_group_by(selection, GROUP_BYS)
    by_stack = "call_stack" in group_by
    calls = selected_operator_calls(trace, selection, with_call_stacks=by_stack)
    keys = ["name_code"]
    if "input_shape" in group_by:
        keys.append("input_shape_code")
    if by_stack:
        keys.append("call_stack_code")
    launches = launches_outside(trace, selection, by_stack=by_stack)
    table = _table(trace, operator_groups(calls, keys), launches)
    return View(
        tables={OPERATORS.name: in_default_order(table)},
        facts=_facts(trace, calls, int(launches["device_ns"].sum())),
        notes=quality_notes(trace, LINK_ISSUES),
    )


def _table(trace: Trace, groups: pl.DataFrame, launches: pl.DataFrame) -> Table:
    by_shape, by_stack = (key in groups.columns for key in ("input_shape_code", "call_stack_code"))
    reasons = {
        "input_shape": not_grouped("input shape", "name+input_shape" + "+call_stack" * by_stack),
        "call_stack": not_grouped("call stack", "name" + "+input_shape" * by_shape + "+call_stack"),
    }
    if by_shape:
        reasons["input_shape"] = NO_SHAPES
    if by_stack:
        reasons["call_stack"] = NO_STACKS
    unknown = no_device_time(trace)
    operator_rows = _rows(trace, groups, by_shape=by_shape, by_stack=by_stack)
    if unknown is not None:
        nothing = pl.lit(None, pl.Float64)
        operator_rows = operator_rows.with_columns(nothing.alias(key) for key in _OF_DEVICE)
        reasons |= dict.fromkeys(_OF_DEVICE, unknown)
    else:
        reasons |= dict.fromkeys(_SHARES, UNKNOWN_SHARE) | dict.fromkeys(_BOUNDS, NO_KERNEL_RULE)
    reasons["tensor_core_eligible"] = NO_RULE
    reasons |= dict.fromkeys(("calls", "host_self_us", "host_total_us"), NO_LAUNCH)
    reasons["host_python_us"] = NO_OPERATOR if trace.python.height else NO_FRAMES
    frame = operator_rows
    if launches.height:
        of_launches = _rows(trace, _as_groups(launches), by_shape=False, by_stack=by_stack)
        frame = pl.concat((frame, of_launches))
    return Table(OPERATORS, frame, needed(frame, reasons))


def _as_groups(launches: pl.DataFrame) -> pl.DataFrame:
    """The rows of :func:`launches_outside` with the columns of groups of operators."""
    told = pl.col("name_code") >= 0
    nothing_inside = {
        f"{left}_{stem}{unit}": pl.col(f"{left}{unit}")
        for left, unit in (
            ("device", "_ns"),
            ("host", "_ns"),
            ("tensor_core", "_ns"),
            ("tensor_core_unknown", "_ns"),
            ("known", ""),
            ("unknown", ""),
        )
        for stem in ("self", "total")
    }
    return launches.with_columns(
        pl.col("name_code").replace(-1, None),
        pl.when(told).then(pl.lit("call")).otherwise(pl.lit("unlinked")).alias("kind"),
        eligible=pl.lit(codes.UNKNOWN, pl.Int8),
        **nothing_inside,
    )


def _rows(trace: Trace, groups: pl.DataFrame, *, by_shape: bool, by_stack: bool) -> pl.DataFrame:
    shapes = stacks = pl.Series([None] * groups.height, dtype=pl.String)
    if by_shape:
        shapes = codes.texts(trace, groups["input_shape_code"].replace(-1, None))
    if by_stack:
        texts = call_stacks(trace).texts(groups["call_stack_code"].to_list())
        stacks = pl.Series(texts, dtype=pl.String)
    python = pl.Series([None] * groups.height, dtype=pl.Float64)
    if "host_python_ns" in groups.columns and trace.python.height:
        python = microseconds(groups["host_python_ns"])
    frame = groups.select(
        codes.texts(trace, groups["name_code"]).fill_null(UNKNOWN_LAUNCH).alias("name"),
        shapes.alias("input_shape"),
        stacks.alias("call_stack"),
        pl.col("calls").cast(pl.Int64),
        *(microseconds(groups[key]) for key in _TIMES),
        codes.verdict_column(groups["eligible"]),
        _share("self"),
        _share("total"),
        pl.col("kind") if "kind" in groups.columns else pl.lit("operator").alias("kind"),
        python.alias("host_python_us"),
        *(bound for stem in ("self", "total") for bound in _bounds(stem)),
    )
    frame.columns = [column.key for column in OPERATORS.columns]
    return frame


def _share(stem: str) -> pl.Expr:
    """The share of Tensor Cores in a device time in %: the lower bound while the bounds are close,
    null where they are not or there are none."""
    least, most = _bounds(stem)
    close = most - least <= kernel_file().max_unknown_pct
    return pl.when(close).then(least).alias(f"tensor_core_{stem}_pct")


def _bounds(stem: str) -> tuple[pl.Expr, pl.Expr]:
    """What the share of Tensor Cores in a device time lies between in %: 0 of nothing, null when no
    rule knows any of the kernels. Copies and sets tell nothing about kernels."""
    used, whole = pl.col(f"tensor_core_{stem}_ns"), pl.col(f"device_{stem}_ns")
    nothing_known = pl.col(f"unknown_{stem}") & ~pl.col(f"known_{stem}")

    def share(part: pl.Expr, name: str) -> pl.Expr:
        of_whole = pl.when(whole > 0).then(part / whole * 100).otherwise(0.0)
        return pl.when(~nothing_known).then(of_whole).alias(f"tensor_core_{stem}_{name}_pct")

    return share(used, "min"), share(used + pl.col(f"tensor_core_unknown_{stem}_ns"), "max")


def _facts(trace: Trace, calls: pl.DataFrame, outside_ns: int) -> tuple[Fact, ...]:
    unknown = no_device_time(trace)
    host_self_ns, device_self_ns = (int(calls[f"{of}_self_ns"].sum()) for of in ("host", "device"))
    device_ns = device_self_ns + outside_ns
    no_share = unknown if unknown is not None else None if device_ns else NO_TIME
    return (
        Fact(
            "operator_count",
            "Operators",
            calls.filter(pl.col("calls") > 0)["name_code"].n_unique(),
            "count",
            None,
            "Different operator names in the selection.",
        ),
        Fact(
            "operator_calls",
            "Operator calls",
            int(calls["calls"].sum()),
            "count",
            None,
            "Calls of operators in the selection, nested ones too.",
        ),
        Fact(
            "host_self_us",
            "Host self time",
            host_self_ns / 1000,
            "us",
            None,
            "Sum of Host Self over all operators.",
        ),
        Fact(
            "device_self_us",
            "Device self time",
            device_self_ns / 1000 if unknown is None else None,
            "us",
            None,
            "Sum of Device Self over all operators.",
            unknown,
        ),
        Fact(
            "operator_device_time_pct",
            "Device time of operators",
            device_self_ns / device_ns * 100 if no_share is None else None,
            "pct",
            None,
            "Share of the duration of all kernels, copies and sets in the selection that operators "
            "launched; the rest has the rows of kind call and unlinked.",
            no_share,
        ),
    )


def _missing(trace: Trace) -> str | None:
    if operator_calls(trace).is_empty():
        return "The recording holds no operator (the CPU activity was not profiled)."
    return None


SPEC = ViewSpec(
    name="operators",
    title="Operators",
    help="Which framework operators cost the most, on the host and on the device?",
    scope="trace",
    tables=(OPERATORS,),
    function=operators,
    group_bys=GROUP_BYS,
    missing=_missing,
)
