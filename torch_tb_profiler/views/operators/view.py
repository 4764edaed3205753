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

_TIMES = ("device_self_ns", "device_total_ns", "host_self_ns", "host_total_ns")

OPERATORS = TableSpec(
    "operators",
    "Operators",
    "One row per operator, or per operator and what it is grouped by.",
    (
        Column("name", "Name", "string", None, "Name of the operator."),
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
        ),
        Column(
            "device_self_us",
            "Device Self",
            "number",
            "us",
            "Summed duration of the kernels, copies and sets it launched itself. Work that ran at "
            "the same time on several streams adds up.",
        ),
        Column(
            "device_total_us",
            "Device Total",
            "number",
            "us",
            "Device Self of the operator and of all operators inside it.",
        ),
        Column(
            "host_self_us",
            "Host Self",
            "number",
            "us",
            "Time on the host outside operators inside it and outside its own device API calls.",
        ),
        Column(
            "host_total_us",
            "Host Total",
            "number",
            "us",
            "Summed duration on the host. Operators inside others count too, so rows do not add "
            "up to wall time.",
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
            "Share of Device Self spent in kernels that use Tensor Cores. Kernels no rule "
            "knows count as not using them, so it is a lower bound; 0 without device time.",
        ),
        Column(
            "tensor_core_total_pct",
            "Tensor Cores Total",
            "number",
            "pct",
            "Share of Device Total spent in kernels that use Tensor Cores. Kernels no rule "
            "knows count as not using them, so it is a lower bound; 0 without device time.",
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
    table = _table(trace, operator_groups(calls, keys))
    return View(
        tables={OPERATORS.name: in_default_order(table)},
        facts=_facts(trace, calls),
        notes=quality_notes(trace, LINK_ISSUES),
    )


def _table(trace: Trace, groups: pl.DataFrame) -> Table:
    nothing = pl.Series([None] * groups.height, dtype=pl.String)
    by_shape, by_stack = (key in groups.columns for key in ("input_shape_code", "call_stack_code"))
    reasons = {
        "input_shape": not_grouped("input shape", "name+input_shape" + "+call_stack" * by_stack),
        "call_stack": not_grouped("call stack", "name" + "+input_shape" * by_shape + "+call_stack"),
    }
    shapes = stacks = nothing
    if by_shape:
        known = groups["input_shape_code"].replace(-1, None)
        shapes = codes.texts(trace, known)
        reasons["input_shape"] = NO_SHAPES
    if by_stack:
        stacks = pl.Series(
            call_stacks(trace).texts(groups["call_stack_code"].to_list()), dtype=pl.String
        )
        reasons["call_stack"] = NO_STACKS
    frame = groups.select(
        codes.texts(trace, groups["name_code"]).alias("name"),
        shapes.alias("input_shape"),
        stacks.alias("call_stack"),
        pl.col("calls").cast(pl.Int64),
        *(microseconds(groups[key]) for key in _TIMES),
        codes.verdict_column(groups["eligible"]),
        _share("self"),
        _share("total"),
    )
    frame.columns = [column.key for column in OPERATORS.columns]
    reasons["tensor_core_eligible"] = NO_RULE
    device_keys = ("device_self_us", "device_total_us")
    share_keys = ("tensor_core_self_pct", "tensor_core_total_pct")
    unknown = no_device_time(trace)
    if unknown is not None:
        frame = frame.with_columns(
            pl.lit(None, pl.Float64).alias(key) for key in (*device_keys, *share_keys)
        )
        reasons |= dict.fromkeys((*device_keys, *share_keys), unknown)
    else:
        reasons |= dict.fromkeys(share_keys, NO_KERNEL_RULE)
    return Table(OPERATORS, frame, needed(frame, reasons))


def _share(stem: str) -> pl.Expr:
    """The share of Tensor Cores in a device time in %: 0 of nothing, null when no rule knows any of
    the kernels. Copies and sets tell nothing about kernels."""
    used, whole = pl.col(f"tensor_core_{stem}_ns"), pl.col(f"device_{stem}_ns")
    share = pl.when(whole > 0).then(used / whole * 100).otherwise(0.0)
    nothing_known = pl.col(f"unknown_{stem}") & ~pl.col(f"known_{stem}")
    return pl.when(~nothing_known).then(share).alias(f"tensor_core_{stem}_pct")


def _facts(trace: Trace, calls: pl.DataFrame) -> tuple[Fact, ...]:
    unknown = no_device_time(trace)
    host_self_ns = int(calls["host_self_ns"].sum())
    device_self_ns = int(calls["device_self_ns"].sum())
    return (
        Fact(
            "operator_count",
            "Operators",
            calls["name_code"].n_unique(),
            "count",
            None,
            "Different operator names in the selection.",
        ),
        Fact(
            "operator_calls",
            "Operator calls",
            calls.height,
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
