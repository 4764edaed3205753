"""Which group a collective was of, and how large that is, by the tables of its communication."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.side_tables import SideTable


def describe_groups(
    columns: EventColumns,
    collectives: SideTable | None,
    links: SideTable | None,
    strings: Strings,
) -> None:
    """Give collectives the group that the recorded ones of their names have, and its size: the
    ranks between which its links lead. In place."""
    if collectives is None or not len(columns.tables["collective"]["slice"]):
        return
    table = columns.tables["collective"]
    names = columns.tables["slices"]["name_code"][table["slice"]]
    groups = dict(collectives.frame.select("name", "group").drop_nulls().rows())
    sizes = {} if links is None else _sizes(links.frame)
    for code in np.unique(names).tolist():
        group = groups.get(columns.strings[code])
        if group is None:
            continue
        rows = names == code
        table["group_code"][rows] = strings.code(group)
        if group in sizes:
            table["group_size"][rows] = sizes[group]


def _sizes(links: pl.DataFrame) -> dict[str, int]:
    ends = pl.concat(
        [
            links.select("group", rank=end).drop_nulls()
            for end in ("source_rank", "destination_rank")
        ]
    )
    return dict(ends.group_by("group").agg(pl.col("rank").n_unique()).rows())
