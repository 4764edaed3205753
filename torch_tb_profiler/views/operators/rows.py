"""The rows of the table of operators.

Definitions: ``docs/metrics.md#operators``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.details import parse_input_types
from torch_tb_profiler.analysis.operators.call_stacks import call_stacks
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.knowledge.kernels import kernel_file
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.argument_columns import with_arguments
from torch_tb_profiler.views.null_reasons import missing_reason, needed, not_grouped
from torch_tb_profiler.views.operators.added import (
    GPU_KEYS,
    added_columns,
    added_reasons,
    names_of,
)
from torch_tb_profiler.views.operators.columns import (
    NO_CALL,
    NO_FRAMES,
    NO_KERNEL_RULE,
    NO_LAUNCH,
    NO_OPERATOR,
    NO_RULE,
    NO_SHAPES,
    NO_SHARE,
    NO_STACKS,
    NO_TYPES,
    ONE_CALL,
    OPERATORS,
    OPERATORS_BY_PATH,
    UNKNOWN_SHARE,
)
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table
from torch_tb_profiler.views.shares import schema_before, with_shares

_TIMES = ("device_self_ns", "device_total_ns", "host_self_ns", "host_total_ns")
_BOUNDS = tuple(
    f"tensor_core_{stem}_{bound}_pct" for stem in ("self", "total") for bound in ("min", "max")
)
_SHARES = ("tensor_core_self_pct", "tensor_core_total_pct")
_OF_DEVICE = (
    "device_self_us",
    "device_total_us",
    *_SHARES,
    *_BOUNDS,
    "gaps_before_us",
    *GPU_KEYS,
)
_OF_CALLS = ("mean", "median", "p95", "std")


def operators_table(
    trace: Trace,
    groups: pl.DataFrame,
    launches: pl.DataFrame,
    values: pl.DataFrame,
    keys: Sequence[str],
) -> Table:
    """The table of operators, in its default order.

    Args:
        trace: The trace.
        groups: As ``operator_groups`` gives them with durations, with ``gap_before_ns``, the list
            ``input_type_codes``, and the columns of ``times_by_group`` and ``identity_of_groups``.
        launches: As ``launches_outside`` gives them, with ``gap_before_ns``.
        values: ``argument_values`` of the calls, with ``keys``.
        keys: The columns that identify a group.
    """
    table = with_arguments(trace, _table(trace, groups, launches), values, groups, keys)
    table = in_default_order(table)
    has_device_time = bool(table.frame["device_self_us"].sum())
    return with_shares(table, "device_self_us" if has_device_time else "host_self_us", NO_SHARE)


def _table(trace: Trace, groups: pl.DataFrame, launches: pl.DataFrame) -> Table:
    by_shape, by_stack = (key in groups.columns for key in ("input_shape_code", "call_stack_code"))
    reasons = {
        "input_shape": not_grouped("input shape", "name+input_shape" + "+call_stack" * by_stack),
        "call_stack": not_grouped("call stack", "name" + "+input_shape" * by_shape + "+call_stack"),
    }
    if by_shape:
        reasons["input_shape"] = missing_reason(trace, "input_shapes", NO_SHAPES)
    if by_stack:
        reasons["call_stack"] = missing_reason(trace, "call_stacks", NO_STACKS)
    unknown = no_device_time(trace)
    operator_rows = _rows(trace, groups, by_shape=by_shape, by_stack=by_stack)
    if unknown is not None:
        operator_rows = operator_rows.with_columns(
            pl.lit(None, operator_rows[key].dtype).alias(key) for key in _OF_DEVICE
        )
        reasons |= dict.fromkeys(_OF_DEVICE, unknown)
    else:
        reasons |= dict.fromkeys(_SHARES, UNKNOWN_SHARE) | dict.fromkeys(_BOUNDS, NO_KERNEL_RULE)
    reasons = added_reasons(trace) | reasons
    reasons["tensor_core_eligible"] = NO_RULE
    reasons |= dict.fromkeys(("calls", "host_self_us", "host_total_us"), NO_LAUNCH)
    reasons |= {f"call_{stem}_us": NO_CALL for stem in _OF_CALLS} | {"call_std_us": ONE_CALL}
    reasons["data_types"] = missing_reason(trace, "input_types", NO_TYPES)
    no_frames = missing_reason(trace, "python", NO_FRAMES)
    reasons["host_python_us"] = NO_OPERATOR if trace.python.height else no_frames
    frame = operator_rows
    if launches.height:
        of_launches = _rows(trace, _as_groups(launches), by_shape=False, by_stack=by_stack)
        frame = pl.concat((frame, of_launches))
    spec = OPERATORS_BY_PATH if "operator" in groups.columns else OPERATORS
    return Table(spec, frame, needed(frame, reasons))


def _as_groups(launches: pl.DataFrame) -> pl.DataFrame:
    """The rows of :func:`launches_outside` with the columns of groups of operators."""
    is_call = pl.col("name_code") >= 0
    nothing_inside = {
        f"{left}_{stem}{unit}": pl.col(f"{left}{unit}")
        for left, unit in (
            ("device", "_ns"),
            ("host", "_ns"),
            ("tensor_core", "_ns"),
            ("tensor_core_unknown", "_ns"),
            ("known", ""),
            ("unknown", ""),
        )
        for stem in ("self", "total")
    }
    return launches.with_columns(
        pl.col("name_code").replace(-1, None),
        pl.when(is_call).then(pl.lit("call")).otherwise(pl.lit("unlinked")).alias("kind"),
        eligible=pl.lit(codes.UNKNOWN, pl.Int8),
        input_type_codes=pl.lit(None, pl.List(pl.Int32)),
        **dict.fromkeys(_OF_CALLS, pl.lit(None, pl.Float64)),
        **nothing_inside,
    )


def _rows(trace: Trace, groups: pl.DataFrame, *, by_shape: bool, by_stack: bool) -> pl.DataFrame:
    shapes = stacks = pl.Series([None] * groups.height, dtype=pl.String)
    if by_shape:
        shapes = codes.texts(trace, groups["input_shape_code"].replace(-1, None))
    if by_stack:
        texts = call_stacks(trace).texts(groups["call_stack_code"].to_list())
        stacks = pl.Series(texts, dtype=pl.String)
    python = pl.Series([None] * groups.height, dtype=pl.Float64)
    if "host_python_ns" in groups.columns and trace.python.height:
        python = microseconds(groups["host_python_ns"])
    data_types = _data_types(trace, groups["input_type_codes"])
    frame = groups.select(
        names_of(trace, groups).fill_null(UNKNOWN_LAUNCH).alias("name"),
        shapes.alias("input_shape"),
        stacks.alias("call_stack"),
        pl.col("calls").cast(pl.Int64),
        *(microseconds(groups[key]) for key in _TIMES),
        codes.verdict_column(groups["eligible"]),
        _share("self"),
        _share("total"),
        pl.col("kind") if "kind" in groups.columns else pl.lit("operator").alias("kind"),
        python.alias("host_python_us"),
        *(bound for stem in ("self", "total") for bound in _bounds(stem)),
        *(microseconds(groups[stem]) for stem in _OF_CALLS),
        data_types.alias("data_types"),
        microseconds(groups["gap_before_ns"]),
        *added_columns(trace, groups, data_types),
    )
    frame.columns = list(schema_before(OPERATORS))
    return frame


def _data_types(trace: Trace, inputs: pl.Series) -> pl.Series:
    """The element types behind the codes of each row, each once."""
    known: dict[tuple[int, ...], str | None] = {}
    rows = [tuple(codes_of_row or ()) for codes_of_row in inputs.to_list()]
    for row in set(rows):
        each = (parse_input_types(str(trace.strings[code])) for code in row)
        known[row] = ", ".join(dict.fromkeys(itertools.chain(*each))) or None
    return pl.Series("data_types", [known[row] for row in rows], dtype=pl.String)


def _share(stem: str) -> pl.Expr:
    """The share of Tensor Cores in a device time in %: the lower bound while the bounds are close,
    null where they are not or there are none."""
    least, most = _bounds(stem)
    close = most - least <= kernel_file().max_unknown_pct
    return pl.when(close).then(least).alias(f"tensor_core_{stem}_pct")


def _bounds(stem: str) -> tuple[pl.Expr, pl.Expr]:
    """Bounds of the share of Tensor Cores in a device time in %: 0 without device time, null if the
    use of all kernels is unknown. Copies and memsets do not count as known kernels."""
    used, whole = pl.col(f"tensor_core_{stem}_ns"), pl.col(f"device_{stem}_ns")
    nothing_known = pl.col(f"unknown_{stem}") & ~pl.col(f"known_{stem}")

    def share(part: pl.Expr, name: str) -> pl.Expr:
        of_whole = pl.when(whole > 0).then(part / whole * 100).otherwise(0.0)
        return pl.when(~nothing_known).then(of_whole).alias(f"tensor_core_{stem}_{name}_pct")

    return share(used, "min"), share(used + pl.col(f"tensor_core_unknown_{stem}_ns"), "max")
