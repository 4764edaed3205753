"""The tables of the view ``data``. Definitions: ``docs/views-data.md``."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

STAGE_NAMES = {
    "fetch": "reading samples",
    "transform": "changing them",
    "collate": "making batches of them",
    "pipeline": "waiting until all of that gave a batch",
    "pin": "copying a batch into pinned memory",
    "transfer": "sending it to the device",
    "wait": "the program, or the device, waiting for it",
}
"""The stages of loading, in the order in which a batch goes through them."""

NOT_IN_TRACE = (
    "A trace alone does not tell: MindData's files or a recorder of the loader do. MindData tells "
    "how full queues are, not how long operations take."
)

_TIMES = {
    "total": ("Total", "Time of all of them."),
    "mean": ("Mean", "Mean time of one."),
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
    + ".",
    (
        Column("stage", "Stage", "string", None, "The stage of loading."),
        Column("loader", "Loader", "string", None, "The data loader, with its dataset."),
        Column("phase", "Phase", "string", None, "What it loads for: training or evaluation."),
        Column("calls", "Calls", "integer", "count", "How often: batches."),
        *(
            Column(f"time_{key}_us", title, "number", "us", text, family=_FAMILY.get(key))
            for key, (title, text) in _TIMES.items()
        ),
        Column(
            "workers", "Workers", "integer", "count", "Threads or processes that work on the stage."
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
            "Share of the time that a worker works on a batch.",
        ),
        Column("bottleneck", "Bottleneck", "boolean", None, "Whether it holds up the steps."),
        Column("source", "Source", "string", None, "Where the row is from: a file, or the trace."),
    ),
)

LOADERS = TableSpec(
    "loaders",
    "Data loaders",
    "One row per data loader and phase: its settings, and what it was waited for.",
    (
        Column("loader", "Loader", "string", None, "Number of the loader, with its dataset."),
        Column("phase", "Phase", "string", None, "What it loads for: training or evaluation."),
        Column("bottleneck", "Bottleneck", "string", None, "What holds up the steps it feeds."),
        Column("batches", "Batches", "integer", "count", "Batches that were asked for."),
        Column("waited", "Waited", "integer", "count", "Batches that were waited for."),
        Column("wait_us", "Wait", "number", "us", "Mean wait for a batch.", family="time"),
        Column("work_us", "Work", "number", "us", "Mean work on a batch.", family="time"),
        Column("step_us", "Step", "number", "us", "Mean time between batches.", family="time"),
        Column("wait_pct", "Wait Share", "number", "pct", "Share of that time spent waiting."),
        Column("ready_pct", "Ready", "number", "pct", "How full its queue was when asked, mean."),
        Column("empty_pct", "Empty", "number", "pct", "Share of batches that found none ready."),
        Column("workers", "Workers", "integer", "count", "num_workers: 0 is the program itself."),
        Column("workers_busy_pct", "Workers Busy", "number", "pct", "Time they work on batches."),
        Column("cpu_pct", "Workers' CPU", "number", "pct", "Mean CPU of a worker; 100: one core."),
        Column("batch_size", "Batch Size", "integer", "count", "Samples of a full batch."),
        Column("prefetch_factor", "Prefetch", "integer", "count", "Batches ahead, per worker."),
        Column("pin_memory", "Pinned", "boolean", None, "Whether batches are pinned."),
        Column("persistent_workers", "Persistent", "boolean", None, "Whether workers are kept."),
        Column("start_method", "Started By", "string", None, "How workers are started."),
        Column("style", "Style", "string", None, "Style of the dataset: map or iterable."),
        Column("samples", "Samples", "integer", "count", "Samples of the batches.", hidden=True),
    ),
    when_empty="The recording tells of no data loader.",
)

QUEUE = TableSpec(
    "queue",
    "Queues",
    "One row per batch and queue: how many batches were ready when one was taken.",
    (
        Column("step", "Step", "integer", None, "Number of the batch, from 1."),
        Column(
            "queue",
            "Queue",
            "string",
            None,
            "host: behind the pipeline, before sending; device: before the model.",
        ),
        Column("size", "Size", "integer", "count", "Batches in the queue. 0: it was waited for."),
        Column("capacity", "Capacity", "integer", "count", "Batches it can hold."),
        Column("fill_pct", "Fill", "number", "pct", "Size as share of the capacity."),
        Column("get_us", "Get", "number", "us", "Time to get the batch from before the queue."),
        Column("push_us", "Push", "number", "us", "Time to send it on."),
        Column("total_us", "Total", "number", "us", "Time of both; of the device: of GetNext."),
    ),
    when_empty="The recording tells of no queue: MindData's files do.",
)

WAITS = TableSpec(
    "waits",
    "Steps that waited",
    "One row per step that waited for data: the queue before it was empty, or a data loader took "
    "a good part of it.",
    (
        Column("step", "Step", "string", None, "Name of the step, or number of the batch."),
        Column("wait_us", "Wait", "number", "us", "How long, as far as it is told.", additive=True),
        Column("step_us", "Step Time", "number", "us", "Length of the step."),
        Column("wait_pct", "Share", "number", "pct", "Wait as share of the step."),
        Column("queue", "Queue", "string", None, "The queue that was empty."),
        Column("source", "Source", "string", None, "Where the row is from: a file, or the trace."),
    ),
    when_empty="No step waited for data, as far as the recording tells.",
)

PIPELINE = TableSpec(
    "pipeline",
    "Data pipeline",
    "One row per operation, the last one first: an operation takes from the queues of those that "
    "name it as parent.",
    (
        Column("operation", "Operation", "string", None, "Number of the operation."),
        Column("type", "Type", "string", None, "What it does."),
        Column("parent", "Parent", "string", None, "The operation that takes what it makes."),
        Column("workers", "Workers", "integer", "count", "Its threads."),
        Column("queue_pct", "Queue Fill", "number", "pct", "Mean fill of the queue behind it."),
        Column("queue_mean", "Queue Mean", "number", None, "Mean size of the queue behind it."),
        Column("queue_capacity", "Capacity", "integer", "count", "What that queue can hold."),
        Column(
            "queue_empty_pct",
            "Queue Empty",
            "number",
            "pct",
            "Share of the looks at that queue in which it was empty.",
        ),
        Column("cpu_pct", "CPU", "number", "pct", "Mean CPU of its threads, user and system."),
        Column("time_mean_us", "Time", "number", "us", "Mean time of it for one batch."),
        Column(
            "busy_pct", "Busy", "number", "pct", "Its time ÷ (elapsed time × the workers it has)."
        ),
        Column("bottleneck", "Bottleneck", "boolean", None, "Whether it holds up the others."),
    ),
    tree=("operation", "parent"),
    when_empty="The recording tells of no data pipeline: MindData's files do.",
)
