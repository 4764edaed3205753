"""The distinct calls of operators: what was recorded of their inputs, each combination once.

A trace has millions of calls and a few thousand combinations of name, shapes, types and values.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.analysis.algebra.dense_ids import factorize_rows
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.efficiency.work.formula_arguments import positions
from torch_tb_profiler.analysis.efficiency.work.outputs import output_codes
from torch_tb_profiler.analysis.efficiency.work.rules import READ_VALUES
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.knowledge.formulas import formula_index, formulas
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace

_OF_LISTS = frozenset(("listed", "joined"))


class DistinctCalls(Struct, frozen=True, eq=False):
    """Calls by what they are of; codes are those of ``trace.strings``, -1 for none.

    Attributes:
        row: Rows of ``operator_calls`` that have a formula.
        number: Per such row the number of its combination.
        keys: One row per combination: formula, name, shapes, types, concrete, shapes and types of
            the call around it (around, around_types), of its backward node (output) and of the
            call after it (likely), name of its first kernel (kernel).
        formula: Per row of ``operator_calls`` the position of its formula, -1 for none.
    """

    row: Int64
    number: Int64
    keys: pl.DataFrame
    formula: Int64


def distinct_calls(trace: Trace) -> DistinctCalls:
    """The combinations of a trace."""
    calls = operator_calls(trace)
    names = indices(calls["name_code"])
    formula = map_names(trace, names, formula_index, np.int64)
    row = np.flatnonzero(formula >= 0)
    types, concrete = _arguments(trace, calls["slice"].to_numpy()[row])
    shapes = indices(calls["input_shape_code"])
    concrete = np.where(_reads_values()[formula[row]], concrete, -1)
    outer = _around(trace, formula, row)
    output, likely = output_codes(trace, formula, row, concrete)
    columns = {
        "formula": formula[row],
        "name": names[row],
        "shapes": shapes[row],
        "types": types,
        "concrete": concrete,
        "around": gather(shapes, outer),
        "around_types": _arguments(trace, gather(calls["slice"].to_numpy(), outer))[0],
        "output": output,
        "likely": likely,
        "kernel": _kernels(trace, formula, row),
    }
    first, number = factorize_rows(*columns.values())
    keys = pl.DataFrame({name: column[first] for name, column in columns.items()})
    return DistinctCalls(row, number, keys, formula)


def _reads_values() -> Bools:
    """Per formula whether its rule reads values of arguments: those of others, such as where a
    slice begins, would make every call a combination of its own."""
    return np.array([one.rule in READ_VALUES or "out-type" in one.arguments for one in formulas()])


def _arguments(trace: Trace, slices: Int64) -> tuple[Int64, Int64]:
    """Per slice (-1 for none) the codes of its input types and of its concrete inputs."""
    arguments = trace.operators
    row = np.full(trace.slices.height, -1, np.int64)
    row[arguments["slice"].to_numpy()] = np.arange(arguments.height)
    at = gather(row, slices)
    return (
        gather(indices(arguments["input_type_code"]), at),
        gather(indices(arguments["concrete_inputs_code"]), at),
    )


def _around(trace: Trace, formula: Int64, row: Int64) -> Int64:
    """Per row the call around it where its formula reads the inputs of that, -1 for others."""
    reads = np.array([bool(positions(one.arguments, "around")) for one in formulas()])
    asks = reads[formula[row]]
    around = np.full(len(row), -1, np.int64)
    around[asks] = call_tree(trace).parent[row[asks]]
    return around


def _kernels(trace: Trace, formula: Int64, row: Int64) -> Int64:
    """Per row whose formula is of lists, whose types no recording has, the code of the name of the
    first kernel that the call launched itself; -1 for all others."""
    asks = np.array([one.rule in _OF_LISTS for one in formulas()])[formula[row]]
    kernels = np.full(len(row), -1, np.int64)
    if asks.any():
        tree = call_tree(trace)
        own = np.flatnonzero(tree.is_own)[::-1]
        first = np.full(len(formula), -1, np.int64)
        first[tree.owner[own]] = trace.device_work["name_code"].to_numpy()[own]
        kernels[asks] = first[row[asks]]
    return kernels
