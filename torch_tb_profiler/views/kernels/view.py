"""Kernels by name, or by name, operator and launch configuration; with tables of the API calls that
launched them and of copies.

Definitions: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from torch_tb_profiler.analysis.kernels.calls import selected_kernel_calls
from torch_tb_profiler.analysis.kernels.details import selected_kernel_details
from torch_tb_profiler.analysis.kernels.operator_work import OperatorChoice, choose_operator
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.selection import Selection, chosen_group_by
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels import PARAMETERS
from torch_tb_profiler.views.kernels.answer import answer
from torch_tb_profiler.views.kernels.api_calls import API_CALLS, api_calls_table
from torch_tb_profiler.views.kernels.copies import COPIES, copies_table
from torch_tb_profiler.views.kernels.operator_work import OPERATOR_WORK, operator_work_table
from torch_tb_profiler.views.kernels.table import GROUP_BYS, KERNELS, kernels_table
from torch_tb_profiler.views.kernels.tensor_cores import (
    TENSOR_CORE_TIME,
    tensor_core_facts,
    tensor_core_table,
)
from torch_tb_profiler.views.kernels.types import KERNEL_TYPES, kernel_types_table
from torch_tb_profiler.views.kernels.unrecognized import UNRECOGNIZED, unrecognized_table
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.quality_notes import ARGUMENT_ISSUES, LINK_ISSUES, quality_notes
from torch_tb_profiler.views.recognition import recognition_facts, rules_fact
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.spec import ViewSpec


def kernels(
    trace: Trace,
    selection: Selection,
    *,
    operator_id: str | None = None,
    operator: str | None = None,
) -> View:
    """The kernels of a selection, or those launched inside one operator of it (by id, or all calls
    of a name), with its device work; the API calls and the copies.

    Raises:
        SelectionError: steps, grouping or operator make no sense for this trace.
    """
    group_by = chosen_group_by(selection, GROUP_BYS)
    if operator_id is not None or operator is not None:
        choice = choose_operator(trace, operator_id, operator)
        return _kernels(trace, selection, group_by, choice)
    if selection.is_everything:
        return _WHOLE[group_by](trace)
    return _kernels(trace, selection, group_by)


def _kernels(
    trace: Trace, selection: Selection, group_by: str, choice: OperatorChoice | None = None
) -> View:
    calls = selected_kernel_calls(trace, selection)
    details = selected_kernel_details(trace, selection)
    selected = device_work_mask(trace, selection)
    if choice is not None:
        chosen = choice.inside[selected & kernel_kinds(trace).is_kernel]
        calls, details = calls.filter(chosen), details.filter(chosen)
    unrecognized = unrecognized_table(trace, calls)
    detailed = calls.hstack(details)
    shown = kernels_table(trace, detailed, group_by)
    by_name = shown if group_by == GROUP_BYS[0] else kernels_table(trace, detailed, GROUP_BYS[0])
    tables = (
        shown,
        kernel_types_table(trace, by_name.frame),
        tensor_core_table(calls),
        api_calls_table(trace, selection),
        copies_table(trace, selection),
        unrecognized,
        operator_work_table(trace, choice, selected),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        facts=(*_facts(calls), *recognition_facts(calls), *_rules_facts(trace, unrecognized)),
        notes=quality_notes(trace, LINK_ISSUES | ARGUMENT_ISSUES),
    )


_WHOLE = {
    group_by: PerTrace(partial(_kernels, selection=Selection(), group_by=group_by))
    for group_by in GROUP_BYS
}
"""The view of the whole trace per grouping, cached because most requests are for it."""


def _facts(calls: pl.DataFrame) -> tuple[Fact, ...]:
    total_ns = int(calls["dur_ns"].sum())
    return (
        Fact(
            "kernel_count",
            "Kernels",
            calls["name_code"].n_unique(),
            "count",
            None,
            "Number of different kernel names in the selection.",
        ),
        Fact(
            "kernel_calls",
            "Kernel calls",
            calls.height,
            "count",
            None,
            "Number of kernel executions.",
        ),
        Fact(
            "kernel_time_us",
            "Kernel time",
            total_ns / 1000,
            "us",
            None,
            "Summed duration of all kernels; concurrent kernels add up.",
        ),
        *tensor_core_facts(calls),
    )


def _rules_facts(trace: Trace, unrecognized: Table) -> tuple[Fact, ...]:
    """The file of the user's rules where it says something, or could."""
    fact = rules_fact(trace)
    return (fact,) if fact.value is not None or unrecognized.frame.height else ()


NO_WORK = (
    "The recording contains no kernels, copies or device API calls: the program used no device, "
    "or devices were not profiled."
)


def _missing(trace: Trace) -> str | None:
    if trace.device_work.height or bool((trace.slices["category"] == Category.RUNTIME).any()):
        return None
    return missing_reason(trace, "kernels", NO_WORK)


SPEC = ViewSpec(
    name="kernels",
    title="Kernels",
    help="Which kernels take the device time, how well do they fill the devices, and what "
    "launched them?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(
        KERNELS,
        KERNEL_TYPES,
        TENSOR_CORE_TIME,
        API_CALLS,
        COPIES,
        UNRECOGNIZED,
        OPERATOR_WORK,
    ),
    function=kernels,
    group_bys=GROUP_BYS,
    missing=_missing,
    needs_moments=False,
    by_phase=True,
    answer=answer,
)
