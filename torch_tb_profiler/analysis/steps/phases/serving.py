"""Windows of a server: the iterations of its scheduler, as its own ranges tell them.

Definitions: ``docs/views-phases.md#serving-windows``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import indices, nearest_marked
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.analysis.steps.phases.evidence import serving_ranges
from torch_tb_profiler.knowledge.phases import serving_window
from torch_tb_profiler.trace.model import Trace

WINDOW_NUMBERS = (
    "context_requests",
    "context_tokens",
    "generation_requests",
    "generation_tokens",
)

_SCHEMA = {
    "server": pl.String,
    "kind": pl.String,
    "requests": pl.Int64,
    "tokens": pl.Int64,
    **dict.fromkeys(WINDOW_NUMBERS, pl.Int64),
}


def serving_windows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Windows of a selection, alike ones as one row: server, kind, requests, tokens, and those of
    prompts and of generation; calls, and cpu and gpu total, mean, max and min in ns (gpu: device
    work launched inside, null where the recording links none).

    Raises:
        SelectionError: steps or a phase that are not in this trace.
    """
    ranges = serving_ranges(trace)
    parent = indices(trace.slices["parent"])
    is_window = np.zeros(trace.slices.height, np.bool_)
    is_window[ranges] = True
    above = np.append(nearest_marked(parent, is_window), -1)[parent[ranges]]
    ranges = ranges[(above < 0) & slice_mask(trace, selection)[ranges]]
    calls = trace.slices.select("name_code", cpu="dur_ns", gpu="device_total_ns")[ranges]
    if no_device_time(trace) is not None:
        calls = calls.with_columns(gpu=pl.lit(None, pl.Int64))
    windows_by_name = {
        code: serving_window(str(trace.strings[code]))
        for code in calls["name_code"].unique().to_list()
    }
    names = pl.DataFrame(
        [
            {"name_code": code, **{key: getattr(serving_window, key) for key in _SCHEMA}}
            for code, serving_window in windows_by_name.items()
        ],
        schema={"name_code": calls.schema["name_code"], **_SCHEMA},
    )
    return (
        calls.join(names, on="name_code", how="left", maintain_order="left")
        .group_by(list(_SCHEMA), maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            *(
                getattr(pl.col(side), how)().alias(f"{side}_{figure}_ns")
                for side in ("cpu", "gpu")
                for figure, how in _FIGURES.items()
            ),
        )
        .with_columns(pl.when(pl.col("gpu_mean_ns").is_not_null()).then(pl.col("gpu_total_ns")))
    )


_FIGURES = {"total": "sum", "mean": "mean", "max": "max", "min": "min"}
