"""What each dimension of the parallel strategy costs a rank in each step: calls, bytes, times.

Definitions: ``docs/views-strategy.md#costs``. Works on all ranks at once: their recordings are laid
one after another on one line of time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.analysis.communication.roles import computation
from torch_tb_profiler.analysis.parallel.dimensions import WHOLE_JOB
from torch_tb_profiler.analysis.parallel.exposed import exposed_times
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.knowledge.communication import names_of_size
from torch_tb_profiler.knowledge.parallel import DIMENSIONS
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

ALL_RANKS, UNKNOWN = "all ranks", "unknown"
"""In place of a dimension: all ranks of a divided job, and groups that nothing decides."""

COST_DIMENSIONS = (*DIMENSIONS, ALL_RANKS, UNKNOWN)

DIMENSION_COSTS = pl.Schema(
    {
        "worker": pl.Int64,  # index
        "window": pl.Int64,  # number of the step among those of the worker
        "dimension": pl.String,
        "calls": pl.Int64,  # of this step; 0 where those of another one run into it
        "bytes": pl.Int64,  # of the calls whose size is known; null where none is
        "total_ns": pl.Int64,  # union of their times; null where none has a time
        "exposed_ns": pl.Float64,
        "hidden_ns": pl.Int64,
        "transfer_ns": pl.Int64,  # of the matched calls, as in `matching`; null where none is
        "wait_ns": pl.Int64,
    }
)
"""One row per worker, step and dimension with calls in it."""


def dimension_costs(
    traces: Mapping[str, Trace],
    windows: Mapping[str, StepWindows],
    matching: Matching,
    selected: Matching,
    dimensions: pl.DataFrame,
) -> pl.DataFrame:
    """The costs of each dimension, as :data:`DIMENSION_COSTS`.

    Args:
        traces: The recordings by worker.
        windows: The selected steps of the workers that have any.
        matching: Of all calls: a call of another step may run into a selected one.
        selected: Of the selected calls.
        dimensions: The dimension of each group, as ``group_dimensions`` gives them.
    """
    frame = window_frame(matching.workers, windows)
    calls = calls_in_windows(selected, windows, frame, dimensions)
    counts = calls.group_by("row", "dimension").agg(
        pl.len().alias("calls"),
        pl.when(pl.col("input_bytes").is_not_null().any())
        .then(pl.col("input_bytes").sum())
        .alias("bytes"),
    )
    rows = (
        _shared(traces, matching, frame, dimensions)
        .join(counts, on=["row", "dimension"], how="left")
        .filter((pl.col("calls") > 0) | (pl.col("total_ns") > 0))
        .join(_waited(selected, calls, frame.height), on=["row", "dimension"])
        .join(frame.select("row", "worker", "window"), on="row")
        .sort("row", "dimension")
        .with_columns(
            pl.col("calls").fill_null(0),
            dimension=pl.lit(pl.Series(COST_DIMENSIONS)).gather(pl.col("dimension")),
        )
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in DIMENSION_COSTS.items())


def window_frame(workers: Sequence[str], windows: Mapping[str, StepWindows]) -> pl.DataFrame:
    """The windows of all workers, numbered by ``row``: ``worker`` (its index), ``window`` and its
    ``name``, ``start_ns``, ``end_ns`` and whether means are over it (``averaged``)."""
    chosen = [
        (number, windows[worker]) for number, worker in enumerate(workers) if worker in windows
    ]
    heights = [len(each.names) for _, each in chosen]
    empty = np.empty(0, np.int64)
    return pl.DataFrame(
        {
            "worker": np.repeat(np.array([number for number, _ in chosen], np.int64), heights),
            "window": np.concatenate([empty, *map(np.arange, heights)]),
            "name": pl.Series([name for _, each in chosen for name in each.names], dtype=pl.String),
            "start_ns": np.concatenate([empty, *(each.start_ns for _, each in chosen)]),
            "end_ns": np.concatenate([empty, *(each.end_ns for _, each in chosen)]),
            "averaged": np.concatenate(
                [np.empty(0, np.bool_), *(each.averaged for _, each in chosen)]
            ),
        }
    ).with_row_index("row")


def rows_of_steps(
    workers: Sequence[str], windows: Mapping[str, StepWindows], frame: pl.DataFrame
) -> pl.DataFrame:
    """Per selected step the window that it is in: ``worker`` (index), ``step`` (row of its
    ``steps``) and ``row`` of ``frame``."""
    chosen = [
        (number, windows[worker].of_step)
        for number, worker in enumerate(workers)
        if worker in windows
    ]
    empty = np.empty(0, np.int64)
    heights = [len(of_step) for _, of_step in chosen]
    window_of_step = pl.DataFrame(
        {
            "worker": np.repeat(np.array([number for number, _ in chosen], np.int64), heights),
            "step": np.concatenate([empty, *map(np.arange, heights)]).astype(np.int32),
            "window": np.concatenate([empty, *(of_step for _, of_step in chosen)]),
        }
    )
    return window_of_step.join(
        frame.select("worker", "window", pl.col("row").cast(pl.Int64)), on=["worker", "window"]
    ).drop("window")


def calls_in_windows(
    matching: Matching,
    windows: Mapping[str, StepWindows],
    frame: pl.DataFrame,
    dimensions: pl.DataFrame,
) -> pl.DataFrame:
    """The calls of the windows with ``row``, that of their window in ``frame``, and ``dimension``,
    its number among :data:`COST_DIMENSIONS`; calls that move no data left out."""
    rows = rows_of_steps(matching.workers, windows, frame)
    without_data = pl.col("collective").is_in(names_of_size("nothing")).fill_null(value=False)
    moved = matching.calls.filter(~without_data)
    return _with_codes(moved.join(rows, on=["worker", "step"]), dimensions)


def cost_dimension() -> pl.Expr:
    """The ``dimension`` of groups, one of :data:`COST_DIMENSIONS`."""
    whole = pl.when(pl.col("reason") == WHOLE_JOB).then(pl.lit(ALL_RANKS))
    return pl.coalesce("dimension", whole, pl.lit(UNKNOWN)).alias("dimension")


def _with_codes(calls: pl.DataFrame, dimensions: pl.DataFrame) -> pl.DataFrame:
    """Calls with ``dimension``, its number among :data:`COST_DIMENSIONS`."""
    numbers = {name: number for number, name in enumerate(COST_DIMENSIONS)}
    known = dimensions.select(
        "group_key", cost_dimension().replace_strict(numbers, return_dtype=pl.Int64)
    )
    joined = calls.join(known, on="group_key", how="left", nulls_equal=True)
    return joined.with_columns(pl.col("dimension").fill_null(numbers[UNKNOWN]))


def _waited(selected: Matching, calls: pl.DataFrame, windows: int) -> pl.DataFrame:
    """Transfer and wait of each dimension (``dimension``) in each window (``row``), null where no
    call is matched. As in the distributed view, calls are not cut at the edges of their step."""
    codes = len(COST_DIMENSIONS)
    ranges = selected.ranges.filter(pl.col("transfer_ns").is_not_null()).join(
        calls.select("worker", "record", "row", "dimension"), on=["worker", "record"]
    )
    key = (ranges["row"] * codes + ranges["dimension"]).to_numpy()
    start, end = ranges["start_ns"].to_numpy(), ranges["end_ns"].to_numpy()
    covered = union_lengths(key, start, end, windows * codes)
    transfer = union_lengths(key, end - ranges["transfer_ns"].to_numpy(), end, windows * codes)
    known = np.isin(np.arange(windows * codes), key)
    return _grid(windows).with_columns(
        pl.when(pl.Series(known)).then(pl.Series(transfer)).alias("transfer_ns"),
        pl.when(pl.Series(known)).then(pl.Series(covered - transfer)).alias("wait_ns"),
    )


def _shared(
    traces: Mapping[str, Trace],
    matching: Matching,
    frame: pl.DataFrame,
    dimensions: pl.DataFrame,
) -> pl.DataFrame:
    """Total, exposed and hidden time of each dimension in each window, null for a dimension that
    has no time on the worker."""
    calls = matching.calls.select("worker", "record", "group_key")
    ranges = matching.ranges.select("worker", "record", "start_ns", "end_ns").join(
        _with_codes(calls, dimensions), on=["worker", "record"]
    )
    busy = [computation(traces[worker]) for worker in matching.workers]
    heights = [len(each.start_ns) for each in busy]
    empty = np.empty(0, np.int64)
    line = _Line(frame, len(matching.workers))
    times = exposed_times(
        line.windows(frame),
        line.moved(
            ranges["worker"].to_numpy(),
            ranges["start_ns"].to_numpy(),
            ranges["end_ns"].to_numpy(),
            ranges["dimension"].to_numpy(),
        ),
        line.moved(
            np.repeat(np.arange(len(busy)), heights),
            np.concatenate([empty, *(each.start_ns for each in busy)]),
            np.concatenate([empty, *(each.end_ns for each in busy)]),
        )[1:],
        len(COST_DIMENSIONS),
    )
    timed = ranges.select("worker", "dimension", timed=True).unique()
    return (
        _grid(frame.height)
        .with_columns(
            total_ns=times.total.ravel(),
            exposed_ns=times.exposed.ravel(),
            hidden_ns=times.hidden.ravel(),
        )
        .join(frame.select("row", "worker"), on="row")
        .join(timed, on=["worker", "dimension"], how="left")
        .select(
            "row",
            "dimension",
            pl.when("timed").then(pl.col("total_ns", "exposed_ns", "hidden_ns")),
        )
    )


def _grid(windows: int) -> pl.DataFrame:
    """A row per window (``row``) and dimension (``dimension``), windows first."""
    codes = len(COST_DIMENSIONS)
    return pl.DataFrame(
        {
            "row": np.repeat(np.arange(windows, dtype=np.int64), codes),
            "dimension": np.tile(np.arange(codes, dtype=np.int64), windows),
        }
    )


class _Line:
    """One line of time on which the windows of all workers lie one worker after another.

    Args:
        frame: The windows, by worker and time.
        workers: How many workers there are.
    """

    def __init__(self, frame: pl.DataFrame, workers: int) -> None:
        self.first = np.zeros(workers, np.int64)
        self.last = np.zeros(workers, np.int64)
        spans = frame.group_by("worker").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
        index = spans["worker"].to_numpy()
        self.first[index] = spans["start_ns"].to_numpy()
        self.last[index] = spans["end_ns"].to_numpy()
        length = self.last - self.first
        self.shift = np.cumsum(length) - length - self.first

    def windows(self, frame: pl.DataFrame) -> tuple[Int64, Int64]:
        """Starts and ends of the windows on the line."""
        shift = self.shift[frame["worker"].to_numpy()]
        return frame["start_ns"].to_numpy() + shift, frame["end_ns"].to_numpy() + shift

    def moved(
        self, worker: Int64, start_ns: Int64, end_ns: Int64, group: Int64 | None = None
    ) -> tuple[Int64, Int64, Int64]:
        """Group, start and end of what lies within the windows of its worker, on the line."""
        start = np.maximum(start_ns, self.first[worker])
        end = np.minimum(end_ns, self.last[worker])
        inside = end > start
        shift = self.shift[worker[inside]]
        chosen = worker if group is None else group
        return chosen[inside], start[inside] + shift, end[inside] + shift
