"""The counters in a range, as a table: where they begin and end, lowest, highest, and the mean over
the time in which their values are known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.timeline.curves import MeanCurve
from torch_tb_profiler.views.timeline.index import Timeline

_UNITS = {"pct": "%", "bytes": "B", "gb_per_s": "GB/s", "count": ""}
_UNKNOWN = (
    "The counter has no value in this range, or is itself a share of time, as utilization and "
    "est. SM efficiency are."
)

COLUMNS = (
    Column("name", "Counter", "string", None, "Title of the counter's track."),
    Column("group", "Of", "string", None, "The process or device it belongs to."),
    Column("unit", "Unit", "string", None, "Unit of the values of this row."),
    Column("mean", "Mean", "number", None, "Mean over the time in which the value is known."),
    Column(
        "lowest", "Min", "number", None, "Lowest value, that at the start of the range included."
    ),
    Column("highest", "Max", "number", None, "Highest value, that at the start included."),
    Column("last", "Last", "number", None, "Value at the end of the range."),
)

SPEC = TableSpec(
    "counters",
    "Counters",
    "One row per counter track that was chosen.",
    COLUMNS,
    when_empty="None of these tracks is a counter.",
)


def range_counters(timeline: Timeline, start_ns: int, end_ns: int, numbers: Iterable[int]) -> Table:
    """The counter tracks ``numbers`` in ``[start_ns, end_ns)``, from the origin."""
    titles = {group.key: group.title for group in timeline.groups}
    edges = np.array([start_ns, end_ns], np.int64)
    rows = []
    for number in numbers:
        counter = timeline.counters[number]
        points = counter.curve.points(edges)
        is_share = isinstance(counter.curve, MeanCurve)
        unit = counter.track.unit_label or _UNITS.get(counter.track.unit or "", "")
        values = [
            counter.curve.mean(start_ns, end_ns),
            *(
                float(column[0]) if np.isfinite(column[:1]).any() and not is_share else None
                for column in (points.lowest, points.highest, points.last)
            ),
        ]
        group = titles.get(counter.track.group, "")
        rows.append((counter.track.title, group, unit, *values))
    frame = pl.DataFrame(rows, schema=SPEC.polars_schema(), orient="row")
    spoken = dict.fromkeys(("mean", "lowest", "highest", "last"), _UNKNOWN)
    return Table(SPEC, frame, needed(frame, spoken))
