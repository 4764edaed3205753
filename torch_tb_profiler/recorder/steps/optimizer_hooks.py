"""Reports optimizers when they are created, and each call of ``step`` when it has returned.

``torch.optim.Optimizer`` wraps the ``step`` of a class in a profiler range when its first instance
is created. The recorder wraps the result at the same time, so that the reported end lies outside
that range. Classes wrapped before the recording are covered by torch's global post-step hook.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.steps import compiling

Stepped = Callable[[object, int, int], None]
"""Called with an optimizer and the start and end of its ``step``."""

MARK = "_torch_tb_profiler"
PATCH_METHOD = "_patch_step_function"
"""The method that wraps ``step``."""


class _Callbacks:
    """The callbacks of this process; cleared in forked children."""

    def __init__(self) -> None:
        self.created: Callable[[object], None] | None = None
        self.stepped: Stepped | None = None

    def clear(self) -> None:
        self.created = self.stepped = None


_callbacks = _Callbacks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_callbacks.clear)


class OptimizerHooks:
    """The hooks of one recording.

    Attributes:
        has_earlier_optimizers: Whether optimizers may exist that were created before the recording.
    """

    def __init__(self, created: Callable[[object], None], stepped: Stepped) -> None:
        self._created = created
        self._stepped = stepped
        self._handle: Any = None
        self.has_earlier_optimizers = False

    def start(self) -> None:
        """Install the hooks; torch is as ``hooks.json`` expects."""
        from torch.optim import Optimizer  # noqa: PLC0415 - the program has imported it

        compiling.resolve()
        _callbacks.created, _callbacks.stepped = self._created, self._stepped
        self.has_earlier_optimizers = any(
            getattr(getattr(each, "step", None), "hooked", False) and not _is_ours(each)
            for each in _subclasses(Optimizer)
        )
        _wrap_patch(Optimizer)
        has_hooked = self.has_earlier_optimizers
        self.has_earlier_optimizers = has_hooked and _has_instances(Optimizer)
        if has_hooked:
            from torch.optim.optimizer import (  # noqa: PLC0415
                register_optimizer_step_post_hook,
            )

            self._handle = register_optimizer_step_post_hook(_post_hook)

    def stop(self) -> None:
        """Remove the hooks."""
        if _callbacks.stepped == self._stepped:
            _callbacks.clear()
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


def _has_instances(kind: type) -> bool:
    """Whether an instance of a class exists: a notebook may have trained before."""
    return any(issubclass(type(each), kind) for each in gc.get_objects())


def _post_hook(optimizer: object, _args: object, _kwargs: object) -> None:
    if compiling.is_compiling() or _is_ours(type(optimizer)):
        return
    if _callbacks.stepped is not None:
        now = clock.perf_ns()
        _callbacks.stepped(optimizer, now, now)


def _wrap_patch(optimizer_class: Any) -> None:
    patch = getattr(optimizer_class, PATCH_METHOD)
    if getattr(patch, MARK, False):
        return

    @functools.wraps(patch)
    def patched(self: object, *args: object, **kwargs: object) -> object:
        was_hooked = getattr(getattr(type(self), "step", None), "hooked", False)
        result = patch(self, *args, **kwargs)
        if _callbacks.created is not None:
            if not was_hooked and not _is_ours(type(self)):
                _wrap_step(type(self))
            _callbacks.created(self)
        return result

    setattr(patched, MARK, True)
    setattr(optimizer_class, PATCH_METHOD, patched)


def _wrap_step(optimizer_class: Any) -> None:
    step = optimizer_class.step

    @functools.wraps(step)
    def recorded_step(*args: Any, **kwargs: Any) -> Any:
        if compiling.is_compiling() or _callbacks.stepped is None:
            return step(*args, **kwargs)
        began_ns = clock.perf_ns()
        result = step(*args, **kwargs)
        if _callbacks.stepped is not None:
            _callbacks.stepped(args[0], began_ns, clock.perf_ns())
        return result

    setattr(recorded_step, MARK, True)
    optimizer_class.step = recorded_step


def _is_ours(optimizer_class: Any) -> bool:
    return getattr(getattr(optimizer_class, "step", None), MARK, False) is True


def _subclasses(root: type) -> list[type]:
    classes, pending = [], [root]
    while pending:
        each = pending.pop()
        classes.append(each)
        pending += type.__subclasses__(each)
    return classes
