"""Tables with times of host and device as two narrow ones, that 100 cells hold."""

from __future__ import annotations

from msgspec.structs import replace

from torch_tb_profiler.views.schema import Column, Table, View

HOST, DEVICE = "cpu_", "gpu_"
TITLES = {HOST: "CPU", DEVICE: "GPU"}


def on_two_sides(view: View) -> View:
    """``view`` with every two-sided table that has times of both sides as two: what its rows are
    and how often stands in both, everything behind the times of the device in the second."""
    tables: dict[str, Table] = {}
    for name, table in view.tables.items():
        if table.spec.two_sided and _has(table, HOST) and _has(table, DEVICE):
            for side in (HOST, DEVICE):
                tables[f"{name}_{TITLES[side].lower()}"] = _side(table, side)
        else:
            tables[name] = table
    return replace(view, tables=tables)


def _has(table: Table, side: str) -> bool:
    """Whether the table has a time of that side that is known."""
    frame = table.frame
    keys = [column.key for column in table.spec.columns if column.key.startswith(side)]
    return any(frame[key].null_count() < frame.height for key in keys)


def _side(table: Table, side: str) -> Table:
    columns = table.spec.columns
    last = max(at for at, column in enumerate(columns) if column.key.startswith(DEVICE))
    other = HOST if side == DEVICE else DEVICE

    def is_shown(at: int, column: Column) -> bool:
        if column.key.startswith(other):
            return False
        return at <= last or side == DEVICE or column.hidden

    shown = tuple(column for at, column in enumerate(columns) if is_shown(at, column))
    # The views have called the device by its name: a GPU, an NPU.
    first = next(column.title.split()[0] for column in columns if column.key.startswith(side))
    title = first if first.endswith("PU") else TITLES[side]
    spec = replace(table.spec, title=f"{table.spec.title}, {title}", columns=shown)
    return replace(table, spec=spec, frame=table.frame.select(column.key for column in shown))
