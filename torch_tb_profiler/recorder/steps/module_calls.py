"""Reports calls of the outermost module: the one that is not called by another module.

A global module hook has a cost for every module, so it is removed as soon as one module has been
called from outside twice; then only that module has hooks. Compiled code is never hooked inside:
dynamo would trace the hooks, and warns about global ones.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any, Protocol

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.steps import compiling
from torch_tb_profiler.recorder.steps.module_state import forget_hooks, hide_hooks

MARK = "_torch_tb_profiler_calls"
MAX_CANDIDATES = 16
"""With more outermost modules than this, none called twice, the search is given up."""


class CallListener(Protocol):
    """Receives the calls."""

    def call_began(self, module: Any, time_ns: int, is_known: bool) -> None:
        """A module is called from outside; ``is_known``: it is the repeatedly called one."""

    def call_ended(self, time_ns: int) -> None:
        """The call returned or raised."""


class _Hook:
    """A hook that does nothing in copies and pickles of a module that has its own way to be copied
    or pickled; others have no hook (:mod:`.module_state`)."""

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def __call__(self, *args: Any) -> None:
        self._call(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (nullcontext(), "__exit__")  # accepts any arguments, needs no package


class ModuleCalls:
    """The hooks of one recording."""

    def __init__(
        self, listener: CallListener, allows: Callable[[str], bool] = lambda _hook: True
    ) -> None:
        """Create without hooking anything; ``allows`` answers whether a hook may be installed."""
        self._listener = listener
        self.allows = allows
        self._everywhere: Any = None
        self._handles: dict[int, tuple[Any, list[Any]]] = {}
        self._inside: int | None = None
        self._depth = 0
        self._known: int | None = None
        self._called_once: set[int] = set()
        self._compiled: set[int] = set()
        self._is_stopped = False

    def start(self) -> None:
        """Start the search for the outermost module."""
        from torch.nn.modules.module import (  # noqa: PLC0415 - the program has imported it
            register_module_forward_pre_hook,
        )

        compiling.resolve()
        self._everywhere = register_module_forward_pre_hook(self._on_any_call)
        _listeners.append(self)
        _wrap_compile()
        _wrap_script()

    def stop(self) -> None:
        """Remove all hooks."""
        self._is_stopped = True
        self.stop_search()
        for key in list(self._handles):
            self._unhook(key)
        if self in _listeners:
            _listeners.remove(self)

    def stop_search(self) -> None:
        """Remove the global hook; modules hooked so far keep theirs."""
        if self._everywhere is not None:
            self._everywhere.remove()
            self._everywhere = None

    def select(self, is_wanted: Callable[[Any], bool]) -> Any:
        """Keep only the first hooked module that is wanted; returns it, or None."""
        self.stop_search()
        wanted = next((key for key, (each, _) in self._handles.items() if is_wanted(each)), None)
        module = None if wanted is None else self._handles[wanted][0]
        for key in list(self._handles):
            if key != wanted:
                self._unhook(key)
        self._known = wanted
        return module

    def before_compile(self) -> None:
        """Remove hooks that a compiler might trace."""
        self.stop_search()
        for key in [each for each in self._handles if each not in self._compiled]:
            self._unhook(key)
            if self._known == key:
                self._known = None
        if self._inside not in self._handles:
            self.forget_nesting()

    def unhook_module(self, module: Any) -> None:
        """Remove the hooks of a module and of its submodules."""
        for each in module.modules():
            if id(each) in self._handles:
                self._unhook(id(each))
        if self._known not in self._handles:
            self._known = None

    def after_compile(self, result: Any) -> None:
        """Hook a compiled module: its own hooks run outside the compiled code."""
        if not self._is_stopped and self._known is None and len(self._handles) < MAX_CANDIDATES:
            self._compiled.add(id(result))
            self._hook(result)

    def forget_nesting(self) -> None:
        """Reset the call depth: the program is back in its own loop."""
        self._inside = None
        self._depth = 0

    def _on_any_call(self, module: Any, _inputs: Any) -> None:
        if compiling.is_compiling():
            return
        if self._inside is not None or id(module) in self._handles:
            return  # its own hook comes next
        if len(self._handles) >= MAX_CANDIDATES:
            self.stop_search()
            return
        try:
            self._hook(module)
        except Exception:  # the module does not accept hooks
            return
        self._on_call(module, None)

    def _hook(self, module: Any) -> None:
        before = module.register_forward_pre_hook(_Hook(self._on_call))
        try:
            after = module.register_forward_hook(_Hook(self._on_return), always_call=True)
        except TypeError:  # before torch 2.1
            after = module.register_forward_hook(_Hook(self._on_return))
        self._handles[id(module)] = (module, [before, after])
        hide_hooks(module, (before.id, after.id))

    def _unhook(self, key: int) -> None:
        module, handles = self._handles.pop(key)
        for handle in handles:
            handle.remove()
        forget_hooks(module)

    def _on_call(self, module: Any, _inputs: Any) -> None:
        if compiling.is_compiling():
            return
        key = id(module)
        if key not in self._handles:  # a copy that has the hooks of its original
            return
        if self._inside is not None:
            self._depth += self._inside == key
            return
        self._inside = key
        self._listener.call_began(module, clock.perf_ns(), self._is_repeated(key))

    def _on_return(self, module: Any, _inputs: Any, _output: Any) -> None:
        if compiling.is_compiling() or self._inside != id(module):
            return
        if self._depth:
            self._depth -= 1
            return
        self._inside = None
        self._listener.call_ended(clock.perf_ns())

    def _is_repeated(self, key: int) -> bool:
        """Whether this is the module that the program calls repeatedly."""
        if self._known is None:
            if key not in self._called_once:
                self._called_once.add(key)
                return False
            self._known = key
            self.stop_search()
            for other in [each for each in self._handles if each != key]:
                self._unhook(other)
        return self._known == key


_listeners: list[ModuleCalls] = []


def _stop_all() -> None:
    for each in tuple(_listeners):
        each.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_stop_all)


def _wrap_compile() -> None:
    import torch  # noqa: PLC0415

    original = torch.compile
    if getattr(original, MARK, False):
        return

    @functools.wraps(original)
    def compile(*args: Any, **kwargs: Any) -> Any:
        is_module = isinstance(args[0] if args else kwargs.get("model"), torch.nn.Module)
        if is_module:
            _about_to_compile()
        result = original(*args, **kwargs)
        _register_compile_callback()
        for each in tuple(_listeners) if is_module else []:
            each.after_compile(result)
        return result

    setattr(compile, MARK, True)
    torch.compile = compile


def _about_to_compile(*_: object) -> None:
    for each in tuple(_listeners):
        each.before_compile()


def _register_compile_callback() -> None:
    """Remove the hooks just before a function that may call modules is traced. If they were traced,
    removing them later would cause a recompilation."""
    if not all(each.allows("compile callbacks") for each in tuple(_listeners)):
        _about_to_compile()
        return
    from torch._dynamo.callback import callback_handler, on_compile_start  # noqa: PLC0415

    if _about_to_compile not in callback_handler.start_callbacks:
        on_compile_start(_about_to_compile)


def _wrap_script() -> None:
    """Remove hooks before scripting: TorchScript compiles hooks and rejects those it cannot."""
    recursive: Any = import_module("torch.jit._recursive")
    original = recursive.create_script_module
    if getattr(original, MARK, False):
        return

    @functools.wraps(original)
    def create_script_module(nn_module: Any, *args: Any, **kwargs: Any) -> Any:
        for each in tuple(_listeners):
            each.unhook_module(nn_module)
        return original(nn_module, *args, **kwargs)

    setattr(create_script_module, MARK, True)
    recursive.create_script_module = create_script_module
