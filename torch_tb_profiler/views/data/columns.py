"""The tables of the view ``data``. Definitions: ``docs/views-data.md``."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

STAGE_NAMES = {
    "fetch": "reading samples",
    "transform": "transforming samples",
    "collate": "collating samples into batches",
    "pipeline": "waiting for a batch of all of the above",
    "pin": "copying a batch into pinned memory",
    "transfer": "copying it to the device",
    "wait": "the program or the device waiting for a batch",
}
"""The stages of loading, in the order in which a batch goes through them."""

NOT_IN_TRACE = (
    "Not in a trace: MindData's files or a recorder of the loader report it. MindData reports "
    "queue fill, not operation times."
)

_TIMES = {
    "total": ("Total", "Total time."),
    "mean": ("Mean", "Mean time."),
    "min": ("Min", "Shortest."),
    "max": ("Max", "Longest."),
}

_FAMILY = dict.fromkeys(("mean", "min", "max"), "time")
"""Times of one batch are read together; that of all of them is another magnitude."""

STAGES = TableSpec(
    "stages",
    "Stages",
    "One row per stage of loading: "
    + "; ".join(f"{name}: {text}" for name, text in STAGE_NAMES.items())
    + ". A stage is left out if neither its times nor its workers are recorded: MindData's files, "
    "or torch-tb-profiler record, have them.",
    (
        Column("stage", "Stage", "string", None, "The stage of loading."),
        Column("loader", "Loader", "string", None, "Data loader, with its dataset."),
        Column("phase", "Phase", "string", None, "Training or evaluation."),
        Column("calls", "Calls", "integer", "count", "Number of batches."),
        *(
            Column(f"time_{key}_us", title, "number", "us", text, family=_FAMILY.get(key))
            for key, (title, text) in _TIMES.items()
        ),
        Column(
            "workers", "Workers", "integer", "count", "Threads or processes working on the stage."
        ),
        Column(
            "busy_pct",
            "Busy",
            "number",
            "pct",
            "Utilization of the stage: its time ÷ (elapsed time × workers).",
        ),
        Column(
            "work_pct",
            "Share of Work",
            "number",
            "pct",
            "Share of a worker's time per batch.",
        ),
        Column("bottleneck", "Bottleneck", "boolean", None, "Whether the stage limits the steps."),
        Column("source", "Source", "string", None, "Source of the row: a file, or the trace."),
    ),
)

LOADERS = TableSpec(
    "loaders",
    "Data loaders",
    "One row per data loader and phase: its settings, and the waits for its batches.",
    (
        Column("loader", "Loader", "string", None, "Number of the loader, with its dataset."),
        Column("phase", "Phase", "string", None, "Training or evaluation."),
        Column("bottleneck", "Bottleneck", "string", None, "What limits the steps fed by it."),
        Column("batches", "Batches", "integer", "count", "Requested batches."),
        Column("waited", "Waited", "integer", "count", "Batches that the program waited for."),
        Column("wait_us", "Wait", "number", "us", "Mean wait for a batch.", family="time"),
        Column("work_us", "Work", "number", "us", "Mean work on a batch.", family="time"),
        Column("step_us", "Step", "number", "us", "Mean time between batches.", family="time"),
        Column("wait_pct", "Wait Share", "number", "pct", "Share of Step spent waiting."),
        Column("ready_pct", "Ready", "number", "pct", "Mean queue fill at a request."),
        Column("empty_pct", "Empty", "number", "pct", "Share of requests with no batch ready."),
        Column(
            "workers", "Workers", "integer", "count", "num_workers; 0: the program loads by itself."
        ),
        Column(
            "workers_busy_pct",
            "Workers Busy",
            "number",
            "pct",
            "Share of time that workers work on batches.",
        ),
        Column(
            "cpu_pct", "Workers' CPU", "number", "pct", "Mean CPU of a worker; 100 %: one core."
        ),
        Column("batch_size", "Batch Size", "integer", "count", "Samples of a full batch."),
        Column("prefetch_factor", "Prefetch", "integer", "count", "Prefetched batches per worker."),
        Column("pin_memory", "Pinned", "boolean", None, "Whether batches are pinned."),
        Column(
            "persistent_workers",
            "Persistent",
            "boolean",
            None,
            "Whether workers persist between epochs.",
        ),
        Column("start_method", "Start Method", "string", None, "Start method of the workers."),
        Column("style", "Style", "string", None, "Style of the dataset: map or iterable."),
        Column("samples", "Samples", "integer", "count", "Samples of the batches.", hidden=True),
    ),
    when_empty="No data loader was recorded.",
)

QUEUE = TableSpec(
    "queue",
    "Queues",
    "One row per batch and queue: batches ready when one was taken.",
    (
        Column("step", "Step", "integer", None, "Number of the batch, from 1."),
        Column(
            "queue",
            "Queue",
            "string",
            None,
            "host: after the pipeline, before the copy to the device; device: before the model.",
        ),
        Column("size", "Size", "integer", "count", "Batches in the queue; 0: the model waited."),
        Column("capacity", "Capacity", "integer", "count", "Batches that the queue can hold."),
        Column("fill_pct", "Fill", "number", "pct", "Size as share of the capacity."),
        Column("get_us", "Get", "number", "us", "Time to get the batch for the queue."),
        Column("push_us", "Push", "number", "us", "Time to send the batch on."),
        Column("total_us", "Total", "number", "us", "Get plus Push; of the device queue: GetNext."),
    ),
    when_empty="No queue was recorded; MindData's files hold queues.",
)

WAITS = TableSpec(
    "waits",
    "Steps that waited",
    "One row per step that waited for data: its queue was empty, or a data loader took a large "
    "part of it.",
    (
        Column("step", "Step", "string", None, "Name of the step, or number of the batch."),
        Column(
            "wait_us",
            "Wait",
            "number",
            "us",
            "Time that it waited; null where only an empty queue shows it.",
            additive=True,
        ),
        Column(
            "step_us",
            "Step Time",
            "number",
            "us",
            "Length of the step; on a timeline that on the host.",
        ),
        Column("wait_pct", "Share", "number", "pct", "Wait as share of the step."),
        Column("queue", "Queue", "string", None, "Queue that was empty."),
        Column("source", "Source", "string", None, "Source of the row: a file, or the trace."),
    ),
    when_empty="The recording shows no step that waited for data.",
)

PIPELINE = TableSpec(
    "pipeline",
    "Data pipeline",
    "One row per operation, the last one first. An operation consumes the queues of the "
    "operations whose parent it is.",
    (
        Column("operation", "Operation", "string", None, "Number of the operation."),
        Column("type", "Type", "string", None, "Type of the operation."),
        Column("parent", "Parent", "string", None, "Operation that consumes its output."),
        Column("workers", "Workers", "integer", "count", "Number of threads."),
        Column("queue_pct", "Queue Fill", "number", "pct", "Mean fill of its output queue."),
        Column("queue_mean", "Queue Mean", "number", None, "Mean size of its output queue."),
        Column("queue_capacity", "Capacity", "integer", "count", "Capacity of its output queue."),
        Column(
            "queue_empty_pct",
            "Queue Empty",
            "number",
            "pct",
            "Share of samples in which its output queue was empty.",
        ),
        Column("cpu_pct", "CPU", "number", "pct", "Mean CPU of its threads (user and system)."),
        Column("time_mean_us", "Time", "number", "us", "Mean time per batch."),
        Column("busy_pct", "Busy", "number", "pct", "Its time ÷ (elapsed time × its workers)."),
        Column(
            "bottleneck",
            "Bottleneck",
            "boolean",
            None,
            "Whether the operation limits the pipeline.",
        ),
    ),
    tree=("operation", "parent"),
    when_empty="No data pipeline was recorded; MindData's files hold one.",
)
