"""Hears of calls of the outermost module, the one that no other module called.

A hook of all modules costs at each of them, so it stays only until one module was called from
outside twice: then that module alone has hooks. What is compiled is never hooked inside: dynamo
would have to trace the hooks, and warns of those of all modules.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any, Protocol

from torch_tb_profiler.recorder import clock, compiling

MARK = "_torch_tb_profiler_calls"
MAX_CANDIDATES = 16
"""A program with more outermost modules than this, none called twice, has no loop over one."""


class CallListener(Protocol):
    """Who is told of calls."""

    def call_began(self, module: Any, time_ns: int, is_known: bool) -> None:
        """A module is called from outside; ``is_known``: it is the one that was called twice."""

    def call_ended(self, time_ns: int) -> None:
        """It returned, or raised."""


class _Hook:
    """A hook that does not follow its module into copies and files: there it does nothing."""

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def __call__(self, *args: Any) -> None:
        self._call(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")  # takes anything, and needs no package


class ModuleCalls:
    """The hooks of one recording."""

    def __init__(self, listener: CallListener) -> None:
        self._listener = listener
        self._everywhere: Any = None
        self._handles: dict[int, tuple[Any, list[Any]]] = {}
        self._inside: int | None = None
        self._depth = 0
        self._known: int | None = None
        self._called_once: set[int] = set()
        self._compiled: set[int] = set()
        self._is_stopped = False

    def start(self) -> None:
        """Look for the outermost module from now on."""
        from torch.nn.modules.module import (  # noqa: PLC0415 - the program has imported it
            register_module_forward_pre_hook,
        )

        compiling.look_up()
        self._everywhere = register_module_forward_pre_hook(self._any_called)
        _listeners.append(self)
        _wrap_compile()
        _wrap_script()

    def stop(self) -> None:
        """Hear no more."""
        self._is_stopped = True
        self.look_no_more()
        for key in list(self._handles):
            self._unhook(key)
        if self in _listeners:
            _listeners.remove(self)

    def look_no_more(self) -> None:
        """Keep to the modules that were found."""
        if self._everywhere is not None:
            self._everywhere.remove()
            self._everywhere = None

    def keep_only(self, is_wanted: Callable[[Any], bool]) -> Any:
        """Keep to the first of the modules found that is wanted; that one, or None."""
        self.look_no_more()
        wanted = next((key for key, (each, _) in self._handles.items() if is_wanted(each)), None)
        module = None if wanted is None else self._handles[wanted][0]
        for key in list(self._handles):
            if key != wanted:
                self._unhook(key)
        self._known = wanted
        return module

    def is_about_to_compile(self) -> None:
        """Leave no hook where a compiler may trace it."""
        self.look_no_more()
        for key in [each for each in self._handles if each not in self._compiled]:
            self._unhook(key)
            if self._known == key:
                self._known = None
        if self._inside not in self._handles:
            self.forget_nesting()

    def unhook_in(self, module: Any) -> None:
        """Leave no hook in a module, nor in one that it has."""
        for each in module.modules():
            if id(each) in self._handles:
                self._unhook(id(each))
        if self._known not in self._handles:
            self._known = None

    def compiled(self, result: Any) -> None:
        """Hear of a module that was compiled: its own hooks run outside of what was traced."""
        if not self._is_stopped and self._known is None and len(self._handles) < MAX_CANDIDATES:
            self._compiled.add(id(result))
            self._hook(result)

    def forget_nesting(self) -> None:
        """No module is being called now: the program is back in its own loop."""
        self._inside = None
        self._depth = 0

    def _any_called(self, module: Any, _inputs: Any) -> None:
        if compiling.is_compiling():
            return
        if self._inside is not None or id(module) in self._handles:
            return  # its own hook comes next
        if len(self._handles) >= MAX_CANDIDATES:
            self.look_no_more()
            return
        try:
            self._hook(module)
        except Exception:  # a module that takes no hooks
            return
        self._called(module, None)

    def _hook(self, module: Any) -> None:
        before = module.register_forward_pre_hook(_Hook(self._called))
        try:
            after = module.register_forward_hook(_Hook(self._returned), always_call=True)
        except TypeError:  # before torch 2.1
            after = module.register_forward_hook(_Hook(self._returned))
        self._handles[id(module)] = (module, [before, after])

    def _unhook(self, key: int) -> None:
        _, handles = self._handles.pop(key)
        for handle in handles:
            handle.remove()

    def _called(self, module: Any, _inputs: Any) -> None:
        if compiling.is_compiling():
            return
        key = id(module)
        if key not in self._handles:  # a copy, with the hooks of its original
            return
        if self._inside is not None:
            self._depth += self._inside == key
            return
        self._inside = key
        self._listener.call_began(module, clock.perf_ns(), self._learn(key))

    def _returned(self, module: Any, _inputs: Any, _output: Any) -> None:
        if compiling.is_compiling() or self._inside != id(module):
            return
        if self._depth:
            self._depth -= 1
            return
        self._inside = None
        self._listener.call_ended(clock.perf_ns())

    def _learn(self, key: int) -> bool:
        """Whether this is the module that the program calls again and again."""
        if self._known is None:
            if key not in self._called_once:
                self._called_once.add(key)
                return False
            self._known = key
            self.look_no_more()
            for other in [each for each in self._handles if each != key]:
                self._unhook(other)
        return self._known == key


_listeners: list[ModuleCalls] = []


def _forget() -> None:
    for each in tuple(_listeners):
        each.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _wrap_compile() -> None:
    import torch  # noqa: PLC0415

    original = getattr(torch, "compile", None)
    if original is None or getattr(original, MARK, False):
        return

    @functools.wraps(original)
    def compile(*args: Any, **kwargs: Any) -> Any:
        is_module = isinstance(args[0] if args else kwargs.get("model"), torch.nn.Module)
        if is_module:
            _about_to_compile()
        result = original(*args, **kwargs)
        _hear_of_compilation()
        for each in tuple(_listeners) if is_module else []:
            each.compiled(result)
        return result

    setattr(compile, MARK, True)
    torch.compile = compile


def _about_to_compile(*_: object) -> None:
    for each in tuple(_listeners):
        each.is_about_to_compile()


def _hear_of_compilation() -> None:
    """A function may be compiled that calls modules: the hooks go just before that is traced.
    Were they traced, taking them off later would have it compiled again."""
    try:
        from torch._dynamo.callback import callback_handler, on_compile_start  # noqa: PLC0415

        if _about_to_compile not in callback_handler.start_callbacks:
            on_compile_start(_about_to_compile)
    except Exception:  # before torch 2.2
        _about_to_compile()


def _wrap_script() -> None:
    """TorchScript compiles hooks too, and refuses those that it cannot."""
    try:
        recursive: Any = import_module("torch.jit._recursive")
        original = recursive.create_script_module
    except (ImportError, AttributeError):
        return
    if getattr(original, MARK, False):
        return

    @functools.wraps(original)
    def create_script_module(nn_module: Any, *args: Any, **kwargs: Any) -> Any:
        for each in tuple(_listeners):
            each.unhook_in(nn_module)
        return original(nn_module, *args, **kwargs)

    setattr(create_script_module, MARK, True)
    recursive.create_script_module = create_script_module
