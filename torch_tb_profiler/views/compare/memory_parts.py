"""What holds the memory of two recordings at their peaks: by operator, module and call stack.

Definitions: ``docs/views-memory.md#compared``.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from torch_tb_profiler.analysis.memory.curve import curve
from torch_tb_profiler.analysis.memory.live_allocations import live_after
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.memory.selected import selected_records, selected_time
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import lifetimes, side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import (
    device_moments,
    label_of,
    live_allocations,
)
from torch_tb_profiler.analysis.memory.snapshot.owners import is_joined
from torch_tb_profiler.knowledge.memory import BEFORE_RECORDING
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.steps import StepBasis
from torch_tb_profiler.views.compare.tables import (
    Measure,
    Side,
    by_size_of_change,
    compared_table,
    pair_by_key,
    pair_spec,
)
from torch_tb_profiler.views.schema import Column, Table

MAX_PARTS = 500
"""Largest parts of one device and grouping that are compared; the others are one."""

OTHERS = "<others>"
NO_STACK = "<no call stack recorded>"
OPERATOR, MODULE, STACK = "operator", "module", "call stack"
_MEASURES = (Measure("size_bytes", "Size", "bytes"),)

Part = tuple[str, str, str]
"""Device, grouping and name."""

MEMORY_PARTS = pair_spec(
    "memory_parts",
    "What holds the memory at the peak",
    "One row per device, grouping and name of either side: live allocations at the allocated peak "
    "of the device, the largest change first. The rows of one device and grouping add up to its "
    "peak.",
    keys=(
        Column("device", "Device", "string", None, "Where the memory lies."),
        Column("grouping", "Grouping", "string", None, "operator, module or call stack."),
        Column("name", "Name", "string", None, "What allocated it; of a call stack its frame."),
    ),
    measures=_MEASURES,
)


def compared_parts(bases: tuple[StepBasis, StepBasis]) -> Table:
    """What holds the memory of both sides, by what both sides record."""
    sizes = _parts(bases[0]), _parts(bases[1])
    shared = {key[:2] for key in sizes[0]} & {key[:2] for key in sizes[1]}
    keys = [[key for key in each if key[:2] in shared] for each in sizes]
    pairing = pair_by_key(keys[0], keys[1])
    met = [
        keys[0][left] if left >= 0 else keys[1][right]
        for left, right in zip(pairing.baseline, pairing.candidate, strict=True)
    ]
    sides = [
        Side(len(own), {"size_bytes": np.array([each[key] for key in own], np.float64)})
        for each, own in zip(sizes, keys, strict=True)
    ]
    columns = {
        name: [key[at] for key in met] for at, name in enumerate(("device", "grouping", "name"))
    }
    table = compared_table(
        MEMORY_PARTS, columns, _MEASURES, sides=(sides[0], sides[1]), pairing=pairing
    )
    return by_size_of_change(table, "delta_size_bytes")


def _parts(basis: StepBasis) -> dict[Part, int]:
    if "snapshot_events" in basis.trace.side and not is_joined(basis.trace):
        return _by_stack(basis.trace)
    trace = basis.trace
    records = memory_records(trace)
    chosen = selected_records(trace, basis.selection)
    stretches = selected_time(trace, basis.selection)
    parts: dict[Part, int] = {}
    for number, device in enumerate(records.devices):
        points = curve(records, number, chosen, stretches)
        peak = points.peak()
        if peak is None or not records.has_addresses:
            continue
        live = np.flatnonzero(live_after(records, number, int(points.record[peak])))
        total = int(points.allocated_bytes[peak])
        for grouping, labels in ((OPERATOR, records.operators), (MODULE, records.modules)):
            sizes: Counter[str] = Counter()
            codes = labels.code[live].tolist()
            for code, size in zip(codes, records.size_bytes[live].tolist(), strict=True):
                sizes[labels.texts[code]] += size
            rest = total - sum(sizes.values())
            if rest > 0:
                sizes[BEFORE_RECORDING] += rest
            parts |= _largest(device.label, grouping, sizes)
    return parts


def _by_stack(trace: Trace) -> dict[Part, int]:
    """Of a memory snapshot: by the innermost frame of the program."""
    frames = side_frame(trace, "snapshot_stacks")["frame"].to_list()
    lived = lifetimes(trace)
    parts: dict[Part, int] = {}
    for device in device_moments(trace):
        moment = device.peak if device.peak >= 0 else device.last
        rows = live_allocations(trace, device, moment)
        sizes: Counter[str] = Counter()
        for stack, size in zip(
            lived.stack[rows].tolist(), lived.size_bytes[rows].tolist(), strict=True
        ):
            is_known = stack is not None and 0 <= stack < len(frames)
            sizes[(frames[stack] if is_known else None) or NO_STACK] += size
        parts |= _largest(label_of(device.device), STACK, sizes)
    return parts


def _largest(device: str, grouping: str, sizes: Counter[str]) -> dict[Part, int]:
    parts = {(device, grouping, name): size for name, size in sizes.most_common(MAX_PARTS)}
    rest = sum(sizes.values()) - sum(parts.values())
    if rest > 0:
        parts[device, grouping, OTHERS] = rest
    return parts
