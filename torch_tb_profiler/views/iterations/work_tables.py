"""The rows of the tables of what ran in iterations.

Of many rows only the first are made, and all when the table itself is asked for.
Definitions: ``docs/views-iterations.md#how-it-is-counted``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.kernels.details import parse_input_types
from torch_tb_profiler.analysis.operators.call_stacks import call_stacks
from torch_tb_profiler.analysis.operators.identity import operator_identity
from torch_tb_profiler.analysis.operators.iteration_operators import (
    IterationWork,
    operators_of_iterations,
    work_of_iterations,
)
from torch_tb_profiler.analysis.operators.unattributed_work import UNASSOCIATED
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.windows import iteration_numbers
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.iterations.work_columns import ITERATION_KERNELS, ITERATION_OPERATORS
from torch_tb_profiler.views.name_columns import AS_RECORDED, DEMANGLED, other_names
from torch_tb_profiler.views.null_reasons import missing_reason, needed
from torch_tb_profiler.views.schema import Table, TableSpec

FIRST_ROWS = 500
"""Rows of an answer about all tables."""

NO_ARGUMENTS = "The inputs of these operators were not recorded."
NO_STACK = "No call stack was recorded."
NO_TYPE = "The kind of this operator is not known."
NO_DIRECTION = "Whether it is forward or backward is not known."
NO_LAUNCH = "The launching host call was not recorded."
NO_RULE = "Whether this kernel uses Tensor Cores is not known."
NO_LAUNCH_SIZE = "The launch configuration was not recorded."
NO_DEVICE = "The device number was not recorded."
NO_OPERATOR = "No operator launched it."

NO_ITERATION = "The launch was not recorded, or was in no iteration."

_REASONS = {
    "iteration": NO_ITERATION,
    "operator_id": NO_OPERATOR,
    "direction": NO_DIRECTION,
    "type": NO_TYPE,
    "api_start_us": NO_LAUNCH,
    "api_start_since_first_us": NO_LAUNCH,
    "api_time_us": NO_LAUNCH,
    "tensor_core_used": NO_RULE,
    "grid": NO_LAUNCH_SIZE,
    "block": NO_LAUNCH_SIZE,
    "gpu": NO_DEVICE,
    DEMANGLED: AS_RECORDED,
}
_OF_DEVICE = ("kernels", "gpu_time_us", "tensor_core_time_us")


def operators_table(trace: Trace, selection: Selection, iteration: str | None = None) -> Table:
    """The operators of one iteration, else of the selected ones.

    Raises:
        SelectionError: as ``chosen_windows``.
    """
    operators = operators_of_iterations(trace, selection, iteration)
    return _first(operators.count, lambda count: _operators(trace, operators.first(count)))


def kernels_table(
    trace: Trace,
    selection: Selection,
    iteration: str | None = None,
    operator_id: str | None = None,
) -> Table:
    """The device work of one iteration, else of the selected ones; of one operator where it is
    given.

    Raises:
        SelectionError: as ``work_of_iterations``.
    """
    work = work_of_iterations(trace, selection, iteration, operator_id)

    def first(count: int) -> Table:
        part = IterationWork(
            work.row[:count], work.window[:count], work.operator[:count], work.call[:count]
        )
        return _kernels(trace, part)

    return _first(len(work.row), first)


def _first(count: int, make: Callable[[int], Table]) -> Table:
    if count <= FIRST_ROWS:
        return make(count)
    return replace(make(FIRST_ROWS), row_count=count, all_rows=lambda: make(count))


def _operators(trace: Trace, rows: pl.DataFrame) -> Table:
    slices = rows["slice"].to_numpy()
    operator = rows["operator"].to_numpy()
    stacks = call_stacks(trace)
    frame = pl.DataFrame(
        {
            "iteration": _numbers(trace, rows["window"].to_numpy()),
            **_operator_texts(trace, operator, "name"),
            **_argument_texts(trace, np.where(operator >= 0, slices, -1)),
            "start_us": rows["start_ns"].to_numpy() / NS_PER_US,
            "duration_us": microseconds(rows["duration_ns"]),
            "kernels": rows["kernels"],
            "gpu_time_us": microseconds(rows["gpu_ns"]),
            "tensor_core_time_us": microseconds(rows["tensor_core_ns"]),
            "call_stack": pl.Series(
                stacks.texts([None if code < 0 else code for code in stacks.code[slices].tolist()]),
                dtype=pl.String,
            ),
            "path": _of_numbers(operator, _paths(trace, operator)),
            "calls": rows["calls"],
        }
    )
    unknown = no_device_time(trace)
    if unknown is not None:
        frame = frame.with_columns(pl.lit(None).alias(key) for key in _OF_DEVICE)
    reasons = dict.fromkeys(_OF_DEVICE, unknown) if unknown is not None else {}
    return _filled(trace, ITERATION_OPERATORS, frame, reasons)


def _kernels(trace: Trace, work: IterationWork) -> Table:
    rows = trace.device_work[work.row]
    launch = indices(rows["launch"])
    start, duration = (trace.slices[key].to_numpy() for key in ("start_ns", "dur_ns"))
    has_launch = pl.Series(launch >= 0)
    at_launch = np.maximum(launch, 0)
    frame = pl.DataFrame(
        {
            "iteration": _numbers(trace, work.window),
            **_operator_texts(trace, work.operator, "operator"),
            **_argument_texts(trace, work.call),
            "kernel": codes.texts(trace, rows["name_code"]),
            "gpu": rows["device"],
            "gpu_start_us": rows["start_ns"].to_numpy() / NS_PER_US,
            "gpu_start_since_first_us": microseconds(rows["start_ns"] - trace.meta.start_ns),
            "gpu_time_us": microseconds(rows["dur_ns"]),
            "tensor_core_used": codes.verdict_column(
                pl.Series(kernel_kinds(trace).tensor_core[work.row])
            ),
            "grid": codes.texts(trace, rows["grid_code"]),
            "block": codes.texts(trace, rows["block_code"]),
        }
    ).with_columns(
        *other_names(trace, rows["name_code"]),
        api_start_us=pl.when(has_launch).then(pl.Series(start[at_launch] / NS_PER_US)),
        api_start_since_first_us=pl.when(has_launch).then(
            pl.Series((start[at_launch] - trace.meta.start_ns) / NS_PER_US)
        ),
        api_time_us=pl.when(has_launch).then(pl.Series(duration[at_launch] / NS_PER_US)),
    )
    return _filled(trace, ITERATION_KERNELS, frame, {})


def _filled(trace: Trace, spec: TableSpec, frame: pl.DataFrame, reasons: dict[str, str]) -> Table:
    recorded: dict[str, str] = {
        "dtype": missing_reason(trace, "input_types", NO_ARGUMENTS),
        "input_shapes": missing_reason(trace, "input_shapes", NO_ARGUMENTS),
        "concrete_inputs": missing_reason(trace, "input_shapes", NO_ARGUMENTS),
        "call_stack": missing_reason(trace, "call_stacks", NO_STACK),
    }
    shown = frame.select(pl.col(key).cast(dtype) for key, dtype in spec.polars_schema().items())
    known = {
        key: text for key, text in (_REASONS | recorded | reasons).items() if key in shown.columns
    }
    return Table(spec, shown, needed(shown, known))


def _numbers(trace: Trace, window: Int64) -> pl.Series:
    """The number of each window; null for -1, none."""
    numbers = pl.Series([*iteration_numbers(trace), None], dtype=pl.Int64)
    return numbers.gather(np.where(window < 0, len(numbers) - 1, window))


def _of_numbers(number: Int64, texts: dict[int, str | None]) -> pl.Series:
    return pl.Series([texts[each] for each in number.tolist()], dtype=pl.String)


def _operator_texts(trace: Trace, operator: Int64, name: str) -> dict[str, pl.Series]:
    """Id, name (under the key ``name``), direction and type of operators of ``work.py``."""
    identity = operator_identity(trace)
    ids: dict[int, str | None] = {}
    names: dict[int, str | None] = {}
    directions: dict[int, str | None] = {}
    types: dict[int, str | None] = {}
    for number in distinct_values(operator).tolist():
        known = number >= 0
        code = int(identity.name_code[number]) if known else -2 - number
        text = str(trace.strings[code])
        names[number] = text if known else f"{UNASSOCIATED}{text}"
        ids[number] = identity.id_of(number) if known else f"{UNASSOCIATED}{text}"
        directions[number] = identity.direction_of(number) if known else None
        types[number] = identity.type_of(number) if known else None
    return {
        "operator_id": _of_numbers(operator, ids),
        name: _of_numbers(operator, names),
        "direction": _of_numbers(operator, directions),
        "type": _of_numbers(operator, types),
    }


def _paths(trace: Trace, operator: Int64) -> dict[int, str | None]:
    present = distinct_values(operator).tolist()
    known = [number for number in present if number >= 0]
    paths: dict[int, str | None] = dict.fromkeys(present)
    paths.update(zip(known, operator_identity(trace).paths(known), strict=True))
    return paths


def _argument_texts(trace: Trace, slices: Int64) -> dict[str, pl.Series]:
    """What is recorded of the arguments of operators; of -1 nothing."""
    arguments = trace.operators
    position = positions_in(arguments["slice"].to_numpy(), slices)
    at = pl.Series(position, dtype=pl.Int64).set(pl.Series(position < 0), None)
    texts = {}
    for key in ("input_type", "input_shape", "concrete_inputs"):
        texts[key] = codes.texts(trace, arguments[f"{key}_code"].gather(at))
    distinct = {
        text: ", ".join(parse_input_types(text)) or None
        for text in set(texts["input_type"])
        if text
    }
    return {
        "dtype": pl.Series([distinct.get(text) for text in texts["input_type"]], dtype=pl.String),
        "input_shapes": texts["input_shape"],
        "concrete_inputs": texts["concrete_inputs"],
    }
