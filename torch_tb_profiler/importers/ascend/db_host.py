"""The host side of a database: operators, Python, the task queue and CANN's calls."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.importers.ascend import texts as written
from torch_tb_profiler.importers.ascend.db_parts import Rows, Texts, Tracks
from torch_tb_profiler.importers.ascend.settle import PUT, TAKE
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, TABLE_COLUMNS, ColumnArrays, Int32, Int64, Track

API, CALLS = "PYTORCH_API", "CANN_API"
OPERATOR, QUEUE, FRAME, MARK = 50001, 50002, 50003, 50004
CATEGORIES = {
    OPERATOR: (Category.OPERATOR, "cpu_op"),
    QUEUE: (Category.HOST_OTHER, PUT),
    FRAME: (Category.PYTHON_FUNCTION, "python_function"),
    MARK: (Category.ANNOTATION, "user_annotation"),
}
OTHER = (Category.HOST_OTHER, None)
LEVELS = {5000: "Runtime@", 5500: "Hccl@", 10000: "Node@", 15000: "Model@", 20000: "AscendCL@"}
"""What text files write before the names of CANN's calls, by their level."""

ENQUEUE = "Enqueue"
WORD = re.compile("[A-Za-z]")
MODULE = "nn.Module: "
THREAD_BITS, THREAD = 32, (1 << 32) - 1


@dataclass(slots=True)
class HostRows:
    """The rows of ``PYTORCH_API`` and what they say beside their times.

    Attributes:
        rows: The slices; their ``connection`` is an id of ``CONNECTION_IDS``.
        is_take: Which of them take an entry off the queue.
        is_put: Which of them put one there.
        columns: Other columns of the table, as they are stored.
        frames_left_out: Python frames that nobody wanted.
    """

    rows: Rows
    is_put: np.ndarray
    is_take: np.ndarray
    columns: dict[str, Int64]
    frames_left_out: int = 0


def host_rows(
    database: Database, texts: Texts, tracks: Tracks, *, python_frames: bool = True
) -> HostRows:
    """Operators, entries of the queue, Python frames where they are wanted, and marks, in the order
    of the table."""
    wanted = (
        "startNs", "endNs", "globalTid", "connectionId", "name", "sequenceNumber", "fwdThreadId",
        "inputDtypes", "inputShapes", "callchainId", "type",
    )  # fmt: skip
    stored = usable(database.ints(API, wanted))
    left_out = 0
    if not python_frames:
        kept = stored["type"] != FRAME
        left_out = int((~kept).sum())
        stored = {key: values[kept] for key, values in stored.items()}
    kind, name = stored["type"], texts.codes(stored["name"])
    is_module, starts_put = _names(texts, name)
    category = np.full(len(kind), OTHER[0], np.int8)
    word = np.full(len(kind), -1, np.int32)
    for number, (of_kind, text) in CATEGORIES.items():
        category[kind == number] = of_kind
        word[kind == number] = texts.strings.code(text)
    is_queue = kind == QUEUE
    word[is_queue & ~starts_put] = texts.strings.code(TAKE)
    category[(kind == FRAME) & is_module] = Category.MODULE
    rows = Rows(
        category,
        name,
        threads(stored["globalTid"], tracks),
        stored["startNs"],
        stored["endNs"],
        stored["connectionId"],
        word,
    )
    return HostRows(rows, is_queue & starts_put, is_queue & ~starts_put, stored, left_out)


def _names(texts: Texts, name: Int32) -> tuple[np.ndarray, np.ndarray]:
    """Per name whether it is a module's, and whether it is that of what puts work on the queue."""
    distinct, place = np.unique(name, return_inverse=True)
    shown = [texts.strings.texts[code] if code >= 0 else "" for code in distinct.tolist()]
    is_module = np.array([each.startswith(MODULE) for each in shown], np.bool_)
    is_put = np.array([each.startswith(ENQUEUE) for each in shown], np.bool_)
    if not len(distinct):
        return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
    return is_module[place], is_put[place]


def call_rows(database: Database, texts: Texts, tracks: Tracks) -> Rows:
    """CANN's calls, called as text files call them."""
    wanted = ("startNs", "endNs", "type", "globalTid", "connectionId", "name")
    stored = usable(database.ints(CALLS, wanted))
    count = len(stored["startNs"])
    return Rows(
        np.full(count, Category.RUNTIME, np.int8),
        texts.prefixed(stored["name"], stored["type"], LEVELS),
        threads(stored["globalTid"], tracks),
        stored["startNs"],
        stored["endNs"],
        stored["connectionId"],
        np.full(count, -1, np.int32),
    )


def usable(stored: dict[str, Int64]) -> dict[str, Int64]:
    """The rows that have a time."""
    kept = (stored["startNs"] != ABSENT) & (stored["endNs"] != ABSENT)
    return {name: values[kept] for name, values in stored.items()}


def threads(global_tid: Int64, tracks: Tracks) -> Int32:
    """The tracks of threads, whose numbers hold those of their processes."""
    distinct, place = np.unique(global_tid, return_inverse=True)
    numbers = [
        tracks.number(
            Track(
                pid=str(each >> THREAD_BITS),
                tid=str(each & THREAD),
                process_name="Python",
                process_label="CPU",
                thread_name=f"Thread {each & THREAD}",
            )
        )
        for each in distinct.tolist()
    ]
    return np.array([*numbers, -1], np.int32)[place]


def operator_table(database: Database, host: HostRows, texts: Texts) -> ColumnArrays:
    """The arguments of operators; their slices are the first of the trace."""
    stored = host.columns
    chosen = np.flatnonzero(stored["type"] == OPERATOR)
    strings = texts.strings
    shape, dtype = (texts.codes(stored[name][chosen]) for name in ("inputShapes", "inputDtypes"))
    if _are_types(texts, shape) and not _are_types(texts, dtype):
        shape, dtype = dtype, shape
    none = np.full(len(chosen), -1, np.int32)
    return {
        "slice": chosen.astype(np.int64),
        "input_shape_code": strings.rewritten(shape, written.shapes),
        "input_type_code": strings.rewritten(dtype, written.types),
        "concrete_inputs_code": none,
        "call_stack_code": _stacks(database, stored["callchainId"][chosen], texts),
        "module_hierarchy_code": none.copy(),
        "sequence_number": stored["sequenceNumber"][chosen],
        "forward_thread": stored["fwdThreadId"][chosen],
        "record_function_id": np.full(len(chosen), ABSENT, np.int64),
    }


def _are_types(texts: Texts, codes: Int32) -> bool:
    """Whether texts hold words: torch_npu of 2024 stored types as shapes, and shapes as types."""
    known = (texts.strings.texts[code] for code in np.unique(codes).tolist() if code >= 0)
    return any(WORD.search(text) for text in known)


def _stacks(database: Database, chains: Int64, texts: Texts) -> Int32:
    """Frames of chains joined, innermost first."""
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
    asked = pl.DataFrame({"id": chains}).join(by_id, on="id", how="left", maintain_order="left")
    found: Int32 = asked["code"].fill_null(-1).to_numpy()
    return found


def python_table(host: HostRows) -> ColumnArrays:
    """The frames: modules are numbered by their names, of which each has one."""
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
