"""The facts of the view of efficiency: FLOPs of the model, MFU, and what the figures cover.

Definitions: ``docs/views-efficiency.md#mfu``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.efficiency.calls import HoldingCalls, holding_calls
from torch_tb_profiler.analysis.efficiency.model import HOST, DeviceModel, ModelWork
from torch_tb_profiler.analysis.efficiency.peaks import described
from torch_tb_profiler.analysis.efficiency.roofs import RoofTimes
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.knowledge.peaks import DevicePeaks
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Fact, Scalar, Unit

NO_PRODUCT = (
    "The selected steps contain no matrix product, convolution or attention with known FLOPs; "
    "FLOPs are computed from input shapes."
)
NO_STEP = "The selection contains no step to compare with."
NO_DEVICE = "The matrix products ran on the host, whose peak is unknown."
NO_BACKWARD = "The backward pass is not marked in the recording (torch before 1.9)."
NO_TIME = "No device time in the selection."

_MODEL = (
    "Floating-point operations of matrix products, convolutions and attention in one step, "
    "forward and backward, computed from their shapes: mean over complete steps."
)
_MOST_PCT = 100.0
TOO_FAST = (
    "More than the device can compute in this time: the selection cuts through calls, or the "
    "peak is wrong. Select complete steps."
)
_MFU = (
    "Model FLOPs Utilization: FLOPs of the model as share of what the device could compute in "
    "the full duration of the steps, idle time included."
)
_PEAK = "Peak used for MFU: the vendor's dense figure for the data type of the matrix products"


def model_facts(
    trace: Trace, model: ModelWork, peaks: Mapping[int, DevicePeaks]
) -> tuple[Fact, ...]:
    """FLOPs of the model and MFU, with what was counted."""
    reason = NO_STEP if not model.steps else None
    if reason is None and not model.flops:
        reason = missing_reason(trace, "input_shapes", NO_PRODUCT)
    per_step = model.flops / model.steps if reason is None else None
    facts = [
        _fact(
            "model_flops_per_step",
            "FLOPs of the model per step",
            per_step,
            "flops",
            _MODEL,
            reason=reason,
        )
    ]
    on_devices = [one for one in model.devices if one.device != HOST]
    if reason is None and not on_devices:
        reason = no_device_time(trace) or NO_DEVICE
    if reason is not None:
        return (
            *facts,
            _fact("mfu_pct", "MFU", None, "pct", _MFU, reason=reason),
            _fact("peak_tflops", "Peak (TFLOP/s)", None, None, f"{_PEAK}.", reason=reason),
            *(_counted(model) if per_step is not None else ()),
        )
    facts += [fact for one in on_devices for fact in _of_device(trace, model, one, peaks)]
    if len(on_devices) > 1:
        shares = [model.mfu_pct(one) for one in on_devices]
        known = [share for share in shares if share is not None and share <= _MOST_PCT]
        mean = sum(known) / len(known) if len(known) == len(shares) else None
        unknown = None if mean is not None else "The value of one of the devices is unknown."
        facts.append(
            _fact("mfu_pct", "MFU, mean", mean, "pct", f"{_MFU} Mean of devices.", reason=unknown)
        )
    return (*facts, *_counted(model))


def _of_device(
    trace: Trace, model: ModelWork, one: DeviceModel, peaks: Mapping[int, DevicePeaks]
) -> list[Fact]:
    scope = f"GPU {one.device}"
    types = ", ".join(name or "unknown type" for name in _by_amount(one.flops_by_type))
    reason = None
    named = dict(trace.devices.select("device", "name").rows()).get(one.device)
    if one.peak_ns is None:
        what = f"The peak of {named or 'this device'} for {types}"
        reason = f"{what} is unknown: specify it with --peak."
    source = described(peaks).get(one.device)
    amounts = _amounts(one)
    share = model.mfu_pct(one)
    is_possible = share is None or share <= _MOST_PCT
    no_share = reason if is_possible else TOO_FAST
    share = share if is_possible else None
    return [
        _fact("mfu_pct", "MFU", share, "pct", _MFU, reason=no_share, scope=scope),
        _fact(
            "peak_tflops",
            "Peak (TFLOP/s)",
            one.peak_tflops,
            None,
            f"{_PEAK} ({amounts}); with several types, the single peak that gives the same total "
            "time.",
            reason=reason,
            scope=scope,
        ),
        _fact(
            "device_name",
            "Device",
            named,
            None,
            "Recorded device name, used to look up its peaks.",
            reason=None if named else "The recording does not name its devices.",
            scope=scope,
        ),
        _fact(
            "peak_type",
            "Type of the peak",
            types,
            None,
            "Data types of the matrix products.",
            scope=scope,
        ),
        _fact(
            "peak_source",
            "Source of the peak",
            source,
            None,
            "Source of the peak figures of the device.",
            reason=None if source is not None else "No peak figures are known for this device.",
            scope=scope,
        ),
    ]


def _by_amount(flops_by_type: Mapping[str | None, float]) -> list[str | None]:
    return sorted(flops_by_type, key=lambda name: -flops_by_type[name])


def _amounts(one: DeviceModel) -> str:
    """``"bfloat16 98.2 %, float32 1.8 %"``."""
    return ", ".join(
        f"{name or 'unknown type'} {one.flops_by_type[name] / one.flops * 100:.3g} %"
        for name in _by_amount(one.flops_by_type)
    )


def _counted(model: ModelWork) -> tuple[Fact, ...]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in model.calls_by_kind.items())
    steps = "1 step" if model.steps == 1 else f"{model.steps} steps"
    text = (
        f"{kinds}; in {steps} with a total duration of {duration_text(model.wall_ns / NS_PER_US)}"
    )
    if model.unknown_calls:
        one = model.unknown_calls == 1
        calls = "1 call" if one else f"{model.unknown_calls} calls"
        text += f"; {calls} with unknown FLOPs {'is' if one else 'are'} not included"
    part = model.backward_flops
    backward = None if part is None else part / model.flops * 100
    return (
        _fact(
            "model_flops_counted",
            "Counted as the model",
            text,
            None,
            "Calls by kind of work, and the total duration of the steps.",
        ),
        _fact(
            "model_flops_backward_pct",
            "FLOPs in the backward pass",
            backward,
            "pct",
            "Share of these FLOPs in autograd's backward nodes. The backward pass of matrix "
            "products takes twice the FLOPs of the forward pass, so 67 % is typical of training. "
            "With activation checkpointing the forward pass runs twice.",
            reason=NO_BACKWARD,
        ),
    )


def coverage_facts(
    trace: Trace, mask: Bools, roofs: RoofTimes, outside_ns: int, recoverable_us: float | None
) -> tuple[Fact, ...]:
    """Which share of the device time figures are known of, and what it could do without; nothing
    where no device time is recorded."""
    if no_device_time(trace) is not None:
        return ()
    calls = holding_calls(trace)
    time = calls.time_ns[mask]
    whole = int(time.sum()) + outside_ns
    reason = None if whole else NO_TIME
    on_links = calls.is_on_links[mask]
    has_flops = (calls.flops[mask] > 0) & ~on_links
    has_bytes = ~np.isnan(calls.bytes[mask]) & ~on_links & ~has_flops

    def share(rows: Bools) -> float | None:
        return float(time[rows].sum()) / whole * 100 if reason is None else None

    shares = (share(has_flops), share(has_bytes), share(on_links))
    known = [one for one in shares if one is not None]
    neither = max(100 - sum(known), 0.0) if len(known) == len(shares) else None
    return (
        _fact(
            "recoverable_us",
            "Recoverable",
            recoverable_us if reason is None else None,
            "us",
            "Sum of Recoverable over all rows (estimated): device time in excess of the roofline "
            "limits.",
            reason=reason
            or ("No row has a known roofline limit." if recoverable_us is None else None),
        ),
        _fact(
            "time_with_flops_pct",
            "Time with FLOPs",
            shares[0],
            "pct",
            "Share of device time in calls with known FLOPs.",
            reason=reason,
        ),
        _fact(
            "time_with_bytes_only_pct",
            "Time with bytes only",
            shares[1],
            "pct",
            "Share of device time in calls for which only bytes are known: copies within the "
            "device, lookups, kernels with reported bytes.",
            reason=reason,
        ),
        _fact(
            "time_on_links_pct",
            "Time on links",
            shares[2],
            "pct",
            "Share of device time in communication and in copies to or from other memories, "
            "which have no roofline limit.",
            reason=reason,
        ),
        _fact(
            "time_without_work_pct",
            "Time with unknown work",
            neither,
            "pct",
            "Share of device time without a formula, or launched outside operators (graph "
            "replays, kernels with unknown launches).",
            reason=reason,
        ),
        *_speeds(calls, mask, roofs),
    )


def _speeds(calls: HoldingCalls, mask: Bools, roofs: RoofTimes) -> list[Fact]:
    """How fast each device's memory was while calls with known bytes ran."""
    facts = []
    chosen = mask & ~np.isnan(calls.bytes) & ~calls.is_on_links & (calls.time_ns > 0)
    for device in distinct_values(calls.device[chosen]).tolist():
        rows = np.flatnonzero(chosen & (calls.device == device))
        time, amount = float(calls.time_ns[rows].sum()), float(calls.bytes[rows].sum())
        at_roof = float(roofs.memory_ns[rows].sum())
        scope = f"GPU {device}"
        text = "Bytes divided by device time, over calls with known bytes."
        facts.append(
            _fact(
                "memory_gb_per_s", "Memory throughput", amount / time, "gb_per_s", text, scope=scope
            )
        )
        of_peak = None if np.isnan(at_roof) else at_roof / time * 100
        unknown = (
            "The memory bandwidth of this device is unknown: specify it with --peak "
            "bandwidth_gb_per_s=…."
        )
        facts.append(
            _fact(
                "memory_bandwidth_pct",
                "Share of memory bandwidth",
                of_peak,
                "pct",
                "Memory throughput as share of the peak bandwidth.",
                reason=unknown if of_peak is None else None,
                scope=scope,
            )
        )
    return facts


def type_facts(model: ModelWork) -> tuple[Fact, ...]:
    """How the FLOPs of the model are spread over types."""
    sums: dict[str | None, float] = {}
    for one in model.devices:
        for name, flops in one.flops_by_type.items():
            sums[name] = sums.get(name, 0.0) + flops
    return tuple(
        _fact(
            "model_flops_type_pct",
            "FLOPs of the model by type",
            sums[name] / model.flops * 100,
            "pct",
            "Share of the FLOPs of the model in this data type.",
            scope=name or "unknown type",
        )
        for name in _by_amount(sums)
    )


def recoverable(frame: pl.DataFrame) -> float | None:
    """The sum of what rows could save; None where none is known."""
    known = frame["recoverable_us"].drop_nulls()
    return float(known.sum()) if len(known) else None


def _fact(
    key: str,
    title: str,
    value: Scalar,
    unit: Unit | None,
    text: str,
    *,
    reason: str | None = None,
    scope: str | None = None,
) -> Fact:
    return Fact(key, title, value, unit, scope, text, reason if value is None else None)
