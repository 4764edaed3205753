"""Overlap of computation with communication, transfer and wait: per step and worker."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.communication.certainty import communication_certainty
from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.steps.overlap import overlap_of_ranks_ns
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.collectives import ALL_STEPS
from torch_tb_profiler.views.distributed.columns import OVERLAP, WAIT
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table, TableSpec

NO_TRANSFER = (
    "Transfer and wait need recordings of at least two workers of the group; none of these calls "
    "was matched."
)
NEVER_TIMED = (
    "The device work of this worker's collectives was not recorded: the host only enqueues it, "
    "so when it ran is unknown. Or none of its kernels is recognized as communication."
)
OVERLAP_TIMES = [column.key for column in OVERLAP.columns if column.unit == "us"]


class WorkerSteps(Struct, frozen=True, eq=False):
    """The steps each worker's rows are about, by worker name, and their order over all workers."""

    windows: Mapping[str, StepWindows]
    order: dict[str, int]


def worker_steps(windows: Mapping[str, StepWindows]) -> WorkerSteps:
    """Steps of all workers, numbered in order of appearance."""
    order: dict[str, int] = {ALL_STEPS: -1}
    for window in windows.values():
        for name in window.names:
            order.setdefault(name, len(order))
    return WorkerSteps(windows, order)


def overlap_table(traces: Mapping[str, Trace], steps: WorkerSteps) -> Table:
    """The ``overlap`` table."""
    chosen = [worker for worker in traces if worker in steps.windows]
    windows = [steps.windows[worker] for worker in chosen]
    parts = overlap_of_ranks_ns([traces[worker] for worker in chosen], windows)
    compute, both, communicate, total = parts
    known = np.repeat(
        [_is_timed(traces[worker]) for worker in chosen], [len(w.names) for w in windows]
    )
    rows = pl.DataFrame(
        {
            "step": [name for window in windows for name in window.names],
            "worker": np.repeat(np.array(chosen, object), [len(w.names) for w in windows]),
            "computation_ns": compute - both,
            "overlap_ns": both,
            "communication_ns": communicate - both,
            "other_ns": total + both - compute - communicate,
            "averaged": [one for window in windows for one in window.averaged.tolist()],
        },
        schema_overrides={"step": pl.String, "worker": pl.String, "averaged": pl.Boolean},
    )
    times = pl.col("^.*_ns$")
    rows = rows.with_columns(pl.when(pl.Series(known, dtype=pl.Boolean)).then(times))
    frame = _in_step_order(_with_mean(rows, OVERLAP), steps)
    return Table(OVERLAP, frame, needed(frame, dict.fromkeys(OVERLAP_TIMES, NEVER_TIMED)))


def untimed(trace: Trace) -> bool:
    """Whether a worker communicates, but the recording has the time of no call."""
    calls = records(trace)
    return bool(calls.frame.height) and not len(calls.record)


def _is_timed(trace: Trace) -> bool:
    return not untimed(trace) and communication_certainty(trace).null_reason is None


def _with_mean(rows: pl.DataFrame, spec: TableSpec) -> pl.DataFrame:
    """The table of some steps, after a row per worker: of times the mean over the whole steps that
    have one, of counts the sum.

    Args:
        rows: One per step and worker, with ``…_ns`` in place of the declared ``…_us``, and whether
            the step is ``averaged``.
        spec: The declaration of the table.
    """
    times = [key for key in rows.columns if key.endswith("_ns")]
    counts = [column.key for column in spec.columns if column.unit == "count"]
    mean = rows.group_by("worker", maintain_order=True).agg(
        pl.lit(ALL_STEPS).alias("step"),
        pl.col(times).filter("averaged").sum(),
        *(pl.col(key).sum() for key in counts),
        *(pl.col(key).filter("averaged").count().alias(f"steps of {key}") for key in times),
    )
    both = pl.concat([mean, rows], how="diagonal")
    steps = {key: both[f"steps of {key}"].fill_null(1) for key in times}
    in_us = [
        microseconds(both[key], steps[key]).alias(f"{key.removesuffix('_ns')}_us") for key in times
    ]
    return both.with_columns(in_us).select(list(spec.polars_schema()))


def _in_step_order(frame: pl.DataFrame, steps: WorkerSteps) -> pl.DataFrame:
    position = pl.col("step").replace_strict(steps.order, default=None, return_dtype=pl.Int64)
    return frame.sort(position, maintain_order=True)


def wait_table(matching: Matching, steps: WorkerSteps) -> Table:
    """The ``wait`` table. Ranges are not cut at the edges of the step they were called in."""
    windows, calls = _windows_and_calls(matching, steps)
    ranges = matching.ranges.join(
        calls.select("worker", "record", "place"), on=["worker", "record"], how="inner"
    ).filter(pl.col("transfer_ns").is_not_null())
    all_ns, transfer_ns = covered_with_transfer(ranges, ranges["place"], windows.height)
    unmatched = calls.group_by("place").agg(pl.col("match").is_null().sum().alias("unmatched"))
    known = np.isin(np.arange(windows.height), ranges["place"].to_numpy())
    rows = (
        windows.join(unmatched, on="place", how="inner")
        .sort("place")
        .with_columns(
            transfer_ns=_where(known, transfer_ns).gather(pl.col("place")),
            wait_ns=_where(known, all_ns - transfer_ns).gather(pl.col("place")),
            step=pl.col("step_name"),
            worker=pl.col("worker").replace_strict(
                dict(enumerate(matching.workers)), return_dtype=pl.String
            ),
            unmatched_calls=pl.col("unmatched").cast(pl.Int64),
        )
        .select("step", "worker", "transfer_ns", "wait_ns", "unmatched_calls", "averaged")
    )
    frame = _in_step_order(_with_mean(rows, WAIT), steps)
    reasons = dict.fromkeys(("transfer_us", "wait_us"), NO_TRANSFER)
    return Table(WAIT, frame, needed(frame, reasons))


_WINDOW_SCHEMA = {
    "worker": pl.Int64,
    "window": pl.Int64,
    "step_name": pl.String,
    "averaged": pl.Boolean,
}


def _windows_and_calls(matching: Matching, steps: WorkerSteps) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The windows of all workers, numbered by ``place``, and the calls in them with theirs.

    By window, not by name: a file of several processes may have steps of one number twice.
    """
    chosen = [
        (number, steps.windows[worker])
        for number, worker in enumerate(matching.workers)
        if worker in steps.windows
    ]
    all_windows = pl.DataFrame(
        [
            (number, window, windows.names[window], averaged)
            for number, windows in chosen
            for window, averaged in enumerate(windows.averaged.tolist())
        ],
        schema=_WINDOW_SCHEMA,
        orient="row",
    ).with_row_index("place")
    of_steps = [windows.of_step for _, windows in chosen]
    window_of_step = pl.DataFrame(
        {
            "worker": np.repeat(
                [number for number, _ in chosen], [len(step_count) for step_count in of_steps]
            ),
            "step": np.concatenate(
                [np.empty(0, np.int64), *(np.arange(len(step_count)) for step_count in of_steps)]
            ),
            "window": np.concatenate([np.empty(0, np.int64), *of_steps]),
        },
        schema={"worker": pl.Int64, "step": pl.Int32, "window": pl.Int64},
    )
    calls = matching.calls.join(window_of_step, on=["worker", "step"], how="inner").join(
        all_windows.drop("step_name"), on=["worker", "window"], how="inner"
    )
    return all_windows, calls


def covered_with_transfer(
    ranges: pl.DataFrame, group: pl.Series, groups: int
) -> tuple[Int64, Int64]:
    """Per group in ns the time its ranges cover, and the time the last ``transfer_ns`` of each
    cover; ``group`` is the group of each row."""
    group_of_range = group.cast(pl.Int64).to_numpy()
    start, end = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    transfer = ranges["transfer_ns"].fill_null(0).to_numpy()
    return (
        union_lengths(group_of_range, start, end, groups),
        union_lengths(group_of_range, end - transfer, end, groups),
    )


def _where(known: Bools, values: object) -> pl.Expr:
    frame = pl.DataFrame({"known": known, "value": values})
    return pl.lit(frame.select(pl.when("known").then("value")).to_series())
