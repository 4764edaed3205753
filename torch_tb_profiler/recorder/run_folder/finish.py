"""Finishes the folder of a run after its program has ended: traces get the journal of their window,
files are compressed, and the result is summarized.

Standard library only. Can be repeated, and run later on the files of a killed program.
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

from torch_tb_profiler.recorder.run_folder.compression import (
    GZIP_SUFFIX,
    PARTIAL_SUFFIX,
    compress_file,
)
from torch_tb_profiler.recorder.run_folder.journal import JOURNAL_SUFFIX, append_to
from torch_tb_profiler.recorder.run_folder.journal_reader import (
    JournalSummary,
    blocks_of_kinds,
    rows_in_spans,
    summarize_journal,
)
from torch_tb_profiler.recorder.run_folder.trace_tail import append_journal
from torch_tb_profiler.recorder.throughput.figures import Throughput, count_warmup_steps
from torch_tb_profiler.recorder.throughput.throughput_file import (
    THROUGHPUT_KINDS,
    THROUGHPUT_SUFFIX,
    throughput_from_blocks,
    write_throughput,
)

TRACE_SUFFIX = ".pt.trace.json"
MARGIN_NS = 10**9
"""Margin around a window: rows of the journal in it are appended to the trace too."""

STALE_S = 60.0
"""A running process that wrote to its journal within this time is still being recorded."""

KILLED = "killed"
HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class FinishedWindow:
    """A window of the profiler.

    Attributes:
        trace: Name of its file; None if there is none.
        first_step: Its first step; None if unknown.
        last_step: Its last step, likewise.
        problem: Why it is lost or incomplete; None if it is complete.
    """

    trace: str | None
    first_step: int | None = None
    last_step: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class FinishedWorker:
    """What was recorded of one process, or rank.

    Attributes:
        worker: Name of the worker.
        journal: File name of its journal.
        rank: Its rank; None without one.
        windows: Windows of the profiler, by name of their traces.
        steps: Training steps of the whole run.
        evaluation_steps: Evaluation steps.
        elapsed_s: From the start of the first step to the end of the last; None without steps.
        reasons: (what, reason) of what was not recorded.
        ended: How the process ended; None while it is running.
        overhead_pct: CPU time of the recorder as a share of the time from the import of torch to
            the end; None if unknown.
        throughput: Measured step times; None without steps.
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
        folder: Folder of the run.
        workers: Its processes, by name.
        problems: Problems of the whole run, as sentences.
    """

    folder: str
    workers: tuple[FinishedWorker, ...] = ()
    problems: tuple[str, ...] = ()


def finish_folder(
    folder: str,
    ended: Mapping[int, str] | None = None,
    only: Collection[str] | None = None,
) -> FinishedRun:
    """Finish every journal of a folder; never raises because of its content.

    Args:
        folder: Folder of the run.
        ended: Process id → how it ended, as far as known.
        only: Names of the workers to finish; None: all. No journal may be finished by two processes
            at once.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        return FinishedRun(folder, problems=(f"{folder} cannot be read: {error.strerror}.",))
    workers = [name.removesuffix(JOURNAL_SUFFIX) for name in names if name.endswith(JOURNAL_SUFFIX)]
    workers = [name for name in workers if only is None or name in only]
    return FinishedRun(folder, tuple(_finish_worker(folder, each, ended or {}) for each in workers))


def _finish_worker(folder: str, worker: str, ended: Mapping[int, str]) -> FinishedWorker:
    """Finish one journal; a failure does not affect the others."""
    path = os.path.join(folder, worker + JOURNAL_SUFFIX)
    try:
        summary = summarize_journal(path)
        if summary.end is None and _is_still_recorded(path, summary, ended):
            return _summarize_worker(
                worker, summary, worker + JOURNAL_SUFFIX, (), ("It is still running.",)
            )
        _append_missing_blocks(path, summary, ended)
        windows, problems = _finish_traces(folder, worker, summary)
        throughput = _finish_timer(folder, worker)
        journal = os.path.basename(compress_file(path))
        finished = _summarize_worker(worker, summary, journal, windows, problems)
        return replace(finished, throughput=throughput)
    except OSError as error:
        problem = f"The journal cannot be read: {error.strerror}."
        return FinishedWorker(worker, worker + JOURNAL_SUFFIX, problems=(problem,))


def _is_still_recorded(path: str, summary: JournalSummary, ended: Mapping[int, str]) -> bool:
    pid = summary.header.get("pid")
    if not isinstance(pid, int) or pid in ended or pid <= 0 or pid >= 2**31:
        return False
    if summary.header.get("host") not in (None, socket.gethostname()):
        return time.time() - os.stat(path).st_mtime < STALE_S
    return _is_running_process(pid) and time.time() - os.stat(path).st_mtime < STALE_S


def _is_running_process(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b") ")[2][:1] not in (b"Z", b"X")
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _append_missing_blocks(path: str, summary: JournalSummary, ended: Mapping[int, str]) -> None:
    """Append the blocks that a killed process could not write: its end, the number of warm-up
    steps, and the windows it lost."""
    status = os.stat(path)
    if summary.is_truncated:
        with suppress(OSError):
            os.truncate(path, summary.complete_bytes)
    blocks: list[dict[str, Any]] = []
    pid = summary.header.get("pid")
    reason = ended.get(pid, KILLED) if isinstance(pid, int) else KILLED
    if summary.end is None:
        blocks.append({"kind": "end", "reason": reason, "time_ns": status.st_mtime_ns})
    else:
        reason = str(summary.end.get("reason"))
    train = summary.phases.get("train")
    if train is not None and not summary.has_warmup:
        blocks.append({"kind": "timer", "warmup_steps": count_warmup_steps(train.durations)})
    for name, window in summary.windows.items():
        exists = any(os.path.exists(each) for each in _trace_paths(path, name))
        if window.get("state") == "recording" and not exists:
            why = f"the program ended before it was written ({reason})"
            blocks.append(window | {"state": "lost", "trace": name, "reason": why})
    for block in blocks:
        append_to(path, block)
        summary.add_block(block, json.dumps(block, separators=(",", ":")).encode())
    if blocks or summary.is_truncated:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _trace_paths(path: str, trace: str) -> Iterator[str]:
    """Possible paths of the trace of a window."""
    base = os.path.join(os.path.dirname(path), os.path.basename(trace))
    return (base + ending for ending in ("", GZIP_SUFFIX, PARTIAL_SUFFIX))


def _finish_traces(
    folder: str, worker: str, summary: JournalSummary
) -> tuple[tuple[FinishedWindow, ...], tuple[str, ...]]:
    """Append the journal to every trace of a worker, and compress the traces."""
    problems = []
    for name in _traces(folder, worker, summary):
        _recover_partial(os.path.join(folder, name))
    traces = [
        name
        for name in _traces(folder, worker, summary)
        if os.path.exists(os.path.join(folder, name))
    ]
    rows: dict[str, list[bytes]] = {name: [] for name in traces}
    spans = {name: span for name in traces if (span := _span(summary.windows.get(name, {})))}
    for name, block in rows_in_spans(os.path.join(folder, worker + JOURNAL_SUFFIX), spans):
        rows[name].append(block)
    steps = [line for _, line in summary.steps]
    append_problems: dict[str, str] = {}
    for name in traces:
        path = os.path.join(folder, name)
        problem = append_journal(path, [*summary.blocks, *steps, *rows[name]])
        if problem is not None:
            append_problems[name] = problem
            problems.append(f"{name} was left unchanged: {problem}.")
        compress_file(path)
    names = dict.fromkeys([*summary.windows, *traces])
    windows = tuple(
        _window(folder, name, summary.windows.get(name, {}), append_problems) for name in names
    )
    return windows, tuple(problems)


def _recover_partial(path: str) -> None:
    """Keep a partially written trace of a killed program if it contains an event."""
    with suppress(OSError):
        with open(path + PARTIAL_SUFFIX, "rb") as file:
            has_event = b'"ph"' in file.read(HEAD_BYTES)
        if has_event and not os.path.exists(path):
            os.rename(path + PARTIAL_SUFFIX, path)


def _finish_timer(folder: str, worker: str) -> Throughput | None:
    """Compute the throughput and write it to its file."""
    base = os.path.join(folder, worker)
    throughput = throughput_from_blocks(blocks_of_kinds(base + JOURNAL_SUFFIX, THROUGHPUT_KINDS))
    if throughput is not None:
        with suppress(OSError):
            write_throughput(base + THROUGHPUT_SUFFIX, throughput)
    return throughput


def _traces(folder: str, worker: str, summary: JournalSummary) -> list[str]:
    """Names of the traces of a worker, complete or partially written."""
    recorded = {name for name in summary.windows if os.path.basename(name) == name}
    on_disk = {
        name.removesuffix(PARTIAL_SUFFIX)
        for name in os.listdir(folder)
        if name.startswith(f"{worker}.")
        and name.removesuffix(PARTIAL_SUFFIX).endswith(TRACE_SUFFIX)
    }
    return sorted(on_disk | {name for name in recorded if name.endswith(TRACE_SUFFIX)})


def _span(window: Mapping[str, Any]) -> tuple[int, int] | None:
    start_ns, end_ns = window.get("start_ns"), window.get("end_ns")
    if not isinstance(start_ns, int):
        return None
    return start_ns - MARGIN_NS, (end_ns if isinstance(end_ns, int) else start_ns) + MARGIN_NS


def _window(
    folder: str, name: str, window: Mapping[str, Any], append_problems: Mapping[str, str]
) -> FinishedWindow:
    names = (
        each for each in (name + GZIP_SUFFIX, name) if os.path.exists(os.path.join(folder, each))
    )
    trace = next(names, None)
    reason = window.get("reason")
    problem = append_problems.get(name) or (reason if isinstance(reason, str) else None)
    if trace is None:
        problem = problem or "its file is missing"
    return FinishedWindow(
        trace, _number(window, "first_step"), _number(window, "last_step"), problem
    )


def _summarize_worker(
    worker: str,
    summary: JournalSummary,
    journal: str,
    windows: tuple[FinishedWindow, ...],
    problems: tuple[str, ...],
) -> FinishedWorker:
    known = [each for each in summary.phases.values() if each.start_ns is not None]
    elapsed_ns = max((each.end_ns or 0 for each in known), default=0) - min(
        (each.start_ns or 0 for each in known), default=0
    )
    counts = {name: each.count for name, each in summary.phases.items()}
    return FinishedWorker(
        worker,
        journal,
        rank=_number(summary.header, "rank"),
        windows=windows,
        steps=counts.get("train", 0),
        evaluation_steps=counts.get("evaluation", 0),
        elapsed_s=elapsed_ns / 1e9 if known else None,
        reasons=tuple(summary.reasons),
        ended=None if summary.end is None else str(summary.end.get("reason")),
        overhead_pct=_overhead_pct(summary),
        problems=problems,
    )


def _overhead_pct(summary: JournalSummary) -> float | None:
    start_ns, end_ns = _number(summary.header, "started_ns"), _number(summary.end or {}, "time_ns")
    if summary.cost_ns is None or start_ns is None or end_ns is None or end_ns <= start_ns:
        return None
    return 100 * summary.cost_ns / (end_ns - start_ns)


def _number(values: Mapping[str, Any], key: str) -> int | None:
    value = values.get(key)
    return value if type(value) is int else None
