"""A GPU of a run takes longer than the others for the same kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.kernels.durations import clocks, kernel_durations
from torch_tb_profiler.analysis.recording.user_rules import kernel_kind
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import CALLS, KERNEL, build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Bools, Float64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.quality_notes import is_cut_short
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "slow_device"
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "The same kernels on all workers",
    "One row per kernel and launch shape, longest total time on this worker first.",
    (
        KERNEL,
        CALLS,
        Column(
            "median_us",
            "Median",
            "number",
            "us",
            "Median duration on this worker.",
            family="median",
        ),
        Column(
            "others_us",
            "Others",
            "number",
            "us",
            "Median of the median durations on the others.",
            family="median",
        ),
        Column("slower_pct", "Slower", "number", "pct", "How much longer it takes on this worker."),
    ),
)

KEY = ["kernel", "grid", "block"]
WORKER_COLUMNS = ["median_ns", "total_ns", "of_all_pct"]
COMPUTE = frozenset({"gemm", "convolution", "attention"})
"""Kinds limited by the SM clock; most others are limited by memory."""


class SharedKernels(Struct, frozen=True, eq=False):
    """Kernels by name and launch shape.

    Attributes:
        kernels: One row each: ``kernel``, ``calls`` (on the first worker).
        median_ns: Median duration, shape ``(kernels, workers)``.
        total_ns: Sum of durations, shape ``(kernels, workers)``.
        computes: Mask of the kernels limited by the SM clock rather than memory.
    """

    kernels: pl.DataFrame
    median_ns: Float64
    total_ns: Float64
    computes: Bools


class RelativePace(Struct, frozen=True, eq=False):
    """The kernel durations of one worker relative to the others.

    Attributes:
        worker: Number of the worker.
        slower: Per kernel its duration divided by the median of the others.
        weight: Per kernel its total time on this worker, in ns.
    """

    worker: int
    slower: Float64
    weight: Float64

    def lead_pct(self, mask: npt.NDArray[np.bool_] | None = None) -> float:
        """How much longer the worker takes for all kernels, or some; 0 without kernels."""
        slower, weight = self.slower, self.weight
        if mask is not None:
            slower, weight = slower[mask], weight[mask]
        whole = float(weight.sum())
        return (float((slower * weight).sum()) / whole - 1) * 100 if whole else 0.0

    @property
    def consistent_pct(self) -> float:
        """Share of that time in kernels that take longer than on the others."""
        return float(self.weight[self.slower > 1].sum() / self.weight.sum()) * 100


def detect_across_workers(contexts: Mapping[str, Context]) -> Finding | None:
    """Of GPUs of one model, one takes longer than the median of the others for the kernels that all
    workers launch equally often in equal shapes, by more than the threshold and for nearly all of
    these kernels, which are most of the work. Compares whole recordings, whatever is selected.

    The findings about waiting ranks cover the cost for the run, so no gain is estimated.
    """
    known = entry(CODE)
    whole = {name: each for name, each in contexts.items() if not is_cut_short(each.trace)}
    if len(whole) < known.parameters["min_workers"] or not _are_of_one_model(whole):
        return None
    traces = {name: each.trace for name, each in whole.items()}
    least, off = (known.parameters[key] for key in ("min_same_pct", "max_calls_off_pct"))
    shared = _shared_kernels(list(traces.values()), least, off)
    if shared is None:
        return None
    pace = _slowest(shared)
    if pace.lead_pct() <= known.threshold:
        return None
    if pace.consistent_pct < known.parameters["min_consistent_pct"]:
        return None
    name = list(whole)[pace.worker]
    context = whole[name]
    kernel = kernel_durations(context.trace).row(0, named=True)
    end_ns = kernel["start_ns"] + kernel["dur_ns"]
    excess_ns = float((pace.weight * (1 - 1 / pace.slower)).sum())
    return Finding(
        CODE,
        pace.lead_pct(),
        None,
        values={
            "worker": name,
            "consistent": pace.consistent_pct,
            "clocks": _clocks_text(traces, name),
        },
        evidence=build_table(EVIDENCE, _rows(shared, pace)),
        source={"view": "distributed", "table": "overlap", "sort": "-computation_us"},
        variant=_variant(shared, pace, known.threshold),
        spot=context.spot(kernel["start_ns"], end_ns, kernel["longest"], name),
        at_stake_us=excess_ns / max(context.trace.steps.height, 1) / NS_PER_US,
    )


def _are_of_one_model(contexts: Mapping[str, Context]) -> bool:
    models = {model for each in contexts.values() for model in each.used_devices["name"].to_list()}
    return len(models) == 1 and None not in models


def _slowest(shared: SharedKernels) -> RelativePace:
    """The pace of the worker that takes longest in all, relative to the others."""
    others = _medians_of_others(shared.median_ns)
    slower, weight = shared.median_ns / others, shared.total_ns
    whole = weight.sum(axis=0)
    lead = np.where(whole > 0, (slower * weight).sum(axis=0) / np.maximum(whole, 1), 1.0)
    worker = int(np.where(np.isnan(lead), -np.inf, lead).argmax())
    return RelativePace(worker, slower[:, worker], weight[:, worker])


def _medians_of_others(values: Float64) -> Float64:
    """Per row and column the median of the row without that column; there are two or more."""
    rank = values.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    ordered = np.sort(values, axis=1)
    count = values.shape[1] - 1
    halves = [(count - 1) // 2, count // 2]
    # What lies behind a column in the order moves up by one where it is left out.
    low, high = (np.take_along_axis(ordered, half + (rank <= half), axis=1) for half in halves)
    medians: Float64 = (low + high) / 2
    return medians


def _variant(shared: SharedKernels, pace: RelativePace, threshold: float) -> str:
    """The kernels that are slow: ``compute``, ``memory``, or ``default`` for both."""
    compute, memory = pace.lead_pct(shared.computes), pace.lead_pct(~shared.computes)
    if compute > threshold and memory * 2 <= threshold:
        return "compute"
    if memory > threshold and compute * 2 <= threshold:
        return "memory"
    return "default"


def _rows(shared: SharedKernels, pace: RelativePace) -> pl.DataFrame:
    own_us = shared.median_ns[:, pace.worker] / NS_PER_US
    rows = shared.kernels.with_columns(
        median_us=pl.Series(own_us),
        others_us=pl.Series(own_us / pace.slower),
        slower_pct=pl.Series((pace.slower - 1) * 100),
        weight=pl.Series(pace.weight),
    )
    return rows.sort("weight", descending=True, maintain_order=True).head(MAX_ROWS)


def _shared_kernels(
    workers: Sequence[Trace], least_pct: float, most_off_pct: float
) -> SharedKernels | None:
    """The kernels that all workers launch equally often, within ``most_off_pct`` for the ends of
    recordings; None if they are less than ``least_pct`` of the kernel time of a worker."""
    first = kernel_durations(workers[0]).select(*KEY, "calls").with_row_index("row")
    # One long table: one that gets columns for each worker takes time by the square of the workers.
    every = pl.concat(
        kernel_durations(worker).select(
            *KEY, *WORKER_COLUMNS, pl.col("calls").alias("own"), pl.lit(number).alias("worker")
        )
        for number, worker in enumerate(workers)
    )
    off = (pl.col("own") - pl.col("calls")).abs() * 100
    alike = every.join(first, on=KEY, nulls_equal=True).filter(
        off <= pl.col("calls") * most_off_pct
    )
    joined = alike.filter(pl.len().over("row") == len(workers)).sort("row", "worker")
    if joined.is_empty():
        return None
    median, total, of_all = (
        joined[key].to_numpy().reshape(-1, len(workers)) for key in WORKER_COLUMNS
    )
    if of_all.sum(axis=0).min() < least_pct:
        return None
    kernels = joined.filter(pl.col("worker") == 0).select("kernel", "calls")
    computes = [kernel_kind(workers[0], name).kind in COMPUTE for name in kernels["kernel"]]
    return SharedKernels(kernels, median, total.astype(np.float64), np.array(computes))


def _clocks_text(traces: Mapping[str, Trace], worker: str) -> str:
    """``"Its SM clock was 1,200 MHz, that of the others 1,980 MHz."``: of one worker of a run,
    with the median of the others; empty where not all recorded it."""
    recorded = {name: dict(clocks(trace).iter_rows()) for name, trace in traces.items()}
    sentences = []
    for clock, own in recorded[worker].items():
        others = [
            worker_clocks.get(clock) for name, worker_clocks in recorded.items() if name != worker
        ]
        known = [value for value in others if value is not None]
        if known and len(known) == len(others):
            usual = median(known)
            sentences.append(
                f"Its {clock} was {own:,.0f} MHz, that of the others {usual:,.0f} MHz."
            )
    return " ".join(sentences)
