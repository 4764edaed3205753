"""The peaks of memory that Paddle's allocators count themselves, and state with each event.

They also know of moments between two events and before the recording, which totals do not show.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes")
NAME = "recorded_memory_peaks"


def recorded_peaks(memory: ColumnArrays, source: str) -> tuple[SideTable, ...]:
    """The side table of the peaks; none where no event states one.

    Args:
        memory: The table of held memory.
        source: Name of the file.
    """
    rows = (
        pl.DataFrame({name: memory[name] for name in ("device_type", "device", *PEAKS)})
        .with_columns(pl.when(pl.col(name) != ABSENT).then(name).alias(name) for name in PEAKS)
        .group_by("device_type", "device", maintain_order=True)
        .agg(pl.col(name).max() for name in PEAKS)
        .filter(pl.any_horizontal(pl.col(name).is_not_null() for name in PEAKS))
    )
    frame = rows.select(pl.col(name).cast(dtype) for name, dtype in SIDE_SCHEMAS[NAME].items())
    return (SideTable(NAME, source, frame),) if frame.height else ()
