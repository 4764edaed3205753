"""A GPU of a run that needs longer than the others for the same kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.kernels.durations import kernel_paces
from torch_tb_profiler.evidence.clocks import clocks_text
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.same_kernels import SameKernels, same_kernels
from torch_tb_profiler.evidence.tables import CALLS, KERNEL, filled
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.quality_notes import is_cut_short
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "slow_device"
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "The same kernels on all workers",
    "One row per kernel and launch shape, those with most time on this worker first.",
    (
        KERNEL,
        CALLS,
        Column(
            "median_us",
            "Median",
            "number",
            "us",
            "Its median duration on this worker.",
            family="median",
        ),
        Column(
            "others_us",
            "Others",
            "number",
            "us",
            "The same on the others, in the median.",
            family="median",
        ),
        Column("slower_pct", "Slower", "number", "pct", "How much longer it takes here."),
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """How one worker keeps up.

    Attributes:
        worker: Its place.
        slower: Per kernel how many times the median of the others it takes.
        weight: Per kernel its time on this worker.
    """

    worker: int
    slower: Float64
    weight: Float64

    def lead_pct(self, mask: npt.NDArray[np.bool_] | None = None) -> float:
        """How much longer it takes in all, or for some kernels; 0 where there are none."""
        slower, weight = self.slower, self.weight
        if mask is not None:
            slower, weight = slower[mask], weight[mask]
        whole = float(weight.sum())
        return (float((slower * weight).sum()) / whole - 1) * 100 if whole else 0.0

    @property
    def consistent_pct(self) -> float:
        """In how much of that time it takes longer than the others."""
        return float(self.weight[self.slower > 1].sum() / self.weight.sum()) * 100


def detect_across_workers(contexts: Mapping[str, Context]) -> Finding | None:
    """Of GPUs of one model, one needs longer than the others in the median for the kernels that
    all workers launch equally often in equal shapes, by more than the threshold and for nearly all
    of these kernels; they are most of the work. Of whole recordings, whatever is selected.

    What it costs the run is told by the findings on who waits, so no gain is claimed.
    """
    known = entry(CODE)
    whole = {name: each for name, each in contexts.items() if not is_cut_short(each.trace)}
    if len(whole) < known.parameters["min_workers"] or not _are_of_one_model(whole):
        return None
    traces = {name: each.trace for name, each in whole.items()}
    least, off = (known.parameters[key] for key in ("min_same_pct", "max_calls_off_pct"))
    same = same_kernels(list(traces.values()), least, off)
    if same is None:
        return None
    pace = max((_pace(same, worker) for worker in range(len(whole))), key=Pace.lead_pct)
    if pace.lead_pct() <= known.threshold:
        return None
    if pace.consistent_pct < known.parameters["min_consistent_pct"]:
        return None
    name = list(whole)[pace.worker]
    context = whole[name]
    kernel = kernel_paces(context.trace).row(0, named=True)
    end_ns = kernel["start_ns"] + kernel["dur_ns"]
    excess_ns = float((pace.weight * (1 - 1 / pace.slower)).sum())
    return Finding(
        CODE,
        pace.lead_pct(),
        None,
        values={
            "worker": name,
            "consistent": pace.consistent_pct,
            "clocks": clocks_text(traces, name),
        },
        evidence=filled(EVIDENCE, _rows(same, pace)),
        source={"view": "distributed", "table": "overlap", "sort": "-computation_us"},
        variant=_variant(same, pace, known.threshold),
        spot=context.spot(kernel["start_ns"], end_ns, kernel["longest"], name),
        at_stake_us=excess_ns / max(context.trace.steps.height, 1) / NS_PER_US,
    )


def _are_of_one_model(contexts: Mapping[str, Context]) -> bool:
    models = {model for each in contexts.values() for model in each.used_devices["name"].to_list()}
    return len(models) == 1 and None not in models


def _pace(same: SameKernels, worker: int) -> Pace:
    others = np.median(np.delete(same.median_ns, worker, axis=1), axis=1)
    return Pace(worker, same.median_ns[:, worker] / others, same.total_ns[:, worker])


def _variant(same: SameKernels, pace: Pace, threshold: float) -> str:
    """What is slow: only kernels that compute, only those that memory limits, or both."""
    compute, memory = pace.lead_pct(same.computes), pace.lead_pct(~same.computes)
    if compute > threshold and memory * 2 <= threshold:
        return "compute"
    if memory > threshold and compute * 2 <= threshold:
        return "memory"
    return "default"


def _rows(same: SameKernels, pace: Pace) -> pl.DataFrame:
    own_us = same.median_ns[:, pace.worker] / NS_PER_US
    rows = same.kernels.with_columns(
        median_us=pl.Series(own_us),
        others_us=pl.Series(own_us / pace.slower),
        slower_pct=pl.Series((pace.slower - 1) * 100),
        weight=pl.Series(pace.weight),
    )
    return rows.sort("weight", descending=True, maintain_order=True).head(MAX_ROWS)
