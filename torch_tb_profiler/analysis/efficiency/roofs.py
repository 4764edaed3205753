"""How long each call would take at the roofs of its device.

Definitions: ``docs/views-efficiency.md#roofline``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.efficiency.calls import HoldingCalls, holding_calls
from torch_tb_profiler.analysis.efficiency.peaks import device_peaks
from torch_tb_profiler.knowledge.peaks import PEAK_TYPES, DevicePeaks
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace

FLOP_PER_NS = 1e3
"""1 TFLOP/s; 1 GB/s is one byte per ns."""


class RoofTimes(Struct, frozen=True, eq=False):
    """Per call of :func:`holding_calls`, in ns; NaN where it is unknown.

    Attributes:
        compute_ns: Its FLOPs at the peak of its type.
        memory_ns: Its bytes at the bandwidth of the memory.
        roof_ns: The longer of what it must compute and of its bytes: it cannot take less. Of
            products whose bytes are unknown, what they compute; memory bounds nearly all other
            work, so without its bytes nothing is told.
    """

    compute_ns: Float64
    memory_ns: Float64
    roof_ns: Float64


def roof_times(trace: Trace, peak: str | None = None) -> RoofTimes:
    """The times of all calls of ``trace`` at the roofs that ``peak`` gives, or vendors.

    Raises:
        SelectionError: ``peak`` cannot be understood.
    """
    if peak is None:
        return _OF_VENDORS(trace)
    return times_at(holding_calls(trace), device_peaks(trace, peak))


_OF_VENDORS = PerTrace(lambda trace: times_at(holding_calls(trace), device_peaks(trace)))
"""The times at the peaks that vendors print; made once."""


def times_at(calls: HoldingCalls, peaks: Mapping[int, DevicePeaks]) -> RoofTimes:
    """The times of calls at the roofs of their devices."""
    rates, bandwidths = _tables(peaks)
    peaks_row = _peaks_rows(np.array([*peaks], np.int64), calls.device)
    rate = rates[peaks_row, calls.is_product.astype(np.int64), calls.peak_type]
    bounded = np.where(calls.is_on_links, np.nan, 1.0)
    per_ns = rate * FLOP_PER_NS / bounded
    compute, needed = calls.flops / per_ns, calls.needed_flops / per_ns
    memory = calls.bytes / bandwidths[peaks_row] * bounded
    roof = np.fmax(needed, memory)
    roof[np.isnan(memory) & ~calls.is_product] = np.nan
    return RoofTimes(compute, memory, roof)


def _peaks_rows(devices: Int64, of_calls: Int64) -> Int64:
    """The place of each device in ``devices``, which are few; behind the last for unknown ones."""
    rows = np.full(len(of_calls), len(devices), np.int64)
    for row, device in enumerate(devices.tolist()):
        rows[of_calls == device] = row
    return rows


def _tables(peaks: Mapping[int, DevicePeaks]) -> tuple[Float64, Float64]:
    """Rates by number of the device, whether it is a product, and type; and bandwidths by number
    of the device. The last number and the last type stand for unknown ones."""
    rates = np.full((len(peaks) + 1, 2, len(PEAK_TYPES) + 1), np.nan)
    bandwidths = np.full(len(peaks) + 1, np.nan)
    for number, reach in enumerate(peaks.values()):
        bandwidths[number] = reach.bandwidth_gb_per_s or np.nan
        for column, dtype in enumerate(PEAK_TYPES):
            rates[number, 0, column] = reach.of_other_work(dtype) or np.nan
            rates[number, 1, column] = reach.of_products(dtype) or np.nan
    return rates, bandwidths
