"""Copies and memsets of devices: direction, bytes and time.

Definitions: ``docs/metrics.md#copies-and-sets``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.recording.stated_texts import copy_texts
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.knowledge import copies as knowledge
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

SET = "set"
"""The kind of memory sets."""

_KEYS = ("kind", "host_memory", "device")


@per_trace
def copy_calls(trace: Trace) -> pl.DataFrame:
    """One row per copy and set, in order of slice id.

    Columns: row (of ``trace.device_work``), kind (:data:`SET`, ``"HtoD"`` and so on; null where
    neither the name of a copy nor its arguments have a direction), host_memory (``"pageable"``,
    ``"pinned"``, ``"managed"``; null where unknown), device, dur_ns, bytes, launch_code (name of
    the call that launched it, -1 where unknown).
    """
    work = trace.device_work.with_row_index("row").filter(pl.col("category") != Category.KERNEL)
    texts = copy_texts(trace, work)
    pairs = list(zip(texts.names, texts.stated, strict=True))
    direction, host_memory = (
        pl.Series([_recognized(rule, each) for each in pairs], dtype=pl.String).gather(texts.index)
        for rule in (knowledge.direction, knowledge.host_memory)
    )
    launches = gather(indices(trace.slices["name_code"]), indices(work["launch"]))
    is_set = pl.col("category") == Category.MEMSET
    calls: pl.DataFrame = work.with_columns(
        launch_code=pl.Series(launches, dtype=pl.Int32),
        direction=direction,
        host_memory=host_memory,
    ).select(
        pl.col("row").cast(pl.Int64),
        pl.when(is_set).then(pl.lit(SET)).otherwise("direction").alias("kind"),
        "host_memory",
        "device",
        "dur_ns",
        "bytes",
        "launch_code",
    )
    return calls


def _recognized(rule: Callable[[str], str | None], texts: tuple[str, str]) -> str | None:
    """What a rule recognizes in the name, else in the arguments."""
    return next((known for text in texts if (known := rule(text)) is not None), None)


def copy_groups(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Selected copies and memsets by kind, memory of the host and device, in order of first call.

    Columns: those three, calls, total_bytes (null where no copy has bytes), total_ns, sized_ns (of
    those with bytes), launch_code (of the call that launched most of them, the first on a tie; null
    where no launch is known).

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = copy_calls(trace)
    if not selection.is_everything:
        chosen = device_work_mask(trace, selection)[calls["row"].to_numpy()]
        calls = calls.filter(pl.Series(np.asarray(chosen)))
    sized = pl.col("bytes").is_not_null()
    groups = calls.group_by(_KEYS, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"),
        pl.when(sized.any()).then(pl.col("bytes").sum()).alias("total_bytes"),
        pl.col("dur_ns").sum().alias("total_ns"),
        pl.col("dur_ns").filter(sized).sum().alias("sized_ns"),
    )
    launchers = (
        calls.filter(pl.col("launch_code") >= 0)
        .group_by(*_KEYS, "launch_code", maintain_order=True)
        .len()
        .sort("len", descending=True, maintain_order=True)
        .unique(_KEYS, keep="first", maintain_order=True)
        .drop("len")
    )
    return groups.join(
        launchers, on=list(_KEYS), how="left", nulls_equal=True, maintain_order="left"
    )
