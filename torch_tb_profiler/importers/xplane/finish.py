"""What is added once all events are read: operators and scopes of device work, and steps."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.xplane.device_rows import LineWork, containing, joined_work
from torch_tb_profiler.importers.xplane.hlo_operators import add_operators
from torch_tb_profiler.importers.xplane.line_context import LineContext
from torch_tb_profiler.importers.xplane.lines import LineKind
from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64, Track
from torch_tb_profiler.trace.constant_columns import concatenate

STEP = "Step#"
"""Stands before the number of a step that a device names by its number alone."""

STEPS_CATEGORY = "Steps"


class DeviceOperators(Struct, frozen=True):
    """The operators of device work.

    Attributes:
        pairs: TraceRows of work, and of each the row of its operator, -1 for none.
        loops: TraceRows of HLO operations that contain others: they are no work.
    """

    pairs: list[tuple[Int64, Int64]]
    loops: Int64

    def owners(self, count: int) -> Int64:
        """The owner of each of ``count`` slices, ABSENT for none."""
        owner = np.full(count, ABSENT)
        for row, operator in self.pairs:
            owner[row] = np.where(operator >= 0, operator, ABSENT)
        return owner


def add_device_operators(
    contexts: list[LineContext], process: str, rows: TraceRows
) -> DeviceOperators:
    """Add the operators of all device work, in the process of the host."""
    pairs: list[tuple[Int64, Int64]] = []
    loops: list[Int64] = []
    for context in contexts:
        if not context.work:
            continue
        work = joined_work(context.work)
        if context.kind == LineKind.OPERATIONS:
            is_loop = containing(work.start_ns, work.end_ns)
            loops.append(work.row[is_loop])
            work = work.select(~is_loop)
        if (work.operation >= 0).any():
            track = rows.add_track(_operator_track(context, process))
            runs = _runs(work, _starts_of_programs(contexts, context))
            pairs.append((work.row, add_operators(work, runs, track, rows)))
    return DeviceOperators(pairs, concatenate(loops, np.int64))


def _operator_track(context: LineContext, process: str) -> Track:
    line = context.line
    return Track(
        process,
        f"{context.plane.name} {line.id}",
        process_name=process,
        thread_name=f"HLO operations: {context.plane.name}, {line.name}",
    )


def _starts_of_programs(contexts: list[LineContext], context: LineContext) -> Int64:
    """Starts of the runs of programs that the plane of a line records, ascending."""
    starts = [
        start
        for other in contexts
        if other.plane is context.plane and other.kind == LineKind.MODULES
        for start, _, _ in other.spans
    ]
    return np.sort(concatenate(starts, np.int64))


def _runs(work: LineWork, starts: Int64) -> Int64:
    """Per piece of work the number of the run of a program that it belongs to: by the recorded
    runs, else a run begins where a program begins or repeats its first operation."""
    if starts.size:
        return np.searchsorted(starts, work.start_ns, "right").astype(np.int64)
    _, first, program = np.unique(work.program, return_index=True, return_inverse=True)
    is_first = work.operation == work.operation[first][program]
    is_first[1:] |= work.program[1:] != work.program[:-1]
    runs: Int64 = is_first.cumsum()
    return runs


def add_steps(contexts: list[LineContext], process: str, rows: TraceRows) -> None:
    """Add the steps that devices record as steps of the recording: of those that several devices
    have, from the first start to the last end, but not beyond the start of the next."""
    spans = [span for each in contexts if each.kind == LineKind.STEPS for span in each.spans]
    start, end = (concatenate([span[at] for span in spans], np.int64) for at in (0, 1))
    name = concatenate([span[2] for span in spans], np.int32)
    if not name.size:
        return
    names, inverse = np.unique(name, return_inverse=True)
    first = np.full(names.size, np.iinfo(np.int64).max)
    last = np.full(names.size, np.iinfo(np.int64).min)
    np.minimum.at(first, inverse, start)
    np.maximum.at(last, inverse, end)
    order = np.argsort(first, kind="stable")
    names, first, last = names[order], first[order], last[order]
    last[:-1] = np.minimum(last[:-1], first[1:])
    track = rows.add_track(
        Track(process, "steps", process_name=process, thread_name="Steps of devices")
    )
    rows.add_slices(
        {
            "category": np.full(names.size, Category.STEP, np.int8),
            "raw_category_code": np.full(names.size, rows.strings[STEPS_CATEGORY], np.int32),
            "name_code": _step_names(names, rows),
            "track": np.full(names.size, track, np.int32),
            "start_ns": first,
            "dur_ns": last - first,
        }
    )


def _step_names(names: Int32, rows: TraceRows) -> Int32:
    texts = list(rows.strings)
    shown = [texts[code] for code in names.tolist()]
    return np.array(
        [rows.strings[text if STEP[-1] in text else f"{STEP}{text}"] for text in shown], np.int32
    )
