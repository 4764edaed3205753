"""The causes of idle time per GPU as a table, per step as curves, and in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import split_at_windows, total_within
from torch_tb_profiler.analysis.idle.attribution import GpuIdle
from torch_tb_profiler.analysis.idle.causes import GPU_CAUSES
from torch_tb_profiler.analysis.idle.garbage_collection import garbage_collection
from torch_tb_profiler.knowledge.idle import idle_file
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, exact_microseconds
from torch_tb_profiler.views.idle.columns import CAUSES
from torch_tb_profiler.views.null_reasons import missing_reason, needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Fact, Line, Series, Table
from torch_tb_profiler.views.step_axis import step_axis

NO_NUMBER = "Device numbers were not recorded."
NO_TIME = "The selection is empty."
NEVER_IDLE = "The GPU is never idle in the selection."
NO_COLLECTIONS = "Garbage collection was not recorded; its time is part of other causes."

MAX_POINTS = 300
"""Steps of the curve; of more, several in a row are one."""


def titles() -> dict[str, str]:
    """Key of a cause → what it is called."""
    return {cause.key: cause.title for cause in idle_file().causes}


def records_collections(trace: Trace) -> bool:
    """Whether the recording holds any collection of garbage."""
    return len(garbage_collection(trace).start_ns) > 0


def gpu_number(device: int) -> int | None:
    """The number of a device as shown; None where the file names none."""
    return device if device >= 0 else None


def causes_table(
    trace: Trace, idle: Mapping[int, GpuIdle], start_ns: Int64, end_ns: Int64
) -> Table:
    """The rows of ``CAUSES``: of each GPU the causes that hold at some moment, and those of which
    the recording does not tell."""
    words = {cause.key: cause for cause in idle_file().causes}
    time = int((end_ns - start_ns).sum())
    rows = []
    for gpu, gpu_idle in idle.items():
        parts = [_measured(gpu_idle, cause, start_ns, end_ns) for cause in GPU_CAUSES]
        whole = sum(total_ns for total_ns, _, _ in parts)
        for cause, (total_ns, gaps, longest_ns) in zip(GPU_CAUSES, parts, strict=True):
            word = words[cause]
            known = cause != "garbage_collection" or records_collections(trace)
            if known and not total_ns:
                continue
            rows.append(
                {
                    "gpu": gpu_number(gpu),
                    "cause": word.key,
                    "title": word.title,
                    "total_us": exact_microseconds(total_ns) if known else None,
                    "idle_pct": 100 * total_ns / whole if known and whole else None,
                    "time_pct": 100 * total_ns / time if known and time else None,
                    "gaps": gaps if known else None,
                    "longest_us": exact_microseconds(longest_ns) if gaps else None,
                    "meaning": word.meaning,
                    "remedy": word.remedy,
                }
            )
    frame = pl.DataFrame(rows, schema=CAUSES.polars_schema())
    collections = missing_reason(trace, "garbage_collection", NO_COLLECTIONS)
    reasons = {
        "gpu": NO_NUMBER,
        "idle_pct": collections if frame["total_us"].null_count() else NEVER_IDLE,
        **dict.fromkeys(("total_us", "time_pct", "gaps"), collections),
    }
    return in_default_order(Table(CAUSES, frame, needed(frame, reasons)))


def _measured(
    gpu_idle: GpuIdle, cause: str, start_ns: Int64, end_ns: Int64
) -> tuple[int, int, int]:
    """Time of a cause in windows, in how many gaps it holds, and its longest stretch."""
    pieces = split_at_windows(gpu_idle.causes[cause], start_ns, end_ns)
    if not len(pieces.row):
        return 0, 0, 0
    gap = np.searchsorted(gpu_idle.gaps.start_ns, pieces.start_ns, "right")
    gaps = 1 + np.count_nonzero((np.diff(gap) != 0) | (np.diff(pieces.window) != 0))
    length = pieces.length_ns
    return int(length.sum()), int(gaps), int(length.max())


def idle_facts(idle: Mapping[int, GpuIdle], start_ns: Int64, end_ns: Int64) -> tuple[Fact, ...]:
    """Of each GPU how much of the time it ran nothing, and why most of it."""
    time = int((end_ns - start_ns).sum())
    facts: list[Fact] = []
    for gpu, gpu_idle in idle.items():
        spent = {
            cause: int(total_within(gpu_idle.causes[cause], start_ns, end_ns).sum())
            for cause in GPU_CAUSES
        }
        whole = sum(spent.values())
        main = max(spent, key=lambda cause: spent[cause])
        scope = f"GPU {gpu}" if gpu >= 0 else "GPU"
        no_time = None if time else NO_TIME
        text = f"{titles()[main]}: {100 * spent[main] / whole:.0f} %" if whole else None
        facts += [
            Fact(
                "idle_pct",
                "Idle",
                100 * whole / time if time else None,
                "pct",
                scope,
                "Share of the time of the selected steps in which the GPU runs no kernel, copy or "
                "memset.",
                no_time,
            ),
            Fact(
                "main_cause",
                "Largest part",
                text,
                None,
                scope,
                "Cause of the largest part of the GPU's idle time, and its share.",
                None if whole else NEVER_IDLE,
            ),
            Fact(
                "idle_us",
                "Idle Time",
                exact_microseconds(whole),
                "us",
                scope,
                "Time of the selected steps in which the GPU runs no kernel, copy or memset.",
            ),
            Fact(
                "busy_us",
                "Busy Time",
                exact_microseconds(time - whole),
                "us",
                scope,
                "Time of the selected steps in which the GPU runs a kernel, copy or memset. Busy "
                "and idle time add up to the selected time.",
            ),
        ]
    return tuple(facts)


def idle_by_step(
    idle: Mapping[int, GpuIdle], names: list[str], start_ns: Int64, end_ns: Int64
) -> Series:
    """Idle time by cause per step, mean over GPUs."""
    count = len(start_ns)
    every = max(-(-count // MAX_POINTS), 1)
    first = np.arange(0, count, every)
    x = step_axis(names)[::every]
    lines = []
    for cause in GPU_CAUSES:
        spent = np.zeros(count, np.float64)
        for gpu_idle in idle.values():
            spent += total_within(gpu_idle.causes[cause], start_ns, end_ns)
        if not spent.any():
            continue
        sums = np.add.reduceat(spent, first) / np.diff(np.append(first, count))
        values = sums / (NS_PER_US * max(len(idle), 1))
        lines.append(Line(titles()[cause], x, values.tolist()))
    of_several = f", mean of {every} steps each" if every > 1 else ""
    return Series(
        f"Idle time by cause{of_several}", "stacked_bar", "Step", None, "Idle", "us", tuple(lines)
    )
