"""The flame graph of the module tree: where each module's bar begins and how wide it is."""

from __future__ import annotations

import polars as pl

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
        Column("host_left_us", "Host left", "number", "us", "Left edge of the bar of host time."),
        Column("host_width_us", "Host width", "number", "us", "Host total of the module."),
        Column("device_left_us", "Device left", "number", "us", "Left edge, device time."),
        Column("device_width_us", "Device width", "number", "us", "Device total of the module."),
    ),
    tree=("path", "parent"),
)


def flame_table(modules: pl.DataFrame) -> Table:
    """Lay the module rows out: siblings in a row, the first at its parent's left edge.

    A bar is at least as wide as the bars above it together, also where a selection holds calls
    of submodules but not the call around them.

    Args:
        modules: ``path, parent, name, host_total_us, device_total_us``; parents before children.
    """
    columns = ("path", "parent", "name", "host_total_us", "device_total_us")
    rows = modules.select(columns).rows()
    host = _widths([(path, parent, width) for path, parent, _, width, _ in rows])
    device = _widths([(path, parent, width) for path, parent, _, _, width in rows])
    free: dict[str | None, tuple[int, float, float]] = {None: (0, 0.0, 0.0)}
    bars: list[tuple[str, str | None, str, int, float, float, float, float]] = []
    for path, parent, name, _, _ in rows:
        depth, host_left, device_left = free[parent]
        free[path] = (depth + 1, host_left, device_left)
        bars.append((path, parent, name, depth, host_left, host[path], device_left, device[path]))
        free[parent] = (depth, host_left + host[path], device_left + device[path])
    frame = pl.DataFrame(bars, schema=FLAME.polars_schema(), orient="row")
    return Table(FLAME, frame)


def _widths(rows: list[tuple[str, str | None, float]]) -> dict[str, float]:
    """Per path the larger of its own width and the sum of its children's widths."""
    inside: dict[str | None, float] = {}
    widths: dict[str, float] = {}
    for path, parent, width in reversed(rows):
        widths[path] = max(width, inside.get(path, 0.0))
        inside[parent] = inside.get(parent, 0.0) + widths[path]
    return widths
