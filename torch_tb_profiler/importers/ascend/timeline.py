"""Completes a timeline of Ascend's tools once all rows are read: links, arguments, collectives."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.importers.ascend import arguments
from torch_tb_profiler.importers.ascend.chain import (
    NONE,
    SlicesWithId,
    SliceTimes,
    TaskQueue,
    link_launches,
    starting_at,
)
from torch_tb_profiler.importers.ascend.collectives import collectives_from_tasks
from torch_tb_profiler.importers.ascend.counters import convert_counters
from torch_tb_profiler.importers.ascend.dialect import LAYER_BITS
from torch_tb_profiler.importers.ascend.overlap import check_overlap
from torch_tb_profiler.importers.ascend.strings import Strings
from torch_tb_profiler.importers.kineto.event_kinds import TO_DEVICE
from torch_tb_profiler.importers.kineto.tracks import merge_rows
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    EventColumns,
    Int64,
    Track,
    empty_table,
)
from torch_tb_profiler.trace.info import DeviceInfo, NotRecorded

TORCH_NPU, MINDSPORE, MSPROF = "torch_npu.profiler", "mindspore.Profiler", "msprof"
PROCESSES = {"Python": TORCH_NPU, "MindSpore": MINDSPORE, "CPU OP": MINDSPORE}
FRAMEWORKS = {TORCH_NPU: "PyTorch", MINDSPORE: "MindSpore"}

TASKS = "tasks"
PYTHON, CANN = "Python", "CANN"
FRAMEWORK_PROCESSES = (PYTHON, "MindSpore", "CPU OP")
ENQUEUE_LABEL, DEQUEUE_LABEL = "enqueue", "dequeue"
NO_OPERATORS = "msprof records the device and CANN, not the operators of a framework"


def finalize_timeline(columns: EventColumns, others: Mapping[str, ColumnArrays]) -> None:
    """Join the rows of a thread, link device work with the host, and convert arguments to PyTorch's
    form.

    Args:
        columns: All events that were read; changed in place.
        others: The arguments of tasks and calls, ``"tasks"``.
    """
    strings = Strings(columns.strings)
    tasks = others.get(TASKS, {})
    _join_threads(columns)
    _link(columns, tasks)
    _rewrite_arguments(columns, strings)
    if tasks:
        columns.tables["collective"] = collectives_from_tasks(columns, tasks, strings)
    convert_counters(columns, strings)
    check_overlap(columns)
    recorder = detect_recorder(columns)
    not_recorded = (NotRecorded("operators", NO_OPERATORS),) if recorder == MSPROF else ()
    columns.format = "ascend"
    columns.info = msgspec.structs.replace(
        columns.info,
        framework=FRAMEWORKS.get(recorder),
        recorder=recorder,
        devices=devices_that_worked(columns),
        not_recorded=not_recorded,
    )


def real_process(track: Track) -> str:
    """The number of the real process to which a row of Ascend's tools belongs; only the Python
    process has it as its own."""
    return track.pid if track.process_name == PYTHON else str(int(track.pid) >> LAYER_BITS)


def _join_threads(columns: EventColumns) -> None:
    """Merge CANN's and the framework's rows of a thread, so that calls lie inside their
    operators."""
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
        columns.tracks = merge_rows(columns.tables, columns.tracks, thread)
        for track in columns.tracks:
            track.thread_name = names.get((track.pid, track.tid), f"Thread {track.tid}")


def _link(columns: EventColumns, tasks: ColumnArrays) -> None:
    table = columns.tables["slices"]
    slices = SliceTimes(table["track"], table["start_ns"], table["dur_ns"])
    category = table["category"]
    work = np.flatnonzero(np.isin(category, [int(each) for each in DEVICE_WORK_CATEGORIES]))
    arrow = _arrows(columns, slices, work)
    connection = _values_by_slice(tasks, "connection", len(category))
    entry = _values_by_slice(tasks, "queue_entry", len(category))
    calls = np.flatnonzero((category == Category.RUNTIME) & (connection != ABSENT))
    labels = table["raw_category_code"]
    enqueues, dequeues = (
        np.flatnonzero((labels == columns.strings.index(label)) & (entry != ABSENT))
        if label in columns.strings
        else np.empty(0, np.int64)
        for label in (ENQUEUE_LABEL, DEQUEUE_LABEL)
    )
    chain = link_launches(
        slices,
        SlicesWithId(work, connection[work]),
        SlicesWithId(calls, connection[calls]),
        TaskQueue(SlicesWithId(enqueues, entry[enqueues]), SlicesWithId(dequeues, entry[dequeues])),
        arrow,
    )
    columns.launch, columns.owner = chain.launch, chain.owner
    columns.quality.add("ascend_link_differs", chain.mismatch_count)


def _values_by_slice(tasks: ColumnArrays, key: str, count: int) -> Int64:
    values = np.full(count, ABSENT, np.int64)
    if tasks:
        values[tasks["slice"]] = tasks[key]
    return values


def _arrows(columns: EventColumns, slices: SliceTimes, work: Int64) -> Int64:
    """Per piece of work the operator that its arrow comes from; the arrows are removed."""
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
    tails_by_flow = SlicesWithId(tails, arrows["flow_id_code"][is_tail].astype(np.int64))
    arrow = np.full(len(columns.tables["slices"]["start_ns"]), NONE, np.int64)
    is_known = heads >= 0
    from_tail = tails_by_flow.first_with(arrows["flow_id_code"][~is_tail].astype(np.int64))
    arrow[heads[is_known]] = from_tail[is_known]
    return arrow[work]


def _rewrite_arguments(columns: EventColumns, strings: Strings) -> None:
    """Convert shapes, types and stacks of operators to the form of PyTorch's files."""
    table = columns.tables["operator"]
    for column, rewrite in (
        ("input_shape_code", arguments.shapes),
        ("input_type_code", arguments.types),
        ("call_stack_code", arguments.stack),
    ):
        table[column] = strings.rewritten(table[column], rewrite)
    if not len(table["slice"]):
        columns.tables["operator"] = empty_table("operator")


def detect_recorder(columns: EventColumns) -> str:
    """The tool that recorded a timeline, by the process that has the framework's rows."""
    names = (PROCESSES.get(track.process_name or "") for track in columns.tracks)
    return next(filter(None, names), MSPROF)


def devices_that_worked(columns: EventColumns) -> tuple[DeviceInfo, ...]:
    """The devices that ran kernels and copies. Timelines do not name device models."""
    slices, device = columns.tables["slices"], columns.tables["device"]
    works = np.isin(slices["category"][device["slice"]], [int(c) for c in DEVICE_WORK_CATEGORIES])
    numbers = np.unique(device["device"][works])
    return tuple(DeviceInfo(device=int(n)) for n in numbers if n != ABSENT and n >= 0)
