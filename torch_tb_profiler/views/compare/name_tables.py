"""Operators and kernels of two sides, which meet by name or as a pair of names."""

from __future__ import annotations

from torch_tb_profiler.views.compare.renames import Pairs, pair_values
from torch_tb_profiler.views.compare.sides import KERNEL_MEASURES, OPERATOR_MEASURES, NamedSide
from torch_tb_profiler.views.compare.tables import (
    PAIRED_WITH,
    Measure,
    by_size_of_change,
    compared_table,
    pair_by_key,
    pair_spec,
)
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.schema import Column, Table, TableSpec

OPERATORS = pair_spec(
    "operators",
    "Operators",
    "One row per operator of either side, the largest change first. Operators that are only "
    "renamed are one row.",
    keys=(Column("name", "Name", "string", None, "Name of the operator."), *PAIRED_WITH),
    measures=OPERATOR_MEASURES,
)
KERNELS = pair_spec(
    "kernels",
    "Kernels",
    "One row per kernel of either side, the largest change first. Kernels that are only renamed "
    "are one row.",
    keys=(Column("name", "Name", "string", None, "Name of the kernel."), *PAIRED_WITH),
    measures=KERNEL_MEASURES,
    more=OTHER_NAMES,
)


def compared_names(
    spec: TableSpec, measures: tuple[Measure, ...], sides: tuple[NamedSide, NamedSide], pairs: Pairs
) -> Table:
    """A table of things that meet by name, or by ``pairs`` of different names; the largest change
    of the first known time on top."""
    a, b = sides
    baseline_names = {name: pair.baseline for name, pair in pairs.items()}
    pairing = pair_by_key(a.names, [baseline_names.get(name, name) for name in b.names])
    names = [
        a.names[left] if left >= 0 else b.names[right]
        for left, right in zip(pairing.baseline, pairing.candidate, strict=True)
    ]
    keys = {"name": names, **pair_values(names, pairs)}
    table = compared_table(spec, keys, measures, sides=(a.side, b.side), pairing=pairing)
    times = [f"delta_{measure.key}" for measure in measures if measure.sampled]
    known = [key for key in times if table.frame[key].is_not_null().any()]
    return by_size_of_change(table, (known or times)[0])
