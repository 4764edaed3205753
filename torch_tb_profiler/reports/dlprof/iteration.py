"""``iteration``: a row per kernel call."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.reports.dlprof.table import (
    Report,
    ReportTable,
    Views,
    frame_of,
    renamed,
    with_operator_paths,
)

SOURCE = ("iterations", "iteration_kernels")

_AXES = ("X", "Y", "Z")
_TITLES = {
    "Iteration": "iteration",
    "Op ID": "operator_id",
    "Op Name": "operator",
    "Direction": "direction",
    "Op Type": "type",
    "Kernel Name": "short_name",
    "Device ID": "gpu",
    "GPU Start Time (ns)": "gpu_start_since_first_us",
    "GPU Time (ns)": "gpu_time_us",
    "API Call Start (ns)": "api_start_since_first_us",
    "API Call Time (ns)": "api_time_us",
    "Uses TC": "tensor_core_used",
    **{f"Grid {axis}": f"grid_{axis}" for axis in _AXES},
    **{f"Block {axis}": f"block_{axis}" for axis in _AXES},
    "Data Type": "dtype",
    "Input Shapes": "input_shapes",
    "Parameters": "concrete_inputs",
    "Output Shapes": "output_shapes",  # no recording of PyTorch has them
    "Long Kernel Name": "kernel",
    "Absolute GPU Start Time (ns)": "gpu_start_us",
    "Absolute API Call Start (ns)": "api_start_us",
}


def iteration(views: Views) -> Report:
    """The report, in order of iteration and start. Starts are since the first event of the
    recording; the absolute ones are in trace time, as on the timeline."""
    calls = with_operator_paths(views, frame_of(views, SOURCE))
    frame = calls.with_columns(
        pl.coalesce("short_name", "kernel").alias("short_name"),  # copies and memsets have one name
        *(_axis("grid", number) for number in range(3)),
        *(_axis("block", number) for number in range(3)),
    )
    return Report("iteration", (ReportTable(None, renamed(frame, _TITLES)),))


def _axis(key: str, number: int) -> pl.Expr:
    """One number of ``"[4, 1, 1]"``."""
    numbers = pl.col(key).str.extract_all(r"\d+")
    return numbers.list.get(number, null_on_oob=True).cast(pl.Int64).alias(f"{key}_{_AXES[number]}")
