"""The calls of operators in iterations, with their shapes: of a timeline, or of a file."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.device_links import no_device_time
from torch_tb_profiler.analysis.operator_calls import operator_calls, selected_operator_calls
from torch_tb_profiler.analysis.operator_identity import operator_identity
from torch_tb_profiler.analysis.recorded_rows import rows_of_steps
from torch_tb_profiler.analysis.selection import Selection, slice_steps
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US

NO_CODE = -1


@per_trace
def has_shapes(trace: Trace) -> bool:
    """Whether any operator has a recorded shape; made once."""
    return bool((operator_calls(trace)["input_shape_code"] >= 0).any())


def calls_of_timeline(trace: Trace, selection: Selection) -> pl.DataFrame:
    """A row per call with a recorded shape that lies in an iteration, without those that the
    recording ended in where nobody asks for them: ``iteration`` (row of the
    steps), ``operator`` (number in :func:`operator_identity`), ``type`` (code of its name),
    ``shape`` (code), ``time_us``.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = selected_operator_calls(trace, selection)
    step = slice_steps(trace)[calls["slice"].to_numpy()]
    operator = operator_identity(trace).operator[calls["call"].to_numpy()]
    time = "host_self_ns" if no_device_time(trace) is not None else "device_self_ns"
    shape = calls["input_shape_code"].to_numpy()
    chosen = (step >= 0) & (shape >= 0) & (calls["calls"].to_numpy() > 0)
    kept = trace.steps["kept"].to_numpy()
    if selection.steps is None and kept.any():
        chosen &= kept[step]
    rows = np.flatnonzero(chosen)
    return pl.DataFrame(
        {
            "iteration": step[rows],
            "operator": operator[rows].astype(np.int64),
            "type": calls["name_code"].to_numpy()[rows],
            "shape": shape[rows],
            "time_us": calls[time].to_numpy()[rows] / NS_PER_US,
        }
    )


def calls_of_file(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The same of the side table, with texts in place of codes, null where nothing was recorded.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    rows = rows_of_steps(trace, selection, trace.side["recorded_shapes"].frame, "iteration")
    return rows.select(
        iteration=pl.col("iteration").cast(pl.String),
        operator="name",
        type="type",
        shape="input_shapes",
        time_us="time_us",
    )


def by_iteration(calls: pl.DataFrame, key: str, *, with_shapes: bool) -> pl.DataFrame:
    """Calls summed per value of ``key`` and iteration (and shape), with the figures over the
    iterations of that value: columns ``key``, ``iteration``, (``shape``, ``type``), ``calls``,
    ``time_us``, ``mean_us``, ``min_us``, ``max_us``, ``distinct_shapes``."""
    # A sum of nothing known is not 0.
    time = pl.when(pl.col("time_us").is_not_null().any()).then(pl.col("time_us").sum())
    per_iteration = calls.group_by(key, "iteration", maintain_order=True).agg(time.alias("time_us"))
    over = per_iteration.group_by(key, maintain_order=True).agg(
        mean_us=pl.col("time_us").mean(),
        min_us=pl.col("time_us").min(),
        max_us=pl.col("time_us").max(),
    )
    shapes = (
        calls.filter(pl.col("shape").is_not_null())
        .group_by(key)
        .agg(distinct_shapes=pl.col("shape").n_unique().cast(pl.Int64))
    )
    keys = [key, "iteration", "shape", "type"] if with_shapes else [key, "iteration"]
    rows = calls.group_by(keys, maintain_order=True).agg(
        calls=pl.len().cast(pl.Int64), time_us=time.alias("time_us")
    )
    for figures in (over, shapes):
        rows = rows.join(figures, on=key, how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(pl.col("distinct_shapes").fill_null(0))
