"""What ``record`` says when the program starts and ends: to stderr, a mark before each line."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from torch_tb_profiler.cli.exits import BAD_USAGE
from torch_tb_profiler.cli.record_folder import RunFolder, is_named_anew, remove_if_empty
from torch_tb_profiler.recorder import notes
from torch_tb_profiler.recorder.launch import ProgramExit
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.run_folder.finish import FinishedRun, FinishedWorker, finish_folder
from torch_tb_profiler.recorder.samples.gpu_samples import NO_DRIVER
from torch_tb_profiler.recorder.throughput.figures import Throughput
from torch_tb_profiler.reports.text import visible

MARK = "[record]"
MOST_WORKERS = 8
"""Ranks that are told one by one; of more the first."""

MOST_REASONS = 6
FEW_STEPS = 3
"""Steps on each side that an overhead is told from."""


class Median(NamedTuple):
    """The median time of some steps, and how far it may be off, in µs."""

    median: float
    error: float


def say(text: str) -> None:
    """Print a line for people; where nobody reads, the program's end stays what it is."""
    with suppress(OSError, ValueError, AttributeError):
        print(f"{MARK} {visible(text)}", file=sys.stderr, flush=True)


def tell_start(folder: RunFolder, options: Options | None, name: str | None) -> None:
    """Say where the recording goes, and why not where it should."""
    if folder.problem is not None:
        say(folder.problem)
    if options is None:
        say("The program runs without being recorded.")
        return
    if is_named_anew(folder, name) and folder.problem is None:
        say(f"{name} holds an earlier run.")
    say(f"{options.program} is recorded into {_shown(options.folder)}")


def tell_end(folder: RunFolder, options: Options, ended: ProgramExit, notes_path: str) -> None:
    """Finish what was recorded, and say what it is, what it tells and how to look at it."""
    reasons = {ended.pid: ended.reason} if ended.pid and ended.reason else {}
    run = finish_folder(options.folder, {pid: why for pid, why in reasons.items() if why})
    told = notes.read(notes_path)
    if not run.workers and remove_if_empty(options.folder):
        say("Nothing was recorded: " + why_nothing(told, has_notes=bool(notes_path)))
        return
    where = f"Recorded into {_shown(options.folder)}"
    say(f"{where}; {folder.problem}" if folder.problem else where)
    for line in lines_of(run, options):
        say(line)
    if not run.workers and not options.nsys:
        say(why_nothing(told, has_notes=bool(notes_path)))
    failures = dict.fromkeys(text for event, _, text in told if event == notes.FAILED)
    for text in failures:
        say(f"A process was not recorded, as the recorder failed: {text}")
    _tell_verdict(options.folder)
    quoted = shlex.quote(_shown(options.folder))
    say(f"Open it: torch-tb-profiler open {quoted}")
    say(f"     or: tensorboard --logdir {shlex.quote(_shown(os.path.dirname(options.folder)))}")


def tell_left(path: str) -> int:
    """Finish a run that nobody finished, and say what it is; the exit code."""
    folder = os.path.abspath(path)
    run = finish_folder(folder)
    for line in lines_of(run, Options(folder=folder)):
        say(line)
    if not run.workers:
        if not run.problems:
            say(f"{_shown(folder)} holds nothing to finish.")
        return BAD_USAGE
    say(f"Open it: torch-tb-profiler open {shlex.quote(_shown(folder))}")
    return 0


def why_nothing(told: Iterable[tuple[str, int, str]], *, has_notes: bool = True) -> str:
    """Why no process left a recording, from the notes of all of them."""
    events = {event: text for event, _, text in told}
    if notes.FAILED in events:
        return f"the recorder failed: {events[notes.FAILED]}"
    if notes.TORCH in events:
        return "no process took a step, loaded a batch or called a model."
    if notes.NO_TORCH in events:
        return "torch could not be imported."
    if notes.PYTHON in events:
        return "no process imported torch."
    if notes.TOO_OLD in events:
        return f"Python {events[notes.TOO_OLD]} is too old; 3.10 or newer is needed."
    if not has_notes:
        return "no process told why."
    return "no Python took the recorder: it was started with -I, -E or -S, or there was none."


def lines_of(run: FinishedRun, options: Options) -> Iterator[str]:
    """What was recorded of each rank, what was not and why, and what that cost."""
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
    steps = f"{_counted(worker.steps, 'step')} timed"
    if worker.evaluation_steps:
        steps += f", {worker.evaluation_steps} more of evaluations"
    yield steps + _pace(worker.throughput)
    if worker.ended not in (None, "exit"):
        yield f"ended by {worker.ended}"


def _pace(throughput: Throughput | None) -> str:
    figures = throughput and (throughput.train or throughput.evaluation or throughput.traced)
    if not figures:
        return ""
    return f" (median {_milliseconds(figures.batch_cost_us.median)})"


def _reasons(run: FinishedRun) -> Iterator[str]:
    """Why something is not there, once for all ranks that say it; not that a machine without
    GPUs has no samples of them, which its pages tell."""
    said: dict[str, list[str]] = {}
    for worker in run.workers:
        told = (reason for _, reason in worker.reasons if reason != NO_DRIVER)
        texts = [f"not recorded: {reason}" for reason in told]
        texts += [
            f"{'lost' if window.trace is None else 'cut'}: {window.problem}"
            for window in worker.windows
            if window.problem
        ]
        for text in dict.fromkeys([*texts, *worker.problems]):
            said.setdefault(text, []).append(worker.worker)
    for text in run.problems:
        said.setdefault(text, [])
    for text, workers in list(said.items())[:MOST_REASONS]:
        some = f" ({', '.join(workers[:3])})" if 0 < len(workers) < len(run.workers) else ""
        yield f"  {text}{some}"
    if len(said) > MOST_REASONS:
        yield f"  and {len(said) - MOST_REASONS} more reasons, in the pages"


def overhead_text(workers: Sequence[FinishedWorker]) -> str | None:
    """What the recording cost, of the worker whose traced steps are slowest beside its others."""
    shares = [worker.overhead_pct for worker in workers if worker.overhead_pct is not None]
    own = f"the recorder itself used {max(shares):.2g} % of a core" if shares else None
    slowdowns = [each for worker in workers if (each := _slowdown(worker.throughput))]
    if slowdowns:
        traced, plain = max(slowdowns, key=lambda pair: pair[0].median / pair[1].median)
        text = _slower_text(traced, plain)
    elif any(worker.steps for worker in workers):
        text = "Overhead of the profiler: unknown, as too few steps ran with it or without"
        if not any(window.trace for worker in workers for window in worker.windows):
            return f"Overhead: no profiler ran; {own}." if own else None
    else:
        return None
    return f"{text}; {own}." if own else f"{text}."


def _slower_text(traced: Median, plain: Median) -> str:
    more_us = traced.median - plain.median
    if more_us <= math.hypot(traced.error, plain.error):
        return (
            f"Overhead of the profiler: cannot be told, as steps vary more: median "
            f"{_milliseconds(traced.median)} ± {_milliseconds(traced.error)} under it, "
            f"{_milliseconds(plain.median)} ± {_milliseconds(plain.error)} without"
        )
    return (
        f"Overhead: median step {_milliseconds(traced.median)} under the profiler, "
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


def _tell_verdict(folder: str) -> None:
    say("Looking for what is worst …")
    try:
        from torch_tb_profiler.cli.record_verdict import verdict  # noqa: PLC0415 - heavy

        for line in verdict(folder):
            say(line)
    except Exception as error:
        say(f"No verdict: {error}")


def _shown(path: str) -> str:
    """A path as it is typed: from here where it lies below."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return path
    return path if relative.startswith(os.pardir) else relative


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _milliseconds(time_us: float) -> str:
    return f"{time_us / 1000:,.3g} ms" if time_us < 1e6 else f"{time_us / 1e6:,.3g} s"
