"""A flame graph laid out: where the bar of each row of a tree begins and how wide it is."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.schema import Column, Table, TableSpec

_BAR_TYPES = (*[pl.String] * 3, *[pl.Int64] * 5)
"""Types of the columns while the bars are laid out, in ns."""


def flame_columns(what: str) -> tuple[Column, ...]:
    """The columns of a flame graph of nodes that are ``what``, ``"module"``."""
    return (
        Column("path", "Path", "string", None, f"Path of the {what}."),
        Column("parent", "Parent", "string", None, "Path of the parent bar."),
        Column("name", what.capitalize(), "string", None, f"Name of the {what}."),
        Column("depth", "Depth", "integer", "count", "0 for roots."),
        *(
            Column(
                f"{side}_{edge}_us",
                f"{side.capitalize()} {title}",
                "number",
                "us",
                text,
                family=side,
            )
            for side in ("host", "device")
            for edge, title, text in (
                ("left", "Left", f"Left edge of the bar of {side} time."),
                ("width", "Width", f"{side.capitalize()} total of the {what}."),
            )
        ),
    )


def flame_table(spec: TableSpec, nodes: pl.DataFrame) -> Table:
    """Lay out the rows of a tree: siblings next to each other, the first at its parent's left edge.

    A bar is at least as wide as the bars above it together, also if a selection contains nested
    calls but not the call around them.

    Args:
        spec: ``path, parent, name, depth`` and left edge and width of host and device bars in µs.
        nodes: ``path, parent, name, host_total_ns, device_total_ns``; parents before children.
    """
    rows = nodes.select("path", "parent", "name").rows()
    host, device = (_widths_ns(nodes, key) for key in ("host_total_ns", "device_total_ns"))
    free: dict[str | None, tuple[int, int, int]] = {None: (0, 0, 0)}
    bars: list[tuple[str, str | None, str, int, int, int, int, int]] = []
    for path, parent, name in rows:
        depth, host_left, device_left = free[parent]
        free[path] = (depth + 1, host_left, device_left)
        bars.append((path, parent, name, depth, host_left, host[path], device_left, device[path]))
        free[parent] = (depth, host_left + host[path], device_left + device[path])
    schema = spec.polars_schema()
    frame = pl.DataFrame(bars, schema=dict(zip(schema, _BAR_TYPES, strict=True)), orient="row")
    edges = [column.key for column in spec.columns if column.unit == "us"]
    return Table(spec, frame.with_columns(microseconds(frame[key]) for key in edges))


def _widths_ns(nodes: pl.DataFrame, key: str) -> dict[str, int]:
    """Per path the larger of its own width and the sum of its children's widths."""
    rows = list(zip(nodes["path"], nodes["parent"], nodes[key], strict=True))
    inside: dict[str | None, int] = {}
    widths: dict[str, int] = {}
    for path, parent, width in reversed(rows):
        widths[path] = max(width, inside.get(path, 0))
        inside[parent] = inside.get(parent, 0) + widths[path]
    return widths
