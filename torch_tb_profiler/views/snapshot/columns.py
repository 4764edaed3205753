"""The tables of the view ``snapshot``.

Definitions: ``docs/views-snapshot.md``.
"""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

_DEVICE = Column("device", "Device", "string", None, "Whose memory it is.")
_SEGMENT = Column("segment", "Segment", "integer", None, "Number of the segment in the snapshot.")
_ADDRESS = Column("address", "Address", "string", None, "Where it begins, as a hexadecimal number.")
_FRAME = Column(
    "frame",
    "Allocated in",
    "string",
    None,
    "The innermost line of Python that asked for it and is not of PyTorch itself, with its "
    "function.",
)
_STACK = Column(
    "call_stack",
    "Call Stack",
    "string",
    None,
    "The lines of Python that asked for it, innermost first.",
    hidden=True,
)
_SHARE = Column("pct", "Share", "number", "pct", "Its share of all of the device at that moment.")


def _bytes(key: str, title: str, help: str, *, additive: bool = False) -> Column:
    return Column(key, title, "integer", "bytes", help, family="memory", additive=additive)


DEVICES = TableSpec(
    "devices",
    "Memory per device",
    "One row per device: what its allocator held when the snapshot was taken, and the most it had.",
    (
        _DEVICE,
        _bytes("reserved_bytes", "Reserved", "What the allocator held from the device."),
        _bytes("allocated_bytes", "Allocated", "What blocks in use took of that."),
        _bytes(
            "pending_free_bytes",
            "Pending Free",
            "What was given back and waits until another stream no longer uses it.",
        ),
        _bytes("inactive_bytes", "Free", "What was reserved and in no block that is in use."),
        _bytes(
            "largest_free_bytes",
            "Largest Free",
            "The largest free piece: what is larger needs new memory of the device.",
        ),
        Column(
            "fragmentation_pct",
            "Fragmentation",
            "number",
            "pct",
            "Free memory as share of what is reserved.",
        ),
        _bytes(
            "rounding_bytes",
            "Rounding",
            "What blocks in use are larger than was asked for.",
        ),
        Column("segments", "Segments", "integer", "count", "Pieces that the device gave."),
        Column("blocks", "Blocks", "integer", "count", "Blocks in use."),
        _bytes(
            "peak_allocated_bytes",
            "Peak Allocated",
            "The most that was in use after an event. PyTorch's events tell what was asked for, "
            "not the size of the block.",
        ),
        _bytes("peak_reserved_bytes", "Peak Reserved", "The most that was reserved after one."),
        Column(
            "peak_us",
            "Peak Time",
            "number",
            "us",
            "When the allocated peak was first reached, since the start of the recording.",
        ),
        Column("ooms", "Out of Memory", "integer", "count", "How often an allocation failed."),
    ),
    when_empty="The snapshot holds no segment and no event.",
)

SEGMENTS = TableSpec(
    "segments",
    "Segments",
    "One row per segment, a piece that the device gave to the allocator, as the snapshot ends.",
    (
        _SEGMENT,
        _DEVICE,
        _ADDRESS,
        Column("type", "Type", "string", None, "For small blocks (up to 1 MiB) or large ones."),
        Column("stream", "Stream", "integer", None, "The stream whose work may use it."),
        Column(
            "pool",
            "Pool",
            "string",
            None,
            "Its pool: (0, 0) is the usual one, others are of CUDA graphs.",
        ),
        Column("is_expandable", "Expandable", "boolean", None, "Whether it can grow."),
        _bytes("total_bytes", "Size", "How large it is.", additive=True),
        _bytes("allocated_bytes", "Allocated", "What blocks in use take of it.", additive=True),
        _bytes(
            "pending_free_bytes", "Pending Free", "What waits for another stream.", additive=True
        ),
        _bytes("free_bytes", "Free", "What is in no block that is in use.", additive=True),
        _bytes("largest_free_bytes", "Largest Free", "The largest free piece of it."),
        Column("used_pct", "Used", "number", "pct", "Allocated as share of its size."),
        Column("blocks", "Blocks", "integer", "count", "Blocks in use.", additive=True),
        _FRAME,
        _STACK,
    ),
    sort="-free_bytes,segment",
    when_empty="The snapshot holds no segment.",
)

BLOCKS = TableSpec(
    "blocks",
    "Blocks",
    "One row per block of a segment, in use or free, as the snapshot ends: with their offsets they "
    "are the map of the memory.",
    (
        _SEGMENT,
        _DEVICE,
        _ADDRESS,
        Column(
            "offset_bytes",
            "Offset",
            "integer",
            "bytes",
            "Where it begins in its segment.",
            family="memory",
        ),
        _bytes("size_bytes", "Size", "How large it is.", additive=True),
        _bytes("requested_bytes", "Requested", "What was asked for.", additive=True),
        Column(
            "state",
            "State",
            "string",
            None,
            "active_allocated: in use; active_pending_free: given back, but another stream may "
            "still use it; inactive: free.",
        ),
        Column(
            "allocation_us",
            "Allocated",
            "number",
            "us",
            "When it was allocated, since the start of the recording.",
        ),
        _FRAME,
        _STACK,
    ),
    sort="-size_bytes,segment,offset_bytes",
    when_empty="The snapshot holds no block.",
)

BY_STACK = TableSpec(
    "by_stack",
    "Who holds memory",
    "One row per call stack and moment: what it had allocated that was in use then.",
    (
        _DEVICE,
        Column(
            "moment",
            "Moment",
            "string",
            None,
            "peak: when the most was in use; oom: when an allocation last failed; end: when the "
            "snapshot was taken; chosen: the moment of at_us.",
        ),
        _FRAME,
        _bytes("size_bytes", "Size", "What was in use, as events tell sizes.", additive=True),
        _SHARE,
        Column("blocks", "Blocks", "integer", "count", "Blocks in use.", additive=True),
        _STACK,
    ),
    sort="device,-moment,-size_bytes,frame",
    when_empty="Nothing was in use.",
)

LIVE_BLOCKS = TableSpec(
    "alive_blocks",
    "In use at a moment",
    "One row per block that was in use at the chosen moment (at_us), or at the peak of its device; "
    "the largest ones.",
    (
        _DEVICE,
        _ADDRESS,
        _bytes("size_bytes", "Size", "How large it is.", additive=True),
        Column(
            "allocation_us",
            "Allocated",
            "number",
            "us",
            "When it was allocated, since the start of the recording.",
            family="moment",
        ),
        Column(
            "release_us", "Released", "number", "us", "When it was given back.", family="moment"
        ),
        _FRAME,
        _STACK,
    ),
    sort="-size_bytes,device,address",
    when_empty="Nothing was in use at that moment.",
)

HISTORY = TableSpec(
    "history",
    "History",
    "One row per event of the allocator, in order.",
    (
        Column("event", "Event", "integer", None, "Its number."),
        _DEVICE,
        Column("time_us", "Time", "number", "us", "When, since the start of the recording."),
        Column(
            "action",
            "Action",
            "string",
            None,
            "alloc, free_requested, free_completed: of blocks; segment_alloc, segment_free, "
            "segment_map, segment_unmap: of memory of the device; oom: an allocation failed.",
        ),
        _ADDRESS,
        Column("size_bytes", "Size", "integer", "bytes", "Of the block, or of what was asked for."),
        Column("stream", "Stream", "integer", None, "Stream of the block.", hidden=True),
        _bytes("allocated_bytes", "Allocated", "What is in use afterwards."),
        _bytes("reserved_bytes", "Reserved", "What is reserved afterwards."),
        _FRAME,
        _STACK,
    ),
    sort="event",
    when_empty="The snapshot holds no event: torch.cuda.memory._record_memory_history() was not "
    "called before.",
)

SETTINGS = TableSpec(
    "settings",
    "Settings of the allocator",
    "One row per setting (PYTORCH_CUDA_ALLOC_CONF), as the snapshot has them.",
    (
        Column("setting", "Setting", "string", None, "Its name."),
        Column("value", "Value", "string", None, "Its value."),
    ),
    sort="setting",
    is_summary=True,
    when_empty="The snapshot does not say them.",
)

TABLES = (DEVICES, BY_STACK, SEGMENTS, LIVE_BLOCKS, BLOCKS, HISTORY, SETTINGS)
