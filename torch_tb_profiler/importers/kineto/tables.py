"""Decoded arguments of one kind of event → the columns of its tables.

Every function takes the decoded args structs and the rows they belong to, and gives a
:data:`ColumnArrays` with only the rows that have something to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.args import decode_args
from torch_tb_profiler.importers.kineto.structs import (
    COLLECTIVE_FIELDS,
    COLLECTIVE_MARKS,
    DEVICE_FIELDS,
    LINK_FIELDS,
    MEMORY_FIELDS,
    OPERATOR_FIELDS,
    PYTHON_FIELDS,
    Fields,
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

MOST = {
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
"""Field → the largest number that makes sense; addresses and ids may be any."""


def _values(args: Args, field: str) -> list[Any]:
    return list(map(attrgetter(field), args))


def _integers(args: Args, fields: Fields, name: str, quality: QualityReport) -> Int64:
    most = MOST.get(name, INT64_MAX)
    return int_column(_values(args, name), quality, fields[name].key, most)


def _floats(args: Args, fields: Fields, name: str, quality: QualityReport) -> Float64:
    return float_column(_values(args, name), quality, fields[name].key)


def has_fields(args: Args, fields: Fields) -> bool:
    """Whether these structs were decoded with ``fields``."""
    return len(args) > 0 and all(hasattr(args[0], field) for field in fields)


def links(args: Args, quality: QualityReport) -> tuple[Int64, Int64]:
    """Correlation and external id (spelled with a small e up to torch 1.11)."""
    external = _integers(args, LINK_FIELDS, "external_id", quality)
    if np.all(external == ABSENT):
        external = _integers(args, LINK_FIELDS, "external_id_old", quality)
    return _integers(args, LINK_FIELDS, "correlation", quality), external


def _keep(table: ColumnArrays, rows: Int64, present: npt.NDArray[np.bool_]) -> ColumnArrays:
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
    shape = raw_codes([arg.input_shape for arg in args], strings)
    if np.all(shape < 0):
        shape = raw_codes([arg.input_shape_old for arg in args], strings)
    table: ColumnArrays = {
        "input_shape_code": shape,
        "input_type_code": raw_codes([arg.input_type for arg in args], strings),
        "concrete_inputs_code": raw_codes([arg.concrete_inputs for arg in args], strings),
        "call_stack_code": call_stacks(args, strings),
        "module_hierarchy_code": text_codes([arg.module_hierarchy for arg in args], strings),
        "sequence_number": _integers(args, OPERATOR_FIELDS, "sequence_number", quality),
        "forward_thread": _integers(args, OPERATOR_FIELDS, "forward_thread", quality),
        "record_function_id": _integers(args, OPERATOR_FIELDS, "record_function_id", quality),
    }
    return _keep(table, rows, _any_present(list(table.values()), len(args)))


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
    table = {
        "python_id": _integers(args, PYTHON_FIELDS, "python_id", quality),
        "python_parent_id": _integers(args, PYTHON_FIELDS, "python_parent_id", quality),
        "module_id": _integers(args, PYTHON_FIELDS, "module_id", quality),
    }
    return _keep(table, rows, _any_present(list(table.values()), len(args)))


def device_table(
    args: Args, rows: Int64, strings: Interner, quality: QualityReport
) -> ColumnArrays:
    """The launch arguments of kernels, copies, sets and other device slices."""
    assert has_fields(args, DEVICE_FIELDS)
    occupancy = _floats(args, DEVICE_FIELDS, "est_achieved_occupancy_pct", quality)
    if np.all(np.isnan(occupancy)):
        occupancy = _floats(args, DEVICE_FIELDS, "est_achieved_occupancy_pct_old", quality)
    table: ColumnArrays = {
        "device": _integers(args, DEVICE_FIELDS, "device", quality),
        "stream": _integers(args, DEVICE_FIELDS, "stream", quality),
        "grid_code": raw_codes([arg.grid for arg in args], strings),
        "block_code": raw_codes([arg.block for arg in args], strings),
        "registers_per_thread": _integers(args, DEVICE_FIELDS, "registers_per_thread", quality),
        "shared_memory_bytes": _integers(args, DEVICE_FIELDS, "shared_memory_bytes", quality),
        "blocks_per_sm": _floats(args, DEVICE_FIELDS, "blocks_per_sm", quality),
        "warps_per_sm": _floats(args, DEVICE_FIELDS, "warps_per_sm", quality),
        "est_achieved_occupancy_pct": occupancy,
        "graph_node": _integers(args, DEVICE_FIELDS, "graph_node", quality),
        "bytes": _integers(args, DEVICE_FIELDS, "bytes", quality),
        "occupancy_limit_code": _occupancy_limits(args, strings),
    }
    return _keep(table, rows, _any_present(list(table.values()), len(args)))


def _occupancy_limits(args: Args, strings: Interner) -> Int32:
    given = [arg.occupancy for arg in args]
    if given.count(None) == len(given):
        return np.full(len(given), -1, np.int32)
    return text_codes(list(map(limiting_factors, given)), strings)


def limiting_factors(occupancy: Any) -> str | None:
    """What limits a kernel's occupancy, ``"REGS, SMEM"``; None when the file does not say."""
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
    """Collective metadata; None when no slice carries any.

    ``dtype`` or ``Group size`` alone may be a keyword of the user's own range. Few slices carry
    any, so the rest of it is decoded of these alone.
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
    integers = ("in_nelems", "out_nelems", "group_size", "sequence", "src_rank", "dst_rank")
    return {
        "slice": rows[marked].astype(np.int64),
        "collective_code": text_codes(_values(given, "collective"), strings),
        "dtype_code": text_codes(_values(given, "dtype"), strings),
        "group_code": text_codes(groups, strings),
        "group_description_code": text_codes(_values(given, "group_description"), strings),
        "group_ranks_code": text_codes(_values(given, "group_ranks"), strings),
        "is_async": flag_column(_values(given, "is_async")),
        **{name: _integers(given, COLLECTIVE_FIELDS, name, quality) for name in integers},
    }


def memory_table(args: Args, quality: QualityReport) -> ColumnArrays:
    """The arguments of ``[memory]`` and ``[OutOfMemory]`` instants."""
    return {name: _integers(args, MEMORY_FIELDS, name, quality) for name in MEMORY_FIELDS}
