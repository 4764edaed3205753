"""Which kernels used matrix units, where a recording measured it: on devices whose kernels' names
do not show it."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.recording.device_terms import device_terms
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_BUSY = re.compile(r"(?:aic_)?(?:mac|cube)(?:_\w+)?_ratio")
"""Metrics of a kernel (Ascend's ``kernel_details.csv``): the share of its time in which the Cube
units multiplied matrices. With several, for example one per data type, each has its own."""


@per_trace
def recorded_matrix_use(trace: Trace) -> Int8 | None:
    """Per row of ``trace.device_work`` the verdict (``analysis.algebra.codes``) whether a kernel
    used matrix units, from the samples at its start; None where none was taken.

    Kernels that start at the same moment are unknown if their values differ.
    """
    rows = _samples(trace)
    if not rows.height:
        return None
    # One value per kernel and metric; kernels of one start share their moment.
    used = rows.group_by("time_ns", "metric_code").agg(
        least=pl.col("value").min(), most=pl.col("value").max()
    )
    at = used.group_by("time_ns").agg(
        verdict=pl.when((pl.col("least") > 0).any())
        .then(pl.lit(codes.YES, pl.Int8))
        .when((pl.col("most") <= 0).all())
        .then(pl.lit(codes.NO, pl.Int8))
        .otherwise(pl.lit(codes.UNKNOWN, pl.Int8))
    )
    work = trace.device_work.select("start_ns", "category")
    verdicts = work.join(
        at, left_on="start_ns", right_on="time_ns", how="left", maintain_order="left"
    )
    known = verdicts["verdict"].fill_null(codes.UNKNOWN).to_numpy().astype(np.int8)
    known[verdicts["category"].to_numpy() != Category.KERNEL] = codes.NO
    return known


def matrix_units_busy_pct(trace: Trace, mask: Bools) -> float | None:
    """How busy matrix units are in the kernels that use them, weighted by their durations: the mean
    over the rows of ``trace.device_work`` in ``mask``; None where it was not recorded of any."""
    use = recorded_matrix_use(trace)
    if use is None:
        return None
    busy = (
        _samples(trace)
        .group_by("time_ns", "metric_code")
        .agg(pl.col("value").mean())
        .group_by("time_ns")
        .agg(pl.col("value").sum())
    )
    kernels = (
        trace.device_work.select("start_ns", "dur_ns")
        .filter(pl.Series(mask & (use == codes.YES)))
        .join(busy, left_on="start_ns", right_on="time_ns", how="left")
    )
    whole = float(kernels["dur_ns"].sum())
    return float((kernels["dur_ns"] * kernels["value"]).sum()) / whole if whole else None


def _samples(trace: Trace) -> pl.DataFrame:
    """The samples of the share of a kernel's time, with their metric."""
    sampled = trace.samples["metric_code"].unique().to_list()
    metrics = [code for code in sampled if _BUSY.fullmatch(trace.text(code) or "")]
    is_of_them = pl.col("metric_code").is_in(metrics) & pl.col("value").is_finite()
    return trace.samples.filter(is_of_them)


@per_trace
def unknown_matrix_units(trace: Trace) -> str | None:
    """Why it is unknown of all kernels whether they use matrix units; None where it is known."""
    kind = device_terms(trace)
    if kind is None or recorded_matrix_use(trace) is not None:
        return None
    return kind.no_matrix_units
