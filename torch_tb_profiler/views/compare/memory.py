"""The memory of two recordings side by side: peaks, what they are made of, and fragmentation.

Definitions: ``docs/views-memory.md#compared``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES, MemoryCategory
from torch_tb_profiler.analysis.memory.curve import curve
from torch_tb_profiler.analysis.memory.levels import levels_at
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.memory.selected import selected_records, selected_time
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.views.compare.steps import StepBasis
from torch_tb_profiler.views.compare.tables import (
    Measure,
    Pairing,
    Side,
    compared_table,
    pair_by_key,
    pair_spec,
)
from torch_tb_profiler.views.schema import Column, Table

_MEASURES = (Measure("size_bytes", "Size", "bytes"),)
_ALLOCATED = "peak_allocated"
_ALWAYS_KNOWN = (MemoryCategory.TEMPORARY, MemoryCategory.UNKNOWN)
"""What an operator needs for itself is known of every allocation that has an address."""

_OF_PEAK = tuple(f"peak_{name}" for name in CATEGORY_NAMES)
_REASONS = {
    "size_bytes": "Not recorded for this device on one side, or a part of that side's peak is of "
    "unknown use and may be of this category."
}

MEMORY = pair_spec(
    "memory",
    "Memory",
    "One row per device and measure: allocated and reserved peaks in the selection, "
    "fragmentation, and the categories of the allocated peak.",
    keys=(
        Column("device", "Device", "string", None, "Where the memory lies."),
        Column(
            "measure",
            "Measure",
            "string",
            None,
            "peak_allocated; peak_reserved; max_fragmentation: largest difference of reserved "
            "and allocated; and the categories of the allocated peak (estimated): "
            "peak_parameter, peak_gradient, peak_optimizer_state, peak_activation, peak_input, "
            "peak_temporary, peak_unknown.",
        ),
    ),
    measures=_MEASURES,
)


Measured = dict[tuple[str, str], int]
"""Bytes by device and measure."""


def compared_memory(rows: tuple[Measured, Measured]) -> Table:
    """The memory of both sides' selections; no row where neither recorded totals."""
    keys = [[*each] for each in rows]
    pairing = pair_by_key(keys[0], keys[1])
    met = [
        keys[0][left] if left >= 0 else keys[1][right]
        for left, right in zip(pairing.baseline, pairing.candidate, strict=True)
    ]
    met = [key for key in met if key[1] not in _OF_PEAK or any(each.get(key) for each in rows)]
    # What only one side tells is not 0 on the other, but for categories of a known peak.
    sides = tuple(_side(each, met) for each in rows)
    positions = np.arange(len(met))
    return compared_table(
        MEMORY,
        {"device": [device for device, _ in met], "measure": [measure for _, measure in met]},
        _MEASURES,
        sides=(sides[0], sides[1]),
        pairing=Pairing(positions, positions, lone_is_zero=False),
    )


def _side(measured: Measured, keys: list[tuple[str, str]]) -> Side:
    values = [measured.get(key, np.nan) for key in keys]
    return Side(len(keys), {"size_bytes": np.array(values, np.float64)}, reasons=_REASONS)


def measured_memory(basis: StepBasis) -> Measured:
    """Bytes by device and measure of one side; of categories 0 only where it is known that nothing
    of the peak is of them."""
    trace, selection = basis.trace, basis.selection
    records = memory_records(trace)
    chosen, stretches = selected_records(trace, selection), selected_time(trace, selection)
    sizes: Measured = {}
    for number, device in enumerate(records.devices):
        points = curve(records, number, chosen, stretches)
        peak = points.peak()
        if peak is None:
            continue
        sizes[device.label, _ALLOCATED] = int(points.allocated_bytes[peak])
        for measure, values in (
            ("peak_reserved", points.reserved_bytes),
            ("max_fragmentation", points.fragmentation_bytes),
        ):
            if (values != ABSENT).any():
                sizes[device.label, measure] = int(values.max())
        if records.has_addresses:
            levels, _ = levels_at(trace, number, points, np.array([peak]))
            is_complete = levels[MemoryCategory.UNKNOWN, 0] == 0
            for category in MemoryCategory:
                size = int(levels[category, 0])
                if size > 0 or is_complete or category in _ALWAYS_KNOWN:
                    sizes[device.label, _OF_PEAK[category]] = size
    return sizes
