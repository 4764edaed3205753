"""Modules of two sides, which meet by their position in the model."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.alignment import Alignment, ModuleNode, align, tree_of
from torch_tb_profiler.views.compare.explanation import ModuleNames
from torch_tb_profiler.views.compare.sides import MODULE_MEASURES, ModuleSide
from torch_tb_profiler.views.compare.tables import Pairing, compared_table, pair_spec
from torch_tb_profiler.views.schema import Column, Table

MODULES = pair_spec(
    "modules",
    "Modules",
    "One row per module of either side. Modules are matched by their position in the model, so "
    "an added layer or a wrapper around the model does not disturb the rest.",
    keys=(
        Column("path", "Path", "string", None, "Path in the baseline, else in the candidate."),
        Column("parent", "Parent", "string", None, "Path of the row above."),
        Column("baseline_name", "Baseline Module", "string", None, "Name in the baseline."),
        Column("candidate_name", "Candidate Module", "string", None, "Name in the candidate."),
    ),
    measures=MODULE_MEASURES,
    tree=("path", "parent"),
)


def compared_modules(a: ModuleSide, b: ModuleSide) -> tuple[Table, Alignment]:
    """The table, and which modules meet."""
    (nodes_a, roots_a), (nodes_b, roots_b) = _tree(a), _tree(b)
    alignment = align(nodes_a, nodes_b, (roots_a, roots_b))
    keys = _module_keys(alignment, a.frame, b.frame)
    pairing = Pairing(
        np.array(alignment.baseline, np.int64), np.array(alignment.candidate, np.int64)
    )
    table = compared_table(MODULES, keys, MODULE_MEASURES, sides=(a.side, b.side), pairing=pairing)
    return table, alignment


def names_of_modules(
    traces: tuple[Trace, Trace],
    sides: tuple[ModuleSide, ModuleSide],
    compared: tuple[Table, Alignment],
) -> ModuleNames:
    """The names of the modules of each side by node, the same for those that meet.

    Args:
        traces: Both traces.
        sides: Their modules.
        compared: What :func:`compared_modules` made of them.
    """
    table, alignment = compared
    paths = table.frame["path"].to_list()
    rows = alignment.baseline, alignment.candidate
    names = [_names_of_nodes(*each, paths) for each in zip(traces, sides, rows, strict=True)]
    return names[0], names[1]


def _names_of_nodes(
    trace: Trace, side: ModuleSide, rows: list[int], paths: list[str | None]
) -> list[str] | None:
    """Per node of a tree of modules its path in the comparison; None where there is no tree."""
    if not len(side.node):
        return None
    names = list(module_tree(trace).nodes.path)
    for row, path in zip(rows, paths, strict=True):
        if row >= 0 and path is not None:
            names[int(side.node[row])] = path
    return names


def _tree(side: ModuleSide) -> tuple[list[ModuleNode], tuple[int, ...]]:
    row = {path: index for index, path in enumerate(side.frame["path"])}
    parents = [-1 if parent is None else row[parent] for parent in side.frame["parent"]]
    return tree_of(side.frame["name"].to_list(), parents)


def _module_keys(
    alignment: Alignment, a: pl.DataFrame, b: pl.DataFrame
) -> dict[str, list[str | None]]:
    paths: list[str | None] = []
    taken = {a["path"][row] for row in alignment.baseline if row >= 0}
    for left, right in zip(alignment.baseline, alignment.candidate, strict=True):
        path = a["path"][left] if left >= 0 else b["path"][right]
        paths.append(f"{path} (candidate)" if left < 0 and path in taken else path)
    return {
        "path": paths,
        "parent": [paths[row] if row >= 0 else None for row in alignment.parent],
        "baseline_name": [a["name"][row] if row >= 0 else None for row in alignment.baseline],
        "candidate_name": [b["name"][row] if row >= 0 else None for row in alignment.candidate],
    }
