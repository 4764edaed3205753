"""Idle time: when GPUs ran nothing, why, and how far ahead of them the host launches.

Definitions: ``docs/views-idle.md``.
"""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.attribution import gpu_idle
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import NO_DEVICE, NO_WORK
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, Category
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.idle.answer import answer
from torch_tb_profiler.views.idle.causes import causes_table, idle_by_step, idle_facts
from torch_tb_profiler.views.idle.columns import CAUSES, GAPS, LAUNCHES, STREAMS
from torch_tb_profiler.views.idle.gaps import gaps_table
from torch_tb_profiler.views.idle.launches import (
    delay_series,
    launch_facts,
    launches_table,
    selected_launches,
)
from torch_tb_profiler.views.idle.streams import queue_series, streams_table
from torch_tb_profiler.views.null_reasons import recorded_reason
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Note, View
from torch_tb_profiler.views.spec import ViewSpec

NO_HOST = (
    "The host was not recorded: idle time with host-side causes is shown as 'nothing launched'."
)


def idle(trace: Trace, selection: Selection) -> View:
    """When the GPUs of a selection ran nothing, and why.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    steps = step_windows(trace, selection)
    start, end = steps.start_ns, steps.end_ns
    of_gpus = gpu_idle(trace)
    calls, chosen = selected_launches(trace, selection)
    tables = (
        causes_table(trace, of_gpus, start, end),
        gaps_table(trace, of_gpus, steps),
        streams_table(trace, start, end),
        launches_table(trace, calls, chosen),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        series={
            "idle_by_step": idle_by_step(of_gpus, steps.names, start, end),
            "launch_delays": delay_series(calls, chosen),
            "queues": queue_series(trace, start, end),
        },
        facts=(
            *idle_facts(of_gpus, start, end),
            *launch_facts(trace, selection, calls, chosen),
        ),
        notes=(*_host_notes(trace), *quality_notes(trace, LINK_ISSUES)),
    )


def _host_notes(trace: Trace) -> tuple[Note, ...]:
    categories = set(trace.slices["category"].unique().to_list())
    if categories & {*NODE_CATEGORIES, Category.RUNTIME}:
        return ()
    return (Note("quality", "idle_without_host", "warning", NO_HOST, {"columns": ["title"]}),)


def _missing(trace: Trace) -> str | None:
    if trace.device_work.height:
        return None
    own = recorded_reason(trace, "kernels")
    no_work = trace.quality.counts.get("launch_without_kernel")
    return own or (NO_WORK if no_work else NO_DEVICE)


SPEC = ViewSpec(
    name="idle",
    title="Idle",
    help="When was each device idle, and what was it waiting for?",
    scope="trace",
    tables=(CAUSES, GAPS, STREAMS, LAUNCHES),
    function=idle,
    missing=_missing,
    leading_facts=("idle_pct", "main_cause"),
    answer=answer,
)
