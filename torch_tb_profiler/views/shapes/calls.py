"""The calls of operators in iterations, with their shapes: of a timeline, or of a file."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.operators.calls import operator_calls, selected_operator_calls
from torch_tb_profiler.analysis.operators.identity import operator_identity, operator_paths
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.analysis.steps.reported_by_profiler import rows_of_steps
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US


class Coded(Struct, frozen=True, eq=False):
    """A column of calls.

    Attributes:
        of_calls: Number of each call's text, from 0.
        texts: The texts, each once, null for what was not recorded.
    """

    of_calls: Int64
    texts: pl.Series


class Calls(Struct, frozen=True, eq=False):
    """Calls of operators in iterations.

    Attributes:
        iteration: Names of steps, in their order.
        operator: Paths of operators, or names in a file.
        type: Names of operators, or their types.
        shape: Shapes of the inputs.
        time_us: NaN where it was not recorded.
    """

    iteration: Coded
    operator: Coded
    type: Coded
    shape: Coded
    time_us: Float64


@per_trace
def has_shapes(trace: Trace) -> bool:
    """Whether any operator has a recorded shape; cached per trace."""
    return bool((operator_calls(trace)["input_shape_code"] >= 0).any())


def calls_of_timeline(trace: Trace, selection: Selection) -> Calls:
    """The calls with a recorded shape that lie in an iteration, without those that the recording
    ended in where nobody asks for them.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = selected_operator_calls(trace, selection)
    step = slice_steps(trace)[calls["slice"].to_numpy()]
    of_call = operator_identity(trace).operator
    time = "host_self_ns" if no_device_time(trace) is not None else "device_self_ns"
    shape = calls["input_shape_code"].to_numpy()
    chosen = (step >= 0) & (shape >= 0) & (calls["calls"].to_numpy() > 0)
    is_complete = trace.steps["kept"].to_numpy()
    if selection.steps is None and is_complete.any():
        chosen &= is_complete[step]
    rows = np.flatnonzero(chosen)
    operators, operator = factorize(of_call[calls["call"].to_numpy()[rows]])
    paths = operator_paths(trace).gather(operators)
    return Calls(
        Coded(step[rows], trace.steps["name"]),
        Coded(operator, paths),
        _of_codes(trace, calls["name_code"].to_numpy()[rows]),
        _of_codes(trace, shape[rows]),
        calls[time].to_numpy()[rows] / NS_PER_US,
    )


def _of_codes(trace: Trace, of_rows: Int64) -> Coded:
    distinct, number = factorize(of_rows)
    return Coded(number, codes.texts(trace, pl.Series(distinct)))


def calls_of_file(trace: Trace, selection: Selection) -> Calls:
    """The calls in the side table.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    rows = rows_of_steps(trace, selection, trace.side["recorded_shapes"].frame, "iteration")
    return Calls(
        _of_texts(rows["iteration"].cast(pl.String)),
        _of_texts(rows["name"]),
        _of_texts(rows["type"]),
        _of_texts(rows["input_shapes"]),
        rows["time_us"].fill_null(np.nan).to_numpy(),
    )


def _of_texts(column: pl.Series) -> Coded:
    """The texts of a file, in the order in which they come."""
    texts = column.rename("text").unique(maintain_order=True)
    numbers = texts.to_frame().with_row_index("number")
    joined = (
        column.rename("text")
        .to_frame()
        .join(numbers, on="text", how="left", nulls_equal=True, maintain_order="left")
    )
    return Coded(joined["number"].cast(pl.Int64).to_numpy(), texts)
