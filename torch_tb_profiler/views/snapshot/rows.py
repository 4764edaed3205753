"""What several tables of a snapshot are filled with: stacks, addresses, devices, times."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import HOST
from torch_tb_profiler.analysis.memory.snapshot.owners import COLUMNS as OWNER_COLUMNS
from torch_tb_profiler.knowledge.memory import BEFORE_RECORDING
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table, TableSpec

NO_STACK = (
    "No call stack was recorded (_record_memory_history(context=…, stacks=…) records them), or "
    "it has no frame."
)
NOT_IN_SNAPSHOT = "Not in the snapshot."
NO_METADATA = "Nothing was attached to it."
BEFORE = "The block was allocated before the first event of the snapshot."
STILL = "The block was still in use when the snapshot was taken."

NO_OWNER = (
    "No trace of the same process is joined, the block was allocated before the snapshot's first "
    "event or outside the trace, or several threads ran operators then."
)
_OF_METADATA = ("metadata", "source", "key", "value")

DEVICE = (
    pl.when(pl.col("device") == HOST)
    .then(pl.lit("pinned memory"))
    .otherwise(pl.format("GPU {}", "device"))
    .alias("device")
)

EARLIER = pl.when("is_earlier").then(pl.lit(BEFORE_RECORDING)).otherwise("frame").alias("frame")
"""Memory without a stack has one of two reasons; often it is most of the peak, so this one is a
row of its own."""


def with_stacks(trace: Trace, frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with ``frame`` and ``call_stack`` of its column ``stack``."""
    stacks = side_frame(trace, "snapshot_stacks").select(
        pl.int_range(pl.len(), dtype=pl.Int32).alias("stack"),
        "frame",
        pl.col("frames").alias("call_stack"),
    )
    return frame.join(stacks, on="stack", how="left", maintain_order="left")


def with_metadata(trace: Trace, frame: pl.DataFrame, event: str) -> pl.DataFrame:
    """``frame`` with ``metadata``, what the program attached to the event in column ``event``."""
    known = side_frame(trace, "snapshot_metadata").select(
        pl.col("event").alias(event), pl.col("user_metadata").alias("metadata")
    )
    with_events = frame.with_columns(pl.col(event).cast(pl.Int64))
    return with_events.join(known, on=event, how="left", maintain_order="left")


def hexadecimal(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with ``address`` as text, of the rows that are shown."""
    texts = [
        None if value is None else f"{value % 2**64:#x}" for value in frame["address"].to_list()
    ]
    return frame.with_columns(pl.Series("address", texts, pl.String))


def since_start(trace: Trace, column: str) -> pl.Expr:
    """Trace time in ns → us since the start of the recording."""
    return (pl.col(column) - trace.meta.start_ns) / NS_PER_US


def filled(spec: TableSpec, frame: pl.DataFrame, reasons: dict[str, str]) -> Table:
    """The table, in its default order."""
    schema = spec.polars_schema()
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in schema.items())
    all_reasons = dict.fromkeys(schema, NOT_IN_SNAPSHOT) | reasons
    all_reasons |= {key: NO_STACK for key in ("frame", "call_stack") if key in schema}
    all_reasons |= {key: NO_OWNER for key in OWNER_COLUMNS if key in schema}
    all_reasons |= {key: NO_METADATA for key in _OF_METADATA if key in schema}
    return in_default_order(Table(spec, shown, needed(shown, all_reasons)))
