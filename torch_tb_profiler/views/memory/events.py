"""Every allocation with its release: how much, by whom, how long."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.memory.owners import UNKNOWN_OPERATOR
from torch_tb_profiler.analysis.memory.records import MemoryRecords
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

ALLOCATION = Column(
    "allocation_us",
    "Allocated",
    "number",
    "us",
    "Time of the allocation since the start of the recording; null if it was allocated before.",
    family="moment",
)
RELEASE = Column(
    "release_us",
    "Released",
    "number",
    "us",
    "Time of the release since the start of the recording; null if none was recorded.",
    family="moment",
)

EVENTS = TableSpec(
    name="memory_events",
    title="Memory events",
    help="One row per allocation with its release, and one per release of a block that was "
    "allocated before the recording. A selection shows the blocks that are allocated or "
    "released in it.",
    columns=(
        Column("device", "Device", "string", None, "Device that holds the memory."),
        Column(
            "name",
            "Operator",
            "string",
            None,
            "Operator that allocated it; a bare aten::empty is preceded by its caller.",
        ),
        Column("size_bytes", "Size", "integer", "bytes", "Size of the block."),
        ALLOCATION,
        RELEASE,
        Column("duration_us", "Duration", "number", "us", "From allocation to release."),
        Column("module", "Module", "string", None, "Path of the module that allocated it."),
    ),
    sort="-size_bytes",
)


def events_frame(records: MemoryRecords, chosen: Bools, origin_ns: int) -> pl.DataFrame:
    """The rows of :data:`EVENTS`: allocations in order of time, then releases without one."""
    if not records.has_addresses:
        return pl.DataFrame(schema=EVENTS.polars_schema())
    pairs, size = records.pairs, records.size_bytes
    release_chosen = (pairs.release >= 0) & chosen[pairs.release]
    allocation = np.flatnonzero((size > 0) & (chosen | release_chosen))
    lone = np.flatnonzero((size < 0) & (pairs.allocation < 0) & chosen)
    begin = np.append(allocation, np.full(len(lone), -1))
    end = np.append(pairs.release[allocation], lone)
    either = np.where(begin >= 0, begin, end)
    has_allocation = pl.Series(begin >= 0)
    began_ns, ended_ns = (_since(origin_ns, records, record) for record in (begin, end))
    labels = pl.Series([device.label for device in records.devices], dtype=pl.String)
    frame = pl.DataFrame(
        {
            "device": labels.gather(records.device[either]),
            "name": records.operators.gather(either),
            "size_bytes": np.abs(size[either]),
            "allocation_us": began_ns / NS_PER_US,
            "release_us": ended_ns / NS_PER_US,
            "duration_us": (ended_ns - began_ns) / NS_PER_US,
            "module": records.modules.gather(either),
        },
        schema=EVENTS.polars_schema(),
        nan_to_null=True,
    )
    return frame.with_columns(
        name=pl.when(has_allocation).then("name").otherwise(pl.lit(UNKNOWN_OPERATOR)),
        module=pl.when(has_allocation).then("module").otherwise(None),
    )


def _since(origin_ns: int, records: MemoryRecords, record: Int64) -> Float64:
    """Time in ns of each record since ``origin_ns``, NaN where ``record`` is -1."""
    time: Float64 = np.where(record >= 0, gather(records.time_ns, record) - origin_ns, np.nan)
    return time
