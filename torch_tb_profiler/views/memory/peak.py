"""What is alive when memory is at its peak: by operator and by module, largest first."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.memory.curve import MemoryCurve
from torch_tb_profiler.analysis.memory.live_allocations import live_after
from torch_tb_profiler.analysis.memory.records import MemoryRecords
from torch_tb_profiler.knowledge.memory import BEFORE_RECORDING
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.views.scales import size_text
from torch_tb_profiler.views.schema import Column, Note, TableSpec

COMPOSITION = TableSpec(
    name="peak_composition",
    title="Live allocations at the peak",
    help="Live allocations of each device at its allocated peak; the rows of one device and "
    "grouping add up to the peak.",
    columns=(
        Column("device", "Device", "string", None, "Device that holds the memory."),
        Column("grouping", "Grouping", "string", None, "'operator' or 'module'."),
        Column(
            "name",
            "Name",
            "string",
            None,
            "Operator or module path that allocated it; '(backward)' marks memory allocated "
            "while the gradients of a module were computed.",
        ),
        Column("size_bytes", "Size", "integer", "bytes", "Live bytes."),
        Column("allocation_count", "Allocations", "integer", "count", "Live allocations."),
        Column("share_pct", "Share", "number", "pct", "Share of the memory allocated at the peak."),
    ),
    sort="device,-grouping,-size_bytes",
)

_Row = tuple[str, str, str, int, int | None, float | None]


def composition_frame(records: MemoryRecords, curves: list[MemoryCurve]) -> pl.DataFrame:
    """The rows of :data:`COMPOSITION` for the peak of each device's curve."""
    rows: list[_Row] = []
    for index, points in enumerate(curves):
        peak = points.peak()
        if peak is None or not records.has_addresses:
            continue
        live = np.flatnonzero(live_after(records, index, int(points.record[peak])))
        total = int(points.allocated_bytes[peak])
        for grouping, labels in (("operator", records.operators), ("module", records.modules)):
            label = records.devices[index].label
            grouped = _grouped(labels.code[live], records.size_bytes[live], total)
            rows += [
                (
                    label,
                    grouping,
                    BEFORE_RECORDING if code is None else labels.texts[code],
                    size,
                    count,
                    pct,
                )
                for code, size, count, pct in grouped
            ]
    return pl.DataFrame(rows, schema=COMPOSITION.polars_schema(), orient="row")


def _grouped(
    code: Int64, size_bytes: Int64, total: int
) -> list[tuple[int | None, int, int | None, float | None]]:
    """Label code, bytes, allocations and share of ``total`` of what is alive; what the total
    holds beyond that was there before, under code None."""
    codes, inverse = factorize(code)
    sizes = np.zeros(len(codes), np.int64)
    np.add.at(sizes, inverse, size_bytes)
    counts = np.bincount(inverse, minlength=len(codes))

    def share(size: int) -> float | None:
        return 100.0 * size / total if total > 0 else None

    rows: list[tuple[int | None, int, int | None, float | None]] = [
        (label, size, count, share(size))
        for label, size, count in zip(codes.tolist(), sizes.tolist(), counts.tolist(), strict=True)
    ]
    rest = total - int(sizes.sum())
    if rest > 0:
        rows.append((None, rest, None, share(rest)))
    return rows


def composition_notes(
    composition: pl.DataFrame, devices: list[str], totals: list[int]
) -> list[Note]:
    """One note per device whose pieces add up to more than ``totals``, its peak in bytes: blocks
    whose release was not recorded count as alive.
    """
    sizes = composition.filter(pl.col("grouping") == "operator").group_by("device")
    live_bytes = dict(sizes.agg(pl.col("size_bytes").sum()).rows())
    notes: list[Note] = []
    for device, total in zip(devices, totals, strict=True):
        excess = int(live_bytes.get(device, 0)) - total
        if excess > 0:
            text = (
                f"{device}: live allocations at the peak add up to {size_text(excess)} more than "
                "the allocator's total, because releases are missing in the recording."
            )
            evidence: dict[str, object] = {"device": device, "excess_bytes": excess}
            notes.append(Note("quality", "peak_composition_excess", "info", text, evidence))
    return notes
