"""The declared tables of the view of resources."""

from __future__ import annotations

from torch_tb_profiler.views.schema import Column, TableSpec

SUMMARY = TableSpec(
    "summary",
    "What was measured",
    "One row per metric and source: samples that the recorder took beside the events, and counters "
    "of the recording that tell of use.",
    (
        Column("metric", "Metric", "string", None, "What was measured, as the recording calls it."),
        Column("source", "Source", "string", None, "Of what: the host, a GPU, a process."),
        Column("mean", "Mean", "number", None, "Mean of the samples of the selection."),
        Column("min", "Min", "number", None, "The lowest of them."),
        Column("max", "Max", "number", None, "The highest of them."),
        Column("unit", "Unit", "string", None, "What the numbers of the row count."),
        Column(
            "samples",
            "Samples",
            "integer",
            "count",
            "How many were taken in the selection; null of a mean that the recorder made itself.",
        ),
        Column("about", "About", "string", None, "What the metric means, where that is known."),
    ),
    when_empty="No sample lies in the selection.",
)

STEPS = TableSpec(
    "resource_steps",
    "Steps",
    "Where the steps of the selection lie on the axis of the curves: of many every nth, those of "
    "several processes from the first start to the last end.",
    (
        Column("step", "Step", "string", None, "Number of the step."),
        Column("start_us", "Start", "number", "us", "When it began on the host."),
        Column("end_us", "End", "number", "us", "When it ended on the host."),
    ),
    is_summary=True,
    when_empty="The recording names no steps.",
)
