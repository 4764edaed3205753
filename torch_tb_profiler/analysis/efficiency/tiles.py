"""What products compute beside their results, because blocks compute whole tiles.

Definitions: ``docs/views-efficiency.md#tiles``.
"""

from __future__ import annotations

import math

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.efficiency.calls import holding_calls, work_holders
from torch_tb_profiler.analysis.efficiency.work.call_work import call_work
from torch_tb_profiler.analysis.efficiency.work.formula_arguments import is_set, whole
from torch_tb_profiler.analysis.efficiency.work.operands import Tensor, read_operands
from torch_tb_profiler.analysis.efficiency.work.result import UnknownWorkError
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.knowledge.formulas import Formula, formulas
from torch_tb_profiler.knowledge.kernel_tiles import tile_in_name
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_RULE = "matrix-product"
"""The rule of formulas whose operands tell rows and columns of the result."""


@per_trace
def tiled_flops(trace: Trace) -> Float64:
    """Per call of ``holding_calls`` the FLOPs of its product if every tile were full; NaN where its
    kernels' names tell no tile; made once."""
    calls, tile = holding_calls(trace), _tiles(trace)
    shapes = operator_calls(trace)["input_shape_code"].to_numpy()[calls.row].astype(np.int64)
    formula = call_work(trace).formula[calls.row].astype(np.int64)
    tiled = np.full(len(calls.row), np.nan)
    rules = np.array([*(one.rule == _RULE for one in formulas()), False])
    rows = np.flatnonzero(calls.is_product & rules[formula] & (tile >= 0) & (shapes >= 0))
    keys, number = np.unique(
        np.column_stack((formula[rows], shapes[rows], tile[rows])), axis=0, return_inverse=True
    )
    fills = [
        _fill(formulas()[index], str(trace.text(shape)), str(trace.text(name)))
        for index, shape, name in keys.tolist()
    ]
    tiled[rows] = calls.flops[rows] / np.array(fills, np.float64)[number.ravel()]
    return tiled


def _tiles(trace: Trace) -> Int64:
    """Per holding call the name of its first kernel that tells a tile, -1 for none."""
    names = trace.device_work["name_code"].to_numpy().astype(np.int64)
    has_tile = codes.map_names(trace, names, lambda name: tile_in_name(name) is not None, np.bool_)
    rows = np.flatnonzero(has_tile)[::-1]  # the first is written last
    of_call = np.full(operator_calls(trace).height + 1, -1, np.int64)
    of_call[work_holders(trace)[rows]] = names[rows]
    tiles: Int64 = of_call[:-1][holding_calls(trace).row]
    return tiles


def _fill(formula: Formula, shapes: str, kernel: str) -> float:
    """Which part of its tiles a product fills; NaN where the shapes do not tell."""
    tile = tile_in_name(kernel)
    try:
        operands = read_operands(shapes, None, None)
        left = operands.tensor(whole(formula.arguments, "a"))
        right = operands.tensor(whole(formula.arguments, "b"))
    except UnknownWorkError:
        return math.nan
    if tile is None or len(right.shape) < 2 or len(left.shape) < 2:
        return math.nan
    columns = right.shape[-2 if is_set(formula.arguments, "transposed") else -1]
    return tile_fill(_rows(left, right), columns, tile)


def _rows(left: Tensor, right: Tensor) -> int:
    """Rows of one product: a batch that shares its right side is one product of all rows."""
    return math.prod(left.shape[:-1]) if len(right.shape) == 2 else left.shape[-2]


def tile_fill(rows: int, columns: int, tile: tuple[int, int]) -> float:
    """Which part of whole tiles a result fills, in the orientation in which it is more: names do
    not tell whether a library computes the transposed result."""
    if not rows or not columns:
        return math.nan
    return max(_part(rows, columns, tile), _part(columns, rows, tile))


def _part(rows: int, columns: int, tile: tuple[int, int]) -> float:
    height, width = -(-rows // tile[0]) * tile[0], -(-columns // tile[1]) * tile[1]
    return rows * columns / (height * width)
