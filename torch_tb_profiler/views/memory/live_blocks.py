"""What is alive at a moment: every block, and what was there before the recording.

Definitions: ``docs/views-memory.md#alive``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES, memory_blocks
from torch_tb_profiler.analysis.memory.curve import MemoryCurve
from torch_tb_profiler.analysis.memory.earlier import earlier
from torch_tb_profiler.analysis.memory.live_allocations import last_record, live_after, total_after
from torch_tb_profiler.analysis.memory.operands import OperandBlocks, operands, tensor_of_blocks
from torch_tb_profiler.analysis.memory.passes import root_operators
from torch_tb_profiler.analysis.memory.records import MemoryRecords, memory_records
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.knowledge.devices import CPU_TYPE
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.memory.events import ALLOCATION, RELEASE
from torch_tb_profiler.views.schema import Column, Fact, TableSpec

EARLIER = "before the recording"

LIVE_BLOCKS = TableSpec(
    name="alive",
    title="Live allocations at a moment",
    help="One row per memory block that is live at the chosen moment (at_us), or at the peak of "
    "its device. The rows of a device add up to its memory curve at that moment.",
    columns=(
        Column("device", "Device", "string", None, "Device that holds the memory."),
        Column(
            "name",
            "Operator",
            "string",
            None,
            "Operator that allocated it; 'before the recording' is memory that the allocator "
            "held already when the recording began.",
        ),
        Column("module", "Module", "string", None, "Path of the module that allocated it."),
        Column(
            "phase",
            "Phase",
            "string",
            None,
            "Phase of the step in which it was allocated: dataloader, forward, backward, "
            "optimizer, other.",
        ),
        Column(
            "category",
            "Category",
            "string",
            None,
            "Use of the memory: parameter, gradient, optimizer_state, activation, input, "
            "temporary, unknown. Inferred from the times of allocation and release; it is not "
            "recorded.",
            estimated=True,
        ),
        Column("size_bytes", "Size", "integer", "bytes", "Size of the block.", additive=True),
        Column(
            "is_estimated",
            "Size Estimated",
            "boolean",
            None,
            "Yes where the size is derived from other records instead of a recorded allocation.",
        ),
        Column(
            "shape",
            "Shape",
            "string",
            None,
            "Shape of the first tensor of exactly this size that an operator used afterwards.",
            estimated=True,
        ),
        Column("dtype", "Type", "string", None, "Element type of that tensor.", estimated=True),
        ALLOCATION,
        RELEASE,
        Column("lifetime_us", "Lifetime", "number", "us", "From allocation to release."),
    ),
    sort="-size_bytes",
    when_empty="No live allocation is known at that moment.",
)


def moments(
    records: MemoryRecords, curves: list[MemoryCurve], time_ns: int | None
) -> list[int | None]:
    """Per device the record after which live blocks are listed: that of the chosen time (-1
    before all), else of the peak of its curve; None where there is no curve."""
    if time_ns is not None:
        return [last_record(records, time_ns)] * len(curves)
    peaks = [points.peak() for points in curves]
    return [
        None if peak is None else int(points.record[peak])
        for points, peak in zip(curves, peaks, strict=True)
    ]


def moment_facts(
    records: MemoryRecords, at: list[int | None], time_ns: int | None, origin_ns: int
) -> list[Fact]:
    """What the table is of: the moment of each device, and what is allocated at it."""
    facts: list[Fact] = []
    for index, (device, record) in enumerate(zip(records.devices, at, strict=True)):
        if record is None:
            continue
        moment = int(records.time_ns[record]) if time_ns is None else time_ns
        which = "the peak; choose another with at_us" if time_ns is None else "chosen with at_us"
        total = total_after(records, index, record)
        facts += [
            Fact(
                "alive_at_us",
                "Moment shown",
                (moment - origin_ns) / NS_PER_US,
                "us",
                device.label,
                "Moment of the table of live allocations, since the start of the recording: "
                f"{which}.",
            ),
            Fact(
                "alive_bytes",
                "Allocated at that moment",
                total,
                "bytes",
                device.label,
                "Total that the allocator reports at that moment.",
                None
                if total is not None
                else "The trace holds no allocator totals of this device.",
            ),
        ]
    return facts


def live_blocks_frame(trace: Trace, at: list[int | None]) -> pl.DataFrame:
    """The rows of :data:`ALIVE`.

    Args:
        trace: The trace.
        at: As :func:`moments`.
    """
    records = memory_records(trace)
    if not records.has_addresses:
        return pl.DataFrame(schema=LIVE_BLOCKS.polars_schema())
    live = [
        np.flatnonzero(live_after(records, device, record))
        for device, record in enumerate(at)
        if record is not None
    ]
    rows = np.sort(np.concatenate(live)) if live else np.empty(0, np.int64)
    parts = [_recorded(trace, records, rows)]
    for device, record in enumerate(at):
        total = None if record is None else total_after(records, device, record)
        if total is not None:
            known = int(records.size_bytes[rows[records.device[rows] == device]].sum())
            parts.append(_before(trace, records, device, total - known))
    return pl.concat(parts)


def _recorded(trace: Trace, records: MemoryRecords, rows: Int64) -> pl.DataFrame:
    blocks, origin = memory_blocks(trace), trace.meta.start_ns
    start, end = records.time_ns[rows], blocks.end_ns[rows]
    # The end of a block whose release is missing is only known to lie before its place's next.
    is_released = records.pairs.release[rows] >= 0
    shape, dtype = _tensors(trace, records, rows)
    released: Float64 = np.where(is_released, end - origin, np.nan) / NS_PER_US
    allocated = (start - origin) / NS_PER_US
    return pl.DataFrame(
        {
            "device": _texts([one.label for one in records.devices], records.device[rows]),
            "name": records.operators.gather(rows),
            "module": records.modules.gather(rows),
            "phase": _texts(
                [phase.name.lower() for phase in Phase], blocks.phase[rows].astype(np.int64)
            ),
            "category": _texts([*CATEGORY_NAMES], blocks.category[rows].astype(np.int64)),
            "size_bytes": records.size_bytes[rows],
            "is_estimated": np.zeros(len(rows), np.bool_),
            "shape": shape,
            "dtype": dtype,
            "allocation_us": allocated,
            "release_us": released,
            "lifetime_us": released - allocated,
        },
        schema=LIVE_BLOCKS.polars_schema(),
        nan_to_null=True,
    )


def _texts(texts: list[str], code: Int64) -> pl.Series:
    """``texts[code]``, null for -1."""
    codes = pl.Series(code)
    return pl.Series(texts, dtype=pl.String).gather(codes.set(codes < 0, None))


def _tensors(trace: Trace, records: MemoryRecords, rows: Int64) -> tuple[pl.Series, pl.Series]:
    """The shape and the element type of each block, null where no operator took such a tensor."""
    matches, starts = operands(trace), trace.slices["start_ns"].to_numpy()
    root = gather(root_operators(trace), records.operator[rows])
    start, end = records.time_ns[rows], memory_blocks(trace).end_ns[rows]
    begun = np.where(root >= 0, gather(starts, root), start)
    wanted = OperandBlocks(records.size_bytes[rows], start, end, begun)
    of_host = np.array([one.type == CPU_TYPE for one in records.devices], np.bool_)
    tensor = np.where(
        of_host[records.device[rows]],
        tensor_of_blocks(matches.exact, wanted),
        tensor_of_blocks(matches.rounded, wanted),
    )
    shapes = [f"[{', '.join(map(str, one.shape))}]" for one in matches.tensors]
    return _texts(shapes, tensor), _texts([one.dtype or "" for one in matches.tensors], tensor)


def _before(trace: Trace, records: MemoryRecords, device: int, rest: int) -> pl.DataFrame:
    """What of ``rest`` bytes of a device was there before the recording, by category."""
    parts = earlier(trace)[device].parts(np.array([rest]))
    sizes = [(CATEGORY_NAMES[category], int(size[0])) for category, size in parts.items()]
    rows = [
        {
            "device": records.devices[device].label,
            "name": EARLIER,
            "category": category,
            "size_bytes": size,
            "is_estimated": True,
        }
        for category, size in sizes
        if size > 0
    ]
    return pl.DataFrame(rows, schema=LIVE_BLOCKS.polars_schema())
