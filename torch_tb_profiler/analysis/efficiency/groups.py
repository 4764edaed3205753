"""Work, time and roofs of calls, summed by what rows are grouped by.

Definitions: ``docs/views-efficiency.md#how-it-is-counted``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.efficiency.calls import HoldingCalls, holding_calls
from torch_tb_profiler.analysis.efficiency.roofs import RoofTimes, roof_times
from torch_tb_profiler.analysis.efficiency.tiles import tiled_flops
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.analysis.operators.identity import operator_types_of_calls
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import in_selection, slice_steps
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

_SUMS = (
    "calls",
    "time_ns",
    "kernels",
    "flops",
    "bytes",
    "stated_flops",
    "compute_ns",
    "memory_ns",
    "roof_ns",
    "flops_time_ns",
    "bytes_time_ns",
    "roof_time_ns",
    "left_ns",
    "compute_time_ns",
    "both_flops",
    "both_bytes",
    "stated_beside_flops",
    "tiled_flops",
    "beside_tiled_flops",
)
_KNOWN = (
    "flops",
    "bytes",
    "stated_flops",
    "compute_ns",
    "memory_ns",
    "roof_ns",
    "both_bytes",
    "tiled_flops",
)
"""Sums of figures that may be unknown: null where none of a group is known."""

KEYS = {
    "operator": ("name_code",),
    "operator+input_shape": ("name_code", "input_shape_code"),
    "module": ("module",),
    "type": ("type",),
    "step": ("step",),
}
"""Grouping → the columns of :func:`grouped` that tell its rows apart."""


def selected_calls(trace: Trace, selection: Selection) -> Bools:
    """Mask over :func:`holding_calls` of those that begin in the selection; device time and work
    go with the call. Where devices were recorded, calls without any device work ran on the host,
    and are in no selection.

    Raises:
        SelectionError: the selection makes no sense for this trace.
    """
    calls = holding_calls(trace)
    has_devices = no_device_time(trace) is None
    ran: Bools = calls.kernels > 0 if has_devices else np.ones(len(calls.row), np.bool_)
    if selection.is_everything:
        return ran
    steps = pl.Series(slice_steps(trace)[calls.slice])
    starts = pl.Series(calls.start_ns)
    return ran & in_selection(trace, selection, steps, starts, pl.Series(calls.slice))


def grouped(
    trace: Trace,
    group_by: str,
    mask: Bools,
    peak: str | None = None,
    sums: Sequence[str] = _SUMS,
) -> pl.DataFrame:
    """The calls of ``mask`` summed by a key of :data:`KEYS`, in order of first call.

    Columns: those of the key; ``calls``, ``time_ns`` and so on (:data:`_SUMS`), of which
    ``flops_time_ns`` is the time of calls whose FLOPs are known, ``roof_time_ns`` of those whose
    roof is, ``left_ns`` what each took longer than that, ``both_flops`` and ``both_bytes`` the sums
    of calls of which both are known,
    ``stated_beside_flops`` the FLOPs that formulas tell of calls the recording states FLOPs of,
    ``tiled_flops`` those of products with full tiles and ``beside_tiled_flops`` their own; and the
    lists ``kinds`` and ``peak_types`` of those that took most time first. Roofs are at ``peak``
    where it is given. ``sums`` names the sums that are asked for, ``time_ns`` among them.

    Raises:
        SelectionError: ``peak`` cannot be understood.
    """
    keys = KEYS[group_by]
    columns = _columns(trace, peak).select("kind", "peak_type", *sums)
    frame = columns.with_columns(pl.Series(key, key_of_calls(trace, key)) for key in keys)
    if not mask.all():
        frame = frame.filter(pl.Series(mask))
    parts = [*keys, "kind", "peak_type"]
    fine = frame.group_by(parts, maintain_order=True).agg(
        *(pl.col(name).sum() for name in sums),
        *(pl.col(name).is_not_null().any().alias(f"has_{name}") for name in _known(sums)),
    )
    return _joined(fine, keys, sums)


def _known(sums: Sequence[str]) -> list[str]:
    return [name for name in sums if name in _KNOWN]


def _joined(fine: pl.DataFrame, keys: Sequence[str], sums: Sequence[str]) -> pl.DataFrame:
    """Sums by keys, kind and type as sums by keys, with kinds and types as lists."""
    by_time = pl.col("time_ns")
    joined: pl.DataFrame = fine.group_by(keys, maintain_order=True).agg(
        *(pl.col(name).sum() for name in sums),
        *(pl.col(f"has_{name}").any() for name in _known(sums)),
        pl.col("kind").sort_by(by_time, descending=True).unique(maintain_order=True),
        pl.col("peak_type").sort_by(by_time, descending=True).unique(maintain_order=True),
    )
    return joined.with_columns(
        pl.when(pl.col(f"has_{name}")).then(pl.col(name)).alias(name) for name in _known(sums)
    )


def key_of_calls(trace: Trace, key: str) -> Int64:
    """Per holding call its number under a column of :data:`KEYS`, -1 for none."""
    if key == "module":
        return _modules(trace)
    calls = holding_calls(trace)
    if key == "type":
        types: Int64 = operator_types_of_calls(trace)[calls.row].astype(np.int64)
        return types
    if key == "step":
        return _steps(trace)
    codes: Int64 = operator_calls(trace)[key].to_numpy()[calls.row].astype(np.int64)
    return codes


@per_split
def _steps(trace: Trace) -> Int64:
    steps: Int64 = slice_steps(trace)[holding_calls(trace).slice].astype(np.int64)
    return steps


@per_trace
def _modules(trace: Trace) -> Int64:
    """Per holding call the innermost module it is work of, forward or backward; -1 for none."""
    tree, slices = module_tree(trace), holding_calls(trace).slice
    backward = tree.backward_of[slices]
    occurrence = np.where(backward >= 0, backward, tree.around[slices])
    return gather(tree.node, occurrence)


def _columns(trace: Trace, peak: str | None) -> pl.DataFrame:
    if peak is None:
        return _of_vendors(trace)
    return call_columns(holding_calls(trace), roof_times(trace, peak), tiled_flops(trace))


@per_trace
def _of_vendors(trace: Trace) -> pl.DataFrame:
    return call_columns(holding_calls(trace), roof_times(trace), tiled_flops(trace))


def call_columns(calls: HoldingCalls, roofs: RoofTimes, tiled: Float64) -> pl.DataFrame:
    """What :func:`grouped` sums, a row per call; null where unknown."""
    time = calls.time_ns
    has_flops, has_bytes = ~np.isnan(calls.flops), ~np.isnan(calls.bytes)
    both, stated = has_flops & has_bytes, ~np.isnan(calls.stated_flops)
    frame = pl.DataFrame(
        {
            "kind": calls.kind,
            "peak_type": calls.peak_type,
            "calls": np.ones(len(time), np.int64),
            "time_ns": time,
            "kernels": calls.kernels,
            "flops": calls.flops,
            "bytes": calls.bytes,
            "stated_flops": calls.stated_flops,
            "compute_ns": roofs.compute_ns,
            "memory_ns": roofs.memory_ns,
            "roof_ns": np.where(time > 0, roofs.roof_ns, np.nan),
            "flops_time_ns": time * has_flops,
            "bytes_time_ns": time * has_bytes,
            "roof_time_ns": time * ~np.isnan(roofs.roof_ns),
            "left_ns": np.nan_to_num(np.maximum(time - roofs.roof_ns, 0)),
            "compute_time_ns": time * ~np.isnan(roofs.compute_ns),
            "both_flops": np.where(both, calls.flops, 0.0),
            "both_bytes": np.where(both, calls.bytes, np.nan),
            "stated_beside_flops": np.where(stated & has_flops, calls.flops, 0.0),
            "tiled_flops": tiled,
            "beside_tiled_flops": np.where(np.isnan(tiled), 0.0, calls.flops),
        }
    )
    return frame.with_columns(pl.col(name).fill_nan(None) for name in _KNOWN)
