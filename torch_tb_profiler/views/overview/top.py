"""The operators and the kernels with the most time.

The numbers are those of the operators and the kernels view, of the same selection.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.calls import selected_kernel_calls
from torch_tb_profiler.analysis.operators.by_name import inside_of_names, operators_by_name
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH, launches_outside
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.operator_types import operator_types
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.name_columns import AS_RECORDED, DEMANGLED, OTHER_NAMES, other_names
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.shares import CUMULATIVE, cumulative_column, of_whole

ROWS = 10
NO_DEVICE_TIME = "No device work in this selection."
NO_LAUNCH = "The launch of this device work was not recorded."
NO_RULE = "The Tensor Core use of the kernels it launched is unknown."
NO_KERNEL_TIME = "The kernels of this selection have no duration."

_UNKNOWN = {
    "direction": "Unknown: it has calls in both directions, is not an operator, or the recording "
    "does not link forward and backward (inference has no backward pass).",
    "type": "The type of this operator is unknown.",
    "tensor_core_eligible": "Unknown, or it is a host call outside all operators.",
}

TOP_OPERATORS = TableSpec(
    "top_operators",
    "Top operators",
    f"The {ROWS} operators with the most device self time, or host self time if there is no "
    "device work. Host calls that launched device work outside all operators are included.",
    (
        Column("name", "Name", "string", None, "Name of the operator."),
        Column("calls", "Calls", "integer", "count", "Number of calls.", additive=True),
        Column(
            "device_self_us",
            "Device Self",
            "number",
            "us",
            "Summed duration of the kernels, copies and memsets that it launched directly.",
            additive=True,
        ),
        Column(
            "device_self_pct",
            "Share of Device Time",
            "number",
            "pct",
            "Device Self as share of the summed duration of all device work in the selection, "
            "launched by operators or not.",
            additive=True,
        ),
        Column(
            "host_self_us",
            "Host Self",
            "number",
            "us",
            "Host time without nested operators and without its device API calls.",
            additive=True,
        ),
        cumulative_column(
            "Device Self (Host Self if there is no device time)",
            "all operators and calls of the selection",
        ),
        Column(
            "gpu_time_us",
            "GPU Time",
            "number",
            "us",
            "Summed duration of the kernels, copies and memsets launched inside its calls, "
            "nested operators included.",
        ),
        Column(
            "direction",
            "Direction",
            "string",
            None,
            "forward or backward, if all of its calls have the same direction.",
        ),
        Column("type", "Type", "string", None, "Kind of operator, inferred from its name."),
        Column(
            "tensor_core_eligible",
            "Tensor Core Eligible",
            "boolean",
            None,
            "Whether it or a nested operator could use Tensor Cores.",
        ),
        Column(
            "tensor_core_used",
            "Tensor Cores Used",
            "boolean",
            None,
            "Whether a kernel launched inside it uses Tensor Cores (matrix units).",
        ),
    ),
    sort="-device_self_us,-host_self_us",
    when_empty="No operator ran in the selection, or operators were not profiled.",
)

TOP_KERNELS = TableSpec(
    "top_kernels",
    "Top kernels",
    f"The {ROWS} kernels with the most time.",
    (
        Column("name", "Name", "string", None, "Name of the kernel."),
        Column("calls", "Calls", "integer", "count", "Number of executions.", additive=True),
        Column("total_us", "Total", "number", "us", "Summed duration.", additive=True),
        Column(
            "total_pct",
            "Share of Kernel Time",
            "number",
            "pct",
            "Total as share of the summed duration of all kernels in the selection.",
            additive=True,
        ),
        Column("mean_us", "Mean", "number", "us", "Total divided by Calls."),
        *OTHER_NAMES,
        cumulative_column("Total", "the kernel time of the selection"),
    ),
    sort="-total_us",
    when_empty="No kernel ran in the selection, or devices were not profiled.",
)


def top_operators(trace: Trace, selection: Selection) -> Table:
    """The operators with most device time, else host time, of their own.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    return _OF_ALL(trace) if selection.is_everything else _top_operators(trace, selection)


def _top_operators(trace: Trace, selection: Selection) -> Table:
    groups = operators_by_name(trace, selection)
    unknown = no_device_time(trace)
    if unknown is not None:
        groups = groups.with_columns(device_self_ns=pl.lit(None, pl.Int64))
    keys = ("name_code", "calls", "device_self_ns", "host_self_ns")
    outside = launches_outside(trace, selection, by_stack=False)
    outside = outside.with_columns(
        pl.col("name_code").cast(groups.schema["name_code"]),
        device_self_ns="device_ns",
        host_self_ns="host_ns",
    )
    everything = pl.concat((groups.select(keys), outside.select(keys)))
    whole_ns = int(everything["device_self_ns"].sum())
    measure = "device_self_ns" if whole_ns else "host_self_ns"
    rows = _largest(trace, everything, ["device_self_ns", "host_self_ns"])
    rows = rows.with_columns(
        device_self_us=microseconds(rows["device_self_ns"]),
        device_self_pct=of_whole(rows["device_self_ns"], whole_ns),
        host_self_us=microseconds(rows["host_self_ns"]),
        cumulative_pct=of_whole(rows[measure].cum_sum(), int(everything[measure].sum())),
    )
    rows = _with_kinds(trace, selection, rows, groups["name_code"], unknown)
    device = dict.fromkeys(("device_self_us", "device_self_pct"), unknown or NO_DEVICE_TIME)
    device |= dict.fromkeys(("gpu_time_us", "tensor_core_used"), unknown or NO_RULE)
    launch = dict.fromkeys(("calls", "host_self_us", CUMULATIVE), NO_LAUNCH)
    return _filled(TOP_OPERATORS, rows, device | launch | _UNKNOWN)


_OF_ALL = PerTrace(partial(_top_operators, selection=Selection()), depends_on_steps=True)
"""The table of the whole trace, cached because most requests are for it."""


def _with_kinds(
    trace: Trace, selection: Selection, rows: pl.DataFrame, names: pl.Series, unknown: str | None
) -> pl.DataFrame:
    """``rows`` with the last columns of the table; of a host call outside operators (no one of
    ``names``) that is the GPU time alone."""
    is_operator = rows["name_code"].is_in(names.implode())
    known = rows["name_code"].filter(is_operator)
    inside = inside_of_names(trace, selection, known.to_numpy())
    types = operator_types([trace.text(code) or "" for code in known])
    kinds = pl.DataFrame(
        {
            "name_code": known,
            "gpu_time_ns": inside.device_ns,
            "direction": pl.Series(inside.direction, dtype=pl.String),
            "type": pl.Series(types, dtype=pl.String),
            "tensor_core_eligible": codes.verdict_column(pl.Series(inside.eligible)),
            "tensor_core_used": codes.verdict_column(pl.Series(inside.used)),
        }
    )
    joined = rows.with_columns(is_operator=is_operator).join(
        kinds.with_columns(is_operator=pl.lit(True)),
        on=("name_code", "is_operator"),
        how="left",
        maintain_order="left",
    )
    gpu_time_ns = joined["gpu_time_ns"].fill_null(joined["device_self_ns"])
    if unknown is not None:
        gpu_time_ns = joined["device_self_ns"]
        joined = joined.with_columns(tensor_core_used=pl.lit(None, pl.Boolean))
    return joined.with_columns(gpu_time_us=microseconds(gpu_time_ns))


def top_kernels(trace: Trace, selection: Selection) -> Table:
    """The kernels with most time."""
    calls = selected_kernel_calls(trace, selection)
    groups = calls.group_by("name_code", maintain_order=True).agg(
        pl.len().alias("calls"), pl.col("dur_ns").sum()
    )
    rows = _largest(trace, groups, ["dur_ns"])
    whole_ns = int(calls["dur_ns"].sum())
    rows = rows.with_columns(
        *other_names(trace, rows["name_code"]),
        total_us=microseconds(rows["dur_ns"]),
        total_pct=of_whole(rows["dur_ns"], whole_ns),
        mean_us=microseconds(rows["dur_ns"], rows["calls"]),
        cumulative_pct=of_whole(rows["dur_ns"].cum_sum(), whole_ns),
    )
    reasons = dict.fromkeys(("total_pct", CUMULATIVE), NO_KERNEL_TIME)
    return _filled(TOP_KERNELS, rows, {**reasons, DEMANGLED: AS_RECORDED})


def _largest(trace: Trace, groups: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The first rows in descending order of ``keys``, with their ``name``, which orders equals as
    in the views of all rows."""
    ordered = groups.sort(keys, descending=True, nulls_last=True, maintain_order=True)
    first = ordered.head(ROWS + 1).select(keys).rows()
    if len(set(first)) == len(first):
        return _named(trace, ordered.head(ROWS))
    if ordered.height > ROWS:
        last = ordered.row(ROWS - 1, named=True)
        is_equal = pl.all_horizontal(pl.col(key).eq_missing(pl.lit(last[key])) for key in keys)
        ordered = pl.concat((ordered.head(ROWS), ordered.slice(ROWS).filter(is_equal)))
    by = [*keys, pl.col("name").str.to_lowercase()]
    descending = [True] * len(keys) + [False]
    named = _named(trace, ordered)
    return named.sort(by, descending=descending, nulls_last=True, maintain_order=True).head(ROWS)


def _named(trace: Trace, rows: pl.DataFrame) -> pl.DataFrame:
    names = codes.texts(trace, rows["name_code"].replace(-1, None))
    return rows.with_columns(name=names.fill_null(UNKNOWN_LAUNCH))


def _filled(spec: TableSpec, rows: pl.DataFrame, reasons: dict[str, str]) -> Table:
    """The table of a declaration, from rows that have its columns among others."""
    frame = rows.select(pl.col(key).cast(dtype) for key, dtype in spec.polars_schema().items())
    return Table(spec, frame, needed(frame, reasons))
