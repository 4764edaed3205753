"""Whether code is being traced by a compiler rather than run; hooks must do nothing then."""

from __future__ import annotations

from collections.abc import Callable


def _never() -> bool:
    return False


is_compiling: Callable[[], bool] = _never
"""torch's own function after :func:`resolve`. The compiler treats it as a constant, so code guarded
by it does not appear in a graph. Call it as ``compiling.is_compiling()``."""


def resolve() -> None:
    """Look up torch's function; torch is imported."""
    global is_compiling  # noqa: PLW0603 - torch is imported later than this module
    import torch  # noqa: PLC0415

    is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _never)
