"""``with torch_tb_profiler.record("logs/run1"):`` records the surrounding program."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

from torch_tb_profiler.recorder import session as sessions
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.process_info import worker_names


class Recording:
    """A recording of this program for the duration of a ``with`` block.

    Attributes:
        folder: Folder of the recording. Differs from the requested one if that already holds a
            recording of this process, or if the program is being recorded already.
    """

    def __init__(self, options: Options) -> None:
        """Prepare a recording; it starts with ``with``."""
        self.folder = options.folder
        self._options = options
        self._session: sessions.Session | None = None
        self._finished: Any = None

    def __enter__(self) -> Recording:
        """Start recording. Never raises: what cannot be recorded is reported at the end."""
        import torch  # noqa: F401, PLC0415 - the recorder hooks it

        running = sessions.current()
        if running is not None:
            self.folder = running.options.folder
            _print_message(
                f"this program is already being recorded into {self.folder}; `record` does nothing."
            )
            return self
        self._session = sessions.begin(self._options)
        if self._session is None:
            _print_message("the program could not be recorded.")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the recording and finish its folder; exceptions propagate."""
        if self._session is None or sessions.current() is not self._session:
            return
        sessions.end("exit" if kind is None else f"exception {kind.__name__}")
        from torch_tb_profiler.recorder.run_folder.finish import finish_folder  # noqa: PLC0415

        try:
            own = (self._session.journal.worker,)  # other ranks finish their own journals
            self._finished = finish_folder(self.folder, only=own)
        except Exception as problem:
            _print_message(f"{self.folder} could not be finished: {problem}")

    @property
    def worker(self) -> str | None:
        """Name of this process in the recording; None if it did not start."""
        return None if self._session is None else self._session.journal.worker

    @property
    def written_windows(self) -> int:
        """Number of windows of the profiler that have been written so far."""
        windows: Any = None if self._session is None else self._session.parts.get("window")
        return 0 if windows is None else int(windows.written)

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the recorded files, sorted by name; empty if there are none."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return ()
        return tuple(os.path.join(self.folder, each) for each in names)

    def summary(self) -> str:
        """What was recorded and how to open it, in a few lines."""
        if self._finished is None:
            return f"{self.folder}: nothing was recorded, or the recording is still running."
        lines = [self.folder]
        for worker in self._finished.workers:
            windows = [each for each in worker.windows if each.trace is not None]
            lines.append(
                f"{worker.worker}: {_count_text(worker.steps, 'step')}, "
                f"{_count_text(worker.evaluation_steps, 'evaluation step')}, "
                f"{_count_text(len(windows), 'trace')}"
            )
            lines += [f"  {reason}" for _, reason in worker.reasons]
            lines += [f"  {each}" for each in worker.problems]
        lines += self._finished.problems
        lines.append(f"Open it: torch-tb-profiler open {self.folder}")
        return "\n".join(lines)


def record(
    folder: str | os.PathLike[str],
    *,
    steps: tuple[int, int] | None = None,
    delay_s: float | None = None,
    duration_s: float | None = None,
    wait: int | None = None,
    warmup: int | None = None,
    active: int | None = None,
    repeat: int | None = None,
    memory: bool = False,
    stacks: bool = False,
    shapes: bool = True,
    flops: bool = False,
    modules: bool = False,
    timer_only: bool = False,
    sample_every_ms: int = 100,
    trigger: str | None = None,
) -> Recording:
    """Record what the program does in a ``with`` block.

    Args:
        folder: Folder of the run, created if needed.
        steps: First and last step that the profiler records.
        delay_s: Seconds before the profiler starts.
        duration_s: Seconds that it records.
        wait: Steps skipped before each window, as in ``torch.profiler.schedule``.
        warmup: Steps in which the profiler runs and the results are discarded.
        active: Steps per window.
        repeat: Number of windows; 0: until the block ends.
        memory: Record allocations.
        stacks: Record Python frames.
        shapes: Record shapes and types of operator inputs.
        flops: Estimate FLOPs.
        modules: Record modules of TorchScript programs; ``stacks`` has those of others.
        timer_only: No profiler: step times and samples only.
        sample_every_ms: Interval between samples of host and devices; 0 disables sampling.
        trigger: Name of a signal, or path of a file, that starts a window.

    Returns:
        A context manager; afterwards it has ``folder``, ``files`` and ``summary()``.

    Raises:
        ValueError: the steps or times are invalid.

    Example:
        >>> with torch_tb_profiler.record("logs/run1", steps=(5, 9)) as run:  # doctest: +SKIP
        ...     train()
        >>> print(run.summary())  # doctest: +SKIP
    """
    if steps is not None and not 0 <= steps[0] <= steps[1]:
        raise ValueError(f"steps are the first and the last one to record, not {steps}")
    for name, value in (("delay_s", delay_s), ("duration_s", duration_s)):
        if value is not None and not 0 <= value < float("inf"):
            raise ValueError(f"{name} is a number of seconds, not {value}")
    return Recording(
        Options(
            folder=_own_folder(os.path.abspath(os.fspath(folder))),
            steps=steps,
            delay_s=delay_s,
            duration_s=duration_s,
            wait=wait,
            warmup=warmup,
            active=active,
            repeat=repeat,
            memory=memory,
            stacks=stacks,
            shapes=shapes,
            flops=flops,
            modules=modules,
            timer_only=timer_only,
            sample_every_ms=sample_every_ms,
            trigger=trigger,
            program=_program(),
        )
    )


def _own_folder(folder: str) -> str:
    """``folder``, or the first ``folder-2``, ``folder-3`` … without a recording of this process."""
    workers = worker_names()
    for number in range(1, 10_000):
        path = folder if number == 1 else f"{folder}-{number}"
        try:
            names = os.listdir(path)
        except OSError:
            return path
        if not any(name.startswith(f"{each}.") for name in names for each in workers):
            return path
    return folder


def _program() -> str:
    """Name of the program's main file; ``notebook`` if it has none."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.basename(path) if path else "notebook"


def _count_text(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _print_message(text: str) -> None:
    print(f"torch-tb-profiler: {text}", file=sys.stderr)
