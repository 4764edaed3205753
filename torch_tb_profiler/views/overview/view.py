"""Overview: where the time of the steps went, and how well the GPUs were used.

Definitions: ``docs/metrics.md#overview``. The categories of a step add up to it exactly.
"""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.roles import ROLE_TITLES, Role
from torch_tb_profiler.analysis.kernels.calls import selected_kernel_calls
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import role_costs, unknown_reason, unknown_roles
from torch_tb_profiler.analysis.steps.iterations.split import has_recorded_steps, split_of
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import ISSUE_TEXTS
from torch_tb_profiler.trace.side_tables import SIDE_TITLES
from torch_tb_profiler.trace.units import NS_PER_US, mean_microseconds
from torch_tb_profiler.views.checks import CHECKED
from torch_tb_profiler.views.energy import energy_facts
from torch_tb_profiler.views.iteration_facts import iteration_facts
from torch_tb_profiler.views.null_reasons import recorded_reason, recorder
from torch_tb_profiler.views.overview.classes import (
    KERNEL_CLASSES,
    OPERATOR_CLASSES,
    class_tables,
)
from torch_tb_profiler.views.overview.environment import environment_facts
from torch_tb_profiler.views.overview.gpus import (
    GPUS,
    gpu_facts,
    gpu_notes,
    gpu_table,
    mean_facts,
)
from torch_tb_profiler.views.overview.guidance import GUIDANCE, guidance_table
from torch_tb_profiler.views.overview.job_text import job_text
from torch_tb_profiler.views.overview.longest_gap import LONGEST_GAP, longest_gap
from torch_tb_profiler.views.overview.matrix_units import matrix_unit_facts
from torch_tb_profiler.views.overview.mindspore import MINDSPORE_PARTS, mindspore_parts
from torch_tb_profiler.views.overview.recorded_steps import recorded_step_facts
from torch_tb_profiler.views.overview.resources import (
    RESOURCES,
    RESOURCES_BY_GPU,
    resource_tables,
)
from torch_tb_profiler.views.overview.settings import settings_facts
from torch_tb_profiler.views.overview.throughput import (
    THROUGHPUT,
    step_curve,
    throughput_facts,
    throughput_table,
)
from torch_tb_profiler.views.overview.top import (
    TOP_KERNELS,
    TOP_OPERATORS,
    top_kernels,
    top_operators,
)
from torch_tb_profiler.views.overview.verdict import verdict
from torch_tb_profiler.views.quality_notes import ISSUE_COLUMNS, quality_notes
from torch_tb_profiler.views.recognition import (
    NO_STEP,
    communication_notes,
    communication_range_facts,
    recognition_facts,
)
from torch_tb_profiler.views.sample_advice import urgent
from torch_tb_profiler.views.schema import Column, Fact, Line, Note, Series, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.step_axis import step_axis

ROLE_HELPS = {
    Role.KERNEL: "A kernel other than communication ran on a device.",
    Role.MEMCPY: "A device copied memory, and no kernel ran.",
    Role.MEMSET: "A device ran a memset, and none of the above.",
    Role.COMMUNICATION: "A collective ran, on a device or the host, and none of the above.",
    Role.RUNTIME: "The host was in a device API call, and none of the above.",
    Role.DATALOADER: "The host loaded or waited for the next batch, and none of the above.",
    Role.CPU_EXEC: "An operator or range ran on the host, and none of the above.",
    Role.OTHER: "None of the above.",
}
NO_TIME = "The steps have no duration."

AVERAGE_STEP = TableSpec(
    "average_step",
    "Average step",
    "Time breakdown of the average step. Every moment counts once, for the first category of "
    "this list that was active, so the rows add up to the step. Unlike the resource breakdown, "
    "it covers all devices together, lists communication separately and is the mean of complete "
    "steps.",
    (
        Column("category", "Category", "string", None, "Category of the time."),
        Column(
            "duration_us",
            "Duration",
            "number",
            "us",
            "Time per step, averaged over steps.",
            additive=True,
        ),
        Column("pct", "Share", "number", "pct", "Share of the average step.", additive=True),
    ),
)


def _role_key(role: Role) -> str:
    return f"{role.name.lower()}_us"


STEPS = TableSpec(
    "steps",
    "Steps",
    "One row per step, in time order; the categories add up to the total.",
    (
        Column("step", "Step", "string", None, "Name of the step."),
        Column(
            "total_us",
            "Total",
            "number",
            "us",
            "Duration of the step: from the end of the previous step, or its start on the host, "
            "to the end of the device work it launched.",
            family="step",
            additive=True,
        ),
        *(
            Column(
                _role_key(role),
                ROLE_TITLES[role],
                "number",
                "us",
                ROLE_HELPS[role],
                family="step",
                additive=True,
            )
            for role in Role
        ),
    ),
)


def overview(trace: Trace, selection: Selection) -> View:
    """The overview of a selection.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    windows = step_windows(trace, selection)
    costs = role_costs(trace, windows)
    unknown = unknown_roles(trace)
    steps = _steps_table(windows, costs, unknown)
    gpus = gpu_table(trace, selection, windows)
    classes, efficiency = class_tables(trace, selection)
    throughput = throughput_table(trace)
    dashboard = (
        *resource_tables(trace, windows),
        *classes,
        throughput,
        guidance_table(trace),
        *mindspore_parts(trace),
    )
    notes = [note for note in quality_notes(trace) if note.code != "step_left_out"]
    if windows.left_out:
        notes.append(_left_out_note(windows.left_out))
    if windows.cut:
        notes.append(_cut_note(windows))
    return View(
        tables={
            AVERAGE_STEP.name: _average_table(
                costs[windows.averaged], unknown, _is_whole_recording(trace)
            ),
            LONGEST_GAP.name: longest_gap(trace, windows),
            STEPS.name: steps,
            GPUS.name: gpus,
            TOP_OPERATORS.name: top_operators(trace, selection),
            TOP_KERNELS.name: top_kernels(trace, selection),
            **{table.spec.name: table for table in dashboard},
        },
        series={"step_time": _step_series(windows, costs, unknown), **step_curve(trace)},
        facts=(
            *_step_facts(windows, _is_whole_recording(trace)),
            *(recorded_step_facts(trace) if _is_whole_recording(trace) else ()),
            *iteration_facts(trace, selection),
            *throughput_facts(trace),
            efficiency,
            *matrix_unit_facts(trace, selection),
            *mean_facts(trace, gpus),
            *gpu_facts(trace, selection, gpus),
            *energy_facts(trace, selection, windows),
            *recognition_facts(selected_kernel_calls(trace, selection)),
            *communication_range_facts(trace, windows),
            *_count_facts(trace),
            *environment_facts(trace),
            *settings_facts(trace),
        ),
        notes=(
            *notes,
            *communication_notes(trace),
            *gpu_notes(trace, selection),
            *urgent(trace, selection),
        ),
        answer=verdict(
            trace,
            selection,
            windows,
            costs[windows.averaged],
            gpus,
            is_recording=_is_whole_recording(trace),
        ),
    )


def _average_table(costs: Int64, unknown: dict[Role, str], is_recording: bool) -> Table:
    total_us = mean_microseconds(costs.sum(axis=1))
    rows: list[tuple[str, float | None, float | None]] = []
    for role in Role:
        duration_us = share = None
        if total_us is not None and role not in unknown:
            duration_us = mean_microseconds(costs[:, role])
            share = float(costs[:, role].sum() / costs.sum()) * 100 if total_us else None
        rows.append((ROLE_TITLES[role], duration_us, share))
    frame = pl.DataFrame(rows, schema=AVERAGE_STEP.polars_schema(), orient="row")
    if total_us is None:
        reasons = dict.fromkeys(("duration_us", "pct"), NO_STEP)
    elif reason := unknown_reason(unknown):
        reasons = dict.fromkeys(("duration_us", "pct"), reason)
    else:
        reasons = {} if total_us else {"pct": NO_TIME}
    spec = replace(AVERAGE_STEP, title="Recording") if is_recording else AVERAGE_STEP
    return Table(spec, frame, reasons)


def _steps_table(windows: StepWindows, costs: Int64, unknown: dict[Role, str]) -> Table:
    total_us = (windows.end_ns - windows.start_ns) / NS_PER_US
    columns: dict[str, object] = {"step": windows.names, "total_us": total_us}
    for role in Role:
        known = role not in unknown
        columns[_role_key(role)] = costs[:, role] / NS_PER_US if known else [None] * len(costs)
    reasons = {_role_key(role): text for role, text in unknown.items() if len(costs)}
    return Table(STEPS, pl.DataFrame(columns, schema=STEPS.polars_schema()), reasons)


def _step_series(windows: StepWindows, costs: Int64, unknown: dict[Role, str]) -> Series:
    x = step_axis(windows.names)
    lines = tuple(
        Line(ROLE_TITLES[role], x, (costs[:, role] / NS_PER_US).tolist())
        for role in Role
        if role not in unknown
    )
    return Series("Step time", "stacked_bar", "Step", None, "Time", "us", lines)


def _left_out_note(names: list[str]) -> Note:
    listed = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
    return Note(
        kind="quality",
        code="step_left_out",
        severity="info",
        text=f"Left out of tables and averages: step {listed}. The recording ended within these "
        "last steps or before their device work finished. Select them to see what was "
        "recorded.",
        evidence={"steps": names, "columns": list(ISSUE_COLUMNS["step_left_out"])},
    )


def _cut_note(windows: StepWindows) -> Note:
    """Steps that are shown although only a part of them is selected or was recorded."""
    listed = ", ".join(windows.cut[:10]) + (" …" if len(windows.cut) > 10 else "")
    if windows.whole.any():
        text = f"Only a part of step {listed} is selected or was recorded: averages exclude it."
    else:
        text = (
            f"Only a part of step {listed} is selected or was recorded, and no other step is: "
            "averages cover this part, not complete steps."
        )
    return Note(
        kind="quality",
        code="step_cut",
        severity="info",
        text=text,
        evidence={"steps": windows.cut, "columns": ["average_step_us", "step_count", "step"]},
    )


def _is_whole_recording(trace: Trace) -> bool:
    """Whether the one step is the recording, because it names none and nothing is taken for one."""
    return split_of(trace).by.kind == "steps" and not has_recorded_steps(trace)


def _step_facts(windows: StepWindows, is_recording: bool) -> tuple[Fact, ...]:
    averaged = windows.averaged
    count = int(averaged.sum())
    return (
        Fact(
            "average_step_us",
            "Recording" if is_recording else "Average step time",
            mean_microseconds((windows.end_ns - windows.start_ns)[averaged]),
            "us",
            None,
            "Duration of the recording, which names no steps."
            if is_recording
            else "Mean duration of the steps.",
            None if count else NO_STEP,
        ),
        Fact("step_count", "Steps", count, "count", None, "Number of steps in the averages."),
    )


def _count_facts(trace: Trace) -> tuple[Fact, ...]:
    kernels = trace.device_work["category"] == Category.KERNEL
    return (
        Fact(
            "event_count",
            "Events in the recording",
            trace.slices.height,
            "count",
            None,
            "Events of the whole recording, on host and devices.",
        ),
        Fact(
            "kernel_calls",
            "Kernels in the recording",
            int(kernels.sum()),
            "count",
            None,
            "Kernels executed in the whole recording.",
        ),
    )


WITHOUT_EVENTS = (
    "recorded_steps",
    "recorded_step_trace",
    "recorded_operators",
    "snapshot_segments",
)
"""Side tables that the first line describes without any event."""

DAMAGED_EVENTS = ("event_dropped", "event_without_time", "stray_text", "truncated")
"""Issues that explain a recording without any event."""

NO_EVENTS = "The recording contains no events: the profiler stopped before anything ran."


def _missing(trace: Trace) -> str | None:
    if trace.slices.height or any(name in trace.side for name in WITHOUT_EVENTS):
        return None
    damage = [issue for issue in DAMAGED_EVENTS if issue in trace.quality.counts]
    if damage:
        texts = " ".join(ISSUE_TEXTS[issue] for issue in damage)
        return f"Nothing is left of the events of this recording. {texts}"
    job = job_text(trace)
    if trace.side:
        contents = ", ".join(SIDE_TITLES[name] for name in trace.side)
        text = f"The recording contains no events. Its files contain: {contents}."
        return text if job is None else f"{text} {job}"
    if job is not None:
        return f"The recording contains no events. {job}"
    own = recorded_reason(trace, "kernels")
    if own is not None:
        return f"The recording contains no events. {own}"
    again = recorder(trace).no_events
    return f"{NO_EVENTS} {again}" if again else NO_EVENTS


SPEC = ViewSpec(
    name="overview",
    title="Overview",
    help="What is slow in this recording, and what can be done about it?",
    scope="trace",
    # The checks come with the findings, which are computed separately.
    tables=(
        AVERAGE_STEP,
        LONGEST_GAP,
        STEPS,
        GPUS,
        TOP_OPERATORS,
        TOP_KERNELS,
        RESOURCES,
        RESOURCES_BY_GPU,
        OPERATOR_CLASSES,
        KERNEL_CLASSES,
        THROUGHPUT,
        MINDSPORE_PARTS,
        GUIDANCE,
        CHECKED,
    ),
    needs_times=False,
    function=overview,
    missing=_missing,
    needs_moments=False,
    has_findings=True,
)
