"""Hears of optimizers: each that is made, and each call of ``step`` when it has returned.

``torch.optim.Optimizer`` wraps ``step`` of every class itself, when the first of the class is made,
in a range of the profiler. We wrap the result at the same moment, so that a step has ended outside
of that range. Classes that were wrapped before us are heard by torch's hook of all optimizers.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable
from typing import Any

from torch_tb_profiler.recorder import clock, compiling

Stepped = Callable[[object, int, int], None]
"""Told of an optimizer whose step began and ended at these times."""

MARK = "_torch_tb_profiler"
PATCHES = ("_patch_step_function", "_hook_for_profile")
"""The method that wraps ``step``, by its names since torch 1.9."""


class _Heard:
    """Who is told, in this process; nobody in its forked children."""

    def __init__(self) -> None:
        self.made: Callable[[object], None] | None = None
        self.stepped: Stepped | None = None

    def forget(self) -> None:
        self.made = self.stepped = None


_heard = _Heard()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_heard.forget)


class OptimizerHooks:
    """The hooks of one recording.

    Attributes:
        made_before: Whether there may be optimizers that nobody counted.
    """

    def __init__(self, made: Callable[[object], None], stepped: Stepped) -> None:
        self._made = made
        self._stepped = stepped
        self._handle: Any = None
        self.made_before = False

    def start(self) -> None:
        """Hear from now on.

        Raises:
            ImportError, AttributeError: this torch has no such optimizers.
        """
        from torch.optim import Optimizer  # noqa: PLC0415 - the program has imported it

        compiling.look_up()
        _heard.made, _heard.stepped = self._made, self._stepped
        self.made_before = any(
            getattr(getattr(each, "step", None), "hooked", False) and not _is_ours(each)
            for each in _subclasses(Optimizer)
        )
        _wrap_patch(Optimizer)
        has_hooked = self.made_before
        self.made_before = has_hooked and _is_any_alive(Optimizer)
        if has_hooked:
            from torch.optim.optimizer import (  # noqa: PLC0415
                register_optimizer_step_post_hook,
            )

            self._handle = register_optimizer_step_post_hook(_post_hook)

    def stop(self) -> None:
        """Hear no more."""
        if _heard.stepped == self._stepped:
            _heard.forget()
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


def _is_any_alive(kind: type) -> bool:
    """Whether there is an object of a class: a notebook may have trained, and only infer now."""
    return any(issubclass(type(each), kind) for each in gc.get_objects())


def _post_hook(optimizer: object, _args: object, _kwargs: object) -> None:
    if compiling.is_compiling() or _is_ours(type(optimizer)):
        return
    if _heard.stepped is not None:
        now = clock.perf_ns()
        _heard.stepped(optimizer, now, now)


def _wrap_patch(optimizer_class: Any) -> None:
    name = next((each for each in PATCHES if hasattr(optimizer_class, each)), None)
    if name is None:
        raise AttributeError("torch.optim.Optimizer has no place for hooks")
    patch = getattr(optimizer_class, name)
    if getattr(patch, MARK, False):
        return

    @functools.wraps(patch)
    def patched(self: object, *args: object, **kwargs: object) -> object:
        was_hooked = getattr(getattr(type(self), "step", None), "hooked", False)
        result = patch(self, *args, **kwargs)
        if _heard.made is not None:
            if not was_hooked and not _is_ours(type(self)):
                _wrap_step(type(self))
            _heard.made(self)
        return result

    setattr(patched, MARK, True)
    setattr(optimizer_class, name, patched)


def _wrap_step(optimizer_class: Any) -> None:
    step = optimizer_class.step

    @functools.wraps(step)
    def recorded_step(*args: Any, **kwargs: Any) -> Any:
        if compiling.is_compiling() or _heard.stepped is None:
            return step(*args, **kwargs)
        began_ns = clock.perf_ns()
        result = step(*args, **kwargs)
        if _heard.stepped is not None:
            _heard.stepped(args[0], began_ns, clock.perf_ns())
        return result

    setattr(recorded_step, MARK, True)
    optimizer_class.step = recorded_step


def _is_ours(optimizer_class: Any) -> bool:
    return getattr(getattr(optimizer_class, "step", None), MARK, False) is True


def _subclasses(of: type) -> list[type]:
    found, todo = [], [of]
    while todo:
        each = todo.pop()
        found.append(each)
        todo += type.__subclasses__(each)
    return found
