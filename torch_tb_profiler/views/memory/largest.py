"""Where the peak is reached, what fills it, how fragmented memory is, and what to do about it."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.memory.curve import MemoryCurve
from torch_tb_profiler.analysis.memory.passes import passes
from torch_tb_profiler.analysis.memory.records import MemoryDevice, memory_records
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import slice_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.analysis.steps.phases.segments import phase_at
from torch_tb_profiler.analysis.steps.phases.serving import is_server
from torch_tb_profiler.knowledge.memory import memory_file
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.scales import size_text
from torch_tb_profiler.views.schema import Fact, Note

_TITLES = {
    "parameter": "parameters",
    "gradient": "gradients",
    "optimizer_state": "optimizer state",
    "activation": "activations (saved by the forward pass for the backward pass)",
    "input": "inputs",
    "temporary": "temporaries",
    "unknown": "memory of unknown use",
    "earlier": "memory from before the recording",
}
NO_PHASES = "The recording holds no data from which the phases of steps follow."
NO_RESERVED = "The trace holds no reserved totals of this device."


def peak_phase(trace: Trace, points: MemoryCurve) -> str | None:
    """The phase in which the peak of a curve is reached, None where nothing tells."""
    peak, of_process = points.peak(), passes(trace).get(-1)
    if peak is None or of_process is None:
        return None
    time = points.time_ns[[peak]]
    return Phase(int(phase_at(of_process.stretches, time, Phase.OTHER)[0])).name.lower()


def peak_details(
    trace: Trace, curves: list[MemoryCurve], categories: pl.DataFrame
) -> tuple[list[Fact], list[Note]]:
    """Facts about the peak of each device, and what can be done about the largest part of it.

    Args:
        trace: The trace.
        curves: Curve of each device.
        categories: Rows of the table ``peak_categories``.
    """
    facts: list[Fact] = []
    notes: list[Note] = []
    for device, points in zip(memory_records(trace).devices, curves, strict=True):
        peak = points.peak()
        if peak is None:
            continue
        phase = peak_phase(trace, points)
        facts.append(
            Fact(
                "peak_phase",
                "Peak reached in",
                phase,
                None,
                device.label,
                "Phase of the step at the allocated peak.",
                None if phase is not None else NO_PHASES,
            )
        )
        facts += _fragmentation_facts(device, points, peak)
        own = categories.filter(pl.col("device") == device.label)
        notes += _largest(trace, device, own, phase)
        notes += _fragmented(device, points)
    return facts, notes


def _fragmentation_facts(device: MemoryDevice, points: MemoryCurve, peak: int) -> list[Fact]:
    gap = points.fragmentation_bytes
    known = gap[gap != ABSENT]
    at_peak = None if gap[peak] == ABSENT else int(gap[peak])
    largest = int(known.max()) if len(known) else None
    return [
        Fact(key, title, value, "bytes", device.label, text, None if value is not None else reason)
        for key, title, value, text, reason in (
            (
                "peak_fragmentation_bytes",
                "Fragmentation at the Peak",
                at_peak,
                "Reserved minus allocated memory at the allocated peak: cached, or in pieces too "
                "small to use.",
                NO_RESERVED,
            ),
            (
                "max_fragmentation_bytes",
                "Largest Fragmentation",
                largest,
                "Largest difference of reserved and allocated memory in the selection.",
                NO_RESERVED,
            ),
        )
    ]


def _largest(
    trace: Trace, device: MemoryDevice, categories: pl.DataFrame, phase: str | None
) -> list[Note]:
    """What fills the peak, and what can be done about the largest part."""
    knowledge = memory_file().advice
    if categories.is_empty():
        return []
    part, size = max(_parts(categories), key=lambda one: one[1])
    total = int(categories["size_bytes"].sum())
    share = 100.0 * size / total if total else 0.0
    if share < knowledge.least_share_pct or total < knowledge.least_bytes:
        return []
    where = "" if phase in (None, "other") else f" The peak is reached in the {phase} phase."
    advice = knowledge.texts[part].format(usually=knowledge.earlier[_program(trace)])
    text = (
        f"{device.label}: {share:.1f} % of the peak is {_TITLES[part]}: {size_text(size)}.{where} "
        f"{advice}"
    )
    evidence: dict[str, object] = {
        "device": device.label,
        "category": part,
        "size_bytes": size,
        "share_pct": share,
    }
    return [Note("advice", "largest_at_peak", "info", text, evidence)]


def _program(trace: Trace) -> str:
    """What the program does: a key of ``[advice.earlier]``."""
    if np.isin(slice_phases(trace), (Phase.BACKWARD, Phase.OPTIMIZER)).any():
        return "training"
    return "server" if is_server(trace) else "other"


def _parts(categories: pl.DataFrame) -> list[tuple[str, int]]:
    """Categories at the peak with their bytes; of what is unknown that from before the recording
    apart."""
    parts: list[tuple[str, int]] = []
    for row in categories.rows(named=True):
        earlier = row["earlier_bytes"] if row["category"] == "unknown" else 0
        parts += [(row["category"], row["size_bytes"] - earlier), ("earlier", earlier)]
    return parts


def _fragmented(device: MemoryDevice, points: MemoryCurve) -> list[Note]:
    """Whether what is reserved at its largest is much more than was ever allocated."""
    knowledge = memory_file().advice
    reserved = int(points.reserved_bytes.max())
    allocated = int(points.allocated_bytes.max())
    if reserved == ABSENT or reserved < max(knowledge.least_bytes, 1):
        return []
    gap = max(reserved - allocated, 0)
    share = 100.0 * gap / reserved
    if share < knowledge.least_fragmentation_pct:
        return []
    text = (
        f"{device.label}: {size_text(gap)} of {size_text(reserved)} reserved memory "
        f"({share:.1f} %) were never allocated at once. {knowledge.texts['fragmentation']}"
    )
    evidence: dict[str, object] = {"device": device.label, "gap_bytes": gap, "share_pct": share}
    return [Note("advice", "memory_fragmentation", "info", text, evidence)]
