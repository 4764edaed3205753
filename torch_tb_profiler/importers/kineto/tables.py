"""Decoded arguments of one kind of event → the columns of its tables.

Every function takes the decoded args structs and the rows they belong to, and gives a
:data:`Table` with only the rows that have something to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.structs import (
    COLLECTIVE_FIELDS,
    DEVICE_FIELDS,
    MEMORY_FIELDS,
    OPERATOR_FIELDS,
    PYTHON_FIELDS,
)
from torch_tb_profiler.importers.kineto.values import (
    Interner,
    flag_column,
    float_column,
    int_column,
    raw_codes,
    text_codes,
)
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64, Table
from torch_tb_profiler.trace.quality import QualityReport

Args = Sequence[Any]


def _values(args: Args, field: str) -> list[Any]:
    return list(map(attrgetter(field), args))


def has_fields(args: Args, fields: dict[str, tuple[str, Any]]) -> bool:
    """Whether these structs were decoded with ``fields``."""
    return len(args) > 0 and all(hasattr(args[0], field) for field in fields)


def links(args: Args, quality: QualityReport) -> tuple[Int64, Int64]:
    """Correlation and external id (spelled with a small e up to torch 1.11)."""
    external = int_column(_values(args, "external_id"), quality)
    if np.any(external == ABSENT):
        old = int_column(_values(args, "external_id_old"), quality)
        external = np.where(external == ABSENT, old, external)
    return int_column(_values(args, "correlation"), quality), external


def _keep(table: Table, rows: Int64, present: npt.NDArray[np.bool_]) -> Table:
    kept = {"slice": rows[present].astype(np.int64)}
    kept.update({name: column[present] for name, column in table.items()})
    return kept


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


def operator_table(args: Args, rows: Int64, strings: Interner, quality: QualityReport) -> Table:
    """The operator arguments of host slices."""
    assert has_fields(args, OPERATOR_FIELDS)
    shape = raw_codes(_values(args, "input_shape"), strings)
    if np.any(shape < 0):
        old = raw_codes(_values(args, "input_shape_old"), strings)
        shape = np.where(shape < 0, old, shape)
    table: Table = {
        "input_shape_code": shape,
        "input_type_code": raw_codes(_values(args, "input_type"), strings),
        "concrete_inputs_code": raw_codes(_values(args, "concrete_inputs"), strings),
        "call_stack_code": call_stacks(args, strings),
        "sequence_number": int_column(_values(args, "sequence_number"), quality),
        "forward_thread": int_column(_values(args, "forward_thread"), quality),
        "record_function_id": int_column(_values(args, "record_function_id"), quality),
    }
    return _keep(table, rows, _any_present(list(table.values()), len(args)))


def call_stacks(args: Args, strings: Interner) -> Int32:
    """Call stacks, innermost frame first, without the closing ``;`` of torch 1.10 to 1.13.

    torch 1.12 wrote the outermost frame first; it alone also wrote ``python_caller_id``.
    """
    distinct = Interner()
    codes = text_codes(_values(args, "call_stack"), distinct)
    reverse = any(caller is not None for caller in _values(args, "python_caller_id"))
    texts = [stack_text(text, reverse) for text in distinct]
    final = text_codes(texts, strings)
    return np.where(codes < 0, -1, final[codes]).astype(np.int32) if texts else codes


def stack_text(text: str, reverse: bool) -> str:
    """One call stack with its frames joined by ``;``, innermost first."""
    frames = text.rstrip("; ")
    return ";".join(reversed(frames.split(";"))) if reverse else frames


def python_table(args: Args, rows: Int64, quality: QualityReport) -> Table:
    """The ids of python frames."""
    table = {field: int_column(_values(args, field), quality) for field in PYTHON_FIELDS}
    return _keep(table, rows, _any_present(list(table.values()), len(args)))


def device_table(args: Args, rows: Int64, strings: Interner, quality: QualityReport) -> Table:
    """The launch arguments of kernels, copies, sets and other device slices."""
    assert has_fields(args, DEVICE_FIELDS)
    occupancy = float_column(_values(args, "est_achieved_occupancy_pct"), quality)
    if np.any(np.isnan(occupancy)):
        old = float_column(_values(args, "est_achieved_occupancy_pct_old"), quality)
        occupancy = np.where(np.isnan(occupancy), old, occupancy)
    table: Table = {
        "device": int_column(_values(args, "device"), quality),
        "stream": int_column(_values(args, "stream"), quality),
        "grid_code": raw_codes(_values(args, "grid"), strings),
        "block_code": raw_codes(_values(args, "block"), strings),
        "registers_per_thread": int_column(_values(args, "registers_per_thread"), quality),
        "shared_memory_bytes": int_column(_values(args, "shared_memory_bytes"), quality),
        "blocks_per_sm": float_column(_values(args, "blocks_per_sm"), quality),
        "warps_per_sm": float_column(_values(args, "warps_per_sm"), quality),
        "est_achieved_occupancy_pct": occupancy,
        "graph_node": int_column(_values(args, "graph_node"), quality),
        "bytes": int_column(_values(args, "bytes"), quality),
        "occupancy_limit_code": text_codes(
            map(limiting_factors, _values(args, "occupancy")), strings
        ),
    }
    return _keep(table, rows, _any_present(list(table.values()), len(args)))


def limiting_factors(occupancy: Any) -> str | None:
    """What limits a kernel's occupancy, ``"REGS, SMEM"``; None when the file does not say."""
    factors = occupancy.get("limitingFactors") if isinstance(occupancy, dict) else None
    if isinstance(factors, list):
        return ", ".join(map(str, factors))
    return None if factors is None else str(factors)


def collective_table(
    args: Args, rows: Int64, strings: Interner, quality: QualityReport
) -> Table | None:
    """Collective metadata; None when no slice carries any.

    ``dtype`` or ``Group size`` alone may be a keyword of the user's own range.
    """
    assert has_fields(args, COLLECTIVE_FIELDS)
    marked = [
        row
        for row, arg in enumerate(args)
        if arg.collective is not None
        or arg.group is not None
        or arg.group_id is not None
        or arg.in_nelems is not None
    ]
    if not marked:
        return None
    chosen = [args[row] for row in marked]
    groups = [arg.group if arg.group is not None else arg.group_id for arg in chosen]
    integers = ("in_nelems", "out_nelems", "group_size", "sequence", "src_rank", "dst_rank")
    return {
        "slice": rows[marked].astype(np.int64),
        "collective_code": text_codes(_values(chosen, "collective"), strings),
        "dtype_code": text_codes(_values(chosen, "dtype"), strings),
        "group_code": text_codes(groups, strings),
        "group_description_code": text_codes(_values(chosen, "group_description"), strings),
        "group_ranks_code": text_codes(_values(chosen, "group_ranks"), strings),
        "is_async": flag_column(_values(chosen, "is_async")),
        **{field: int_column(_values(chosen, field), quality) for field in integers},
    }


def memory_table(args: Args, quality: QualityReport) -> Table:
    """The arguments of ``[memory]`` and ``[OutOfMemory]`` instants."""
    return {field: int_column(_values(args, field), quality) for field in MEMORY_FIELDS}
