"""The tables of Paddle's own recordings, row by row as Paddle prints them.

Definitions: ``docs/metrics.md#paddle``.
"""

from __future__ import annotations

import re

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.intervals import total
from torch_tb_profiler.analysis.operators.printed import sums, times
from torch_tb_profiler.analysis.operators.summaries.phases import OTHERS
from torch_tb_profiler.analysis.operators.summaries.user_ranges import ALL_THREADS
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.call_times import NO_WHOLE, side_keys, time_reasons, with_times
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.shares import of_whole
from torch_tb_profiler.views.summary.columns import (
    DEVICE,
    DISTRIBUTED,
    KERNEL,
    MEMORY_MANIPULATION,
    MODEL,
    NO_CALLS,
    NO_FLOPS,
    NOT_OF_HOST,
    NOT_RECORDED,
    OPERATOR,
    OVERVIEW,
    PART,
    PROCESS,
    SYSTEM,
    USER_DEFINED,
)
from torch_tb_profiler.views.summary.flops import with_flops
from torch_tb_profiler.views.summed_rows import NO_BYTES, NO_RATE, NO_STEP_TIME, unsorted

_WITH_ARGUMENTS = re.compile(r"(.+?)(<.*>)(\(.*\))")
"""The name of a kernel whose arguments Paddle leaves out."""


def device_table(trace: Trace, selection: Selection) -> Table:
    """How much the host and devices were used: kernels as share of the steps on the host.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    info = trace.meta.info
    whole = times.step_time_ns(trace, selection)
    devices = times.device_times(trace, selection)
    busy = of_whole(pl.Series([time for _, time in devices], dtype=pl.Int64), whole)
    names = [f"GPU{device}" for device, _ in devices]
    rows = pl.DataFrame(
        {
            "device": [PROCESS, SYSTEM, *names],
            "utilization_pct": [info.process_cpu_pct, info.system_cpu_pct, *busy],
        },
        schema=DEVICE.polars_schema(),
    )
    return unsorted(DEVICE, rows, {"utilization_pct": NOT_RECORDED})


def overview_table(trace: Trace, selection: Selection) -> Table:
    """Types of events; shares of the steps on the host.

    Raises:
        SelectionError: as :func:`device_table`.
    """
    types = times.event_types(trace, selection)
    rows = types.with_columns(
        time_us=microseconds(types["time_ns"]),
        pct=of_whole(types["time_ns"], times.step_time_ns(trace, selection)),
    )
    return unsorted(OVERVIEW, rows, {"pct": NO_STEP_TIME})


def model_table(trace: Trace, selection: Selection) -> Table:
    """Steps and phases, all of them whatever phase is selected; only with a phase.

    Raises:
        SelectionError: as :func:`device_table`.
    """
    groups = times.phases(trace, replace(selection, phase=None))
    if groups.height < 2:
        groups = groups.clear()
    whole_ns = times.step_time_ns(trace, selection)
    whole_gpu_ns, _ = sums.step_sums(trace, selection)
    is_phase = pl.col("name") != times.STEP
    known = no_device_time(trace) is None
    others = groups.select(
        name=pl.lit(OTHERS),
        cpu_total_ns=whole_ns - pl.col("cpu_total_ns").filter(is_phase).sum(),
        gpu_total_ns=(whole_gpu_ns - pl.col("gpu_total_ns").filter(is_phase).sum())
        if known
        else pl.lit(None, pl.Int64),
    )
    if groups.height:
        groups = pl.concat([groups, others.head(1)], how="diagonal_relaxed")
    reasons = dict.fromkeys(("calls", *side_keys("cpu"), *side_keys("gpu")), NO_CALLS)
    rows = with_times(groups, whole_ns, whole_gpu_ns)
    return unsorted(MODEL, rows, reasons | time_reasons(trace))


def distributed_table(trace: Trace, selection: Selection) -> Table:
    """Communication and computation; no row where nothing communicates.

    Raises:
        SelectionError: as :func:`device_table`.
    """
    times_of = times.communications(trace, selection)
    whole = times.step_time_ns(trace, selection)
    known = no_device_time(trace) is None
    named = [
        (times.STEP, whole),
        (times.COMMUNICATION, total(times_of.communication)),
        ("Computation", total(times_of.computation) if known else None),
        ("Overlap", total(times_of.overlap) if known else None),
    ]
    rows = named if named[1][1] else []
    frame = pl.DataFrame(rows, schema={"name": pl.String, "ns": pl.Int64}, orient="row")
    shown = frame.with_columns(total_us=frame["ns"] / NS_PER_US, pct=of_whole(frame["ns"], whole))
    unknown = no_device_time(trace) or NO_STEP_TIME
    return unsorted(DISTRIBUTED, shown, {"total_us": unknown, "pct": unknown})


def operator_table(
    trace: Trace, selection: Selection, *, by_thread: bool, with_parts: bool
) -> Table:
    """Operators, of each thread where threads are apart; shares are of the sum of the rows of the
    thread, those of parts of their operator, and those of work in a part of that.

    Raises:
        SelectionError: as :func:`device_table`.
    """
    groups = sums.operators(trace, selection, by_thread=by_thread)
    rows = _by_thread(with_times(groups, 0, 0)).with_columns(
        path=_path("thread", "name"), parent=pl.lit(None, pl.String)
    )
    wholes = {
        f"{side}_pct": pl.col(f"{side}_total_us").sum().over("thread") for side in ("cpu", "gpu")
    }
    rows = rows.with_columns(_share(key, whole) for key, whole in wholes.items())
    rows = with_flops(rows, trace, selection, by_thread=by_thread)
    if with_parts:
        rows = _with_parts(trace, selection, rows, by_thread)
    reasons = dict.fromkeys(side_keys("cpu"), NOT_OF_HOST) | time_reasons(trace)
    return unsorted(OPERATOR, rows, {**reasons, "flops": NO_FLOPS})


def _with_parts(
    trace: Trace, selection: Selection, rows: pl.DataFrame, by_thread: bool
) -> pl.DataFrame:
    groups = sums.operator_parts(trace, selection, by_thread=by_thread)
    above = (
        pl.when(pl.col("part").is_null())
        .then(_path("thread", "operator"))
        .otherwise(_path("thread", "operator", _KIND_OF_PARTS, "part"))
    )
    parts = (
        with_times(groups, 0, 0)
        .with_columns(parent=above, root=_path("thread", "operator"))
        .with_columns(path=_path("parent", "kind", "name"))
    )
    both = pl.concat([rows, parts], how="diagonal_relaxed")
    outer = both.select(
        pl.col("path").alias("parent"),
        *(pl.col(f"{side}_total_us").alias(f"{side}_outer") for side in ("cpu", "gpu")),
    )
    ranks = rows.select(root="path", root_rank=pl.int_range(pl.len()))
    inner_ranks = parts.filter(kind=sums.INNER).select(parent="path", inner_rank="rank")
    below = (
        parts.join(outer, on="parent", how="left", maintain_order="left")
        .with_columns(_share(f"{side}_pct", pl.col(f"{side}_outer")) for side in ("cpu", "gpu"))
        .join(ranks, on="root", how="inner", maintain_order="left")
        .join(inner_ranks, on="parent", how="left", maintain_order="left")
        .with_columns(
            is_own=pl.col("part").is_null() & (pl.col("kind") == sums.DEVICE),
            inner_rank=pl.when(pl.col("kind") == sums.INNER).then("rank").otherwise("inner_rank"),
            level=pl.when(pl.col("kind") == sums.INNER).then(0).otherwise(1),
        )
    )
    top = rows.with_columns(root_rank=pl.int_range(pl.len()), level=pl.lit(-1), is_own=False)
    return pl.concat([top, below], how="diagonal_relaxed").sort(
        "root_rank", "is_own", "inner_rank", "level", "rank", nulls_last=False,
        maintain_order=True,
    )  # fmt: skip


def kernel_table(trace: Trace, selection: Selection) -> Table:
    """Kernels by their whole name.

    Raises:
        SelectionError: as :func:`device_table`.
    """
    groups = sums.kernels(trace, selection)
    rows = with_times(groups, 0, int(groups["gpu_total_ns"].sum()))
    names = [_printed_name(name) for name in rows["name"].to_list()]
    rows = rows.with_columns(name=pl.Series(names, dtype=pl.String))
    rows = rows.sort("gpu_total_us", descending=True, maintain_order=True)
    return unsorted(KERNEL, rows, {"gpu_pct": NO_WHOLE})


def _printed_name(name: str) -> str:
    match = _WITH_ARGUMENTS.match(name)
    return name if match is None else match[1] + match[2]


def memory_manipulation_table(trace: Trace, selection: Selection) -> Table:
    """Ranges that copy or memset memory.

    Raises:
        SelectionError: as :func:`device_table`.
    """
    groups = sums.memory_manipulations(trace, selection)
    rows = with_times(groups, *_wholes(trace, selection)).with_columns(
        host_call="name", bandwidth_gbps=pl.col("bytes") / pl.col("gpu_total_ns")
    )
    reasons = {"bytes": NO_BYTES, "bandwidth_gbps": NO_RATE, **time_reasons(trace)}
    return unsorted(replace(MEMORY_MANIPULATION, sort=""), rows, reasons)


def user_table(trace: Trace, selection: Selection, *, domain: str | None, by_thread: bool) -> Table:
    """Ranges of the user, all of the domain ``user``.

    Raises:
        SelectionError: as :func:`device_table`.
    """
    groups = sums.ranges(trace, selection, by_thread=by_thread)
    if domain not in (None, USER):
        groups = groups.clear()
    rows = _by_thread(with_times(groups, *_wholes(trace, selection)))
    rows = rows.with_columns(domain=pl.lit(USER), thread=pl.col("thread").fill_null(ALL_THREADS))
    return unsorted(USER_DEFINED, rows, time_reasons(trace))


USER = "user"
_KIND_OF_PARTS = "inner_kind"


def _by_thread(rows: pl.DataFrame) -> pl.DataFrame:
    """Threads in order of their first row, in each the longest first."""
    return rows.with_columns(first=pl.col("rank").min().over("thread")).sort(
        "first", "cpu_total_us", descending=[False, True], maintain_order=True
    )


def _path(*names: str) -> pl.Expr:
    parts = [pl.lit(sums.INNER) if name == _KIND_OF_PARTS else pl.col(name) for name in names]
    return pl.concat_str(parts, separator=PART, ignore_nulls=True)


def _share(key: str, whole: pl.Expr) -> pl.Expr:
    total = pl.col(key.replace("_pct", "_total_us"))
    return pl.when(whole > 0).then(total / whole * 100).alias(key)


def _wholes(trace: Trace, selection: Selection) -> tuple[int, int]:
    return times.step_time_ns(trace, selection), sums.step_sums(trace, selection)[1]
