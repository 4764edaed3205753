"""Finishes the folder of a run whose program has ended: traces get what the journal tells of their
windows, files are compressed, and what was recorded is told.

Only the standard library. May be called again, and later, on what a killed program left behind.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from torch_tb_profiler.recorder.journal import ENDING, append_to
from torch_tb_profiler.recorder.journal_reader import (
    Story,
    blocks_of_kinds,
    read_story,
    rows_between,
)
from torch_tb_profiler.recorder.packing import PACKED, PARTIAL, pack
from torch_tb_profiler.recorder.throughput import Throughput, warmup_of
from torch_tb_profiler.recorder.throughput_file import ENDING as THROUGHPUT_ENDING
from torch_tb_profiler.recorder.throughput_file import KINDS as THROUGHPUT_KINDS
from torch_tb_profiler.recorder.throughput_file import throughput_of, write_throughput
from torch_tb_profiler.recorder.trace_tail import append_tail

TRACE_ENDING = ".pt.trace.json"
AROUND_NS = 10**9
"""So much before and after a window is told with it."""

SILENT_S = 60.0
"""A process that lives and wrote to its journal since is still recorded."""

KILLED = "killed"
HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class FinishedWindow:
    """A window of the profiler.

    Attributes:
        trace: Name of its file; None where there is none.
        first_step: Its first step, None where nobody told.
        last_step: Its last step, likewise.
        problem: Why it is lost, or not whole; None where it is well.
    """

    trace: str | None
    first_step: int | None = None
    last_step: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class FinishedWorker:
    """What was recorded of one process, or rank.

    Attributes:
        worker: Its name.
        journal: Name of the file of its journal.
        rank: Its rank, None without one.
        windows: Windows of the profiler, by name of their traces.
        steps: Training steps of the whole run.
        evaluation_steps: Steps of evaluations.
        elapsed_s: From the first step's begin to the last one's end; None without steps.
        reasons: (what, reason) of what was not recorded.
        ended: How the process ended; None while it still runs.
        overhead_pct: CPU time of the recorder, from when torch was imported to the end, ÷ that
            time; None where nobody told.
        throughput: What the timer measured; None without steps.
        problems: What could not be finished, as sentences.
    """

    worker: str
    journal: str
    rank: int | None = None
    windows: tuple[FinishedWindow, ...] = ()
    steps: int = 0
    evaluation_steps: int = 0
    elapsed_s: float | None = None
    reasons: tuple[tuple[str, str], ...] = ()
    ended: str | None = None
    overhead_pct: float | None = None
    throughput: Throughput | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class FinishedRun:
    """What was recorded of a run.

    Attributes:
        folder: Where it lies.
        workers: Its processes, by name.
        problems: What is wrong with all of it, as sentences.
    """

    folder: str
    workers: tuple[FinishedWorker, ...] = ()
    problems: tuple[str, ...] = ()


def finish_folder(
    folder: str,
    ended: Mapping[int, str] | None = None,
    only: Collection[str] | None = None,
) -> FinishedRun:
    """Finish every journal of a folder; it never raises for what lies there.

    Args:
        folder: Of the run.
        ended: Process id → how it ended, where somebody knows.
        only: Names of workers whose journals are finished; None: all of them. Two processes never
            finish one journal at once.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        return FinishedRun(folder, problems=(f"{folder} cannot be read: {error.strerror}.",))
    workers = [name.removesuffix(ENDING) for name in names if name.endswith(ENDING)]
    workers = [name for name in workers if only is None or name in only]
    return FinishedRun(folder, tuple(_finished(folder, each, ended or {}) for each in workers))


def _finished(folder: str, worker: str, ended: Mapping[int, str]) -> FinishedWorker:
    """Finish one journal; what goes wrong in it does not hold up the others."""
    path = os.path.join(folder, worker + ENDING)
    try:
        story = read_story(path)
        if story.end is None and _still_runs(path, story, ended):
            return _told(worker, story, worker + ENDING, (), ("It still runs.",))
        _settle(path, story, ended)
        windows, problems = _finish_traces(folder, worker, story)
        throughput = _finish_timer(folder, worker)
        told = _told(worker, story, os.path.basename(pack(path)), windows, problems)
        return replace(told, throughput=throughput)
    except OSError as error:
        problem = f"The journal cannot be read: {error.strerror}."
        return FinishedWorker(worker, worker + ENDING, problems=(problem,))


def _still_runs(path: str, story: Story, ended: Mapping[int, str]) -> bool:
    pid = story.header.get("pid")
    if not isinstance(pid, int) or pid in ended or pid <= 0 or pid >= 2**31:
        return False
    if story.header.get("host") not in (None, socket.gethostname()):
        return time.time() - os.stat(path).st_mtime < SILENT_S
    return _lives(pid) and time.time() - os.stat(path).st_mtime < SILENT_S


def _lives(pid: int) -> bool:
    """Whether there is such a process that has not ended; nobody may have asked how it did."""
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2][:1] not in (b"Z", b"X")
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _settle(path: str, story: Story, ended: Mapping[int, str]) -> None:
    """Append what a process that was killed could not: its end, which of its steps are warm-up, and
    the windows it lost."""
    status = os.stat(path)
    if story.is_cut:
        with suppress(OSError):
            os.truncate(path, story.whole_bytes)
    blocks: list[dict[str, Any]] = []
    pid = story.header.get("pid")
    reason = ended.get(pid, KILLED) if isinstance(pid, int) else KILLED
    if story.end is None:
        blocks.append({"kind": "end", "reason": reason, "time_ns": status.st_mtime_ns})
    else:
        reason = str(story.end.get("reason"))
    train = story.phases.get("train")
    if train is not None and not story.has_warmup:
        blocks.append({"kind": "timer", "warmup_steps": warmup_of(train.durations)})
    for name, window in story.windows.items():
        is_there = any(os.path.exists(each) for each in _places(path, name))
        if window.get("state") == "recording" and not is_there:
            why = f"the program ended before it was written ({reason})"
            blocks.append(window | {"state": "lost", "trace": name, "reason": why})
    for block in blocks:
        append_to(path, block)
        story.take(block, json.dumps(block, separators=(",", ":")).encode())
    if blocks or story.is_cut:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _places(path: str, trace: str) -> Iterator[str]:
    """Where the trace of a window may lie."""
    place = os.path.join(os.path.dirname(path), os.path.basename(trace))
    return (place + ending for ending in ("", PACKED, PARTIAL))


def _finish_traces(
    folder: str, worker: str, story: Story
) -> tuple[tuple[FinishedWindow, ...], tuple[str, ...]]:
    """Give every trace of a worker its tail, and compress it."""
    problems = []
    for name in _traces(folder, worker, story):
        _keep_half(os.path.join(folder, name))
    traces = [
        name
        for name in _traces(folder, worker, story)
        if os.path.exists(os.path.join(folder, name))
    ]
    rows: dict[str, list[bytes]] = {name: [] for name in traces}
    spans = {name: span for name in traces if (span := _span(story.windows.get(name, {})))}
    for name, block in rows_between(os.path.join(folder, worker + ENDING), spans):
        rows[name].append(block)
    steps = [line for _, line in story.steps]
    cut: dict[str, str] = {}
    for name in traces:
        path = os.path.join(folder, name)
        problem = append_tail(path, [*story.blocks, *steps, *rows[name]])
        if problem is not None:
            cut[name] = problem
            problems.append(f"{name} was left as it is: {problem}.")
        pack(path)
    names = dict.fromkeys([*story.windows, *traces])
    windows = tuple(_window(folder, name, story.windows.get(name, {}), cut) for name in names)
    return windows, tuple(problems)


def _keep_half(path: str) -> None:
    """A trace that was being written when the program was killed is one, once it holds an event."""
    with suppress(OSError):
        with open(path + PARTIAL, "rb") as file:
            has_event = b'"ph"' in file.read(HEAD_BYTES)
        if has_event and not os.path.exists(path):
            os.rename(path + PARTIAL, path)


def _finish_timer(folder: str, worker: str) -> Throughput | None:
    """What the timer measured, also as a file."""
    place = os.path.join(folder, worker)
    throughput = throughput_of(blocks_of_kinds(place + ENDING, THROUGHPUT_KINDS))
    if throughput is not None:
        with suppress(OSError):
            write_throughput(place + THROUGHPUT_ENDING, throughput)
    return throughput


def _traces(folder: str, worker: str, story: Story) -> list[str]:
    """Names of the traces of a worker, written or half written."""
    told = {name for name in story.windows if os.path.basename(name) == name}
    found = {
        name.removesuffix(PARTIAL)
        for name in os.listdir(folder)
        if name.startswith(f"{worker}.") and name.removesuffix(PARTIAL).endswith(TRACE_ENDING)
    }
    return sorted(found | {name for name in told if name.endswith(TRACE_ENDING)})


def _span(window: Mapping[str, Any]) -> tuple[int, int] | None:
    start_ns, end_ns = window.get("start_ns"), window.get("end_ns")
    if not isinstance(start_ns, int):
        return None
    return start_ns - AROUND_NS, (end_ns if isinstance(end_ns, int) else start_ns) + AROUND_NS


def _window(
    folder: str, name: str, window: Mapping[str, Any], cut: Mapping[str, str]
) -> FinishedWindow:
    names = (each for each in (name + PACKED, name) if os.path.exists(os.path.join(folder, each)))
    trace = next(names, None)
    reason = window.get("reason")
    problem = cut.get(name) or (reason if isinstance(reason, str) else None)
    if trace is None:
        problem = problem or "its file is missing"
    return FinishedWindow(
        trace, _number(window, "first_step"), _number(window, "last_step"), problem
    )


def _told(
    worker: str,
    story: Story,
    journal: str,
    windows: tuple[FinishedWindow, ...],
    problems: tuple[str, ...],
) -> FinishedWorker:
    known = [each for each in story.phases.values() if each.start_ns is not None]
    elapsed_ns = max((each.end_ns or 0 for each in known), default=0) - min(
        (each.start_ns or 0 for each in known), default=0
    )
    counts = {name: each.count for name, each in story.phases.items()}
    return FinishedWorker(
        worker,
        journal,
        rank=_number(story.header, "rank"),
        windows=windows,
        steps=counts.get("train", 0),
        evaluation_steps=counts.get("evaluation", 0),
        elapsed_s=elapsed_ns / 1e9 if known else None,
        reasons=tuple(story.reasons),
        ended=None if story.end is None else str(story.end.get("reason")),
        overhead_pct=_overhead_pct(story),
        problems=problems,
    )


def _overhead_pct(story: Story) -> float | None:
    start_ns, end_ns = _number(story.header, "started_ns"), _number(story.end or {}, "time_ns")
    if story.cost_ns is None or start_ns is None or end_ns is None or end_ns <= start_ns:
        return None
    return 100 * story.cost_ns / (end_ns - start_ns)


def _number(values: Mapping[str, Any], key: str) -> int | None:
    value = values.get(key)
    return value if type(value) is int else None
