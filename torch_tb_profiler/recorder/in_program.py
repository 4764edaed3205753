"""``with torch_tb_profiler.record("logs/run1"):`` records the program that it stands in."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

from torch_tb_profiler.recorder import session as sessions
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.own_process import worker_names


class Recording:
    """A recording of the program itself, while its ``with`` block runs.

    Attributes:
        folder: Where it lies; another than was asked for where that one has a recording of this
            process already, or where the program is recorded anyway.
    """

    def __init__(self, options: Options) -> None:
        """Record nothing yet."""
        self.folder = options.folder
        self._options = options
        self._session: sessions.Session | None = None
        self._finished: Any = None

    def __enter__(self) -> Recording:
        """Begin to record. It never raises: what cannot be recorded is told at the end."""
        import torch  # noqa: F401, PLC0415 - it is what is recorded

        running = sessions.current()
        if running is not None:
            self.folder = running.options.folder
            _say(f"this program is recorded already, into {self.folder}; `record` does nothing.")
            return self
        self._session = sessions.begin(self._options)
        if self._session is None:
            _say("the program could not be recorded.")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the recording and finish its folder; exceptions go on."""
        if self._session is None or sessions.current() is not self._session:
            return
        sessions.end("exit" if kind is None else f"exception {kind.__name__}")
        from torch_tb_profiler.recorder.finish import finish_folder  # noqa: PLC0415

        try:
            own = (self._session.journal.worker,)  # other ranks finish theirs
            self._finished = finish_folder(self.folder, only=own)
        except Exception as problem:
            _say(f"{self.folder} could not be finished: {problem}")

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of what was recorded, by name; empty where there is nothing."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return ()
        return tuple(os.path.join(self.folder, each) for each in names)

    def summary(self) -> str:
        """What was recorded, and how to look at it, in a few lines."""
        if self._finished is None:
            return f"{self.folder}: nothing was recorded here, or it is not over yet."
        lines = [self.folder]
        for worker in self._finished.workers:
            windows = [each for each in worker.windows if each.trace is not None]
            lines.append(
                f"{worker.worker}: {_counted(worker.steps, 'step')}, "
                f"{_counted(worker.evaluation_steps, 'evaluation step')}, "
                f"{_counted(len(windows), 'trace')}"
            )
            lines += [f"  {reason}" for _, reason in worker.reasons]
            lines += [f"  {each}" for each in worker.problems]
        lines += self._finished.problems
        lines.append(f"Look at it with: torch-tb-profiler serve {self.folder}")
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
        folder: Of the run, made if need be.
        steps: First and last step that the profiler records.
        delay_s: Seconds before it starts.
        duration_s: Seconds that it records.
        wait: Steps left out before each window, as ``torch.profiler.schedule`` counts them.
        warmup: Steps in which the profiler runs and nothing is kept.
        active: Steps of a window.
        repeat: Windows; 0: until the block ends.
        memory: Record allocations.
        stacks: Record python frames.
        shapes: Record shapes and types of inputs.
        flops: Estimate FLOPs.
        modules: Record the hierarchy of modules.
        timer_only: No profiler: times of steps and samples only.
        sample_every_ms: Between two samples of host and devices; 0: none are taken.
        trigger: The name of a signal, or the path of a file, that starts a window.

    Returns:
        What to enter; afterwards it has ``folder``, ``files`` and ``summary()``.

    Raises:
        ValueError: the steps or times make no sense.

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
    """The folder, or the next of its name in which this process has recorded nothing yet."""
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
    """The name of the program; a notebook has no file."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return os.path.basename(path) if path else "notebook"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _say(text: str) -> None:
    print(f"torch-tb-profiler: {text}", file=sys.stderr)
