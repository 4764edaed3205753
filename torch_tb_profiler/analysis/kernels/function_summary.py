"""Kernels summed by the name of their function, without template and call arguments.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import re

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.calls import selected_kernel_calls
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace

_ANONYMOUS_NAMESPACE = re.compile(r"\(anonymous namespace\)::")
_RETURN_TYPE = re.compile(r"^void\s+")


def function_name(name: str) -> str:
    """``"void at::native::f<float>(int)"`` → ``"at::native::f"``; unchanged where nothing would
    remain."""
    plain = _RETURN_TYPE.sub("", _ANONYMOUS_NAMESPACE.sub("", name))
    return re.split("[<(]", plain, maxsplit=1)[0].strip() or name


def kernel_summary(trace: Trace, selection: Selection) -> tuple[pl.DataFrame, int]:
    """Kernels of a selection by function, in order of the first: ``name``, ``calls``,
    ``gpu_total_ns``, ``gpu_mean_ns``, ``gpu_max_ns``, ``gpu_min_ns``; and the time of all in ns.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = selected_kernel_calls(trace, selection)
    names = codes.texts(trace, calls["name_code"].unique(maintain_order=True))
    known = pl.DataFrame(
        {
            "name_code": calls["name_code"].unique(maintain_order=True),
            "name": [None if name is None else function_name(name) for name in names.to_list()],
        },
        schema={"name_code": calls.schema["name_code"], "name": pl.String},
    )
    time = pl.col("dur_ns")
    groups = (
        calls.join(known, on="name_code", how="left", maintain_order="left")
        .group_by("name", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            time.sum().alias("gpu_total_ns"),
            time.mean().alias("gpu_mean_ns"),
            time.max().alias("gpu_max_ns"),
            time.min().alias("gpu_min_ns"),
        )
    )
    return groups, int(calls["dur_ns"].sum())
