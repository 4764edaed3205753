"""The timer that a program calls explicitly: :class:`torch_tb_profiler.Timer`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.events import EVALUATION, TRAIN
from torch_tb_profiler.recorder.loaders.loader_settings import MAX_DEPTH, batch_length
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.process_info import journal_header, worker_names
from torch_tb_profiler.recorder.run_folder.journal import JOURNAL_SUFFIX
from torch_tb_profiler.recorder.throughput.figures import (
    GIVEN_WARMUP_RULE,
    UNKNOWN,
    WARMUP_RULE,
    StepColumns,
    Throughput,
    count_warmup_steps,
    step_figures,
)
from torch_tb_profiler.recorder.throughput.throughput_file import (
    THROUGHPUT_SUFFIX,
    write_throughput,
)

ROWS = 10_000
"""Steps per block."""

NO_PROFILER = "this file was written by torch_tb_profiler.Timer, which runs no profiler"

Batch = TypeVar("Batch")


class Timer:
    """Times the steps of a program without a profiler, at a cost below one microsecond per step.

    For any iterable of batches::

        timer = Timer()
        for batch in timer.wrap(loader):
            train(batch)
        print(timer.summary())
        timer.save("logs/run1")  # opens in the pages, and in compare

    With explicit calls::

        timer.begin()
        while …:
            timer.before_reader()
            batch = next(batches)
            timer.after_reader()
            train(batch)
            timer.step(num_samples=len(batch))

    A step lasts from one call of :meth:`step` to the next and takes 32 bytes of memory. A timer
    must not be used by several threads at once.
    """

    def __init__(self, warmup_steps: int | None = None) -> None:
        """Create a timer without steps.

        Args:
            warmup_steps: Training steps at the start that are excluded from all figures; None:
                determined by a rule, which the summary states.

        Raises:
            ValueError: it is negative.
        """
        if warmup_steps is not None and warmup_steps < 0:
            raise ValueError(f"warmup_steps is {warmup_steps}; it cannot be negative")
        self._given_warmup = warmup_steps
        self._now: Callable[[], int] = clock.perf_ns
        self._steps = {TRAIN: StepColumns(), EVALUATION: StepColumns()}
        self._append = self._steps[TRAIN].appenders()
        self._start_ns: int | None = None
        self._requested_ns: int | None = None
        self._reader_ns = UNKNOWN
        self._tail_ns = 0  # in which the last loop's batches said that there are no more
        self._saved: set[str] = set()

    def begin(self) -> None:
        """Start a step now; the time before belongs to none."""
        self._start_ns = self._now()
        self._requested_ns = None
        self._reader_ns = UNKNOWN

    def before_reader(self) -> None:
        """Call before fetching a batch; without :meth:`begin`, the first step starts here."""
        self._requested_ns = now_ns = self._now()
        if self._start_ns is None:
            self._start_ns = now_ns

    def after_reader(self) -> None:
        """Call when the batch is fetched."""
        if self._requested_ns is not None:
            waited_ns = self._now() - self._requested_ns
            self._requested_ns = None
            self._reader_ns = waited_ns + (self._reader_ns if self._reader_ns > 0 else 0)

    def step(self, num_samples: int | None = None) -> None:
        """End a step and start the next one.

        Args:
            num_samples: Samples of its batches, for rates in samples per second.
        """
        end_ns = self._now()
        self._end_step(end_ns, UNKNOWN if num_samples is None else int(num_samples))

    def _end_step(self, end_ns: int, samples: int) -> None:
        start_ns = self._start_ns
        if start_ns is not None:
            add_start, add_end, add_reader, add_samples = self._append
            add_start(start_ns)
            add_end(end_ns)
            add_reader(self._reader_ns)
            add_samples(samples)
        self._start_ns = end_ns
        self._reader_ns = UNKNOWN

    def wrap(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Iterate over the same batches; requesting the next one ends the step of the last.

        The first step begins before the batches are asked for an iterator, for a loader starts its
        workers then; that is no wait for a batch. The time in which the batches of the loop before
        came to their end, and a loader stopped its workers, is part of it, too.

        The number of samples is the leading dimension of a batch that is a tensor, or a tuple, list
        or dict that starts with one. If the loop is left by ``break``, its last step is not
        counted.
        """
        self.begin()
        now = self._now
        self._start_ns, self._tail_ns = (self._start_ns or 0) - self._tail_ns, 0
        iterator = iter(batches)
        requested_ns = now()
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                self._tail_ns = now() - requested_ns
                break
            self._reader_ns = now() - requested_ns
            yield batch
            requested_ns = now()
            self._end_step(requested_ns, _samples_of(batch))
        self._start_ns = self._requested_ns = None

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """Steps in this block are evaluation steps; their time belongs to no training step."""
        outer = (self._append, self._requested_ns, self._reader_ns, self._tail_ns)
        with self.pause():
            self._append = self._steps[EVALUATION].appenders()
            self._tail_ns = 0
            self.begin()
            try:
                yield
            finally:
                self._append, self._requested_ns, self._reader_ns, self._tail_ns = outer

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Time in this block belongs to no step, for example while a checkpoint is written."""
        start_ns = self._start_ns
        began_ns = self._now()
        try:
            yield
        finally:
            left_out_ns = self._now() - began_ns
            self._start_ns = None if start_ns is None else start_ns + left_out_ns

    def summary(self) -> Throughput:
        """The figures of the steps so far; ``print`` shows them in one line."""
        train, evaluation = self._steps[TRAIN], self._steps[EVALUATION]
        warmup_steps = self._warmup_steps()
        return Throughput(
            warmup_steps=min(warmup_steps, len(train)),
            warmup_rule=WARMUP_RULE if self._given_warmup is None else GIVEN_WARMUP_RULE,
            train=step_figures(train.without_first(warmup_steps)),
            evaluation=step_figures(evaluation),
        )

    def save(self, path: str | os.PathLike[str] = ".") -> str:
        """Write the figures, and the steps in a second file, which the pages and ``compare`` read.

        Args:
            path: A folder (created if needed) for ``<worker>.throughput.json`` and
                ``<worker>.record.jsonl``, where the worker is ``rank<R>`` or ``<host>_<pid>``; or
                the path of the former file.

        Returns:
            The path of the figures.

        Raises:
            OSError: it cannot be written.
        """
        figures, steps = self._paths(os.path.abspath(os.fspath(path)))
        os.makedirs(os.path.dirname(figures), exist_ok=True)
        write_throughput(figures, self.summary())
        _write_lines(steps, self._blocks())
        self._saved.add(steps)
        return figures

    def _warmup_steps(self) -> int:
        if self._given_warmup is not None:
            return self._given_warmup
        return count_warmup_steps(self._steps[TRAIN].durations())

    def _paths(self, path: str) -> tuple[str, str]:
        """Paths of the figures and of the steps; files of a recording are not replaced."""
        if path.endswith(THROUGHPUT_SUFFIX):
            return path, path.removesuffix(THROUGHPUT_SUFFIX) + JOURNAL_SUFFIX
        names = [os.path.join(path, name) for name in worker_names()]
        free = [
            name
            for name in names
            if name + JOURNAL_SUFFIX in self._saved or not _is_taken(name + JOURNAL_SUFFIX)
        ]
        name = (free or names[-1:])[0]
        return name + THROUGHPUT_SUFFIX, name + JOURNAL_SUFFIX

    def _blocks(self) -> Iterator[dict[str, Any]]:
        options = Options("", program=os.path.basename(sys.argv[0]), sample_every_ms=0)
        yield journal_header(options)
        yield {"kind": "missing", "what": "window", "reason": NO_PROFILER}
        yield {"kind": "timer", "warmup_steps": self._warmup_steps()}
        for phase, steps in self._steps.items():
            for at in range(0, len(steps), ROWS):
                rows = slice(at, at + ROWS)
                yield {
                    "kind": "steps",
                    "phase": phase,
                    "by": "program",
                    "step": list(range(len(steps))[rows]),
                    "start_ns": [clock.to_unix(each) for each in steps.start_ns[rows]],
                    "end_ns": [clock.to_unix(each) for each in steps.end_ns[rows]],
                    "reader_ns": [_known(each) for each in steps.reader_ns[rows]],
                    "samples": [_known(each) for each in steps.samples[rows]],
                }
        yield {"kind": "end", "reason": "stopped", "time_ns": clock.unix_ns()}


def _write_lines(path: str, blocks: Iterable[dict[str, Any]]) -> None:
    """Write a journal atomically."""
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        for block in blocks:
            file.write(json.dumps(block, separators=(",", ":")) + "\n")
    os.replace(partial, path)


def _known(value: int) -> int | None:
    return None if value == UNKNOWN else value


def _samples_of(batch: Any) -> int:
    """Samples of a batch of any type; inspecting an object of the program may raise."""
    try:
        samples = batch_length(batch, MAX_DEPTH)
    except Exception:
        return UNKNOWN
    return UNKNOWN if samples is None else samples


def _is_taken(journal: str) -> bool:
    return os.path.exists(journal) or os.path.exists(f"{journal}.gz")
