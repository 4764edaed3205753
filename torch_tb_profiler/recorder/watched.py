"""Functions of torch that are listened to: each call is told before it happens, and nothing of it
is changed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

Hear = Callable[[tuple[Any, ...], dict[str, Any]], None]
"""Told of the arguments of a call."""


class Watched:
    """Functions that are listened to until :meth:`stop`."""

    def __init__(self) -> None:
        """Listen to nothing yet."""
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._is_stopped = False

    def watch(self, owner: Any, name: str, hear: Hear) -> bool:
        """Hear of the calls of ``owner.name`` from now on; whether there is such a function."""
        original = getattr(owner, name, None)
        if not callable(original):
            return False

        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if not self._is_stopped:
                with suppress(Exception):  # the program is not to know
                    hear(args, kwargs)
            return original(*args, **kwargs)

        setattr(owner, name, watched)
        self._replaced.append((owner, name, original, watched))
        return True

    def stop(self) -> None:
        """Hear no more; what others replaced after us stays theirs."""
        self._is_stopped = True
        for owner, name, original, watched in reversed(self._replaced):
            if getattr(owner, name, None) is watched:
                setattr(owner, name, original)
        self._replaced.clear()
