"""Findings that some kernels take much time: what a step could gain, and where to look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, total, union
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding, Spot
from torch_tb_profiler.evidence.sources import clause
from torch_tb_profiler.evidence.tables import (
    CALLS,
    KERNEL,
    NO_OPERATOR,
    OPERATOR,
    TOTAL_US,
    calls_and_time,
    filled,
)
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Table, TableSpec

NO_GAIN_YET = "no_gain_yet"
"""The variant of a text that is added where the step would not be shorter."""


class Outlook(NamedTuple):
    """What shorter kernels would do for a step.

    Attributes:
        gain_us: By how much it could be shorter; None where by nothing or it cannot be told.
        at_stake_us: What the kernels would save themselves, where the gain cannot be told.
        no_gain_yet: The sentence a text ends with where the step would be no shorter, else empty.
    """

    gain_us: float | None
    at_stake_us: float | None
    no_gain_yet: str


def outlook(
    context: Context, code: str, kernels: pl.DataFrame, saved_ns: npt.NDArray[Any]
) -> Outlook:
    """What a step gains where each of ``kernels`` is shorter by ``saved_ns``; nothing is told of
    the gain where none of them is."""
    saved = np.rint(np.maximum(saved_ns, 0)).astype(np.int64)
    if not saved.any():
        return Outlook(None, None, "")
    gain_us = context.device_gain_us(kernels, saved)
    if gain_us is None:
        return Outlook(None, context.per_step(float(saved.sum())) / NS_PER_US, "")
    if gain_us <= 0:
        return Outlook(None, None, entry(code).texts[NO_GAIN_YET])
    return Outlook(gain_us, None, "")


def busy(context: Context, kernels: pl.DataFrame) -> Intervals:
    """When any of the kernels ran, inside the steps."""
    start = kernels["start_ns"].to_numpy()
    return context.within_steps(union(start, start + kernels["dur_ns"].to_numpy()))


def step_share_pct(context: Context, kernels: pl.DataFrame) -> float:
    """Share of the mean step in which any of the kernels runs, in percent."""
    return context.share_pct(context.per_step(total(busy(context, kernels))))


def kernel_share_pct(context: Context, kernels: pl.DataFrame) -> float:
    """Share of the kernel time that is theirs, in percent; 0 where there is none."""
    total_ns = int(context.kernels["dur_ns"].sum())
    return int(kernels["dur_ns"].sum()) / total_ns * 100 if total_ns else 0.0


def longest(context: Context, kernels: pl.DataFrame) -> Spot | None:
    """The kernel that took longest; None where there is none."""
    if kernels.is_empty():
        return None
    start_ns, dur_ns, slice_id = kernels.select("start_ns", "dur_ns", "slice").row(
        int(kernels["dur_ns"].to_numpy().argmax())
    )
    return context.spot(start_ns, start_ns + dur_ns, slice_id)


def kernel_table(code: str, title: str) -> TableSpec:
    """Evidence that names kernels and what launched them."""
    return TableSpec(
        code,
        title,
        "One row per operator and kernel, those that took longest first.",
        (OPERATOR, KERNEL, CALLS, TOTAL_US),
    )


def by_operator(
    context: Context, kernels: pl.DataFrame, spec: TableSpec
) -> tuple[Table, dict[str, str]]:
    """The rows of :func:`kernel_table`, and where the kernels view shows those of the operator
    that launched most of the time."""
    names = indices(context.trace.slices["name_code"])
    owner_code = pl.Series(gather(names, indices(kernels["owner"])), dtype=pl.Int64)
    groups = calls_and_time(kernels.with_columns(owner_code=owner_code), "owner_code", "name_code")
    groups = groups.with_columns(
        operator=context.texts(groups["owner_code"]), kernel=context.texts(groups["name_code"])
    )
    main = groups.group_by("operator", maintain_order=True).agg(pl.col("dur_ns").sum())
    operator = main.sort("dur_ns", descending=True, maintain_order=True)["operator"][0]
    rows = groups.head(int(entry(spec.name).parameters["max_rows"]))
    return filled(spec, rows, {"operator": NO_OPERATOR}), {
        "view": "kernels",
        "table": "kernels",
        "group_by": "name+operator+launch",
        "filter": "operator=-" if operator is None else clause("operator", operator),
        "sort": "-total_us",
    }


def marked(context: Context, rows: Bools) -> pl.DataFrame:
    """The kernels of ``context.kernels`` among the marked rows of ``trace.device_work``."""
    slices = context.trace.device_work["slice"].filter(pl.Series(rows))
    return context.kernels.filter(pl.col("slice").is_in(slices.implode()))


def kernel_finding(
    context: Context,
    spec: TableSpec,
    kernels: pl.DataFrame,
    saved_ns: npt.NDArray[Any],
    variant: str = "default",
    *,
    values: Mapping[str, object] | None = None,
) -> Finding | None:
    """That ``kernels`` take more of the kernel time than the threshold of ``spec.name``, and each
    could be shorter by ``saved_ns``; None where they do not."""
    share, known = kernel_share_pct(context, kernels), entry(spec.name)
    if share <= known.threshold:
        return None
    if step_share_pct(context, kernels) < known.parameters["min_step_share_pct"]:
        return None
    could = outlook(context, spec.name, kernels, saved_ns)
    evidence, source = by_operator(context, kernels, spec)
    return Finding(
        spec.name,
        share,
        could.gain_us,
        variant=variant,
        values={"no_gain_yet": could.no_gain_yet, **(values or {})},
        evidence=evidence,
        source=source,
        architecture=context.architecture_name,
        time=busy(context, kernels),
        spot=longest(context, kernels),
        at_stake_us=could.at_stake_us,
    )


def median_kernel_us(context: Context) -> float | None:
    """Median duration of the kernels that compute; None where there are none, or where no launch
    is known and so not whether the host was late."""
    kernels = context.kernels
    if kernels["launch"].null_count() == kernels.height:
        return None
    median = kernels["dur_ns"].median()
    return float(median) / NS_PER_US if isinstance(median, int | float) else None


def has_small_kernels(context: Context) -> bool | None:
    """Whether half of the kernels are small; None where that says nothing."""
    median_us = median_kernel_us(context)
    return (
        None
        if median_us is None
        else median_us <= entry("launch_bound").parameters["small_kernel_us"]
    )
