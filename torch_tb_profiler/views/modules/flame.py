"""The flame graph of the module tree."""

from __future__ import annotations

from torch_tb_profiler.views.flame_bars import flame_columns
from torch_tb_profiler.views.schema import TableSpec

FLAME = TableSpec(
    name="module_flame",
    title="Module flame graph",
    help="One bar per module of the tree, widths being forward time, laid out left to right.",
    columns=flame_columns("module"),
    tree=("path", "parent"),
)
