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
from torch_tb_profiler.knowledge.phases import server_of_code, serving_window
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
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
    servers = _nested_servers(trace, ranges, above)
    ranges = ranges[(above < 0) & slice_mask(trace, selection)[ranges]]
    calls = trace.slices.select("name_code", cpu="dur_ns", gpu="device_total_ns")[ranges]
    calls = calls.with_columns(
        nested=pl.Series([servers.get(row) for row in ranges.tolist()], dtype=pl.String)
    )
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
    server = pl.lit(recorded_server(trace), pl.String)
    return (
        calls.join(names, on="name_code", how="left", maintain_order="left")
        .with_columns(server=pl.coalesce(server, "nested", "server"))
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


def _nested_servers(trace: Trace, ranges: Int64, above: Int64) -> dict[int, str]:
    """Per window around windows the server that these name: the one around may be written as
    another server does, for tools that read its names.

    Args:
        trace: The trace.
        ranges: Slice ids of all windows.
        above: Per window the one around it, negative for none.
    """
    is_nested = above >= 0
    codes = trace.slices["name_code"].to_numpy()[ranges[is_nested]].tolist()
    servers: dict[int, set[str]] = {}
    for outer, code in zip(above[is_nested].tolist(), codes, strict=True):
        window = serving_window(str(trace.strings[code]))
        if window is not None:
            servers.setdefault(outer, set()).add(window.server)
    return {outer: next(iter(names)) for outer, names in servers.items() if len(names) == 1}


@per_trace
def recorded_server(trace: Trace) -> str | None:
    """The only server whose frames or operators the recording holds; None for none or several."""
    slices = trace.slices.filter(pl.col("category").is_in([*PYTHON_CATEGORIES, Category.OPERATOR]))
    names = (str(trace.strings[code]) for code in slices["name_code"].unique().to_list())
    servers = {server for name in names if (server := server_of_code(name)) is not None}
    return next(iter(servers)) if len(servers) == 1 else None


def is_server(trace: Trace) -> bool:
    """Whether the program is an inference server, as far as recorded."""
    return recorded_server(trace) is not None or len(serving_ranges(trace)) > 0


_FIGURES = {"total": "sum", "mean": "mean", "max": "max", "min": "min"}
