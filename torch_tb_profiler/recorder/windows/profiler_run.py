"""One run of ``torch.profiler``: started, stopped and exported in the program's thread."""

from __future__ import annotations

import os
import threading
import warnings
from contextlib import suppress
from typing import Any

from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.windows.kineto_messages import silence
from torch_tb_profiler.recorder.windows.program_profiler import recorder_calls

TAIL_BYTES = 256

OWN_WARNINGS = r"(?s).*Triggered internally at \S*profiler/collection\.cpp"
"""Warnings about the profiler's own bookkeeping, which a program without it does not have."""


class ProfilerRun:
    """A profiler that is running or has run.

    Attributes:
        thread: The thread that it records and that has to stop it.
        external_output: Where another tool writes the result; None if :meth:`export` does.
    """

    external_output: str | None = None

    def __init__(self, options: Options) -> None:
        """Create a profiler for the devices that the program uses by now, without starting it.

        Raises:
            ImportError, RuntimeError, TypeError: this version of torch has no such profiler.
        """
        from torch.profiler import profile  # noqa: PLC0415 - the program has imported torch

        self.thread = threading.get_ident()
        is_main = threading.current_thread() is threading.main_thread()
        self._has_all_threads = not is_main
        self._ranges: dict[str, Any] = {}
        self._filter: Any = None
        with recorder_calls():
            self._profile: Any = profile(
                activities=_activities(),
                record_shapes=options.shapes,
                profile_memory=options.memory,
                with_stack=options.stacks,
                with_flops=options.flops,
                with_modules=options.modules,
                experimental_config=None if is_main else _all_threads(),
            )

    @property
    def can_stop_here(self) -> bool:
        """Whether it may be stopped in the current thread."""
        return self._has_all_threads or self._is_own_thread

    def prepare(self) -> None:
        """Start to warm up."""
        self._ignore_own_warnings()
        with recorder_calls(), silence():
            self._profile.prepare_trace()

    def record(self) -> None:
        """Start to record."""
        with recorder_calls():
            self._profile.start_trace()

    def stop(self) -> None:
        """Stop recording; the result stays in memory."""
        for key in list(self._ranges):
            self.end_range(key)
        self._ranges.clear()
        try:
            with recorder_calls():
                self._profile.stop_trace()
        finally:
            with suppress(ValueError):  # the program has reset all filters
                warnings.filters.remove(self._filter)  # type: ignore[attr-defined]

    def begin_range(self, key: str, name: str) -> None:
        """Start a named range; ends the previous range of the same key."""
        from torch.autograd.profiler import record_function  # noqa: PLC0415

        if not self._is_own_thread:
            return
        self.end_range(key)
        mark = record_function(name)
        mark.__enter__()
        self._ranges[key] = mark

    def end_range(self, key: str) -> None:
        """End the range of a key, if there is one."""
        mark = self._ranges.pop(key, None) if self._is_own_thread else None
        if mark is not None:
            mark.__exit__(None, None, None)

    def _ignore_own_warnings(self) -> None:
        """Until it is stopped: where warnings are errors they would end the program."""
        warnings.filterwarnings("ignore", OWN_WARNINGS, UserWarning)
        self._filter = warnings.filters[0]

    @property
    def _is_own_thread(self) -> bool:
        return self.thread == threading.get_ident()

    def export(self, path: str) -> None:
        """Write the trace.

        Raises:
            OSError: the file is incomplete; Kineto does not report a full disk.
            RuntimeError: Kineto failed.
        """
        with recorder_calls():
            self._profile.export_chrome_trace(path)
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - TAIL_BYTES, 0))
            if not file.read().rstrip().endswith(b"}"):
                raise OSError("its file is incomplete; the disk may be full")


def start_obstacle() -> str | None:
    """Why no profiler can start at this moment; None if it can."""
    import torch  # noqa: PLC0415

    enabled = getattr(torch.autograd, "_profiler_enabled", None)
    if enabled is not None and enabled():
        return "The program's own profiler is running"
    if _is_initialized(torch, "cuda") and torch.cuda.is_current_stream_capturing():
        return "A CUDA graph is being captured"
    return None


def _all_threads() -> Any:
    try:
        from torch._C._profiler import _ExperimentalConfig  # noqa: PLC0415

        return _ExperimentalConfig(profile_all_threads=True)
    except (ImportError, TypeError):
        reason = "the loop runs in a thread, which this version of torch cannot record"
        raise RuntimeError(reason) from None


def _activities() -> list[Any]:
    """CPU, and the devices that the program has initialized. Initializing one here would break
    programs that fork later."""
    import torch  # noqa: PLC0415
    from torch.profiler import ProfilerActivity, supported_activities  # noqa: PLC0415

    activities = [ProfilerActivity.CPU]
    supported = supported_activities()
    for name, activity in (("cuda", "CUDA"), ("xpu", "XPU")):
        member = getattr(ProfilerActivity, activity, None)
        if member is not None and member in supported and _is_initialized(torch, name):
            activities.append(member)
    return activities


def _is_initialized(torch: Any, name: str) -> bool:
    module = getattr(torch, name, None)
    check = getattr(module, "is_initialized", None)
    return bool(check is not None and check())
