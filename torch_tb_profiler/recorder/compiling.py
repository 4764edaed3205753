"""Whether code is being traced by a compiler rather than run: hooks must do nothing then."""

from __future__ import annotations

from collections.abc import Callable


def _never() -> bool:
    return False


is_compiling: Callable[[], bool] = _never
"""After :func:`look_up` torch's own function: the compiler knows it as a constant, so that what
lies behind it leaves no trace in a graph. Use as ``compiling.is_compiling()``."""


def look_up() -> None:
    """Find torch's function; torch is imported."""
    global is_compiling  # noqa: PLW0603 - torch is there only later
    import torch  # noqa: PLC0415

    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _never)
