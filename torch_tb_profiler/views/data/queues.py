"""The tables of queues and of steps that waited, and their curves."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.knowledge.data_loading import data_loading
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.data.columns import QUEUE, WAITS
from torch_tb_profiler.views.data.loader import LoaderWaits
from torch_tb_profiler.views.data.stages import IN_TRACE
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Line, Series, Table
from torch_tb_profiler.views.step_axis import step_axis

MAX_POINTS = 4000
"""A curve has no more points than a screen has room for: of longer ones each nth is shown."""

NOT_OF_QUEUE = "The file has no such value for the queue."
NO_STEP_TIME = "The queue files number batches; no step of the trace has that number."
NO_WAIT = "The file reports that the queue was empty, not how long the step waited."
NO_QUEUE = "The timeline holds the wait, not the queue."


def queue_rows(trace: Trace) -> pl.DataFrame:
    """The side table of queues, empty where there is none."""
    side = trace.side.get("queues")
    return pl.DataFrame(schema=SIDE_SCHEMAS["queues"]) if side is None else side.frame


def queue_table(queues: pl.DataFrame) -> Table:
    """The selected rows of the side table, with how full each queue was."""
    fill = pl.col("size").cast(pl.Float64) / pl.col("capacity") * 100
    rows = queues.with_columns(fill_pct=pl.when(pl.col("capacity") > 0).then(fill))
    frame = rows.select(list(QUEUE.polars_schema())).sort("step", "queue", maintain_order=True)
    keys = ("size", "capacity", "fill_pct", "get_us", "push_us", "total_us")
    return Table(QUEUE, frame, needed(frame, dict.fromkeys(keys, NOT_OF_QUEUE)))


def waiting_queue(queues: pl.DataFrame) -> pl.DataFrame:
    """The rows of the queue from which the model takes: of the device, where that is told."""
    of_device = queues.filter(queue="device")
    return of_device if of_device.height else queues.filter(queue="host")


def waits_table(trace: Trace, queues: pl.DataFrame, waits: LoaderWaits | None) -> Table:
    """The steps that waited, from the timeline if it has loader calls, else from the queues."""
    if waits is not None:
        frame = _waits_of_loader(waits)
        reasons = {"queue": NO_QUEUE}
    else:
        frame = _waits_of_queues(trace, queues)
        reasons = {"wait_us": NO_WAIT, "step_us": NO_STEP_TIME, "wait_pct": NO_STEP_TIME}
    return Table(WAITS, frame, needed(frame, reasons))


def _waits_of_loader(waits: LoaderWaits) -> pl.DataFrame:
    frame = pl.DataFrame(
        {
            "step": waits.steps,
            "wait_us": waits.wait_ns / NS_PER_US,
            "step_us": waits.step_ns / NS_PER_US,
        },
        schema={"step": pl.String, "wait_us": pl.Float64, "step_us": pl.Float64},
    ).with_columns(
        wait_pct=pl.when(pl.col("step_us") > 0).then(pl.col("wait_us") / pl.col("step_us") * 100),
        queue=pl.lit(None, pl.String),
        source=pl.lit(IN_TRACE),
    )
    return frame.filter(pl.col("wait_pct") >= data_loading().waited_pct)


def _waits_of_queues(trace: Trace, queues: pl.DataFrame) -> pl.DataFrame:
    side = trace.side.get("queues")
    empty = waiting_queue(queues).filter(size=0)
    lengths = _step_lengths(trace)
    time = (
        pl.when(pl.col("queue") == "device")
        .then(pl.col("total_us"))
        .otherwise(pl.when(pl.col("push_us").is_null()).then(pl.col("get_us")))
    )
    rows = empty.with_columns(pl.col("step").cast(pl.String), wait_us=time).join(
        lengths, on="step", how="left", maintain_order="left"
    )
    share = pl.col("wait_us") / pl.col("step_us") * 100
    return rows.select(
        "step",
        "wait_us",
        "step_us",
        pl.when(pl.col("step_us") > 0).then(share).alias("wait_pct"),
        "queue",
        pl.lit("" if side is None else side.source).alias("source"),
    )


def _step_lengths(trace: Trace) -> pl.DataFrame:
    """Length of each step by name: from the files, else from the timeline."""
    side = trace.side.get("recorded_step_trace")
    if side is not None:
        lengths = side.frame.select("step", step_us="total_us")
    else:
        lengths = trace.steps.select(
            step="name", step_us=(pl.col("end_ns") - pl.col("start_ns")) / NS_PER_US
        )
    return lengths.unique("step", keep="first", maintain_order=True)


def wait_series(waits: LoaderWaits) -> Series:
    """The wait of each step."""
    every = max(1, -(-len(waits.steps) // MAX_POINTS))
    x = step_axis(waits.steps)
    y = [float(ns) / NS_PER_US for ns in waits.wait_ns.tolist()]
    line = Line("Wait", x[::every], list(y[::every]))
    return Series("Wait for data per step", "bar", "Step", None, "Time", "us", (line,))


def _waited(queues: pl.DataFrame) -> pl.DataFrame:
    """The batches that were waited for (``empty``), and those around them; no row without any."""
    rows = waiting_queue(queues).filter(pl.col("size").is_not_null()).sort("step")
    rows = rows.select("step", empty=pl.col("size") == 0)
    is_near = pl.col("empty") | pl.col("empty").shift(1) | pl.col("empty").shift(-1)
    return rows.filter(is_near).head(MAX_POINTS)


def queue_series(queues: pl.DataFrame) -> Series:
    """The size of each queue over the batches; where it is 0, the batch was waited for."""
    lines = []
    for name in ("host", "device"):
        rows = queues.filter(pl.col("size").is_not_null(), queue=name).sort("step")
        every = max(1, -(-rows.height // MAX_POINTS))
        shown = rows.gather_every(every)
        if shown.height:
            x = [float(step) for step in shown["step"].to_list()]
            sizes: list[float | None] = [float(size) for size in shown["size"].to_list()]
            lines.append(Line(f"{name.capitalize()} queue", x, sizes))
    waited = _waited(queues)
    if lines and waited.height:
        x = [float(step) for step in waited["step"].to_list()]
        empty: list[float | None] = [0.0 if is_empty else None for is_empty in waited["empty"]]
        lines.append(Line("Waited for", x, empty))
    return Series("Batches ready", "stair", "Batch", None, "Batches", "count", tuple(lines))
