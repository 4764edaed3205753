"""Decoded arguments of one kind of event → the columns of its tables.

Every function takes the decoded arguments and the rows of their slices, and returns a
:data:`ColumnArrays` with only the rows that have any value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.decoded import DecodedArguments
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
    int_column,
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


def _integers(
    args: DecodedArguments, fields: ArgumentFields, quality: QualityReport, name: str
) -> Int64:
    return args.integers(name, quality, fields[name].key, MAX_VALUES.get(name, INT64_MAX))


def _has_fields(args: DecodedArguments, fields: ArgumentFields) -> bool:
    return len(args) > 0 and all(map(args.has_field, fields))


def links(args: DecodedArguments, quality: QualityReport) -> tuple[Int64, Int64]:
    """Correlation and external id (spelled with a small e up to torch 1.11)."""
    integers = partial(_integers, args, LINK_FIELDS, quality)
    external = integers("external_id")
    if np.all(external == ABSENT):
        external = integers("external_id_old")
    return integers("correlation"), external


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
    args: DecodedArguments, rows: Int64, strings: Interner, quality: QualityReport
) -> ColumnArrays:
    """The operator arguments of host slices."""
    assert _has_fields(args, OPERATOR_FIELDS)
    integers = partial(_integers, args, OPERATOR_FIELDS, quality)
    shape = args.list_codes("input_shape", strings)
    if np.all(shape < 0):
        shape = args.list_codes("input_shape_old", strings)
    table: ColumnArrays = {
        "input_shape_code": shape,
        "input_type_code": args.list_codes("input_type", strings),
        "concrete_inputs_code": args.list_codes("concrete_inputs", strings),
        "call_stack_code": call_stacks(args, strings),
        "module_hierarchy_code": args.text_codes("module_hierarchy", strings),
        **{name: integers(name) for name in _OPERATOR_INTEGERS},
    }
    return _select_rows(table, rows, _any_present(list(table.values()), len(args)))


_OPERATOR_INTEGERS = ("sequence_number", "forward_thread", "record_function_id")


def call_stacks(args: DecodedArguments, strings: Interner) -> Int32:
    """Call stacks, innermost frame first, without the closing ``;`` of torch 1.10 to 1.13.

    torch 1.12 wrote the outermost frame first; it alone also wrote ``python_caller_id``.
    """
    reverse = bool(args.rows_with("python_caller_id").any())
    return args.text_codes("call_stack", strings, lambda text: stack_text(text_of(text), reverse))


def stack_text(text: str, reverse: bool) -> str:
    """One call stack with its frames joined by ``;``, innermost first."""
    frames = text.rstrip("; ")
    return ";".join(reversed(frames.split(";"))) if reverse else frames


def python_table(args: DecodedArguments, rows: Int64, quality: QualityReport) -> ColumnArrays:
    """The ids of python frames."""
    names = ("python_id", "python_parent_id", "module_id")
    table: ColumnArrays = {name: _integers(args, PYTHON_FIELDS, quality, name) for name in names}
    return _select_rows(table, rows, _any_present(list(table.values()), len(args)))


def device_table(
    args: DecodedArguments, rows: Int64, strings: Interner, quality: QualityReport
) -> ColumnArrays:
    """The launch arguments of kernels, copies, sets and other device slices.

    The stream is the one that the work ran on: torch >= 2.15 may draw the work of a graph on
    another lane, and then writes the lane as the stream and adds ``original_stream``.
    """
    assert _has_fields(args, DEVICE_FIELDS)
    integers = partial(_integers, args, DEVICE_FIELDS, quality)

    def floats(name: str) -> Float64:
        return args.floats(name, quality, DEVICE_FIELDS[name].key)

    occupancy = floats("est_achieved_occupancy_pct")
    if np.all(np.isnan(occupancy)):
        occupancy = floats("est_achieved_occupancy_pct_old")
    stream, original = integers("stream"), integers("original_stream")
    table: ColumnArrays = {
        "device": integers("device"),
        "stream": np.where(original == ABSENT, stream, original),
        "grid_code": args.list_codes("grid", strings),
        "block_code": args.list_codes("block", strings),
        "registers_per_thread": integers("registers_per_thread"),
        "shared_memory_bytes": integers("shared_memory_bytes"),
        "blocks_per_sm": floats("blocks_per_sm"),
        "warps_per_sm": floats("warps_per_sm"),
        "est_achieved_occupancy_pct": occupancy,
        "graph": integers("graph"),
        "graph_node": integers("graph_node"),
        "bytes": integers("bytes"),
        "occupancy_limit_code": args.text_codes("occupancy", strings, extract=limiting_factors),
    }
    return _select_rows(table, rows, _any_present(list(table.values()), len(args)))


def limiting_factors(occupancy: Any) -> str | None:
    """The limiting factors of a kernel's occupancy, ``"REGS, SMEM"``; None if not recorded."""
    factors = occupancy.get("limitingFactors") if isinstance(occupancy, dict) else None
    if isinstance(factors, list):
        return ", ".join(map(str, factors))
    return None if factors is None else str(factors)


def collective_table(
    args: DecodedArguments, rows: Int64, strings: Interner, quality: QualityReport
) -> ColumnArrays | None:
    """Collective metadata; None if no slice has any.

    ``dtype`` or ``Group size`` alone does not count: it may be an argument of a user's own range.
    Few slices have metadata, so its other fields are decoded only for these.
    """
    assert _has_fields(args, COLLECTIVE_MARKS)
    is_marked = np.logical_or.reduce([args.rows_with(mark) for mark in COLLECTIVE_MARKS])
    marked = np.flatnonzero(is_marked).tolist()
    if not marked:
        return None
    given = decode_args(structs.COLLECTIVE_ARGS, args.raws(marked), quality)

    def values(name: str) -> list[Any]:
        return list(map(attrgetter(name), given))

    def integers(name: str) -> Int64:
        key = COLLECTIVE_FIELDS[name].key
        return int_column(values(name), quality, key, MAX_VALUES.get(name, INT64_MAX))

    groups = [arg.group if arg.group is not None else arg.group_id for arg in given]
    counts = ("in_nelems", "out_nelems", "group_size", "sequence", "comms_id", "src_rank",
              "dst_rank")  # fmt: skip
    return {
        "slice": rows[marked].astype(np.int64),
        "collective_code": text_codes(values("collective"), strings),
        "dtype_code": text_codes(values("dtype"), strings),
        "group_code": text_codes(groups, strings),
        "group_description_code": text_codes(values("group_description"), strings),
        "group_ranks_code": text_codes(values("group_ranks"), strings),
        "in_splits_code": text_codes(values("in_splits"), strings),
        "out_splits_code": text_codes(values("out_splits"), strings),
        "is_async": flag_column(values("is_async")),
        **{name: integers(name) for name in counts},
    }


def task_table(args: DecodedArguments, rows: Int64, strings: Interner) -> ColumnArrays:
    """The arguments of Ascend's tasks and calls (:data:`ASCEND_FIELDS`).

    Other tools may use the same keys for anything, so wrong values are not counted.
    """
    integers = partial(_integers, args, ASCEND_FIELDS, QualityReport())
    table: ColumnArrays = {
        "connection": integers("connection"),
        "queue_entry": integers("queue_entry"),
        "task_type_code": args.text_codes("task_type", strings),
        "element_count": integers("element_count"),
        "element_type_code": args.text_codes("element_type", strings),
    }
    return _select_rows(table, rows, _any_present(list(table.values()), len(args)))


def memory_table(args: DecodedArguments, quality: QualityReport) -> ColumnArrays:
    """The arguments of ``[memory]`` and ``[OutOfMemory]`` instants."""
    return {name: _integers(args, MEMORY_FIELDS, quality, name) for name in MEMORY_FIELDS}
