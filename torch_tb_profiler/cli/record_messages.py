"""Messages of ``record`` at the start and the end of the program: on stderr, each line marked."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from torch_tb_profiler.cli.exits import BAD_USAGE
from torch_tb_profiler.cli.record_folder import RunFolder, has_other_name, remove_if_empty
from torch_tb_profiler.recorder import notes
from torch_tb_profiler.recorder.launch import ProgramExit
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.run_folder.finish import FinishedRun, FinishedWorker, finish_folder
from torch_tb_profiler.recorder.samples.gpu_samples import NO_DRIVER
from torch_tb_profiler.recorder.throughput.figures import Throughput
from torch_tb_profiler.reports.text import visible

MARK = "[record]"
MOST_WORKERS = 8
"""Ranks listed one by one; of more, the first."""

MOST_REASONS = 6
FEW_STEPS = 3
"""Steps needed with and without the profiler to compare them."""


class Median(NamedTuple):
    """Median step time and its uncertainty, in µs."""

    median: float
    error: float


def print_line(text: str) -> None:
    """Print a line to stderr. Errors are ignored: the exit code is the program's."""
    with suppress(OSError, ValueError, AttributeError):
        print(f"{MARK} {visible(text)}", file=sys.stderr, flush=True)


def print_start(folder: RunFolder, options: Options | None, name: str | None) -> None:
    """Print where the recording is written, and why if not into the requested folder."""
    if folder.problem is not None:
        print_line(folder.problem)
    if options is None:
        print_line("The program is not recorded.")
        return
    if has_other_name(folder, name) and folder.problem is None:
        print_line(f"{name} holds an earlier run.")
    print_line(f"Recording {options.program} into {_display_path(options.folder)}")


def print_end(folder: RunFolder, options: Options, ended: ProgramExit, notes_path: str) -> None:
    """Finish the recording; print what was recorded, the verdict, and how to open it."""
    reasons = {ended.pid: ended.reason} if ended.pid and ended.reason else {}
    run = finish_folder(options.folder, {pid: why for pid, why in reasons.items() if why})
    noted = notes.read(notes_path)
    if not run.workers and remove_if_empty(options.folder):
        print_line("Nothing was recorded: " + why_nothing(noted, has_notes=bool(notes_path)))
        return
    where = f"Recorded into {_display_path(options.folder)}"
    print_line(f"{where}; {folder.problem}" if folder.problem else where)
    for line in report_lines(run, options):
        print_line(line)
    if not run.workers and not options.nsys:
        print_line(why_nothing(noted, has_notes=bool(notes_path)))
    failures = dict.fromkeys(text for event, _, text in noted if event == notes.FAILED)
    for text in failures:
        print_line(f"A process was not recorded because the recorder failed: {text}")
    _print_verdict(options.folder)
    quoted = shlex.quote(_display_path(options.folder))
    print_line(f"Open it: torch-tb-profiler open {quoted}")
    parent = shlex.quote(_display_path(os.path.dirname(options.folder)))
    print_line(f"     or: tensorboard --logdir {parent}")


def finish_left_run(path: str) -> int:
    """Finish a run whose recorder was killed, and print what was recorded.

    Returns:
        The exit code.
    """
    folder = os.path.abspath(path)
    run = finish_folder(folder)
    for line in report_lines(run, Options(folder=folder)):
        print_line(line)
    if not run.workers:
        if not run.problems:
            print_line(f"{_display_path(folder)} has nothing to finish.")
        return BAD_USAGE
    print_line(f"Open it: torch-tb-profiler open {shlex.quote(_display_path(folder))}")
    return 0


def why_nothing(noted: Iterable[tuple[str, int, str]], *, has_notes: bool = True) -> str:
    """Why no process left a recording, from the notes of all processes."""
    texts = {event: text for event, _, text in noted}
    if notes.FAILED in texts:
        return f"the recorder failed: {texts[notes.FAILED]}"
    if notes.TORCH in texts:
        return "no process took a step, loaded a batch or called a model."
    if notes.NO_TORCH in texts:
        return "torch could not be imported."
    if notes.PYTHON in texts:
        return "no process imported torch."
    if notes.TOO_OLD in texts:
        return f"Python {texts[notes.TOO_OLD]} is too old; 3.10 or newer is needed."
    if not has_notes:
        return "no process reported why."
    return "no Python process loaded the recorder: none ran, or it was started with -I, -E or -S."


def report_lines(run: FinishedRun, options: Options) -> Iterator[str]:
    """Lines about what was recorded of each rank, what is missing and why, and the overhead."""
    for worker in run.workers[:MOST_WORKERS]:
        yield f"  {worker.worker}: {'; '.join(_parts(worker, options))}"
    if len(run.workers) > MOST_WORKERS:
        yield f"  and {len(run.workers) - MOST_WORKERS} more"
    yield from _reasons(run)
    overhead = overhead_text(run.workers)
    if overhead:
        yield overhead


def _parts(worker: FinishedWorker, options: Options) -> Iterator[str]:
    written = [window for window in worker.windows if window.trace is not None]
    for window in written[:3]:
        if window.first_step is None:
            yield "a trace without whole steps"
        elif window.first_step == window.last_step:
            yield f"a trace of step {window.first_step}"
        else:
            yield f"a trace of steps {window.first_step} to {window.last_step}"
    if len(written) > 3:
        yield f"{len(written) - 3} more traces"
    if not written and not options.nsys:
        yield "no trace"
    steps = f"{_count_text(worker.steps, 'step')} timed"
    if worker.evaluation_steps:
        steps += f", {_count_text(worker.evaluation_steps, 'evaluation step')}"
    yield steps + _pace(worker.throughput)
    if worker.ended not in (None, "exit"):
        yield f"ended by {worker.ended}"


def _pace(throughput: Throughput | None) -> str:
    figures = throughput and (throughput.train or throughput.evaluation or throughput.traced)
    if not figures:
        return ""
    return f" (median {_milliseconds(figures.batch_cost_us.median)})"


def _reasons(run: FinishedRun) -> Iterator[str]:
    """Why something is missing, once for all ranks with the same reason. Missing samples of GPUs on
    a machine without a driver are not listed."""
    messages: dict[str, list[str]] = {}
    for worker in run.workers:
        reasons = (reason for _, reason in worker.reasons if reason != NO_DRIVER)
        texts = [f"not recorded: {reason}" for reason in reasons]
        texts += [
            f"{'lost' if window.trace is None else 'incomplete'}: {window.problem}"
            for window in worker.windows
            if window.problem
        ]
        for text in dict.fromkeys([*texts, *worker.problems]):
            messages.setdefault(text, []).append(worker.worker)
    for text in run.problems:
        messages.setdefault(text, [])
    for text, workers in list(messages.items())[:MOST_REASONS]:
        some = f" ({', '.join(workers[:3])})" if 0 < len(workers) < len(run.workers) else ""
        yield f"  {text}{some}"
    if len(messages) > MOST_REASONS:
        yield f"  and {len(messages) - MOST_REASONS} more reasons, in the pages"


def overhead_text(workers: Sequence[FinishedWorker]) -> str | None:
    """The overhead of recording, of the worker with the largest slowdown; None without steps."""
    shares = [worker.overhead_pct for worker in workers if worker.overhead_pct is not None]
    own = f"the recorder itself used {max(shares):.2g} % of a core" if shares else None
    slowdowns = [each for worker in workers if (each := _slowdown(worker.throughput))]
    if slowdowns:
        traced, plain = max(slowdowns, key=lambda pair: pair[0].median / pair[1].median)
        text = _slower_text(traced, plain)
    elif any(worker.steps for worker in workers):
        text = "Overhead of the profiler: unknown, too few steps ran with or without it"
        if not any(window.trace for worker in workers for window in worker.windows):
            return f"Overhead: no profiler ran; {own}." if own else None
    else:
        return None
    return f"{text}; {own}." if own else f"{text}."


def _slower_text(traced: Median, plain: Median) -> str:
    more_us = traced.median - plain.median
    if more_us <= math.hypot(traced.error, plain.error):
        return (
            f"Overhead of the profiler: within the variation of steps: median "
            f"{_milliseconds(traced.median)} ± {_milliseconds(traced.error)} with the profiler, "
            f"{_milliseconds(plain.median)} ± {_milliseconds(plain.error)} without"
        )
    return (
        f"Overhead: median step {_milliseconds(traced.median)} with the profiler, "
        f"{_milliseconds(plain.median)} without ({more_us / plain.median * 100:+.0f} %)"
    )


def _slowdown(throughput: Throughput | None) -> tuple[Median, Median] | None:
    traced, plain = throughput and throughput.traced, throughput and throughput.train
    if not traced or not plain or min(traced.steps, plain.steps) < FEW_STEPS:
        return None
    slow, usual = (
        Median(each.batch_cost_us.median, each.batch_cost_us.median_error(each.steps))
        for each in (traced, plain)
    )
    return (slow, usual) if usual.median > 0 else None


def _print_verdict(folder: str) -> None:
    print_line("Analyzing the recording …")
    try:
        from torch_tb_profiler.cli.record_verdict import verdict  # noqa: PLC0415 - heavy

        for line in verdict(folder):
            print_line(line)
    except Exception as error:
        print_line(f"Analysis failed: {error}")


def _display_path(path: str) -> str:
    """A path for display: relative to the current folder if it is inside."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the current folder was deleted, or is on another drive
        return path
    return path if relative.startswith(os.pardir) else relative


def _count_text(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _milliseconds(time_us: float) -> str:
    return f"{time_us / 1000:,.3g} ms" if time_us < 1e6 else f"{time_us / 1e6:,.3g} s"
