"""Decoded arguments of one kind of event → the columns of its tables.

Every function takes the decoded structs and their rows, and returns a :data:`ColumnArrays` with
only the rows that have any value. Fields of frequent events are read by comprehensions with an
explicit attribute, which takes half the time of ``attrgetter``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.structs import (
    ASCEND_FIELDS,
    COLLECTIVE_FIELDS,
    COLLECTIVE_MARKS,
    DEVICE_FIELDS,
    LINK_FIELDS,
    MEMORY_FIELDS,
    OPERATOR_FIELDS,
    PYTHON_FIELDS,
    ArgumentFields,
)
from torch_tb_profiler.importers.kineto.values import (
    INT64_MAX,
    Interner,
    flag_column,
    float_column,
    int_column,
    raw_codes,
    text_codes,
    text_of,
)
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    Float64,
    Int32,
    Int64,
)
from torch_tb_profiler.trace.limits import MAX_BYTES, MAX_RANKS
from torch_tb_profiler.trace.quality import QualityReport

Args = Sequence[Any]

MAX_VALUES = {
    "bytes": MAX_BYTES,
    "dst_rank": MAX_RANKS,
    "group_size": MAX_RANKS,
    "in_nelems": MAX_BYTES,
    "out_nelems": MAX_BYTES,
    "shared_memory_bytes": MAX_BYTES,
    "src_rank": MAX_RANKS,
    "total_allocated_bytes": MAX_BYTES,
    "total_reserved_bytes": MAX_BYTES,
}
"""Field → the largest plausible value; addresses and ids are unlimited."""


def _values(args: Args, field: str) -> list[Any]:
    return list(map(attrgetter(field), args))


def _integers(
    fields: ArgumentFields, quality: QualityReport, name: str, values: list[Any]
) -> Int64:
    return int_column(values, quality, fields[name].key, MAX_VALUES.get(name, INT64_MAX))


def _floats(
    fields: ArgumentFields, quality: QualityReport, name: str, values: list[Any]
) -> Float64:
    return float_column(values, quality, fields[name].key)


def has_fields(args: Args, fields: ArgumentFields) -> bool:
    """Whether these structs were decoded with ``fields``."""
    return len(args) > 0 and all(hasattr(args[0], field) for field in fields)


def links(args: Args, quality: QualityReport) -> tuple[Int64, Int64]:
    """Correlation and external id (spelled with a small e up to torch 1.11)."""
    integers = partial(_integers, LINK_FIELDS, quality)
    external = integers("external_id", [arg.external_id for arg in args])
    if np.all(external == ABSENT):
        external = integers("external_id_old", [arg.external_id_old for arg in args])
    return integers("correlation", [arg.correlation for arg in args]), external


def _select_rows(table: ColumnArrays, rows: Int64, present: npt.NDArray[np.bool_]) -> ColumnArrays:
    if present.all():
        return {"slice": rows, **table}
    return {
        "slice": rows[present],
        **{name: column[present] for name, column in table.items()},
    }


def _any_present(columns: Sequence[npt.NDArray[Any]], size: int) -> npt.NDArray[np.bool_]:
    present = np.zeros(size, bool)
    for column in columns:
        if column.dtype == np.int64:
            present |= column != ABSENT
        elif column.dtype == np.float64:
            present |= ~np.isnan(column)
        else:
            present |= column >= 0
    return present


def operator_table(
    args: Args, rows: Int64, strings: Interner, quality: QualityReport
) -> ColumnArrays:
    """The operator arguments of host slices."""
    assert has_fields(args, OPERATOR_FIELDS)
    integers = partial(_integers, OPERATOR_FIELDS, quality)
    shape = raw_codes([arg.input_shape for arg in args], strings)
    if np.all(shape < 0):
        shape = raw_codes([arg.input_shape_old for arg in args], strings)
    table: ColumnArrays = {
        "input_shape_code": shape,
        "input_type_code": raw_codes([arg.input_type for arg in args], strings),
        "concrete_inputs_code": raw_codes([arg.concrete_inputs for arg in args], strings),
        "call_stack_code": call_stacks(args, strings),
        "module_hierarchy_code": text_codes([arg.module_hierarchy for arg in args], strings),
        "sequence_number": integers("sequence_number", [arg.sequence_number for arg in args]),
        "forward_thread": integers("forward_thread", [arg.forward_thread for arg in args]),
        "record_function_id": integers(
            "record_function_id", [arg.record_function_id for arg in args]
        ),
    }
    return _select_rows(table, rows, _any_present(list(table.values()), len(args)))


def call_stacks(args: Args, strings: Interner) -> Int32:
    """Call stacks, innermost frame first, without the closing ``;`` of torch 1.10 to 1.13.

    torch 1.12 wrote the outermost frame first; it alone also wrote ``python_caller_id``.
    """
    callers = [arg.python_caller_id for arg in args]
    reverse = callers.count(None) < len(callers)
    return text_codes(
        [arg.call_stack for arg in args], strings, lambda text: stack_text(text_of(text), reverse)
    )


def stack_text(text: str, reverse: bool) -> str:
    """One call stack with its frames joined by ``;``, innermost first."""
    frames = text.rstrip("; ")
    return ";".join(reversed(frames.split(";"))) if reverse else frames


def python_table(args: Args, rows: Int64, quality: QualityReport) -> ColumnArrays:
    """The ids of python frames."""
    integers = partial(_integers, PYTHON_FIELDS, quality)
    table = {
        "python_id": integers("python_id", [arg.python_id for arg in args]),
        "python_parent_id": integers("python_parent_id", [arg.python_parent_id for arg in args]),
        "module_id": integers("module_id", [arg.module_id for arg in args]),
    }
    return _select_rows(table, rows, _any_present(list(table.values()), len(args)))


def device_table(
    args: Args, rows: Int64, strings: Interner, quality: QualityReport
) -> ColumnArrays:
    """The launch arguments of kernels, copies, sets and other device slices."""
    assert has_fields(args, DEVICE_FIELDS)
    integers = partial(_integers, DEVICE_FIELDS, quality)
    floats = partial(_floats, DEVICE_FIELDS, quality)
    occupancy = floats(
        "est_achieved_occupancy_pct", [arg.est_achieved_occupancy_pct for arg in args]
    )
    if np.all(np.isnan(occupancy)):
        occupancy = floats(
            "est_achieved_occupancy_pct_old", [arg.est_achieved_occupancy_pct_old for arg in args]
        )
    table: ColumnArrays = {
        "device": integers("device", [arg.device for arg in args]),
        "stream": integers("stream", [arg.stream for arg in args]),
        "grid_code": raw_codes([arg.grid for arg in args], strings),
        "block_code": raw_codes([arg.block for arg in args], strings),
        "registers_per_thread": integers(
            "registers_per_thread", [arg.registers_per_thread for arg in args]
        ),
        "shared_memory_bytes": integers(
            "shared_memory_bytes", [arg.shared_memory_bytes for arg in args]
        ),
        "blocks_per_sm": floats("blocks_per_sm", [arg.blocks_per_sm for arg in args]),
        "warps_per_sm": floats("warps_per_sm", [arg.warps_per_sm for arg in args]),
        "est_achieved_occupancy_pct": occupancy,
        "graph": integers("graph", [arg.graph for arg in args]),
        "graph_node": integers("graph_node", [arg.graph_node for arg in args]),
        "bytes": integers("bytes", [arg.bytes for arg in args]),
        "occupancy_limit_code": _occupancy_limits(args, strings),
    }
    return _select_rows(table, rows, _any_present(list(table.values()), len(args)))


def _occupancy_limits(args: Args, strings: Interner) -> Int32:
    given = [arg.occupancy for arg in args]
    if given.count(None) == len(given):
        return np.full(len(given), -1, np.int32)
    return text_codes(list(map(limiting_factors, given)), strings)


def limiting_factors(occupancy: Any) -> str | None:
    """The limiting factors of a kernel's occupancy, ``"REGS, SMEM"``; None if not recorded."""
    factors = occupancy.get("limitingFactors") if isinstance(occupancy, dict) else None
    if isinstance(factors, list):
        return ", ".join(map(str, factors))
    return None if factors is None else str(factors)


def collective_table(
    args: Args,
    raws: Sequence[msgspec.Raw],
    rows: Int64,
    strings: Interner,
    quality: QualityReport,
) -> ColumnArrays | None:
    """Collective metadata; None if no slice has any.

    ``dtype`` or ``Group size`` alone does not count: it may be an argument of a user's own range.
    Few slices have metadata, so its other fields are decoded only for these.
    """
    assert has_fields(args, COLLECTIVE_MARKS)
    marked = [
        row
        for row, arg in enumerate(args)
        if arg.collective is not None
        or arg.group is not None
        or arg.group_id is not None
        or arg.in_nelems != ABSENT
    ]
    if not marked:
        return None
    given = decode_args(structs.COLLECTIVE_ARGS, [raws[row] for row in marked], quality)
    groups = [arg.group if arg.group is not None else arg.group_id for arg in given]
    integers = partial(_integers, COLLECTIVE_FIELDS, quality)
    counts = ("in_nelems", "out_nelems", "group_size", "sequence", "src_rank", "dst_rank")
    return {
        "slice": rows[marked].astype(np.int64),
        "collective_code": text_codes(_values(given, "collective"), strings),
        "dtype_code": text_codes(_values(given, "dtype"), strings),
        "group_code": text_codes(groups, strings),
        "group_description_code": text_codes(_values(given, "group_description"), strings),
        "group_ranks_code": text_codes(_values(given, "group_ranks"), strings),
        "is_async": flag_column(_values(given, "is_async")),
        **{name: integers(name, _values(given, name)) for name in counts},
    }


def task_table(args: Args, rows: Int64, strings: Interner) -> ColumnArrays:
    """The arguments of Ascend's tasks and calls (:data:`ASCEND_FIELDS`).

    Other tools may use the same keys for anything, so wrong values are not counted.
    """
    ignored = QualityReport()
    integers = partial(_integers, ASCEND_FIELDS, ignored)
    table: ColumnArrays = {
        "connection": integers("connection", [arg.connection for arg in args]),
        "queue_entry": integers("queue_entry", [arg.queue_entry for arg in args]),
        "task_type_code": text_codes([arg.task_type for arg in args], strings),
        "element_count": integers("element_count", [arg.element_count for arg in args]),
        "element_type_code": text_codes([arg.element_type for arg in args], strings),
    }
    return _select_rows(table, rows, _any_present(list(table.values()), len(args)))


def memory_table(raws: list[msgspec.Raw], quality: QualityReport) -> ColumnArrays:
    """The arguments of ``[memory]`` and ``[OutOfMemory]`` instants."""
    args = decode_args(structs.MEMORY_ARGS, raws, quality)
    return {
        name: _integers(MEMORY_FIELDS, quality, name, _values(args, name)) for name in MEMORY_FIELDS
    }
