"""The declared tables of the view of resources."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

SUMMARY = TableSpec(
    "summary",
    "Measurements",
    "One row per metric and source: samples taken by the recorder, and utilization counters of "
    "the trace.",
    (
        Column("metric", "Metric", "string", None, "Name of the metric in the recording."),
        Column(
            "source", "Source", "string", None, "What it measures: the host, a GPU or a process."
        ),
        Column("mean", "Mean", "number", None, "Mean of the samples in the selection."),
        Column("min", "Min", "number", None, "Lowest sample."),
        Column("max", "Max", "number", None, "Highest sample."),
        Column("unit", "Unit", "string", None, "Unit of the row."),
        Column(
            "samples",
            "Samples",
            "integer",
            "count",
            "Number of samples in the selection; null for a mean computed by the recorder.",
        ),
        Column("about", "About", "string", None, "Meaning of the metric, where known."),
    ),
    when_empty="The selection holds no sample.",
)

STEPS = TableSpec(
    "resource_steps",
    "Steps",
    "Positions of the selected steps on the time axis. Of many steps every nth; of several "
    "processes from the first start to the last end.",
    (
        Column("step", "Step", "string", None, "Number of the step."),
        Column("start_us", "Start", "number", "us", "Start on the host."),
        Column("end_us", "End", "number", "us", "End on the host."),
    ),
    is_summary=True,
    when_empty="The recording has no steps.",
)
