"""Raw tables with a row per slice, or per slice of a kind."""

from __future__ import annotations

from torch_tb_profiler.sql.raw.table import RawTable
from torch_tb_profiler.sql.raw.values import (
    CATEGORY_TEXTS,
    SLICE,
    SLICE_COLUMNS,
    TRACK_COLUMNS,
    category,
    coded,
    count,
    end,
    integer,
    label,
    measure,
    of_slice,
    of_track,
    of_track_of_slice,
    size,
    time,
    truth,
)
from torch_tb_profiler.views.schema import TableSpec

SLICES = RawTable(
    TableSpec(
        "slices",
        "Slices",
        "One row per slice: an event with a start and a duration, on host or device.",
        (
            integer("id", "Id", "Number of the slice in its trace; other tables refer to it."),
            label("name", "Name", "Name as recorded.", coded("name_code")),
            label("category", "Category", f"One of {CATEGORY_TEXTS}.", category),
            label(
                "recorded_category",
                "Recorded Category",
                "Category as the file writes it.",
                coded("raw_category_code"),
            ),
            time("start_ns", "Start", "Start in trace time."),
            time("dur_ns", "Duration", "Duration."),
            time("end_ns", "End", "End in trace time.", end),
            time(
                "self_ns",
                "Self Time",
                "Of operators and ranges: duration without what they enclose, and without their "
                "own calls of the device runtime.",
            ),
            time(
                "device_self_ns",
                "Device Self Time",
                "Of operators and ranges: duration of the device work that they own.",
            ),
            time(
                "device_total_ns",
                "Device Total Time",
                "The same with the device work of what they enclose.",
            ),
            integer("parent", "Parent", "The slice that encloses it: `slices.id`."),
            integer("depth", "Depth", "Number of enclosing slices; null outside of a tree."),
            integer("frame", "Frame", "Innermost Python frame around its start: `slices.id`."),
            integer("lane", "Lane", "More than 0 where it overlaps others without nesting."),
            integer(
                "absorbed_into",
                "Absorbed Into",
                "The operator of the same name whose only child it is (`slices.id`), which has "
                "its device work.",
            ),
            integer("step", "Step", "Its step: `steps.id`."),
            integer("track", "Track", "Its track: `tracks.track`."),
            *TRACK_COLUMNS,
            integer("device", "Device", "Device of its track.", of_track("device")),
            integer("stream", "Stream", "Stream of its track.", of_track("stream")),
            integer("correlation", "Correlation", "Correlation id, as recorded."),
            integer("external_id", "External Id", "External id, as recorded."),
        ),
        sort="track,start_ns",
    ),
    lambda trace: trace.slices,
)

DEVICE_WORK = RawTable(
    TableSpec(
        "device_work",
        "Device Work",
        "One row per kernel, copy and memory set.",
        (
            integer("slice", "Slice", SLICE),
            label("name", "Name", "Name as recorded.", coded("name_code")),
            label("category", "Category", "`kernel`, `memcpy` or `memset`.", category),
            time("start_ns", "Start", "Start in trace time."),
            time("dur_ns", "Duration", "Duration."),
            time("end_ns", "End", "End in trace time.", end),
            integer("step", "Step", "Its step: `steps.id`.", of_slice("step")),
            integer("device", "Device", "Device: `devices.device`."),
            integer("stream", "Stream", "Stream of the device."),
            integer("launch", "Launch", "The host call that launched it: `slices.id`."),
            integer(
                "owner",
                "Owner",
                "The operator or range that launched it: `slices.id`, `operators.slice`.",
            ),
            integer("node", "Node", "Innermost range around its launch: `slices.id`."),
            label(
                "orphan_reason",
                "Orphan Reason",
                "Why there is no owner: `no_launch`, `no_operator` or `ambiguous_launch`.",
            ),
            time("launch_delay_ns", "Launch Delay", "From the start of its launch to its start."),
            label("grid", "Grid", "Blocks of the grid.", coded("grid_code")),
            label("block", "Block", "Threads of a block.", coded("block_code")),
            count("registers_per_thread", "Registers per Thread", "Registers per thread."),
            size("shared_memory_bytes", "Shared Memory", "Shared memory of a block."),
            measure("blocks_per_sm", "Blocks per SM", "Blocks per SM.", unit="ratio"),
            measure("warps_per_sm", "Warps per SM", "Warps per SM.", unit="ratio"),
            measure(
                "est_achieved_occupancy_pct",
                "Achieved Occupancy",
                "Occupancy as the profiler estimates it.",
                unit="pct",
            ),
            label(
                "occupancy_limit",
                "Occupancy Limit",
                "What limits the occupancy.",
                coded("occupancy_limit_code"),
            ),
            integer("graph", "Graph", "Id of the graph that launched it."),
            integer("graph_node", "Graph Node", "Id of its node in the graph."),
            size("bytes", "Bytes", "Size of a copy or memory set."),
            integer("correlation", "Correlation", "Correlation id.", of_slice("correlation")),
        ),
        sort="device,start_ns",
    ),
    lambda trace: trace.device_work,
)

OPERATORS = RawTable(
    TableSpec(
        "operators",
        "Operator Calls",
        "One row per host slice with arguments of an operator.",
        (
            *SLICE_COLUMNS,
            label("thread", "Thread", "Thread id.", of_track_of_slice("tid")),
            time("self_ns", "Self Time", "As in `slices`.", of_slice("self_ns")),
            time(
                "device_self_ns", "Device Self Time", "As in `slices`.", of_slice("device_self_ns")
            ),
            time(
                "device_total_ns",
                "Device Total Time",
                "As in `slices`.",
                of_slice("device_total_ns"),
            ),
            label("input_shape", "Input Shape", "Shapes of its inputs.", coded("input_shape_code")),
            label("input_type", "Input Type", "Types of its inputs.", coded("input_type_code")),
            label(
                "concrete_inputs",
                "Concrete Inputs",
                "Values of scalar inputs.",
                coded("concrete_inputs_code"),
            ),
            label(
                "call_stack",
                "Call Stack",
                "Recorded frames, innermost first.",
                coded("call_stack_code"),
            ),
            label(
                "module_hierarchy",
                "Module Hierarchy",
                "Modules of TorchScript around it.",
                coded("module_hierarchy_code"),
            ),
            integer("sequence_number", "Sequence Number", "Sequence number of autograd."),
            integer("forward_thread", "Forward Thread", "Thread of its forward operator."),
            integer("record_function_id", "Record Function Id", "Id as recorded."),
            integer(
                "forward",
                "Forward",
                "Of a backward operator: its forward operator, `operators.slice`.",
            ),
        ),
        sort="slice",
    ),
    lambda trace: trace.operators,
)

COLLECTIVES = RawTable(
    TableSpec(
        "collectives",
        "Collectives",
        "One row per slice on host or device that carries metadata of a collective.",
        (
            *SLICE_COLUMNS,
            label("collective", "Collective", "Its kind: `allreduce`.", coded("collective_code")),
            label("dtype", "Data Type", "Data type.", coded("dtype_code")),
            count("in_nelems", "Input Elements", "Elements of the input."),
            count("out_nelems", "Output Elements", "Elements of the output."),
            count("group_size", "Group Size", "Ranks of its process group."),
            label(
                "process_group", "Process Group", "Name or id of the group.", coded("group_code")
            ),
            label(
                "process_group_description",
                "Group Description",
                "Description of the process group.",
                coded("group_description_code"),
            ),
            label(
                "process_group_ranks",
                "Group Ranks",
                "Ranks of the process group.",
                coded("group_ranks_code"),
            ),
            label("in_splits", "Input Splits", "Parts of the input.", coded("in_splits_code")),
            label("out_splits", "Output Splits", "Parts of the output.", coded("out_splits_code")),
            integer("sequence", "Sequence", "Number of the call in its process group."),
            integer("comms_id", "Communication Id", "Id of the call across ranks."),
            integer("src_rank", "Source Rank", "Rank that sends."),
            integer("dst_rank", "Destination Rank", "Rank that receives."),
            measure(
                "is_async",
                "Asynchronous",
                "Whether the host goes on meanwhile.",
                truth("is_async"),
                kind="boolean",
            ),
        ),
        sort="slice",
    ),
    lambda trace: trace.collectives,
)
