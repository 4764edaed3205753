"""Collects what a program has set, within a second of its first activity and again at its end.

Nothing is collected within a step: the ticker thread does it. Temporary settings (autocast, anomaly
mode) are noticed through the functions that enable them.
"""

from __future__ import annotations

import functools
import gc
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from torch_tb_profiler.recorder.events import StepRecord
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.settings.machine_settings import (
    machine_settings,
    rejected_variables,
)
from torch_tb_profiler.recorder.settings.parallel_settings import data_parallel_settings
from torch_tb_profiler.recorder.settings.torch_settings import (
    module_settings,
    optimizer_settings,
    torch_switches,
)
from torch_tb_profiler.recorder.torch_api.expectations import allows
from torch_tb_profiler.recorder.torch_api.installed import resolve

MAX_SEEN = 64
"""Limit for optimizers and wrappers; further ones are ignored."""

FSDP_MODULE, FSDP_CLASS = "torch.distributed.fsdp", "FullyShardedDataParallel"

OnCall = Callable[[tuple[Any, ...], dict[str, Any]], None]
"""Called with the arguments of a watched call."""


class CallWatch:
    """Watches functions of torch until :meth:`stop`: each call is reported before it happens, and
    is otherwise unchanged."""

    def __init__(self) -> None:
        """Create without watching anything."""
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._is_stopped = False

    def watch(self, target: str, on_call: OnCall) -> None:
        """Watch calls of a function of torch: ``module:path``, as in ``hooks.json``."""
        owner, name = resolve(target)
        original = getattr(owner, name)

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if not self._is_stopped:
                with suppress(Exception):  # errors of the recorder must not reach the program
                    on_call(args, kwargs)
            return original(*args, **kwargs)

        setattr(owner, name, watched)
        self._replaced.append((owner, name, original, watched))

    def stop(self) -> None:
        """Restore the functions, except those that others have replaced since."""
        self._is_stopped = True
        for owner, name, original, watched in reversed(self._replaced):
            if getattr(owner, name, None) is watched:
                setattr(owner, name, original)
        self._replaced.clear()


class SettingsRecorder:
    """The part of a session that records settings."""

    def __init__(self, session: Session) -> None:
        """Create without collecting anything."""
        self._session = session
        self._watch = CallWatch()
        self._optimizers: list[weakref.ref[Any]] = []
        self._ddp: list[weakref.ref[Any]] = []
        self._fsdp: list[weakref.ref[Any]] = []
        self._is_fsdp_watched = False
        self._uses_data_parallel = False
        self._autocast: dict[str, None] = {}
        self._compile: dict[str, None] = {}
        self._is_anomaly_on = False
        self._is_gradcheck_seen = False
        self._written: dict[str, Any] = {}
        self._is_searched = False
        self._steps_by_optimizer = False
        self._calls = self._cpu_ns = 0

    def start(self) -> None:
        """Watch the functions of torch that change settings; torch is imported."""
        anomaly = "torch.autograd.anomaly_mode"
        calls: tuple[tuple[str, str, OnCall], ...] = (
            (
                "optimizer",
                "torch.optim.optimizer:Optimizer.__init__",
                lambda args, _: _remember(self._optimizers, args),
            ),
            (
                "DDP",
                "torch.nn.parallel.distributed:DistributedDataParallel.__init__",
                lambda args, _: _remember(self._ddp, args),
            ),
            (
                "DataParallel",
                "torch.nn.parallel.data_parallel:DataParallel.__init__",
                self._created_data_parallel,
            ),
            ("autocast", "torch.amp.autocast_mode:autocast.__enter__", self._entered_autocast),
            ("anomaly", f"{anomaly}:detect_anomaly.__enter__", self._turned_anomaly_on),
            ("anomaly", f"{anomaly}:set_detect_anomaly.__init__", self._set_anomaly),
            ("compile", "torch:compile", self._compiled),
            ("gradcheck", "torch.autograd:gradcheck", self._checked_gradients),
            ("gradcheck", "torch.autograd.gradcheck:gradcheck", self._checked_gradients),
        )
        allowed = {hook: allows(f"{hook} settings", self._session) for hook, _, _ in calls}
        for hook, target, on_call in calls:
            if allowed[hook]:
                self._watch.watch(target, on_call)
        self._watch_fsdp()

    def flush(self) -> None:
        """Write the settings once the journal is open; watch modules imported since."""
        self._watch_fsdp()
        if self._session.journal.is_open and not self._written:
            self._write_changes()

    def stop(self, _reason: str) -> None:
        """Write the settings that have changed."""
        self._watch.stop()
        self._write_changes()
        self._session.journal.write(
            {"kind": "cost", "what": "settings", "cpu_ns": self._cpu_ns, "calls": self._calls}
        )

    def step_ended(self, step: StepRecord) -> None:
        """Remember whether steps end with an optimizer; nothing is collected here."""
        self._steps_by_optimizer = step.by == "optimizer"

    def _write_changes(self) -> None:
        began_ns = time.thread_time_ns()
        values = self._collect()
        changed = {key: value for key, value in values.items() if self._written.get(key) != value}
        if changed:
            self._session.journal.write({"kind": "settings", "values": changed})
            self._written.update(changed)
        rejected = rejected_variables()
        if rejected:
            self._session.report_missing(
                "settings",
                f"Values not recorded because they are of no known kind: {', '.join(rejected)}.",
            )
        self._calls += 1
        self._cpu_ns += time.thread_time_ns() - began_ns

    def _collect(self) -> dict[str, Any]:
        torch: Any = sys.modules["torch"]
        self._is_anomaly_on = self._is_anomaly_on or torch.is_anomaly_enabled()
        if self._steps_by_optimizer and not self._optimizers and not self._is_searched:
            self._search(torch)
        finder = self._session.parts.get("steps")
        parts: tuple[Callable[[], dict[str, Any]], ...] = (
            lambda: machine_settings(torch),
            lambda: torch_switches(torch),
            lambda: module_settings(getattr(finder, "outermost", None)),
            lambda: optimizer_settings(_live_objects(self._optimizers)),
            lambda: data_parallel_settings(
                _live_objects(self._ddp),
                _live_objects(self._fsdp),
                self._uses_data_parallel,
                allows_fsdp2=lambda: allows("FSDP2 settings", self._session),
            ),
        )
        values: dict[str, Any] = {
            "autocast": ", ".join(self._autocast),
            "compile_mode": ", ".join(self._compile),
            "anomaly_mode": self._is_anomaly_on,
            "gradcheck": self._is_gradcheck_seen,
        }
        for part in parts:
            try:
                values.update(part())
            except Exception as error:  # noqa: PERF203 - one must not affect the others
                self._session.report_missing(
                    "settings", f"Some settings are not known: {type(error).__name__}."
                )
        return values

    def _search(self, torch: Any) -> None:
        """Find optimizers and wrappers created before the recording; scans all objects, once."""
        self._is_searched = True
        ddp = torch.nn.parallel.DistributedDataParallel
        for each in gc.get_objects():
            kind = type(each)  # __class__ of a proxy may differ
            if issubclass(kind, torch.optim.Optimizer):
                _remember(self._optimizers, (each,))
            elif issubclass(kind, ddp):
                _remember(self._ddp, (each,))

    def _watch_fsdp(self) -> None:
        """Watch FullyShardedDataParallel once the program has imported it."""
        if not self._is_fsdp_watched and FSDP_MODULE in sys.modules:
            if not hasattr(sys.modules[FSDP_MODULE], FSDP_CLASS):  # being imported at the moment
                return
            self._is_fsdp_watched = True
            if allows("FSDP settings", self._session):
                self._watch.watch(
                    f"{FSDP_MODULE}:{FSDP_CLASS}.__init__",
                    lambda args, _: _remember(self._fsdp, args),
                )

    def _created_data_parallel(self, *_: object) -> None:
        self._uses_data_parallel = True

    def _entered_autocast(self, args: tuple[Any, ...], _: object) -> None:
        if getattr(args[0], "_enabled", False) and len(self._autocast) < MAX_SEEN:
            self._autocast[str(args[0].fast_dtype).removeprefix("torch.")] = None

    def _turned_anomaly_on(self, *_: object) -> None:
        self._is_anomaly_on = True

    def _set_anomaly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._is_anomaly_on |= bool(args[1] if len(args) > 1 else kwargs.get("mode"))

    def _checked_gradients(self, *_: object) -> None:
        self._is_gradcheck_seen = True

    def _compiled(self, _args: object, kwargs: dict[str, Any]) -> None:
        if kwargs.get("disable") or len(self._compile) >= MAX_SEEN:
            return
        backend = kwargs.get("backend", "inductor")
        name = backend if isinstance(backend, str) else getattr(backend, "__name__", "a backend")
        mode = str(kwargs.get("mode") or "default")
        self._compile[mode if name == "inductor" else str(name)] = None


def _remember(seen: list[weakref.ref[Any]], args: tuple[Any, ...]) -> None:
    if len(seen) < MAX_SEEN and not any(each() is args[0] for each in seen):
        seen.append(weakref.ref(args[0]))


def _live_objects(seen: list[weakref.ref[Any]]) -> list[Any]:
    return [instance for each in seen if (instance := each()) is not None]
