"""The calls of operators and what each costs: the shared basis of every table of operators.

Definitions: ``docs/metrics.md#operators``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.call_stacks import call_stacks
from torch_tb_profiler.analysis.kernel_kinds import (
    device_time_of_slices,
    eligible_slices,
    kernel_kinds,
)
from torch_tb_profiler.analysis.operator_mask import operator_mask
from torch_tb_profiler.analysis.selection import Selection, in_selection
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_STEMS = ("self", "total")


@per_trace
def operator_calls(trace: Trace) -> pl.DataFrame:
    """One row per call of an operator, in order of slice id, with what it costs; made once.

    Columns: slice, step, start_ns, name_code, input_shape_code, host_self_ns, host_total_ns,
    device_self_ns, device_total_ns, tensor_core_self_ns, tensor_core_total_ns, eligible; and for
    both device times whether kernels some rule knows (known_self, known_total) or no rule knows
    (unknown_self, unknown_total) are part of them.
    """
    slices = trace.slices
    ids = np.flatnonzero(operator_mask(trace) & slices["absorbed_into"].is_null().to_numpy())
    kinds = kernel_kinds(trace)
    is_unknown = kinds.tensor_core == codes.UNKNOWN
    columns: dict[str, pl.Series] = {}

    def measure(key: str, rows: Bools, dtype: type[np.generic]) -> None:
        for stem, ns in zip(_STEMS, device_time_of_slices(trace, rows), strict=True):
            columns[key.format(stem)] = pl.Series(ns[ids].astype(dtype, copy=False))

    measure("tensor_core_{}_ns", kinds.tensor_core == codes.YES, np.int64)
    measure("unknown_{}", is_unknown, np.bool_)
    measure("known_{}", kinds.is_kernel & ~is_unknown, np.bool_)
    frame = slices.select(
        "step",
        "start_ns",
        "name_code",
        host_self_ns="self_ns",
        host_total_ns="dur_ns",
        device_self_ns="device_self_ns",
        device_total_ns="device_total_ns",
    )[ids]
    shapes = np.full(slices.height, -1, np.int32)
    arguments = trace.operators
    shapes[arguments["slice"].to_numpy()] = arguments["input_shape_code"].fill_null(-1).to_numpy()
    calls: pl.DataFrame = frame.with_columns(
        slice=pl.Series(ids),
        input_shape_code=pl.Series(shapes[ids]),
        **columns,
        eligible=pl.Series(eligible_slices(trace)[ids]),
    )
    return calls


@per_trace
def _call_stack_codes(trace: Trace) -> pl.Series:
    """The call stack of each row of :func:`operator_calls`, -1 for none."""
    slices = operator_calls(trace)["slice"].to_numpy()
    return pl.Series("call_stack_code", call_stacks(trace).code[slices])


def selected_operator_calls(
    trace: Trace, selection: Selection, *, with_call_stacks: bool = False
) -> pl.DataFrame:
    """The rows of :func:`operator_calls` in a selection, with ``call_stack_code`` (-1 for none)
    where it is asked for.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = operator_calls(trace)
    if with_call_stacks:
        calls = calls.with_columns(_call_stack_codes(trace))
    if selection.is_everything:
        return calls
    return calls.filter(in_selection(trace, selection, calls["step"], calls["start_ns"]))


def operator_groups(calls: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Calls summed by ``keys``, in order of first call: the keys, ``calls``, the sum of every
    ``…_ns``, whether any kernel was known or unknown, and the largest verdict ``eligible``."""
    return calls.group_by(keys, maintain_order=True).agg(
        pl.len().alias("calls"),
        pl.col("^.*_ns$").exclude("start_ns").sum(),
        pl.col("^(un)?known_.*$").any(),
        pl.col("eligible").max(),
    )
