"""FLOPs of the model in a step, and how much of the peak of each device they are (MFU).

Definitions: ``docs/views-efficiency.md#mfu``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.efficiency.calls import HoldingCalls, holding_calls
from torch_tb_profiler.analysis.efficiency.roofs import roof_times
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_steps
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.knowledge.formulas import KINDS
from torch_tb_profiler.knowledge.peaks import PEAK_TYPES
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace

HOST = -1
"""The device of work on the host."""


class DeviceModel(Struct, frozen=True, eq=False):
    """The products of a model on one device, summed over the steps that are looked at.

    Attributes:
        device: Which; :data:`HOST` for the host.
        flops: Their FLOPs.
        flops_by_type: Type whose peak they compare with → FLOPs; None for an unknown type.
        peak_ns: How long they would take at the peaks of their types; None where one is not known.
    """

    device: int
    flops: float
    flops_by_type: dict[str | None, float]
    peak_ns: float | None

    @property
    def peak_tflops(self) -> float | None:
        """The peak that MFU divides by, in TFLOP/s: of their type, or of several the one that gives
        the same time for all of them."""
        return self.flops / self.peak_ns / 1e3 if self.peak_ns else None


class ModelWork(Struct, frozen=True, eq=False):
    """The products of the steps that are looked at.

    Attributes:
        steps: How many steps.
        wall_ns: From border to border, summed over them.
        devices: What each device did.
        calls_by_kind: Kind of formula → calls.
        backward_flops: FLOPs of calls in autograd's backward nodes; None where the recorder does
            not mark them, though operators are there that only a backward pass calls.
        unknown_calls: Calls of products whose FLOPs are not known.
        unknown_time_ns: Their device time.
    """

    steps: int
    wall_ns: int
    devices: tuple[DeviceModel, ...]
    calls_by_kind: dict[str, int]
    backward_flops: float | None
    unknown_calls: int
    unknown_time_ns: int

    @property
    def flops(self) -> float:
        """Of all devices."""
        return sum(one.flops for one in self.devices)

    def mfu_pct(self, device: DeviceModel) -> float | None:
        """Share of its peak that a device reached over the steps, between their borders."""
        if device.peak_ns is None or not self.wall_ns:
            return None
        return device.peak_ns / self.wall_ns * 100


def model_work(
    trace: Trace, selection: Selection, mask: Bools, peak: str | None = None
) -> ModelWork:
    """The products of the steps of a selection: of those that are whole, of all where none is.

    Args:
        trace: The trace.
        selection: Which steps; a time range cuts them.
        mask: The calls of the selection, as ``selected_calls`` gives them.
        peak: What devices reach at most, where it is given.

    Raises:
        SelectionError: the selection or the peak makes no sense for this trace.
    """
    calls = holding_calls(trace)
    windows = step_windows(trace, selection).of_averages
    window = np.append(windows.of_step, -1)[slice_steps(trace)[calls.slice]]
    chosen = mask & calls.is_product & (window >= 0)
    is_known = ~np.isnan(calls.flops)
    rows, unknown = np.flatnonzero(chosen & is_known), np.flatnonzero(chosen & ~is_known)
    peak_ns = roof_times(trace, peak).compute_ns
    return ModelWork(
        steps=len(windows.names),
        wall_ns=int((windows.end_ns - windows.start_ns).sum()),
        devices=tuple(
            _of_device(calls, peak_ns, rows[calls.device[rows] == device], device)
            for device in distinct_values(calls.device[rows]).tolist()
        ),
        calls_by_kind=_kinds(calls, rows),
        backward_flops=_backward_flops(trace, calls, np.flatnonzero(chosen)),
        unknown_calls=len(unknown),
        unknown_time_ns=int(calls.time_ns[unknown].sum()),
    )


def _of_device(calls: HoldingCalls, peak_ns: np.ndarray, rows: Int64, device: int) -> DeviceModel:
    flops = calls.flops[rows]
    names = (*PEAK_TYPES, None)
    by_type = np.bincount(calls.peak_type[rows] % len(names), flops, len(names))
    at_peak = float(peak_ns[rows].sum())
    return DeviceModel(
        device=device,
        flops=float(flops.sum()),
        flops_by_type={
            name: amount for name, amount in zip(names, by_type.tolist(), strict=True) if amount
        },
        peak_ns=None if np.isnan(at_peak) else at_peak,
    )


def _kinds(calls: HoldingCalls, rows: Int64) -> dict[str, int]:
    counts = np.bincount(calls.kind[rows], minlength=len(KINDS)).tolist()
    return {name: count for name, count in zip(KINDS, counts, strict=True) if count}


def _backward_flops(trace: Trace, calls: HoldingCalls, rows: Int64) -> float | None:
    """FLOPs of those of ``rows`` that are in backward nodes; None where none is marked."""
    is_backward = backward_nodes(trace).around[calls.slice[rows]] >= 0
    if not is_backward.any():
        names = operator_calls(trace)["name_code"].to_numpy()[calls.row[rows]]
        if map_names(trace, names, lambda name: "_backward" in name, np.bool_).any():
            return None
    return float(np.nansum(calls.flops[rows[is_backward]]))
