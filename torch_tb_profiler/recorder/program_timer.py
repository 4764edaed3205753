"""The timer that a program calls itself: :class:`torch_tb_profiler.Timer`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.events import EVALUATION, TRAIN
from torch_tb_profiler.recorder.journal import ENDING as JOURNAL_ENDING
from torch_tb_profiler.recorder.loader_settings import MAX_DEPTH, length_of
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.own_process import header, worker_names
from torch_tb_profiler.recorder.throughput import (
    GIVEN_RULE,
    RULE,
    UNKNOWN,
    StepColumns,
    Throughput,
    figures_of,
    warmup_of,
)
from torch_tb_profiler.recorder.throughput_file import ENDING, write_throughput

ROWS = 10_000
"""Steps of a block."""

NO_PROFILER = "a timer in the program wrote this file, and no profiler ran for it"

Batch = TypeVar("Batch")


class Timer:
    """Times the steps of a program, without a profiler: under a microsecond a step.

    The easy way, for any iterable of batches::

        timer = Timer()
        for batch in timer.wrap(loader):
            train(batch)
        print(timer.summary())
        timer.save("logs/run1")  # opens in the pages, and in compare

    In detail::

        timer.begin()
        while …:
            timer.before_reader()
            batch = next(batches)
            timer.after_reader()
            train(batch)
            timer.step(num_samples=len(batch))

    A step lasts until :meth:`step`, from the one before. It keeps 32 bytes a step. Not to be used
    by several threads at a time.
    """

    def __init__(self, warmup_steps: int | None = None) -> None:
        """Time nothing yet.

        Args:
            warmup_steps: Training steps at the beginning that are in no figure; None: as the
                summary says.

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
        self._asked_ns: int | None = None
        self._reader_ns = UNKNOWN
        self._saved: set[str] = set()

    def begin(self) -> None:
        """A step begins now: what was before belongs to none."""
        self._start_ns = self._now()
        self._asked_ns = None
        self._reader_ns = UNKNOWN

    def before_reader(self) -> None:
        """The program asks for a batch; without :meth:`begin`, the first step begins with it."""
        self._asked_ns = now_ns = self._now()
        if self._start_ns is None:
            self._start_ns = now_ns

    def after_reader(self) -> None:
        """It has it."""
        if self._asked_ns is not None:
            waited_ns = self._now() - self._asked_ns
            self._asked_ns = None
            self._reader_ns = waited_ns + (self._reader_ns if self._reader_ns > 0 else 0)

    def step(self, num_samples: int | None = None) -> None:
        """A step ends, and the next one begins.

        Args:
            num_samples: Of its batches, where rates of samples are wanted.
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
        """The same batches; asking for the next one ends the step of the last.

        Of a batch that is a tensor, or a tuple, list or dict with one first, the samples are its
        leading dimension. A loop that is left by ``break`` does not tell that its last step ended.
        """
        iterator = iter(batches)
        self.begin()
        now, asked_ns = self._now, self._start_ns or 0
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            self._reader_ns = now() - asked_ns
            yield batch
            asked_ns = now()
            self._end_step(asked_ns, _samples_of(batch))
        self._start_ns = self._asked_ns = None

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """Steps in here are those of an evaluation; the time is no part of a training step."""
        outer = (self._append, self._asked_ns, self._reader_ns)
        with self.pause():
            self._append = self._steps[EVALUATION].appenders()
            self.begin()
            try:
                yield
            finally:
                self._append, self._asked_ns, self._reader_ns = outer

    @contextmanager
    def pause(self) -> Iterator[None]:
        """The time in here is no part of a step: a checkpoint is written, say."""
        start_ns = self._start_ns
        began_ns = self._now()
        try:
            yield
        finally:
            left_out_ns = self._now() - began_ns
            self._start_ns = None if start_ns is None else start_ns + left_out_ns

    def summary(self) -> Throughput:
        """What the steps so far come to; ``print`` shows it as a line."""
        train, evaluation = self._steps[TRAIN], self._steps[EVALUATION]
        warmup_steps = self._warmup_steps()
        return Throughput(
            warmup_steps=min(warmup_steps, len(train)),
            warmup_rule=RULE if self._given_warmup is None else GIVEN_RULE,
            train=figures_of(train.without_first(warmup_steps)),
            evaluation=figures_of(evaluation),
        )

    def save(self, path: str | os.PathLike[str] = ".") -> str:
        """Write the figures, and beside them the steps, which the pages and ``compare`` read.

        Args:
            path: A folder, made where there is none, for ``<worker>.throughput.json`` and
                ``<worker>.record.jsonl`` (the worker is ``rank<R>``, else ``<host>_<pid>``); or
                the path of the former.

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
        return warmup_of(self._steps[TRAIN].durations())

    def _paths(self, path: str) -> tuple[str, str]:
        """Of the figures and of the steps; a recording's own files are not replaced."""
        if path.endswith(ENDING):
            return path, path.removesuffix(ENDING) + JOURNAL_ENDING
        names = [os.path.join(path, name) for name in worker_names()]
        free = [
            name
            for name in names
            if name + JOURNAL_ENDING in self._saved or not _is_taken(name + JOURNAL_ENDING)
        ]
        name = (free or names[-1:])[0]
        return name + ENDING, name + JOURNAL_ENDING

    def _blocks(self) -> Iterator[dict[str, Any]]:
        options = Options("", program=os.path.basename(sys.argv[0]), sample_every_ms=0)
        yield header(options)
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
    """Write a journal, at once whole."""
    partial = f"{path}.partial"
    with open(partial, "w", encoding="utf-8") as file:
        for block in blocks:
            file.write(json.dumps(block, separators=(",", ":")) + "\n")
    os.replace(partial, path)


def _known(value: int) -> int | None:
    return None if value == UNKNOWN else value


def _samples_of(batch: Any) -> int:
    """Samples of a batch of any kind; it is the program's, and may raise at a look."""
    try:
        samples = length_of(batch, MAX_DEPTH)
    except Exception:
        return UNKNOWN
    return UNKNOWN if samples is None else samples


def _is_taken(journal: str) -> bool:
    return os.path.exists(journal) or os.path.exists(f"{journal}.gz")
