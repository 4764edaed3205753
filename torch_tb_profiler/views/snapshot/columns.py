"""The tables of the view ``snapshot``.

Definitions: ``docs/views-snapshot.md``.
"""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

_DEVICE = Column("device", "Device", "string", None, "Device that holds the memory.")
_SEGMENT = Column("segment", "Segment", "integer", None, "Number of the segment in the snapshot.")
_ADDRESS = Column("address", "Address", "string", None, "First address, as a hexadecimal number.")
_FRAME = Column(
    "frame",
    "Allocated in",
    "string",
    None,
    "Innermost Python frame outside PyTorch of the allocation: file, line and function. Of stacks "
    "without Python frames the innermost one that is not of the allocator, the dispatcher or the "
    "interpreter.",
)
_STACK = Column(
    "call_stack",
    "Call Stack",
    "string",
    None,
    "Python frames of the allocation, innermost first.",
    hidden=True,
)
_METADATA = Column(
    "metadata",
    "Metadata",
    "string",
    None,
    "What the program attached to the allocation (user_metadata), as written.",
    hidden=True,
)
_OWNER = (
    Column(
        "operator",
        "Operator",
        "string",
        None,
        "Operator of the joined trace that allocated it.",
    ),
    Column("module", "Module", "string", None, "Module in which it was allocated."),
    Column("phase", "Phase", "string", None, "Phase of the step it was allocated in.", True),
    Column(
        "category",
        "Category",
        "string",
        None,
        "What it holds, by the rules of the memory page: parameter, gradient, optimizer_state, "
        "activation, input, temporary, unknown.",
        True,
    ),
    Column("step", "Step", "string", None, "Step of the host in which it was allocated."),
)
_OWNER_BY = Column(
    "owner_by",
    "Operator by",
    "string",
    None,
    "allocation: the trace recorded the allocation itself; time: one operator alone ran then.",
    hidden=True,
)
_SHARE = Column(
    "pct", "Share", "number", "pct", "Share of the device's allocated memory at that moment."
)
_BLOCKS = Column("blocks", "Blocks", "integer", "count", "Blocks in use.")
_MOMENT = Column("moment", "Moment", "string", None, "As in the memory by call stack.")


def _bytes(key: str, title: str, help: str, *, additive: bool = False) -> Column:
    return Column(key, title, "integer", "bytes", help, family="memory", additive=additive)


DEVICES = TableSpec(
    "devices",
    "Memory per device",
    "One row per device: the allocator's memory when the snapshot was taken, and its peaks.",
    (
        _DEVICE,
        _bytes("reserved_bytes", "Reserved", "Memory that the allocator reserved from the device."),
        _bytes("allocated_bytes", "Allocated", "Memory of the blocks in use."),
        _bytes(
            "pending_free_bytes",
            "Pending Free",
            "Memory that was freed but waits until another stream no longer uses it.",
        ),
        _bytes("inactive_bytes", "Free", "Reserved memory that no block in use occupies."),
        _bytes(
            "largest_free_bytes",
            "Largest Free",
            "Largest free block: a larger allocation needs new memory from the device.",
        ),
        Column(
            "fragmentation_pct",
            "Fragmentation",
            "number",
            "pct",
            "Free memory as share of the reserved memory.",
        ),
        _bytes(
            "rounding_bytes",
            "Rounding",
            "Bytes by which blocks in use exceed the requested sizes.",
        ),
        Column("segments", "Segments", "integer", "count", "Segments reserved from the device."),
        _BLOCKS,
        _bytes(
            "peak_allocated_bytes",
            "Peak Allocated",
            "Most memory in use after an event. PyTorch's events give the requested size, not "
            "that of the block.",
        ),
        _bytes("peak_reserved_bytes", "Peak Reserved", "Most memory reserved after an event."),
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
    "One row per segment (memory reserved from the device) at the end of the snapshot.",
    (
        _SEGMENT,
        _DEVICE,
        _ADDRESS,
        Column(
            "type",
            "Type",
            "string",
            None,
            "small: for blocks of up to 1 MiB; large: for larger ones.",
        ),
        Column("stream", "Stream", "integer", None, "Stream that may use the segment."),
        Column(
            "pool",
            "Pool",
            "string",
            None,
            "Memory pool: (0, 0) is the default one, others belong to CUDA graphs.",
        ),
        Column("is_expandable", "Expandable", "boolean", None, "Whether the segment can grow."),
        _bytes("total_bytes", "Size", "Size in bytes.", additive=True),
        _bytes("allocated_bytes", "Allocated", "Memory of its blocks in use.", additive=True),
        _bytes(
            "pending_free_bytes",
            "Pending Free",
            "Memory that was freed but waits for another stream.",
            additive=True,
        ),
        _bytes("free_bytes", "Free", "Memory that no block in use occupies.", additive=True),
        _bytes("largest_free_bytes", "Largest Free", "Largest free block of the segment."),
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
    "One row per block of a segment, in use or free, at the end of the snapshot; the offsets "
    "make the memory map.",
    (
        _SEGMENT,
        _DEVICE,
        _ADDRESS,
        Column(
            "offset_bytes",
            "Offset",
            "integer",
            "bytes",
            "Offset in its segment.",
            family="memory",
        ),
        _bytes("size_bytes", "Size", "Size in bytes.", additive=True),
        _bytes("requested_bytes", "Requested", "Requested size.", additive=True),
        Column(
            "state",
            "State",
            "string",
            None,
            "active_allocated: in use; active_pending_free: freed, but another stream may still "
            "use it; inactive: free.",
        ),
        Column(
            "allocation_us",
            "Allocated",
            "number",
            "us",
            "When it was allocated, since the start of the recording.",
        ),
        *_OWNER,
        _OWNER_BY,
        _FRAME,
        _STACK,
    ),
    sort="-size_bytes,segment,offset_bytes",
    when_empty="The snapshot holds no block.",
)

BY_STACK = TableSpec(
    "by_stack",
    "Memory by call stack",
    "One row per call stack and moment: memory allocated there and in use at that moment.",
    (
        _DEVICE,
        Column(
            "moment",
            "Moment",
            "string",
            None,
            "peak: most memory in use; oom: last failed allocation; end: the snapshot was taken; "
            "chosen: the moment of at_us.",
        ),
        _FRAME,
        _bytes("size_bytes", "Size", "Memory in use, with the sizes of the events."),
        _SHARE,
        _BLOCKS,
        _STACK,
    ),
    sort="device,-moment,-size_bytes,frame",
    when_empty="No memory was in use.",
)

BY_OWNER = TableSpec(
    "by_owner",
    "Memory by operator",
    "One row per operator, module, phase and category of the joined trace, and moment: memory "
    "allocated there and in use at that moment; one row for memory whose operator is unknown.",
    (
        _DEVICE,
        _MOMENT,
        *_OWNER[:-1],
        _bytes("size_bytes", "Size", "Memory in use, with the sizes of the events."),
        _SHARE,
        _BLOCKS,
    ),
    sort="device,-moment,-size_bytes,operator,module,category",
    when_empty="No trace of the same process is beside the snapshot: open the trace, not the "
    "snapshot, to see operators.",
)

BY_METADATA = TableSpec(
    "by_metadata",
    "Memory by metadata",
    "One row per value of what the program or PyTorch attached to allocations, and moment; one for "
    "memory without any. Each key of a dictionary has rows of its own, so only rows of one key add "
    "up.",
    (
        _DEVICE,
        _MOMENT,
        Column("source", "Attached by", "string", None, "program or PyTorch."),
        Column("key", "Key", "string", None, "Key of the dictionary; empty for a plain text."),
        Column("value", "Value", "string", None, "The value, or the plain text."),
        _bytes("size_bytes", "Size", "Memory in use, with the sizes of the events."),
        _SHARE,
        _BLOCKS,
    ),
    sort="device,-moment,source,key,-size_bytes,value",
    when_empty="No event has metadata: torch.cuda.memory._record_memory_history was not used with "
    "metadata, or PyTorch is older.",
)

LIVE_BLOCKS = TableSpec(
    "alive_blocks",
    "In use at a moment",
    "One row per block in use at the chosen moment (at_us), or at the peak of its device; the "
    "largest ones.",
    (
        _DEVICE,
        _ADDRESS,
        _bytes("size_bytes", "Size", "Size in bytes.", additive=True),
        Column(
            "allocation_us",
            "Allocated",
            "number",
            "us",
            "When it was allocated, since the start of the recording.",
            family="moment",
        ),
        Column(
            "release_us",
            "Released",
            "number",
            "us",
            "When it was freed, since the start of the recording.",
            family="moment",
        ),
        *_OWNER,
        _OWNER_BY,
        _FRAME,
        _METADATA,
        _STACK,
    ),
    sort="-size_bytes,device,address",
    when_empty="No memory was in use at that moment.",
)

HISTORY = TableSpec(
    "history",
    "History",
    "One row per event of the allocator, in time order.",
    (
        Column("event", "Event", "integer", None, "Its number."),
        _DEVICE,
        Column("time_us", "Time", "number", "us", "Time since the start of the recording."),
        Column(
            "action",
            "Action",
            "string",
            None,
            "alloc, free_requested, free_completed: blocks; segment_alloc, segment_free, "
            "segment_map, segment_unmap: device memory; oom: an allocation failed.",
        ),
        _ADDRESS,
        Column(
            "size_bytes", "Size", "integer", "bytes", "Size of the block, or of the failed request."
        ),
        Column("stream", "Stream", "integer", None, "Stream of the block.", hidden=True),
        _bytes("allocated_bytes", "Allocated", "Memory in use after the event."),
        _bytes("reserved_bytes", "Reserved", "Memory reserved after the event."),
        _FRAME,
        _METADATA,
        _STACK,
    ),
    sort="event",
    when_empty="The snapshot holds no event: torch.cuda.memory._record_memory_history() was not "
    "called before.",
)

SETTINGS = TableSpec(
    "settings",
    "Allocator settings",
    "One row per setting (PYTORCH_CUDA_ALLOC_CONF) recorded in the snapshot.",
    (
        Column("setting", "Setting", "string", None, "Its name."),
        Column("value", "Value", "string", None, "Its value."),
    ),
    sort="setting",
    is_summary=True,
    when_empty="The snapshot holds no settings.",
)

TABLES = (
    DEVICES, BY_STACK, BY_OWNER, BY_METADATA, SEGMENTS, LIVE_BLOCKS, BLOCKS, HISTORY, SETTINGS,
)  # fmt: skip
