"""The calls of operators and what each costs: the shared basis of every table of operators.

Definitions: ``docs/metrics.md#operators``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.idle.gaps import gaps_before
from torch_tb_profiler.analysis.operators.call_stacks import call_stacks
from torch_tb_profiler.analysis.operators.call_tree import call_tree, device_sums_of_calls
from torch_tb_profiler.analysis.operators.python_functions import python_inside
from torch_tb_profiler.analysis.operators.recursion import inside_own_group, same_name_around
from torch_tb_profiler.analysis.recording.kernel_kinds import eligible_slices, kernel_kinds
from torch_tb_profiler.analysis.recording.missing_reasons import missing_reason
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, in_selection, slice_steps
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_STEMS = ("self", "total")


@per_trace
def operator_calls(trace: Trace) -> pl.DataFrame:
    """One row per call of an operator, in order of slice id, with what it costs; made once.

    Columns: call (number in :func:`call_tree`), slice, start_ns, name_code, input_shape_code,
    calls (1), host_self_ns, host_python_ns (part of it), host_total_ns, device_self_ns,
    device_total_ns,
    tensor_core_self_ns, tensor_core_total_ns, the same for tensor_core_unknown (time of kernels no
    rule knows), eligible, around (slice of the nearest call of the
    same name around it, -1 for none); and for both device times whether kernels some rule knows
    (known_self, known_total) or no rule knows (unknown_self, unknown_total) are part of them.
    """
    slices, ids = trace.slices, call_tree(trace).slice
    frame = slices.select(
        "start_ns",
        "name_code",
        host_self_ns="self_ns",
        host_total_ns="dur_ns",
    )[ids]
    shapes = np.full(slices.height, -1, np.int32)
    arguments = trace.operators
    shapes[arguments["slice"].to_numpy()] = arguments["input_shape_code"].fill_null(-1).to_numpy()
    every_work = np.ones(trace.device_work.height, np.bool_)
    calls: pl.DataFrame = frame.with_columns(
        call=pl.Series(np.arange(len(ids))),
        slice=pl.Series(ids),
        input_shape_code=pl.Series(shapes[ids]),
        calls=pl.lit(1, pl.Int64),
        host_python_ns=pl.Series(python_inside(trace)[ids]),
        **_device_times(trace, every_work),
        eligible=pl.Series(eligible_slices(trace)[ids]),
        around=pl.Series(same_name_around(trace)),
    )
    return calls


def no_operators(trace: Trace) -> str | None:
    """Why a recording has no operators; None where it has some."""
    if operator_calls(trace).is_empty():
        return missing_reason(trace, "operators", "The recording holds no operator.")
    return None


def _device_times(trace: Trace, work: Bools) -> dict[str, pl.Series]:
    """The device columns of :func:`operator_calls`, of the device work in ``work`` alone."""
    kinds = kernel_kinds(trace)
    is_unknown = kinds.tensor_core == codes.UNKNOWN
    measures: tuple[tuple[str, Bools, type[np.generic]], ...] = (
        ("device_{}_ns", work, np.int64),
        ("tensor_core_{}_ns", work & (kinds.tensor_core == codes.YES), np.int64),
        ("tensor_core_unknown_{}_ns", work & is_unknown, np.int64),
        ("known_{}", work & kinds.is_kernel & ~is_unknown, np.bool_),
    )
    times = {
        key.format(stem): pl.Series(ns.astype(dtype, copy=False))
        for key, rows, dtype in measures
        for stem, ns in zip(_STEMS, device_sums_of_calls(trace, rows), strict=True)
    }
    has_unknown = {f"unknown_{s}": times[f"tensor_core_unknown_{s}_ns"] > 0 for s in _STEMS}
    return times | has_unknown


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

    Calls are in a selection by their start, device work as in the tables of kernels: a call outside
    the selection that launched some of its device work has a row with that, 0 calls and no host
    time.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = operator_calls(trace)
    if with_call_stacks:
        calls = calls.with_columns(_call_stack_codes(trace))
    if selection.is_everything:
        return calls
    steps = pl.Series(slice_steps(trace)[calls["slice"].to_numpy()])
    chosen = in_selection(trace, selection, steps, calls["start_ns"], calls["slice"])
    if trace.device_work.is_empty():
        return calls.filter(pl.Series(chosen))
    times = _device_times(trace, device_work_mask(trace, selection))
    is_shown = chosen | (times["device_total_ns"].to_numpy() > 0)
    rows = np.flatnonzero(is_shown)
    # Only what is shown is copied.
    is_chosen = pl.Series(chosen[rows].astype(np.int64))
    host = pl.col("calls", "host_self_ns", "host_python_ns", "host_total_ns") * is_chosen
    of_rows = {key: pl.Series(values.to_numpy()[rows]) for key, values in times.items()}
    shown = calls.drop(of_rows).filter(pl.Series(is_shown))
    return shown.with_columns(host, **of_rows).select(calls.columns)


def operator_groups(
    calls: pl.DataFrame, keys: Sequence[str], *, with_durations: bool = False
) -> pl.DataFrame:
    """Calls summed by ``keys``, in order of first call: the keys, ``calls``, the sum of every
    ``…_ns``, whether any kernel was known or unknown, and the largest verdict ``eligible``.

    Totals are those of the outermost calls of a group: what a call inside another one of its group
    took is part of that. ``with_durations`` adds ``mean``, ``median``, ``p95`` and ``std`` of the
    durations of single calls on the host in ns (null without a call; ``std`` without a second).
    """
    if with_durations:
        duration = pl.when(pl.col("calls") > 0).then(pl.col("host_total_ns"))
        calls = calls.with_columns(duration.alias("duration"))
    in_host, in_device = inside_own_group(calls, keys)
    if in_device.any():
        of_device = pl.col(
            "device_total_ns", "tensor_core_total_ns", "tensor_core_unknown_total_ns"
        )
        calls = calls.with_columns(
            pl.col("host_total_ns") * pl.Series(~in_host).cast(pl.Int64),
            of_device * pl.Series(~in_device).cast(pl.Int64),
        )
    return calls.group_by(keys, maintain_order=True).agg(
        pl.col("calls").sum(),
        pl.col("^.*_ns$").exclude("start_ns").sum(),
        pl.col("^(un)?known_.*$").any(),
        pl.col("eligible").max(),
        *(_durations() if with_durations else ()),
    )


def _durations() -> tuple[pl.Expr, ...]:
    duration = pl.col("duration")
    return (
        duration.mean().alias("mean"),
        duration.median().alias("median"),
        duration.quantile(0.95, "linear").alias("p95"),
        pl.when(duration.count() > 1).then(duration.std(ddof=0)).alias("std"),
    )


def gaps_before_calls(trace: Trace, selection: Selection, calls: pl.DataFrame) -> pl.Series:
    """Per row of :func:`selected_operator_calls` the time in ns in which devices were idle directly
    before the selected work that the call launched itself."""
    tree, gaps = call_tree(trace), gaps_before(trace)
    own = (
        tree.is_own if selection.is_everything else tree.is_own & device_work_mask(trace, selection)
    )
    rows = np.flatnonzero(own & (gaps > 0))
    before = np.zeros(len(tree.slice), np.int64)
    np.add.at(before, tree.owner[rows], gaps[rows])
    if not selection.is_everything:
        before = before[calls["call"].to_numpy()]
    return pl.Series(before)
