"""What is held over several passes though the passes repeat: kept on purpose, or a leak.

Definitions: ``docs/views-memory.md#held``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES, memory_blocks
from torch_tb_profiler.analysis.memory.passes import FAR, passes
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.knowledge.memory import memory_file
from torch_tb_profiler.trace.columns import Bools, Float64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.scales import size_text
from torch_tb_profiler.views.schema import Column, Fact, Note, TableSpec

FEW_PASSES = "At least four forward passes (of steps) are needed to tell growth from warm-up."

HELD = TableSpec(
    name="held",
    title="Memory held across passes",
    help="Blocks that were allocated after the first forward pass began and are still live at the "
    "start of two or more later ones, by the operator that allocated them. Memory that grows "
    "with every pass is a leak candidate; optimizer state is held on purpose.",
    columns=(
        Column("device", "Device", "string", None, "Device that holds the memory."),
        Column("name", "Operator", "string", None, "Operator that allocated the blocks."),
        Column("module", "Module", "string", None, "Path of the module that allocated the blocks."),
        Column("category", "Category", "string", None, "Likely use of the memory.", estimated=True),
        Column("blocks", "Blocks", "integer", "count", "Number of held blocks.", additive=True),
        Column(
            "size_bytes", "Size", "integer", "bytes", "Total size of these blocks.", additive=True
        ),
        Column(
            "unreleased_blocks",
            "Not Released",
            "integer",
            "count",
            "Held blocks without a recorded release.",
            additive=True,
        ),
        Column(
            "made_in_passes",
            "Allocated in Passes",
            "integer",
            "count",
            "Number of different passes in which the blocks were allocated; 1: allocated once "
            "and retained.",
        ),
        Column(
            "held_passes",
            "Held over",
            "number",
            "count",
            "Mean number of passes that a block outlives.",
        ),
        Column(
            "grows",
            "Grows",
            "boolean",
            None,
            "Yes where blocks of two or more passes are never released, so the memory grows with "
            "every pass.",
        ),
        Column(
            "growth_per_pass_bytes",
            "Growth per Pass",
            "number",
            "bytes",
            "Unreleased bytes of the row ÷ passes since its first allocation.",
        ),
    ),
    sort="-growth_per_pass_bytes,-size_bytes",
    when_empty="No block outlives two passes, or the recording holds too few passes.",
)


def held_frame(trace: Trace, chosen: Bools) -> pl.DataFrame:
    """The rows of :data:`HELD`, of allocations in the selection."""
    records, blocks = memory_records(trace), memory_blocks(trace)
    least = memory_file().held.least_passes
    rows = np.flatnonzero(chosen & (records.size_bytes > 0) & (blocks.passes >= least))
    rows = rows[blocks.allocated_in_pass[rows] > 0]
    if not len(rows):
        return pl.DataFrame(schema=HELD.polars_schema())
    last = int(blocks.allocated_in_pass.max())
    stays = blocks.end_ns[rows] == FAR
    labels = pl.Series([one.label for one in records.devices], dtype=pl.String)
    frame = pl.DataFrame(
        {
            "device": labels.gather(records.device[rows]),
            "name": records.operators.gather(rows),
            "module": records.modules.gather(rows),
            "category": pl.Series([*CATEGORY_NAMES]).gather(blocks.category[rows].astype(np.int64)),
            "size": records.size_bytes[rows],
            "stays": stays,
            "made_in": blocks.allocated_in_pass[rows],
            "over": blocks.passes[rows],
        }
    )
    stayed = pl.col("size").filter("stays")
    grows = pl.col("made_in").filter("stays").n_unique() >= 2
    summed = frame.group_by("device", "name", "module", "category", maintain_order=True).agg(
        pl.col("made_in").n_unique().cast(pl.Int64).alias("made_in_passes"),
        blocks=pl.len().cast(pl.Int64),
        size_bytes=pl.col("size").sum(),
        unreleased_blocks=pl.col("stays").sum().cast(pl.Int64),
        held_passes=pl.col("over").mean(),
        grows=grows,
        growth_per_pass_bytes=pl.when(grows)
        .then(stayed.sum() / (last - pl.col("made_in").min() + 1))
        .otherwise(0.0),
    )
    return summed.select(HELD.polars_schema().keys())


def growth(trace: Trace, device: int) -> Float64:
    """What the allocator of a device held at the start of each forward pass but the first, in
    bytes; empty where passes or totals are not told."""
    records, of_process = memory_records(trace), passes(trace).get(-1)
    rows = np.flatnonzero((records.device == device) & records.has_totals)
    if of_process is None or not len(rows):
        return np.empty(0)
    starts = of_process.starts(Phase.FORWARD)[1:]
    at = np.searchsorted(records.time_ns[rows], starts, side="right") - 1
    held: Float64 = records.allocated_bytes[rows[at[at >= 0]]].astype(np.float64)
    return held


def growth_facts(trace: Trace, peaks: list[int | None]) -> tuple[list[Fact], list[Note]]:
    """Per device how much memory grows from pass to pass, and a warning where it always does.

    Args:
        trace: The trace.
        peaks: Largest total of each device, None where it has none.
    """
    facts: list[Fact] = []
    notes: list[Note] = []
    least = memory_file().growth
    for index, (device, peak) in enumerate(zip(memory_records(trace).devices, peaks, strict=True)):
        if peak is None:
            continue
        held = growth(trace, index)
        has_enough_passes = len(held) >= least.least_passes
        slope = _slope(held) if has_enough_passes else None
        text = (
            "Slope of the allocated memory at the starts of forward passes, without the first "
            "(least squares). 0: memory does not grow."
        )
        reason = None if has_enough_passes else FEW_PASSES
        facts.append(
            Fact(
                "growth_per_pass_bytes",
                "Growth per Pass",
                slope,
                "bytes",
                device.label,
                text,
                reason,
            )
        )
        grown = float(held[-1] - held[0]) if has_enough_passes else 0.0
        if (
            has_enough_passes
            and (np.diff(held) > 0).all()
            and 100 * grown >= least.least_share_pct * peak
        ):
            notes.append(_growth_note(device.label, int(grown), len(held), slope or 0.0))
    return facts, notes


def _slope(held: Float64) -> float:
    """Bytes per pass, to the byte: what least squares leave of nothing is nothing."""
    return float(np.round(np.polyfit(np.arange(len(held)), held, 1)[0])) + 0.0


def _growth_note(device: str, grown: int, passes_seen: int, slope: float) -> Note:
    text = (
        f"{device}: allocated memory grows by {size_text(grown)} over {passes_seen - 1} passes, "
        f"{size_text(slope)} per pass. The table 'Memory held across passes' names the operators. "
        "Usual causes: results that keep their autograd graph (use .detach() or .item()), "
        "growing lists, caches."
    )
    evidence: dict[str, object] = {"device": device, "grown_bytes": grown, "passes": passes_seen}
    return Note("advice", "memory_growth", "warning", text, evidence)
