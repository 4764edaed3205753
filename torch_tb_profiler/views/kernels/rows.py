"""The rows of the table of kernels.

Definitions: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.calls import LAUNCH_KEYS
from torch_tb_profiler.analysis.kernels.details import Variant, kernel_details, types_of_inputs
from torch_tb_profiler.analysis.kernels.tensor_core_time import NO_KERNEL_TIME
from torch_tb_profiler.analysis.recording.kernel_kinds import kinds_of_names
from torch_tb_profiler.knowledge.kernel_dtypes import types_in_name
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.kernels.columns import (
    KERNELS,
    NO_LIMIT,
    NO_OPERATOR,
    NO_OPERATOR_RULE,
    NO_RULE,
    NO_TYPES,
    NOT_GROUPED,
    NOT_RECORDED,
    OF_LAUNCH,
    ONE_CALL,
)
from torch_tb_profiler.views.name_columns import AS_RECORDED, DEMANGLED, other_names
from torch_tb_profiler.views.null_reasons import needed, why
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.shares import schema_before, with_shares

_TAIL = 0.95
_IN_US = ("min", "max", "median", "p95", "std", "gaps_before")


def kernels_table(trace: Trace, calls: pl.DataFrame, *, by_launch: bool) -> Table:
    """The table of kernels, in its default order.

    Args:
        trace: The trace.
        calls: The selected rows of ``kernel_calls`` beside those of ``kernel_details``.
        by_launch: Whether rows are those of a name, operator and launch configuration.
    """
    keys = ["name_code", "operator_code", *LAUNCH_KEYS] if by_launch else ["name_code"]
    groups = _groups(calls, keys)
    groups = groups.with_columns(**_variants(trace, calls, groups, keys))
    table = in_default_order(_table(trace, groups, by_launch=by_launch))
    return with_shares(table, "total_us", NO_KERNEL_TIME)


def _groups(calls: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    weight = pl.when(pl.col("dur_ns").sum() > 0).then(pl.col("dur_ns")).otherwise(1)
    duration = pl.col("dur_ns")
    return calls.group_by(keys, maintain_order=True).agg(
        pl.col("tensor_core").first(),
        pl.col("is_communication").any().alias("communication"),
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
    """Per group what its launches tell: ``limit``, what limits those with most of its time, and
    ``data_types``, those that the name tells or else the inputs of its operators."""
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
        types = types_in_name(str(trace.strings[key[0]])) or _types_of(trace, variants)
        data_types.append(", ".join(types) or None)
    return {
        "limit": pl.Series(limits, dtype=pl.String),
        "data_types": pl.Series(data_types, dtype=pl.String),
    }


def _longest_limit(times_ns: Mapping[Variant, int]) -> str | None:
    """The limit with most time, the first of equals."""
    by_limit: dict[str | None, int] = {}
    for variant, dur_ns in times_ns.items():
        by_limit[variant.limit] = by_limit.get(variant.limit, 0) + dur_ns
    return max(by_limit, key=by_limit.__getitem__)


def _types_of(trace: Trace, variants: Iterable[Variant]) -> tuple[str, ...]:
    """The types of all inputs, each once."""
    texts = (trace.text(variant.input_type_code) for variant in variants)
    told = (types_of_inputs(text) for text in texts if text is not None)
    return tuple(dict.fromkeys(one for several in told for one in several))


def _table(trace: Trace, groups: pl.DataFrame, *, by_launch: bool) -> Table:
    nothing = pl.lit(None)
    reasons = {
        DEMANGLED: AS_RECORDED,
        "tensor_core_used": NO_RULE,
        "mean_blocks_per_sm": why(trace, "blocks_per_sm", NOT_RECORDED),
        "mean_est_achieved_occupancy_pct": why(trace, "occupancy", NOT_RECORDED),
        "std_us": ONE_CALL,
        "data_types": why(trace, "input_types", NO_TYPES),
        "occupancy_limit": NO_LIMIT,
        **dict.fromkeys(OF_LAUNCH, NOT_GROUPED),
    }
    launch: dict[str, pl.Series | pl.Expr] = dict.fromkeys(OF_LAUNCH, nothing)
    if by_launch:
        launch = _launch(trace, groups)
        reasons |= {
            "operator": NO_OPERATOR,
            "operator_tensor_core_eligible": NO_OPERATOR_RULE,
            **dict.fromkeys(("grid", "block"), why(trace, "launches", NOT_RECORDED)),
            "registers_per_thread": why(trace, "registers", NOT_RECORDED),
            "shared_memory_bytes": why(trace, "shared_memory", NOT_RECORDED),
        }
    frame = groups.with_columns(
        *other_names(trace, groups["name_code"]),
        *(microseconds(groups[f"{stem}_ns"]).alias(f"{stem}_us") for stem in _IN_US),
        name=codes.texts(trace, groups["name_code"]),
        tensor_core_used=codes.verdict_column(groups["tensor_core"]),
        total_us=microseconds(groups["total_ns"]),
        mean_us=microseconds(groups["total_ns"], groups["calls"]),
        occupancy_limit=groups["limit"],
        kernel_class=_classes(trace, groups["name_code"]),
        **launch,
    )
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in schema_before(KERNELS).items())
    return Table(KERNELS, shown, needed(shown, reasons))


def _launch(trace: Trace, groups: pl.DataFrame) -> dict[str, pl.Series | pl.Expr]:
    """The columns that stand for one launch configuration of one operator."""
    return {
        "operator": codes.texts(trace, groups["operator_code"]),
        "grid": codes.texts(trace, groups["grid_code"]),
        "block": codes.texts(trace, groups["block_code"]),
        "registers_per_thread": groups["registers_per_thread"],
        "shared_memory_bytes": groups["shared_memory_bytes"],
        "operator_tensor_core_eligible": codes.verdict_column(groups["eligible"]),
    }


def _classes(trace: Trace, names: pl.Series) -> pl.Series:
    """The kind of work that each name tells."""
    known = kinds_of_names(trace)
    kinds = [known.kinds[known.number[code]].kind for code in names.to_list()]
    return pl.Series(kinds, dtype=pl.String)
