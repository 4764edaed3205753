"""Full names of the operators of a timeline: ``Default/network-Net/conv1-Conv2d/Conv2D-op7`` of the
event ``Conv2D-op7``.

Format: docs/format-mindspore.md#timeline.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.dialect import Dialect, SliceArguments
from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.structs import ArgumentField, ArgumentFields, decoder
from torch_tb_profiler.importers.kineto.values import Interner, text_codes
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, EventColumns, Int64
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

FULL_NAMES = "mindspore_full_names"
"""The table of this dialect: slices and the code of their full name."""

OPERATOR_PATHS = "operator_paths"
TIMELINE = "timeline"
"""The source of the table."""

_FIELDS: ArgumentFields = {
    "full_name": ArgumentField("fullname", None),
    "full_name_of_gpu": ArgumentField("op_full_name", None),
}
_ARGS = decoder("MindSporeSlice", _FIELDS)


def _read_slices(
    _kind: EventKind,
    raws: list[msgspec.Raw],
    rows: Int64,
    strings: Interner,
    quality: QualityReport,
) -> SliceArguments:
    args = decode_args(_ARGS, raws, quality)
    code = text_codes([arg.full_name or arg.full_name_of_gpu for arg in args], strings)
    named = code >= 0
    table: ColumnArrays = {"slice": rows[named], "full_name_code": code[named]}
    return SliceArguments(np.full(len(rows), ABSENT, np.int64), {FULL_NAMES: table})


def _finalize(columns: EventColumns, own_tables: Mapping[str, ColumnArrays]) -> None:
    table = own_tables.get(FULL_NAMES)
    if table is not None:
        columns.side = (*columns.side, _operator_paths(columns, table))


def _operator_paths(columns: EventColumns, table: ColumnArrays) -> SideTable:
    """Name and full name of the operators; a name of several (a kernel of a GPU) is left out."""
    names = columns.tables["slices"]["name_code"][table["slice"]]
    pairs = np.unique(np.stack((names, table["full_name_code"])), axis=1)
    of_name, full_name = pairs
    is_one = np.bincount(of_name, minlength=len(columns.strings))[of_name] == 1
    columns_of_table = {
        "name": [columns.strings[code] for code in of_name[is_one].tolist()],
        "path": [columns.strings[code] for code in full_name[is_one].tolist()],
    }
    frame = pl.DataFrame(columns_of_table, schema=SIDE_SCHEMAS[OPERATOR_PATHS])
    return SideTable(OPERATOR_PATHS, TIMELINE, frame)


DIALECT = Dialect(
    None,
    lambda _header, _tracks: False,
    read_slices=_read_slices,
    extra_tables=(FULL_NAMES,),
    finalize=_finalize,
)
"""MindSpore's timelines: no argument of theirs is one of Kineto's."""
