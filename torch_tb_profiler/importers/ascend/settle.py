"""What the rows of a timeline of Ascend's tools mean together, once all of them are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import numpy as np

from torch_tb_profiler.importers.ascend import texts
from torch_tb_profiler.importers.ascend.chain import (
    NONE,
    Marked,
    Queue,
    Slices,
    follow,
    starting_at,
)
from torch_tb_profiler.importers.ascend.collectives import collectives_of_rows
from torch_tb_profiler.importers.ascend.counters import samples_of_counters
from torch_tb_profiler.importers.ascend.overlap import check_overlap
from torch_tb_profiler.importers.ascend.recorders import (
    FRAMEWORKS,
    MSPROF,
    devices_that_worked,
    recorder_of,
)
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.kineto.kinds import TO_DEVICE
from torch_tb_profiler.importers.kineto.tracks import join_rows
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    EventColumns,
    Int64,
    Track,
    empty_table,
)
from torch_tb_profiler.trace.info import NotRecorded

TASKS = "tasks"
PYTHON, CANN = "Python", "CANN"
FRAMEWORK_PROCESSES = (PYTHON, "MindSpore", "CPU OP")
LAYER_BITS = 10
"""A process of Ascend's tools is a layer of a real one, whose number stands above these bits;
Python's alone is the real one."""

PUT, TAKE = "enqueue", "dequeue"
NO_OPERATORS = "msprof records the device and CANN, not the operators of a framework"


def settle(columns: EventColumns, others: Mapping[str, ColumnArrays]) -> None:
    """Join rows of one thread, link the device with the host, and say things as others say them.

    Args:
        columns: Everything that was read; changed in place.
        others: The arguments of tasks and calls, ``"tasks"``.
    """
    strings = Strings(columns.strings)
    tasks = others.get(TASKS, {})
    _join_threads(columns)
    _link(columns, tasks)
    _rewrite_arguments(columns, strings)
    if tasks:
        columns.tables["collective"] = collectives_of_rows(columns, tasks, strings)
    samples_of_counters(columns, strings)
    check_overlap(columns)
    recorder = recorder_of(columns)
    lacks = (NotRecorded("operators", NO_OPERATORS),) if recorder == MSPROF else ()
    columns.format = "ascend"
    columns.info = msgspec.structs.replace(
        columns.info,
        framework=FRAMEWORKS.get(recorder),
        recorder=recorder,
        devices=devices_that_worked(columns),
        not_recorded=lacks,
    )


def real_process(track: Track) -> str:
    """The number of the process that a row of Ascend's tools is a layer of."""
    return track.pid if track.process_name == PYTHON else str(int(track.pid) >> LAYER_BITS)


def _join_threads(columns: EventColumns) -> None:
    """CANN's rows of a thread and the framework's are one: what an operator called lies in it."""
    hosts = {
        number: track
        for track in reversed(columns.tracks)
        if track.process_name in FRAMEWORK_PROCESSES and track.pid.isdigit()
        for number in {track.pid, real_process(track)}
    }

    def thread(track: Track) -> Track:
        if track.process_name != CANN or not track.pid.isdigit():
            return track
        host = hosts.get(real_process(track))
        return track if host is None else replace(host, tid=track.tid, thread_name=None)

    if hosts:
        names = {(track.pid, track.tid): track.thread_name for track in columns.tracks}
        columns.tracks = join_rows(columns.tables, columns.tracks, thread)
        for track in columns.tracks:
            track.thread_name = names.get((track.pid, track.tid), f"Thread {track.tid}")


def _link(columns: EventColumns, tasks: ColumnArrays) -> None:
    table = columns.tables["slices"]
    slices = Slices(table["track"], table["start_ns"], table["dur_ns"])
    category = table["category"]
    work = np.flatnonzero(np.isin(category, [int(each) for each in DEVICE_WORK_CATEGORIES]))
    arrow = _arrows(columns, slices, work)
    connection = _of_slices(tasks, "connection", len(category))
    entry = _of_slices(tasks, "queue_entry", len(category))
    calls = np.flatnonzero((category == Category.RUNTIME) & (connection != ABSENT))
    words = table["raw_category_code"]
    puts, takes = (
        np.flatnonzero((words == columns.strings.index(word)) & (entry != ABSENT))
        if word in columns.strings
        else np.empty(0, np.int64)
        for word in (PUT, TAKE)
    )
    chain = follow(
        slices,
        Marked(work, connection[work]),
        Marked(calls, connection[calls]),
        Queue(Marked(puts, entry[puts]), Marked(takes, entry[takes])),
        arrow,
    )
    columns.launch, columns.owner = chain.launch, chain.owner
    columns.quality.add("ascend_link_differs", chain.differing)


def _of_slices(tasks: ColumnArrays, key: str, count: int) -> Int64:
    values = np.full(count, ABSENT, np.int64)
    if tasks:
        values[tasks["slice"]] = tasks[key]
    return values


def _arrows(columns: EventColumns, slices: Slices, work: Int64) -> Int64:
    """Per piece of work the operator that an arrow comes from; the arrows are taken out."""
    flows, strings = columns.tables["flows"], columns.strings
    code = strings.index(TO_DEVICE) if TO_DEVICE in strings else NONE
    is_arrow = (flows["raw_category_code"] == code) & (code >= 0)
    arrows = {name: values[is_arrow] for name, values in flows.items()}
    columns.tables["flows"] = {name: values[~is_arrow] for name, values in flows.items()}
    if not is_arrow.any():
        return np.full(len(work), NONE, np.int64)
    is_tail = arrows["is_start"] == 1
    category = columns.tables["slices"]["category"]
    operators = np.flatnonzero(category == Category.OPERATOR)
    tails = starting_at(slices, operators, arrows["track"][is_tail], arrows["time_ns"][is_tail])
    heads = starting_at(slices, work, arrows["track"][~is_tail], arrows["time_ns"][~is_tail])
    tail_of = Marked(tails, arrows["flow_id_code"][is_tail].astype(np.int64))
    arrow = np.full(len(columns.tables["slices"]["start_ns"]), NONE, np.int64)
    found = heads >= 0
    from_tail = tail_of.first_with(arrows["flow_id_code"][~is_tail].astype(np.int64))
    arrow[heads[found]] = from_tail[found]
    return arrow[work]


def _rewrite_arguments(columns: EventColumns, strings: Strings) -> None:
    """Shapes, types and stacks of operators, in the words that PyTorch's files have for them."""
    table = columns.tables["operator"]
    for column, written in (
        ("input_shape_code", texts.shapes),
        ("input_type_code", texts.types),
        ("call_stack_code", texts.stack),
    ):
        table[column] = strings.rewritten(table[column], written)
    if not len(table["slice"]):
        columns.tables["operator"] = empty_table("operator")
