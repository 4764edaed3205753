"""Findings about the time of some kernels: estimated gain, evidence and interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, total, union
from torch_tb_profiler.analysis.idle.host_threads import host_activity
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding, Spot
from torch_tb_profiler.evidence.sources import filter_clause
from torch_tb_profiler.evidence.tables import (
    CALLS,
    KERNEL,
    NO_OPERATOR,
    OPERATOR,
    TOTAL_US,
    build_table,
    sum_calls,
)
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Table, TableSpec

NO_GAIN_YET = "no_gain_yet"
"""Variant of the sentence that is added if the step would not become shorter."""

HOST_LIMITS = "host_limits"
"""Variant of the sentence that is added if the host keeps most of the saved time from the step."""

_LITTLE = 0.5
"""A gain below this share of the saved time needs a reason."""


class KernelGain(NamedTuple):
    """The effect of shorter kernels on a step.

    Attributes:
        gain_us: By how much the step could be shorter; None for nothing, or if it is unknown.
        at_stake_us: The time per step in which the kernels run; if the gain is unknown, the time
            that they would save themselves; None if nothing would be saved.
        no_gain_yet: The last sentence of the text if the step would not become shorter, or by much
            less than the kernels because of the host, else empty.
    """

    gain_us: float | None
    at_stake_us: float | None
    no_gain_yet: str


def estimate_gain(
    context: Context, code: str, kernels: pl.DataFrame, saved_ns: npt.NDArray[Any]
) -> KernelGain:
    """Estimate what a step gains if each of ``kernels`` is shorter by ``saved_ns``."""
    saved = np.rint(np.maximum(saved_ns, 0)).astype(np.int64)
    if not saved.any():
        return KernelGain(None, None, "")
    gain_us = context.device_gain_us(kernels, saved)
    if gain_us is None:
        return KernelGain(None, context.per_step(float(saved.sum())) / NS_PER_US, "")
    limit = _host_limit(context, code, context.per_step(float(saved.sum())), gain_us)
    if gain_us <= 0:
        return KernelGain(None, None, limit or entry(code).texts[NO_GAIN_YET])
    run_ns = context.per_step(total(kernel_intervals(context, kernels)))
    return KernelGain(gain_us, run_ns / NS_PER_US, limit)


def _host_limit(context: Context, code: str, saved_ns: float, gain_us: float) -> str:
    """That a step without this time would be shorter than its host needs; empty if it would not,
    the gain is most of it, or the finding has no such sentence."""
    text = entry(code).texts.get(HOST_LIMITS)
    host_ns = context.per_step_ns(host_activity(context.trace))
    if text is None or gain_us * NS_PER_US >= _LITTLE * saved_ns:
        return ""
    if context.step_ns - host_ns >= saved_ns:
        return ""
    return text.format(
        saved=duration_text(saved_ns / NS_PER_US),
        host=duration_text(host_ns / NS_PER_US),
        step=duration_text(context.step_ns / NS_PER_US),
    )


def kernel_intervals(context: Context, kernels: pl.DataFrame) -> Intervals:
    """The time in the steps in which any of the kernels ran."""
    start = kernels["start_ns"].to_numpy()
    return context.within_steps(union(start, start + kernels["dur_ns"].to_numpy()))


def step_share_pct(context: Context, kernels: pl.DataFrame) -> float:
    """Share of the mean step in which any of the kernels runs, in percent."""
    return context.share_pct(context.per_step(total(kernel_intervals(context, kernels))))


def kernel_share_pct(context: Context, kernels: pl.DataFrame) -> float:
    """Their share of the kernel time, in percent; 0 without kernels."""
    total_ns = int(context.kernels["dur_ns"].sum())
    return int(kernels["dur_ns"].sum()) / total_ns * 100 if total_ns else 0.0


def longest_kernel(context: Context, kernels: pl.DataFrame) -> Spot | None:
    """The interval of the longest kernel; None without kernels."""
    if kernels.is_empty():
        return None
    start_ns, dur_ns, slice_id = kernels.select("start_ns", "dur_ns", "slice").row(
        int(kernels["dur_ns"].to_numpy().argmax())
    )
    return context.spot(start_ns, start_ns + dur_ns, slice_id)


def kernel_table(code: str, title: str) -> TableSpec:
    """The evidence table of a finding about kernels and their operators."""
    return TableSpec(
        code,
        title,
        "One row per operator and kernel, longest total time first.",
        (OPERATOR, KERNEL, CALLS, TOTAL_US),
    )


def kernels_by_operator(
    context: Context, kernels: pl.DataFrame, spec: TableSpec
) -> tuple[Table, dict[str, str]]:
    """The rows of :func:`kernel_table`, and the rows of the kernels view of the operator with most
    kernel time."""
    names = indices(context.trace.slices["name_code"])
    owner_code = pl.Series(gather(names, indices(kernels["owner"])), dtype=pl.Int64)
    groups = sum_calls(kernels.with_columns(owner_code=owner_code), "owner_code", "name_code")
    groups = groups.with_columns(
        operator=context.texts(groups["owner_code"]), kernel=context.texts(groups["name_code"])
    )
    main = groups.group_by("operator", maintain_order=True).agg(pl.col("dur_ns").sum())
    operator = main.sort("dur_ns", descending=True, maintain_order=True)["operator"][0]
    rows = groups.head(int(entry(spec.name).parameters["max_rows"]))
    return build_table(spec, rows, {"operator": NO_OPERATOR}), {
        "view": "kernels",
        "table": "kernels",
        "group_by": "name+operator+launch",
        "filter": "operator=-" if operator is None else filter_clause("operator", operator),
        "sort": "-total_us",
    }


def select_kernels(context: Context, rows: Bools) -> pl.DataFrame:
    """The kernels of ``context.kernels`` in the chosen rows (a mask) of ``trace.device_work``."""
    return context.kernels.filter(pl.Series(rows[context.kernels["row"].to_numpy()]))


def kernel_finding(
    context: Context,
    spec: TableSpec,
    kernels: pl.DataFrame,
    saved_ns: npt.NDArray[Any],
    variant: str = "default",
    *,
    values: Mapping[str, object] | None = None,
) -> Finding | None:
    """A finding if ``kernels`` take more of the kernel time than the threshold of ``spec.name``;
    else None. ``saved_ns`` is the time by which each could be shorter; where that is unknown (all
    0), the order of findings assumes the part ``assumed_part`` of their time, if the entry has it.
    """
    share, known = kernel_share_pct(context, kernels), entry(spec.name)
    if share <= known.threshold:
        return None
    if step_share_pct(context, kernels) < known.parameters["min_step_share_pct"]:
        return None
    gain = estimate_gain(context, spec.name, kernels, saved_ns)
    part = known.parameters.get("assumed_part")
    if part is not None:
        assumed = estimate_gain(context, spec.name, kernels, kernels["dur_ns"].to_numpy() * part)
        at_stake_us = assumed.at_stake_us if assumed.gain_us is None else assumed.gain_us
        gain = KernelGain(None, at_stake_us, assumed.no_gain_yet)
    evidence, source = kernels_by_operator(context, kernels, spec)
    return Finding(
        spec.name,
        share,
        gain.gain_us,
        variant=variant,
        values={"no_gain_yet": gain.no_gain_yet, **(values or {})},
        evidence=evidence,
        source=source,
        architecture=context.architecture_name,
        time=kernel_intervals(context, kernels),
        spot=longest_kernel(context, kernels),
        at_stake_us=gain.at_stake_us,
    )


def median_kernel_us(context: Context) -> float | None:
    """Median duration of the kernels that compute; None without kernels, or without any recorded
    launch, as it is unknown then whether the host was late."""
    kernels = context.kernels
    if kernels["launch"].null_count() == kernels.height:
        return None
    median = kernels["dur_ns"].median()
    return float(median) / NS_PER_US if isinstance(median, int | float) else None


def has_small_kernels(context: Context) -> bool | None:
    """Whether the median kernel is small; None if its duration says nothing."""
    median_us = median_kernel_us(context)
    return (
        None
        if median_us is None
        else median_us <= entry("launch_bound").parameters["small_kernel_us"]
    )
