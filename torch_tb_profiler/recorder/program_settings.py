"""What a program has set: gathered once it does something, and again at its end.

Nothing is gathered in a step: the ticker's thread does, within a second of the first. What is only
set for a while (autocast, anomaly mode) is heard where it is entered.
"""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.recorder.events import StepRecord
from torch_tb_profiler.recorder.machine_settings import machine, odd_variables
from torch_tb_profiler.recorder.parallel_settings import of_wrappers
from torch_tb_profiler.recorder.session import Session
from torch_tb_profiler.recorder.torch_settings import of_module, of_optimizers, switches
from torch_tb_profiler.recorder.watched import Watched

MAX_SEEN = 64
"""So many optimizers and wrappers are looked at; of more, the first."""

FSDP_MODULE = "torch.distributed.fsdp"


class SettingsPart:
    """The part of a session that tells settings."""

    def __init__(self, session: Session) -> None:
        """Gather nothing yet."""
        self._session = session
        self._watched = Watched()
        self._optimizers: list[weakref.ref[Any]] = []
        self._ddp: list[weakref.ref[Any]] = []
        self._fsdp: list[weakref.ref[Any]] = []
        self._is_fsdp_watched = False
        self._uses_data_parallel = False
        self._autocast: dict[str, None] = {}
        self._compile: dict[str, None] = {}
        self._is_anomaly_on = False
        self._is_gradcheck_seen = False
        self._told: dict[str, Any] = {}
        self._is_searched = False
        self._steps_by_optimizer = False
        self._calls = self._cpu_ns = 0

    def start(self) -> None:
        """Listen to what is set; torch is imported."""
        import torch  # noqa: PLC0415 - the program has imported it

        watch = self._watched.watch
        parallel = torch.nn.parallel
        watch(torch.optim.Optimizer, "__init__", lambda args, _: _keep(self._optimizers, args))
        watch(parallel.DistributedDataParallel, "__init__", lambda args, _: _keep(self._ddp, args))
        watch(parallel.DataParallel, "__init__", self._made_data_parallel)
        watch(torch.amp.autocast_mode.autocast, "__enter__", self._entered_autocast)
        watch(torch.autograd.detect_anomaly, "__enter__", self._turned_anomaly_on)
        watch(torch.autograd.set_detect_anomaly, "__init__", self._set_anomaly)
        watch(torch, "compile", self._compiled)
        for module in ("torch.autograd", "torch.autograd.gradcheck"):
            watch(sys.modules.get(module), "gradcheck", self._checked_gradients)
        self._watch_fsdp()

    def flush(self) -> None:
        """Tell the settings once there is a file; and see what was imported since."""
        self._watch_fsdp()
        if self._session.journal.is_open and not self._told:
            self._tell()

    def stop(self, _reason: str) -> None:
        """Tell what changed."""
        self._watched.stop()
        self._tell()
        self._session.journal.write(
            {"kind": "cost", "what": "settings", "cpu_ns": self._cpu_ns, "calls": self._calls}
        )

    def step_ended(self, step: StepRecord) -> None:
        """Nothing is gathered in a step."""
        self._steps_by_optimizer = step.by == "optimizer"

    def _tell(self) -> None:
        began_ns = time.thread_time_ns()
        values = self._gathered()
        changed = {key: value for key, value in values.items() if self._told.get(key) != value}
        if changed:
            self._session.journal.write({"kind": "settings", "values": changed})
            self._told.update(changed)
        odd = odd_variables()
        if odd:
            self._session.miss(
                "settings",
                f"Values that are not kept, as they are of no known kind: {', '.join(odd)}.",
            )
        self._calls += 1
        self._cpu_ns += time.thread_time_ns() - began_ns

    def _gathered(self) -> dict[str, Any]:
        torch: Any = sys.modules["torch"]
        self._is_anomaly_on = self._is_anomaly_on or torch.is_anomaly_enabled()
        if self._steps_by_optimizer and not self._optimizers and not self._is_searched:
            self._search(torch)
        finder = self._session.parts.get("steps")
        parts: tuple[Callable[[], dict[str, Any]], ...] = (
            lambda: machine(torch),
            lambda: switches(torch),
            lambda: of_module(getattr(finder, "outermost", None)),
            lambda: of_optimizers(_alive(self._optimizers)),
            lambda: of_wrappers(_alive(self._ddp), _alive(self._fsdp), self._uses_data_parallel),
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
            except Exception as error:  # noqa: PERF203 - one must not cost the others
                self._session.miss("settings", f"Some are not known: {type(error).__name__}.")
        return values

    def _search(self, torch: Any) -> None:
        """Find what was made before the recording began, once: every object is looked at."""
        self._is_searched = True
        ddp = torch.nn.parallel.DistributedDataParallel
        for each in gc.get_objects():
            kind = type(each)  # not what a proxy says it is
            if issubclass(kind, torch.optim.Optimizer):
                _keep(self._optimizers, (each,))
            elif issubclass(kind, ddp):
                _keep(self._ddp, (each,))

    def _watch_fsdp(self) -> None:
        """FullyShardedDataParallel is heard of once the program has imported it."""
        fsdp = getattr(sys.modules.get(FSDP_MODULE), "FullyShardedDataParallel", None)
        if fsdp is not None and not self._is_fsdp_watched:
            self._is_fsdp_watched = True
            self._watched.watch(fsdp, "__init__", lambda args, _: _keep(self._fsdp, args))

    def _made_data_parallel(self, *_: object) -> None:
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


def _keep(seen: list[weakref.ref[Any]], args: tuple[Any, ...]) -> None:
    if len(seen) < MAX_SEEN and not any(each() is args[0] for each in seen):
        seen.append(weakref.ref(args[0]))


def _alive(seen: list[weakref.ref[Any]]) -> list[Any]:
    return [found for each in seen if (found := each()) is not None]
