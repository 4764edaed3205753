"""Operators: what each framework operator costs on the host and on the device.

Definitions: ``docs/metrics.md#operators``.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from torch_tb_profiler.analysis.kernels.details import slice_input_types
from torch_tb_profiler.analysis.measured.work import has_measured_work
from torch_tb_profiler.analysis.operators.call_stacks import has_call_stacks
from torch_tb_profiler.analysis.operators.calls import (
    gaps_before_calls,
    no_operators,
    operator_groups,
    selected_operator_calls,
)
from torch_tb_profiler.analysis.operators.group_work import work_of_groups
from torch_tb_profiler.analysis.operators.times import call_times, times_by_group
from torch_tb_profiler.analysis.operators.unattributed_work import launches_outside
from torch_tb_profiler.analysis.recording.arguments import argument_values
from torch_tb_profiler.analysis.recording.missing_reasons import missing_reason, no_device_time
from torch_tb_profiler.analysis.selection import Selection, chosen_group_by
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.measured_columns import frame_of_means, measured_columns
from torch_tb_profiler.views.operators.added import identity_of_groups, operators_of_calls
from torch_tb_profiler.views.operators.answer import answer
from torch_tb_profiler.views.operators.columns import (
    BY_PATH,
    GROUP_BYS,
    NO_TIME,
    OPERATORS,
    STACKS_NEEDED,
)
from torch_tb_profiler.views.operators.rows import operators_table
from torch_tb_profiler.views.quality_notes import ARGUMENT_ISSUES, LINK_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Fact, View
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.without_times import no_times


def operators(trace: Trace, selection: Selection) -> View:
    """The operators of a selection.

    Raises:
        SelectionError: steps or grouping make no sense for this trace.
    """
    group_by = chosen_group_by(selection, GROUP_BYS)
    if selection.is_everything:
        return _WHOLE[group_by](trace)
    return _operators(trace, selection, group_by)


def _operators(trace: Trace, selection: Selection, group_by: str) -> View:
    by_stack = "call_stack" in group_by
    calls = selected_operator_calls(trace, selection, with_call_stacks=by_stack)
    calls = calls.with_columns(gap_before_ns=gaps_before_calls(trace, selection, calls))
    times = call_times(trace, selection, calls)
    operator = operators_of_calls(trace, calls)
    keys = ["name_code"]
    if group_by == BY_PATH:
        calls = calls.with_columns(operator=pl.Series(operator))
        keys = ["operator", "name_code"]
    if "input_shape" in group_by:
        keys.append("input_shape_code")
    if by_stack:
        keys.append("call_stack_code")
    groups = operator_groups(calls, keys, with_durations=True)
    groups = groups.hstack(times_by_group(calls.hstack(times), keys).drop(keys))
    groups = groups.hstack(identity_of_groups(trace, calls, operator, keys).drop(keys))
    groups = _with_input_types(trace, calls, groups, keys)
    if has_measured_work(trace):
        work = work_of_groups(trace, selection, calls, keys)
        groups = groups.hstack(measured_columns(trace, *work, groups.height))
    else:
        groups = groups.hstack(frame_of_means({}, groups.height))
    launches = launches_outside(trace, selection, by_stack=by_stack, with_gaps=True)
    values = argument_values(trace, calls.select("slice", *keys))
    table = operators_table(trace, groups, launches, values, keys)
    return View(
        tables={OPERATORS.name: table},
        facts=_facts(trace, calls, int(launches["device_ns"].sum())),
        notes=quality_notes(trace, LINK_ISSUES | ARGUMENT_ISSUES),
    )


_WHOLE = {
    group_by: PerTrace(
        partial(_operators, selection=Selection(), group_by=group_by), depends_on_steps=True
    )
    for group_by in GROUP_BYS
}
"""The view of the whole trace per grouping, cached because most requests are for it."""


def _with_input_types(
    trace: Trace, calls: pl.DataFrame, groups: pl.DataFrame, keys: list[str]
) -> pl.DataFrame:
    """``groups`` with ``input_type_codes``, the distinct ones of their calls; null for none."""
    codes = slice_input_types(trace)[calls["slice"].to_numpy()]
    if codes.max(initial=-1) < 0:
        return groups.with_columns(input_type_codes=pl.lit(None, pl.List(pl.Int32)))
    by_type = (
        calls.select(keys)
        .with_columns(input_type_codes=pl.Series(codes, dtype=pl.Int32))
        .filter(pl.Series(codes >= 0))
        .unique(maintain_order=True)
        .group_by(keys, maintain_order=True)
        .agg("input_type_codes")
    )
    return groups.join(by_type, on=keys, how="left", maintain_order="left")


def _facts(trace: Trace, calls: pl.DataFrame, outside_ns: int) -> tuple[Fact, ...]:
    unknown = no_device_time(trace)
    host_self_ns, device_self_ns = (
        int(calls[f"{side}_self_ns"].sum()) for side in ("host", "device")
    )
    device_ns = device_self_ns + outside_ns
    no_share = unknown if unknown is not None else None if device_ns else NO_TIME
    return (
        Fact(
            "operator_count",
            "Operators",
            calls.filter(pl.col("calls") > 0)["name_code"].n_unique(),
            "count",
            None,
            "Number of different operator names in the selection.",
        ),
        Fact(
            "operator_calls",
            "Operator calls",
            int(calls["calls"].sum()),
            "count",
            None,
            "Operator calls in the selection, nested calls included.",
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
            "Share of the duration of all kernels, copies and memsets in the selection that "
            "operators launched; the rest is in the rows of kind call and unlinked.",
            no_share,
        ),
    )


def _missing_group_bys(trace: Trace) -> dict[str, str]:
    if has_call_stacks(trace):
        return {}
    reason = missing_reason(trace, "call_stacks", STACKS_NEEDED)
    return {group_by: reason for group_by in GROUP_BYS if "call_stack" in group_by}


SPEC = ViewSpec(
    name="operators",
    title="Operators",
    help="Which framework operators cost the most, on the host and on the device?",
    scope="trace",
    tables=(OPERATORS,),
    needs_times=False,
    is_first=lambda trace: no_times(trace) is not None,
    function=operators,
    group_bys=GROUP_BYS,
    missing_group_bys=_missing_group_bys,
    missing=no_operators,
    by_phase=True,
    answer=answer,
)
