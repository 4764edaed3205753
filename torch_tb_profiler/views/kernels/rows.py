"""Calls of kernels, summed to the rows of the table of kernels.

Definitions: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from torch_tb_profiler.analysis.kernels.details import (
    LaunchVariant,
    kernel_details,
    parse_input_types,
)
from torch_tb_profiler.analysis.measured.work import has_measured_work
from torch_tb_profiler.analysis.recording.launch_measures import LAUNCH_KEYS
from torch_tb_profiler.analysis.recording.user_rules import kernel_types
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.measured_columns import frame_of_means, measured_columns_of_lists

_TAIL = 0.95


def kernel_rows(trace: Trace, calls: pl.DataFrame, *, by_launch: bool) -> pl.DataFrame:
    """The calls summed by kernel name, or by name, operator and launch configuration.

    Args:
        trace: The trace.
        calls: The selected rows of ``kernel_calls`` joined with those of ``kernel_details``.
        by_launch: Whether rows are those of a name, operator and launch configuration.

    Returns:
        Keys as codes, sums and statistics in ns, ``limit`` and ``data_types``; what counters
        measured.
    """
    keys = row_keys(by_launch=by_launch)
    groups = _groups(calls, keys)
    if has_measured_work(trace):
        work = calls.group_by(keys, maintain_order=True).agg("work")["work"]
        measured = measured_columns_of_lists(trace, work)
    else:
        measured = frame_of_means({}, groups.height)
    return groups.with_columns(**_variants(trace, calls, groups, keys)).hstack(measured)


def row_keys(*, by_launch: bool) -> list[str]:
    """The columns of calls that identify a row."""
    return ["name_code", "operator_code", *LAUNCH_KEYS] if by_launch else ["name_code"]


def _groups(calls: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    weight = pl.when(pl.col("dur_ns").sum() > 0).then(pl.col("dur_ns")).otherwise(1)
    duration = pl.col("dur_ns")
    return calls.group_by(keys, maintain_order=True).agg(
        pl.col("tensor_core").first(),
        pl.when(pl.col("is_communication").any() | ~pl.col("may_communicate").any())
        .then(pl.col("is_communication").any())
        .alias("communication"),
        pl.col("recognized_by").max(),
        pl.col("eligible").max(),
        pl.len().cast(pl.Int64).alias("calls"),
        duration.sum().alias("total_ns"),
        duration.min().alias("min_ns"),
        duration.max().alias("max_ns"),
        duration.median().alias("median_ns"),
        duration.quantile(_TAIL, "linear").alias("p95_ns"),
        pl.when(pl.len() > 1).then(duration.std(ddof=0)).alias("std_ns"),
        pl.col("gap_before_ns").sum().alias("gaps_before_ns"),
        _weighted_mean("blocks_per_sm", weight).alias("mean_blocks_per_sm"),
        _weighted_mean("est_achieved_occupancy_pct", weight).alias(
            "mean_est_achieved_occupancy_pct"
        ),
    )


def _weighted_mean(key: str, weight: pl.Expr) -> pl.Expr:
    """Mean of the values there are, null when there is none."""
    weights = weight * pl.col(key).is_not_null().cast(pl.Int64)
    mean = (pl.col(key) * weight).sum() / weights.sum()
    return pl.when(weights.sum() > 0).then(mean)


def _variants(
    trace: Trace, calls: pl.DataFrame, groups: pl.DataFrame, keys: list[str]
) -> dict[str, pl.Series]:
    """Per group: ``limit``, the occupancy limit of the launches with the most time, and
    ``data_types``, from the name or else from the inputs of its operators."""
    known = kernel_details(trace).variants
    by_variant = calls.group_by(*keys, "variant", maintain_order=True).agg(pl.col("dur_ns").sum())
    times: dict[tuple[int | None, ...], dict[int, int]] = {}
    for row in by_variant.rows():
        times.setdefault(row[:-2], {})[row[-2]] = row[-1]
    limits: list[str | None] = []
    data_types: list[str | None] = []
    for key in groups.select(keys).rows():
        variants = {known[variant]: dur_ns for variant, dur_ns in times[key].items()}
        limits.append(_longest_limit(variants))
        types = kernel_types(trace, str(trace.strings[key[0]])) or _types_of(trace, variants)
        data_types.append(", ".join(types) or None)
    return {
        "limit": pl.Series(limits, dtype=pl.String),
        "data_types": pl.Series(data_types, dtype=pl.String),
    }


def _longest_limit(times_ns: Mapping[LaunchVariant, int]) -> str | None:
    """The limit with most time, the first of equals."""
    by_limit: dict[str | None, int] = {}
    for variant, dur_ns in times_ns.items():
        by_limit[variant.limit] = by_limit.get(variant.limit, 0) + dur_ns
    return max(by_limit, key=by_limit.__getitem__)


def _types_of(trace: Trace, variants: Iterable[LaunchVariant]) -> tuple[str, ...]:
    """The types of all inputs, each once."""
    texts = (trace.text(variant.input_type_code) for variant in variants)
    types_by_variant = (parse_input_types(text) for text in texts if text is not None)
    return tuple(dict.fromkeys(one for several in types_by_variant for one in several))
