"""Numbers that the environment sets."""

from __future__ import annotations

import os


def positive_number(variable: str, default: float) -> float:
    """The number in an environment variable; ``default`` where that is no positive number."""
    try:
        value = float(os.environ.get(variable, ""))
    except ValueError:
        return default
    return value if value > 0 else default
