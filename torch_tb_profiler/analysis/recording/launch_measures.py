"""Blocks per multiprocessor and occupancy of kernels: as recorded, else computed from the launch.

Definitions: ``docs/metrics.md#gpus``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import polars as pl

from torch_tb_profiler.analysis.recording.missing_reasons import recorded_reason
from torch_tb_profiler.knowledge import gpus, occupancy
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.detail_tables import LAUNCH_MEASURES
from torch_tb_profiler.trace.info import Capability
from torch_tb_profiler.trace.model import Trace

LAUNCH_KEYS = ("grid_code", "block_code", "registers_per_thread", "shared_memory_bytes")
"""The columns that make up a launch configuration."""

_CAPABILITIES: Final[dict[str, Capability]] = {
    "blocks_per_sm": "blocks_per_sm",
    "est_achieved_occupancy_pct": "occupancy",
}
_SIZES = msgspec.json.Decoder(list[int])


@per_trace
def launch_measures(trace: Trace) -> pl.DataFrame:
    """``blocks_per_sm`` and ``est_achieved_occupancy_pct``, aligned with ``trace.device_work``.

    A measure that the recording has of no kernel is computed, as CUPTI does it, from the launch and
    the properties of the device; null where one of these is unknown, or where the format states
    that it does not record the measure.
    """
    work = trace.device_work
    computed = computed_measures(trace)
    if not computed:
        return work.select(LAUNCH_MEASURES)
    shape = ("device", *LAUNCH_KEYS)
    launches = work.filter(pl.col("category") == Category.KERNEL).select(shape).unique()
    devices = {row["device"]: row for row in trace.devices.iter_rows(named=True)}
    values = [
        _measures(trace, row, devices.get(row["device"], {}))
        for row in launches.iter_rows(named=True)
    ]
    schema = dict.fromkeys(LAUNCH_MEASURES, pl.Float64)
    known = launches.hstack(pl.DataFrame(values, schema, orient="row"))
    joined = work.select("category", *shape).join(
        known, on=shape, how="left", nulls_equal=True, maintain_order="left"
    )
    is_kernel = pl.col("category") == Category.KERNEL
    return joined.select(
        pl.when(is_kernel).then(name) if name in computed else work[name]
        for name in LAUNCH_MEASURES
    )


@per_trace
def computed_measures(trace: Trace) -> tuple[str, ...]:
    """Which of the two measures are computed because the recording has none."""
    work = trace.device_work
    if not (work["category"] == Category.KERNEL).any():
        return ()
    return tuple(
        name
        for name in LAUNCH_MEASURES
        if work[name].null_count() == work.height
        and recorded_reason(trace, _CAPABILITIES[name]) is None
    )


def _measures(
    trace: Trace, launch: Mapping[str, Any], device: Mapping[str, Any]
) -> tuple[float | None, float | None]:
    """Blocks per multiprocessor, and the occupancy in %, of a launch configuration."""
    blocks, threads = (size_product(trace.text(launch[key])) for key in LAUNCH_KEYS[:2])
    sms = device.get("sm_count")
    if blocks is None or not sms:
        return None, None
    per_sm = blocks / sms
    sm = multiprocessor(device)
    registers, shared = (launch[key] for key in LAUNCH_KEYS[2:])
    if sm is None or threads is None or None in (registers, shared):
        return per_sm, None
    resident = occupancy.block_residency(sm, threads, int(registers), int(shared))
    if not resident.blocks:
        return per_sm, None
    return per_sm, min(per_sm, resident.blocks) * threads / sm.threads * 100


def multiprocessor(device: Mapping[str, Any]) -> occupancy.Multiprocessor | None:
    """The multiprocessor of a row of ``trace.devices``; None for other vendors than NVIDIA, whose
    compute capability means something else, and where it is not recorded."""
    major, minor = device.get("compute_major"), device.get("compute_minor")
    if gpus.is_other_vendor(device.get("name")) or major is None:
        return None
    return occupancy.multiprocessor(f"{major}.{minor or 0}")


def size_product(text: str | None) -> int | None:
    """``"[32, 4, 1]"`` → 128; None for anything else, and for sizes of 0."""
    try:
        sizes = _SIZES.decode(text or "")
    except msgspec.DecodeError:
        return None
    if not sizes or min(sizes) <= 0:
        return None
    return math.prod(sizes)
