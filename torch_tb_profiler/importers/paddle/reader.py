"""Reads a recording of Paddle's profiler, from either of its two exports."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from torch_tb_profiler.importers.argument_names import ArgumentListing, ListingLimits
from torch_tb_profiler.importers.event_query import EventArguments, EventQuery, SearchLimits
from torch_tb_profiler.importers.kineto import find_event
from torch_tb_profiler.importers.kineto import list_arguments as kineto_list
from torch_tb_profiler.importers.kineto import reader as kineto
from torch_tb_profiler.importers.paddle import is_protobuf
from torch_tb_profiler.importers.paddle.chrome import DIALECT
from torch_tb_profiler.importers.paddle.event_types import COMMUNICATION
from torch_tb_profiler.importers.paddle.held_memory import take_held_memory
from torch_tb_profiler.importers.paddle.missing_data import not_recorded
from torch_tb_profiler.importers.paddle.recorded_peaks import recorded_peaks
from torch_tb_profiler.importers.paddle.trees import read_trees
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.trace.columns import ColumnArrays, EventColumns, absent_table

FRAMEWORK = "Paddle"


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a recording.

    Raises:
        TraceFormatError: the file has no events.
        StorageError, OSError: it cannot be read.
    """
    assert isinstance(source, Source), "recordings of Paddle are files"
    if is_protobuf(source.head):
        columns = read_trees(source, reading)
    else:
        columns = kineto.read(source, reading, DIALECT)
    columns.tables["collective"] = _collective_table(columns)
    take_held_memory(columns)
    columns.side += recorded_peaks(columns.tables["held_memory"], source.name)
    columns.info = msgspec.structs.replace(
        columns.info, framework=FRAMEWORK, not_recorded=not_recorded(columns)
    )
    return columns


def find(source: AnySource, query: EventQuery, limits: SearchLimits) -> EventArguments | None:
    """Read the arguments of one event of a JSON file; None for protobuf files.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    assert isinstance(source, Source), "recordings of Paddle are files"
    if is_protobuf(source.head):
        return None
    return find_event.find(source, query, limits, DIALECT)


def list_arguments(
    source: AnySource, is_secret: Callable[[str, str], bool], limits: ListingLimits
) -> ArgumentListing | None:
    """The arguments of the events of a JSON file; None for protobuf files.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    assert isinstance(source, Source), "recordings of Paddle are files"
    if is_protobuf(source.head):
        return None
    return kineto_list.list_arguments(source, is_secret, limits)


def _collective_table(columns: EventColumns) -> ColumnArrays:
    """The collective table: events of the communication type, regardless of their names."""
    slices = columns.tables["slices"]
    codes = [code for code, text in enumerate(columns.strings) if text == COMMUNICATION]
    rows = np.flatnonzero(np.isin(slices["raw_category_code"], codes))
    table = absent_table("collective", rows.size)
    return table | {"slice": rows, "collective_code": slices["name_code"][rows]}
