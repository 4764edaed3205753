"""The flame graph of the module tree: where each module's bar begins and how wide it is."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.schema import Column, Table, TableSpec

FLAME = TableSpec(
    name="module_flame",
    title="Module flame graph",
    help="One bar per module of the tree, widths being forward time, laid out left to right.",
    columns=(
        Column("path", "Path", "string", None, "Path of the module."),
        Column("parent", "Parent", "string", None, "Path of the bar below."),
        Column("name", "Module", "string", None, "Name of the module."),
        Column("depth", "Depth", "integer", "count", "0 for roots."),
        Column(
            "host_left_us",
            "Host left",
            "number",
            "us",
            "Left edge of the bar of host time.",
            family="host",
        ),
        Column(
            "host_width_us",
            "Host width",
            "number",
            "us",
            "Host total of the module.",
            family="host",
        ),
        Column(
            "device_left_us",
            "Device left",
            "number",
            "us",
            "Left edge, device time.",
            family="device",
        ),
        Column(
            "device_width_us",
            "Device width",
            "number",
            "us",
            "Device total of the module.",
            family="device",
        ),
    ),
    tree=("path", "parent"),
)

_BAR_TYPES = (*[pl.String] * 3, *[pl.Int64] * 5)
"""Types of the columns while the bars are laid out, in ns."""


def flame_table(modules: pl.DataFrame) -> Table:
    """Lay the module rows out: siblings in a row, the first at its parent's left edge.

    A bar is at least as wide as the bars above it together, also where a selection holds calls
    of submodules but not the call around them.

    Args:
        modules: ``path, parent, name, host_total_ns, device_total_ns``; parents before children.
    """
    rows = modules.select("path", "parent", "name").rows()
    host, device = (_widths_ns(modules, key) for key in ("host_total_ns", "device_total_ns"))
    free: dict[str | None, tuple[int, int, int]] = {None: (0, 0, 0)}
    bars: list[tuple[str, str | None, str, int, int, int, int, int]] = []
    for path, parent, name in rows:
        depth, host_left, device_left = free[parent]
        free[path] = (depth + 1, host_left, device_left)
        bars.append((path, parent, name, depth, host_left, host[path], device_left, device[path]))
        free[parent] = (depth, host_left + host[path], device_left + device[path])
    schema = FLAME.polars_schema()
    frame = pl.DataFrame(bars, schema=dict(zip(schema, _BAR_TYPES, strict=True)), orient="row")
    edges = [column.key for column in FLAME.columns if column.unit == "us"]
    return Table(FLAME, frame.with_columns(microseconds(frame[key]) for key in edges))


def _widths_ns(modules: pl.DataFrame, key: str) -> dict[str, int]:
    """Per path the larger of its own width and the sum of its children's widths."""
    rows = list(zip(modules["path"], modules["parent"], modules[key], strict=True))
    inside: dict[str | None, int] = {}
    widths: dict[str, int] = {}
    for path, parent, width in reversed(rows):
        widths[path] = max(width, inside.get(path, 0))
        inside[parent] = inside.get(parent, 0) + widths[path]
    return widths
