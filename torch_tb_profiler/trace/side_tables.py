"""Side tables: data of a recording's files that is not events, in the form of the tool that wrote
it.

Steps, pipelines, FLOPs and links that a tool computed while recording are joined to a trace by rank
and step, and shown with the name of their file. Times are microseconds; null is what the file does
not give.
"""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.flight_tables import FLIGHT_SCHEMAS, FLIGHT_TITLES
from torch_tb_profiler.trace.snapshot_tables import SNAPSHOT_SCHEMAS

SNAPSHOT_ACTIONS = (
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "oom", "snapshot", "annotate",
)  # fmt: skip
"""The actions that an allocator records in its trace."""

SIDE_SCHEMAS: dict[str, pl.Schema] = {
    "recorded_steps": pl.Schema(
        {
            "step": pl.String,
            "device": pl.Int64,
            "computing_us": pl.Float64,
            "communication_not_overlapped_us": pl.Float64,
            "overlapped_us": pl.Float64,
            "communication_us": pl.Float64,
            "free_us": pl.Float64,
            "stage_us": pl.Float64,
            "bubble_us": pl.Float64,
            "communication_not_overlapped_without_receive_us": pl.Float64,
            "preparing_us": pl.Float64,
        }
    ),
    "recorded_step_trace": pl.Schema(
        {
            "step": pl.String,
            "total_us": pl.Float64,
            "interval_us": pl.Float64,
            "forward_backward_us": pl.Float64,
            "tail_us": pl.Float64,
            "communication_us": pl.Float64,
        }
    ),
    "recorded_mean_step": pl.Schema(  # one row, beside those of recorded_step_trace
        {
            "total_us": pl.Float64,
            "interval_us": pl.Float64,
            "forward_backward_us": pl.Float64,
            "tail_us": pl.Float64,
            "communication_us": pl.Float64,
        }
    ),
    "recorded_operators": pl.Schema(
        {
            "unit": pl.String,  # "AI Core", "AI CPU", "host CPU" …
            "type": pl.String,
            "name": pl.String,  # null: the sum of the type
            "calls": pl.Int64,
            "total_us": pl.Float64,
            "mean_us": pl.Float64,
            "min_us": pl.Float64,
            "max_us": pl.Float64,
            "pct": pl.Float64,
        }
    ),
    "operator_paths": pl.Schema(  # operators by the name of their events
        {
            "name": pl.String,
            "path": pl.String,  # of scopes and the operator, "Default/network-Net/Conv2D-op7"
        }
    ),
    "recorded_flops": pl.Schema(
        {
            "level": pl.String,  # "operator", "scope", "model"
            "name": pl.String,
            "parent": pl.String,
            "kind": pl.String,  # "cube", "vector"
            "flops": pl.Float64,
            "flops_per_s": pl.Float64,
            "utilization_pct": pl.Float64,
        }
    ),
    "pipeline": pl.Schema(
        {
            "operation": pl.Int64,
            "type": pl.String,
            "workers": pl.Int64,
            "parent": pl.Int64,  # the operation that consumes this one's output
            "queue_mean": pl.Float64,
            "queue_capacity": pl.Int64,
            "queue_pct": pl.Float64,
            "queue_empty_pct": pl.Float64,
            "cpu_pct": pl.Float64,
            "time_us": pl.Float64,
        }
    ),
    "queue_sizes": pl.Schema(
        {
            "operation": pl.Int64,  # of the pipeline, before the queue
            "time_us": pl.Float64,  # since its first sample
            "size": pl.Float64,
        }
    ),
    "queues": pl.Schema(
        {
            "queue": pl.String,  # "device", "host"
            "step": pl.Int64,
            "size": pl.Int64,
            "capacity": pl.Int64,
            "get_us": pl.Float64,
            "push_us": pl.Float64,
            "total_us": pl.Float64,
        }
    ),
    "recorded_memory_peaks": pl.Schema(
        {
            "device_type": pl.Int64,  # c10::DeviceType
            "device": pl.Int64,
            "peak_allocated_bytes": pl.Int64,
            "peak_reserved_bytes": pl.Int64,
        }
    ),
    "memory_tensors": pl.Schema(
        {
            "graph": pl.Int64,
            "tensor": pl.Int64,  # its number in the graph
            "name": pl.String,  # of the operator that makes it, and which one of its outputs
            "kind": pl.String,  # "Common", "OutputOnly", "Workspace" …
            "dtype": pl.String,
            "shape": pl.String,
            "format": pl.String,
            "size_bytes": pl.Int64,  # as allocated: aligned
            "first": pl.Int64,  # positions in memory_operators between which it is live
            "last": pl.Int64,
            "lifetime": pl.String,
        }
    ),
    "memory_operators": pl.Schema(  # of each graph in the order in which they run
        {
            "graph": pl.Int64,
            "position": pl.Int64,  # from 0
            "name": pl.String,
            "mark": pl.String,  # "forward start", "backward end"
            "static_bytes": pl.Int64,  # of the graph, throughout
            "live_bytes": pl.Int64,  # while it runs: static memory and live tensors
        }
    ),
    "recorded_shapes": pl.Schema(
        {
            "type": pl.String,
            "name": pl.String,
            "iteration": pl.Int64,
            "time_us": pl.Float64,
            "input_shapes": pl.String,
        }
    ),
    "recorded_collectives": pl.Schema(
        {
            "step": pl.String,
            "kind": pl.String,  # "p2p", "collective"
            "name": pl.String,
            "group": pl.String,
            "start_us": pl.Float64,
            "elapse_us": pl.Float64,
            "transit_us": pl.Float64,
            "wait_us": pl.Float64,
            "synchronization_us": pl.Float64,
            "idle_us": pl.Float64,
        }
    ),
    "cluster_steps": pl.Schema(
        {
            "step": pl.String,
            "parallel": pl.String,  # "data-parallel", "model-parallel", "pipeline-parallel"
            "stage": pl.Int64,  # of the pipeline, from 0
            "without_communication_us": pl.Float64,  # the step without the next
            "communication_alone_us": pl.Float64,
            "stage_us": pl.Float64,  # the step without the next
            "receive_alone_us": pl.Float64,
            "collective_alone_us": pl.Float64,
        }
    ),
    "parallel_strategy": pl.Schema(  # operators that are divided alike
        {
            "stage": pl.Int64,  # of the pipeline, from 0
            "mode": pl.String,  # "auto_parallel", "data_parallel" …
            "type": pl.String,  # of the operators; null where no operator states a strategy
            "strategy": pl.String,  # parts of each dimension of each input, "((2,1),(1,1))"
            "operators": pl.Int64,
            "example": pl.String,  # name of the first
        }
    ),
    "timed_steps": pl.Schema(
        {
            "phase": pl.String,  # "train", "evaluation"
            "by": pl.String,  # how it was detected: "optimizer", "loader", "module", "program"
            "step": pl.Int64,
            "start_us": pl.Float64,  # on the clock of the trace, as all starts of a recorder
            "duration_us": pl.Float64,
            "reader_us": pl.Float64,  # waiting for data
            "samples": pl.Int64,
            "is_warmup": pl.Boolean,
            "is_traced": pl.Boolean,  # while a profiler was active, so slower
        }
    ),
    "loaders": pl.Schema(
        {
            "loader": pl.Int64,
            "dataset": pl.String,
            "style": pl.String,  # "map", "iterable"
            "workers": pl.Int64,
            "batch_size": pl.Int64,
            "prefetch_factor": pl.Int64,
            "pin_memory": pl.Boolean,
            "persistent_workers": pl.Boolean,
            "start_method": pl.String,
        }
    ),
    "loader_batches": pl.Schema(
        {
            "loader": pl.Int64,
            "phase": pl.String,
            "batch": pl.Int64,
            "step": pl.Int64,
            "start_us": pl.Float64,
            "wait_us": pl.Float64,
            "ready": pl.Int64,  # batches that were ready when this one was requested
            "capacity": pl.Int64,
            "samples": pl.Int64,
            "worker": pl.Int64,
        }
    ),
    "loader_work": pl.Schema(
        {
            "loader": pl.Int64,
            "worker": pl.Int64,  # null: the process of the program itself
            "batch": pl.Int64,
            "start_us": pl.Float64,
            "fetch_us": pl.Float64,
            "transform_us": pl.Float64,
            "collate_us": pl.Float64,
            "pin_us": pl.Float64,
            "transfer_us": pl.Float64,
            "samples": pl.Int64,
        }
    ),
    "links": pl.Schema(
        {
            "step": pl.String,
            "name": pl.String,
            "group": pl.String,
            "source_rank": pl.Int64,
            "destination_rank": pl.Int64,
            "transport": pl.String,  # "HCCS", "RDMA"
            "size_bytes": pl.Float64,
            "time_us": pl.Float64,
            "bandwidth_gbps": pl.Float64,  # 10**9 bytes a second
            "large_packet_pct": pl.Float64,
        }
    ),
    "graph_annotations": pl.Schema(
        {
            "graph": pl.Int64,  # numbers of the graph and of the node in it
            "node": pl.Int64,
            "annotation": pl.String,  # JSON
        }
    ),
    "captured_kernels": pl.Schema(
        {
            "capture": pl.String,  # name of the file
            "batch_size": pl.Int64,
            "mode": pl.String,  # "FULL", "PIECEWISE"
            "graph": pl.Int64,  # number of the graph in the file, from 0; rows of one in order
            "kernel": pl.String,  # null where the recorder does not name what a call launches
            "call": pl.String,
            "operator": pl.String,
            "module": pl.String,
            "input_shapes": pl.String,
        }
    ),
    "kernel_provenance": pl.Schema(
        {
            "kernel": pl.String,
            "stacks": pl.String,  # Python tracebacks of what it computes
            "nodes": pl.String,  # of the model's graph, joined by ", "
        }
    ),
    "execution_tensors": pl.Schema(  # a row per tensor that an operator read or returned
        {
            "node": pl.Int64,  # record function id of the operator
            "is_output": pl.Boolean,
            "tensor": pl.Int64,  # id of the tensor object
            "storage": pl.Int64,
            "offset": pl.Int64,  # in elements
            "elements": pl.Int64,
            "item_bytes": pl.Int64,
            "device": pl.String,  # "cuda:0"
        }
    ),
    **SNAPSHOT_SCHEMAS,
    **FLIGHT_SCHEMAS,
    "report_views": pl.Schema({"view": pl.String, "answer": pl.String}),  # JSON
}
"""Name of a side table → its columns."""

SIDE_TITLES: dict[str, str] = {
    "recorded_steps": "steps",
    "recorded_step_trace": "step trace",
    "recorded_mean_step": "mean step",
    "recorded_operators": "operators",
    "operator_paths": "full names of operators",
    "recorded_flops": "FLOPs",
    "pipeline": "data pipeline",
    "queue_sizes": "queue sizes",
    "queues": "data queues",
    "recorded_shapes": "shapes",
    "recorded_memory_peaks": "peaks of memory",
    "memory_tensors": "tensors in memory",
    "memory_operators": "memory of each operator",
    "recorded_collectives": "collectives",
    "cluster_steps": "communication of the steps",
    "parallel_strategy": "parallel strategy",
    "timed_steps": "times of steps",
    "loaders": "data loaders",
    "loader_batches": "batches",
    "loader_work": "work of data loaders",
    "links": "links",
    "graph_annotations": "annotations of graphs",
    "captured_kernels": "captured graphs",
    "kernel_provenance": "sources of generated kernels",
    "snapshot_events": "events of the allocator",
    "snapshot_blocks": "blocks of memory",
    "snapshot_segments": "segments of memory",
    "snapshot_stacks": "call stacks of allocations",
    "snapshot_metadata": "metadata of allocations",
    "snapshot_settings": "settings of the allocator",
    "execution_tensors": "tensors of operators",
    "snapshot_join": "clock of a memory snapshot",
    **FLIGHT_TITLES,
    "report_views": "views of a report",
}
"""Name of a side table → its content, for people."""


class SideTable(Struct, frozen=True):
    """One side table of a recording.

    Attributes:
        name: A key of :data:`SIDE_SCHEMAS`.
        source: Names of the files it was read from, for people.
        frame: The rows, with the columns of its schema.
    """

    name: str
    source: str
    frame: pl.DataFrame

    def __post_init__(self) -> None:
        """Validate name and columns.

        Raises:
            ValueError: there is no such table, or its columns differ.
        """
        if self.name not in SIDE_SCHEMAS:
            raise ValueError(f"there is no side table {self.name!r}")
        if self.frame.schema != SIDE_SCHEMAS[self.name]:
            raise ValueError(f"{self.name} has the columns {dict(self.frame.schema)}")
