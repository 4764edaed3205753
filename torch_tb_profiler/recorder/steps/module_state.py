"""Copies and pickles of a hooked module are those of a module without hooks.

Pickling and copying ask an object for its state. A hooked module answers without the recorder's
hooks, through an attribute of its own that is in no state either.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

GETSTATE = "__getstate__"
HOOKS = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks_with_kwargs",
)
"""Attributes of a module that have hooks, or facts about them, by the id of their handle."""


def hide_hooks(module: Any, ids: Collection[int]) -> None:
    """Leave the hooks with these ids out of all copies and pickles of a module."""
    vars(module).setdefault(GETSTATE, functools.partial(_state, module, ids))


def forget_hooks(module: Any) -> None:
    """Let a module answer for itself again; its hooks are removed."""
    answer = vars(module).get(GETSTATE)
    if isinstance(answer, functools.partial) and answer.func is _state:
        del vars(module)[GETSTATE]


def _state(module: Any, ids: Collection[int]) -> Any:
    own = getattr(type(module), GETSTATE, None)  # every class has one since Python 3.11
    state = vars(module) if own is None else own(module)
    if not isinstance(state, dict):
        return state
    return {
        key: _without(value, ids) if key in HOOKS else value
        for key, value in state.items()
        if key != GETSTATE
    }


def _without(hooks: Any, ids: Collection[int]) -> Any:
    if not hasattr(hooks, "keys") or hooks.keys().isdisjoint(ids):
        return hooks
    return type(hooks)((key, value) for key, value in hooks.items() if key not in ids)
