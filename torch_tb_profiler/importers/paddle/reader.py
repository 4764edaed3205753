"""Reads one recording of Paddle's profiler, whichever of its two exports it is."""

from __future__ import annotations

import msgspec
import numpy as np

from torch_tb_profiler.importers.kineto import find_event
from torch_tb_profiler.importers.kineto import reader as kineto
from torch_tb_profiler.importers.paddle import is_protobuf
from torch_tb_profiler.importers.paddle.chrome import DIALECT
from torch_tb_profiler.importers.paddle.reasons import not_recorded
from torch_tb_profiler.importers.paddle.trees import read_trees
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.sought import FoundArguments, SearchLimits, SoughtEvent
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.trace.columns import TABLE_COLUMNS, EventColumns

FRAMEWORK = "Paddle"
HOST, PERCENT = "host", "%"


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a recording.

    Raises:
        TraceFormatError: the file holds none.
        StorageError, OSError: it cannot be read.
    """
    assert isinstance(source, Source), "no folder is a recording of Paddle's"
    if is_protobuf(source.head):
        columns = read_trees(source, reading)
    else:
        columns = kineto.read(source, reading, DIALECT)
    _add_samples(columns)
    columns.info = msgspec.structs.replace(
        columns.info, framework=FRAMEWORK, not_recorded=not_recorded(columns)
    )
    return columns


def find(source: AnySource, sought: SoughtEvent, limits: SearchLimits) -> FoundArguments | None:
    """The arguments of one event of a JSON file; None for protobuf, where they are in no text.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    assert isinstance(source, Source), "no folder is a recording of Paddle's"
    if is_protobuf(source.head):
        return None
    return find_event.find(source, sought, limits, DIALECT)


def _add_samples(columns: EventColumns) -> None:
    """How much the host's cores were used: one number for the whole recording each, which stands
    at its beginning and its end."""
    info, slices = columns.info, columns.tables["slices"]
    used = [
        (metric, pct)
        for metric, pct in (
            ("CPU utilization of the process", info.process_cpu_pct),
            ("CPU utilization", info.system_cpu_pct),
        )
        if pct is not None
    ]
    if not used or not slices["start_ns"].size:
        return
    ends = (int(slices["start_ns"].min()), int((slices["start_ns"] + slices["dur_ns"]).max()))
    rows = [(metric, time_ns, pct) for metric, pct in used for time_ns in ends]
    codes = {text: len(columns.strings) + n for n, text in enumerate(dict.fromkeys(
        (HOST, PERCENT, *(metric for metric, _ in used))
    ))}  # fmt: skip
    columns.strings.extend(codes)
    values = {
        "source_code": [codes[HOST] for _ in rows],
        "metric_code": [codes[metric] for metric, _, _ in rows],
        "unit_code": [codes[PERCENT] for _ in rows],
        "time_ns": [time_ns for _, time_ns, _ in rows],
        "value": [pct for _, _, pct in rows],
    }
    columns.tables["samples"] = {
        name: np.array(values[name], dtype) for name, dtype in TABLE_COLUMNS["samples"].items()
    }
