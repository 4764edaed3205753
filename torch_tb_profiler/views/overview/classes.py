"""Operators and device work by Tensor Core use, and how well eligible operators use them.

Definitions: ``docs/metrics.md#classes``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.kernels.tensor_core_classes import (
    KernelClass,
    KernelClasses,
    OperatorClass,
    OperatorClasses,
    kernel_classes,
    operator_classes,
)
from torch_tb_profiler.analysis.kernels.tensor_core_time import BoundedShare
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.recording.missing_reasons import (
    NO_DEVICE_WORK,
    no_device_time,
    recorded_reason,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec
from torch_tb_profiler.views.shares import of_whole

NO_OPERATOR = "The recording contains no operators."
NO_LAUNCH = "The launch of this device work was not recorded."
NO_TIME = "The device work of the selection has no duration."
NO_ELIGIBLE = "No operator in the selection that could use Tensor Cores launched a kernel."
ALL = "all"
_OPERATOR_KEYS = {
    OperatorClass.USING: "using_tensor_cores",
    OperatorClass.ELIGIBLE: "eligible_not_using",
    OperatorClass.OTHER: "other",
}
_KERNEL_KEYS = {
    KernelClass.USING: "using_tensor_cores",
    KernelClass.MEMORY: "memory",
    KernelClass.OTHER: "other",
}


def _shared(gpu_help: str) -> tuple[Column, Column, Column]:
    """GPU time, its share, and the part of it that is not known."""
    return (
        Column("gpu_time_us", "GPU Time", "number", "us", gpu_help, family="time"),
        Column(
            "gpu_time_pct",
            "Share of GPU Time",
            "number",
            "pct",
            "Share of the GPU time of all classes.",
        ),
        Column(
            "tensor_core_unknown_us",
            "Tensor Core Use Unknown",
            "number",
            "us",
            "Part of GPU Time in kernels whose Tensor Core use is unknown.",
            family="time",
        ),
    )


_OF_OPERATORS = _shared(
    "Device work launched directly by these operators; the classes add up to all."
)
_OF_KERNELS = _shared("Summed duration; the classes add up to all.")

OPERATOR_CLASSES = TableSpec(
    "operator_classes",
    "Operators by Tensor Core use",
    "Operators of the selection by class: those that launched kernels using Tensor Cores (matrix "
    "units), those that could but did not, and all others. Device work launched by no operator "
    "counts as one operator per name.",
    (
        Column("class", "Class", "string", None, "all, or the class by Tensor Core use."),
        _OF_OPERATORS[0],
        Column(
            "cpu_time_us",
            "CPU Time",
            "number",
            "us",
            "Host time of their calls, without nested operators; the classes add up to all.",
            family="time",
        ),
        Column(
            "operators",
            "Operators",
            "integer",
            "count",
            "Number of different names; a name with calls in several classes counts in each.",
        ),
        *_OF_OPERATORS[1:],
    ),
    is_summary=True,
)

KERNEL_CLASSES = TableSpec(
    "kernel_classes",
    "Kernels by class",
    "Device work of the selection by class: kernels that use Tensor Cores (matrix units), copies "
    "and memsets, and all other kernels, including communication.",
    (
        Column("class", "Class", "string", None, "all, or the kind of device work."),
        _OF_KERNELS[0],
        Column(
            "api_time_us",
            "API Time",
            "number",
            "us",
            "Host time of the calls that launched them; a call that launched several is divided "
            "among them.",
            family="time",
        ),
        Column(
            "kernels",
            "Kernels",
            "integer",
            "count",
            "Number of kernels, copies and memsets that ran.",
        ),
        Column(
            "kernel_names",
            "Different Kernels",
            "integer",
            "count",
            "Number of different names of those.",
        ),
        *_OF_KERNELS[1:],
    ),
    is_summary=True,
)


def class_tables(trace: Trace, selection: Selection) -> tuple[tuple[Table, Table], Fact]:
    """The tables :data:`OPERATOR_CLASSES` and :data:`KERNEL_CLASSES`, and the Tensor Core
    efficiency.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    return _OF_ALL(trace) if selection.is_everything else _class_tables(trace, selection)


def _class_tables(trace: Trace, selection: Selection) -> tuple[tuple[Table, Table], Fact]:
    of_operators = operator_classes(trace, selection)
    tables = (
        _operator_table(trace, of_operators),
        _kernel_table(trace, kernel_classes(trace, selection)),
    )
    return tables, _efficiency(trace, of_operators)


_OF_ALL = PerTrace(partial(_class_tables, selection=Selection()), depends_on_steps=True)
"""The tables of the whole trace, cached because most requests are for it."""


def _operator_table(trace: Trace, classes: OperatorClasses) -> Table:
    frame = _frame(
        [ALL, *_OPERATOR_KEYS.values()],
        classes.gpu_ns,
        classes.unknown_ns,
        cpu_time_us=_with_all(classes.cpu_ns),
        operators=_with_all(classes.count),
    )
    reasons: dict[str, str] = {}
    if trace.device_work.is_empty():
        frame = _without(frame, ("gpu_time_us", "gpu_time_pct", "tensor_core_unknown_us"))
    if (reason := no_device_time(trace)) is not None:
        # The class of an operator follows from the work it launched.
        known = pl.col("class") == ALL
        frame = frame.with_columns(pl.when(known).then(pl.exclude("class")))
        reasons = dict.fromkeys(frame.columns[1:], reason)
    if not len(call_tree(trace).slice):
        stated = recorded_reason(trace, "operators")
        keys = ("cpu_time_us", *(("operators",) if stated is not None else ()))
        frame = _without(frame, keys)
        reasons |= dict.fromkeys(keys, stated or NO_OPERATOR)
    reasons.setdefault("gpu_time_pct", NO_TIME)
    return _table(OPERATOR_CLASSES, frame, reasons)


def _kernel_table(trace: Trace, classes: KernelClasses) -> Table:
    frame = _frame(
        [ALL, *_KERNEL_KEYS.values()],
        classes.gpu_ns,
        classes.unknown_ns,
        api_time_us=_with_all(classes.api_ns),
        kernels=_with_all(classes.count),
        kernel_names=_with_all(classes.names),
    )
    reasons: dict[str, str] = {"gpu_time_pct": NO_TIME}
    if trace.device_work.is_empty():
        frame = _without(frame, frame.columns[1:])
        reasons = dict.fromkeys(frame.columns[1:], NO_DEVICE_WORK)
    elif trace.device_work["launch"].null_count() == trace.device_work.height:
        frame = _without(frame, ("api_time_us",))
        reasons["api_time_us"] = no_device_time(trace) or NO_LAUNCH
    return _table(KERNEL_CLASSES, frame, reasons)


def _with_all(values: Int64) -> pl.Series:
    """The sum of all classes, and each."""
    return pl.Series(np.append(values.sum(), values))


def _frame(names: list[str], gpu_ns: Int64, unknown_ns: Int64, **others: pl.Series) -> pl.DataFrame:
    gpu = _with_all(gpu_ns)
    columns = {key: microseconds(v) if key.endswith("_us") else v for key, v in others.items()}
    return pl.DataFrame(
        {
            "class": names,
            "gpu_time_us": microseconds(gpu),
            **columns,
            "gpu_time_pct": of_whole(gpu, int(gpu[0])),
            "tensor_core_unknown_us": microseconds(_with_all(unknown_ns)),
        }
    )


def _without(frame: pl.DataFrame, keys: list[str] | tuple[str, ...]) -> pl.DataFrame:
    return frame.with_columns(pl.lit(None).alias(key) for key in keys)


def _table(spec: TableSpec, frame: pl.DataFrame, reasons: dict[str, str]) -> Table:
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in spec.polars_schema().items())
    return Table(spec, shown, needed(shown, reasons))


def _efficiency(trace: Trace, classes: OperatorClasses) -> Fact:
    whole_ns, used_ns = classes.eligible_kernel_ns, classes.using_kernel_ns
    share = BoundedShare(None, None, no_device_time(trace) or NO_ELIGIBLE)
    if whole_ns:
        unknown_ns = int(classes.unknown_ns[[OperatorClass.USING, OperatorClass.ELIGIBLE]].sum())
        share = BoundedShare(used_ns / whole_ns * 100, (used_ns + unknown_ns) / whole_ns * 100)
    return Fact(
        "tensor_core_efficiency_pct",
        "Tensor Core efficiency",
        share.pct,
        "pct",
        None,
        "Of the kernel time of operators that use or could use Tensor Cores, the share in "
        "kernels that use them. Empty if the use is unknown for too much of the time.",
        share.null_reason,
    )
