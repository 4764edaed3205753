"""Read numbers and switches from environment variables."""

from __future__ import annotations

import os


def is_set(variable: str) -> bool:
    """Whether an environment variable is 1, true or yes."""
    return os.environ.get(variable, "").lower() in ("1", "true", "yes")


def positive_number(variable: str, default: float) -> float:
    """The number in an environment variable; ``default`` if it is not a positive number."""
    try:
        value = float(os.environ.get(variable, ""))
    except ValueError:
        return default
    return value if value > 0 else default
