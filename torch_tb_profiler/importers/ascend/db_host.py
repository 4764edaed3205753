"""The host side of a database: operators, Python frames, the task queue and CANN calls."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.ascend import arguments
from torch_tb_profiler.importers.ascend.db_rows import DatabaseTexts, SliceRows, TrackNumbers
from torch_tb_profiler.importers.ascend.timeline import DEQUEUE_LABEL, ENQUEUE_LABEL
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, TABLE_COLUMNS, ColumnArrays, Int32, Int64, Track

API, CALLS = "PYTORCH_API", "CANN_API"
OPERATOR, QUEUE, FRAME, MARK = 50001, 50002, 50003, 50004
CATEGORIES = {
    OPERATOR: (Category.OPERATOR, "cpu_op"),
    QUEUE: (Category.HOST_OTHER, ENQUEUE_LABEL),
    FRAME: (Category.PYTHON_FUNCTION, "python_function"),
    MARK: (Category.ANNOTATION, "user_annotation"),
}
OTHER = (Category.HOST_OTHER, None)
LEVEL_PREFIXES = {
    5000: "Runtime@",
    5500: "Hccl@",
    10000: "Node@",
    15000: "Model@",
    20000: "AscendCL@",
}
"""Level → the prefix of the names of CANN calls in text files."""

ENQUEUE_PREFIX = "Enqueue"
LETTER = re.compile("[A-Za-z]")
MODULE_PREFIX = "nn.Module: "
THREAD_BITS, THREAD = 32, (1 << 32) - 1


class HostRows(Struct):
    """The rows of ``PYTORCH_API``.

    Attributes:
        rows: The slices; their ``connection`` is an id of ``CONNECTION_IDS``.
        is_enqueue: Whether a row puts an entry on the task queue.
        is_dequeue: Whether a row takes an entry off the task queue.
        columns: The other columns of the table, as stored.
        frames_left_out: Number of Python frames that were not read, as the options asked.
    """

    rows: SliceRows
    is_enqueue: np.ndarray
    is_dequeue: np.ndarray
    columns: dict[str, Int64]
    frames_left_out: int = 0


def read_host_rows(
    database: Database, texts: DatabaseTexts, tracks: TrackNumbers, *, python_frames: bool = True
) -> HostRows:
    """Operators, queue entries, Python frames (unless ``python_frames`` is false) and marks, in
    table order."""
    wanted = (
        "startNs", "endNs", "globalTid", "connectionId", "name", "sequenceNumber", "fwdThreadId",
        "inputDtypes", "inputShapes", "callchainId", "type",
    )  # fmt: skip
    stored = with_times(database.ints(API, wanted))
    left_out = 0
    if not python_frames:
        is_selected = stored["type"] != FRAME
        left_out = int((~is_selected).sum())
        stored = {key: values[is_selected] for key, values in stored.items()}
    kind, name = stored["type"], texts.codes(stored["name"])
    is_module, is_enqueue_name = _classify_names(texts, name)
    category = np.full(len(kind), OTHER[0], np.int8)
    label_code = np.full(len(kind), -1, np.int32)
    for number, (kind_category, label) in CATEGORIES.items():
        category[kind == number] = kind_category
        label_code[kind == number] = texts.strings.code(label)
    is_queue = kind == QUEUE
    label_code[is_queue & ~is_enqueue_name] = texts.strings.code(DEQUEUE_LABEL)
    category[(kind == FRAME) & is_module] = Category.MODULE
    rows = SliceRows(
        category,
        name,
        thread_tracks(stored["globalTid"], tracks),
        stored["startNs"],
        stored["endNs"],
        stored["connectionId"],
        label_code,
    )
    return HostRows(rows, is_queue & is_enqueue_name, is_queue & ~is_enqueue_name, stored, left_out)


def _classify_names(texts: DatabaseTexts, name: Int32) -> tuple[np.ndarray, np.ndarray]:
    """Per name whether it is that of a module, and whether it is that of an enqueueing range."""
    distinct, inverse = np.unique(name, return_inverse=True)
    names = [texts.strings.texts[code] if code >= 0 else "" for code in distinct.tolist()]
    is_module = np.array([each.startswith(MODULE_PREFIX) for each in names], np.bool_)
    is_enqueue = np.array([each.startswith(ENQUEUE_PREFIX) for each in names], np.bool_)
    if not len(distinct):
        return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
    return is_module[inverse], is_enqueue[inverse]


def read_calls(database: Database, texts: DatabaseTexts, tracks: TrackNumbers) -> SliceRows:
    """CANN calls, with the names that text files give them."""
    wanted = ("startNs", "endNs", "type", "globalTid", "connectionId", "name")
    stored = with_times(database.ints(CALLS, wanted))
    count = len(stored["startNs"])
    return SliceRows(
        np.full(count, Category.RUNTIME, np.int8),
        texts.prefixed(stored["name"], stored["type"], LEVEL_PREFIXES),
        thread_tracks(stored["globalTid"], tracks),
        stored["startNs"],
        stored["endNs"],
        stored["connectionId"],
        np.full(count, -1, np.int32),
    )


def with_times(stored: dict[str, Int64]) -> dict[str, Int64]:
    """The rows that have a start and an end."""
    has_times = (stored["startNs"] != ABSENT) & (stored["endNs"] != ABSENT)
    return {name: values[has_times] for name, values in stored.items()}


def thread_tracks(global_tid: Int64, tracks: TrackNumbers) -> Int32:
    """The track of each global thread id, whose high bits are the process id."""
    distinct, inverse = np.unique(global_tid, return_inverse=True)
    numbers = [
        tracks.number(
            Track(
                pid=str(thread_id >> THREAD_BITS),
                tid=str(thread_id & THREAD),
                process_name="Python",
                process_label="CPU",
                thread_name=f"Thread {thread_id & THREAD}",
            )
        )
        for thread_id in distinct.tolist()
    ]
    return np.array([*numbers, -1], np.int32)[inverse]


def operator_table(database: Database, host: HostRows, texts: DatabaseTexts) -> ColumnArrays:
    """The operator table; the host rows are the first slices of the trace."""
    stored = host.columns
    chosen = np.flatnonzero(stored["type"] == OPERATOR)
    strings = texts.strings
    shape, dtype = (texts.codes(stored[name][chosen]) for name in ("inputShapes", "inputDtypes"))
    if _are_types(texts, shape) and not _are_types(texts, dtype):
        shape, dtype = dtype, shape
    none = np.full(len(chosen), -1, np.int32)
    return {
        "slice": chosen.astype(np.int64),
        "input_shape_code": strings.rewritten(shape, arguments.shapes),
        "input_type_code": strings.rewritten(dtype, arguments.types),
        "concrete_inputs_code": none,
        "call_stack_code": _stacks(database, stored["callchainId"][chosen], texts),
        "module_hierarchy_code": none.copy(),
        "sequence_number": stored["sequenceNumber"][chosen],
        "forward_thread": stored["fwdThreadId"][chosen],
        "record_function_id": np.full(len(chosen), ABSENT, np.int64),
    }


def _are_types(texts: DatabaseTexts, codes: Int32) -> bool:
    """Whether texts contain letters: torch_npu of 2024 swapped the columns of shapes and types."""
    known = (texts.strings.texts[code] for code in np.unique(codes).tolist() if code >= 0)
    return any(LETTER.search(text) for text in known)


def _stacks(database: Database, chains: Int64, texts: DatabaseTexts) -> Int32:
    """Call stack per call chain: its frames joined by ``;``, innermost first."""
    stored = database.ints("PYTORCH_CALLCHAINS", ("id", "stack", "stackDepth"))
    frame = pl.DataFrame(stored).filter(pl.col("id").is_in(np.unique(chains).tolist()))
    if frame.is_empty():
        return np.full(len(chains), -1, np.int32)
    known = np.unique(frame["stack"].to_numpy())
    lines = pl.DataFrame({"stack": known, "line": pl.Series(texts.texts(known), dtype=pl.String)})
    stacks = (
        frame.join(lines, on="stack", how="left", maintain_order="left")
        .sort("id", "stackDepth")
        .group_by("id", maintain_order=True)
        .agg(pl.col("line").drop_nulls().str.join(";"))
    )
    codes = texts.strings.codes(stacks["line"].to_list())
    by_id = stacks.select("id").with_columns(code=pl.Series(codes))
    matched = pl.DataFrame({"id": chains}).join(by_id, on="id", how="left", maintain_order="left")
    code: Int32 = matched["code"].fill_null(-1).to_numpy()
    return code


def python_table(host: HostRows) -> ColumnArrays:
    """The python table; the id of a module is the code of its name, which is unique."""
    rows = np.flatnonzero(np.isin(host.rows.category, [Category.MODULE, Category.PYTHON_FUNCTION]))
    is_module = host.rows.category[rows] == Category.MODULE
    absent = np.full(len(rows), ABSENT, np.int64)
    table: ColumnArrays = {
        "slice": rows.astype(np.int64),
        "python_id": absent,
        "python_parent_id": absent.copy(),
        "module_id": np.where(is_module, host.rows.name_code[rows].astype(np.int64), ABSENT),
    }
    assert table.keys() == TABLE_COLUMNS["python"].keys()
    return table
