"""What a trace of AMD's profilers sums to, in the form of the second readers of this folder."""

from __future__ import annotations

import polars as pl

from tests.helpers import sums
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace

CALLS = (Category.RUNTIME, Category.HOST_OTHER, Category.OVERHEAD)


def _grouped(trace: Trace, rows: pl.DataFrame, keys: tuple[str, ...], value: str) -> sums.Sums:
    frame = rows.group_by(keys).agg(pl.len().alias("how many"), pl.col(value).sum().alias("sum"))
    return {
        tuple(
            trace.text(each) if key.endswith("_code") else each
            for key, each in zip(keys, row, strict=True)
        ): (count, total)
        for *row, count, total in frame.iter_rows()
    }


def kernels(trace: Trace) -> sums.Sums:
    """Kernels by (device, name), in ns."""
    rows = trace.device_work.filter(pl.col("category") == int(Category.KERNEL))
    return _grouped(trace, rows, ("device", "name_code"), "dur_ns")


def copies(trace: Trace, value: str = "bytes") -> sums.Sums:
    """Copies by name, in bytes or ns."""
    rows = trace.device_work.filter(pl.col("category") == int(Category.MEMCPY))
    return _grouped(trace, rows, ("name_code",), value)


def calls(trace: Trace) -> sums.Sums:
    """Calls of libraries by (process, thread, name), in ns."""
    return sums.slices(trace, pl.col("category").is_in([int(each) for each in CALLS]))


def ranges(trace: Trace) -> sums.Sums:
    """What is no call and no work of a device, by (process, thread, name), in ns."""
    rest = (*CALLS, Category.KERNEL, Category.MEMCPY, Category.MEMSET, Category.DEVICE_OTHER)
    return sums.slices(trace, ~pl.col("category").is_in([int(each) for each in rest]))


def launches(trace: Trace) -> sums.Sums:
    """Work of devices by the name of its call, in ns."""
    by_kind = sums.launches(trace)
    names = {name for _, name in by_kind}
    return {
        (name,): (
            sum(count for (_, other), (count, _) in by_kind.items() if other == name),
            sum(total for (_, other), (_, total) in by_kind.items() if other == name),
        )
        for name in names
    }


def counters(trace: Trace) -> sums.Sums:
    """Counters by (kernel, counter)."""
    names = trace.slices.select(pl.col("id").alias("slice"), "name_code")
    rows = trace.arguments.filter(pl.col("value").is_not_null()).join(names, on="slice")
    grouped = _grouped(trace, rows, ("name_code", "key_code"), "value")
    return {key: value for key, value in grouped.items() if key[1].isupper()}
